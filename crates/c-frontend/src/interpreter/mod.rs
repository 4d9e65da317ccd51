//! Executes a program: the public part is done, the secret part is recorded.
//!
//! Public integers, addresses and branches are computed; a secret is a name of the tracer's. Where a
//! secret decides a branch, each way is run up to where they meet, its changes to memory are put
//! back, and the results are chosen between (`branch.rs`). Loops whose iterations are independent
//! are executed for many lanes at once (`lanes.rs`).
//!
//! Cost: a step is 50 to 200 ns; memory is that of the program's own objects.

pub(crate) mod registers;
pub(crate) mod step;
pub(crate) mod terminate;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use crate::branches::Outcome;
use crate::data::Data;
use crate::diagnostic::{Diagnostic, Spot};
use crate::emit::zeros::Zeros;
use crate::evaluate::dry_run::Rehearsal;
use crate::interpreter::registers::Registers;
use crate::ir::liveness::live;
use crate::ir::{Compare, Constant, Function, Module, Operand, Phi, Place, Unary};
use crate::memory::Memory;
use crate::opened::Pending;
use crate::opened::loops::Plan;
use crate::vectoriser::{Body, Patterns};
use phineus_frontend::FAULTS_MAX;
use phineus_frontend::Tracer;
use phineus_frontend::untyped::Value;
use phineus_frontend::{BlockId, Register};

/// Calls within calls.
const CALLS_MAX: u32 = 10_000;
/// Calls within calls when a secret decides whether there is another.
const SECRET_CALLS_MAX: u32 = 400;
/// Stack that must be left, and is added when it is not.
const STACK_LEFT_BYTES: usize = 256 << 10;
const STACK_MORE_BYTES: usize = 16 << 20;

/// Why execution does not go on.
pub(crate) enum Stop {
    /// A mistake after which nothing sensible can be found out.
    Fatal,
    /// A rehearsal found that lanes cannot run together.
    Abandon,
    /// What comes next is decided when the program runs (`ways.rs`).
    Pause,
    /// More was found out about a loop of the run time: the program is to be tried anew.
    Restart,
}

/// How a stretch of a function ends.
pub(crate) enum End {
    /// At a block that it should run to, with the values of that block's phis.
    Reached(u32, Vec<Data>),
    Returned(Data),
    /// At a place that is never reached.
    Never,
    /// In several ways, by secrets.
    Split(Vec<Outcome>),
}

impl End {
    /// The block that was reached, if it was one; the same for ends at the same place.
    pub(crate) fn key(&self) -> Option<u32> {
        match self {
            End::Reached(block, _) => Some(*block),
            End::Returned(_) | End::Never | End::Split(_) => None,
        }
    }
}

/// A running function.
#[derive(Clone)]
pub(crate) struct Frame<'m> {
    pub(crate) index: u32,
    pub(crate) function: &'m Function,
    pub(crate) constants: Rc<[Data]>,
    pub(crate) registers: Registers,
    pub(crate) objects: Vec<u32>,
    /// For each loop, how often a secret might have left it since a public condition might have.
    pub(crate) secret_exits: Vec<u32>,
    pub(crate) body: Body,
    /// The calls that led here.
    pub(crate) path: u64,
    /// Block and instruction of the call that is being run, at a pause.
    pub(crate) position: (u32, usize),
}

impl Frame<'_> {
    #[inline]
    pub(crate) fn get(&self, operand: Operand) -> Data {
        match operand {
            Operand::Register(index) => self.registers[index as usize].clone(),
            Operand::Constant(index) => self.constants[index as usize].clone(),
        }
    }
}

/// Where execution goes on.
pub(crate) enum Next {
    /// In this block, entered from another.
    Block(u32, u32),
    /// In this block, whose phis are known.
    Joined(u32, Vec<Data>),
    /// In the middle of a block, at this instruction.
    Inside(u32, usize),
    End(End),
}

/// Lanes that were cut before, each with the value that it is of, which keeps its address.
pub(crate) type Slices = HashMap<(*const Value, u32), (Rc<Value>, Rc<Value>)>;

/// Lanes that were brought together before: of which values, from where on, how many.
pub(crate) type Packs = HashMap<Vec<(*const Value, u32, u32)>, (Vec<Rc<Value>>, Rc<Value>)>;

