//! Silent OT extension: correlated OTs with random choices for less than one bit each.
//!
//! Source: Yang, Weng, Lan, Zhang, Wang, "Ferret: Fast Extension for Correlated OT with Small
//! Communication", CCS 2020 (ePrint 2020/924), the semi-honest protocol with iterations that start
//! each other; the noise is from Half-Tree (`spcot`), the code and its sizes are in `lpn`.
//! With `q` and `t = q ^ c delta` from before, a code `A`, and noise `s` at the sender which is
//! `s ^ e delta` at the receiver: `q A ^ s` and `t A ^ s ^ e delta` are correlated OTs with choices
//! `c A ^ e`.
//! Bit 0 of delta is 1, that of every `q` is 0, so that of `t` is the choice (the paper's trick).
//!
//! Cost: [`LpnParameters::iteration_bytes`] from sender to receiver for every
//! [`LpnParameters::output_ots`], and one bit per OT the other way if choices are chosen; 10 reads
//! and about 5 AES calls per OT. Leaves are made, stretched and handed out tree by tree, so the
//! memory is that of two secrets ([`state_bytes`]) and not of an iteration.
//! Invariants: both parties reserve the same counts and extend by no more. Iterations have codes
//! and tweaks of their own. After set-up nothing is allocated. Constant time.
//! Not protected: malicious parties. Choices rest on learning parity with noise, and on what 128
//! bits mean there; [`super::softspoken`] rests on AES only.

use phineus_channels::{Channel, SEND_AHEAD_BYTES};
use phineus_crypto::{Block, Delta, Prg, SecretBit};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::costs;
use super::iterations::{DEPTH_MAX, Iterations, Paths, Roots, first_tweak};
use super::limits::TILE_OTS;
use super::lpn::LpnParameters;
use super::parameters::FieldBits;
use super::softspoken::{SoftSpokenReceiver, SoftSpokenSender};
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId, spcot};
use crate::OtError;

/// The extension that gives the first correlated OTs: the fewest bytes.
const START_FIELD: FieldBits = FieldBits::QUIET;
/// The iteration that stretches them to the seed of any size.
const START: LpnParameters = LpnParameters::SMALL;
/// Domain separation of the hashes and codes of the first iteration.
const START_PURPOSE: &str = "phineus silent OT start 1";
const PURPOSE: &str = "phineus silent OT 1";

/// A sender may send an iteration's message before its peer receives anything.
const _: () = assert!(LpnParameters::HUGE.iteration_bytes() <= SEND_AHEAD_BYTES as u64);

/// Bytes that the sender sends in a set-up, and the receiver.
pub fn setup_bytes(size: LpnParameters) -> (u64, u64) {
    let (mut sender, mut receiver) = costs::setup_bytes(START_FIELD);
    if size != START {
        sender += START.iteration_bytes();
    }
    receiver += costs::random_extension_bytes(START.seed_ots() as u64, START_FIELD);
    (sender, receiver)
}

/// Messages of a set-up that wait for one another: base OTs, trees and the first OTs, and the first
/// iteration unless it is of the size that is wanted.
pub fn setup_rounds(size: LpnParameters) -> u64 {
    if size == START { 2 } else { 3 }
}

/// Iterations that so many OTs of a session take.
pub fn iterations(count: u64, size: LpnParameters) -> u64 {
    count.div_ceil(size.output_ots() as u64)
}

/// Bytes of memory that either party holds from set-up to the end.
pub fn state_bytes(size: LpnParameters) -> usize {
    // The secret, the next iteration's seed, two trees and a half; and at the receiver, which has
    // more than the sender, sums and points of this iteration and the next.
    let trees = 2 * size.trees() * (size.depth() * size_of::<Block>() + size_of::<u32>());
    let blocks = size.secret_length() + size.seed_ots() + (5 << (size.depth() - 1));
    blocks * size_of::<Block>() + trees
}

