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
//! * Triples and square pairs in `Z_2^w`: `products`. Bits in both forms: `shared_bits`.
//!
//! A batch is made in three parts: the OTs in which this party chooses, which only sends; answers to the peer's choices;
//! the peer's answers, which only receives. Between two parties several batches are in progress at once, so that a
//! round trip is not waited for in each.
//!
//! Cost: `costs`, exact. Between each pair both directions and all pairs go at once.
//! Invariants: all parties make the same batches in the same order. A batch allocates nothing once
//! its kind has been made before. Memory: [`Generator::memory_bytes`].
//! Not protected: malicious parties; wrong offers make wrong triples, which nobody checks.

use std::collections::VecDeque;

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;
use phineus_crypto::point_function::PointBits;
use phineus_ot::packing::mask;
use phineus_ot::{ChoiceBits, OtKind, SessionId};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::costs::{PartyPair, offered_ots};
use super::limits::{BATCH_ELEMENTS, FIELD_BITS_MIN, begun_bytes_max};
use super::pair::{Pads, PeerOts, pair, point_keys};
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
    pub(super) scale: BatchScale,
    pub(super) ot: OtKind,
    /// Bytes that the messages of batches in progress may have.
    pub(super) begun_bytes_max: u64,
    /// Pads of the batches that are begun and not finished, the first one first.
    begun_pads: VecDeque<Pads>,
    /// Memory of pads that are used up.
    spare_pads: Vec<Pads>,
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
        let begun_bytes_max = begun_bytes_max(count, kind, parties.ahead_bytes());
        let point_keys = point_keys(session);
        let point_buffers = PointBuffers::default();
        let (begun_pads, spare_pads) = (VecDeque::new(), Vec::new());
        Ok(Generator {
            parties,
            pairs,
            prg,
            scratch,
            scale,
            ot: kind,
            begun_bytes_max,
            begun_pads,
            spare_pads,
            point_keys,
            point_buffers,
        })
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
        match kind {
            Kind::BitTriple if self.parties.count() > 2 => {
                self.bit_triples(count, first, second, third)
            }
            Kind::PointFunction { bits } => {
                self.point_functions((PointBits::new(bits), count), first, second)
            }
            Kind::BitTriple
            | Kind::RingTriple { .. }
            | Kind::SquarePair { .. }
            | Kind::SharedBit { .. }
            | Kind::KnownTriple { .. } => {
                self.begin(kind, count, batch)?;
                self.offer(batch)?;
                self.finish(batch)
            }
        }
    }

    /// First part of making `count` of a kind that is made in parts: the OTs in which this party chooses. Only sends:
    /// OTs that have to be reserved have been reserved by [`Generator::make`].
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        count: usize,
        batch: &mut Batch,
    ) -> Result<(), CorrelatedError> {
        assert!(count <= kind.batch_elements(self.scale), "a batch is bounded");
        batch.reset(kind, count);
        let mut pads = self.spare_pads.pop().unwrap_or_default();
        pads.fit(self.parties.count(), kind.pads(count));
        let [first, second, third] = &mut batch.columns;
        match kind {
            Kind::BitTriple => self.choose_bit_triples(count, second, third)?,
            Kind::RingTriple { width } => {
                self.choose_factors(width, [first, second, third], &mut pads)?;
            }
            Kind::SquarePair { width } => self.choose_roots(width, [first, second], &mut pads)?,
            Kind::SharedBit { width } => self.choose_bits(width, (first, count), &mut pads)?,
            Kind::KnownTriple { owner, width } if usize::from(owner) == self.parties.me() => {
                self.choose_known_bits((width.into(), count), first, third)?;
            }
            Kind::KnownTriple { .. } => {}
            Kind::PointFunction { .. } => unreachable!("they are made as a whole"),
        }
        self.begun_pads.push_back(pads);
        Ok(())
    }

    /// Second part of making a batch: takes the peers' choices, and answers them if [`Kind::is_answered`]. Batches come in
    /// the order in which they were begun.
    pub(super) fn offer(&mut self, batch: &mut Batch) -> Result<(), CorrelatedError> {
        let (kind, count) = (batch.kind(), batch.count());
        let [first, second, third] = &mut batch.columns;
        match kind {
            Kind::BitTriple => self.offer_bit_triples(count, first, second, third),
            Kind::RingTriple { width } => self.offer_factors(width, first, third),
            Kind::SquarePair { width } => self.offer_roots(width, first, second),
            Kind::SharedBit { width } => self.offer_bits(width, first, second),
            Kind::KnownTriple { owner, .. } if usize::from(owner) == self.parties.me() => Ok(()),
            Kind::KnownTriple { owner, width } => {
                self.offer_known_rows(owner.into(), (width.into(), count), second, third)
            }
            Kind::PointFunction { .. } => unreachable!("they are made as a whole"),
        }
    }

    /// Last part of making a batch: takes the peers' answers, and between two parties sends nothing. Batches come in the
    /// order in which they were begun.
    pub(super) fn finish(&mut self, batch: &mut Batch) -> Result<(), CorrelatedError> {
        let mut pads = self.begun_pads.pop_front().expect("what is finished was begun");
        let kind = batch.kind();
        let [first, second, third] = &mut batch.columns;
        match kind {
            Kind::RingTriple { width } => self.finish_factors(width, second, third, &pads)?,
            Kind::SquarePair { width } => self.finish_roots(width, first, second, &pads)?,
            Kind::SharedBit { width } => self.finish_bits(width, first, second, &mut pads)?,
            Kind::BitTriple | Kind::KnownTriple { .. } => {}
            Kind::PointFunction { .. } => unreachable!("they are made as a whole"),
        }
        self.spare_pads.push(pads);
        Ok(())
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
            let (channel, pads) = (self.parties.channel(peer), &mut self.scratch[..b.len()]);
            let receiver = &mut pair(&mut self.pairs, peer).receiver;
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
}

/// Sets the bits from number `count` on to 0.
pub(super) fn clear_beyond(count: usize, bits: &mut [u64]) {
    if let Some(last) = bits.last_mut().filter(|_| !count.is_multiple_of(64)) {
        *last &= mask((count % 64) as u32);
    }
}
