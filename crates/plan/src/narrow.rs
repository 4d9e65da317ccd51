//! Narrowing: computes each instruction in the least width that gives the bits which are needed.
//!
//! Front ends compute in the widths of their language; C promotes bytes to `int`. Three passes, each
//! over the program as it is on disk: *forward* from types and constants to what is known of each
//! value ([`facts`], [`transfer`]), *backward* from outputs to the bits that are needed ([`demand`]),
//! and *forward* again to write the instructions ([`emit`]). Casts and shifts by public amounts become
//! views of narrower values ([`views`]); what is known is a constant, and what is not needed is left out.
//!
//! Facts follow from types, constants and operations alone, never from secrets, so that all parties
//! narrow alike. Values in arithmetic sharing keep their width. What comes in from parties is anything of its
//! type. What comes in from other blocks, from regions and from tables is what was written there
//! ([`state`], [`program_state`]).
//!
//! Memory: an entry for each value that is alive. Scratch: some bytes per result, compressed.

mod demand;
mod emit;
mod facts;
mod increments;
mod notes;
mod program_state;
mod prospect;
mod recent;
mod state;
mod state_record;
mod transfer;
mod views;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::{OPERANDS_MAX, RESULTS_MAX};
use phineus_bytecode::{
    FileKind, FileSummary, Instruction, Op, PortOrder, ProgramReader, ProgramWriter,
};

use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, Scratch, TableBudget};

pub use program_state::find_state;
pub use prospect::may_narrow;
#[cfg(test)]
pub(crate) use state::StateAccess;
pub use state::{StateClaim, StateFacts, StatePlace};

use demand::is_known;
use emit::Narrowing;
use facts::Facts;
use notes::{BlockStack, InstructionNotes, decode, encode, read_facts, write_facts};
use program_state::ForwardPass;
use state_record::{FollowedState, StateRecord};
use views::{Emitter, NarrowedValue};

/// The most instructions between a term and the sum that adds it. The term's operands stay alive that long.
const ADDEND_DISTANCE_MAX: u64 = 4096;

/// Properties of the protocol that narrowing depends on.
#[derive(Clone, Copy)]
pub struct NarrowOptions<'a> {
    /// ANDs of an instruction of one lane, by which forms of products and sums are compared.
    pub and_gates: &'a dyn Fn(&Instruction) -> u64,
    /// Whether operations one after another cost rounds.
    pub has_rounds: bool,
    /// Whether sums of many terms over several instructions are computed at once; then sums within have no places.
    pub gathers_sums: bool,
    /// Memory for the tables of a pass.
    pub planner_memory_bytes: u64,
    /// Of a block of a program of several: what is known of all that is read from places.
    pub state: Option<&'a StateFacts>,
    /// Hears after each instruction of the program how many were written so far.
    pub written_after_each: &'a dyn Fn(u64),
}

/// Facts and bits of a value of the program that narrowing relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowClaim {
    /// The value.
    pub value: u64,
    /// Bits that are 0 in all lanes, and bits that are 1; none of a value of more than 128 bits.
    pub zeros: u128,
    /// Bits that are 1.
    pub ones: u128,
    /// Bounds of the unsigned integer.
    pub unsigned: (u128, u128),
    /// Bounds of the signed integer.
    pub signed: (i128, i128),
    /// Bits that are needed; all of a value of more than 128 bits.
    pub demanded: u128,
    /// Where the needed bits are; `None` if all of them are known or none is needed.
    pub place: Option<NarrowPlace>,
}

/// Bits of a value of the narrowed program that are bits of one of the program. Bits above are 0 or copies
/// of the last one; those below are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowPlace {
    /// The value of the narrowed program.
    pub name: u64,
    /// Its first bit that counts.
    pub start: u16,
    /// How many bits count.
    pub length: u16,
    /// Which bit of the program's value the first one is.
    pub offset: u16,
    /// Whether the bits above are copies of the last one.
    pub is_signed: bool,
}

