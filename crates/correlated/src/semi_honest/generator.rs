//! [`Generator`]: all parties make correlated randomness together, with oblivious transfer.
//!
//! Source: Braun, Demmler, Schneider, Tkachenko, "MOTION", ACM TOPS 2022, Sections 5.2 and 5.3,
//! which generalises Demmler, Schneider, Zohner, "ABY", NDSS 2015. A product of sums is the sum of
//! the products of summands; each pair of parties turns its two cross products into shares.
//! * Triples in Z_2, two parties: a random OT of bits gives its sender `m_0 ^ m_1` for `a` and its
//!   receiver the choice for `b`, and shares `m_0`, `m_choice` of their product: no more messages
//!   (Asharov, Lindell, Schneider, Zohner, CCS 2013, Section 5.2).
//! * Three parties and more: choices are the same towards all peers, and one bit per OT corrects
//!   `m_0 ^ m_1` to the same `a`.
//! * Triples of a bit that one party knows: `known_triples`. Functions that are 1 at one point: `point_functions`.
//! * Triples and square pairs in `Z_2^w`: `phineus_ot::product`. The cross products of a square come
//!   twice, so they are needed in `Z_2^(w-1)` only, and one direction of a pair suffices: each
//!   direction does one half of a batch.
//!
//! Cost: `costs`, exact. Between each pair both directions and all pairs go at once.
//! Invariants: all parties make the same batches in the same order. A batch allocates nothing once
//! its kind has been made before. Memory: [`Generator::memory_bytes`].
//! Not protected: malicious parties; wrong offers make wrong triples, which nobody checks.

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;
use phineus_crypto::point_function::PointBits;
use phineus_ot::packing::{mask, pack, unpack};
use phineus_ot::{ChoiceBits, OtKind, SessionId};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::costs::{PartyPair, offered_ots};
use super::limits::{BATCH_ELEMENTS, FIELD_BITS_MIN, begun_max};
use super::pair::{PeerOts, pair, point_keys};
use super::point_functions::PointBuffers;
use super::{Batch, Kind};
use crate::CorrelatedError;
use crate::demand::BatchScale;

/// Makes correlated randomness with all other parties.
pub struct Generator<C> {
    pub(super) parties: Parties<C>,
    /// By peer; none for this party.
    pub(super) pairs: Vec<Option<PeerOts>>,
    pub(super) prg: Prg,
    /// Room for one column of words.
    pub(super) scratch: Zeroizing<Vec<u64>>,
    /// How large batches are at the most.
    scale: BatchScale,
    /// Batches of triples of bits that can be begun before the first is finished.
    pub(super) begun_max: usize,
    /// Draws the public keys of the hashes of point functions, the same at both parties.
    pub(super) point_keys: Prg,
    /// Memory of the last batch of point functions.
    pub(super) point_buffers: PointBuffers,
}

impl<C: Channel> Generator<C> {
    /// Sets up oblivious transfer with all peers, in both directions.
    ///
    /// `session` is the same at all parties and was never used before.
    ///
    /// # Errors
    /// When a channel fails or a peer sends what no honest peer sends.
    ///
    /// # Panics
    /// If the field has fewer than 2^2 elements: its messages would be too long for a batch.
    pub fn setup(
        parties: Parties<C>,
        prg: Prg,
        session: &SessionId,
        kind: impl Into<OtKind>,
    ) -> Result<Generator<C>, CorrelatedError> {
        Generator::setup_scaled(parties, prg, session, (kind.into(), BatchScale::FULL))
    }

