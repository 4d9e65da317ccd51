//! [`Tracer`]: records a program's operations as a stream of instructions.
//!
//! Memory is bounded: instructions go to the writer at once, and a value is only a name.
//! Mistakes do not stop the program: they are collected with the line that made them, and
//! [`Tracer::finish`] reports them all.
//!
//! A program of several blocks (`blocks`) has a writer for each, all open until the end: a value
//! that another block needs is stored at the end of its own, and an input comes in at the end of
//! the first, whenever that turns out.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::Write;
use std::panic::Location;
use std::rc::Rc;

use phineus_bytecode::{
    Description, ElementType, FileKind, InputPort, Instruction, Lane, Op, OutputPort,
    ProgramWriter, Shape, Sharing,
};

use crate::blocks::{RecordedBlock, local, name_of_block};
use crate::delayed::PendingSums;
use crate::error::{FAULTS_MAX, ProgramError, ProgramFault, ProgramFaults};
use crate::program::Traced;
use crate::sources::NotedSources;
use crate::value::{Value, ValueOrigin};

/// Records a program. A clone is another handle to the same recording.
#[derive(Clone)]
pub struct Tracer {
    pub(crate) recording: Rc<RefCell<TraceState>>,
}

pub(crate) struct TraceState {
    /// The blocks of the program, and which of them is being recorded.
    pub(crate) blocks: Vec<RecordedBlock>,
    pub(crate) current: usize,
    /// How many public registers there are.
    pub(crate) registers: u32,
    /// By name, the output ports that are opened while the program runs.
    pub(crate) opened: HashMap<String, u32>,
    /// By value, where it is carried.
    pub(crate) carried: HashMap<u64, u32>,
    /// By register and type, where it is published.
    pub(crate) published: HashMap<(u32, ElementType, u32), u32>,
    pub(crate) faults: Vec<ProgramFault>,
    failure: Option<phineus_bytecode::Error>,
    pub(crate) description: Description,
    /// Cells of inputs that were read and not recorded yet.
    pending: Vec<Rc<InputCells>>,
    /// Sums that are recorded when something needs them.
    pub(crate) waiting: PendingSums,
    /// Lines of the instructions, if they are asked for.
    sources: Option<NotedSources>,
    /// Whether networks are recorded level by level, and whether anybody asked.
    goes_by_levels: bool,
    has_levels: bool,
    /// Conversions recorded before, by the value's name modulo their number.
    converted: [Option<SharingConversion>; CONVERSIONS_KEPT],
}

/// Some rows of a column of an input.
///
/// They are recorded when something else is recorded, or never: a program that reads a column and
/// brings it to a sharing at once means an input in that sharing.
pub(crate) struct InputCells {
    pub(crate) element: ElementType,
    pub(crate) lanes: u32,
    immediates: [u64; 4],
    name: Cell<Option<u64>>,
    /// Read in a sharing before they were recorded: only a use of them records them.
    is_replaced: Cell<bool>,
    /// Input cells in each sharing, by the code of the sharing.
    shared: RefCell<[Option<Rc<InputCells>>; Sharing::ALL.len()]>,
}

impl InputCells {
    fn new(element: ElementType, lanes: u32, immediates: [u64; 4]) -> Rc<InputCells> {
        Rc::new(InputCells {
            element,
            lanes,
            immediates,
            name: Cell::new(None),
            is_replaced: Cell::new(false),
            shared: RefCell::default(),
        })
    }
}

/// Conversions that are remembered, so that a value used twice beside shared ones is converted
/// once.
const CONVERSIONS_KEPT: usize = 64;

/// The value called `from` is `to` in the sharing.
#[derive(Clone, Copy)]
struct SharingConversion {
    from: u64,
    sharing: Sharing,
    to: u64,
}

/// Results of an emission: the names of up to two values, or nothing after a fault.
pub(crate) type Results = Option<[u64; 2]>;

impl Tracer {
    /// Begins a program called `name`, written to `output` as it grows.
    pub fn new(name: &str, output: impl Write + 'static) -> Result<Tracer, ProgramError> {
        let output: Box<dyn Write> = Box::new(output);
        let recording = TraceState {
            blocks: vec![RecordedBlock::new(ProgramWriter::new(output, FileKind::Program)?)],
            current: 0,
            registers: 0,
            opened: HashMap::new(),
            carried: HashMap::new(),
            published: HashMap::new(),
            faults: Vec::new(),
            failure: None,
            description: Description { name: name.to_string(), ..Description::default() },
            pending: Vec::new(),
            waiting: PendingSums::default(),
            sources: None,
            goes_by_levels: false,
            has_levels: false,
            converted: [None; CONVERSIONS_KEPT],
        };
        Ok(Tracer { recording: Rc::new(RefCell::new(recording)) })
    }

