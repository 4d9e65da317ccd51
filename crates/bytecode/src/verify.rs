//! The verifier: reports all faults of a program, each with its place.
//!
//! Every program:
//! 1. `T x n` of an instruction and all its operands and results are valid shapes: 1 to 256 bits,
//!    at most 4096 wires, or what the program states. The operation's own rule holds.
//! 2. Inputs and outputs name a port and a column that exist, have exactly the column's type, and
//!    stay within the port's rows. An input cell may be read any number of times.
//! 3. Every cell of every output port is written exactly once.
//!    Every instruction that is issued is finished, and none is finished that was not issued.
//!
//! 4. A memory has the columns and rows that are used, and is set before it is accessed.
//!    A public register has a value before it selects a row, a range of constant rows lies in its region,
//!    and what is asked of a permutation exists: its inverse, or where an item is, only after all of it
//!    is there. A row of a table lies in it, and is set once at most, before any of the table is looked up.
//!
//! A program (instructions name values):
//! 5. Results are named 0, 1, 2, ... in order; an operand is defined before its use.
//! 6. An operand has the shape that the operation's signature gives it.
//! 7. There are no directives.
//!
//! A planned program (instructions name addresses):
//! 8. The description has the plan's figures.
//! 9. Every operand and result lies inside the frames and inside one page.
//! 10. Results overlap neither operands nor each other.
//! 11. Directives are of type u1x1 and name existing frames and spill slots.
//!
//! Whether a planned program computes what its program means is for the planner's checker.
//!
//! Memory: 4 bytes for each value (its shape), at most 64 MiB; longer programs are read a second
//! time, backwards, which takes about 30 bytes for each value that lives at the same time. And an
//! interval for each separately written stretch of output rows.

mod blocks;
mod intervals;
mod places;
mod ports;
mod shapes;
mod signatures;
mod state;
#[cfg(test)]
mod state_tests;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek};

use crate::binary::{FileKind, ProgramReader};
use crate::description::Description;
use crate::error::Error;
use crate::instruction::{Instruction, Phase};
use crate::layout::Layout;
use crate::limits::{FAULTS_MAX, FRAME_INSTRUCTIONS};
use crate::ops::Op;
use crate::text;

pub use blocks::verify_blocks;
use intervals::Intervals;
use shapes::{PackedShape, Shapes};
use state::AccessPart;

/// How many values a program may define for their shapes to be held in memory: 64 MiB of them.
const SHAPES_MAX: u64 = 1 << 24;

/// Something that is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The instruction's number, counted from 0, and its text; `None` if it is about the whole.
    pub place: Option<(u64, String)>,
    /// Description of the fault, with what is expected.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Some((number, line)) => write!(f, "instruction {number}, `{line}`: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// All that is wrong with a program, up to [`FAULTS_MAX`] violations; nothing if it is valid.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub fn verify<R: Read + Seek>(reader: &mut ProgramReader<R>) -> Result<Vec<Violation>, Error> {
    verify_within(reader, SHAPES_MAX)
}

/// As [`verify`], but for what inputs and outputs say of ports: of a program that is walked through by
/// who knows what its ports stand for, such as that of what is garbled beside a run. A block of a
/// larger program may load and store carried values.
///
/// # Errors
/// If the file cannot be read or is damaged.
pub fn verify_without_ports<R: Read + Seek>(
    reader: &mut ProgramReader<R>,
    is_block: bool,
) -> Result<Vec<Violation>, Error> {
    let place = is_block.then_some(BlockPlace { is_first: false, is_last: false, iterations: 1 });
    let description = Description { outputs: Default::default(), ..reader.description().clone() };
    let checker =
        Verifier { has_ports: false, place, ..Verifier::new(reader.kind(), &description) };
    verify_with(reader, checker, SHAPES_MAX, &mut |_| {})
}

/// As [`verify`], with at most `shapes_max` shapes in memory.
fn verify_within<R: Read + Seek>(
    reader: &mut ProgramReader<R>,
    shapes_max: u64,
) -> Result<Vec<Violation>, Error> {
    let description = reader.description().clone();
    verify_with(reader, Verifier::new(reader.kind(), &description), shapes_max, &mut |_| {})
}