    /// As [`Generator::setup`], for batches of this size and no larger ones.
    ///
    /// # Errors
    /// As for [`Generator::setup`].
    ///
    /// # Panics
    /// As [`Generator::setup`]; and if silent OTs are to be made in parts of a batch.
    pub fn setup_scaled(
        mut parties: Parties<C>,
        mut prg: Prg,
        session: &SessionId,
        (kind, scale): (OtKind, BatchScale),
    ) -> Result<Generator<C>, CorrelatedError> {
        let is_silent = matches!(kind, OtKind::Silent(_));
        assert!(!is_silent || scale == BatchScale::FULL, "silent OTs come in whole iterations");
        if let OtKind::SoftSpoken(field) = kind {
            assert!(field.bits() >= FIELD_BITS_MIN, "a field of 2^2 elements or more");
        }
        let (me, count) = (parties.me(), parties.count());
        let mut pairs: Vec<Option<PeerOts>> = (0..count).map(|_| None).collect();
        // In turn `t` parties whose numbers add up to `t` modulo their count meet: each party
        // meets at most one peer a turn, and all pairs of a turn work at the same time.
        for turn in 0..count {
            let peer = (turn + count - me) % count;
            if peer != me {
                pairs[peer] =
                    Some(PeerOts::setup(&mut parties, peer, &mut prg, session, (kind, scale))?);
            }
        }
        let scratch = Zeroizing::new(vec![0; scale.of(BATCH_ELEMENTS)]);
        // Between three parties and more, triples take corrections besides.
        let begun_max = if count == 2 { begun_max(kind, scale, parties.ahead_bytes()) } else { 0 };
        let point_keys = point_keys(session);
        let point_buffers = PointBuffers::default();
        Ok(Generator { parties, pairs, prg, scratch, scale, begun_max, point_keys, point_buffers })
    }

    /// Bytes of memory that a generator holds, channels not included.
    pub fn memory_bytes(parties: usize, kind: impl Into<OtKind>, scale: BatchScale) -> usize {
        let pairs = (parties - 1) * PeerOts::memory_bytes(kind.into(), scale);
        scale.of(BATCH_ELEMENTS) * size_of::<u64>() + pairs
    }

    /// The parties, with the bytes that have been sent.
    pub fn parties(&mut self) -> &mut Parties<C> {
        &mut self.parties
    }

    /// Oblivious transfers made so far, in both directions with all peers together.
    pub fn ots(&self) -> u64 {
        // Every message of this module is one block.
        let made = |pair: &PeerOts| pair.sender.blocks_made() + pair.receiver.blocks_made();
        self.pairs.iter().flatten().map(made).sum()
    }

    /// Ends the generator; the channels can be used for something else.
    pub fn into_parties(self) -> Parties<C> {
        self.parties
    }

    /// Makes `count` of a kind, at most [`Kind::batch_elements`].
    ///
    /// # Errors
    /// When a channel fails or a peer sends what no honest peer sends.
    ///
    /// # Panics
    /// If `count` is more than a batch.
    pub fn make(
        &mut self,
        kind: Kind,
        count: usize,
        batch: &mut Batch,
    ) -> Result<(), CorrelatedError> {
        assert!(count <= kind.batch_elements(self.scale), "a batch is bounded");
        batch.reset(kind, count);
        self.reserve(kind, count)?;
        let [first, second, third] = &mut batch.columns;
        let width = kind.width();
        match kind {
            Kind::BitTriple if self.parties.count() == 2 => {
                self.choose_bit_triples(count, second, third)?;
                self.offer_bit_triples(count, first, second, third)
            }
            Kind::BitTriple => self.bit_triples(count, first, second, third),
            Kind::RingTriple { .. } => self.ring_triples(width, first, second, third),
            Kind::SquarePair { .. } => self.square_pairs(width, first, second),
            Kind::SharedBit { .. } => self.shared_bits(width, first, second),
            Kind::KnownTriple { owner, .. } => {
                let size = (width.into(), count);
                self.known_triples(owner.into(), size, first, second, third)
            }
            Kind::PointFunction { bits } => {
                self.point_functions((PointBits::new(bits), count), first, second)
            }
        }
    }

    /// The first half of making `count` triples of bits with one peer, which only sends; OTs that need
    /// something reserved are not made in halves.
    pub(super) fn begin_bit_triples(
        &mut self,
        count: usize,
        batch: &mut Batch,
    ) -> Result<(), CorrelatedError> {
        assert!(count <= Kind::BitTriple.batch_elements(self.scale), "a batch is bounded");
        batch.reset(Kind::BitTriple, count);
        let [_, second, third] = &mut batch.columns;
        self.choose_bit_triples(count, second, third)
    }

    /// The second half, which only receives.
    pub(super) fn finish_bit_triples(&mut self, batch: &mut Batch) -> Result<(), CorrelatedError> {
        let count = batch.count();
        let [first, second, third] = &mut batch.columns;
        self.offer_bit_triples(count, first, second, third)
    }

