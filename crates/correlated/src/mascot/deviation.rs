//! [`Deviation`]: what a corrupted party computes with instead, the same towards all others.
//!
//! A party of a run is [`Honest`], which costs nothing. Tests have another one, to show that checks
//! notice what no change of a message imitates.

use phineus_crypto::field::Field;

/// Where a corrupted party can deviate so that nothing but a check notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviationPoint {
    /// Elements to be authenticated, such as factors and products of triples.
    Input,
    /// Shares of their MACs.
    Mac,
    /// Summands of what is opened to check products.
    Summand,
    /// Summands of the differences that make triples squares.
    Difference,
    /// Summands of the squares that become bits.
    Square,
    /// The share of what must add up to zero, before it is committed to.
    Sigma,
    /// The proof for one party that elements are small.
    Proof,
    /// Coins, after they are committed to.
    Coin,
}

/// Changes of a party's values at each [`DeviationPoint`].
pub trait Deviation: Send + 'static {
    /// May change elements.
    fn elements<F: Field>(&mut self, point: DeviationPoint, elements: &mut [F]);

    /// May change coins of `coin_bytes` bytes each.
    fn coins(&mut self, coins: &mut [u8], coin_bytes: usize);
}

/// Follows the protocol.
pub struct Honest;

impl Deviation for Honest {
    #[inline]
    fn elements<F: Field>(&mut self, _: DeviationPoint, _: &mut [F]) {}

    #[inline]
    fn coins(&mut self, _: &mut [u8], _: usize) {}
}
