//! How many blocks wait in the stash: the trees in the clear, with blocks that are accessed in turn.
//!
//! Which blocks wait depends on their leaves alone. Those are random, whatever the indices are, as long as all blocks are
//! in the tree; that they are accessed in turn is the usual worst case.

use phineus_bytecode::random::{SeededRng, Seeds};

use super::shape::{EVICTIONS, STASH, TreeShape};

/// A block: its number and its leaf. A place is free if there is none.
type Place = Option<(usize, u64)>;

struct Simulation {
    shape: TreeShape,
    leaves: Vec<u64>,
    /// By level from 1 on, the places of all buckets.
    levels: Vec<Vec<Place>>,
    stash: Vec<(usize, u64)>,
    evictions: u64,
}

impl Simulation {
    fn new(number_bits: u16, random: &mut SeededRng) -> Simulation {
        let shape = TreeShape::new(number_bits, 1);
        let places = |level: u16| vec![None; (shape.bucket(level) as usize) << level];
        let levels = (1..=shape.levels).map(places).collect();
        let leaves = (0..1 << number_bits).map(|_| random.below(1 << shape.levels)).collect();
        Simulation { shape, leaves, levels, stash: Vec::new(), evictions: 0 }
    }

    /// The places of a level on the path to a leaf.
    fn bucket(&mut self, level: u16, leaf: u64) -> &mut [Place] {
        let blocks = self.shape.bucket(level) as usize;
        let node = (leaf & ((1 << level) - 1)) as usize;
        &mut self.levels[usize::from(level) - 1][node * blocks..][..blocks]
    }

    /// Gives a block a new leaf; returns how many blocks wait after the first eviction.
    fn access(&mut self, number: usize, random: &mut SeededRng) -> usize {
        let leaf = self.leaves[number];
        self.stash.retain(|block| block.0 != number);
        for level in 1..=self.shape.levels {
            let found = self.bucket(level, leaf).iter_mut();
            found.for_each(|place| *place = place.filter(|block| block.0 != number));
        }
        self.leaves[number] = random.below(1 << self.shape.levels);
        self.stash.push((number, self.leaves[number]));
        self.evict();
        let waiting = self.stash.len();
        (1..EVICTIONS).for_each(|_| self.evict());
        waiting
    }

    /// As the paper has it, with levels as numbers.
    fn evict(&mut self) {
        let (levels, leaf) = (self.shape.levels, self.evictions & ((1 << self.shape.levels) - 1));
        self.evictions += 1;
        let depth = |block: &(usize, u64)| ((block.1 ^ leaf) | 1 << levels).trailing_zeros() as u16;
        let deepest = self.stash.iter().enumerate().max_by_key(|(_, block)| depth(block));
        let mut goal = deepest.map_or(0, |(_, block)| depth(block));
        let in_stash = deepest.map(|(at, _)| at);
        // By level: whether a block from above may get here, and the place of a block that gets deeper than those above.
        let mut plans = Vec::new();
        for level in 1..=levels {
            let is_reached = goal >= level;
            let places = self.bucket(level, leaf).iter().enumerate();
            let blocks = places.filter_map(|(at, place)| place.map(|block| (at, depth(&block))));
            let best = blocks.max_by_key(|(_, depth)| *depth);
            let source = best.filter(|(_, depth)| *depth > goal.max(level)).map(|(at, _)| at);
            goal = goal.max(best.map_or(0, |(_, depth)| depth));
            plans.push((is_reached, source));
        }
        let mut is_wanted = false;
        let mut moves = Vec::new();
        for (level, (is_reached, source)) in (1..=levels).zip(plans).rev() {
            let given = source.filter(|_| is_wanted);
            let free = self.bucket(level, leaf).iter().position(Option::is_none);
            let may_get = if given.is_some() { given } else { free.filter(|_| !is_wanted) };
            let got = may_get.filter(|_| is_reached);
            is_wanted = got.is_some() || is_wanted && given.is_none();
            moves.push((level, given, got));
        }
        let mut held = if is_wanted { in_stash.map(|at| self.stash.swap_remove(at)) } else { None };
        for (level, given, got) in moves.into_iter().rev() {
            let bucket = self.bucket(level, leaf);
            let next = given.and_then(|at| bucket[at].take());
            if let Some(at) = got {
                assert!(bucket[at].is_none() && held.is_some());
                bucket[at] = held.take();
            }
            held = next.or(held);
        }
        assert!(held.is_none(), "every block that moves has a place");
    }
}

/// How often more than 0, 1, ... blocks wait.
fn waiting(number_bits: u16, accesses: u64, seed: u64) -> Vec<u64> {
    let mut random = SeededRng::new(seed);
    let mut simulation = Simulation::new(number_bits, &mut random);
    let mut more = vec![0; STASH as usize + 1];
    for access in 0..accesses + (1 << number_bits) {
        let waiting = simulation.access((access % (1 << number_bits)) as usize, &mut random);
        if access >= 1 << number_bits {
            more.iter_mut().take(waiting).for_each(|count| *count += 1);
        }
    }
    more
}

/// Each further block waits less often, by a factor of about four; so many accesses see a few of them at most.
#[test]
fn few_blocks_wait() {
    let seed = Seeds::fresh().draw();
    let accesses = 300_000;
    for number_bits in [2, 5, 8, 11] {
        let more = waiting(number_bits, accesses, seed);
        // 2^-13, where 2^-15 is expected.
        assert!(more[3] < accesses / 8192, "2^{number_bits} blocks, seed {seed}: {more:?}");
        assert!(more[11] == 0, "2^{number_bits} blocks, seed {seed}: {more:?}");
    }
}

/// The figures of `docs/protocols/oram.md`, in some minutes.
#[test]
#[ignore = "takes minutes: run it in a release build, to state the figures of the document anew"]
fn the_tail_of_the_stash() {
    let seed = Seeds::fresh().draw();
    for (number_bits, accesses) in [(10, 200_000_000), (14, 20_000_000)] {
        let more = waiting(number_bits, accesses, seed);
        println!("2^{number_bits} blocks, {accesses} accesses, seed {seed}");
        for (blocks, &count) in more.iter().enumerate().filter(|(_, count)| **count > 0) {
            println!("more than {blocks}: 2^{:.1}", (count as f64 / accesses as f64).log2());
        }
    }
}
