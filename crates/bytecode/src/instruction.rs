//! [`Instruction`]: one operation on lane vectors, before or after planning.

use crate::limits::{
    IMMEDIATES_MAX, OPERANDS_MAX, RESULTS_MAX, RING_WIDTH_MAX, VALUE_WIRES_MAX, WIDTH_MAX,
};
use crate::ops::Op;

/// How a value is held among the parties.
///
/// The sharing is part of a value's shape: an operation takes operands of one sharing, `convert`
/// goes from one to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Sharing {
    /// As the protocol of the run has it: what front ends say where they say nothing.
    #[default]
    Any = 0,
    /// Additive shares modulo 2^width ("A").
    Arithmetic = 1,
    /// XOR shares of each bit, computed on by GMW ("B").
    Boolean = 2,
    /// Keys and permutation bits of BMR garbled circuits ("Y").
    Garbled = 3,
}

impl Sharing {
    /// All of them, in the order of their codes.
    pub const ALL: [Sharing; 4] =
        [Sharing::Any, Sharing::Arithmetic, Sharing::Boolean, Sharing::Garbled];

    /// The sharing with this code.
    pub fn from_code(code: u64) -> Option<Sharing> {
        Sharing::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// Suffix of a type in the text form.
    pub const fn suffix(self) -> &'static str {
        match self {
            Sharing::Any => "",
            Sharing::Arithmetic => "@a",
            Sharing::Boolean => "@b",
            Sharing::Garbled => "@y",
        }
    }
}

/// Type of the lanes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// An integer of `width` bits in two's complement if `signed`.
    Bits {
        /// 1 to [`WIDTH_MAX`].
        width: u16,
        /// Whether comparison, division, right shift and widening look at the sign.
        signed: bool,
        /// How the parties hold it.
        sharing: Sharing,
    },
}

impl ElementType {
    /// An unsigned integer of `width` bits.
    pub const fn unsigned(width: u16) -> ElementType {
        ElementType::integer(width, false)
    }

    /// A signed integer of `width` bits.
    pub const fn signed(width: u16) -> ElementType {
        ElementType::integer(width, true)
    }

    /// An integer of `width` bits, shared as the protocol has it.
    pub const fn integer(width: u16, signed: bool) -> ElementType {
        ElementType::Bits { width, signed, sharing: Sharing::Any }
    }

    /// Returns this type in another sharing.
    #[must_use]
    pub const fn shared(self, sharing: Sharing) -> ElementType {
        match self {
            ElementType::Bits { width, signed, .. } => ElementType::Bits { width, signed, sharing },
        }
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

    /// How the parties hold it.
    pub const fn sharing(self) -> Sharing {
        match self {
            ElementType::Bits { sharing, .. } => sharing,
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ElementType::Bits { width, signed, sharing } = self;
        write!(f, "{}{width}{}", if *signed { 'i' } else { 'u' }, sharing.suffix())
    }
}

impl std::str::FromStr for ElementType {
    type Err = String;

    fn from_str(text: &str) -> Result<ElementType, String> {
        let bad = || {
            format!(
                "'{text}' is not a type: write u1 to u{WIDTH_MAX} or i1 to i{WIDTH_MAX}, with @a, \
                 @b or @y behind it for a sharing"
            )
        };
        let at = text.find('@').unwrap_or(text.len());
        let (integer, suffix) = text.split_at(at);
        let named = Sharing::ALL.into_iter().find(|sharing| sharing.suffix() == suffix);
        let sharing = named.ok_or_else(bad)?;
        let signed = match integer.as_bytes().first() {
            Some(b'u') => false,
            Some(b'i') => true,
            _ => return Err(bad()),
        };
        let width: u16 = integer[1..].parse().map_err(|_| bad())?;
        if width == 0 || width > WIDTH_MAX || integer.as_bytes()[1] == b'0' {
            return Err(bad());
        }
        Ok(ElementType::Bits { width, signed, sharing })
    }
}

/// The shape of a value: `width` bits in each of `lanes` lanes, and how they are shared.
///
/// Bit-major: wire `i * lanes + j` is bit `i` of lane `j`. The sign belongs to the instruction,
/// not to the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Bits per lane.
    pub width: u16,
    /// Number of lanes.
    pub lanes: u32,
    /// How the parties hold it.
    pub sharing: Sharing,
}

impl Shape {
    /// `lanes` lanes of `width` bits, shared as the protocol has it.
    pub const fn new(width: u16, lanes: u32) -> Shape {
        Shape { width, lanes, sharing: Sharing::Any }
    }

