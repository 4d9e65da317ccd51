//! [`Demand`] and [`Schedule`] of this material.

use super::Kind;
use super::limits::batches_ahead;
use crate::demand::{self, BatchScale, MaterialKind};

pub use crate::demand::batches;

/// How much of each kind a program needs in all.
pub type Demand = demand::Demand<Kind>;

/// The batches that all parties make, in the order in which they are first needed.
pub type Schedule<I> = demand::Schedule<Kind, I>;

impl MaterialKind for Kind {
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

    /// Bytes of what lies ready then: between the thread that makes it and the protocol, with both
    /// of them, and a batch of each kind in use.
    pub(crate) fn ready_bytes(&self) -> u64 {
        let largest = self.largest_batches().max().unwrap_or(0);
        self.largest_batches().sum::<u64>() + (self.batches_ahead() as u64 + 3) * largest
    }
}