    /// Notes from now on which source line each instruction comes from.
    pub fn note_sources(&self) {
        self.recording.borrow_mut().sources.get_or_insert_default();
    }

    /// Whether source lines are noted.
    pub fn notes_sources(&self) -> bool {
        self.recording.borrow().sources.is_some()
    }

    /// Records networks level by level from now on.
    pub fn go_by_levels(&self) {
        self.recording.borrow_mut().goes_by_levels = true;
    }

    /// Whether networks such as sorts are recorded level by level, all of a level before anything of the next,
    /// so that a level's instructions share rounds. Else they are recorded depth first, for memory that is short.
    pub fn goes_by_levels(&self) -> bool {
        let mut recording = self.recording.borrow_mut();
        recording.has_levels = true;
        recording.goes_by_levels
    }

    /// States the source line that what follows comes from: for front ends of other languages. Else it is the line that
    /// calls an operation.
    pub fn state_source(&self, file: &str, line: u32) {
        if let Some(sources) = &mut self.recording.borrow_mut().sources {
            sources.state(file, line);
        }
    }

    /// Adds a party, unless there is one of that name, and returns its index.
    pub fn party(&self, name: &str) -> u16 {
        let parties = &mut self.recording.borrow_mut().description.parties;
        let index = parties.iter().position(|party| party == name);
        index.unwrap_or_else(|| {
            parties.push(name.to_string());
            parties.len() - 1
        }) as u16
    }

    /// States a parameter that the program was made with; it becomes part of what parties agree on.
    pub fn parameter(&self, name: &str, value: &str) {
        let parameters = &mut self.recording.borrow_mut().description.parameters;
        parameters.insert(name.to_string(), value.to_string());
    }

    /// The parties' names, by index.
    pub fn parties(&self) -> Vec<String> {
        self.recording.borrow().description.parties.clone()
    }

    /// A public constant.
    #[track_caller]
    pub fn constant(&self, element: ElementType, value: Lane) -> Value {
        if value.bit_len() > usize::from(element.width()) {
            self.fault(format!("the constant {value} does not fit {element}"));
        }
        Value::known(self, element, 1, value)
    }

    /// Completes the program.
    ///
    /// # Errors
    /// [`ProgramError::Faults`] if the program made mistakes; nothing useful was written
    /// then.
    pub fn finish(&self) -> Result<Traced, ProgramError> {
        let mut recording = self.recording.borrow_mut();
        recording.flush();
        let flow_fault = recording.complete_flow();
        let mut faults = recording.description.faults();
        faults.extend(flow_fault);
        if recording.faults.is_empty() && !faults.is_empty() {
            return Err(ProgramError::Refused(faults.join("\n")));
        }
        if !recording.faults.is_empty() {
            return Err(ProgramError::Faults(ProgramFaults(recording.faults.clone())));
        }
        if let Some(failure) = recording.failure.take() {
            return Err(failure.into());
        }
        let written = recording.finish_blocks()?;
        let sources = recording.sources.take().map(|sources| sources.map);
        let has_levels = recording.has_levels;
        Ok(Traced { description: recording.description.clone(), written, sources, has_levels })
    }

    /// Reports a mistake of the program at the caller's line.
    #[track_caller]
    pub fn fault(&self, what: String) {
        let mut recording = self.recording.borrow_mut();
        if recording.faults.len() < FAULTS_MAX {
            let fault = ProgramFault::at(Location::caller(), what);
            recording.faults.push(fault);
        }
    }

    /// How many instructions were recorded.
    pub fn instruction_count(&self) -> u64 {
        let recording = self.recording.borrow();
        recording.blocks.iter().map(RecordedBlock::instruction_count).sum()
    }

    pub(crate) fn is_same(&self, other: &Tracer) -> bool {
        Rc::ptr_eq(&self.recording, &other.recording)
    }

    /// Adds an input; returns its number.
    pub fn add_input(&self, port: InputPort) -> u64 {
        let inputs = &mut self.recording.borrow_mut().description.inputs;
        inputs.push(port);
        inputs.len() as u64 - 1
    }

    /// The index of the input with this name.
    pub(crate) fn input_index(&self, name: &str) -> Option<u32> {
        let recording = self.recording.borrow();
        let index = recording.description.inputs.iter().position(|port| port.name == name);
        index.map(|index| index as u32)
    }

