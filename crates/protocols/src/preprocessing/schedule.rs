//! [`Demand`] and [`Schedule`] of this material.

use super::Kind;
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
}
