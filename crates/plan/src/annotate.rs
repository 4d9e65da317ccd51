//! The backward pass: when is each value used next?
//!
//! Belady's MIN (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966)
//! needs next-use times; MAGE (section 6.3) finds those of pages by a pass over placed
//! instructions. Deviation: this pass runs over *values*, before they are placed. The forward pass
//! derives a page's next use from those of the values on it, so that placement, replacement and
//! scheduling are one pass and no intermediate program is written.
//!
//! Memory: one map entry per value alive at once, and 16 bytes per 4096 instructions. The file
//! holds one variable-length number per operand and result, compressed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use phineus_bytecode::limits::{FRAME_INSTRUCTIONS, OPERANDS_MAX, RESULTS_MAX};
use phineus_bytecode::{Instruction, Kind, Layout, ProgramReader, varint};

use crate::ahead::ahead;
use crate::error::Error;
use crate::value_map::ValueMap;

/// How far away each operand's next use and each result's first use is, in instructions; 0: never.
#[derive(Clone, Copy, Default)]
pub(crate) struct NextUses {
    pub(crate) operands: [u64; OPERANDS_MAX],
    pub(crate) results: [u64; RESULTS_MAX],
}

/// The next uses of a whole program, in a temporary file.
pub(crate) struct Annotations {
    file: File,
    /// Offset and lengths (stored, raw) of each frame's annotations.
    frames: Vec<(u64, u32, u32)>,
    /// The most wires alive at once.
    pub(crate) peak_wires: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
    decompressor: zstd::bulk::Decompressor<'static>,
}

/// Names that the instructions of a frame bring in at most.
pub(crate) const NAMES_PER_FRAME: usize = FRAME_INSTRUCTIONS * OPERANDS_MAX;

/// A frame's number, its instructions, and what is found out about them.
type Batch = (usize, Vec<Instruction>, Vec<NextUses>);

/// Runs the backward pass.
pub(crate) fn annotate<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    mut file: File,
    memory_limit_bytes: u64,
    layout: Layout,
) -> Result<Annotations, Error> {
    let invalid = |instruction, what| Error::Invalid { instruction, what };
    if program.kind() != Kind::Program {
        return Err(invalid(0, "it is planned already"));
    }
    let mut pass = Backward { layout, last_seen: ValueMap::new(), live_wires: 0, peak_wires: 0 };
    let mut frames = vec![(0, 0, 0); program.frame_count()];
    let mut compressor = zstd::bulk::Compressor::new(1)?;
    let (mut raw, mut stored) = (Vec::new(), Vec::new());
    let (mut offset, mut index) = (0u64, program.instruction_count());
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
    ahead(read, |(frame, instructions, uses)| {
        uses.clear();
        uses.resize(instructions.len(), NextUses::default());
        for (instruction, uses) in instructions.iter().zip(&mut *uses).rev() {
            index -= 1;
            pass.visit(instruction, index, uses).map_err(|what| invalid(index, what))?;
        }
        encode(instructions, uses, &mut raw);
        stored.resize(zstd::zstd_safe::compress_bound(raw.len()), 0);
        let length = compressor.compress_to_buffer(&raw, &mut stored[..])?;
        file.write_all(&stored[..length])?;
        frames[*frame] = (offset, length as u32, raw.len() as u32);
        offset += length as u64;
        if pass.last_seen.memory_bytes_after(NAMES_PER_FRAME) > memory_limit_bytes {
            let live_values = pass.last_seen.len() as u64;
            return Err(Error::PlannerMemory { limit_bytes: memory_limit_bytes, live_values });
        }
        Ok(())
    })?;
    if pass.last_seen.len() > 0 {
        return Err(invalid(0, "a value is used but not defined"));
    }
    let decompressor = zstd::bulk::Decompressor::new()?;
    Ok(Annotations { file, frames, peak_wires: pass.peak_wires, stored, raw, decompressor })
}

/// Instructions with their next uses.
type Annotated = (Vec<Instruction>, Vec<NextUses>);

/// Calls `consume` with the frames of `program`, in order, and the next uses of their instructions;
/// reads them ahead in a thread of its own.
pub(crate) fn for_each_frame<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    notes: &mut Annotations,
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
    layout: Layout,
    /// For each value alive here, the instruction after here that uses it first.
    last_seen: ValueMap,
    live_wires: u64,
    peak_wires: u64,
}

impl Backward {
    #[inline]
    fn visit(
        &mut self,
        instruction: &Instruction,
        index: u64,
        uses: &mut NextUses,
    ) -> Result<(), &'static str> {
        if instruction.op.is_directive() {
            return Err("a program has no directives");
        }
        let distance = |next: u64| next - index;
        let operands = instruction.operands();
        let results = instruction.results();
        let mut result_wires = 0;
        for (k, &result) in results.iter().enumerate() {
            let wires = u64::from(self.layout.units(instruction.result_shape(k)));
            result_wires += wires;
            if let Some(next) = self.last_seen.remove(result) {
                uses.results[k] = distance(next);
                self.live_wires -= wires;
            }
        }
        for (k, &operand) in operands.iter().enumerate() {
            if let Some(twin) = operands[..k].iter().position(|&before| before == operand) {
                uses.operands[k] = uses.operands[twin];
                continue;
            }
            match self.last_seen.insert(operand, index) {
                Some(next) => uses.operands[k] = distance(next),
                None => {
                    let units = self.layout.units(instruction.operand_shape(k));
                    self.live_wires += u64::from(units);
                }
            }
        }
        self.peak_wires = self.peak_wires.max(self.live_wires + result_wires);
        Ok(())
    }
}

fn encode(instructions: &[Instruction], uses: &[NextUses], raw: &mut Vec<u8>) {
    raw.clear();
    for (instruction, uses) in instructions.iter().zip(uses) {
        let operands = &uses.operands[..instruction.operands().len()];
        let results = &uses.results[..instruction.results().len()];
        operands.iter().chain(results).for_each(|&distance| varint::write(raw, distance));
    }
}

impl Annotations {
    /// Reads the next uses of the instructions of frame `frame`.
    pub(crate) fn read_frame(
        &mut self,
        frame: usize,
        instructions: &[Instruction],
        uses: &mut Vec<NextUses>,
    ) -> Result<(), Error> {
        let (offset, stored, raw) = self.frames[frame];
        self.stored.resize(stored as usize, 0);
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut self.stored)?;
        self.raw.clear();
        self.raw.reserve(raw as usize);
        self.decompressor.decompress_to_buffer(&self.stored, &mut self.raw)?;
        let mut bytes = self.raw.as_slice();
        uses.clear();
        let mut next = || {
            let distance = varint::read(&mut bytes);
            distance.expect("the backward pass wrote one number per place")
        };
        for instruction in instructions {
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