    pub(crate) fn add_output(&self, port: OutputPort) -> u64 {
        let outputs = &mut self.recording.borrow_mut().description.outputs;
        outputs.push(port);
        outputs.len() as u64 - 1
    }

    /// Adds cells of an input, in the order of the calls; `None` if they are no valid value.
    #[track_caller]
    pub(crate) fn add_cells(
        &self,
        element: ElementType,
        lanes: u32,
        immediates: [u64; 4],
    ) -> Option<Rc<InputCells>> {
        let mut instruction = Instruction::new(Op::Input, element, lanes);
        instruction.immediates = immediates;
        if let Some(what) = violation(&instruction, &[]) {
            self.fault(what);
            return None;
        }
        let cells = InputCells::new(element, lanes, immediates);
        self.recording.borrow_mut().pending.push(cells.clone());
        Some(cells)
    }

    /// Returns the same input cells in another sharing.
    pub(crate) fn shared_cells(&self, cells: &Rc<InputCells>, sharing: Sharing) -> Rc<InputCells> {
        let mut shared = cells.shared.borrow_mut();
        let in_sharing = shared[sharing as usize].get_or_insert_with(|| {
            cells.is_replaced.set(true);
            let created =
                InputCells::new(cells.element.shared(sharing), cells.lanes, cells.immediates);
            self.recording.borrow_mut().pending.push(created.clone());
            created
        });
        in_sharing.clone()
    }

    /// Records one instruction; `operands` are as many as the operation takes.
    ///
    /// Checks everything that the op table says; a violation becomes a fault at the caller's line.
    /// Operands without a sharing are brought to that of `element`.
    #[track_caller]
    pub(crate) fn emit(
        &self,
        op: Op,
        element: ElementType,
        lanes: u32,
        operands: &[&Value],
        immediates: [u64; 4],
    ) -> Results {
        if let Some(sources) = &mut self.recording.borrow_mut().sources {
            sources.called_from(Location::caller());
        }
        let mut instruction = Instruction::new(op, element, lanes);
        instruction.immediates = immediates;
        for (&operand, place) in operands.iter().zip(&mut instruction.operands) {
            if matches!(operand.place(), ValueOrigin::Poisoned) {
                return None;
            }
            if !self.is_same(operand.tracer()) {
                self.fault(format!("{} mixes values of two programs", op.info().name));
                return None;
            }
            *place = local(self.name_in(operand, element.sharing())?);
        }
        if let Some(what) = violation(&instruction, operands) {
            self.fault(what);
            return None;
        }
        self.push(&mut instruction)
    }

    /// The name of `operand` in a sharing, which is its own unless it has none.
    pub(crate) fn name_in(&self, operand: &Value, sharing: Sharing) -> Option<u64> {
        let is_open = operand.sharing() == Sharing::Any && sharing != Sharing::Any;
        match operand.place() {
            ValueOrigin::Poisoned => None,
            ValueOrigin::Known(lane) => {
                let element = operand.element().shared(sharing);
                let mut instruction = Instruction::new(Op::Constant, element, operand.lanes());
                instruction.immediates = *lane.as_limbs();
                self.push(&mut instruction).map(|results| results[0])
            }
            ValueOrigin::Input(cells) if is_open => {
                let cells = self.shared_cells(cells, sharing);
                self.name_of(&cells)
            }
            ValueOrigin::Input(cells) => self.name_of(cells),
            ValueOrigin::Delayed(_) => self.name_in(&operand.settled(), sharing),
            ValueOrigin::Named(_) if is_open => {
                self.convert(operand, sharing).map(|results| results[0])
            }
            ValueOrigin::Named(name) => self.here(*name, operand.element(), operand.lanes()),
        }
    }

    /// Records the conversion of a named value, unless it was recorded before.
    pub(crate) fn convert(&self, operand: &Value, sharing: Sharing) -> Results {
        let from = self.name_in(operand, operand.sharing())?;
        let slot = (from % CONVERSIONS_KEPT as u64) as usize;
        let kept = self.recording.borrow().converted[slot];
        if let Some(kept) = kept.filter(|kept| kept.from == from && kept.sharing == sharing) {
            return Some([kept.to, 0]);
        }
        let element = operand.element().shared(sharing);
        let mut instruction = Instruction::new(Op::Convert, element, operand.lanes());
        instruction.immediates[0] = operand.sharing() as u64;
        instruction.operands[0] = local(from);
        let results = self.push(&mut instruction)?;
        let conversion = SharingConversion { from, sharing, to: results[0] };
        self.recording.borrow_mut().converted[slot] = Some(conversion);
        Some(results)
    }

