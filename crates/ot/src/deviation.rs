//! [`Deviation`]: what a corrupted receiver of an extension computes with instead.
//!
//! Honest parties are [`Honest`], which changes nothing and costs nothing. Tests use others: what
//! they change enters the messages and the transcript alike, so that only a check can notice it.

use phineus_crypto::Block;

/// Changes of a receiver's values.
pub trait Deviation {
    /// Changes the bits `u` of VOLE `vole` in one tile before its correction is computed: bit `j` of
    /// the row belongs to OT `j` of the tile.
    fn vole(&mut self, vole: usize, u: &mut [Block]);
}

/// Follows the protocol.
pub struct Honest;

impl Deviation for Honest {
    #[inline]
    fn vole(&mut self, _: usize, _: &mut [Block]) {}
}
