//! Operations of the nodes of a recording and of the steps of a script on rows: [`Local`] without
//! the other parties, [`Joint`] in a round with them.

use super::Number;

/// `constant + sum of factor * row`.
#[derive(Clone, Debug)]
pub(in crate::spdz) struct Sum<R> {
    pub(in crate::spdz) terms: Box<[(R, i128)]>,
    pub(in crate::spdz) constant: i128,
}

/// Two neighbouring bits of a number and of a mask, with the product of the latter.
#[derive(Clone, Copy, Debug)]
pub(in crate::spdz) struct Two<R> {
    pub(in crate::spdz) low: R,
    pub(in crate::spdz) high: R,
    pub(in crate::spdz) both: R,
    pub(in crate::spdz) number: Number,
    /// Which bit of the number is the lower one.
    pub(in crate::spdz) bit: u32,
}

/// Local operation of a node; `R` names a row.
///
/// Circuits on bits are scripts of some hundred thousand of these, nearly all of them [`Local::Xor`]:
/// that one is small, and what is large and seldom lies apart.
#[derive(Clone, Debug)]
pub(in crate::spdz) enum Local<R> {
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
        number: Number,
        bit: u32,
    },
    /// Whether a bit of a number equals a shared bit.
    Equal {
        shared: R,
        number: Number,
        bit: u32,
    },
    /// Whether two bits of a number are less than two shared ones.
    LessOfTwo(Box<Two<R>>),
    /// Whether two bits of a number equal two shared ones.
    EqualOfTwo(Box<Two<R>>),
    /// A bit of a number, exclusive or a shared bit.
    Differs {
        shared: R,
        number: Number,
        bit: u32,
    },
    /// The row, plus the low bits of a number.
    AddLow {
        row: R,
        number: Number,
        bits: u32,
    },
    /// The row times the low bits of a number.
    TimesLow {
        row: R,
        number: Number,
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
pub(in crate::spdz) enum Joint<R> {
    Product { a: R, b: R },
    Square { a: R },
    Open { a: R },
}

impl<R: Copy> Local<R> {
    /// The rows that it reads.
    pub(super) fn rows(&self) -> Vec<R> {
        match self {
            Local::Combine(sum) => sum.terms.iter().map(|(row, _)| *row).collect(),
            Local::Xor { a, b, product } => vec![*a, *b, *product],
            Local::Not { a } => vec![*a],
            Local::LessOfTwo(two) | Local::EqualOfTwo(two) => vec![two.low, two.high, two.both],
            Local::Less { shared, .. }
            | Local::Equal { shared, .. }
            | Local::Differs { shared, .. } => vec![*shared],
            Local::AddLow { row, .. } | Local::TimesLow { row, .. } | Local::Halved { row, .. } => {
                vec![*row]
            }
        }
    }

    pub(super) fn map<S>(
        &self,
        mut row_of: impl FnMut(R) -> S,
        number_of: impl Fn(Number) -> Number,
    ) -> Local<S> {
        match self {
            Local::LessOfTwo(two) => Local::LessOfTwo(Box::new(two.map(row_of, number_of))),
            Local::EqualOfTwo(two) => Local::EqualOfTwo(Box::new(two.map(row_of, number_of))),
            Local::Combine(sum) => {
                let terms = sum.terms.iter().map(|(row, factor)| (row_of(*row), *factor));
                Local::Combine(Box::new(Sum { terms: terms.collect(), constant: sum.constant }))
            }
            Local::Xor { a, b, product } => {
                Local::Xor { a: row_of(*a), b: row_of(*b), product: row_of(*product) }
            }
            Local::Not { a } => Local::Not { a: row_of(*a) },
            Local::Less { shared, number, bit } => {
                Local::Less { shared: row_of(*shared), number: number_of(*number), bit: *bit }
            }
            Local::Equal { shared, number, bit } => {
                Local::Equal { shared: row_of(*shared), number: number_of(*number), bit: *bit }
            }
            Local::Differs { shared, number, bit } => {
                Local::Differs { shared: row_of(*shared), number: number_of(*number), bit: *bit }
            }
            Local::AddLow { row, number, bits } => {
                Local::AddLow { row: row_of(*row), number: number_of(*number), bits: *bits }
            }
            Local::TimesLow { row, number, bits } => {
                Local::TimesLow { row: row_of(*row), number: number_of(*number), bits: *bits }
            }
            Local::Halved { row, times } => Local::Halved { row: row_of(*row), times: *times },
        }
    }
}

impl<R: Copy> Two<R> {
    fn map<S>(
        &self,
        mut row_of: impl FnMut(R) -> S,
        number_of: impl Fn(Number) -> Number,
    ) -> Two<S> {
        let [low, high, both] = [self.low, self.high, self.both].map(&mut row_of);
        Two { low, high, both, number: number_of(self.number), bit: self.bit }
    }
}

impl<R: Copy> Joint<R> {
    pub(super) fn rows(&self) -> Vec<R> {
        match *self {
            Joint::Product { a, b } => vec![a, b],
            Joint::Square { a } | Joint::Open { a } => vec![a],
        }
    }

    pub(super) fn map<S>(&self, mut row_of: impl FnMut(R) -> S) -> Joint<S> {
        match *self {
            Joint::Product { a, b } => Joint::Product { a: row_of(a), b: row_of(b) },
            Joint::Square { a } => Joint::Square { a: row_of(a) },
            Joint::Open { a } => Joint::Open { a: row_of(a) },
        }
    }
}
