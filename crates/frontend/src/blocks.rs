//! Control flow on values that are opened while the program runs.
//!
//! All parties know the opened values, and so the path that the program takes: how often a loop
//! runs is revealed. [`Tracer::while_open`], [`Tracer::for_open`] and [`Tracer::if_open`] say most
//! of it; below them are blocks, registers and variables, for front ends with a control flow of
//! their own. [`Tracer::repeat`] opens nothing: its loop has a stated number of iterations.
//!
//! A value of one block is used in another as it is: it is carried there. What changes from
//! iteration to iteration of a loop is state, or a [`BlockVariable`]. Outputs leave in the block
//! that ends the program.
//! ```
//! use phineus_frontend::{U32, program};
//!
//! let gcd = program("gcd").party("a").party("b").trace(|t, _| {
//!     let x = t.input("a", 1).number::<U32>("x").vector::<U32>().get(0);
//!     let y = t.input("b", 1).number::<U32>("y").vector::<U32>().get(0);
//!     let go_on = |state: &(U32, U32)| state.1.ne(0);
//!     let (x, _) = t.while_open("unfinished", (x, y), go_on, |(x, y)| (y.clone(), x % y));
//!     t.output("gcd", &["a", "b"]).number("gcd", &x).write();
//!     Ok(())
//! });
//! ```

mod recorded;
mod state;

use phineus_bytecode::limits::REGISTER_BITS;
use phineus_bytecode::{
    CarriedSlot, Column, ElementType, Encoding, Instruction, Op, OutputPort, RegisterOp,
    RegisterStep, Sharing, Successor,
};

use crate::element::Element;
use crate::integer::Bit;
use crate::tracer::Tracer;
use crate::value::{Value, ValueOrigin};

pub(crate) use recorded::{RecordedBlock, local, name_of_block};
pub use state::LoopState;

/// A stretch of a program that runs from its begin to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId(usize);

/// A public integer of 64 bits that is known when the program runs. It gets its value where the
/// block ends that gives it one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register(u32);

/// A secret value that may be another one each time that a block runs.
#[derive(Clone, Debug)]
pub struct BlockVariable {
    slot: u32,
    element: ElementType,
    lanes: u32,
}

impl Tracer {
    /// Opens `value`, of one lane, to all parties at the end of the block at hand; `name` says in
    /// the list of what is revealed what it is.
    #[track_caller]
    pub fn open(&self, name: &str, value: &Value) -> Register {
        let register = self.new_register();
        let element = value.integer();
        if value.lanes() != 1 || element.width() > REGISTER_BITS {
            self.fault(format!(
                "'{name}' cannot be opened: that takes one lane of at most {REGISTER_BITS} bits, \
                 not {} of {}",
                value.lanes(),
                element.width()
            ));
            return register;
        }
        let Some(port) = self.opened_port(name, element) else {
            self.fault(format!("'{name}' is opened twice in one block, or with two types"));
            return register;
        };
        self.emit(
            Op::Output,
            element.shared(value.sharing()),
            1,
            &[value],
            [u64::from(port), 0, 0, 0],
        );
        self.step(RegisterStep::Open { register: register.0, port });
        register
    }

    /// The output port of what is opened under a name; `None` if the block opens it already.
    fn opened_port(&self, name: &str, element: ElementType) -> Option<u32> {
        let mut recording = self.recording.borrow_mut();
        let Some(port) = recording.opened.get(name).copied() else {
            let column = Column { name: "value".to_string(), element, encoding: Encoding::Number };
            let (opened, name, parties) = (name.to_string(), name.to_string(), Vec::new());
            let port = OutputPort { name, parties, rows: 1, columns: vec![column], rows_of: None };
            let index = recording.description.outputs.len() as u32;
            recording.description.outputs.push(port);
            recording.description.opened.push(index);
            recording.opened.insert(opened, index);
            return Some(index);
        };
        let column = &recording.description.outputs[port as usize].columns[0];
        let is_opened = recording.blocks[recording.current].opens(port);
        (column.element == element && !is_opened).then_some(port)
    }

    /// A register that holds a constant from the end of the block at hand on.
    #[track_caller]
    pub fn register(&self, value: u64) -> Register {
        let register = self.new_register();
        self.step(RegisterStep::Set { register: register.0, value });
        register
    }

