//! Functions that are 1 at one point, which nobody knows: shares of the point, and a key for each of two parties.
//!
//! Source: Guo, Yang, Wang, Zhang, Xie, Zhang, Liu, "Half-Tree", EUROCRYPT 2023 (ePrint 2022/1431), its distributed key
//! generation, which improves Doerner, shelat, "Scaling ORAM for Secure Computation", CCS 2017. The correction of a level
//! is the sum of all left children, which each party can add up alone, and of the offset unless the path goes right. The
//! offset is the sum of the offsets that the parties have as senders of OTs, so a product of it with the sum of two random
//! bits is what two correlated OTs give. Both parties have the lowest bit of their OT offset set, and that of the sum has
//! to be: the party of higher number clears it in its offset, and both do in what they have of its OTs.
//!
//! Inside a leaf the last correction has a 1 at the point. Shares of these 128 bits are doubled from two on: bit `b` makes
//! `e ^ b e` and `b e` of `e`, with an OT of rows in each direction, as `known_triples` with a correction.
//!
//! Cost of a point of `k > 7` bits: `2 (k - 1)` OTs, `16 (k - 6) + 15.75` bytes from each party, and `2^(k - 5)` AES calls;
//! of a batch some `k - 5` rounds. All keys of a batch go through the same rounds.
//! Security: a party learns the corrections, of which its own message is one summand. They are hashes of nodes that differ
//! by the offset, of which it does not know the other party's part.
//! Not protected: malicious parties.

use phineus_channels::Channel;
use phineus_crypto::point_function::{PointBits, TreeHash};
use phineus_crypto::{Block, Prg, SecretBit, declassify};
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use super::generator::Generator;
use super::limits::{POINT_BATCH_LEAVES, POINT_BATCH_OTS};
use super::pair::{PeerOts, pair};
use crate::CorrelatedError;
use crate::demand::BatchScale;

/// OTs in each direction for a point.
pub(super) fn ots_of_a_point(points: PointBits) -> usize {
    points.levels() + points.leaf_bits() - 1
}

/// Rounds in which the parties tell each other corrections, without that of the OTs.
pub(super) fn correction_rounds(points: PointBits) -> u64 {
    let (levels, doublings) = (points.levels(), points.leaf_bits() - 1);
    (levels.max(doublings) + usize::from(levels > 0)) as u64
}

/// Bytes that each party tells the other for so many points, without those of the OTs.
pub(super) fn correction_bytes(points: PointBits, count: usize) -> u64 {
    let doublings = (1..points.leaf_bits()).map(|bit| row_bytes(count, 1 << bit));
    let labels = points.levels() + usize::from(points.levels() > 0);
    (doublings.sum::<usize>() + labels * count * size_of::<Block>()) as u64
}

/// How many points are made in one batch.
pub(super) fn batch_points(points: PointBits, scale: BatchScale) -> usize {
    let of_ots = scale.of(POINT_BATCH_OTS) / ots_of_a_point(points).max(1);
    of_ots.min(scale.of(POINT_BATCH_LEAVES) / points.leaves()).max(1)
}

/// Bytes of memory for making them.
pub(super) fn making_bytes(points: PointBits, count: usize, scale: BatchScale) -> u64 {
    let count = count.min(batch_points(points, scale));
    (PointBuffers::blocks(points, count) * size_of::<Block>()) as u64
}

/// Bytes of so many rows of `width` bits, packed.
fn row_bytes(count: usize, width: usize) -> usize {
    (count * width).div_ceil(8)
}

/// Memory for a batch, and for the next one if it is as large: new pages take the system longer than the nodes in them.
#[derive(Default)]
pub(super) struct PointBuffers {
    /// Correlated OTs as sender and as receiver, and the other messages of the former.
    q: Vec<Block>,
    t: Vec<Block>,
    one: Vec<Block>,
    /// The nodes of all trees: of a level, and its hashes behind them.
    nodes: Vec<Block>,
    /// The own summands of corrections, and those of the peer.
    own: Vec<Block>,
    theirs: Vec<Block>,
    /// Shares of the 1 inside a leaf.
    inside: Vec<Block>,
}

