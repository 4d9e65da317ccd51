//! The backward pass: finds the next use of each value.
//!
//! Belady's MIN (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966)
//! needs next-use times; MAGE (section 6.3) finds those of pages by a pass over placed
//! instructions. Deviation: this pass runs over *values*, before they are placed. The forward pass
//! derives a page's next use from those of the values on it, so that placement, replacement and
//! scheduling are one pass and no intermediate program is written.
//!
//! Outputs are moved on the way, and what leads to them (see [`near`](crate::near)): the file says
//! where they come.
//!
//! Memory: one map entry per value alive at once, what is held, and 16 bytes per 4096 instructions.
//! The file holds one variable-length number per operand and result, compressed.

use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::{FRAME_INSTRUCTIONS, OPERANDS_MAX, RESULTS_MAX};
use phineus_bytecode::{
    ElementType, FileKind, Instruction, Op, PortOrder, ProgramReader, Sharing, varint,
};

use crate::ahead::ahead;
use crate::error::Error;
use crate::near::HeldOutputs;
use crate::scratch::{Position, ScratchFile, TableBudget};
use crate::value_map::ValueMap;

/// How far away each operand's next use and each result's first use is, in instructions; 0: never.
#[derive(Clone, Copy, Default)]
pub(crate) struct NextUses {
    pub(crate) operands: [u64; OPERANDS_MAX],
    pub(crate) results: [u64; RESULTS_MAX],
}

impl NextUses {
    /// Those of an instruction whose operands are dead then, and whose result is used so far away.
    pub(crate) fn of_result(distance: u64) -> NextUses {
        NextUses { results: [distance, 0], ..NextUses::default() }
    }
}

/// The next uses of a whole program, in a temporary file, and where moved instructions come.
///
/// They were written from the last frame to the first and are read from the first to the last, so
/// what was read is always the end of the file, and is cut off.
pub(crate) struct NextUseFile {
    file: ScratchFile,
    /// Memory of the tables of the stage that reads this.
    pub(crate) tables: TableBudget,
    /// Offset and lengths (stored, raw) of each frame's annotations.
    frames: Vec<(u64, u32, u32)>,
    stored: Vec<u8>,
    raw: Vec<u8>,
    unmoved: Vec<Instruction>,
    gone: Vec<usize>,
    decompressor: zstd::bulk::Decompressor<'static>,
}

/// Names that the instructions of a frame bring in at most.
pub(crate) const NAMES_PER_FRAME: usize = FRAME_INSTRUCTIONS * OPERANDS_MAX;

/// A frame's number, its instructions, and what is found out about them.
type Batch = (usize, Vec<Instruction>, FrameUses);

/// Next uses in a frame, collected from its last instruction to its first.
#[derive(Default)]
struct FrameUses {
    /// The next uses of its instructions, moved ones where they come.
    uses: Vec<NextUses>,
    /// Moved instructions that come in it, and how many instructions of it come behind each.
    moved: Vec<(usize, Instruction)>,
    /// Where instructions stood in it that are moved.
    gone: Vec<usize>,
}

/// Runs the backward pass; moves outputs, and what leads to them, on the way if `ports` says so.
pub(crate) fn annotate<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    mut file: ScratchFile,
    memory_limit_bytes: u64,
    ports: PortOrder,
) -> Result<NextUseFile, Error> {
    let invalid = |instruction, what| Error::Invalid { instruction, what };
    if program.kind() != FileKind::Program {
        return Err(invalid(0, "it is planned already"));
    }
    let count = program.instruction_count();
    let (last_seen, outputs) = (ValueMap::new(), HeldOutputs::new(count));
    let mut pass = Backward { last_seen, outputs, given: Vec::new(), index: count };
    let mut frames = vec![(0, 0, 0); program.frame_count()];
    let frames_bytes = size_of_val(&frames[..]) as u64;
    let mut tables = file.tables(memory_limit_bytes);
    let mut compressor = zstd::bulk::Compressor::new(1)?;
    let (mut raw, mut stored) = (Vec::new(), Vec::new());
    // An assignment has notes of its own before these.
    let mut offset = file.length_bytes();
    let mut unread = program.frame_count();
    let read = |(frame, instructions, _): &mut Batch| {
        if unread == 0 {
            return Ok(false);
        }
        unread -= 1;
        *frame = unread;
        program.read_frame(unread, instructions)?;
        Ok(true)
    };
    ahead(read, |(frame, instructions, found)| {
        pass.visit_frame(instructions, ports, found).map_err(|what| invalid(pass.index, what))?;
        encode(instructions, found, &mut raw);
        stored.resize(zstd::zstd_safe::compress_bound(raw.len()), 0);
        let length = compressor.compress_to_buffer(&raw, &mut stored[..])?;
        file.write_all(&stored[..length])?;
        frames[*frame] = (offset, length as u32, raw.len() as u32);
        offset += length as u64;
        let values_bytes = pass.last_seen.memory_bytes_after(NAMES_PER_FRAME);
        let bytes = values_bytes + pass.outputs.memory_bytes() + frames_bytes;
        tables.count(bytes, pass.last_seen.len(), Position { read: pass.index, all: count })
    })?;
    if pass.last_seen.len() > 0 || !pass.outputs.is_empty() {
        return Err(invalid(0, "a value is used but not defined"));
    }
    let decompressor = zstd::bulk::Decompressor::new()?;
    let (unmoved, gone) = (Vec::new(), Vec::new());
    Ok(NextUseFile { file, tables, frames, stored, raw, unmoved, gone, decompressor })
}