    /// `a op b`, at the end of the block at hand, in a new register.
    #[track_caller]
    pub fn compute(&self, op: RegisterOp, a: Register, b: Register) -> Register {
        let register = self.new_register();
        self.step(RegisterStep::Compute { register: register.0, op, a: a.0, b: b.0 });
        register
    }

    /// Gives `register` the value of `source`, at the end of the block at hand.
    #[track_caller]
    pub fn assign(&self, register: Register, source: Register) {
        let (op, a, b) = (RegisterOp::Or, source.0, source.0);
        self.step(RegisterStep::Compute { register: register.0, op, a, b });
    }

    /// A register as a public value in every lane, cut to its type, to compute with.
    ///
    /// If the block at hand gives the register its value, it ends here, and another begins.
    #[track_caller]
    pub fn publish(&self, register: Register, element: ElementType, lanes: u32) -> Value {
        let element = element.shared(Sharing::Any);
        if self.recording.borrow().current().writes(register.0) {
            let next = self.new_block();
            self.jump(next);
            self.begin(next);
        }
        let key = (register.0, element, lanes);
        let known = self.recording.borrow().published.get(&key).copied();
        let slot = known.unwrap_or_else(|| {
            let slot = self.new_slot(element, lanes);
            self.recording.borrow_mut().published.insert(key, slot);
            slot
        });
        self.load(slot, element, lanes)
    }

    /// A register as a typed public value, as [`Tracer::publish`] makes it, of one lane.
    #[track_caller]
    pub fn published<T: Element>(&self, register: Register) -> T {
        T::from_value(self.publish(register, T::TYPE, 1))
    }

    /// A block that is not recorded yet.
    pub fn new_block(&self) -> BlockId {
        let mut recording = self.recording.borrow_mut();
        match RecordedBlock::temporary() {
            Ok(block) => recording.blocks.push(block),
            Err(error) => {
                recording.blocks.push(RecordedBlock::unwritten());
                recording.failed(error);
            }
        }
        BlockId(recording.blocks.len() - 1)
    }

    /// The block at hand.
    pub fn block(&self) -> BlockId {
        BlockId(self.recording.borrow().current)
    }

    /// Goes on recording in `block`, which must not have ended.
    #[track_caller]
    pub fn begin(&self, block: BlockId) {
        // What waits belongs to the block at hand.
        self.settle();
        let mut recording = self.recording.borrow_mut();
        recording.flush();
        recording.forget();
        recording.current = block.0;
        let has_ended = recording.current().next.is_some();
        drop(recording);
        if has_ended {
            self.fault("a block that has ended cannot go on".to_string());
        }
    }

    /// Ends the block at hand; `block` runs next.
    #[track_caller]
    pub fn jump(&self, block: BlockId) {
        self.end_block(Successor::Jump { block: block.0 as u32 });
    }

    /// Ends the block at hand; `nonzero` runs next unless `register` is 0, and `zero` if it is.
    #[track_caller]
    pub fn branch(&self, register: Register, nonzero: BlockId, zero: BlockId) {
        let (nonzero, zero) = (nonzero.0 as u32, zero.0 as u32);
        self.end_block(Successor::Branch { register: register.0, nonzero, zero });
    }

    #[track_caller]
    fn end_block(&self, next: Successor) {
        self.settle();
        let had_ended = {
            let mut recording = self.recording.borrow_mut();
            recording.flush();
            recording.current_mut().next.replace(next).is_some()
        };
        if had_ended {
            self.fault("a block ends once".to_string());
        }
    }

    /// Ends the block at hand, which runs `iterations` times in a row; `then` runs next.
    #[track_caller]
    pub fn repeated(&self, iterations: u64, then: BlockId) {
        let (block, then) = (self.block().0 as u32, then.0 as u32);
        self.end_block(match iterations {
            1 => Successor::Jump { block: then },
            _ => Successor::Repeat { block, iterations, then },
        });
    }

    /// A variable that is `value` at first.
    #[track_caller]
    pub fn variable(&self, value: &Value) -> BlockVariable {
        let (element, lanes) = (value.element(), value.lanes());
        let variable = BlockVariable { slot: self.new_slot(element, lanes), element, lanes };
        self.set(&variable, value);
        variable
    }

