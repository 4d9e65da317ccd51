//! [`PartyKeys`]: AES keys that one party draws, and pads under them.
//!
//! What a party brings is its share, and that of each other party is 0, as of permutations (`state`). Nothing is sent.

use std::collections::BTreeMap;

use phineus_bytecode::{Instruction, Op};
use phineus_crypto::{Block, Pads, Prg};
use phineus_engine::packed;
use zeroize::Zeroizing;

/// The keys of this party, by number.
#[derive(Default)]
pub(super) struct PartyKeys(BTreeMap<u64, Pads>);

impl PartyKeys {
    /// Writes the share of a key, or of pads.
    pub(super) fn bring(
        &mut self,
        i: &Instruction,
        me: usize,
        draws: Option<&mut Prg>,
        share: &mut [u8],
    ) {
        share.fill(0);
        let [party, key, block, piece] = i.immediates;
        if party != me as u64 {
            return;
        }
        let draws = draws.expect("a program with tables draws keys");
        let pads = self.0.entry(key).or_insert_with(|| Pads::new(draws.next_block()));
        let (lanes, width) = (i.lanes as usize, usize::from(i.element.width()));
        let mut blocks = Zeroizing::new(vec![Block::ZERO; lanes]);
        match i.op {
            Op::PartyKey => blocks[0] = pads.key(),
            op => {
                assert_eq!(op, Op::PartyPad, "it is about a key");
                pads.fill(u128::from(piece) << 64 | u128::from(block), &mut blocks);
            }
        }
        let rows = share.chunks_exact_mut(packed::row_bytes(lanes)).take(width);
        for (bit, row) in rows.enumerate() {
            for (lane, block) in blocks.iter().enumerate() {
                row[lane / 8] |= ((block.to_bits() >> bit & 1) as u8) << (lane % 8);
            }
        }
    }
}
