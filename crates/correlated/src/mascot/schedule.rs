//! [`Demand`] and [`Schedule`] of authenticated material.

use super::Kind;
use crate::demand::{self, BatchScale, MaterialKind};

/// How much of each kind a program needs in all.
pub type Demand = demand::Demand<Kind>;

/// The batches that all parties make, in the order in which they are first needed.
pub type Schedule<I> = demand::Schedule<Kind, I>;

impl MaterialKind for Kind {
    fn batch_items(self, scale: BatchScale) -> usize {
        Kind::batch_items(self, scale)
    }
}
