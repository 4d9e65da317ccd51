//! Operations of the nodes of a recording and of the steps of a script on rows: [`LocalOperation`]
//! without the other parties, [`RoundOperation`] in a round with them.

use super::OpenedNumber;

/// `constant + sum of factor * row`.
#[derive(Clone, Debug)]
pub(in crate::spdz) struct Sum<R> {
    pub(in crate::spdz) terms: Box<[(R, i128)]>,
    pub(in crate::spdz) constant: i128,
}

/// Two neighbouring bits of a number and of a mask, with the product of the latter.
#[derive(Clone, Copy, Debug)]
pub(in crate::spdz) struct BitPair<R> {
    pub(in crate::spdz) low: R,
    pub(in crate::spdz) high: R,
    pub(in crate::spdz) both: R,
    pub(in crate::spdz) number: OpenedNumber,
    /// Which bit of the number is the lower one.
    pub(in crate::spdz) bit: u32,
}

/// Local operation of a node; `R` names a row.
///
/// Circuits on bits are scripts of some hundred thousand of these, nearly all of them
/// [`LocalOperation::Xor`]: that one is small, and what is large and seldom lies apart.
#[derive(Clone, Debug)]
pub(in crate::spdz) enum LocalOperation<R> {
    Combine(Box<Sum<R>>),
    /// `a + b - 2 product`: exclusive or of bits.
    Xor {
        a: R,
        b: R,
        product: R,
    },
    /// `1 - a`
    Not {
        a: R,
    },
    /// Whether a bit of a number is less than a shared bit.
    Less {
        shared: R,
        number: OpenedNumber,
        bit: u32,
    },
    /// Whether a bit of a number equals a shared bit.
    Equal {
        shared: R,
        number: OpenedNumber,
        bit: u32,
    },
    /// Whether two bits of a number are less than two shared ones.
    LessOfTwo(Box<BitPair<R>>),
    /// Whether two bits of a number equal two shared ones.
    EqualOfTwo(Box<BitPair<R>>),
    /// A bit of a number, exclusive or a shared bit.
    Differs {
        shared: R,
        number: OpenedNumber,
        bit: u32,
    },
    /// The row, plus the low bits of a number.
    AddLow {
        row: R,
        number: OpenedNumber,
        bits: u32,
    },
    /// The row times the low bits of a number.
    TimesLow {
        row: R,
        number: OpenedNumber,
        bits: u32,
    },
    /// The row times the inverse of two to a power.
    Halved {
        row: R,
        times: u32,
    },
}

/// Operation that takes a round.
#[derive(Clone, Copy, Debug)]
pub(in crate::spdz) enum RoundOperation<R> {
    Product { a: R, b: R },
    Square { a: R },
    Open { a: R },
}

impl<R: Copy> LocalOperation<R> {
    /// The rows that it reads.
    pub(super) fn rows(&self) -> Vec<R> {
        match self {
            LocalOperation::Combine(sum) => sum.terms.iter().map(|(row, _)| *row).collect(),
            LocalOperation::Xor { a, b, product } => vec![*a, *b, *product],
            LocalOperation::Not { a } => vec![*a],
            LocalOperation::LessOfTwo(two) | LocalOperation::EqualOfTwo(two) => {
                vec![two.low, two.high, two.both]
            }
            LocalOperation::Less { shared, .. }
            | LocalOperation::Equal { shared, .. }
            | LocalOperation::Differs { shared, .. } => vec![*shared],
            LocalOperation::AddLow { row, .. }
            | LocalOperation::TimesLow { row, .. }
            | LocalOperation::Halved { row, .. } => {
                vec![*row]
            }
        }
    }

    pub(super) fn map<S>(
        &self,
        mut row_of: impl FnMut(R) -> S,
        number_of: impl Fn(OpenedNumber) -> OpenedNumber,
    ) -> LocalOperation<S> {
        match self {
            LocalOperation::LessOfTwo(two) => {
                LocalOperation::LessOfTwo(Box::new(two.map(row_of, number_of)))
            }
            LocalOperation::EqualOfTwo(two) => {
                LocalOperation::EqualOfTwo(Box::new(two.map(row_of, number_of)))
            }
            LocalOperation::Combine(sum) => {
                let terms = sum.terms.iter().map(|(row, factor)| (row_of(*row), *factor));
                LocalOperation::Combine(Box::new(Sum {
                    terms: terms.collect(),
                    constant: sum.constant,
                }))
            }
            LocalOperation::Xor { a, b, product } => {
                LocalOperation::Xor { a: row_of(*a), b: row_of(*b), product: row_of(*product) }
            }
            LocalOperation::Not { a } => LocalOperation::Not { a: row_of(*a) },
            LocalOperation::Less { shared, number, bit } => LocalOperation::Less {
                shared: row_of(*shared),
                number: number_of(*number),
                bit: *bit,
            },
            LocalOperation::Equal { shared, number, bit } => LocalOperation::Equal {
                shared: row_of(*shared),
                number: number_of(*number),
                bit: *bit,
            },
            LocalOperation::Differs { shared, number, bit } => LocalOperation::Differs {
                shared: row_of(*shared),
                number: number_of(*number),
                bit: *bit,
            },
            LocalOperation::AddLow { row, number, bits } => LocalOperation::AddLow {
                row: row_of(*row),
                number: number_of(*number),
                bits: *bits,
            },
            LocalOperation::TimesLow { row, number, bits } => LocalOperation::TimesLow {
                row: row_of(*row),
                number: number_of(*number),
                bits: *bits,
            },
            LocalOperation::Halved { row, times } => {
                LocalOperation::Halved { row: row_of(*row), times: *times }
            }
        }
    }
}

impl<R: Copy> BitPair<R> {
    fn map<S>(
        &self,
        mut row_of: impl FnMut(R) -> S,
        number_of: impl Fn(OpenedNumber) -> OpenedNumber,
    ) -> BitPair<S> {
        let [low, high, both] = [self.low, self.high, self.both].map(&mut row_of);
        BitPair { low, high, both, number: number_of(self.number), bit: self.bit }
    }
}

impl<R: Copy> RoundOperation<R> {
    pub(super) fn rows(&self) -> Vec<R> {
        match *self {
            RoundOperation::Product { a, b } => vec![a, b],
            RoundOperation::Square { a } | RoundOperation::Open { a } => vec![a],
        }
    }

    pub(super) fn map<S>(&self, mut row_of: impl FnMut(R) -> S) -> RoundOperation<S> {
        match *self {
            RoundOperation::Product { a, b } => {
                RoundOperation::Product { a: row_of(a), b: row_of(b) }
            }
            RoundOperation::Square { a } => RoundOperation::Square { a: row_of(a) },
            RoundOperation::Open { a } => RoundOperation::Open { a: row_of(a) },
        }
    }
}
