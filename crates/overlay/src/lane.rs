//! [`Lane`]: one lane of a word while it is scheduled, and its encoding. `word.rs` says what the fields are, and decodes.

use crate::operations::NONE;
use crate::parameters::{CELL_BITS, Parameters, READS, WRITES};
use crate::ports::Reads;
use crate::word::{AND_PORTS, LAST_IDLE, NOTS, WordKind};

/// The part of a word for one cell, in one cycle. Addresses have the bank in the low bits.
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
        let mut written = 0;
        for address in self.reads {
            bits.put(stated(address), address_bits);
        }
        for (write, address) in self.writes.into_iter().enumerate() {
            bits.put(stated(address), address_bits);
            written |= u64::from(address != NONE) << write;
        }
        let (end, idle) = match self.kind {
            WordKind::Issue => (0, self.idle),
            WordKind::Check => (1, 0),
            WordKind::Last => (1, LAST_IDLE),
        };
        let (cell, address) = self.moved.unwrap_or_default();
        let flags: [(u64, usize); 7] = [
            (self.operands.into(), READS),
            (self.terms.into(), AND_PORTS),
            (written, WRITES),
            (self.is_output.into(), 1),
            (self.nots.into(), NOTS),
            (end, 1),
            (idle.into(), 8),
        ];
        let (flags, length) = flags
            .iter()
            .fold((0, 0), |(all, length), &(field, bits)| (all | field << length, length + bits));
        bits.put(flags, length as u32);
        let moved = u64::from(self.moved.is_some()) | u64::from(cell) << 1;
        bits.put(u64::from(self.index) | moved << 32, 33 + CELL_BITS);
        let stored = u64::from(self.is_spill) | u64::from(self.is_fill) << 1;
        bits.put(u64::from(address) | stored << address_bits, address_bits + 2);
        bits.finish();
    }
}

/// An address as the device has it.
#[inline]
fn stated(address: u32) -> u64 {
    if address == NONE { 0 } else { address.into() }
}

/// Writes fields from the lowest bit on.
struct BitWriter<'a> {
    quads: &'a mut [u64],
    at: usize,
    held: u64,
    count: u32,
}

impl BitWriter<'_> {
    /// Adds a field of less than 64 bits.
    #[inline]
    fn put(&mut self, value: u64, bits: u32) {
        self.held |= value << self.count;
        self.count += bits;
        if self.count >= u64::BITS {
            self.quads[self.at] = self.held;
            self.at += 1;
            self.count -= u64::BITS;
            // What did not fit: nothing if the field ended with the quadword.
            self.held = if self.count == 0 { 0 } else { value >> (bits - self.count) };
        }
    }

    fn finish(self) {
        if self.count > 0 {
            self.quads[self.at] = self.held;
        }
    }
}