/// As [`verify`], with a checker of the reader's own description; `visit` sees each instruction.
fn verify_with<R: Read + Seek>(
    reader: &mut ProgramReader<R>,
    mut checker: Verifier<'_>,
    shapes_max: u64,
    visit: &mut dyn FnMut(&Instruction),
) -> Result<Vec<Violation>, Error> {
    let last = reader.frame_count().checked_sub(1);
    if last.is_some_and(|last| reader.first_value(last) >= shapes_max) {
        checker.shapes = Shapes::misused(reader)?;
    }
    let mut instructions = Vec::with_capacity(FRAME_INSTRUCTIONS);
    let mut faults = Vec::new();
    let mut violations = Vec::new();
    let mut number = 0;
    for frame in 0..reader.frame_count() {
        reader.read_frame(frame, &mut instructions)?;
        for instruction in &instructions {
            checker.check(instruction, &mut faults);
            visit(instruction);
            for what in faults.drain(..) {
                let line = text::line_of(reader.kind(), instruction);
                violations.push(Violation { place: Some((number, line)), what });
            }
            number += 1;
        }
        if violations.len() >= FAULTS_MAX {
            violations.truncate(FAULTS_MAX);
            return Ok(violations);
        }
    }
    checker.finish(&mut faults);
    violations.extend(faults.into_iter().map(|what| Violation { place: None, what }));
    violations.truncate(FAULTS_MAX);
    Ok(violations)
}

/// Permissions that depend on a block's position in its program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    /// Nothing runs before it.
    pub(crate) is_first: bool,
    /// Nothing runs after it.
    pub(crate) is_last: bool,
    /// How often it runs in a row.
    iterations: u64,
}

