//! [`Demand`] and [`Schedule`] of this correlated randomness.

use phineus_crypto::point_function::PointBits;
use phineus_ot::FieldBits;

use super::Kind;
use super::costs::{PartyPair, batch_costs, message_bytes};
use super::limits::{BATCHES_BEGUN, batches_ahead};
use super::point_functions::making_bytes;
use crate::demand::{self, BatchScale, RandomnessKind};

pub use crate::demand::batches;

/// How much of each kind a program needs in all.
pub type Demand = demand::Demand<Kind>;

/// The batches that all parties make, in the order in which they are first needed.
pub type Schedule<I> = demand::Schedule<Kind, I>;

impl RandomnessKind for Kind {
    fn batch_items(self, scale: BatchScale) -> usize {
        self.batch_elements(scale)
    }
}

impl demand::Demand<Kind> {
    /// Bytes of one party's shares in memory.
    pub fn bytes(&self) -> u64 {
        self.batches().map(|(kind, count)| kind.bytes(count)).sum()
    }

    /// Bytes of one party's share of the largest batch of each kind.
    fn largest_batches(&self) -> impl Iterator<Item = u64> {
        let most = |kind: Kind| kind.batch_elements(self.scale());
        self.kinds().map(move |(kind, count)| kind.bytes(count.min(most(kind))))
    }

    /// Batches that lie ready at the most, where they are made just ahead of their use.
    pub(super) fn batches_ahead(&self) -> usize {
        batches_ahead(self.largest_batches().max().unwrap_or(0), self.scale())
    }

    /// Rounds that two parties do not wait for, about: batches in progress at once share theirs.
    pub fn overlapped_rounds(&self) -> u64 {
        let (ot, ahead) = (FieldBits::DEFAULT.into(), self.scale().ahead_bytes() as u64);
        let of_kind = |(kind, count): (Kind, usize)| {
            let most = kind.batch_elements(self.scale());
            let batches = count.div_ceil(most) as u64;
            let fit = ahead / message_bytes(kind, count.min(most), ot).max(1);
            let begun = fit.clamp(1, BATCHES_BEGUN as u64);
            let rounds = batch_costs(kind, 1, PartyPair::OF_TWO, ot).rounds;
            (batches - batches.div_ceil(begun)) * rounds
        };
        self.kinds().filter(|&(kind, _)| kind.is_begun(self.scale())).map(of_kind).sum()
    }

    /// Bytes of what lies ready then: between the thread that makes it and the protocol, with both
    /// of them, and a batch of each kind in use; and the other batches if `begun` are in progress at once.
    pub fn ready_bytes(&self, begun: usize) -> u64 {
        let largest = self.largest_batches().max().unwrap_or(0);
        let others = begun.saturating_sub(1) as u64;
        let triples = self.count(Kind::BitTriple).min(Kind::BitTriple.batch_elements(self.scale()));
        let other = match self.scale() == BatchScale::FULL {
            true => largest + self.largest_pads() * size_of::<u64>() as u64,
            false => Kind::BitTriple.bytes(triples),
        };
        let waiting = (self.batches_ahead() as u64 + 3) * largest;
        self.largest_batches().sum::<u64>() + waiting + others * other + self.making_bytes()
    }

    /// Words of pad of a batch in progress, at the most.
    fn largest_pads(&self) -> u64 {
        let most = |kind: Kind| kind.batch_elements(self.scale());
        let pads = self.kinds().map(|(kind, count)| kind.pads(count.min(most(kind))) as u64);
        pads.max().unwrap_or(0)
    }

    /// Bytes that making a batch takes besides what a generator always holds.
    fn making_bytes(&self) -> u64 {
        let of_kind = |(kind, count)| match kind {
            Kind::PointFunction { bits } => making_bytes(PointBits::new(bits), count, self.scale()),
            Kind::BitTriple
            | Kind::RingTriple { .. }
            | Kind::SquarePair { .. }
            | Kind::SharedBit { .. }
            | Kind::KnownTriple { .. } => 0,
        };
        self.kinds().map(of_kind).max().unwrap_or(0)
    }
}
