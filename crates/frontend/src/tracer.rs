//! [`Tracer`]: records what a program does with its values, as a stream of instructions.
//!
//! Memory is bounded: instructions go to the writer at once, and a value is only a name.
//! Mistakes do not stop the program: they are collected with the line that made them, and
//! [`Tracer::finish`] reports them all.

use std::cell::RefCell;
use std::io::Write;
use std::panic::Location;
use std::rc::Rc;

use phineus_bytecode::{
    Description, ElementType, InputPort, Instruction, Kind, Lane, Op, OutputPort, ProgramWriter,
    Shape,
};

use crate::error::{FAULTS_MAX, Fault, Faults, ProgramError};
use crate::program::Traced;
use crate::value::{Place, Value};

/// Records a program. A clone is another handle to the same recording.
#[derive(Clone)]
pub struct Tracer {
    recording: Rc<RefCell<Recording>>,
}

struct Recording {
    writer: Option<ProgramWriter<Box<dyn Write>>>,
    next_value: u64,
    faults: Vec<Fault>,
    failure: Option<phineus_bytecode::Error>,
    description: Description,
}

/// Results of an emission: the names of up to two values, or nothing after a fault.
pub(crate) type Results = Option<[u64; 2]>;

impl Tracer {
    /// Begins a program called `name`, written to `output` as it grows.
    pub fn new(name: &str, output: impl Write + 'static) -> Result<Tracer, ProgramError> {
        let output: Box<dyn Write> = Box::new(output);
        let recording = Recording {
            writer: Some(ProgramWriter::new(output, Kind::Program)?),
            next_value: 0,
            faults: Vec::new(),
            failure: None,
            description: Description { name: name.to_string(), ..Description::default() },
        };
        Ok(Tracer { recording: Rc::new(RefCell::new(recording)) })
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
    /// [`ProgramError::Faults`] if the program made mistakes; nothing useful was written then.
    pub fn finish(&self) -> Result<Traced, ProgramError> {
        let mut recording = self.recording.borrow_mut();
        let faults = recording.description.faults();
        if recording.faults.is_empty() && !faults.is_empty() {
            return Err(ProgramError::Refused(faults.join("\n")));
        }
        if !recording.faults.is_empty() {
            return Err(ProgramError::Faults(Faults(recording.faults.clone())));
        }
        if let Some(failure) = recording.failure.take() {
            return Err(failure.into());
        }
        let writer = recording
            .writer
            .take()
            .ok_or_else(|| ProgramError::Refused("the program was finished before".to_string()))?;
        let (_, written) = writer.finish(&recording.description)?;
        Ok(Traced { description: recording.description.clone(), written })
    }

    /// Reports a mistake of the program at the caller's line.
    #[track_caller]
    pub fn fault(&self, what: String) {
        let mut recording = self.recording.borrow_mut();
        if recording.faults.len() < FAULTS_MAX {
            let fault = Fault::at(Location::caller(), what);
            recording.faults.push(fault);
        }
    }

    /// How many instructions were recorded.
    pub fn instruction_count(&self) -> u64 {
        let recording = self.recording.borrow();
        recording.writer.as_ref().map_or(0, ProgramWriter::instruction_count)
    }

    pub(crate) fn is_same(&self, other: &Tracer) -> bool {
        Rc::ptr_eq(&self.recording, &other.recording)
    }

    pub(crate) fn add_input(&self, port: InputPort) -> u64 {
        let inputs = &mut self.recording.borrow_mut().description.inputs;
        inputs.push(port);
        inputs.len() as u64 - 1
    }

    pub(crate) fn add_output(&self, port: OutputPort) -> u64 {
        let outputs = &mut self.recording.borrow_mut().description.outputs;
        outputs.push(port);
        outputs.len() as u64 - 1
    }

    /// Records one instruction; `operands` are as many as the operation takes.
    ///
    /// Checks everything that the op table says; a violation becomes a fault at the caller's line.
    #[track_caller]
    pub(crate) fn emit(
        &self,
        op: Op,
        element: ElementType,
        lanes: u32,
        operands: &[&Value],
        immediates: [u64; 4],
    ) -> Results {
        let mut instruction = Instruction::new(op, element, lanes);
        instruction.immediates = immediates;
        for (&operand, place) in operands.iter().zip(&mut instruction.operands) {
            match operand.place() {
                Place::Named(name) => *place = *name,
                Place::Poisoned => return None,
                Place::Known(lane) => *place = self.emit_constant(operand, **lane)?,
            }
            if !self.is_same(operand.tracer()) {
                self.fault(format!("{} mixes values of two programs", op.info().name));
                return None;
            }
        }
        if let Some(what) = violation(&instruction, operands) {
            self.fault(what);
            return None;
        }
        self.push(&mut instruction)
    }

    fn emit_constant(&self, value: &Value, lane: Lane) -> Option<u64> {
        let mut instruction = Instruction::new(Op::Constant, value.element(), value.lanes());
        instruction.immediates = *lane.as_limbs();
        self.push(&mut instruction).map(|results| results[0])
    }

    fn push(&self, instruction: &mut Instruction) -> Results {
        let mut recording = self.recording.borrow_mut();
        let recording = &mut *recording;
        for k in 0..instruction.op.info().results.len() {
            instruction.results[k] = recording.next_value;
            recording.next_value += 1;
        }
        // After a fault or failure nothing will be kept: do not write, but find further faults.
        if recording.faults.is_empty() && recording.failure.is_none() {
            let writer = recording.writer.as_mut()?;
            recording.failure = writer.push(instruction).err();
        }
        Some(instruction.results)
    }
}

/// What is wrong with the instruction on these operands, if anything.
#[inline]
fn violation(instruction: &Instruction, operands: &[&Value]) -> Option<String> {
    let info = instruction.op.info();
    let operands_fit = info
        .operands
        .iter()
        .zip(operands)
        .all(|(role, operand)| role.shape(instruction) == operand.shape());
    let results_fit = info.results.iter().all(|role| role.shape(instruction).is_valid());
    let rule = (info.rule)(instruction);
    if operands_fit && results_fit && rule.is_ok() {
        return None;
    }
    Some(describe(instruction, operands, rule.err()))
}

#[cold]
fn describe(instruction: &Instruction, operands: &[&Value], rule: Option<&str>) -> String {
    let info = instruction.op.info();
    let name = info.name;
    for (role, operand) in info.operands.iter().zip(operands) {
        let (wanted, found) = (role.shape(instruction), operand.shape());
        if wanted != found {
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
