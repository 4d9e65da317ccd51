//! [`CircuitShape`]: how many trees a memory has, how large they are, and what an access costs.
//!
//! The tree of the rows needs the leaf of each row. These are scanned if they are few, or packed, some in a block, into
//! another tree. Of all ways to do so the one of the fewest ANDs is taken.

use phineus_bytecode::Memory;

use super::blocks::column_widths;
use crate::memory::accesses::AccessKind;
use crate::memory::index_bits;

/// Blocks that the stash holds.
///
/// An access fails if more blocks have to wait there: with a probability below 2^-50 (`docs/protocols/oram.md`).
pub(super) const STASH: u32 = 24;

/// Paths that blocks are moved down after each access.
pub(super) const EVICTIONS: u64 = 2;

/// Levels below the stash whose buckets have three blocks.
const WIDE_LEVELS: u16 = 6;

/// Of the blocks of a packed tree, the number of leaves in each is at most 2 to this power.
const PACKED_BITS_MAX: u16 = 4;

/// The most bits of the number of a leaf that is scanned: they are one value.
const SCANNED_BITS_MAX: u16 = 12;

/// A tree of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeShape {
    /// Bits of the number of a block.
    pub(super) number_bits: u16,
    /// Levels below the root. The root is the stash.
    pub(super) levels: u16,
    /// Widths of the columns of a block.
    pub(super) widths: Vec<u16>,
}

impl TreeShape {
    /// For 2^`number_bits` blocks of so many bits: with half as many leaves.
    pub(super) fn new(number_bits: u16, data_bits: u64) -> TreeShape {
        let levels = number_bits.saturating_sub(1).max(1);
        TreeShape { number_bits, levels, widths: column_widths(data_bits) }
    }

    /// Blocks in each bucket of a level, from 1 on.
    ///
    /// Near the stash, and at the leaves, which hold most blocks, they are three: so the stash can be small. In between two are
    /// enough: more make no difference in simulations.
    pub(super) fn bucket(&self, level: u16) -> u32 {
        if level > WIDE_LEVELS && level < self.levels { 2 } else { 3 }
    }

    /// Bits of the head of a block in a level, or in the stash as level 0.
    pub(super) fn head_bits(&self, level: u16) -> u16 {
        self.number_bits + 1 + self.levels - level
    }

    fn data_bits(&self) -> u64 {
        self.widths.iter().map(|&width| u64::from(width)).sum()
    }

    /// ANDs to look for a block in the stash and on a path: to compare numbers, and to select a block.
    fn search_ands(&self, is_read: bool) -> u64 {
        let path: u64 = (1..=self.levels).map(|level| u64::from(self.bucket(level))).sum();
        let data = if is_read { self.data_bits() } else { 0 };
        (path + u64::from(STASH)) * (u64::from(self.number_bits) + data)
    }

    /// ANDs to put a block into the stash and to move blocks down two paths.
    pub(super) fn insertion_ands(&self) -> u64 {
        let stash = u64::from(STASH);
        let stashed = u64::from(self.head_bits(0)) + self.data_bits();
        // The new block may move on at once, and if the stash has no block for the path, a free place is needed.
        let first = survey_ands(stash + 1, self.levels) + stash + stash * (1 + stashed);
        let second = survey_ands(stash, self.levels) + stash * (1 + stashed);
        first
            + second
            + EVICTIONS * (1..=self.levels).map(|level| self.level_ands(level)).sum::<u64>()
    }

    /// ANDs for a bucket on the path of an eviction.
    fn level_ands(&self, level: u16) -> u64 {
        let (blocks, below) = (u64::from(self.bucket(level)), u64::from(self.levels - level));
        let exchanged = blocks * (u64::from(self.head_bits(level)) + self.data_bits());
        // The first free place, and the place that is chosen.
        let ends = blocks + blocks;
        if below == 0 {
            return exchanged + ends + 1;
        }
        // How deep the blocks above and here get together, and whether these get deeper.
        let goal = below + (below - 1);
        exchanged + ends + blocks + survey_ands(blocks, below as u16) + goal + 5
    }
}

/// ANDs to find how deep so many blocks may go, over so many levels, and the first that may go deepest.
fn survey_ands(blocks: u64, levels: u16) -> u64 {
    let levels = u64::from(levels);
    blocks * (levels + 1) + (blocks - 1) * levels + blocks * (levels - 1) + blocks
}