/// Vectors whose width was changed before: how, and from which lane on.
pub(crate) type Casts = HashMap<(*const Value, Unary, u16, u32), (Rc<Value>, Rc<Value>)>;

pub(crate) struct Machine<'m> {
    pub(crate) module: &'m Module,
    pub(crate) tracer: Tracer,
    pub(crate) memory: Memory,
    pub(crate) place: Place,
    /// Iterations that run together; 1 is one after the other.
    pub(crate) lanes: u32,
    pub(crate) rehearsal: Option<Rehearsal>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) slices: Slices,
    pub(crate) packs: Packs,
    pub(crate) casts: Casts,
    /// Whether products of vectors and factors may be parts of a product of matrices.
    pub(crate) delays: bool,
    pub(crate) steps: u64,
    /// Steps when it was last looked whether the program goes on, and what was recorded by then.
    pub(crate) steps_seen: u64,
    pub(crate) recorded_seen: u64,
    pub(crate) calls: u32,
    /// Secret branches that are being run.
    pub(crate) arms: u32,
    /// Loops that could not run in lanes, and how often that was found.
    pub(crate) refused_loops: HashMap<(u32, u32), u32>,
    pub(crate) patterns: Patterns,
    /// Constants that differ between lanes, by width.
    pub(crate) spreads: HashMap<(u16, Rc<[u128]>), Rc<Value>>,
    /// Places that all lanes wrote, each its own: object, offset, bytes.
    pub(crate) own_places: Vec<(u32, u64, u64)>,
    /// Strips of lanes that are being run.
    pub(crate) strips: u32,
    /// At a pause, the running functions, the innermost last.
    pub(crate) stack: Vec<Frame<'m>>,
    /// Those of them that were on Rust's stack, the innermost first.
    pub(crate) unwound: Vec<Frame<'m>>,
    pub(crate) pending: Option<Pending>,
    /// The calls that led to the running function.
    pub(crate) path: u64,
    pub(crate) plan: Plan,
    /// What was opened in each block, by name.
    pub(crate) opened_here: HashMap<(BlockId, String), u32>,
    /// Registers that a block set to a constant.
    pub(crate) constant_registers: HashMap<(BlockId, u64), Register>,
    /// Bits that are 0, of values that are kept with it.
    pub(crate) known_zeros: HashMap<*const Value, (Rc<Value>, Zeros)>,
    /// What opened integers are at most, by the comparison that says so.
    pub(crate) opened_most: HashMap<Register, (Compare, u128)>,
    /// Ways by opened conditions out of loops that are unrolled.
    pub(crate) unrolled: u32,
    constants: Vec<Option<Rc<[Data]>>>,
}

impl<'m> Machine<'m> {
    /// A machine whose memory holds the module's globals, object by object.
    pub(crate) fn new(module: &'m Module, tracer: &Tracer) -> Machine<'m> {
        let mut machine = Machine {
            module,
            tracer: tracer.clone(),
            memory: Memory::default(),
            place: Place::default(),
            lanes: 1,
            rehearsal: None,
            diagnostics: Vec::new(),
            slices: Slices::new(),
            packs: Packs::new(),
            casts: Casts::new(),
            delays: false,
            steps: 0,
            steps_seen: 0,
            recorded_seen: 0,
            calls: 0,
            arms: 0,
            refused_loops: HashMap::new(),
            patterns: Patterns::new(),
            spreads: HashMap::new(),
            own_places: Vec::new(),
            strips: 0,
            stack: Vec::new(),
            unwound: Vec::new(),
            pending: None,
            path: 0,
            plan: Plan::new(),
            opened_here: HashMap::new(),
            constant_registers: HashMap::new(),
            known_zeros: HashMap::new(),
            opened_most: HashMap::new(),
            unrolled: 0,
            constants: vec![None; module.functions.len()],
        };
        for global in &module.globals {
            machine.memory.allocate(&global.name, global.size, global.granule);
        }
        for (index, global) in module.globals.iter().enumerate() {
            if let Some(initial) = &global.initial {
                machine.initialize(index as u32, initial);
            }
            machine.memory.object_mut(index as u32).is_constant = global.is_constant;
        }
        machine
    }

    pub(crate) fn constant(&self, constant: &Constant) -> Data {
        match constant {
            Constant::Undefined => Data::Undefined,
            Constant::Integer(value) => Data::Public(*value),
            Constant::Null => Data::Public(0),
            Constant::Global(index, offset) => Data::Pointer(*index, *offset),
            Constant::Function(index) => Data::Function(*index),
            Constant::Many(elements) => {
                Data::Many(elements.iter().map(|element| self.constant(element)).collect())
            }
            Constant::Float | Constant::Unsupported => Data::Poison,
        }
    }

    fn constants_of(&mut self, index: u32) -> Rc<[Data]> {
        if let Some(known) = &self.constants[index as usize] {
            return known.clone();
        }
        let constants = &self.module.functions[index as usize].constants;
        let made: Rc<[Data]> = constants.iter().map(|constant| self.constant(constant)).collect();
        self.constants[index as usize] = Some(made.clone());
        made
    }

    /// The current place for people.
    pub(crate) fn spot(&self) -> Spot {
        self.module.spot(self.place)
    }

    /// Reports a mistake at the current place; the program goes on with a value that is none.
    pub(crate) fn error(&mut self, message: impl Into<String>, remedy: &str) -> Result<Data, Stop> {
        if self.rehearsal.is_some() {
            return Err(Stop::Abandon);
        }
        let diagnostic = Diagnostic::error(self.spot(), message.into(), remedy);
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error).count();
        if errors >= FAULTS_MAX { Err(Stop::Fatal) } else { Ok(Data::Poison) }
    }