    /// The name of cells of an input, after those that were read before.
    fn name_of(&self, cells: &InputCells) -> Option<u64> {
        let mut recording = self.recording.borrow_mut();
        recording.flush();
        let name = recording.name_of(cells)?;
        drop(recording);
        self.here(name, cells.element, cells.lanes)
    }

    pub(crate) fn push(&self, instruction: &mut Instruction) -> Results {
        let mut recording = self.recording.borrow_mut();
        recording.flush();
        recording.push(instruction)
    }
}

impl TraceState {
    /// Records the inputs that were read, in the order in which they were.
    pub(crate) fn flush(&mut self) {
        for cells in std::mem::take(&mut self.pending) {
            if !cells.is_replaced.get() {
                self.name_of(&cells);
            }
        }
    }

    /// The name of cells of an input, which are recorded if they were not.
    fn name_of(&mut self, cells: &InputCells) -> Option<u64> {
        if let Some(name) = cells.name.get() {
            return Some(name);
        }
        let mut instruction = Instruction::new(Op::Input, cells.element, cells.lanes);
        instruction.immediates = cells.immediates;
        // The first block runs once.
        let name = self.push_in(0, &mut instruction)?[0];
        cells.name.set(Some(name));
        Some(name)
    }

    fn push(&mut self, instruction: &mut Instruction) -> Results {
        self.push_in(self.current, instruction)
    }

    /// Records an instruction of `block`, whose operands are its own names of values.
    pub(crate) fn push_in(&mut self, block: usize, instruction: &mut Instruction) -> Results {
        let recorded = &mut self.blocks[block];
        for k in 0..instruction.op.info().results.len() {
            instruction.results[k] = recorded.next_value;
            recorded.next_value += 1;
        }
        // After a fault or failure nothing will be kept: do not write, but find further faults.
        if self.faults.is_empty() && self.failure.is_none() {
            let writer = recorded.writer.as_mut()?;
            self.failure = writer.push(instruction).err();
            if let Some(sources) = &mut self.sources {
                sources.note(block);
            }
        }
        Some(instruction.results.map(|name| name_of_block(block, name)))
    }

    /// Forgets conversions, which are values of another block.
    pub(crate) fn forget(&mut self) {
        self.converted = [None; CONVERSIONS_KEPT];
    }

    /// Keeps the first failure to write.
    pub(crate) fn failed(&mut self, failure: phineus_bytecode::Error) {
        self.failure.get_or_insert(failure);
    }
}

/// Fault of the instruction on these operands, if any.
#[inline]
fn violation(instruction: &Instruction, operands: &[&Value]) -> Option<String> {
    let info = instruction.op.info();
    let operands_fit = info
        .operands
        .iter()
        .zip(operands)
        .all(|(role, operand)| is_shape(role.shape(instruction), operand));
    let results_fit = info.results.iter().all(|role| role.shape(instruction).is_valid());
    let rule = (info.rule)(instruction);
    if operands_fit && results_fit && rule.is_ok() {
        return None;
    }
    Some(describe(instruction, operands, rule.err()))
}

/// Whether an operand has the shape that is wanted, but for the sharing: it is brought to that.
#[inline]
fn is_shape(wanted: Shape, operand: &Value) -> bool {
    (wanted.width, wanted.lanes) == (operand.width(), operand.lanes())
}

#[cold]
fn describe(instruction: &Instruction, operands: &[&Value], rule: Option<&str>) -> String {
    let info = instruction.op.info();
    let name = info.name;
    for (role, operand) in info.operands.iter().zip(operands) {
        let (wanted, found) = (role.shape(instruction), operand.shape());
        if !is_shape(wanted, operand) {
            return if wanted.lanes != found.lanes {
                let (wanted, found) = (wanted.lanes, found.lanes);
                format!("{name} needs equal lanes, got {wanted} and {found}")
            } else {
                let (wanted, found) = (wanted.width, found.width);
                format!("{name} needs equal widths, got {wanted} and {found}")
            };
        }
    }
    if let Some(rule) = rule {
        return format!("{name}: {rule}");
    }
    let shape = info
        .results
        .iter()
        .map(|role| role.shape(instruction))
        .find(|shape| !shape.is_valid())
        .unwrap_or(Shape::new(0, 0));
    format!("{name} would give a value of {shape}; the most is 256 bits, and 4096 bits times lanes")
}