impl PointBuffers {
    fn blocks(points: PointBits, count: usize) -> usize {
        let ots = 3 * count * ots_of_a_point(points);
        ots + count * (points.leaves() + 5)
    }

    /// Whether a batch of `count` functions fits exactly.
    fn is_for(&self, points: PointBits, count: usize) -> bool {
        let [ots, nodes] = [ots_of_a_point(points), points.leaves()].map(|each| count * each);
        [self.q.len(), self.nodes.len(), self.inside.len()] == [ots, nodes, count]
    }

    fn new(points: PointBits, count: usize) -> PointBuffers {
        let blocks = |count: usize| vec![Block::ZERO; count];
        let ots = count * ots_of_a_point(points);
        PointBuffers {
            q: blocks(ots),
            t: blocks(ots),
            one: blocks(ots),
            nodes: blocks(count * points.leaves()),
            // A label and a row of 64 bits of each key.
            own: blocks(2 * count),
            theirs: blocks(2 * count),
            inside: blocks(count),
        }
    }
}

impl Zeroize for PointBuffers {
    fn zeroize(&mut self) {
        let PointBuffers { q, t, one, nodes, own, theirs, inside } = self;
        [q, t, one, nodes, own, theirs, inside].into_iter().for_each(Zeroize::zeroize);
    }
}

impl Drop for PointBuffers {
    fn drop(&mut self) {
        self.zeroize();
    }
}

/// A batch of functions on its way.
struct PointBatch<'a> {
    points: PointBits,
    count: usize,
    /// Whether this is the party of lower number.
    first: bool,
    /// This party's part of the offset.
    offset: Block,
    /// Choices of the OTs: level by level, and then those of the bits inside a leaf.
    choices: Zeroizing<Vec<u64>>,
    buffers: PointBuffers,
    keys: &'a mut [u64],
}

impl<C: Channel> Generator<C> {
    /// Makes `count` functions: shares of their points, a string for each bit, and keys, one after another.
    pub(super) fn point_functions(
        &mut self,
        (points, count): (PointBits, usize),
        shares: &mut [u64],
        keys: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        assert_eq!(self.parties.count(), 2, "point functions are of two parties");
        let (me, peer) = (self.parties.me(), 1 - self.parties.me());
        let mut buffers = std::mem::take(&mut self.point_buffers);
        if !buffers.is_for(points, count) {
            drop(buffers);
            buffers = PointBuffers::new(points, count);
        }
        let PeerOts { sender, receiver, .. } = pair(&mut self.pairs, peer);
        let set = SecretBit::public(me == 0);
        let mut batch = PointBatch {
            points,
            count,
            first: me == 0,
            offset: sender.delta().block().with_select_bit(set),
            choices: Zeroizing::new(vec![0; (count * ots_of_a_point(points)).div_ceil(64)]),
            buffers,
            keys,
        };
        if ots_of_a_point(points) > 0 {
            let PointBuffers { q, t, one, .. } = &mut batch.buffers;
            let channel = self.parties.channel(peer);
            let chosen = receiver.extend_correlated(channel, &mut batch.choices, t)?;
            let offered = sender.extend_correlated(channel, q)?;
            let whole = points.levels() * count;
            receiver.messages(chosen.skip(whole), &mut t[whole..]);
            sender.messages(offered.skip(whole), &mut q[whole..], &mut one[whole..]);
        }
        batch.begin(&mut self.prg, &mut self.point_keys, shares);
        for round in 0..correction_rounds(points) as usize {
            let bytes = batch.issue(round);
            let PointBuffers { own, theirs, .. } = &mut batch.buffers;
            let mut outgoing: [&[u8]; 2] = [&[]; 2];
            outgoing[peer] = &own.as_bytes()[..bytes];
            let [first, second] = &mut [&mut [][..], &mut [][..]];
            let theirs = &mut theirs.as_mut_bytes()[..bytes];
            *if peer == 0 { &mut *first } else { &mut *second } = theirs;
            self.parties.exchange(&outgoing, &mut [first, second])?;
            batch.take(round);
        }
        batch.finish();
        self.point_buffers = batch.buffers;
        Ok(())
    }
}