    /// Says something once about the current place.
    pub(crate) fn note(&mut self, message: String, remedy: &str) {
        if self.rehearsal.is_some() {
            return;
        }
        let note =
            Diagnostic { is_error: false, ..Diagnostic::error(self.spot(), message, remedy) };
        // `a[i]++` reads and writes at one place.
        let kind = |message: &str| message.split(' ').nth(1).map(str::to_owned);
        let is_known = |known: &Diagnostic| {
            known.spot == note.spot
                && !known.is_error
                && kind(&known.message) == kind(&note.message)
        };
        if !self.diagnostics.iter().any(is_known) && self.diagnostics.len() < 200 {
            self.diagnostics.push(note);
        }
    }

    /// Runs a function on arguments.
    pub(crate) fn call(&mut self, index: u32, arguments: Vec<Data>) -> Result<Data, Stop> {
        let module = self.module;
        let function = &module.functions[index as usize];
        if function.blocks.is_empty() {
            return self.undefined(&function.name);
        }
        let most = if self.arms > 0 { SECRET_CALLS_MAX } else { CALLS_MAX };
        if self.calls >= most {
            let name = &function.name;
            let (what, remedy) = if self.arms > 0 {
                let what = format!("how deep '{name}' calls itself depends on a secret");
                (what, "give the recursion a public depth, or write a loop with a public bound")
            } else {
                let what = format!("'{name}' is called inside {CALLS_MAX} other calls");
                (what, "write a loop")
            };
            self.error(what, remedy)?;
            return Err(Stop::Fatal);
        }
        let place = self.place;
        let mut path = DefaultHasher::new();
        (self.path, place, index).hash(&mut path);
        let outer = std::mem::replace(&mut self.path, path.finish());
        let mut frame = self.frame(index, arguments, self.path);
        for (at, bytes, granule) in &function.copied {
            frame.registers[*at] = self.copied(&mut frame, *at, *bytes, *granule)?;
        }
        self.calls += 1;
        let end = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_MORE_BYTES, || {
            self.run(&mut frame, Next::Block(u32::MAX, 0), &[])
        });
        self.calls -= 1;
        let last = self.place;
        (self.place, self.path) = (place, outer);
        if let Err(Stop::Pause) = end {
            self.unwound.push(frame);
            return Err(Stop::Pause);
        }
        frame.objects.iter().for_each(|object| self.memory.release(*object));
        match end? {
            End::Returned(data) => Ok(data),
            End::Never => self.never_returns(function, last),
            End::Reached(..) | End::Split(_) => unreachable!("all that ends here returns"),
        }
    }

    /// Refuses a call that does not come back, at the last place in it that is known; it is what
    /// other mistakes lead to, too.
    fn never_returns(&mut self, function: &Function, last: Place) -> Result<Data, Stop> {
        if self.rehearsal.is_none() && self.diagnostics.iter().any(|found| found.is_error) {
            return Ok(Data::Poison);
        }
        let called = std::mem::replace(&mut self.place, last);
        if last.line == 0 {
            self.place = called;
        }
        let refused = self.error(
            format!("'{}' never returns from here", function.name),
            "a computation has to end: give a flag as a result instead of stopping, and do nothing \
             that C leaves undefined, such as reading through a null pointer",
        );
        self.place = called;
        refused
    }

    /// A function that is going to run.
    pub(crate) fn frame(&mut self, index: u32, arguments: Vec<Data>, path: u64) -> Frame<'m> {
        let module = self.module;
        let function = &module.functions[index as usize];
        let registers = Registers::new(arguments, function.registers as usize);
        Frame {
            index,
            function,
            constants: self.constants_of(index),
            registers,
            objects: Vec::new(),
            secret_exits: vec![0; function.shape.loops.len()],
            body: Body::default(),
            path,
            position: (0, 0),
        }
    }

    /// Which registers of a function are needed in its blocks.
    pub(crate) fn live(&self, index: u32) -> &'m [Vec<bool>] {
        let function = &self.module.functions[index as usize];
        function.live.get_or_init(|| live(function))
    }

    /// Runs from `next` on until the function ends, or a block of `until` is entered.
    pub(crate) fn run(
        &mut self,
        frame: &mut Frame<'m>,
        mut next: Next,
        until: &[u32],
    ) -> Result<End, Stop> {
        loop {
            let (block, first) = match next {
                Next::End(end) => return Ok(end),
                Next::Inside(block, first) => (block, first),
                Next::Block(from, block) => {
                    if until.contains(&block) {
                        return Ok(End::Reached(block, self.incoming(frame, from, block)));
                    }
                    self.pause_at_turns(frame, Some(from), block, |machine| {
                        machine.incoming(frame, from, block)
                    })?;
                    self.check_way_out(frame, block)?;
                    if from != u32::MAX
                        && let Some(done) = self.in_lanes(frame, from, block)?
                    {
                        next = done;
                        continue;
                    }
                    let values = self.incoming(frame, from, block);
                    set_phis(frame, block, values);
                    (block, 0)
                }
                Next::Joined(block, values) => {
                    if until.contains(&block) {
                        return Ok(End::Reached(block, values));
                    }
                    self.pause_at_turns(frame, None, block, |_| values.clone())?;
                    set_phis(frame, block, values);
                    (block, 0)
                }
            };
            next = self.block(frame, block, first, until)?;
        }
    }

    /// Runs a loop's body once, from its header back to it.
    pub(crate) fn run_body(
        &mut self,
        frame: &mut Frame<'m>,
        header: u32,
        phis: Vec<Data>,
    ) -> Result<End, Stop> {
        set_phis(frame, header, phis);
        let next = self.block(frame, header, 0, &[header])?;
        self.run(frame, next, &[header])
    }

    /// What the phis of `block` become when it is entered from `from`.
    pub(crate) fn incoming(&mut self, frame: &Frame<'m>, from: u32, block: u32) -> Vec<Data> {
        let phis = &frame.function.blocks[block as usize].phis;
        phis.iter().map(|phi: &Phi| frame.get(phi.from(from))).collect()
    }

    fn block(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        first: usize,
        until: &[u32],
    ) -> Result<Next, Stop> {
        let code = &frame.function.blocks[block as usize];
        self.steps += code.instructions.len() as u64 + 1;
        self.check_progress(code.place)?;
        for (index, instruction) in code.instructions.iter().enumerate().skip(first) {
            if frame.body.skipped.contains(&instruction.result) {
                continue;
            }
            if instruction.place.line > 0 {
                self.place = instruction.place;
            }
            frame.position = (block, index);
            let data = self.execute(frame, &instruction.kind)?;
            frame.registers[instruction.result as usize] = data;
        }
        if code.place.line > 0 {
            self.place = code.place;
        }
        self.terminate(frame, block, until)
    }
}

/// Gives the phis of a block their values.
pub(crate) fn set_phis(frame: &mut Frame<'_>, block: u32, values: Vec<Data>) {
    let function = frame.function;
    for (phi, value) in function.blocks[block as usize].phis.iter().zip(values) {
        frame.registers[phi.result as usize] = value;
    }
}