/// Checks instructions one after another.
pub(crate) struct Verifier<'a> {
    kind: FileKind,
    description: &'a Description,
    /// Page size and end of the last page, in units; 0 if the description has no plan.
    layout: Layout,
    page_wires: u64,
    end: u64,
    shapes: Shapes,
    /// By output port and column, the stretches of rows written so far.
    written: HashMap<(usize, usize), Intervals>,
    /// Which part of a larger program this is, if it is one.
    place: Option<BlockPlace>,
    /// Whether inputs and outputs are those of the description's tables.
    has_ports: bool,
    /// Instructions that were issued and are not finished, without places, and how many.
    in_flight: HashMap<Instruction, u64>,
    /// Memories that have been accessed.
    accessed: HashMap<u64, AccessPart>,
    /// By memory and column, the rows that were set.
    set: HashMap<(u64, u64), Intervals>,
    /// Registers that have a value.
    revealed: HashSet<u64>,
    /// By permutation and operation: the switches or rows that were brought or told.
    brought: HashMap<(u64, Op), Intervals>,
    /// Permutations that items were located in, and whether for the last time.
    located: HashMap<u64, bool>,
    /// The last value that is switches, and whose.
    switches: Option<(u64, u16)>,
    /// By table, the rows that were set.
    filled: HashMap<u64, Intervals>,
    /// Tables that rows were looked up in.
    looked_up: HashSet<u64>,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(kind: FileKind, description: &'a Description) -> Verifier<'a> {
        let plan = description.plan.as_ref();
        let page_wires = plan.map_or(0, |plan| plan.page_wires);
        Verifier {
            kind,
            description,
            layout: plan.map_or(Layout::wires(1), |plan| plan.layout),
            page_wires,
            end: plan.map_or(0, |plan| plan.frame_count.saturating_mul(page_wires)),
            shapes: Shapes::All(Vec::new()),
            written: HashMap::new(),
            place: None,
            has_ports: true,
            in_flight: HashMap::new(),
            accessed: HashMap::new(),
            set: HashMap::new(),
            revealed: HashSet::new(),
            brought: HashMap::new(),
            located: HashMap::new(),
            switches: None,
            filled: HashMap::new(),
            looked_up: HashSet::new(),
        }
    }

    /// Returns the checker for a block of a larger program.
    pub(crate) fn of_block(self, place: BlockPlace) -> Verifier<'a> {
        Verifier { place: Some(place), ..self }
    }

    /// Checks the next instruction and appends what is wrong with it.
    pub(crate) fn check(&mut self, instruction: &Instruction, faults: &mut Vec<String>) {
        let shapes_hold = self.check_shapes(instruction, faults);
        match self.kind {
            FileKind::Program => self.check_values(instruction, shapes_hold, faults),
            FileKind::Planned if instruction.op.is_directive() => {
                self.check_directive(instruction, faults);
            }
            FileKind::Planned if shapes_hold => self.check_places(instruction, faults),
            FileKind::Planned => {}
        }
        self.check_phase(instruction, faults);
        match instruction.op {
            // A register has its value when that was opened.
            _ if instruction.phase == Phase::Finish && instruction.op != Op::Reveal => {}
            Op::Input | Op::Output if !self.has_ports => {}
            Op::Input => self.check_input(instruction, faults),
            Op::Output => self.check_output(instruction, faults),
            Op::Load | Op::Store => self.check_carried(instruction, faults),
            op if op.is_about_state() => self.check_state(instruction, faults),
            _ => {}
        }
    }

    /// Appends what is wrong with the program as a whole.
    pub(crate) fn finish(self, faults: &mut Vec<String>) {
        if self.kind == FileKind::Planned && self.page_wires == 0 {
            faults.push("a planned program needs the plan's figures: plan it again".to_owned());
        }
        if self.in_flight.values().any(|&count| count > 0) {
            faults.push("an instruction is issued and never finished".to_owned());
        }
        self.finish_state(faults);
        if self.place.is_some_and(|place| !place.is_last) {
            return;
        }
        let nothing = Intervals::default();
        for (index, port) in self.description.outputs.iter().enumerate() {
            if self.description.is_opened(index) {
                continue;
            }
            for (at, column) in port.columns.iter().enumerate() {
                let written = self.written.get(&(index, at)).unwrap_or(&nothing);
                if let Some((from, to)) = written.first_gap(port.rows) {
                    faults.push(format!(
                        "rows {from} to {} of column '{}' of output '{}' are never written; \
                         every row is written once",
                        to - 1,
                        column.name,
                        port.name
                    ));
                }
            }
        }
    }

    fn check_phase(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        if i.phase == Phase::Whole {
            return;
        }
        let in_field = self.layout.is_in_field();
        let has_parts = !i.op.is_stateful() || in_field && i.op.may_take_rounds();
        if i.op == Op::Round || i.op.is_directive() || !has_parts {
            faults.push(format!("{} has no parts", i.op.info().name));
        }
        let key = Instruction {
            phase: Phase::Whole,
            results: Default::default(),
            operands: Default::default(),
            ..*i
        };
        let count = self.in_flight.entry(key).or_default();
        if i.phase == Phase::Issue {
            *count += 1;
        } else if *count == 0 {
            faults.push(format!("{} is finished but was not issued", i.op.info().name));
        } else {
            *count -= 1;
        }
    }

    fn check_values(&mut self, i: &Instruction, shapes_hold: bool, faults: &mut Vec<String>) {
        if i.op.is_directive() {
            faults.push(format!("{} belongs into planned programs only", i.op.info().name));
        }
        for (index, &operand) in i.operands().iter().enumerate() {
            let Some(found) = self.shapes.get(operand) else {
                faults.push(format!("%{operand} is used before it is defined"));
                continue;
            };
            let wanted = i.operand_shape(index);
            if shapes_hold && found != PackedShape::UNKNOWN && found != PackedShape::of(wanted) {
                faults.push(format!(
                    "operand {} of {} must have {wanted}, but %{operand} has {}",
                    index + 1,
                    i.op.info().name,
                    found.shape(),
                ));
            }
        }
        for (index, &result) in i.results().iter().enumerate() {
            let shape = PackedShape::of(i.result_shape(index));
            if let Err(next) = self.shapes.define(result, shape) {
                faults
                    .push(format!("values are named in order: the next is %{next}, not %{result}"));
            }
        }
    }

    /// Takes note of results whose instruction could not be read.
    pub(crate) fn skip(&mut self, results: &[u64]) {
        if self.kind == FileKind::Planned {
            return;
        }
        for &result in results {
            let _already_a_fault = self.shapes.define(result, PackedShape::UNKNOWN);
        }
    }

    /// Checks what goes from block to block.
    fn check_carried(&self, i: &Instruction, faults: &mut Vec<String>) {
        let name = i.op.info().name;
        if self.place.is_none() {
            return faults.push(format!("{name} belongs into programs of several blocks"));
        }
        match self.description.slots.get(i.immediates[0] as usize) {
            Some(slot) if (slot.element, slot.lanes) == (i.element, i.lanes) => {}
            Some(slot) => faults.push(format!(
                "carried value {} is {}x{}, not {}x{}",
                i.immediates[0], slot.element, slot.lanes, i.element, i.lanes
            )),
            None => faults.push(format!(
                "there is no carried value {}, only {} in all",
                i.immediates[0],
                self.description.slots.len()
            )),
        }
    }
}