    /// Bits times lanes.
    pub const fn wires(self) -> u32 {
        self.width as u32 * self.lanes
    }

    /// Returns whether a program that states no larger values may have a value of this shape.
    pub const fn is_valid(self) -> bool {
        self.is_valid_within(VALUE_WIRES_MAX)
    }

    /// Returns whether a program with values of at most `wires_max` wires may have a value of this
    /// shape.
    pub const fn is_valid_within(self, wires_max: u32) -> bool {
        self.width >= 1
            && self.width <= WIDTH_MAX
            && self.lanes >= 1
            && self.lanes <= wires_max
            && self.wires() <= wires_max
            && !(matches!(self.sharing, Sharing::Arithmetic) && self.width > RING_WIDTH_MAX)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bits x {} lanes", self.width, self.lanes)?;
        match self.sharing {
            Sharing::Any => Ok(()),
            Sharing::Arithmetic => f.write_str(" in arithmetic sharing (@a)"),
            Sharing::Boolean => f.write_str(" in Boolean sharing (@b)"),
            Sharing::Garbled => f.write_str(" in garbled sharing (@y)"),
        }
    }
}

/// Which part of an instruction this is.
///
/// An operation that talks to other parties is done in two parts, so that others may be done
/// meanwhile: its issue reads the operands, and after as many rounds as it takes its finish writes
/// the results. Instructions that are issued finish in the order of their last rounds, and in that
/// of their issues where those are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// All of it: reads operands and writes results.
    #[default]
    Whole = 0,
    /// Reads the operands.
    Issue = 1,
    /// Writes the results.
    Finish = 2,
}

impl Phase {
    /// All of them, in the order of their codes.
    pub const ALL: [Phase; 3] = [Phase::Whole, Phase::Issue, Phase::Finish];
}

/// One instruction.
///
/// In a program `results` and `operands` are value names, counted from 0 in the order of their
/// definition. In a planned program they are addresses in units of wires: frame times page size
/// plus offset. Unused places are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// Which part of it.
    pub phase: Phase,
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
            phase: Phase::Whole,
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

    /// Returns the given part of this instruction.
    #[must_use]
    pub const fn part(mut self, phase: Phase) -> Instruction {
        self.phase = phase;
        self
    }

    /// How many results this part writes.
    #[inline]
    pub fn result_count(&self) -> usize {
        if matches!(self.phase, Phase::Issue) { 0 } else { self.op.info().results.len() }
    }

    /// How many operands this part reads.
    #[inline]
    pub fn operand_count(&self) -> usize {
        if matches!(self.phase, Phase::Finish) { 0 } else { self.op.info().operands.len() }
    }

    /// The places of the results that this part writes.
    #[inline]
    pub fn results(&self) -> &[u64] {
        &self.results[..self.result_count()]
    }

    /// The places of the operands that this part reads.
    #[inline]
    pub fn operands(&self) -> &[u64] {
        &self.operands[..self.operand_count()]
    }

    /// The shape that the signature calls `T x n`.
    pub const fn shape(&self) -> Shape {
        let (width, sharing) = (self.element.width(), self.element.sharing());
        Shape { width, lanes: self.lanes, sharing }
    }

    /// Returns whether it multiplies a value by itself, lane by lane: protocols do that at about half the cost of a product.
    /// The part that finishes an instruction does not know that.
    pub fn is_square(&self) -> bool {
        matches!(self.op, Op::Mul | Op::MulFull) && self.operands[0] == self.operands[1]
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
