//! Moves blocks down a path: Wang, Chan, Shi 2015, section 3, `EvictOnceFast` with `PrepareDeepest` and
//! `PrepareTarget`.
//!
//! Deviation: metadata holds no levels. How deep a block may go is a number in unary, which a subtraction finds. Of a
//! level, one bit says whether its blocks get deeper than those above. The source of a hole is then the first level
//! above it with such a bit, so a pass from the leaf to the stash carries one bit: whether a source is wanted.
//!
//! Each level has one exchange of the block in hand with one place: its deepest block, or a free place. A level that
//! takes, gives or does both makes the same exchange.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Region, Value};

use super::blocks::Blocks;
use super::tree::{Path, Tree};

impl Tree {
    /// Puts a block into the stash, and moves blocks down the next two paths. Rows of `numbers` are their numbers, if
    /// the block at hand is repeated.
    #[track_caller]
    pub(super) fn insert(&mut self, block: Blocks, numbers: Option<&Region>) {
        self.evict(Some(block), numbers);
        self.evict(None, numbers);
    }

    /// Moves blocks down the next path; `new` is a block that joins the stash.
    #[track_caller]
    fn evict(&mut self, new: Option<Blocks>, numbers: Option<&Region>) {
        let path = self.next_path(numbers);
        let levels = self.shape.levels;
        let mut buckets: Vec<Blocks> =
            (1..=levels).map(|level| self.bucket(level, &path)).collect();
        let heads = match &new {
            Some(new) => self.stash.head.lane_concat(&new.head),
            None => self.stash.head.clone(),
        };
        let stash = self.deepest(&heads, 0, &path);
        let plans = self.plan(&stash, &buckets, &path);
        let (chosen, is_taken) = chosen_on_path(&plans);
        let lanes = self.stash.head.lanes();
        let deepest = stash.first.lane_slice(0, lanes);
        let is_taken = is_taken.tile(lanes);
        let mut held = match new {
            Some(mut block) => {
                let free = first_one(&self.is_there(&self.stash.head).not()).0;
                self.stash.exchange(&is_taken.select(&deepest, &free), &mut block);
                block
            }
            None => self.stash.take(&is_taken.and(&deepest)),
        };
        for (level, (bucket, chosen)) in (1..).zip(buckets.iter_mut().zip(&chosen)) {
            held.head = self.without_lowest_side(&held.head);
            bucket.exchange(chosen, &mut held);
            self.set_bucket(level, &path, bucket);
        }
    }

    /// In the reverse lexicographic order of leaves: their numbers have the bit of the highest level lowest, so it is
    /// that of the numbers.
    #[track_caller]
    fn next_path(&mut self, numbers: Option<&Region>) -> Path {
        let (levels, stride) = (self.shape.levels, self.stride);
        let number = self.evictions;
        self.evictions += 1;
        let leaf = match numbers {
            Some(numbers) => {
                let count = numbers.rows();
                let leaf = numbers.load_each_iteration(number % count, stride % count, 1);
                leaf.bit_slice(0, levels)
            }
            None => {
                let leaf = Lane::from(number & ((1 << levels) - 1));
                self.tracer.constant(ElementType::unsigned(levels), leaf)
            }
        };
        Path { leaf, number, stride }
    }

    fn is_there(&self, head: &Value) -> Value {
        head.bit_slice(self.shape.number_bits, 1)
    }

    /// The head of a block one level further down.
    #[track_caller]
    fn without_lowest_side(&self, head: &Value) -> Value {
        let kept = self.shape.number_bits + 1;
        let low = head.bit_slice(0, kept);
        match head.width() - kept - 1 {
            0 => low,
            rest => low.bit_concat(&head.bit_slice(kept + 1, rest)),
        }
    }

    /// How deep the blocks of a level may go.
    #[track_caller]
    fn deepest(&self, head: &Value, level: u16, path: &Path) -> Deepest {
        let below = self.shape.levels - level;
        let sides = head.bit_slice(self.shape.number_bits, below + 1);
        let one = self.tracer.constant(ElementType::BIT, Lane::ONE);
        let wanted = one.bit_concat(&path.below(level));
        // The lowest 1 is at the first level that a block does not reach: level 0 if it is not there.
        let wrong = sides.xor(&wanted.tile(sides.lanes()));
        let depth = below_lowest_one(&wrong).bit_slice(1, below);
        let goal = depth.lane_or();
        let is_deepest = depth.xor(&goal.tile(depth.lanes())).any_bit().not();
        Deepest { goal, first: first_one(&is_deepest).0 }
    }