/// Instructions with their next uses.
type Annotated = (Vec<Instruction>, Vec<NextUses>);

/// Calls `consume` with the frames of `program`, in order, and the next uses of their instructions;
/// reads them ahead in a thread of its own.
pub(crate) fn for_each_frame<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    notes: &mut NextUseFile,
    mut consume: impl FnMut(&[Instruction], &[NextUses]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut unread = 0..program.frame_count();
    let read = |(instructions, uses): &mut Annotated| {
        let Some(frame) = unread.next() else { return Ok(false) };
        program.read_frame(frame, instructions)?;
        notes.read_frame(frame, instructions, uses)?;
        Ok(true)
    };
    ahead(read, |(instructions, uses)| consume(instructions, uses))
}

struct Backward {
    /// For each value alive here, the instruction after here that uses it first.
    last_seen: ValueMap,
    outputs: HeldOutputs,
    given: Vec<Instruction>,
    /// How many instructions come before here.
    index: u64,
}

impl Backward {
    fn visit_frame(
        &mut self,
        instructions: &[Instruction],
        ports: PortOrder,
        found: &mut FrameUses,
    ) -> Result<(), &'static str> {
        found.uses.clear();
        found.moved.clear();
        found.gone.clear();
        for (at, instruction) in instructions.iter().enumerate().rev() {
            if ports == PortOrder::Near {
                let Backward { last_seen, outputs, given, .. } = self;
                let is_used = |value| last_seen.value(value).is_some();
                let is_held = outputs.read(instruction, given, is_used);
                for next in 0..self.given.len() {
                    let moved = self.given[next];
                    found.moved.push((found.uses.len(), moved));
                    self.visit(&moved, &mut found.uses)?;
                }
                self.given.clear();
                if is_held {
                    found.gone.push(at);
                    continue;
                }
            }
            self.visit(instruction, &mut found.uses)?;
        }
        Ok(())
    }

    #[inline]
    fn visit(
        &mut self,
        instruction: &Instruction,
        found: &mut Vec<NextUses>,
    ) -> Result<(), &'static str> {
        if instruction.op.is_directive() {
            return Err("a program has no directives");
        }
        self.index -= 1;
        let index = self.index;
        let mut uses = NextUses::default();
        let distance = |next: u64| next - index;
        let operands = instruction.operands();
        for (k, &result) in instruction.results().iter().enumerate() {
            if let Some(next) = self.last_seen.remove(result) {
                uses.results[k] = distance(next);
            }
        }
        for (k, &operand) in operands.iter().enumerate() {
            if let Some(equal) = operands[..k].iter().position(|&before| before == operand) {
                uses.operands[k] = uses.operands[equal];
                continue;
            }
            if let Some(next) = self.last_seen.insert(operand, index) {
                uses.operands[k] = distance(next);
            }
        }
        found.push(uses);
        Ok(())
    }
}

