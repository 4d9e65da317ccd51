//! Records that one pass of narrowing leaves for the next, by frame, in a scratch file.
//!
//! Passes go over a program in opposite directions, so the file is a stack of blocks, one for each
//! frame of instructions. What is read is cut off.

use std::io::Write;

use phineus_bytecode::limits::{OPERANDS_MAX, RESULTS_MAX};
use phineus_bytecode::{Instruction, varint};

use super::facts::{Facts, TRACKED_WIDTH_MAX, mask};
use crate::error::Error;
use crate::scratch::ScratchFile;

/// Read back by whoever wrote it.
const WRITTEN: &str = "the pass before wrote it so";

/// A stack of blocks of bytes, compressed.
pub(super) struct BlockStack {
    file: ScratchFile,
    /// Stored and raw length of each block.
    blocks: Vec<(u32, u32)>,
    end: u64,
    stored: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
    decompressor: zstd::bulk::Decompressor<'static>,
}

impl BlockStack {
    /// A stack in an empty file.
    pub(super) fn new(file: ScratchFile) -> Result<BlockStack, Error> {
        let compressor = zstd::bulk::Compressor::new(1)?;
        let decompressor = zstd::bulk::Decompressor::new()?;
        let (blocks, stored) = (Vec::new(), Vec::new());
        Ok(BlockStack { file, blocks, end: 0, stored, compressor, decompressor })
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        (self.blocks.capacity() * size_of::<(u32, u32)>()) as u64
    }

    pub(super) fn push(&mut self, raw: &[u8]) -> Result<(), Error> {
        self.stored.resize(zstd::zstd_safe::compress_bound(raw.len()), 0);
        let length = self.compressor.compress_to_buffer(raw, &mut self.stored[..])?;
        self.file.write_all(&self.stored[..length])?;
        self.blocks.push((length as u32, raw.len() as u32));
        self.end += length as u64;
        Ok(())
    }

    /// Takes the block that was pushed last.
    pub(super) fn pop(&mut self, raw: &mut Vec<u8>) -> Result<(), Error> {
        let (length, raw_length) = self.blocks.pop().expect(WRITTEN);
        self.end -= u64::from(length);
        self.stored.resize(length as usize, 0);
        self.file.read_exact_at(&mut self.stored, self.end)?;
        self.file.truncate(self.end)?;
        raw.clear();
        raw.reserve(raw_length as usize);
        self.decompressor.decompress_to_buffer(&self.stored, raw)?;
        Ok(())
    }
}

/// Facts about an instruction's results, and their needed bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct InstructionNotes {
    pub(super) facts: [Facts; RESULTS_MAX],
    /// Bits of each result that later instructions depend on.
    pub(super) demanded: [u128; RESULTS_MAX],
    /// Whether a later instruction needs the result; another one may be computed along with it.
    pub(super) is_used: [bool; RESULTS_MAX],
    /// Whether the instruction has to be there at all.
    pub(super) is_needed: bool,
    /// Whether the only use of the first result is in a sum soon after ([`super::ADDEND_DISTANCE_MAX`]).
    pub(super) is_addend: bool,
    /// Operands that no later instruction needs.
    pub(super) last_uses: [bool; OPERANDS_MAX],
}

const UNKNOWN: u8 = 0;
const CONSTANT: u8 = 1;
const PARTIAL: u8 = 2;

fn write_wide(bytes: &mut Vec<u8>, value: u128) {
    varint::write(bytes, value as u64);
    varint::write(bytes, (value >> 64) as u64);
}

fn read_wide(bytes: &mut &[u8]) -> u128 {
    let mut next = || u128::from(varint::read(bytes).expect(WRITTEN));
    let low = next();
    low | next() << 64
}

/// Appends facts about a value whose width the instruction states.
pub(super) fn write_facts(bytes: &mut Vec<u8>, facts: &Facts) {
    if *facts == Facts::unknown(facts.width) {
        return bytes.push(UNKNOWN);
    }
    if let Some(value) = facts.as_constant() {
        bytes.push(CONSTANT);
        return write_wide(bytes, value);
    }
    bytes.push(PARTIAL);
    let (least, most) = (facts.least as u128, facts.most as u128);
    let within = mask(facts.width);
    for word in [facts.zeros, facts.ones, facts.low, facts.high, least & within, most & within] {
        write_wide(bytes, word);
    }
}

pub(super) fn read_facts(bytes: &mut &[u8], width: u16) -> Facts {
    let (&kind, rest) = bytes.split_first().expect(WRITTEN);
    *bytes = rest;
    match kind {
        UNKNOWN => Facts::unknown(width),
        CONSTANT => Facts::constant(width, read_wide(bytes)),
        _ => {
            let mut next = || read_wide(bytes);
            let (zeros, ones, low, high) = (next(), next(), next(), next());
            let shift = TRACKED_WIDTH_MAX - width;
            let mut signed = || (next() << shift) as i128 >> shift;
            let (least, most) = (signed(), signed());
            Facts { width, zeros, ones, low, high, least, most }
        }
    }
}

/// Appends the notes of a frame's instructions.
pub(super) fn encode(
    instructions: &[Instruction],
    notes: &[InstructionNotes],
    bytes: &mut Vec<u8>,
) {
    bytes.clear();
    for (i, notes) in instructions.iter().zip(notes) {
        let [first, second, third] = notes.last_uses;
        let [used, second_used] = notes.is_used;
        let flags = [notes.is_needed, first, second, third, used, second_used, notes.is_addend];
        bytes.push(flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag)));
        for k in 0..i.result_count() {
            let whole = mask(i.result_shape(k).width);
            match notes.demanded[k] {
                0 => {
                    bytes.push(UNKNOWN);
                    continue;
                }
                demanded if demanded == whole => bytes.push(CONSTANT),
                demanded => {
                    bytes.push(PARTIAL);
                    write_wide(bytes, demanded);
                }
            }
            write_facts(bytes, &notes.facts[k]);
        }
    }
}

/// Reads the notes of a frame's instructions.
pub(super) fn decode(
    instructions: &[Instruction],
    mut bytes: &[u8],
    notes: &mut Vec<InstructionNotes>,
) {
    notes.clear();
    for i in instructions {
        let (&flags, rest) = bytes.split_first().expect(WRITTEN);
        bytes = rest;
        let mut found = InstructionNotes {
            facts: [Facts::unknown(1); RESULTS_MAX],
            demanded: [0; RESULTS_MAX],
            is_needed: flags & 1 == 1,
            last_uses: [1, 2, 3].map(|k| flags >> k & 1 == 1),
            is_used: [4, 5].map(|k| flags >> k & 1 == 1),
            is_addend: flags >> 6 & 1 == 1,
        };
        for k in 0..i.result_count() {
            let width = i.result_shape(k).width;
            let (&kind, rest) = bytes.split_first().expect(WRITTEN);
            bytes = rest;
            found.demanded[k] = match kind {
                UNKNOWN => continue,
                CONSTANT => mask(width),
                _ => read_wide(&mut bytes),
            };
            found.facts[k] = read_facts(&mut bytes, width);
        }
        notes.push(found);
    }
}
