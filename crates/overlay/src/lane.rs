//! [`Lane`]: one lane of a word while it is scheduled, and its encoding. `word.rs` says what the fields are, and decodes.

use crate::operations::NONE;
use crate::parameters::{CELL_BITS, Parameters, READS, WRITES};
use crate::ports::Reads;
use crate::word::{AND_PORTS, LAST_IDLE, NOTS, WordKind};

/// What one cell does in one cycle. Addresses have the bank in the low bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) kind: WordKind,
    /// Addresses by read port, or [`NONE`].
    pub(crate) reads: [u32; READS],
    pub(crate) operands: u32,
    pub(crate) terms: u32,
    /// Addresses by write, or [`NONE`].
    pub(crate) writes: [u32; WRITES],
    pub(crate) is_output: bool,
    pub(crate) is_spill: bool,
    pub(crate) is_fill: bool,
    /// Complements of a, b, post, X, Y, Z, from the lowest bit.
    pub(crate) nots: u8,
    pub(crate) idle: u8,
    pub(crate) index: u32,
    /// The cell and the address there that the result of X goes to.
    pub(crate) moved: Option<(u8, u32)>,
}

impl Lane {
    /// A lane that does nothing.
    pub(crate) const IDLE: Lane = Lane {
        kind: WordKind::Issue,
        reads: [NONE; READS],
        operands: 0,
        terms: 0,
        writes: [NONE; WRITES],
        is_output: false,
        is_spill: false,
        is_fill: false,
        nots: 0,
        idle: 0,
        index: 0,
        moved: None,
    };

    pub(crate) fn of_kind(kind: WordKind) -> Lane {
        Lane { kind, ..Lane::IDLE }
    }

    pub(crate) fn set_reads(&mut self, reads: &Reads) {
        self.reads = reads.addresses;
        self.operands = reads.operands;
        self.terms = reads.terms;
    }

    /// Writes the lane into `quads`, which are zero.
    pub(crate) fn encode(&self, parameters: Parameters, quads: &mut [u64]) {
        let address_bits = parameters.address_bits();
        let mut bits = BitWriter { quads, at: 0, held: 0, count: 0 };
        for &address in self.reads.iter().chain(&self.writes) {
            bits.put(if address == NONE { 0 } else { address.into() }, address_bits);
        }
        let written = |write: usize| u64::from(self.writes[write] != NONE) << write;
        let written = (0..WRITES).map(written).fold(0, |all, one| all | one);
        bits.put(self.operands.into(), READS as u32);
        bits.put(self.terms.into(), AND_PORTS as u32);
        bits.put(written, WRITES as u32);
        bits.put(self.is_output.into(), 1);
        bits.put(self.nots.into(), NOTS as u32);
        let (end, idle) = match self.kind {
            WordKind::Issue => (0, self.idle),
            WordKind::Check => (1, 0),
            WordKind::Last => (1, LAST_IDLE),
        };
        bits.put(end, 1);
        bits.put(idle.into(), 8);
        bits.put(self.index.into(), 32);
        let (cell, address) = self.moved.unwrap_or_default();
        bits.put(self.moved.is_some().into(), 1);
        bits.put(cell.into(), CELL_BITS);
        bits.put(address.into(), address_bits);
        bits.put(self.is_spill.into(), 1);
        bits.put(self.is_fill.into(), 1);
        bits.finish();
    }
}

/// Writes fields from the lowest bit on.
struct BitWriter<'a> {
    quads: &'a mut [u64],
    at: usize,
    held: u128,
    count: u32,
}

impl BitWriter<'_> {
    /// Adds a field of at most 64 bits.
    #[inline]
    fn put(&mut self, value: u64, bits: u32) {
        self.held |= u128::from(value) << self.count;
        self.count += bits;
        if self.count >= u64::BITS {
            self.quads[self.at] = self.held as u64;
            self.at += 1;
            self.held >>= u64::BITS;
            self.count -= u64::BITS;
        }
    }

    fn finish(self) {
        if self.count > 0 {
            self.quads[self.at] = self.held as u64;
        }
    }
}
