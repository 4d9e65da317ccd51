//! Clients of computations on replicated shares.
//!
//! Of an input, components 0 and 1 are drawn from generators that the client has in common with the
//! parties which hold them; party 1 is sent what is left, component 2, and tells it party 2 in the coming
//! round, in which parties' own inputs are shared, too. Of an output, party 0 sends the sum of its
//! components and party 2 its first one, component 2. No party knows the value: none holds all components.
//! The client learns no more than the value: all components 2 of a run are masked by generators that it does
//! not have, or 0, or component 2 of an input that it brought.
//!
//! Not protected: as in all of [`super`], against anybody who deviates, and two parties that collude.

use std::ops::Range;

use super::PARTIES;
use crate::shares::client::{Client, ClientSharing};

/// Each computing party has two components of what a client brings.
pub struct TwoComponentsEach;

/// The party that is sent what is left of an input.
pub(super) const RECEIVER: usize = 1;

impl ClientSharing for TwoComponentsEach {
    fn generator_count(_parties: usize) -> usize {
        2
    }

    fn generators(party: usize, _parties: usize) -> Range<usize> {
        [0..2, 1..2, 0..1][party].clone()
    }

    fn receiver(_parties: usize) -> usize {
        RECEIVER
    }

    fn sends(party: usize) -> bool {
        party != RECEIVER
    }
}

/// Bytes of seeds that a client which brings something sends to `party`.
pub(super) fn seed_bytes(party: usize) -> u64 {
    16 * TwoComponentsEach::generators(party, PARTIES).len() as u64
}

/// One client of a computation on replicated shares.
pub type Rep3Client<C> = Client<C, TwoComponentsEach>;