    /// Gives `variable` another value, of its type, in its sharing.
    #[track_caller]
    pub fn set(&self, variable: &BlockVariable, value: &Value) {
        if matches!(value.place(), ValueOrigin::Poisoned) {
            return;
        }
        let BlockVariable { slot, element, lanes } = *variable;
        let wanted = element.shared(Sharing::Any);
        if (value.integer(), value.lanes()) != (wanted, lanes) || !self.is_same(value.tracer()) {
            self.fault(format!(
                "this variable holds {wanted}x{lanes}, not {}x{}",
                value.integer(),
                value.lanes()
            ));
            return;
        }
        let name = match (element.sharing(), value.sharing()) {
            (to, from) if to == from || from == Sharing::Any => self.name_in(value, to),
            (to, _) => self.convert(value, to).map(|results| results[0]),
        };
        let Some(name) = name else { return };
        let mut recording = self.recording.borrow_mut();
        recording.current_mut().stores.insert(slot, local(name));
    }

    /// Current value of `variable`.
    #[track_caller]
    pub fn get(&self, variable: &BlockVariable) -> Value {
        let BlockVariable { slot, element, lanes } = *variable;
        let set = {
            let recording = self.recording.borrow();
            let name = recording.current().stores.get(&slot).copied();
            name.map(|name| name_of_block(recording.current, name))
        };
        match set {
            Some(name) => Value::result(self, element, lanes, Some([name, 0]), 0),
            None => self.load(slot, element, lanes),
        }
    }

    /// Repeats `body` on the state while `go_on` says 1, which is opened before each iteration;
    /// gives the state of the end.
    ///
    /// All parties learn how often `body` ran. `name` says in the list of what is revealed what is
    /// opened.
    #[track_caller]
    pub fn while_open<S: LoopState>(
        &self,
        name: &str,
        state: S,
        go_on: impl Fn(&S) -> Bit,
        body: impl FnOnce(S) -> S,
    ) -> S {
        let variables = self.variables(&state);
        let (inside, after) = (self.new_block(), self.new_block());
        self.branch(self.open(name, go_on(&state).value()), inside, after);
        self.begin(inside);
        let next = body(self.rebuilt(&state, &variables));
        self.check_alike(&state, &next);
        self.set_all(&variables, &next);
        // What says whether to go on is computed by the block of the turn before: one block a turn.
        self.branch(self.open(name, go_on(&next).value()), inside, after);
        self.begin(after);
        self.rebuilt(&state, &variables)
    }

    /// Repeats `body` on the state `count` times, for `count` opened once; `body` gets the number
    /// of the turn, from 0 on. Gives the state of the end.
    #[track_caller]
    pub fn for_open<S: LoopState>(
        &self,
        name: &str,
        count: &impl Element,
        state: S,
        body: impl FnOnce(Register, S) -> S,
    ) -> S {
        let variables = self.variables(&state);
        let (inside, after) = (self.new_block(), self.new_block());
        let is_less = match count.value().element().is_signed() {
            true => RegisterOp::SignedLt,
            false => RegisterOp::Lt,
        };
        let count = self.open(name, count.value());
        let (turn, one) = (self.register(0), self.register(1));
        self.branch(self.compute(is_less, turn, count), inside, after);
        self.begin(inside);
        let next = body(turn, self.rebuilt(&state, &variables));
        self.check_alike(&state, &next);
        self.set_all(&variables, &next);
        self.assign(turn, self.compute(RegisterOp::Add, turn, one));
        self.branch(self.compute(is_less, turn, count), inside, after);
        self.begin(after);
        self.rebuilt(&state, &variables)
    }

    /// Repeats `body` on the state `iterations` times; gives the state of the end.
    ///
    /// Nothing is opened. The body is recorded and planned once, however often it runs, and is one block: it opens
    /// nothing that decides what follows.
    #[track_caller]
    pub fn repeat<S: LoopState>(&self, iterations: u64, state: S, body: impl FnOnce(S) -> S) -> S {
        match iterations {
            0 => return state,
            1 => return body(state),
            2.. => {}
        }
        let variables = self.variables(&state);
        let (inside, after) = (self.new_block(), self.new_block());
        self.jump(inside);
        self.begin(inside);
        let next = body(self.rebuilt(&state, &variables));
        self.check_alike(&state, &next);
        self.set_all(&variables, &next);
        if self.block() != inside {
            self.fault("what is repeated a stated number of times is one block".to_string());
        }
        self.repeated(iterations, after);
        self.begin(after);
        self.rebuilt(&state, &variables)
    }

