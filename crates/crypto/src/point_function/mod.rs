//! Two parties' shares of a function that is 1 at one secret point and 0 everywhere else.
//!
//! Source: Guo, Yang, Wang, Zhang, Xie, Zhang, Liu, "Half-Tree: Halving the Cost of Tree Expansion in COT and DPF",
//! EUROCRYPT 2023 (ePrint 2022/1431), the correlated tree of its distributed point function. The nodes of the two parties
//! on the path to the point differ by an offset whose lowest bit is 1, all others are equal. The children of a node `x`
//! with lowest bit `t` are `H(x) ^ t c` and `x ^ H(x) ^ t c` for the correction `c` of the level. A leaf gives 128 values
//! at once: `H(x) ^ t c` for the last correction (Boyle, Gilboa, Ishai, "Function Secret Sharing: Improvements and
//! Extensions", CCS 2016, section 3.2.3, early termination).
//!
//! *Deviation:* `H` is the tweakable hash [`CrHash`] under a key of its own for each function, with another tweak for each
//! node; it takes two AES calls, not one. It is circular correlation robust under tweaks (Guo, Katz, Wang, Yu, ePrint
//! 2019/074, section 7.4).
//!
//! Cost of `2^k` points: `2^(k - 6)` AES calls or fewer; the key takes `16 k - 64` bytes.
//! Invariants: constant time in key and point. Bit `l` of a leaf's number is its side at level `l`.
//! Not protected: a key says nothing of who made it. See `phineus_correlated` for how two parties make one.

mod rows;

use zeroize::Zeroizing;

use crate::{Block, CrHash, Prg, SecretBit};

pub use rows::BitRows;

/// Nodes that are hashed at a time, so that they stay in the first level of cache until they are added up.
const CHUNK_NODES: usize = 512;

/// Bits of a point that select one of the values of a leaf.
const LEAF_BITS: u16 = 7;

/// The most bits of a point: a tree has 16 MiB of leaves.
pub const POINT_BITS_MAX: u16 = 27;

/// The number of points of a function, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointBits(u16);

impl PointBits {
    /// As many points as so many bits number.
    ///
    /// # Panics
    /// If there are more than [`POINT_BITS_MAX`], or none.
    pub fn new(bits: u16) -> PointBits {
        assert!((1..=POINT_BITS_MAX).contains(&bits), "a point has 1 to 27 bits");
        PointBits(bits)
    }

    /// Bits of a point.
    pub fn get(self) -> usize {
        self.0.into()
    }

    /// Bits of a point inside a leaf.
    pub fn leaf_bits(self) -> usize {
        self.0.min(LEAF_BITS).into()
    }

    /// Levels of the tree.
    pub fn levels(self) -> usize {
        self.0.saturating_sub(LEAF_BITS).into()
    }

    /// Leaves of the tree.
    pub fn leaves(self) -> usize {
        1 << self.levels()
    }

    /// Blocks of a key: of a function with a tree the key of the hash and the root, a correction for each level, and the
    /// last one. Without a tree, the last one is all values.
    pub fn key_blocks(self) -> usize {
        if self.levels() == 0 { 1 } else { 3 + self.levels() }
    }
}

fn added_up(sum: Block, blocks: &[Block]) -> Block {
    blocks.iter().fold(sum, |sum, &block| sum ^ block)
}

/// The children of some nodes of a tree, and their hashes.
pub struct TreeHash(CrHash);

impl TreeHash {
    /// Under a public key that no other tree has.
    pub fn new(key: Block) -> TreeHash {
        TreeHash(CrHash::new(key))
    }

    /// Replaces the nodes of a level, of which there is a power of two, by their hashes.
    pub fn hash_nodes(&self, nodes: &mut [Block]) {
        // The nodes of a level count from their number: 1; 2, 3; 4, 5, 6, 7; and so on.
        self.0.hash_blocks(nodes.len() as u64, nodes);
    }