impl NarrowClaim {
    fn of(name: u64, value: &NarrowedValue) -> NarrowClaim {
        let Facts { zeros, ones, low, high, least, most, .. } = value.facts;
        NarrowClaim {
            value: name,
            zeros,
            ones,
            unsigned: (low, high),
            signed: (least, most),
            demanded: value.demanded,
            place: value.view.map(|view| NarrowPlace {
                name: view.name,
                start: view.start,
                length: view.length,
                offset: view.offset,
                is_signed: view.is_signed,
            }),
        }
    }
}

/// A narrowed program.
pub struct Narrowed<W> {
    /// The output that it was written to.
    pub output: W,
    /// Hash, number of instructions and bytes of the narrowed program.
    pub written: FileSummary,
    /// Whether anything is computed in fewer bits than in the program, or left out. If not, only bits are moved
    /// elsewhere, and the program is as good.
    pub is_narrower: bool,
}

/// Narrows `program`, into `output`; `claim` hears what is relied on about each value of the program that
/// is needed.
///
/// # Errors
/// [`Error::Invalid`] if the program is not one that the verifier accepts.
pub fn narrow<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: &Scratch,
    options: NarrowOptions<'_>,
    claim: impl FnMut(&NarrowClaim),
) -> Result<Narrowed<W>, Error> {
    let memory = options.planner_memory_bytes;
    let mut facts = BlockStack::new(scratch.file())?;
    let mut tables = scratch.file().tables(memory);
    // What is written in the only block of a program is read nowhere else.
    let mut own = StateRecord::new(match program.description().is_block {
        true => StateFacts::unknown(program.description()),
        false => StateFacts::of_only_block(program.description()),
    });
    let state = match options.state {
        Some(state) => FollowedState::Given(state),
        None => FollowedState::Running(&mut own),
    };
    find_facts(program, scratch, &mut facts, (&mut tables, memory), state)?;
    let mut notes = BlockStack::new(scratch.file())?;
    find_demands(program, &mut facts, &mut notes, &mut tables)?;
    let description = program.description().clone();
    let mut writer = ProgramWriter::new(output, FileKind::Program)?;
    let written = Cell::new(0);
    let emit = |i: &Instruction| {
        written.set(written.get() + 1);
        Ok(writer.push(i)?)
    };
    let emitter = Emitter::new(emit);
    let mut narrowing = Narrowing::new(options, emitter, claim);
    let count = program.instruction_count();
    let (mut index, mut bytes) = (0, Vec::new());
    let (mut instructions, mut found) = (Vec::new(), Vec::new());
    for frame in 0..program.frame_count() {
        program.read_frame(frame, &mut instructions)?;
        notes.pop(&mut bytes)?;
        decode(&instructions, &bytes, &mut found);
        for (i, notes) in instructions.iter().zip(&found) {
            narrowing.step(i, notes)?;
            (options.written_after_each)(written.get());
            index += 1;
            narrowing.values.count(&mut tables, 0, Position { read: index, all: count })?;
        }
    }
    let is_narrower = narrowing.is_narrower;
    let (output, written) = writer.finish(&description)?;
    Ok(Narrowed { output, written, is_narrower })
}

/// The first pass: what is known of each result, by frame.
fn find_facts<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    scratch: &Scratch,
    facts: &mut BlockStack,
    (tables, memory): (&mut TableBudget, u64),
    state: FollowedState<'_>,
) -> Result<(), Error> {
    let mut next_uses = annotate(program, scratch.file(), memory, PortOrder::Given)?;
    let mut pass = ForwardPass::new(state);
    let count = program.instruction_count();
    let mut bytes = Vec::new();
    for_each_frame(program, &mut next_uses, |instructions, uses| {
        bytes.clear();
        for (i, uses) in instructions.iter().zip(uses) {
            let found = pass.step(i, uses)?;
            found[..i.result_count()].iter().for_each(|found| write_facts(&mut bytes, found));
            let position = Position { read: pass.index(), all: count };
            pass.values.count(tables, facts.memory_bytes(), position)?;
        }
        facts.push(&bytes)
    })
}