/// All trees of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::memory) struct CircuitShape {
    /// That of the rows first, then each that holds the leaves of the one before.
    pub(super) trees: Vec<TreeShape>,
    /// How many leaves, as a power of two, are in each block of the trees behind the first.
    pub(super) packed_bits: Vec<u16>,
}

impl CircuitShape {
    /// For rows of so many bits whose numbers have so many.
    pub(super) fn new(number_bits: u16, row_bits: u64) -> CircuitShape {
        let rows = TreeShape::new(number_bits, row_bits);
        let (_, mut shape) = positions(&rows);
        shape.trees.insert(0, rows);
        shape
    }

    /// For the rows of a memory.
    pub(in crate::memory) fn of_memory(memory: &Memory) -> CircuitShape {
        CircuitShape::new(index_bits(memory.rows), memory.row_bits())
    }

    /// About how many instructions an access has.
    pub(in crate::memory) fn instructions(&self) -> u64 {
        let of_a_tree = |tree: &TreeShape| {
            let columns = tree.widths.len() as u64 + 1;
            // A search of each level, and two evictions.
            (u64::from(tree.levels) + 1) * (60 + 16 * columns)
        };
        self.trees.iter().map(of_a_tree).sum::<u64>() + 200
    }

    /// The number and the bits of the leaves that are scanned.
    pub(super) fn scanned(&self) -> (u16, u16) {
        let last = self.trees.last().expect("there is a tree");
        (last.number_bits, last.levels)
    }

    /// Random bits that an access takes from each party.
    pub(super) fn random_bits(&self) -> u64 {
        let leaves: u64 = self.trees.iter().map(|tree| u64::from(tree.levels)).sum();
        leaves + self.trees[1..].iter().map(TreeShape::data_bits).sum::<u64>()
    }

    /// ANDs of an access with an index that is always that of a row.
    pub(in crate::memory) fn access_ands(&self, kind: AccessKind) -> u64 {
        let [rows, packed @ ..] = &self.trees[..] else { unreachable!("there is a tree") };
        let is_read = kind != AccessKind::Write;
        let packed = packed.iter().zip(&self.packed_bits);
        let packed: u64 = packed.map(|(tree, &bits)| packed_ands(tree, bits)).sum();
        rows.search_ands(is_read) + rows.insertion_ands() + packed + scanned_ands(self.scanned())
    }
}

/// ANDs of an access to a tree of packed leaves.
fn packed_ands(tree: &TreeShape, packed_bits: u16) -> u64 {
    // Random leaves if there is no block yet; the leaf among others, and the new one in its place.
    let leaves = 2 * tree.data_bits() + one_hot_ands(packed_bits);
    tree.search_ands(true) + tree.insertion_ands() + leaves
}

/// ANDs to replace one of 2^`number_bits` leaves.
fn scanned_ands((number_bits, leaf_bits): (u16, u16)) -> u64 {
    one_hot_ands(number_bits) + (u64::from(leaf_bits) << number_bits)
}

/// ANDs of [`one_hot`](crate::memory::one_hot) of a public 1.
fn one_hot_ands(bits: u16) -> u64 {
    (1 << bits) - 2
}

/// The cheapest trees for the leaves of `tree`, and their ANDs.
fn positions(tree: &TreeShape) -> (u64, CircuitShape) {
    let (number, leaf) = (tree.number_bits, tree.levels);
    let scanned = (number <= SCANNED_BITS_MAX).then(|| {
        let shape = CircuitShape { trees: Vec::new(), packed_bits: Vec::new() };
        (scanned_ands((number, leaf)), shape)
    });
    let packed = (1..=PACKED_BITS_MAX.min(number - 1)).map(|bits| {
        let next = TreeShape::new(number - bits, u64::from(leaf) << bits);
        let (ands, mut shape) = positions(&next);
        let ands = ands + packed_ands(&next, bits);
        shape.trees.insert(0, next);
        shape.packed_bits.insert(0, bits);
        (ands, shape)
    });
    let all = scanned.into_iter().chain(packed);
    all.min_by_key(|(ands, _)| *ands).expect("a few leaves are scanned")
}