    /// Writes the hashes of the nodes of a level, which are the first half, to the second; returns their sum.
    pub fn hash_level(&self, nodes: &mut [Block]) -> Block {
        let (level, hashes) = nodes.split_at_mut(nodes.len() / 2);
        let mut tweak = level.len() as u64;
        let chunks = level.chunks(CHUNK_NODES).zip(hashes.chunks_mut(CHUNK_NODES));
        chunks.fold(Block::ZERO, |sum, (level, hashes)| {
            hashes.copy_from_slice(level);
            self.0.hash_blocks(tweak, hashes);
            tweak += level.len() as u64;
            added_up(sum, hashes)
        })
    }

    /// The sum of the hashes of the nodes of a level.
    pub fn sum_of_hashes(&self, level: &[Block]) -> Block {
        let mut hashes = Zeroizing::new([Block::ZERO; CHUNK_NODES]);
        let mut tweak = level.len() as u64;
        level.chunks(CHUNK_NODES).fold(Block::ZERO, |sum, level| {
            let hashes = &mut hashes[..level.len()];
            hashes.copy_from_slice(level);
            self.0.hash_blocks(tweak, hashes);
            tweak += level.len() as u64;
            added_up(sum, hashes)
        })
    }

    /// Replaces the nodes of a level and their hashes, both halves, by the left and the right children.
    pub fn descend(nodes: &mut [Block], correction: Block) {
        let (left, right) = nodes.split_at_mut(nodes.len() / 2);
        for (left, right) in left.iter_mut().zip(right) {
            let child = *right ^ correction.and_bit(left.select_bit());
            *right = *left ^ child;
            *left = child;
        }
    }

    /// Writes all leaves of a tree.
    fn descend_all(&self, root: Block, corrections: &[Block], leaves: &mut [Block]) {
        leaves[0] = root;
        for (level, &correction) in corrections.iter().enumerate() {
            let nodes = &mut leaves[..2 << level];
            self.hash_level(nodes);
            TreeHash::descend(nodes, correction);
        }
    }

    /// Replaces leaves by their values.
    pub fn finish(leaves: &mut [Block], hashes: &[Block], correction: Block) {
        for (leaf, &hash) in leaves.iter_mut().zip(hashes) {
            *leaf = hash ^ correction.and_bit(leaf.select_bit());
        }
    }
}

/// Writes a party's shares of the values at all points, 128 to a block; `hashes` has space for as many.
///
/// # Panics
/// If a buffer has not the length that the number of points gives it.
pub fn evaluate(points: PointBits, key: &[Block], values: &mut [Block], hashes: &mut [Block]) {
    assert_eq!(key.len(), points.key_blocks(), "a key of its length");
    assert!(
        values.len() == points.leaves() && hashes.len() == values.len(),
        "a block for each leaf"
    );
    let (&last, key) = key.split_last().expect("a key has a block");
    let [hash, root, corrections @ ..] = key else {
        values[0] = last;
        return;
    };
    let hash = TreeHash::new(*hash);
    hash.descend_all(*root, corrections, values);
    hashes.copy_from_slice(values);
    hash.hash_nodes(hashes);
    TreeHash::finish(values, hashes, last);
}

