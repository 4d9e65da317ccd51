//! All-but-one OT: the receiver of an extension knows all leaves of a tree of seeds, its sender
//! all leaves but one of the sender's choosing.
//!
//! Source: Roy, "SoftSpokenOT: Quieter OT Extension from Small-Field Silent VOLE in the Minicrypt
//! Model", CRYPTO 2022 (ePrint 2022/192), Figure 13, which puts the punctured pseudorandom
//! function of Goldreich, Goldwasser and Micali on top of 1-out-of-2 OTs.
//!
//! Cost of a tree of 2^k leaves: k base OTs, 32 * (k - 1) bytes, 2^k - 2 seeds expanded.
//! Invariants: constant time in the punctured path: nodes are numbered *relative* to it, so the
//! unknown node of every level is number 0, and no index depends on the path.
//! Not protected: a malicious builder can send wrong sums (Figure 14 of the paper checks that).

use phineus_crypto::{Block, Prg, SecretBit};
use zeroize::Zeroizing;

/// Blocks sent per level below the first: one masked sum of left and one of right children.
const BLOCKS_PER_LEVEL: usize = 2;

/// Blocks of the message that goes with a tree of `levels` levels.
pub(crate) const fn message_blocks(levels: usize) -> usize {
    BLOCKS_PER_LEVEL * (levels - 1)
}

/// Builds the tree whose level `l` is bound to the base OT with the pads `pads[l]`.
///
/// Fills `leaves` (2^levels) with seeds and `message` with what the other party needs.
pub(crate) fn build(pads: &[[Block; 2]], leaves: &mut [Block], message: &mut [Block]) {
    assert_eq!(leaves.len(), 1 << pads.len(), "a tree has 2^levels leaves");
    assert_eq!(message.len(), message_blocks(pads.len()), "two sums per level but the first");
    // The root is implicit: its children are the pads of the first base OT.
    leaves[..2].copy_from_slice(&pads[0]);
    for (level, pads) in pads.iter().enumerate().skip(1) {
        let mut sums = *pads;
        for node in (0..1 << level).rev() {
            let children = expand(leaves[node]);
            leaves[2 * node] = children[0];
            leaves[2 * node + 1] = children[1];
            sums[0] ^= children[0];
            sums[1] ^= children[1];
        }
        message[BLOCKS_PER_LEVEL * (level - 1)..][..2].copy_from_slice(&sums);
    }
}

/// Rebuilds a tree without the leaf at `path`, whose bit for level `l` is `path[l]`.
///
/// `pads[l]` is the pad of the base OT of level `l` with choice `1 - path[l]`. `leaves[y]` becomes
/// the builder's leaf `y ^ p` for the punctured leaf `p` (first level in the most significant
/// bit); `leaves[0]`, the unknown one, is zero.
pub(crate) fn evaluate(
    path: &[SecretBit],
    pads: &[Block],
    message: &[Block],
    leaves: &mut [Block],
) {
    assert_eq!(leaves.len(), 1 << path.len(), "a tree has 2^levels leaves");
    assert_eq!(message.len(), message_blocks(path.len()), "two sums per level but the first");
    assert_eq!(pads.len(), path.len(), "one pad per level");
    leaves[0] = Block::ZERO;
    leaves[1] = pads[0];
    for level in 1..path.len() {
        let on_path = path[level];
        let sums = &message[BLOCKS_PER_LEVEL * (level - 1)..][..2];
        // The sum of the side off the path: right if the path goes left.
        let mut sibling = pads[level] ^ sums[0].and_bit(on_path) ^ sums[1].and_bit(!on_path);
        for node in (1..1 << level).rev() {
            let [left, right] = expand(leaves[node]);
            let difference = (left ^ right).and_bit(on_path);
            leaves[2 * node] = left ^ difference;
            leaves[2 * node + 1] = right ^ difference;
            sibling ^= leaves[2 * node + 1];
        }
        leaves[1] = sibling;
    }
}

/// The two children of a node.
fn expand(seed: Block) -> [Block; 2] {
    let mut children = Zeroizing::new([Block::ZERO; 2]);
    Prg::from_seed(seed).fill_blocks(&mut *children);
    *children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_evaluator_gets_every_leaf_but_one() {
        let seed = 0x51ed;
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        for levels in 1..=8 {
            let mut pads = vec![[Block::ZERO; 2]; levels];
            prg.fill_blocks(pads.as_flattened_mut());
            let mut all = vec![Block::ZERO; 1 << levels];
            let mut message = vec![Block::ZERO; message_blocks(levels)];
            build(&pads, &mut all, &mut message);
            for punctured in 0..1usize << levels {
                let path: Vec<usize> =
                    (0..levels).map(|l| punctured >> (levels - 1 - l) & 1).collect();
                let got: Vec<Block> =
                    pads.iter().zip(&path).map(|(pad, &bit)| pad[1 - bit]).collect();
                let mut some = vec![Block::ZERO; 1 << levels];
                let path: Vec<SecretBit> =
                    path.iter().map(|&bit| SecretBit::lowest(bit as u64)).collect();
                evaluate(&path, &got, &message, &mut some);
                assert_eq!(some[0].to_bits(), 0, "the punctured leaf is unknown");
                for y in 1..1 << levels {
                    let expected = all[y ^ punctured].to_bits();
                    assert_eq!(
                        some[y].to_bits(),
                        expected,
                        "levels {levels}, hole {punctured}, leaf {y}, seed {seed:#x}"
                    );
                }
            }
        }
    }
}
