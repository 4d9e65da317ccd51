//! [`Parameters`]: the numbers that a stream and a device must have in common (`hw/ip/overlay/rtl/ovl_pkg.sv`).

use sha2::{Digest, Sha256};

/// Version of the stream and of the register map.
pub const VERSION: u16 = 4;

/// Quadwords of the header that have a meaning; a lane is at least as long.
pub(crate) const HEADER_QUADS: usize = 6;

/// Most cells of a device.
pub const CELLS_MAX: u32 = 16;

/// Bits of the number of a cell in a word.
pub(crate) const CELL_BITS: u32 = 4;
const _: () = assert!(CELLS_MAX == 1 << CELL_BITS);

/// Reads of one cell in a cycle: a0 a1 b0 b1 p0 p1 x0 x1 x2 y0 y1 y2.
pub const READS: usize = 12;

/// Writes of one cell in a cycle: AND, XOR unit X, XOR unit Y, load, XOR unit Z.
pub const WRITES: usize = 5;

/// Bits of a lane that are not addresses: 12 operands, 6 terms of Z, 5 writes, output, 6 complements, end, 8 idle cycles,
/// 32 of the gate index, move and its cell, spill and fill.
const OTHER_BITS: u32 = 12 + 6 + 5 + 1 + 6 + 1 + 8 + 32 + 1 + CELL_BITS + 2;

/// Cycles from the issue of an operation to the first issue that can read its result.
pub const AND_LATENCY: u32 = 15;
/// As [`AND_LATENCY`], of a XOR.
pub const XOR_LATENCY: u32 = 3;
/// As [`AND_LATENCY`], of a load.
pub const LOAD_LATENCY: u32 = 2;
/// As [`AND_LATENCY`], of a label that goes to another cell.
pub const MOVE_LATENCY: u32 = 4;

/// Cycles from a spill to the first fill of it: time for the host to store the label and to send it. A host that takes
/// longer delays the device.
pub const SPILL_LATENCY: u32 = 100;

/// Cycles that the device runs after the last word, so that everything in its pipeline has left.
pub const DRAIN_CYCLES: u32 = 16;

/// Words between two check words.
pub const CHECK_INTERVAL: u64 = 1024;

/// Size of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Logarithm of the number of banks.
    pub bank_bits: u32,
    /// Logarithm of the labels in a bank.
    pub row_bits: u32,
    /// Cells, from 1 to [`CELLS_MAX`], each with a wire memory of its own.
    pub cells: u32,
}

impl Default for Parameters {
    /// One cell; 16 banks of 4096 labels: 1 MiB of labels, twice, for two reads of a bank in a cycle.
    fn default() -> Parameters {
        Parameters { bank_bits: 4, row_bits: 12, cells: 1 }
    }
}

impl Parameters {
    /// Bits of an address.
    pub fn address_bits(self) -> u32 {
        self.bank_bits + self.row_bits
    }

    /// The default device with so many cells.
    pub fn with_cells(cells: u32) -> Parameters {
        Parameters { cells, ..Parameters::default() }
    }

    /// Labels that fit into the wire memory of a cell.
    pub fn labels(self) -> u64 {
        1 << self.address_bits()
    }

    /// Quadwords of 64 bits in a lane, which is the part of a word for one cell.
    pub fn lane_quads(self) -> usize {
        let bits = (READS + WRITES + 1) as u32 * self.address_bits() + OTHER_BITS;
        (bits.div_ceil(64) as usize).max(HEADER_QUADS)
    }

    /// Quadwords of 64 bits in a word of the stream.
    pub fn word_quads(self) -> usize {
        self.cells as usize * self.lane_quads()
    }

    /// Bytes of a word of the stream, with the lanes of all cells.
    pub fn word_bytes(self) -> usize {
        8 * self.word_quads()
    }

    /// Returns the hash that the header of a stream and a register of the device state. The number of cells is stated apart.
    pub fn hash(self) -> u64 {
        let numbers = [
            u32::from(VERSION),
            self.bank_bits,
            self.row_bits,
            AND_LATENCY,
            XOR_LATENCY,
            LOAD_LATENCY,
            MOVE_LATENCY,
            DRAIN_CYCLES,
            CHECK_INTERVAL as u32,
        ];
        let mut hash = Sha256::new();
        hash.update(b"phineus overlay");
        numbers.iter().for_each(|number| hash.update(number.to_le_bytes()));
        let digest = hash.finalize();
        u64::from_le_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
    }
}