    /// The state after `then` if `condition`, which is opened, is 1, else after `otherwise`; only
    /// that one runs.
    #[track_caller]
    pub fn if_open<S: LoopState>(
        &self,
        name: &str,
        condition: &Bit,
        state: S,
        then: impl FnOnce(S) -> S,
        otherwise: impl FnOnce(S) -> S,
    ) -> S {
        let variables = self.variables(&state);
        let (yes, no, after) = (self.new_block(), self.new_block(), self.new_block());
        self.branch(self.open(name, condition.value()), yes, no);
        self.begin(yes);
        let next = then(self.rebuilt(&state, &variables));
        self.set_all(&variables, &next);
        self.jump(after);
        self.begin(no);
        let next = otherwise(self.rebuilt(&state, &variables));
        self.set_all(&variables, &next);
        self.jump(after);
        self.begin(after);
        self.rebuilt(&state, &variables)
    }

    /// A body is recorded once, so it must leave what is public of the state as it was.
    #[track_caller]
    fn check_alike<S: LoopState>(&self, before: &S, after: &S) {
        if !before.is_like(after) {
            self.fault("an iteration leaves the state with another structure, as a queue after a number of pushes or pops \
                        that is no multiple of its period".to_string());
        }
    }

    #[track_caller]
    fn variables(&self, state: &impl LoopState) -> Vec<BlockVariable> {
        let mut values = Vec::new();
        state.values(&mut values);
        values.iter().map(|value| self.variable(value)).collect()
    }

    #[track_caller]
    fn set_all(&self, variables: &[BlockVariable], state: &impl LoopState) {
        let mut values = Vec::new();
        state.values(&mut values);
        if values.len() != variables.len() {
            let (had, has) = (variables.len(), values.len());
            self.fault(format!("the state was made of {had} values, and then of {has}"));
        }
        variables.iter().zip(&values).for_each(|(variable, value)| self.set(variable, value));
    }

    #[track_caller]
    fn rebuilt<S: LoopState>(&self, state: &S, variables: &[BlockVariable]) -> S {
        let mut values = variables.iter().map(|variable| self.get(variable));
        state.rebuilt(&mut values)
    }

    fn new_register(&self) -> Register {
        let mut recording = self.recording.borrow_mut();
        recording.registers += 1;
        Register(recording.registers - 1)
    }

    fn new_slot(&self, element: ElementType, lanes: u32) -> u32 {
        let slots = &mut self.recording.borrow_mut().description.slots;
        slots.push(CarriedSlot { element, lanes });
        slots.len() as u32 - 1
    }

    #[track_caller]
    fn step(&self, step: RegisterStep) {
        let has_ended = {
            let mut recording = self.recording.borrow_mut();
            recording.current_mut().steps.push(step);
            recording.current().next.is_some()
        };
        if has_ended {
            self.fault("the block has ended".to_string());
        }
    }

    /// A carried value, as it was when the block at hand began.
    pub(crate) fn load(&self, slot: u32, element: ElementType, lanes: u32) -> Value {
        let known = self.recording.borrow().current().loads.get(&slot).copied();
        let name = known.map(|name| name_of_block(self.block().0, name)).or_else(|| {
            let mut instruction = Instruction::new(Op::Load, element, lanes);
            instruction.immediates[0] = u64::from(slot);
            let name = self.push(&mut instruction)?[0];
            self.recording.borrow_mut().current_mut().loads.insert(slot, local(name));
            Some(name)
        });
        Value::result(self, element, lanes, name.map(|name| [name, 0]), 0)
    }

    /// The name in the block at hand of a value of any block.
    pub(crate) fn here(&self, name: u64, element: ElementType, lanes: u32) -> Option<u64> {
        if recorded::block_of(name) == self.block().0 {
            return Some(name);
        }
        let known = self.recording.borrow().carried.get(&name).copied();
        let slot = known.unwrap_or_else(|| {
            let slot = self.new_slot(element, lanes);
            let mut recording = self.recording.borrow_mut();
            recording.carried.insert(name, slot);
            recording.blocks[recorded::block_of(name)].stores.insert(slot, local(name));
            slot
        });
        // Another view of it may have another sign, which belongs to the instruction.
        let stated = self.recording.borrow().description.slots[slot as usize].element;
        match self.load(slot, stated, lanes).place() {
            ValueOrigin::Named(name) => Some(*name),
            _ => None,
        }
    }
}
