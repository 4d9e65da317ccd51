//! [`FreshWires`]: the wires that inputs and conversions begin with, and the masks of those values
//! that become additive.
//!
//! A party draws its zero-key and its share of the mask bit of such a wire from a generator. Both
//! of its passes have the generator and meet the wires in the same order. Additive masks come from
//! a second one: an instruction that takes fresh wires takes them when it is issued, and another
//! that takes masks may come before it finishes.

use phineus_crypto::{Block, Prg};
use zerocopy::IntoBytes;

/// A party's zero-keys, with its shares of the mask bits in the select bits; and its masks.
pub(super) struct FreshWires {
    wires: Prg,
    masks: Prg,
}

impl FreshWires {
    pub(super) fn new(seed: Block) -> FreshWires {
        let mut seeds = Prg::from_seed(seed);
        let [wires, masks] = [seeds.next_block(), seeds.next_block()].map(Prg::from_seed);
        FreshWires { wires, masks }
    }

    /// The next wires.
    pub(super) fn fill(&mut self, wires: &mut [Block]) {
        self.wires.fill_blocks(wires);
    }

    /// The next masks, of 64 bits each.
    pub(super) fn fill_masks(&mut self, masks: &mut [u64]) {
        self.masks.fill_bytes(masks.as_mut_bytes());
    }
}
