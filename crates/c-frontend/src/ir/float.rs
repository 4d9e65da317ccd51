//! Operations on floating-point numbers.

use phineus_frontend::Rounding;

/// An operation on the bits of floating-point numbers, or on integers that become such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOperation {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The number itself where the other one is a NaN.
    Minimum,
    Maximum,
    CopySign,
    Negate,
    Absolute,
    SquareRoot,
    /// A whole number near it.
    Integral(Rounding),
    Compare(FloatPredicate),
    /// True of the classes whose bits are set, as LLVM numbers them from the lowest bit: signalling
    /// NaN, NaN, -infinity, below zero, subnormal below zero, -0, and the same above zero the other way round.
    IsOfClass(u16),
    FromSigned,
    FromUnsigned,
    ToSigned,
    ToUnsigned,
    /// A floating-point number of another width.
    ToWidth,
}

/// A comparison of two numbers: in which cases it is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatPredicate {
    pub(crate) less: bool,
    pub(crate) equal: bool,
    pub(crate) greater: bool,
    /// One is a NaN.
    pub(crate) unordered: bool,
}
