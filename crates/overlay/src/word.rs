//! [`Word`]: one lane of a word of the command stream, which is what one cell does in one cycle.
//!
//! From the lowest bit: 12 read addresses, 5 write addresses (AND, X, Y, load, Z), 12 flags of operands of the AND, X and
//! Y, 6 flags of terms of Z, 5 flags of the writes, the output flag, 6 complements (a, b, post, X, Y, Z), the end flag, 8
//! bits of idle cycles after the word, 32 bits of the gate index; whether the result of X goes to another cell, the number
//! of that cell (4 bits), and the address there; whether the result of X is stored for a time, and whether the label that is
//! loaded was. End flag and idle cycles are the same in all lanes of a word. A check word has
//! the end flag, no operation, and the CRC-32 in the index; the last word has the end flag and 255 idle cycles as well.
//!
//! XOR unit Z has no read ports of its own. It adds any of the labels that the six ports of the AND read, whether or not
//! they are operands of the AND: the sum of a full adder whose carry the AND makes, or any sum that ports left free read.

use crate::parameters::{CELL_BITS, Parameters, READS, WRITES};

/// Place of a label in the wire memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    /// The bank.
    pub bank: u8,
    /// The label within the bank.
    pub row: u32,
}

/// Index of the read ports in [`Word::reads`]: operands of the AND.
pub const PORT_A: usize = 0;
/// As [`PORT_A`], of the second operand.
pub const PORT_B: usize = 2;
/// As [`PORT_A`], of what is added to the result.
pub const PORT_POST: usize = 4;
/// As [`PORT_A`], of XOR unit X.
pub const PORT_X: usize = 6;
/// As [`PORT_A`], of XOR unit Y.
pub const PORT_Y: usize = 9;

/// Ports of the AND, which XOR unit Z reads too.
pub const AND_PORTS: usize = 6;

/// The copy of a bank that each read port reads.
pub const PORT_COPY: [usize; READS] = [0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0];

/// Index of the write of the AND in [`Word::writes`].
pub const WRITE_AND: usize = 0;
/// Index of the write of XOR unit X; XOR unit Y follows.
pub const WRITE_X: usize = 1;
/// Index of the write of XOR unit Y.
pub const WRITE_Y: usize = 2;
/// Index of the write of the load.
pub const WRITE_LOAD: usize = 3;
/// Index of the write of XOR unit Z.
pub const WRITE_Z: usize = 4;

/// Complements of a word: a, b, post, X, Y, Z.
pub const NOTS: usize = 6;

/// Most idle cycles of one word.
pub const IDLE_MAX: u8 = 254;

/// The mark of the last word, in place of idle cycles.
pub(crate) const LAST_IDLE: u8 = 255;

/// Whether a word is an instruction, a check or the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WordKind {
    /// Operations.
    #[default]
    Issue,
    /// The index is the CRC-32 of all words since the last check.
    Check,
    /// As a check, and nothing follows.
    Last,
}

/// What the cell does in one cycle, and how long it then waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Kind of the word.
    pub kind: WordKind,
    /// Labels that are read, by port.
    pub reads: [Option<Address>; READS],
    /// Whether the label of each port is an operand of the port's own unit: the AND, X or Y.
    pub operands: [bool; READS],
    /// Whether the label of each port of the AND is a term of XOR unit Z.
    pub terms: [bool; AND_PORTS],
    /// Labels that are written: AND, X, Y, load, Z.
    pub writes: [Option<Address>; WRITES],
    /// Whether the result of XOR unit X goes to the host, or to memory beside the device.
    pub is_output: bool,
    /// Whether that result is stored for a time.
    pub is_spill: bool,
    /// Whether the label that is loaded was stored so.
    pub is_fill: bool,
    /// Complements of a, b, post, X, Y, Z.
    pub nots: [bool; NOTS],
    /// Cycles without an operation that follow.
    pub idle: u8,
    /// Number of the AND gate, or the CRC-32 of a check.
    pub index: u32,
    /// The cell and the address there that the result of XOR unit X goes to.
    pub moved: Option<(u8, Address)>,
}

/// Reads fields from the lowest bit on.
struct BitReader<'a> {
    quads: &'a [u64],
    at: usize,
}

impl BitReader<'_> {
    fn take(&mut self, bits: usize) -> u64 {
        let (quad, shift) = (self.at / 64, self.at % 64);
        let mut value = self.quads[quad] >> shift;
        if shift + bits > 64 {
            value |= self.quads[quad + 1] << (64 - shift);
        }
        self.at += bits;
        value & ((1 << bits) - 1)
    }
}

impl Word {
    /// Whether the word computes an AND.
    pub fn has_and(&self) -> bool {
        self.writes[WRITE_AND].is_some()
    }

    /// Addresses of the operands of a unit whose ports begin at `first`.
    pub fn operands(&self, first: usize, ports: usize) -> impl Iterator<Item = Address> {
        let ports = first..first + ports;
        ports.filter(|&port| self.operands[port]).filter_map(|port| self.reads[port])
    }

    /// Addresses of the terms of XOR unit Z.
    pub fn terms(&self) -> impl Iterator<Item = Address> {
        let ports = (0..AND_PORTS).filter(|&port| self.terms[port]);
        ports.filter_map(|port| self.reads[port])
    }

    /// The word that a lane of quadwords is.
    pub fn decode(parameters: Parameters, quads: &[u64]) -> Word {
        let address_bits = parameters.address_bits() as usize;
        let mut bits = BitReader { quads, at: 0 };
        let address = |bits: u64| Address {
            bank: (bits & ((1 << parameters.bank_bits) - 1)) as u8,
            row: (bits >> parameters.bank_bits) as u32,
        };
        let mut places = [Address::default(); READS + WRITES];
        for place in &mut places {
            *place = address(bits.take(address_bits));
        }
        let operands: [bool; READS] = std::array::from_fn(|_| bits.take(1) == 1);
        let terms: [bool; AND_PORTS] = std::array::from_fn(|_| bits.take(1) == 1);
        let is_read = |port: usize| operands[port] || terms.get(port).is_some_and(|&term| term);
        let reads = std::array::from_fn(|port| is_read(port).then_some(places[port]));
        let writes =
            std::array::from_fn(|write| (bits.take(1) == 1).then_some(places[READS + write]));
        let is_output = bits.take(1) == 1;
        let nots = std::array::from_fn(|_| bits.take(1) == 1);
        let (end, idle, index) = (bits.take(1), bits.take(8) as u8, bits.take(32) as u32);
        let (is_moved, cell) = (bits.take(1) == 1, bits.take(CELL_BITS as usize) as u8);
        let to = address(bits.take(address_bits));
        let moved = is_moved.then_some((cell, to));
        let [is_spill, is_fill] = [(); 2].map(|()| bits.take(1) == 1);
        let (kind, idle) = match (end, idle) {
            (0, idle) => (WordKind::Issue, idle),
            (_, LAST_IDLE) => (WordKind::Last, 0),
            (_, _) => (WordKind::Check, 0),
        };
        Word {
            kind,
            reads,
            operands,
            terms,
            writes,
            is_output,
            is_spill,
            is_fill,
            nots,
            idle,
            index,
            moved,
        }
    }
}
