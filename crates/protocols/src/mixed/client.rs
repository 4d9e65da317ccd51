//! Clients of computations on additive and XOR shares.
//!
//! Source: the outsourcing of Braun, Demmler, Schneider, Tkachenko, "MOTION", TOPS 2022 (ePrint
//! 2020/1137): additive and XOR shares can be made and added up by anybody. A client has a
//! generator in common with each computing party but the last, from which both draw that party's
//! share; the last one is sent what is left of the value. Of an output it gets everybody's share.
//!
//! Not protected: as in all of [`super`], against anybody who deviates. All computing parties
//! together know the inputs, whoever brings them: one of them must be honest.

use std::ops::Range;

use crate::shares::client::{Client, ClientSharing};

/// Each computing party has one share of what a client brings.
pub struct OneShareEach;

impl ClientSharing for OneShareEach {
    fn generator_count(parties: usize) -> usize {
        parties - 1
    }

    fn generators(party: usize, parties: usize) -> Range<usize> {
        party..(party + 1).min(parties - 1)
    }

    fn receiver(parties: usize) -> usize {
        parties - 1
    }

    fn sends(_party: usize) -> bool {
        true
    }
}

/// One client of a computation on shares.
pub type MixedClient<C> = Client<C, OneShareEach>;