/// Writes the lowest bits of a party's nodes at the leaves of a tree, and for each leaf a block; returns the sum of all
/// blocks. Of the leaf of the point the block differs from the other party's, which is as good as random to this one;
/// all others are the same. `nodes` has space for half as many nodes as there are leaves.
///
/// The bits are shares of 1 at the leaf of the point, and of 0 at all others.
///
/// # Panics
/// If the function has no tree, or a buffer has not the length that the number of points gives it.
pub fn evaluate_leaves(
    points: PointBits,
    key: &[Block],
    nodes: &mut [Block],
    (bits, blocks): (&mut [u64], &mut [Block]),
) -> Block {
    assert_eq!(key.len(), points.key_blocks(), "a key of its length");
    let leaves = points.leaves();
    assert!(
        2 * nodes.len() == leaves && blocks.len() == leaves && bits.len() == leaves.div_ceil(64),
        "a block and a bit for each leaf"
    );
    let [hash, root, corrections @ .., above_leaves, _] = key else {
        unreachable!("a tree has a level")
    };
    let hash = TreeHash::new(*hash);
    hash.descend_all(*root, corrections, nodes);
    bits.fill(0);
    let (left, right) = blocks.split_at_mut(nodes.len());
    let chunks = nodes.chunks(CHUNK_NODES).zip(left.chunks_mut(CHUNK_NODES));
    let (mut sum, mut first) = (Block::ZERO, 0);
    for ((parents, left), right) in chunks.zip(right.chunks_mut(CHUNK_NODES)) {
        right.copy_from_slice(parents);
        hash.0.hash_blocks((nodes.len() + first) as u64, right);
        for ((left, right), &parent) in left.iter_mut().zip(&mut *right).zip(parents) {
            *left = *right ^ above_leaves.and_bit(parent.select_bit());
            *right = parent ^ *left;
        }
        for (first, blocks) in [(first, left), (nodes.len() + first, right)] {
            for (number, node) in (first..).zip(&*blocks) {
                bits[number / 64] |= node.select_bit().to_u64() << (number % 64);
            }
            // The numbers behind those of all nodes: the last correction tells hashes of leaves under their own.
            hash.0.hash_blocks((2 * leaves + first) as u64, blocks);
            sum = added_up(sum, blocks);
        }
        first += parents.len();
    }
    sum
}

/// Exchanges each of the 128 bits with the one whose number differs by the public `offset`.
pub fn shifted(bits: Block, offset: u32) -> Block {
    let mut bits = bits.to_bits();
    for (level, mask) in HALVES.into_iter().enumerate() {
        if offset >> level & 1 == 1 {
            bits = (bits & mask) << (1 << level) | bits >> (1 << level) & mask;
        }
    }
    Block::from_bits(bits)
}

/// By level, the bits whose number has a 0 there.
const HALVES: [u128; LEAF_BITS as usize] = [
    u128::MAX / 0x3,
    u128::MAX / 0x5,
    u128::MAX / 0x11,
    u128::MAX / 0x101,
    u128::MAX / 0x1_0001,
    u128::MAX / 0x1_0000_0001,
    u128::MAX / 0x1_0000_0000_0000_0001,
];

/// Keys of both parties for a point, made by one who knows it: for dealers and tests.
///
/// # Panics
/// If the keys have not their length.
pub fn deal(points: PointBits, point: u64, prg: &mut Prg, keys: [&mut [Block]; 2]) {
    let [first, second] = keys;
    assert!(
        first.len() == points.key_blocks() && second.len() == first.len(),
        "keys of their length"
    );
    let inside = Block::from_bits(1 << (point & 127));
    if points.levels() == 0 {
        first[0] = prg.next_block();
        second[0] = first[0] ^ inside;
        return;
    }
    let offset = prg.next_block().with_select_bit(SecretBit::public(true));
    (first[0], first[1]) = (prg.next_block(), prg.next_block());
    (second[0], second[1]) = (first[0], first[1] ^ offset);
    let hash = TreeHash::new(first[0]);
    // Only the nodes on the path differ.
    let mut nodes = [first[1], second[1]];
    let hashed = |nodes: [Block; 2], level: usize| {
        let above = (1 << level) - 1;
        let number = (1 << level) + (point >> LEAF_BITS & above);
        nodes.map(|node| {
            let mut hashed = [node];
            hash.0.hash_blocks(number, &mut hashed);
            hashed[0]
        })
    };
    for level in 0..points.levels() {
        let goes_right = SecretBit::lowest(point >> (usize::from(LEAF_BITS) + level));
        let hashes = hashed(nodes, level);
        let correction = hashes[0] ^ hashes[1] ^ offset.and_bit(!goes_right);
        for (node, hash) in nodes.iter_mut().zip(hashes) {
            let left = hash ^ correction.and_bit(node.select_bit());
            *node = left ^ node.and_bit(goes_right);
        }
        (first[2 + level], second[2 + level]) = (correction, correction);
    }
    let hashes = hashed(nodes, points.levels());
    let last = hashes[0] ^ hashes[1] ^ inside;
    let end = points.key_blocks() - 1;
    (first[end], second[end]) = (last, last);
}

#[cfg(test)]
mod tests;
