//! [`Instruction`]: one operation on lane vectors, before or after planning.

use crate::limits::{IMMEDIATES_MAX, OPERANDS_MAX, RESULTS_MAX, VALUE_WIRES_MAX, WIDTH_MAX};
use crate::ops::Op;

/// What the lanes of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// An integer of `width` bits in two's complement if `signed`.
    Bits {
        /// 1 to [`WIDTH_MAX`].
        width: u16,
        /// Whether comparison, division, right shift and widening look at the sign.
        signed: bool,
    },
}

impl ElementType {
    /// An unsigned integer of `width` bits.
    pub const fn unsigned(width: u16) -> ElementType {
        ElementType::Bits { width, signed: false }
    }

    /// A signed integer of `width` bits.
    pub const fn signed(width: u16) -> ElementType {
        ElementType::Bits { width, signed: true }
    }

    /// A single bit.
    pub const BIT: ElementType = ElementType::unsigned(1);

    /// Bits per lane.
    pub const fn width(self) -> u16 {
        match self {
            ElementType::Bits { width, .. } => width,
        }
    }

    /// Whether the element has a sign.
    pub const fn is_signed(self) -> bool {
        match self {
            ElementType::Bits { signed, .. } => signed,
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ElementType::Bits { width, signed } = self;
        write!(f, "{}{width}", if *signed { 'i' } else { 'u' })
    }
}

impl std::str::FromStr for ElementType {
    type Err = String;

    fn from_str(text: &str) -> Result<ElementType, String> {
        let bad =
            || format!("'{text}' is not a type: write u1 to u{WIDTH_MAX} or i1 to i{WIDTH_MAX}");
        let signed = match text.as_bytes().first() {
            Some(b'u') => false,
            Some(b'i') => true,
            _ => return Err(bad()),
        };
        let width: u16 = text[1..].parse().map_err(|_| bad())?;
        if width == 0 || width > WIDTH_MAX || text.as_bytes()[1] == b'0' {
            return Err(bad());
        }
        Ok(ElementType::Bits { width, signed })
    }
}

/// The size of a value: `width` bits in each of `lanes` lanes.
///
/// Bit-major: wire `i * lanes + j` is bit `i` of lane `j`. The sign belongs to the instruction,
/// not to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Bits per lane.
    pub width: u16,
    /// Number of lanes.
    pub lanes: u32,
}

impl Shape {
    /// Bits times lanes.
    pub const fn wires(self) -> u32 {
        self.width as u32 * self.lanes
    }

    /// Whether a value of this shape may exist.
    pub const fn is_valid(self) -> bool {
        self.width >= 1
            && self.width <= WIDTH_MAX
            && self.lanes >= 1
            && self.lanes <= VALUE_WIRES_MAX
            && self.wires() <= VALUE_WIRES_MAX
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bits x {} lanes", self.width, self.lanes)
    }
}

/// One instruction.
///
/// In a program `results` and `operands` are value names, counted from 0 in the order of their
/// definition. In a planned program they are addresses in units of wires: frame times page size
/// plus offset. Unused places are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// The element type that the operation's signature calls `T`.
    pub element: ElementType,
    /// The number of lanes that the signature calls `n`.
    pub lanes: u32,
    /// Where the results go.
    pub results: [u64; RESULTS_MAX],
    /// Where the operands are.
    pub operands: [u64; OPERANDS_MAX],
    /// Public parameters, named in the op table.
    pub immediates: [u64; IMMEDIATES_MAX],
}

impl Instruction {
    /// An instruction with no names and no immediates yet.
    pub const fn new(op: Op, element: ElementType, lanes: u32) -> Instruction {
        Instruction {
            op,
            element,
            lanes,
            results: [0; RESULTS_MAX],
            operands: [0; OPERANDS_MAX],
            immediates: [0; IMMEDIATES_MAX],
        }
    }

    /// A directive of a planned program about `frame` and `spill_slot`.
    pub const fn directive(op: Op, frame: u64, spill_slot: u64) -> Instruction {
        let mut instruction = Instruction::new(op, ElementType::BIT, 1);
        instruction.immediates[0] = frame;
        instruction.immediates[1] = spill_slot;
        instruction
    }

    /// The places of the results that the operation has.
    pub fn results(&self) -> &[u64] {
        &self.results[..self.op.info().results.len()]
    }

    /// The places of the operands that the operation has.
    pub fn operands(&self) -> &[u64] {
        &self.operands[..self.op.info().operands.len()]
    }

    /// The shape that the signature calls `T x n`.
    pub const fn shape(&self) -> Shape {
        Shape { width: self.element.width(), lanes: self.lanes }
    }

    /// The shape of result `index`.
    #[inline]
    pub fn result_shape(&self, index: usize) -> Shape {
        self.op.info().results[index].shape(self)
    }

    /// The shape of operand `index`.
    #[inline]
    pub fn operand_shape(&self, index: usize) -> Shape {
        self.op.info().operands[index].shape(self)
    }
}