impl PointBatch<'_> {
    /// Whether the choice of an OT is 1.
    fn choice(&self, ot: usize) -> SecretBit {
        SecretBit::of_packed(&self.choices, ot)
    }

    /// Writes the shares of the points, and begins with the roots and with two bits inside a leaf.
    fn begin(&mut self, prg: &mut Prg, public: &mut Prg, shares: &mut [u64]) {
        let (levels, count) = (self.points.levels(), self.count);
        let words = count.div_ceil(64);
        let (lowest, others) = shares.split_at_mut(words);
        prg.fill_bytes(lowest.as_mut_bytes());
        super::generator::clear_beyond(count, lowest);
        let inside = self.points.leaf_bits() - 1;
        for (bit, string) in others.chunks_exact_mut(words).enumerate() {
            let is_inside = bit < inside;
            let first = if is_inside { (levels + bit) * count } else { (bit - inside) * count };
            for key in 0..count {
                // The correction has the offset where the sum of the choices is 1: where the path goes left.
                let goes_right = SecretBit::public(self.first && !is_inside);
                let share = self.choice(first + key) ^ goes_right;
                string[key / 64] |= share.to_u64() << (key % 64);
            }
        }
        for key in 0..count {
            let bit = SecretBit::of_packed(lowest, key);
            let low = (bit ^ SecretBit::public(self.first)).to_u64();
            self.buffers.inside[key] = Block::from_bits(u128::from(low | bit.to_u64() << 1));
        }
        if levels == 0 {
            return;
        }
        let (leaves, blocks) = (self.points.leaves(), self.points.key_blocks());
        for key in 0..count {
            let [hash, mask] = [public.next_block(), public.next_block()];
            let root = mask ^ self.offset;
            put(self.keys, key * blocks, hash);
            put(self.keys, key * blocks + 1, root);
            self.buffers.nodes[key * leaves] = root;
        }
    }

    /// Writes the own summands of a round's corrections; returns their bytes.
    fn issue(&mut self, round: usize) -> usize {
        let (levels, count) = (self.points.levels(), self.count);
        let is_last = levels > 0 && round + 1 == correction_rounds(self.points) as usize;
        let labels = if round < levels || is_last { count } else { 0 };
        for key in 0..labels {
            let sum = if is_last { self.last(key) } else { self.level(key, round) };
            self.buffers.own[key] = sum;
        }
        let width = self.doubled(round);
        let rows = self.rows(round);
        let PointBuffers { q, one, own, inside, .. } = &mut self.buffers;
        let own = &mut own.as_mut_bytes()[labels * size_of::<Block>()..][..rows];
        own.fill(0);
        if let Some((width, first)) = width {
            for key in 0..count {
                let pads = low(q[first + key]) ^ low(one[first + key]);
                pack(own, width, key, low(inside[key]) ^ pads);
            }
        }
        labels * size_of::<Block>() + rows
    }

    /// Takes the peer's summands.
    fn take(&mut self, round: usize) {
        let (levels, count) = (self.points.levels(), self.count);
        let is_last = levels > 0 && round + 1 == correction_rounds(self.points) as usize;
        let labels = if round < levels || is_last { count } else { 0 };
        let (leaves, blocks) = (self.points.leaves(), self.points.key_blocks());
        for key in 0..labels {
            let correction = self.buffers.own[key] ^ self.buffers.theirs[key];
            declassify(&correction, "a correction that both parties know");
            if is_last {
                put(self.keys, (key + 1) * blocks - 1, correction);
            } else {
                put(self.keys, key * blocks + 2 + round, correction);
                let nodes = &mut self.buffers.nodes[key * leaves..][..2 << round];
                TreeHash::descend(nodes, correction);
            }
        }
        let Some((width, first)) = self.doubled(round) else { return };
        for key in 0..count {
            let chosen = self.choice(first + key).mask();
            let PointBuffers { q, t, theirs, inside, .. } = &mut self.buffers;
            let theirs = &theirs.as_bytes()[labels * size_of::<Block>()..];
            let told = unpack(theirs, width, key);
            let own = low(inside[key]);
            let product = chosen & (own ^ told) ^ low(q[first + key]) ^ low(t[first + key]);
            let product = product & (u64::MAX >> (64 - width));
            let doubled = u128::from(own ^ product) | u128::from(product) << width;
            inside[key] = Block::from_bits(doubled);
        }
    }

    /// Of the keys without a tree, writes the values.
    fn finish(&mut self) {
        if self.points.levels() == 0 {
            for key in 0..self.count {
                put(self.keys, key, self.buffers.inside[key]);
            }
        }
    }

    /// The bits inside a leaf that a round doubles, and the first OT for that.
    fn doubled(&self, round: usize) -> Option<(usize, usize)> {
        let first = (self.points.levels() + round) * self.count;
        (round + 1 < self.points.leaf_bits()).then_some((2 << round, first))
    }

    /// Bytes of the rows of a round.
    fn rows(&self, round: usize) -> usize {
        self.doubled(round).map_or(0, |(width, _)| row_bytes(self.count, width))
    }

    /// The own summand of a level's correction; the hashes of its nodes are behind them then.
    fn level(&mut self, key: usize, level: usize) -> Block {
        let (leaves, blocks, ot) =
            (self.points.leaves(), self.points.key_blocks(), level * self.count + key);
        let hash = TreeHash::new(get(self.keys, key * blocks));
        let offset = self.offset.and_bit(self.choice(ot));
        let PointBuffers { q, t, nodes, .. } = &mut self.buffers;
        let nodes = &mut nodes[key * leaves..][..2 << level];
        let sum = hash.hash_level(nodes);
        // What both have of the OTs of the party of higher number.
        let of_higher = if self.first { &mut t[ot] } else { &mut q[ot] };
        *of_higher = of_higher.with_select_bit(SecretBit::public(false));
        sum ^ offset ^ q[ot] ^ t[ot]
    }

    /// The own summand of the last correction.
    fn last(&self, key: usize) -> Block {
        let (leaves, blocks) = (self.points.leaves(), self.points.key_blocks());
        let hash = TreeHash::new(get(self.keys, key * blocks));
        let PointBuffers { nodes, inside, .. } = &self.buffers;
        inside[key] ^ hash.sum_of_hashes(&nodes[key * leaves..][..leaves])
    }
}

