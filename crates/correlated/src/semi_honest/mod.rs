//! Semi-honest correlated randomness, made before the inputs are known: multiplication triples, also of a bit that one
//! party knows, square pairs, shared bits, functions that are 1 at one point.
//!
//! Read `generator` first. What each module is:
//!
//! | module | gives |
//! |---|---|
//! | [`Generator`] | correlated randomness of every kind, made by all parties with oblivious transfer |
//! | [`Live`] | the same, made by a thread just ahead of its use |
//! | [`Sequential`] | the same, all made before |
//! | [`Stored`] | the same, from a file made earlier, once |
//! | [`Dealer`] | the same from a common seed: for tests and measurements, no security |
//! | [`costs`] | what making it costs, to the byte |
//!
//! Adversary: semi-honest, all parties but one. All parties make the same amounts in the same
//! order; a [`Schedule`] says which, from what a program demands.

mod batch;
mod buffered;
pub mod costs;
mod dealer;
mod generator;
mod known_triples;
pub mod limits;
mod live;
mod pair;
mod point_functions;
mod products;
mod schedule;
mod shared_bits;

#[cfg(test)]
mod tests;

use crate::CorrelatedError;

pub use batch::{Batch, COMPANION_KEY_BYTES};
pub use buffered::{Binding, Buffered, Sequential, Stored};
pub use dealer::Dealer;
pub use generator::Generator;
pub use live::Live;
pub use phineus_crypto::point_function::POINT_BITS_MAX;
pub use schedule::{Demand, Schedule};

/// A kind of correlated randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `(a, b, a AND b)`, as XOR shares.
    BitTriple,
    /// `(a, b, a * b)` in `Z_2^width`, as additive shares.
    RingTriple {
        /// Bits of an element.
        width: u16,
    },
    /// `(a, a * a)` in `Z_2^width`, as additive shares.
    SquarePair {
        /// Bits of an element.
        width: u16,
    },
    /// A random bit, as XOR shares and as additive shares in `Z_2^width`.
    SharedBit {
        /// Bits of an element.
        width: u16,
    },
    /// `(s, d, s d)` for a bit `s` that one party knows and a row `d` as XOR shares of all others; the product as XOR
    /// shares.
    KnownTriple {
        /// The party that knows `s`, and has no share of `d`.
        owner: u16,
        /// Bits of a row, at most [`KNOWN_WIDTH_MAX`].
        width: u16,
    },
    /// A function that is 1 at one of `2^bits` points: XOR shares of the point, and a key for each of two parties.
    PointFunction {
        /// Bits of a point, at most [`POINT_BITS_MAX`].
        bits: u16,
    },
}

/// The widest row of a [`Kind::KnownTriple`].
pub const KNOWN_WIDTH_MAX: u16 = phineus_ot::ROW_BITS_MAX as u16;

/// Where a protocol gets its correlated randomness from.
///
/// All parties ask for the same amounts in the same order.
pub trait CorrelatedRandomness: Send {
    /// `count` multiplication triples in Z_2 as XOR shares, packed: bit `i % 64` of word `i / 64`;
    /// bits beyond `count` are 0.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    ///
    /// # Panics
    /// If a buffer has not `count.div_ceil(64)` words, or more is asked for than was demanded.
    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError>;

    /// `a.len()` multiplication triples in `Z_2^width`, additive shares reduced modulo `2^width`.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    ///
    /// # Panics
    /// If the buffers differ in length, or more is asked for than was demanded.
    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError>;

    /// `a.len()` pairs `(a, a * a)` in `Z_2^width`: less than half the cost of triples.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    ///
    /// # Panics
    /// If the buffers differ in length, or more is asked for than was demanded.
    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError>;

    /// `ring.len()` random bits shared in both forms: XOR shares packed in `bits`, additive shares
    /// in `Z_2^width` in `ring`.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    ///
    /// # Panics
    /// If `bits` has not a bit for each of `ring`, or more is asked for than was demanded.
    fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError>;

    /// `count` triples of a bit that one party knows and a row, `of` owner and width: at the owner `bits` are the bits and
    /// `rows` are 0, at the others it is the other way around. `products` are XOR shares. Bit `i` of row `j` is bit
    /// `j % 64` of word `i n + j / 64` for `n` words of `bits`; bits beyond `count` are 0.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    ///
    /// # Panics
    /// If a buffer has not just the bits that are asked for, or more is asked for than was demanded.
    fn known_triples(
        &mut self,
        of: (u16, u16),
        count: usize,
        bits: &mut [u64],
        rows: &mut [u64],
        products: &mut [u64],
    ) -> Result<(), CorrelatedError>;

    /// `count` functions that are 1 at one of `2^bits` points, between two parties: in `points` XOR shares of the points, as
    /// rows of [`CorrelatedRandomness::known_triples`], and in `keys` this party's keys one after another, two words to a
    /// block ([`phineus_crypto::point_function`]).
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    ///
    /// # Panics
    /// If a buffer has not just the words that are asked for, or more is asked for than was demanded.
    fn point_functions(
        &mut self,
        bits: u16,
        count: usize,
        points: &mut [u64],
        keys: &mut [u64],
    ) -> Result<(), CorrelatedError>;
}