    /// Sends to all peers what their OTs of a batch need from this party, then takes theirs.
    fn reserve(&mut self, kind: Kind, count: usize) -> Result<(), CorrelatedError> {
        let (me, parties) = (self.parties.me(), self.parties.count());
        let offered = |peer| offered_ots(kind, count, PartyPair::of(me, peer, parties));
        for peer in self.parties.peers() {
            let (by_lower, by_higher) = offered(peer);
            let ots = if me < peer { by_lower } else { by_higher };
            pair(&mut self.pairs, peer).sender.reserve(self.parties.channel(peer), ots)?;
        }
        for peer in self.parties.peers() {
            let (by_lower, by_higher) = offered(peer);
            let ots = if me < peer { by_higher } else { by_lower };
            pair(&mut self.pairs, peer).receiver.reserve(self.parties.channel(peer), ots)?;
        }
        Ok(())
    }

    /// Whether choices are drawn by the OTs: with one peer nobody else has to see the same ones.
    pub(super) fn draws_choices(&self) -> bool {
        self.parties.count() == 2
    }

    /// Part of triples from the OTs in which this party chooses: `b`, and a summand of `c`.
    fn choose_bit_triples(
        &mut self,
        count: usize,
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let peer = 1 - self.parties.me();
        let channel = self.parties.channel(peer);
        let receiver = &mut pair(&mut self.pairs, peer).receiver;
        receiver.extend_bits(channel, ChoiceBits::Random(b), count, c)?;
        clear_beyond(count, b);
        Ok(())
    }