fn encode(instructions: &[Instruction], found: &FrameUses, raw: &mut Vec<u8>) {
    let FrameUses { uses, moved, gone } = found;
    let count = uses.len();
    raw.clear();
    varint::write(raw, count as u64);
    varint::write(raw, gone.len() as u64);
    let mut last = 0;
    for &at in gone.iter().rev() {
        varint::write(raw, (at - last) as u64);
        last = at;
    }
    varint::write(raw, moved.len() as u64);
    for (behind, instruction) in moved.iter().rev() {
        varint::write(raw, (count - 1 - behind) as u64);
        encode_moved(instruction, raw);
    }
    let mut moved = moved.iter().rev().peekable();
    let mut rest = staying(instructions, gone.iter().rev().copied());
    for (behind, uses) in uses.iter().enumerate().rev() {
        let instruction = match moved.next_if(|(at, _)| *at == behind) {
            Some((_, instruction)) => instruction,
            None => rest.next().expect("what does not move stays in its frame"),
        };
        let operands = &uses.operands[..instruction.operands().len()];
        let results = &uses.results[..instruction.results().len()];
        operands.iter().chain(results).for_each(|&distance| varint::write(raw, distance));
    }
}

/// The instructions that do not stand at one of the places `gone`, which ascend.
fn staying(
    instructions: &[Instruction],
    gone: impl Iterator<Item = usize>,
) -> impl Iterator<Item = &Instruction> {
    let mut gone = gone.peekable();
    let stays = move |(at, instruction)| gone.next_if_eq(&at).is_none().then_some(instruction);
    instructions.iter().enumerate().filter_map(stays)
}

fn encode_moved(moved: &Instruction, raw: &mut Vec<u8>) {
    let element = moved.element;
    raw.extend([moved.op as u8, u8::from(element.is_signed()), element.sharing() as u8]);
    let [width, lanes] = [element.width().into(), moved.lanes.into()];
    let words = [width, lanes].into_iter().chain(moved.immediates[..3].iter().copied());
    let names = moved.operands().iter().chain(moved.results()).copied();
    words.chain(names).for_each(|word| varint::write(raw, word));
}

fn decode_moved(bytes: &mut &[u8]) -> Option<Instruction> {
    let (&[op, signed, sharing], rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    let mut next = || varint::read(bytes);
    let (width, sharing) = (next()? as u16, Sharing::from_code(sharing.into())?);
    let element = ElementType::Bits { width, signed: signed == 1, sharing };
    let mut moved = Instruction::new(Op::from_code(op)?, element, next()? as u32);
    let (operands, results) = (moved.operand_count(), moved.result_count());
    let names = moved.operands[..operands].iter_mut().chain(&mut moved.results[..results]);
    for word in moved.immediates[..3].iter_mut().chain(names) {
        *word = next()?;
    }
    Some(moved)
}

impl NextUseFile {
    /// Moves among the `instructions` of frame `frame` those that are moved; reads the next uses of
    /// all. Each frame is read once, in order.
    fn read_frame(
        &mut self,
        frame: usize,
        instructions: &mut Vec<Instruction>,
        uses: &mut Vec<NextUses>,
    ) -> Result<(), Error> {
        let (offset, stored, raw) = self.frames[frame];
        self.stored.resize(stored as usize, 0);
        self.file.read_exact_at(&mut self.stored, offset)?;
        self.file.truncate(offset)?;
        self.raw.clear();
        self.raw.reserve(raw as usize);
        self.decompressor.decompress_to_buffer(&self.stored, &mut self.raw)?;
        let mut bytes = self.raw.as_slice();
        const WRITTEN: &str = "the backward pass wrote it so";
        let mut next = || varint::read(&mut bytes).expect(WRITTEN) as usize;
        let (count, gone) = (next(), next());
        self.gone.clear();
        for _ in 0..gone {
            let last = self.gone.last().copied().unwrap_or(0);
            self.gone.push(last + next());
        }
        let moved = next();
        if moved + gone > 0 {
            std::mem::swap(instructions, &mut self.unmoved);
            instructions.clear();
            let mut rest = staying(&self.unmoved, self.gone.iter().copied()).copied();
            for _ in 0..moved {
                let at = varint::read(&mut bytes).expect(WRITTEN) as usize;
                instructions.extend(rest.by_ref().take(at - instructions.len()));
                instructions.push(decode_moved(&mut bytes).expect(WRITTEN));
            }
            instructions.extend(rest);
        }
        assert_eq!(count, instructions.len(), "the backward pass saw the same program");
        uses.clear();
        let mut next = || varint::read(&mut bytes).expect("one number was written per place");
        for instruction in instructions.iter() {
            let mut entry = NextUses::default();
            let operands = instruction.operands().len();
            entry.operands[..operands].iter_mut().for_each(|distance| *distance = next());
            let results = instruction.results().len();
            entry.results[..results].iter_mut().for_each(|distance| *distance = next());
            uses.push(entry);
        }
        Ok(())
    }
}