/// The party that holds delta.
pub struct SilentSender {
    delta: Delta,
    prg: Prg,
    iterations: Iterations<Roots>,
    /// Room for a tree of which only sums are needed.
    nodes: Zeroizing<Vec<Block>>,
}

/// The party that chooses.
pub struct SilentReceiver {
    iterations: Iterations<Paths>,
}

impl SilentSender {
    /// Runs the base OTs and the first iteration; the bytes in each direction are those of
    /// [`setup_bytes`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        size: LpnParameters,
        delta: Delta,
    ) -> Result<SilentSender, OtError> {
        let mut start = SoftSpokenSender::setup(channel, prg, session, START_FIELD, delta.clone())?;
        let mut seed = Zeroizing::new(vec![Block::ZERO; START.seed_ots()]);
        start.extend_random(channel, &mut seed)?;
        // What the receiver has in bit 0 is its choice, as that of delta is 1.
        seed.iter_mut().for_each(|q| *q = q.with_select_bit(SecretBit::public(false)));
        let mut prg = Prg::from_seed(prg.next_block());
        if size != START {
            let mut first =
                SilentSender::new(session, START_PURPOSE, START, delta.clone(), seed, prg);
            first.send_trees(channel)?;
            seed = first.iterations.only_one(size.seed_ots());
            prg = first.prg;
        }
        Ok(SilentSender::new(session, PURPOSE, size, delta, seed, prg))
    }

    fn new(
        session: &SessionId,
        purpose: &str,
        size: LpnParameters,
        delta: Delta,
        seed: Zeroizing<Vec<Block>>,
        prg: Prg,
    ) -> SilentSender {
        let roots = || Roots { delta: delta.clone(), roots: vec![Block::ZERO; size.trees()] };
        let iterations = Iterations::new(session, purpose, size, seed, [roots(), roots()]);
        let nodes = Zeroizing::new(vec![Block::ZERO; 1 << size.depth()]);
        SilentSender { delta, prg, iterations, nodes }
    }

    /// Draws the trees of the next iteration and sends the sums of their levels.
    fn send_trees(&mut self, channel: &mut impl Channel) -> Result<(), OtError> {
        let Iterations { size, hash, seed, next_trees, started, room, .. } = &mut self.iterations;
        self.prg.fill_blocks(&mut next_trees.roots);
        let pads = seed[size.secret_length()..].chunks_exact(size.depth());
        let mut sums = Zeroizing::new([Block::ZERO; DEPTH_MAX]);
        for (tree, (&root, pads)) in next_trees.roots.iter().zip(pads).enumerate() {
            let sums = &mut sums[..size.depth()];
            let tweak = first_tweak(*size, *started, tree);
            spcot::build(hash, tweak, &self.delta, root, sums, &mut self.nodes, room);
            sums.iter_mut().zip(pads).for_each(|(sum, pad)| *sum ^= *pad);
            channel.send(sums.as_bytes())?;
        }
        self.iterations.is_ready = true;
        Ok(channel.flush()?)
    }
}

impl CorrelatedOtSender for SilentSender {
    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        if self.iterations.has(count) { Ok(()) } else { self.send_trees(channel) }
    }

    fn extend(&mut self, channel: &mut impl Channel, q: &mut [Block]) -> Result<(), OtError> {
        let delta = self.delta.block();
        let mut differences = [0; TILE_OTS / 8];
        for q in q.chunks_mut(TILE_OTS) {
            self.iterations.take(q);
            let differences = &mut differences[..q.len().div_ceil(8)];
            channel.recv(differences)?;
            for (j, q) in q.iter_mut().enumerate() {
                *q ^= delta.and_bit(SecretBit::lowest(u64::from(differences[j / 8] >> (j % 8))));
            }
        }
        Ok(())
    }

    fn extend_random(&mut self, _: &mut impl Channel, q: &mut [Block]) -> Result<(), OtError> {
        self.iterations.take(q);
        Ok(())
    }
}

