//! [`Demand`] and [`Schedule`] of authenticated correlated randomness.

use super::Kind;
use crate::demand::{self, BatchScale, RandomnessKind};

/// How much of each kind a program needs in all.
pub type Demand = demand::Demand<Kind>;

/// The batches that all parties make, in the order in which they are first needed.
pub type Schedule<I> = demand::Schedule<Kind, I>;

impl RandomnessKind for Kind {
    fn batch_items(self, scale: BatchScale) -> usize {
        Kind::batch_items(self, scale)
    }
}
