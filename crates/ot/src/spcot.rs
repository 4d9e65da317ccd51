//! Single-point correlated OT: the noise of silent OT, one tree of seeds for each place of it.
//!
//! Source: Guo, Yang, Wang, Zhang, Xie, Zhang, Liu, "Half-Tree: Halving the Cost of Tree Expansion
//! in COT and DPF", EUROCRYPT 2023 (ePrint 2022/1431), the correlated tree and the single-point
//! COT from it. The children of a node `x` are `H(x)` and `x ^ H(x)` and those of the root are `r`
//! and `r ^ delta`, so the nodes of *every* level add up to delta. The receiver knows all leaves
//! but one, and their sum is that one XOR delta.
//! The levels' choices are those of random OTs, so the place is random and the receiver sends
//! nothing.
//!
//! *Deviation:* `H` is the tweakable hash [`CrHash`] with another tweak for every node instead of
//! one circular correlation-robust hash: robust in the same sense (Guo, Katz, Wang, Yu, ePrint
//! 2019/074), and no two nodes share a hash. It takes two AES calls a pair of children, not one.
//!
//! Cost of a tree of `2^h` leaves: h correlated OTs, `16 h` bytes, `2^h - 2` AES calls.
//! Invariants: constant time in the path. Bit `l` of a leaf's number is its side at level `l`, so
//! left and right children lie apart and in order.
//! Not protected: a malicious sender can send wrong sums and learn bits of a path.

use phineus_crypto::{Block, CrHash, Delta, SecretBit};

/// Builds the sender's tree with the random `root`.
///
/// `sums[l]` becomes the sum of level `l`'s left nodes. `nodes` (`2^sums.len()`) becomes the
/// leaves, `room` is half as long; the tweaks are those from `first_tweak`, as many as leaves.
pub(crate) fn build(
    hash: &CrHash,
    first_tweak: u64,
    delta: &Delta,
    root: Block,
    sums: &mut [Block],
    nodes: &mut [Block],
    room: &mut [Block],
) {
    assert_eq!(nodes.len(), 1 << sums.len(), "a tree has 2^levels leaves");
    nodes[0] = root;
    nodes[1] = root ^ delta.block();
    sums[0] = root;
    for (level, left_sum) in sums.iter_mut().enumerate().skip(1) {
        let half = 1 << level;
        let hashed = hash_level(hash, first_tweak, &nodes[..half], room);
        let (left, right) = nodes[..2 * half].split_at_mut(half);
        *left_sum = Block::ZERO;
        for ((left, right), hashed) in left.iter_mut().zip(right).zip(hashed) {
            *right = *left ^ *hashed;
            *left = *hashed;
            *left_sum ^= *hashed;
        }
    }
}

/// Rebuilds the leaves of a tree, but leaf `path`, which becomes its value XOR delta.
///
/// `sums[l]` is the sum of the nodes of level `l` on the side that is not bit `l` of `path`.
pub(crate) fn evaluate(
    hash: &CrHash,
    first_tweak: u64,
    path: u32,
    sums: &[Block],
    nodes: &mut [Block],
    room: &mut [Block],
) {
    assert_eq!(nodes.len(), 1 << sums.len(), "a tree has 2^levels leaves");
    let goes_right = SecretBit::lowest(path.into());
    nodes[0] = sums[0].and_bit(goes_right);
    nodes[1] = sums[0].and_bit(!goes_right);
    for (level, &sum) in sums.iter().enumerate().skip(1) {
        let half = 1 << level;
        let hashed = hash_level(hash, first_tweak, &nodes[..half], room);
        let (left, right) = nodes[..2 * half].split_at_mut(half);
        let (mut left_sum, mut right_sum) = (Block::ZERO, Block::ZERO);
        let unknown = path & (half as u32 - 1);
        for (i, ((left, right), hashed)) in left.iter_mut().zip(&mut *right).zip(hashed).enumerate()
        {
            // The unknown node stands as zero, and so do its children.
            let hashed = hashed.and_bit(!SecretBit::equal(i as u32, unknown));
            *right = *left ^ hashed;
            *left = hashed;
            left_sum ^= hashed;
            right_sum ^= *right;
        }
        let goes_right = SecretBit::lowest((path >> level).into());
        let sibling = sum ^ left_sum.and_bit(goes_right) ^ right_sum.and_bit(!goes_right);
        let (new_left, new_right) = (sibling.and_bit(goes_right), sibling.and_bit(!goes_right));
        for (i, (left, right)) in left.iter_mut().zip(&mut *right).enumerate() {
            let is_here = SecretBit::equal(i as u32, unknown);
            *left ^= new_left.and_bit(is_here);
            *right ^= new_right.and_bit(is_here);
        }
    }
    let total = nodes.iter().fold(Block::ZERO, |sum, node| sum ^ *node);
    for (i, node) in nodes.iter_mut().enumerate() {
        *node ^= total.and_bit(SecretBit::equal(i as u32, path));
    }
}

/// The hashes of the nodes of one level, under tweaks that belong to them alone.
fn hash_level<'a>(
    hash: &CrHash,
    first_tweak: u64,
    nodes: &[Block],
    room: &'a mut [Block],
) -> &'a [Block] {
    let room = &mut room[..nodes.len()];
    room.copy_from_slice(nodes);
    // The nodes of a level count from their number: 2, 3; 4, 5, 6, 7; and so on.
    hash.hash_blocks(first_tweak + nodes.len() as u64, room);
    room
}

#[cfg(test)]
mod tests {
    use phineus_crypto::Prg;

    use super::*;

    #[test]
    fn all_leaves_agree_and_the_point_differs_by_delta() {
        let seed = 0x59c07;
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        let hash = CrHash::new(prg.next_block());
        for depth in [1, 2, 5, 10] {
            let delta = Delta::random(&mut prg);
            let (mut sums, length) = (vec![Block::ZERO; depth], 1usize << depth);
            let (mut all, mut room) = (vec![Block::ZERO; length], vec![Block::ZERO; length / 2]);
            let root = prg.next_block();
            build(&hash, 1 << 40, &delta, root, &mut sums, &mut all, &mut room);
            let total = all.iter().fold(0, |sum, leaf| sum ^ leaf.to_bits());
            assert!(total == delta.block().to_bits(), "leaves add up to delta, depth {depth}");
            for path in (0..length).step_by(length.div_ceil(37)) {
                let sums: Vec<Block> = sums
                    .iter()
                    .enumerate()
                    .map(|(level, sum)| {
                        *sum ^ delta.block().and_bit(SecretBit::public(path >> level & 1 == 0))
                    })
                    .collect();
                let mut some = vec![Block::ZERO; length];
                evaluate(&hash, 1 << 40, path as u32, &sums, &mut some, &mut room);
                for (i, (some, all)) in some.iter().zip(&all).enumerate() {
                    let expected = *all ^ delta.block().and_bit(SecretBit::public(i == path));
                    let what = format!("depth {depth}, path {path}, leaf {i}, seed {seed:#x}");
                    assert!(some.to_bits() == expected.to_bits(), "{what}");
                }
            }
            let distinct: std::collections::BTreeSet<u128> =
                all.iter().map(|leaf| leaf.to_bits()).collect();
            assert_eq!(distinct.len(), length, "leaves are distinct, seed {seed:#x}");
        }
    }
}
