//! [`RangedElement`]: an element and its claimed range; [`Claim`]: the claim, for tests.
//!
//! A wrong claim is not slow, it leaks: a comparison is dropped that must not be, or opens its operands
//! behind masks that are too small for them. So a claim is made in one place,
//! [`Lowering::claim`], which tells the [`LoweringOutput`] of each: there is no other way to get an
//! [`RangedElement`]. Tests compute lowered programs in the clear and hold every element against
//! every claim.

use phineus_bytecode::Instruction;

use super::Lowering;
use super::range::Range;
use crate::error::Error;

/// A fact that the lowering relies on, in every run and for all inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// All lanes of the element `value` of the lowered program are integers from `low` to `high`.
    InRange {
        /// The name of the value in the lowered program.
        value: u64,
        /// The least element that it may have.
        low: i128,
        /// The largest element that it may have.
        high: i128,
    },
    /// The elements `value` of the lowered program are congruent to `source` of the program modulo two to the
    /// width of the source.
    Means {
        /// The name of the value in the lowered program.
        value: u64,
        /// The name of the value in the program.
        source: u64,
    },
    /// `count` bits of `source`, a value of the program, are bits of `value`, which is bits in the lowered program.
    Bits {
        /// The name of the value in the program.
        source: u64,
        /// The first of its bits, and how many.
        to: (u16, u16),
        /// The name of the value in the lowered program.
        value: u64,
        /// The first bit of `value`.
        at: u16,
        /// Whether all of them are that one bit.
        is_repeated: bool,
        /// Whether they are the complements.
        inverted: bool,
    },
    /// Some bits of `source`, a value of the program, are the same in all lanes, for all inputs.
    Known {
        /// The name of the value in the program.
        source: u64,
        /// The first of the bits, and how many.
        to: (u16, u16),
        /// The bit that all of them are.
        value: bool,
    },
}

/// Receives what the lowering produces.
pub(super) trait LoweringOutput {
    /// Takes the next instruction of the lowered program.
    fn emit(&mut self, instruction: &Instruction) -> Result<(), Error>;

    /// Takes a claim about a value that is defined; there may be several about one value.
    fn claim(&mut self, claim: Claim);
}

/// An element in each lane, congruent to a value of the program modulo `2^width`, and its range.
#[derive(Clone, Copy)]
pub(super) struct RangedElement {
    name: u64,
    range: Range,
}

impl RangedElement {
    pub(super) fn name(&self) -> u64 {
        self.name
    }

    pub(super) fn range(&self) -> Range {
        self.range
    }
}

impl<S: LoweringOutput> Lowering<S> {
    /// Claims that all lanes of `name`, which is defined, are within `range`.
    pub(super) fn claim(&mut self, name: u64, range: Range) -> RangedElement {
        self.sink.claim(Claim::InRange { value: name, low: range.low, high: range.high });
        RangedElement { name, range }
    }

    /// Claims that `name` is the value `source` of the program.
    pub(super) fn means(&mut self, name: u64, source: u64) {
        self.sink.claim(Claim::Means { value: name, source });
    }

    /// Emits an instruction whose one result is within `range`.
    pub(super) fn define_integer(
        &mut self,
        instruction: Instruction,
        range: Range,
    ) -> Result<RangedElement, Error> {
        let name = self.define(instruction)?;
        Ok(self.claim(name, range))
    }
}
