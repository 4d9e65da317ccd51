//! [`Tree`]: blocks on paths from the stash to their leaves.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{OpenedIndex, Region, Tracer, Value};

use super::blocks::Blocks;
use super::shape::{STASH, TreeShape};

/// A tree whose root is the stash.
///
/// A node of level `i` has a number of `i` bits, of which bit `j` says on which side of a node of level `j` it lies. So
/// the node on the path to a leaf is that of its lowest bits.
pub(super) struct Tree {
    pub(super) tracer: Tracer,
    pub(super) shape: TreeShape,
    /// Buckets by level, from 1 on.
    buckets: Vec<Buckets>,
    pub(super) stash: Blocks,
    /// How many evictions there were before, in the first iteration if the block at hand is repeated.
    pub(super) evictions: u64,
    /// How many there are in an iteration of that block.
    pub(super) stride: u64,
    /// Where the stash is while no block works on it.
    resting: Option<Buckets>,
    /// The leaf that was opened last.
    opened: Option<OpenedIndex>,
}

/// The buckets of a level, one behind another: a region for each column.
struct Buckets {
    columns: Vec<Region>,
}

/// A block that [`Tree::remove`] has taken out of its tree.
pub(super) struct Removed {
    /// Whether it was there.
    pub(super) is_there: Value,
    /// Its row, or zeros; nothing if it was not to be read.
    pub(super) data: Option<Vec<Value>>,
}

impl Tree {
    /// An empty tree.
    pub(super) fn new(tracer: &Tracer, shape: TreeShape) -> Tree {
        let widths = |level: u16| {
            std::iter::once(shape.head_bits(level)).chain(shape.widths.iter().copied())
        };
        let buckets = (1..=shape.levels).map(|level| {
            let rows = u64::from(shape.bucket(level)) << level;
            let region = |width| tracer.region(ElementType::unsigned(width), rows);
            Buckets { columns: widths(level).map(region).collect() }
        });
        let buckets = buckets.collect();
        let zeros = |width| tracer.constant(ElementType::unsigned(width), Lane::ZERO).tile(STASH);
        let head = zeros(shape.head_bits(0));
        let data = shape.widths.iter().map(|&width| zeros(width)).collect();
        let (tracer, stash) = (tracer.clone(), Blocks { head, data });
        let (evictions, stride, resting, opened) = (0, 0, None, None);
        Tree { tracer, shape, buckets, stash, evictions, stride, resting, opened }
    }

    /// Leaves the stash where the next block finds it.
    #[track_caller]
    pub(super) fn rest(&mut self) {
        let resting = self.resting.take().unwrap_or_else(|| {
            let region = |column: &Value| self.tracer.region(column.integer(), STASH.into());
            Buckets { columns: self.stash.columns().map(region).collect() }
        });
        for (region, column) in resting.columns.iter().zip(self.stash.columns()) {
            region.store(0, column);
        }
        self.resting = Some(resting);
    }

    /// Takes the stash up again.
    #[track_caller]
    pub(super) fn wake(&mut self) {
        let resting = self.resting.as_ref().expect("it has rested");
        let mut columns = resting.columns.iter().map(|region| region.load(0, STASH));
        let head = columns.next().expect("a block has a head");
        self.stash = Blocks { head, data: columns.collect() };
    }

    /// Opens a leaf, and takes the block of a number out of the stash or of the path to that leaf.
    #[track_caller]
    pub(super) fn remove(&mut self, number: &Value, leaf: &Value, is_read: bool) -> Removed {
        let leaf = match self.opened {
            Some(opened) => leaf.reveal_into(opened),
            None => leaf.reveal(),
        };
        self.opened = Some(leaf);
        let wanted = number.bit_concat(&self.tracer.constant(ElementType::BIT, Lane::ONE));
        let mut search = Search { wanted, found: None };
        let stash = self.stash.data.clone();
        self.stash.head = search.head(&self.stash.head, is_read.then_some(&stash[..]));
        for level in 1..=self.shape.levels {
            let lanes = self.shape.bucket(level);
            let columns = &self.buckets[usize::from(level) - 1].columns;
            let load = |region: &Region| region.load_group_at(leaf, level, lanes);
            let data: Vec<Value> = columns[1..].iter().filter(|_| is_read).map(load).collect();
            let head = search.head(&load(&columns[0]), is_read.then_some(&data[..]));
            columns[0].store_group_at(leaf, level, &head);
        }
        let (is_there, data) = search.found.expect("there is a stash");
        Removed { is_there, data: is_read.then_some(data) }
    }

    /// The bucket of a level on the path of an eviction.
    #[track_caller]
    pub(super) fn bucket(&self, level: u16, path: &Path) -> Blocks {
        let lanes = self.shape.bucket(level);
        let [row, stride] = path.rows(level, lanes);
        let columns = self.buckets[usize::from(level) - 1].columns.iter();
        let mut columns = columns.map(|region| region.load_each_iteration(row, stride, lanes));
        let head = columns.next().expect("a block has a head");
        Blocks { head, data: columns.collect() }
    }

    /// Puts it back.
    #[track_caller]
    pub(super) fn set_bucket(&self, level: u16, path: &Path, blocks: &Blocks) {
        let [row, stride] = path.rows(level, self.shape.bucket(level));
        let columns = &self.buckets[usize::from(level) - 1].columns;
        for (region, column) in columns.iter().zip(blocks.columns()) {
            region.store_each_iteration(row, stride, column);
        }
    }
}

/// The search for a block.
struct Search {
    /// Its number, and a 1 above.
    wanted: Value,
    /// Whether it was found, and what was.
    found: Option<(Value, Vec<Value>)>,
}

impl Search {
    /// The heads of some blocks without the one that is wanted, whose data is added to what was found.
    #[track_caller]
    fn head(&mut self, head: &Value, data: Option<&[Value]>) -> Value {
        let (wanted, lanes) = (&self.wanted, head.lanes());
        let is_wanted = head.bit_slice(0, wanted.width()).eq(&wanted.tile(lanes));
        let data = data.into_iter().flatten().map(|column| is_wanted.mask(column).lane_xor());
        let data: Vec<Value> = data.collect();
        let found = is_wanted.lane_xor();
        self.found = Some(match self.found.take() {
            None => (found, data),
            Some((before, before_data)) => {
                let data = before_data.iter().zip(&data).map(|(sum, data)| sum.xor(data));
                (before.xor(&found), data.collect())
            }
        });
        let is_there = wanted.width() - 1;
        let bit = is_wanted.cast(ElementType::unsigned(head.width()));
        head.xor(&bit.shift_left(is_there.into()))
    }
}

/// The path of an eviction.
pub(super) struct Path {
    /// The number of its leaf.
    pub(super) leaf: Value,
    /// That number, and how much is added to it in each iteration of a block that is repeated.
    pub(super) number: u64,
    pub(super) stride: u64,
}

impl Path {
    /// The first row of the bucket of a level, and how much further it is in each iteration.
    fn rows(&self, level: u16, lanes: u32) -> [u64; 2] {
        let node = |number: u64| (number & ((1 << level) - 1)) * u64::from(lanes);
        [node(self.number), node(self.stride)]
    }

    /// On which side of the node of each level, from `level` on, the leaf lies.
    #[track_caller]
    pub(super) fn below(&self, level: u16) -> Value {
        self.leaf.bit_slice(level, self.leaf.width() - level)
    }
}