fn low(block: Block) -> u64 {
    block.to_bits() as u64
}

fn put(words: &mut [u64], at: usize, block: Block) {
    let bits = block.to_bits();
    words[2 * at..2 * at + 2].copy_from_slice(&[bits as u64, (bits >> 64) as u64]);
}

fn get(words: &[u64], at: usize) -> Block {
    Block::from_bits(u128::from(words[2 * at]) | u128::from(words[2 * at + 1]) << 64)
}

/// Writes the lowest bits of `row` as row `number` of `width` bits, a power of two, of bytes that are 0.
fn pack(bytes: &mut [u8], width: usize, number: usize, row: u64) {
    let at = number * width;
    if width < 8 {
        let low = row & ((1 << width) - 1);
        bytes[at / 8] |= (low << (at % 8)) as u8;
        return;
    }
    bytes[at / 8..][..width / 8].copy_from_slice(&row.to_le_bytes()[..width / 8]);
}

/// The inverse of [`pack`].
fn unpack(bytes: &[u8], width: usize, number: usize) -> u64 {
    let at = number * width;
    if width < 8 {
        return u64::from(bytes[at / 8] >> (at % 8)) & ((1 << width) - 1);
    }
    let mut row = [0; 8];
    row[..width / 8].copy_from_slice(&bytes[at / 8..][..width / 8]);
    u64::from_le_bytes(row)
}
