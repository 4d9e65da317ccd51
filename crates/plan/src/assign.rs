//! Assignment: chooses the sharing of each value.
//!
//! Front ends leave the sharing of most values open. This stage gives every instruction one, and
//! inserts a conversion where a value is used in another sharing than it has; each value is
//! converted at most once to each sharing. Inputs and constants are brought in again instead, in
//! the sharing that is needed; so are movements of their lanes whose results only arithmetic operations use. Conversions that
//! the program states become what the assignment makes of them: where everything has one sharing, nothing. Inputs that nothing uses are left out.
//! Rows of regions and tables, and what permutations bring and move, are in Boolean sharing; where all else is garbled
//! between two parties, only rows that permutations move, and regions that the program says so of.
//!
//! Invariant: the program computes the same, since in the clear all conversions are the identity.
//!
//! Memory: an entry for each value that is alive, within the planner's limit.

mod assignment;
mod feeding;
mod matrices;

use std::io::{Read, Seek, Write};

use phineus_bytecode::{
    CowList, ElementType, FileKind, FileSummary, Instruction, Op, Permutation, PermutationKind,
    PortOrder, ProgramReader, ProgramWriter, Shape, Sharing,
};

use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, ScratchFile};
use crate::sharings::{Ancestry, ChosenSharings, classified};

pub use assignment::Assignment;
use assignment::of_sums_and_products;
use feeding::{FedOps, Feeding};

/// Sharing of what registers, regions, tables and permutations take and give.
pub const STATE_SHARING: Sharing = Sharing::Boolean;

/// A value of the program, in the sharings that it has been needed in.
#[derive(Clone)]
struct AssignedValue {
    /// Its names in the new program, by sharing.
    names: [Option<u64>; 4],
    shape: Shape,
    /// Instruction that brings the value in again, in any sharing.
    source: Option<Instruction>,
    /// Whether it selects rows, and nothing else: its parties have transfers, and no labels.
    is_switch: bool,
    /// What it comes from, if sharings are chosen by that.
    ancestry: Ancestry,
}

impl AssignedValue {
    fn is_in(&self, sharing: Sharing) -> bool {
        self.names[sharing as usize].is_some()
    }
}

struct Assigner<'a, E> {
    assignment: Assignment,
    /// The sharings of what the program leaves open, if the assignment does not say.
    chosen: Option<&'a ChosenSharings>,
    /// Which movements feed products only, if the assignment looks at that.
    feeding: Option<Feeding>,
    permutations: CowList<Permutation>,
    emit: E,
    values: NameTable<AssignedValue>,
    next_name: u64,
}

/// Assigns sharings to `program`, into `output`; `scratch` is an empty file.
///
/// # Errors
/// [`Error::Invalid`] if the program is not one that the verifier accepts.
pub fn assign<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    assignment: Assignment,
    planner_memory_bytes: u64,
) -> Result<(W, FileSummary), Error> {
    write(program, output, scratch, (assignment, None), planner_memory_bytes)
}

/// Assigns `chosen` sharings to what `program` leaves open, and the stated ones to all else.
///
/// # Errors
/// [`Error::Invalid`] if the program is not one that the verifier accepts.
pub fn assign_chosen<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    chosen: &ChosenSharings,
    planner_memory_bytes: u64,
) -> Result<(W, FileSummary), Error> {
    let by = match chosen {
        ChosenSharings::One(sharing) => (Assignment::Stated(*sharing), None),
        ChosenSharings::Arithmetic | ChosenSharings::Classes(_) => {
            (Assignment::Stated(Sharing::Boolean), Some(chosen))
        }
    };
    write(program, output, scratch, by, planner_memory_bytes)
}