impl SilentReceiver {
    /// Runs the base OTs and the first iteration; the counterpart of [`SilentSender::setup`].
    ///
    /// # Errors
    /// When the channel fails or the peer sends what no honest peer sends.
    pub fn setup(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        size: LpnParameters,
    ) -> Result<SilentReceiver, OtError> {
        let mut start = SoftSpokenReceiver::setup(channel, prg, session, START_FIELD)?;
        let mut seed = Zeroizing::new(vec![Block::ZERO; START.seed_ots()]);
        let mut choices = Zeroizing::new(vec![0u64; START.seed_ots().div_ceil(64)]);
        start.extend_random(channel, &mut choices, &mut seed)?;
        for (j, t) in seed.iter_mut().enumerate() {
            *t = t.with_select_bit(SecretBit::of_packed(&choices, j));
        }
        if size != START {
            let mut first = SilentReceiver::new(session, START_PURPOSE, START, seed);
            first.receive_trees(channel)?;
            seed = first.iterations.only_one(size.seed_ots());
        }
        Ok(SilentReceiver::new(session, PURPOSE, size, seed))
    }

    fn new(
        session: &SessionId,
        purpose: &str,
        size: LpnParameters,
        seed: Zeroizing<Vec<Block>>,
    ) -> SilentReceiver {
        let paths = || Paths {
            points: vec![0; size.trees()],
            sums: vec![Block::ZERO; size.trees() * size.depth()],
        };
        SilentReceiver {
            iterations: Iterations::new(session, purpose, size, seed, [paths(), paths()]),
        }
    }

    /// Takes the sums of the next iteration's trees, those on the side that the choices say.
    fn receive_trees(&mut self, channel: &mut impl Channel) -> Result<(), OtError> {
        let Iterations { size, seed, next_trees, .. } = &mut self.iterations;
        let Paths { points, sums } = &mut **next_trees;
        channel.recv(sums.as_mut_bytes())?;
        let pads = seed[size.secret_length()..].chunks_exact(size.depth());
        let trees = points.iter_mut().zip(sums.chunks_exact_mut(size.depth()));
        for ((point, sums), pads) in trees.zip(pads) {
            *point = 0;
            for (level, (sum, pad)) in sums.iter_mut().zip(pads).enumerate() {
                *sum ^= *pad;
                *point |= (1 ^ pad.select_u64() as u32) << level;
            }
        }
        self.iterations.is_ready = true;
        Ok(())
    }
}

impl CorrelatedOtReceiver for SilentReceiver {
    fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        if self.iterations.has(count) { Ok(()) } else { self.receive_trees(channel) }
    }

    fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        for (t, choices) in t.chunks_mut(TILE_OTS).zip(choices.chunks(TILE_OTS / 64)) {
            self.iterations.take(t);
            channel.send_with(t.len().div_ceil(8), |message| {
                let places = t.chunks(64).zip(choices).zip(message.chunks_mut(8));
                for ((t, choices), message) in places {
                    // Choices beyond the last OT are nobody's business.
                    let difference = select_bits(t) ^ choices & (u64::MAX >> (64 - t.len()));
                    message.copy_from_slice(&difference.to_le_bytes()[..message.len()]);
                }
            })?;
        }
        Ok(channel.flush()?)
    }

    fn extend_random(
        &mut self,
        _: &mut impl Channel,
        choices: &mut [u64],
        t: &mut [Block],
    ) -> Result<(), OtError> {
        assert_eq!(choices.len(), t.len().div_ceil(64), "one choice bit per OT");
        self.iterations.take(t);
        choices.iter_mut().zip(t.chunks(64)).for_each(|(word, t)| *word = select_bits(t));
        Ok(())
    }
}

/// Bit 0 of up to 64 blocks.
fn select_bits(blocks: &[Block]) -> u64 {
    blocks.iter().rev().fold(0, |bits, block| bits << 1 | block.select_u64())
}
