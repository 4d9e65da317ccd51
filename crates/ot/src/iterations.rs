//! The iterations of silent OT, which either party runs on its own once the trees are agreed.
//!
//! Source and security: `silent`. Trees are expanded one at a time, stretched and handed out, so
//! that no iteration ever lies in memory; its first OTs become the seed of the next.
//! Invariants: an iteration, and in it a tree, has codes and tweaks that no other has.

use phineus_crypto::{Block, CrHash, Delta, SecretBit};
use zeroize::{Zeroize, Zeroizing};

use super::limits::OT_COUNT_MAX;
use super::lpn::{LocalCode, LpnParameters};
use super::{SessionId, spcot};

/// The deepest tree of any size.
pub(crate) const DEPTH_MAX: usize = LpnParameters::HUGE.depth();

/// A sender's knowledge of the trees of an iteration.
#[derive(Zeroize)]
pub(crate) struct Roots {
    pub(crate) delta: Delta,
    pub(crate) roots: Vec<Block>,
}

/// A receiver's knowledge of the trees of an iteration.
#[derive(Zeroize)]
pub(crate) struct Paths {
    /// The number of each tree's unknown leaf.
    pub(crate) points: Vec<u32>,
    /// The sums of each level of each tree on the side off the path.
    pub(crate) sums: Vec<Block>,
}

/// Expands the leaves of the trees of an iteration.
pub(crate) trait Trees: Zeroize {
    fn leaves(&self, hash: &CrHash, tree: usize, tweak: u64, out: &mut [Block], room: &mut [Block]);
}

impl Trees for Roots {
    fn leaves(
        &self,
        hash: &CrHash,
        tree: usize,
        tweak: u64,
        out: &mut [Block],
        room: &mut [Block],
    ) {
        let mut sums = Zeroizing::new([Block::ZERO; DEPTH_MAX]);
        let sums = &mut sums[..out.len().ilog2() as usize];
        spcot::build(hash, tweak, &self.delta, self.roots[tree], sums, out, room);
        out.iter_mut().for_each(|leaf| *leaf = leaf.with_select_bit(SecretBit::public(false)));
    }
}

impl Trees for Paths {
    fn leaves(
        &self,
        hash: &CrHash,
        tree: usize,
        tweak: u64,
        out: &mut [Block],
        room: &mut [Block],
    ) {
        let depth = out.len().ilog2() as usize;
        let (point, sums) = (self.points[tree], &self.sums[tree * depth..][..depth]);
        spcot::evaluate(hash, tweak, point, sums, out, room);
        for (i, leaf) in out.iter_mut().enumerate() {
            *leaf = leaf.with_select_bit(SecretBit::equal(i as u32, point));
        }
    }
}

/// The iterations of one party; `T` is what it knows of the trees.
pub(crate) struct Iterations<T: Zeroize> {
    pub(crate) size: LpnParameters,
    pub(crate) hash: CrHash,
    code: LocalCode,
    /// Correlated OTs that this iteration stretches.
    secret: Zeroizing<Vec<Block>>,
    /// The first OTs of this iteration, from which the next is made.
    pub(crate) seed: Zeroizing<Vec<Block>>,
    trees: Zeroizing<T>,
    /// The trees of the next iteration, if `is_ready`.
    pub(crate) next_trees: Zeroizing<T>,
    pub(crate) is_ready: bool,
    /// Iterations so far, this one included.
    pub(crate) started: u64,
    /// Trees of this iteration that have been expanded.
    expanded: usize,
    /// OTs of the tree that was expanded last, of which the last `unused` are unused.
    leaves: Zeroizing<Vec<Block>>,
    unused: usize,
    pub(crate) room: Zeroizing<Vec<Block>>,
    /// OTs of this iteration that were neither given nor belong to the seed.
    left: usize,
}

impl<T: Trees> Iterations<T> {
    /// Before the first iteration, which starts from `seed`.
    pub(crate) fn new(
        session: &SessionId,
        purpose: &str,
        size: LpnParameters,
        seed: Zeroizing<Vec<Block>>,
        trees: [T; 2],
    ) -> Iterations<T> {
        assert_eq!(seed.len(), size.seed_ots(), "a seed starts one iteration");
        let blocks = |count: usize| Zeroizing::new(vec![Block::ZERO; count]);
        let [trees, next_trees] = trees.map(Zeroizing::new);
        Iterations {
            size,
            hash: CrHash::new(session.hash_key(&format!("{purpose} trees"))),
            code: LocalCode::new(session, &format!("{purpose} code"), size),
            secret: blocks(size.secret_length()),
            seed,
            trees,
            next_trees,
            is_ready: false,
            started: 0,
            expanded: 0,
            leaves: blocks(1 << size.depth()),
            unused: 0,
            room: blocks(1 << (size.depth() - 1)),
            left: 0,
        }
    }

    /// Whether `count` OTs are there without another message.
    pub(crate) fn has(&self, count: usize) -> bool {
        assert!(count <= self.size.output_ots(), "more OTs than an iteration has at a time");
        self.left + if self.is_ready { self.size.output_ots() } else { 0 } >= count
    }

    /// Starts the next iteration.
    fn start(&mut self) {
        assert!(self.is_ready, "OTs are reserved before they are made");
        std::mem::swap(&mut self.trees, &mut self.next_trees);
        self.secret.copy_from_slice(&self.seed[..self.size.secret_length()]);
        (self.is_ready, self.expanded, self.unused) = (false, 0, 0);
        self.started += 1;
    }

    /// The first OTs of the first iteration, of which nothing else is used.
    pub(crate) fn only_one(mut self, count: usize) -> Zeroizing<Vec<Block>> {
        self.start();
        let mut out = Zeroizing::new(vec![Block::ZERO; count]);
        self.fill(&mut out);
        out
    }

    /// Takes OTs that were reserved.
    pub(crate) fn take(&mut self, mut out: &mut [Block]) {
        while !out.is_empty() {
            if self.left == 0 {
                self.start();
                let mut seed = std::mem::take(&mut *self.seed);
                self.fill(&mut seed);
                *self.seed = seed;
                self.left = self.size.output_ots();
            }
            let (now, later) = out.split_at_mut(self.left.min(out.len()));
            self.fill(now);
            self.left -= now.len();
            out = later;
        }
    }

    /// The next OTs of this iteration, tree by tree.
    fn fill(&mut self, mut out: &mut [Block]) {
        while !out.is_empty() {
            if self.unused == 0 {
                let tweak = first_tweak(self.size, self.started - 1, self.expanded);
                let (leaves, room) = (&mut self.leaves[..], &mut self.room[..]);
                self.trees.leaves(&self.hash, self.expanded, tweak, leaves, room);
                self.code.encode(&self.secret, leaves);
                self.expanded += 1;
                self.unused = leaves.len();
            }
            let (now, later) = out.split_at_mut(self.unused.min(out.len()));
            let first = self.leaves.len() - self.unused;
            now.copy_from_slice(&self.leaves[first..][..now.len()]);
            self.unused -= now.len();
            out = later;
        }
    }
}

/// The first tweak of a tree: all leaves of a session have one each.
pub(crate) fn first_tweak(size: LpnParameters, iteration: u64, tree: usize) -> u64 {
    let before = iteration.checked_mul(size.length() as u64).filter(|ots| *ots < OT_COUNT_MAX);
    before.expect("a session has at most 2^63 OTs") + ((tree as u64) << size.depth())
}