    /// Part of triples from the OTs in which this party sends: `a`, and the other summand of `c`.
    fn offer_bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &[u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let peer = 1 - self.parties.me();
        let channel = self.parties.channel(peer);
        let sender = &mut pair(&mut self.pairs, peer).sender;
        let zero = &mut self.scratch[..a.len()];
        sender.extend_random_bits(channel, count, zero, a)?;
        for (((a, &b), c), &zero) in a.iter_mut().zip(b.iter()).zip(c).zip(zero.iter()) {
            *a ^= zero;
            *c ^= *a & b ^ zero;
        }
        Ok(())
    }

    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        for column in [&mut *a, &mut *b] {
            self.prg.fill_bytes(column.as_mut_bytes());
            clear_beyond(count, column);
        }
        c.iter_mut().zip(a.iter().zip(b.iter())).for_each(|(c, (a, b))| *c = a & b);
        for peer in self.parties.peers() {
            let PeerOts { receiver, pads, .. } = pair(&mut self.pairs, peer);
            let (channel, pads) = (self.parties.channel(peer), &mut pads[..b.len()]);
            receiver.extend_bits(channel, ChoiceBits::Chosen(b), count, pads)?;
            c.iter_mut().zip(pads).for_each(|(c, pad)| *c ^= *pad);
        }
        let (zero, rest) = self.scratch.split_at_mut(a.len());
        let one = &mut rest[..a.len()];
        for peer in self.parties.peers() {
            let channel = self.parties.channel(peer);
            pair(&mut self.pairs, peer).sender.extend_bits(channel, count, zero, one)?;
            for (((a, c), &zero), one) in a.iter().zip(c.iter_mut()).zip(zero.iter()).zip(&mut *one)
            {
                *c ^= zero;
                *one = (*one ^ zero ^ a).to_le();
            }
            channel.send(&one.as_bytes()[..count.div_ceil(8)])?;
            channel.flush()?;
        }
        for peer in self.parties.peers() {
            one.fill(0);
            self.parties.channel(peer).recv(&mut one.as_mut_bytes()[..count.div_ceil(8)])?;
            for ((b, c), correction) in b.iter().zip(c.iter_mut()).zip(one.iter()) {
                *c ^= b & u64::from_le(*correction);
            }
        }
        Ok(())
    }

    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let (ots, modulus) = (a.len() * usize::from(width), mask(width.into()));
        draw(&mut self.prg, modulus, a);
        draw(&mut self.prg, modulus, b);
        let random = self.draws_choices();
        for peer in self.parties.peers() {
            let PeerOts { receiver, pads, choices, .. } = pair(&mut self.pairs, peer);
            let (channel, choices) = (self.parties.channel(peer), &mut choices[..ots.div_ceil(64)]);
            if random {
                receiver.issue_multiply(channel, ChoiceBits::Random(choices), &mut pads[..ots])?;
                unpack(width.into(), choices, b);
            } else {
                pack(width.into(), b, choices);
                receiver.issue_multiply(channel, ChoiceBits::Chosen(choices), &mut pads[..ots])?;
            }
        }
        for ((a, b), c) in a.iter().zip(b.iter()).zip(c.iter_mut()) {
            *c = a.wrapping_mul(*b);
        }
        let shares = &mut self.scratch[..a.len()];
        for peer in self.parties.peers() {
            let channel = self.parties.channel(peer);
            pair(&mut self.pairs, peer).sender.multiply(channel, width, random, a, shares)?;
            add(c, shares, 0);
        }
        for peer in self.parties.peers() {
            let PeerOts { receiver, pads, choices, .. } = pair(&mut self.pairs, peer);
            let channel = self.parties.channel(peer);
            receiver.finish_multiply(channel, width, choices, &pads[..ots], shares)?;
            add(c, shares, 0);
        }
        c.iter_mut().for_each(|c| *c &= modulus);
        Ok(())
    }

    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let modulus = mask(width.into());
        draw(&mut self.prg, modulus, a);
        if width == 1 {
            // A bit is its own square.
            c.copy_from_slice(a);
            return Ok(());
        }
        let (narrow, random) = (width - 1, self.draws_choices());
        let low = mask(narrow.into());
        let me = self.parties.me();
        for peer in self.parties.peers() {
            let PeerOts { receiver, pads, choices, .. } = pair(&mut self.pairs, peer);
            let chosen = &mut a[half_of(peer, me, c.len())];
            let ots = chosen.len() * usize::from(narrow);
            let (channel, choices) = (self.parties.channel(peer), &mut choices[..ots.div_ceil(64)]);
            if random {
                receiver.issue_multiply(channel, ChoiceBits::Random(choices), &mut pads[..ots])?;
                let drawn = &mut self.scratch[..chosen.len()];
                unpack(narrow.into(), choices, drawn);
                for (a, drawn) in chosen.iter_mut().zip(drawn) {
                    *a = *a & !low | *drawn;
                }
            } else {
                pack(narrow.into(), chosen, choices);
                receiver.issue_multiply(channel, ChoiceBits::Chosen(choices), &mut pads[..ots])?;
            }
        }
        for (a, c) in a.iter().zip(c.iter_mut()) {
            *c = a.wrapping_mul(*a);
        }
        for peer in self.parties.peers() {
            let offered = half_of(me, peer, c.len());
            let (channel, shares) =
                (self.parties.channel(peer), &mut self.scratch[..offered.len()]);
            let sender = &mut pair(&mut self.pairs, peer).sender;
            sender.multiply(channel, narrow, random, &a[offered.clone()], shares)?;
            // Each cross product comes twice.
            add(&mut c[offered], shares, 1);
        }
        for peer in self.parties.peers() {
            let PeerOts { receiver, pads, choices, .. } = pair(&mut self.pairs, peer);
            let chosen = half_of(peer, me, c.len());
            let (channel, shares) = (self.parties.channel(peer), &mut self.scratch[..chosen.len()]);
            let pads = &pads[..chosen.len() * usize::from(narrow)];
            receiver.finish_multiply(channel, narrow, choices, pads, shares)?;
            add(&mut c[chosen], shares, 1);
        }
        c.iter_mut().for_each(|c| *c &= modulus);
        Ok(())
    }
}

/// The elements of a batch for which `sender` offers to `receiver`: the first half those of the
/// party of lower number.
fn half_of(sender: usize, receiver: usize, count: usize) -> std::ops::Range<usize> {
    let half = count.div_ceil(2);
    if sender < receiver { 0..half } else { half..count }
}

/// Draws elements below a power of two, whose mask is `modulus`.
fn draw(prg: &mut Prg, modulus: u64, words: &mut [u64]) {
    prg.fill_bytes(words.as_mut_bytes());
    words.iter_mut().for_each(|word| *word &= modulus);
}

/// Adds `shares * 2^shift`.
fn add(sums: &mut [u64], shares: &[u64], shift: u32) {
    for (sum, share) in sums.iter_mut().zip(shares) {
        *sum = sum.wrapping_add(share << shift);
    }
}

/// Sets the bits from number `count` on to 0.
pub(super) fn clear_beyond(count: usize, bits: &mut [u64]) {
    if let Some(last) = bits.last_mut().filter(|_| !count.is_multiple_of(64)) {
        *last &= mask((count % 64) as u32);
    }
}