/// Forgets operands that are not used again.
fn forget<V>(values: &mut NameTable<V>, i: &Instruction, uses: &NextUses) {
    for (k, &operand) in i.operands().iter().enumerate() {
        if uses.operands[k] == 0 {
            values.remove(operand);
        }
    }
}

/// The second pass, from the last instruction to the first: which bits of each result are needed.
fn find_demands<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    facts: &mut BlockStack,
    notes: &mut BlockStack,
    tables: &mut TableBudget,
) -> Result<(), Error> {
    let mut needed: NameTable<Need> = NameTable::new();
    let (mut bytes, mut instructions, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let count = program.instruction_count();
    let mut index = count;
    for frame in (0..program.frame_count()).rev() {
        program.read_frame(frame, &mut instructions)?;
        facts.pop(&mut bytes)?;
        read_notes(&instructions, &bytes, &mut found);
        for (i, found) in instructions.iter().zip(&mut found).rev() {
            index -= 1;
            need(&mut needed, (index, i), found);
            let position = Position { read: index, all: count };
            tables.count(
                needed.memory_bytes_after(OPERANDS_MAX)
                    + facts.memory_bytes()
                    + notes.memory_bytes(),
                needed.len(),
                position,
            )?;
        }
        encode(&instructions, &found, &mut bytes);
        notes.push(&bytes)?;
    }
    Ok(())
}

/// The notes of a frame, with facts alone.
fn read_notes(instructions: &[Instruction], mut bytes: &[u8], found: &mut Vec<InstructionNotes>) {
    found.clear();
    for i in instructions {
        let mut facts = [Facts::unknown(1); RESULTS_MAX];
        for (k, facts) in facts.iter_mut().enumerate().take(i.result_count()) {
            *facts = read_facts(&mut bytes, i.result_shape(k).width);
        }
        let (demanded, is_used) = ([0; RESULTS_MAX], [false; RESULTS_MAX]);
        let (is_needed, is_addend, last_uses) = (false, false, [false; OPERANDS_MAX]);
        found.push(InstructionNotes { facts, demanded, is_used, is_needed, is_addend, last_uses });
    }
}

/// What later instructions need of a value.
#[derive(Clone, Copy)]
struct Need {
    bits: u128,
    /// The only instruction that uses it, if that is a sum.
    sum: Option<u64>,
}

/// Notes what is needed of an instruction's results, and so of its operands.
fn need(
    needed: &mut NameTable<Need>,
    (index, i): (u64, &Instruction),
    notes: &mut InstructionNotes,
) {
    for (k, &name) in i.results().iter().enumerate() {
        if let Some(&mut Need { bits, sum }) = needed.get_mut(name) {
            (notes.demanded[k], notes.is_used[k]) = (bits, true);
            notes.is_addend |= sum.is_some_and(|sum| sum - index <= ADDEND_DISTANCE_MAX);
            needed.remove(name);
        }
    }
    notes.demanded = demand::joined(i, notes.demanded);
    let is_pure = i.op.info().meaning.is_some();
    let known = |k: usize| is_known(&notes.facts[k], notes.demanded[k]);
    notes.is_needed = !is_pure || !(0..i.result_count()).all(known);
    if !notes.is_needed {
        return;
    }
    let is_sum = match i.op {
        Op::Add | Op::LaneSum => true,
        // It is of the sum that its result goes into.
        Op::Cast => notes.is_addend,
        _ => false,
    };
    let sum = is_sum.then_some(index);
    let bits = demand::operands(i, &notes.facts, notes.demanded);
    for (k, &name) in i.operands().iter().enumerate().filter(|&(k, _)| bits[k] != 0) {
        let before = needed.get_mut(name).map(|need| need.bits);
        notes.last_uses[k] = before.is_none();
        let need = match before {
            None => Need { bits: bits[k], sum },
            Some(before) => Need { bits: before | bits[k], sum: None },
        };
        needed.insert(name, need);
    }
}
