//! [`Demand`] and [`Schedule`] of this correlated randomness.

use super::Kind;
use phineus_crypto::point_function::PointBits;

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

    /// Batches of triples of two parties that wait for no message of their own, about: of those that
    /// are begun together all but one.
    pub fn overlapped_rounds(&self) -> u64 {
        let triples = Kind::BitTriple;
        let batches = self.count(triples).div_ceil(triples.batch_elements(self.scale())) as u64;
        batches - batches.div_ceil(BATCHES_BEGUN as u64)
    }

    /// Bytes of what lies ready then: between the thread that makes it and the protocol, with both
    /// of them, those that are begun, and a batch of each kind in use.
    pub fn ready_bytes(&self) -> u64 {
        let largest = self.largest_batches().max().unwrap_or(0);
        let triples = self.count(Kind::BitTriple).min(Kind::BitTriple.batch_elements(self.scale()));
        let begun = (BATCHES_BEGUN as u64 - 1) * Kind::BitTriple.bytes(triples);
        let waiting = (self.batches_ahead() as u64 + 3) * largest;
        self.largest_batches().sum::<u64>() + waiting + begun + self.making_bytes()
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
