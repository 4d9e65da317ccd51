//! [`FreshWires`]: the wires that inputs and conversions begin with.
//!
//! A party draws its zero-key and its share of the mask bit of such a wire from a generator. Both
//! of its walks have the generator and meet the wires in the same order.

use phineus_crypto::{Block, Prg};

/// A party's zero-keys, with its shares of the mask bits in the select bits.
pub(super) struct FreshWires(Prg);

impl FreshWires {
    pub(super) fn new(seed: Block) -> FreshWires {
        FreshWires(Prg::from_seed(seed))
    }

    /// The next wires.
    pub(super) fn fill(&mut self, wires: &mut [Block]) {
        self.0.fill_blocks(wires);
    }
}