    /// Whether each level below the stash can receive a block, and which block it can give (`PrepareDeepest`).
    #[track_caller]
    fn plan(&self, stash: &Deepest, buckets: &[Blocks], path: &Path) -> Vec<LevelPlan> {
        let levels = self.shape.levels;
        let mut goal = stash.goal.clone();
        let plans = (1..=levels).zip(buckets).map(|(level, bucket)| {
            let is_reached = goal.bit_slice(0, 1);
            let (free, has_free) = first_one(&self.is_there(&bucket.head).not());
            let source = (level < levels).then(|| {
                let deepest = self.deepest(&bucket.head, level, path);
                let above = goal.bit_slice(1, levels - level);
                goal = above.or(&deepest.goal);
                let is_deeper = above.xor(&goal).any_bit();
                (is_deeper, deepest.first)
            });
            LevelPlan { is_reached, free, has_free, source }
        });
        plans.collect()
    }
}

/// How deep some blocks may go.
struct Deepest {
    /// A 1 for each level further down that one of them reaches.
    goal: Value,
    /// The first of those that reach deepest.
    first: Value,
}

/// The blocks that a level of a path can receive and give.
struct LevelPlan {
    /// Whether a block from above may go here or deeper.
    is_reached: Value,
    /// The first free place, and whether there is one.
    free: Value,
    has_free: Value,
    /// Whether a block here may go deeper than all above, and the one that may go deepest; nothing at the leaf.
    source: Option<(Value, Value)>,
}

/// The place of each level that is exchanged with the block in hand, and whether a block of the stash is wanted.
#[track_caller]
fn chosen_on_path(plans: &[LevelPlan]) -> (Vec<Value>, Value) {
    let mut is_wanted: Option<Value> = None;
    let mut chosen = Vec::new();
    for LevelPlan { is_reached, free, has_free, source } in plans.iter().rev() {
        let lanes = free.lanes();
        let may_get = has_free.and(is_reached);
        let (place, wanted) = match (&is_wanted, source) {
            (Some(wanted), Some((is_deeper, deepest))) => {
                let gives = wanted.and(is_deeper);
                // It gives its deepest block, and another one gets that place.
                let passes = wanted.and(&is_deeper.and(is_reached));
                let gets = wanted.not().and(&may_get);
                let place = gives.tile(lanes).and(deepest).xor(&gets.tile(lanes).and(free));
                (place, wanted.xor(&gives).xor(&passes).xor(&gets))
            }
            _ => (may_get.tile(lanes).and(free), may_get),
        };
        chosen.push(place);
        is_wanted = Some(wanted);
    }
    chosen.reverse();
    (chosen, is_wanted.expect("there is a level"))
}

/// A 1 in each bit below the lowest 1; in all if there is none.
///
/// Cost: an AND for each bit.
#[track_caller]
fn below_lowest_one(word: &Value) -> Value {
    let width = word.width();
    let element = ElementType::unsigned(width + 1);
    let word = word.cast(element);
    let one = word.tracer().constant(element, Lane::ONE).tile(word.lanes());
    // Up to the lowest 1, or all bits.
    word.xor(&word.sub(&one)).bit_slice(1, width)
}

/// The first lane that is 1, alone, and whether there is one.
///
/// Cost: an AND for each lane.
#[track_caller]
fn first_one(bits: &Value) -> (Value, Value) {
    let lanes = bits.lanes() as u16;
    if lanes == 1 {
        return (bits.clone(), bits.clone());
    }
    let element = ElementType::unsigned(lanes + 1);
    let word = bits.reshape(lanes).cast(element);
    let one = word.tracer().constant(element, Lane::ONE);
    let less = word.sub(&one);
    let changed = word.xor(&less);
    let first = changed.xor(&changed.shift_right(1)).bit_slice(0, lanes);
    (first.reshape(1), less.bit_slice(lanes, 1).not())
}