fn write<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    (assignment, chosen): (Assignment, Option<&ChosenSharings>),
    planner_memory_bytes: u64,
) -> Result<(W, FileSummary), Error> {
    let scratch: ScratchFile = scratch.into();
    let mut tables = scratch.tables(planner_memory_bytes);
    let feeding = match FedOps::of(assignment, chosen) {
        Some(ops) => Some(Feeding::find(program, scratch.clone(), ops, planner_memory_bytes)?),
        None => None,
    };
    let mut notes = annotate(program, scratch, planner_memory_bytes, PortOrder::Given)?;
    let mut description = program.description().clone();
    // Those of a block stand in the directory of all.
    if !description.is_block {
        for (number, slot) in (0..).zip(&mut description.slots) {
            slot.element = match chosen {
                Some(chosen) => chosen.carried(number, slot.element),
                None => assignment.carried(slot.element),
            };
        }
    }
    for region in &mut description.regions {
        region.element = assignment.resting(region.element);
    }
    let mut writer = ProgramWriter::new(output, FileKind::Program)?;
    let emit = |instruction: &Instruction| Ok(writer.push(instruction)?);
    let permutations = description.permutations.clone();
    let values = NameTable::new();
    let mut assigner =
        Assigner { assignment, chosen, feeding, permutations, emit, values, next_name: 0 };
    let mut index = 0;
    let instruction_count = program.instruction_count();
    for_each_frame(program, &mut notes, |instructions, uses| {
        instructions.iter().zip(uses).try_for_each(|(instruction, uses)| {
            assigner.step(index, instruction, uses)?;
            index += 1;
            assigner.values.count(&mut tables, 0, Position { read: index, all: instruction_count })
        })
    })?;
    Ok(writer.finish(&description)?)
}

impl<E: FnMut(&Instruction) -> Result<(), Error>> Assigner<'_, E> {
    fn step(
        &mut self,
        index: u64,
        instruction: &Instruction,
        uses: &NextUses,
    ) -> Result<(), Error> {
        let operands = instruction.operands();
        if operands.iter().any(|operand| !self.values.contains(*operand)) {
            return Err(Error::Invalid { instruction: index, what: "an operand is not defined" });
        }
        let is_misused = |k: usize| {
            let selects = instruction.op == Op::SwapKnown && k == 0;
            let selects_rows = selects && self.assignment.moves_shares_only();
            // Random bits are no switches either: their parties have labels, and no transfers.
            match self.values[operands[k]].is_switch {
                true => !selects,
                false => selects_rows,
            }
        };
        if (0..operands.len()).any(is_misused) {
            let what = "switches of a permutation exchange rows here, and are no other values";
            return Err(Error::Invalid { instruction: index, what });
        }
        let is_feeding = match &mut self.feeding {
            Some(feeding) if instruction.op.is_lane_movement() => feeding.is_feeding(index)?,
            Some(_) | None => false,
        };
        let (sharing, ancestry) = self.sharing(instruction, is_feeding);
        let is_stated = instruction.element.sharing() != Sharing::Any;
        let is_chosen = match self.assignment {
            Assignment::Stated(_) if self.chosen.is_some() => is_stated,
            Assignment::Uniform(_) | Assignment::Stated(_) | Assignment::GarbledBesideRows => true,
            Assignment::ArithmeticProducts => is_stated,
            Assignment::Arithmetic => false,
        };
        match instruction.op {
            Op::Convert => {
                // The same value, which may get another name when it is needed.
                let mut value = self.values[operands[0]].clone();
                if is_chosen && !matches!(self.assignment, Assignment::Uniform(_)) {
                    self.name(operands[0], sharing)?;
                    value = self.values[operands[0]].clone();
                }
                self.values.insert(instruction.results[0], AssignedValue { ancestry, ..value });
            }
            // As where a front end brings the same input in again in a sharing: some cost rounds.
            Op::Input | Op::Constant if uses.results[0] == 0 => {}
            Op::Input | Op::Constant => {
                let shape = instruction.shape();
                let source = Some(*instruction);
                let (names, is_switch) = ([None; 4], false);
                let mut value = AssignedValue { names, shape, source, is_switch, ancestry };
                // What has its sharing for sure comes in at once, in the program's order.
                if is_chosen {
                    value.names[sharing as usize] = Some(self.bring(instruction, sharing)?);
                }
                self.values.insert(instruction.results[0], value);
            }
            _ => {
                self.compute(instruction, sharing)?;
                for &result in instruction.results() {
                    let value = self.values.get_mut(result).expect("just computed");
                    value.ancestry = ancestry;
                }
            }
        }
        for (k, operand) in operands.iter().enumerate() {
            if uses.operands[k] == 0 {
                self.values.remove(*operand);
            }
        }
        for (k, result) in instruction.results().iter().enumerate() {
            if uses.results[k] == 0 {
                self.values.remove(*result);
            }
        }
        Ok(())
    }

    /// The sharing of an instruction, and what its results come from.
    fn sharing(&self, instruction: &Instruction, is_feeding: bool) -> (Sharing, Ancestry) {
        let operand = |k: usize| &self.values[instruction.operands[k]];
        let given = || self.assignment.sharing(instruction, operand, is_feeding);
        let is_open =
            instruction.element.sharing() == Sharing::Any && !instruction.op.is_about_state();
        match self.chosen {
            Some(ChosenSharings::Classes(classes)) => {
                let (keys, ancestry) = classified(instruction, |k| operand(k).ancestry);
                let sharing = if is_open { classes.of(instruction, keys) } else { given() };
                (sharing, ancestry)
            }
            Some(ChosenSharings::Arithmetic) if is_open && !instruction.op.is_carrying() => {
                (of_sums_and_products(instruction, operand, is_feeding), Ancestry::default())
            }
            Some(ChosenSharings::Arithmetic | ChosenSharings::One(_)) | None => {
                (given(), Ancestry::default())
            }
        }
    }

    fn compute(&mut self, instruction: &Instruction, sharing: Sharing) -> Result<(), Error> {
        let has_vectors = instruction.immediates[1] > 1 || sharing == Sharing::Arithmetic;
        let is_whole =
            sharing == Sharing::Arithmetic && self.assignment == Assignment::ArithmeticProducts;
        if instruction.op == Op::MatMul && has_vectors && !is_whole {
            return self.mat_mul(instruction, sharing);
        }
        let mut made = *instruction;
        made.element = made.element.shared(sharing);
        if instruction.op == Op::SwapKnown && self.assignment.moves_shares_only() {
            made.immediates[1] = Sharing::Garbled as u64;
        }
        for (k, operand) in instruction.operands().iter().enumerate() {
            made.operands[k] = self.name(*operand, made.operand_shape(k).sharing)?;
        }
        for (k, &result) in instruction.results().iter().enumerate() {
            made.results[k] = self.next_name;
            let mut names = [None; 4];
            names[sharing as usize] = Some(self.next_name);
            self.next_name += 1;
            let shape = made.result_shape(k);
            let is_switch = self.is_switch(instruction);
            let ancestry = Ancestry::default();
            let value = AssignedValue { names, shape, source: None, is_switch, ancestry };
            self.values.insert(result, value);
        }
        (self.emit)(&made)
    }

    /// Whether an instruction brings what selects rows, and nothing else. Switches of pairs are random bits.
    fn is_switch(&self, instruction: &Instruction) -> bool {
        let permutation = || self.permutations.get(instruction.immediates[0] as usize);
        self.assignment.moves_shares_only()
            && instruction.op == Op::Switches
            && permutation().is_none_or(|found| found.kind != PermutationKind::RandomPairs)
    }

    /// The name of `value` in `sharing`; converts it if it has none.
    fn name(&mut self, value: u64, sharing: Sharing) -> Result<u64, Error> {
        let known = &self.values[value];
        if let Some(name) = known.names[sharing as usize] {
            return Ok(name);
        }
        let (shape, source, names) = (known.shape, known.source, known.names);
        let name = match source {
            Some(source) => self.bring(&source, sharing)?,
            None => {
                // From garbled sharing to XOR shares nobody says anything: prefer XOR shares.
                let order = [Sharing::Boolean, Sharing::Garbled, Sharing::Arithmetic, Sharing::Any];
                let from = order.into_iter().find(|&from| names[from as usize].is_some());
                let from = from.expect("a value that is defined has a sharing");
                let element = ElementType::unsigned(shape.width).shared(sharing);
                let mut convert = Instruction::new(Op::Convert, element, shape.lanes);
                convert.immediates[0] = from as u64;
                convert.operands[0] = names[from as usize].expect("just found");
                self.define(convert)?
            }
        };
        let known = self.values.get_mut(value).expect("just looked at");
        known.names[sharing as usize] = Some(name);
        Ok(name)
    }

    /// Brings an input or constant in.
    fn bring(&mut self, source: &Instruction, sharing: Sharing) -> Result<u64, Error> {
        let mut instruction = *source;
        instruction.element = instruction.element.shared(sharing);
        self.define(instruction)
    }

    fn define(&mut self, mut instruction: Instruction) -> Result<u64, Error> {
        instruction.results[0] = self.next_name;
        self.next_name += 1;
        (self.emit)(&instruction)?;
        Ok(instruction.results[0])
    }
}
