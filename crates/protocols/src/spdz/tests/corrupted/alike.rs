//! A party that lies to all alike: it computes with a share, a MAC or a key that is not its own,
//! and follows the protocol in all else. No two parties ever hear different things, so that nothing but
//! the check of MACs can notice; and it is noticed by all.
//!
//! Correlated randomness is from a dealer: what is told to all while correlated randomness is made
//! is in `mascot/tests`.

use std::sync::Arc;

use phineus_correlated::authenticated::{BOUNDED_BITS, Share};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};

use super::case::{CorruptedCase, TestComputation, case};
use super::lying::{Audience, MessageFault, Tampering};
use super::{ONLINE, RandomnessSource, RunOutcome, WatchedRun};
use crate::ProtocolError;
use crate::spdz::tests::altered::{Alteration, TestedRandomness};

/// Value that a party changes, consistently towards all peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConsistentDeviation {
    /// Its share of the key, with which all its sums of MACs are wrong and well committed to.
    Key,
    /// The first share of a column of correlated randomness, or the share of its MAC.
    Share { of: TestedRandomness, column: usize, of_mac: bool },
    /// The first factor of the first triple, by two to this power.
    Factor(u32),
}

/// Until the deviation has happened.
impl Alteration for Option<ConsistentDeviation> {
    fn shares<F: Field>(&mut self, of: TestedRandomness, columns: &mut [&mut [Share<F>]]) {
        let (changed, column, of_mac, by) = match *self {
            Some(ConsistentDeviation::Share { of, column, of_mac }) => (of, column, of_mac, F::ONE),
            Some(ConsistentDeviation::Factor(bits)) => {
                (TestedRandomness::Triples, 0, false, F::new(1 << bits))
            }
            Some(ConsistentDeviation::Key) | None => return,
        };
        if changed == of {
            *self = None;
            let share = columns[column].first_mut().expect("nobody asks for nothing");
            let part = if of_mac { &mut share.mac } else { &mut share.value };
            *part = part.add(by);
        }
    }
}

/// Every lie about correlated randomness of a run of [`TestComputation::All`], and the key.
fn lies<F: Field>(parties: usize) -> Vec<ConsistentDeviation> {
    let inputs = [0, parties - 1].map(|owner| (TestedRandomness::BitMasks { owner }, 1));
    let kinds = [
        (TestedRandomness::Triples, 3),
        (TestedRandomness::Squares, 2),
        (TestedRandomness::Bits, 1),
        (TestedRandomness::Matrices, 3),
    ];
    let bounded = (F::BITS > BOUNDED_BITS).then_some((TestedRandomness::Bounded, 1));
    let columns =
        kinds.into_iter().chain(inputs).chain([(TestedRandomness::Masks { owner: 0 }, 1)]);
    let columns = columns.chain(bounded);
    let columns = columns.flat_map(|(of, columns)| (0..columns).map(move |column| (of, column)));
    let shares = columns.flat_map(|(of, column)| {
        [false, true].map(|of_mac| ConsistentDeviation::Share { of, column, of_mac })
    });
    shares.chain([ConsistentDeviation::Key]).collect()
}

/// All honest parties stop without outputs, and somebody says why.
fn stop_all(ended: &RunOutcome, from: usize, is_why: impl Fn(&ProtocolError) -> bool) -> bool {
    let honest = || ended.results.iter().enumerate().filter(|&(me, _)| me != from);
    let errors = || honest().filter_map(|(_, result)| result.as_ref().err());
    errors().count() == honest().count() && errors().any(is_why)
}

/// Tells all lies, each by the first party and by the last.
fn lies_to_all<F: Field>(parties: usize, field: FieldName) {
    let case = Arc::new(case::<F>(TestComputation::All, parties, field));
    for from in [0, parties - 1] {
        let honest = WatchedRun::new(&case, from, Audience::All, RandomnessSource::Dealer);
        let ended = honest.run::<F>();
        assert!(ended.results.iter().all(Result::is_ok), "nobody lies");
        for lie in lies::<F>(parties) {
            let ended = WatchedRun { alike: Some(lie), ..honest.clone() }.run::<F>();
            let is_mac = |error: &ProtocolError| match error {
                ProtocolError::Cheated { during } => during.contains("the MAC"),
                _ => false,
            };
            let told: Vec<_> = ended.results.iter().map(|result| result.as_ref().err()).collect();
            let caught = stop_all(&ended, from, is_mac);
            assert!(caught, "{}, {parties} parties: {from} lies, {lie:?}: {told:?}", F::NAME);
        }
        // Of two parties only one hears a message: `every` has them.
        if parties > 2 {
            flips_to_all::<F>(&case, &honest, ended.lens[ONLINE].len());
        }
    }
}

/// Flips the same bit of every message to all: of shares, seeds, sums, and what opens commitments.
fn flips_to_all<F: Field>(case: &CorruptedCase, honest: &WatchedRun, messages: usize) {
    for message in 0..messages {
        // The first element, and what follows it.
        for bit in [3, 8 * F::BYTES + 1] {
            let fault = MessageFault::Flipped(bit);
            let lie =
                Tampering { from: honest.from, to: Audience::All, stream: ONLINE, message, fault };
            let ended = WatchedRun { lie: Some(lie), ..honest.clone() }.run::<F>();
            let knows = |error: &ProtocolError| {
                matches!(error, ProtocolError::Cheated { .. } | ProtocolError::Misbehaved { .. })
            };
            let caught = stop_all(&ended, honest.from, knows);
            assert!(caught, "{}, {} parties: {lie:?}", F::NAME, case.parties);
        }
    }
}

#[test]
fn who_lies_to_all_alike_is_stopped_by_all() {
    for parties in [2, 3] {
        lies_to_all::<F32>(parties, FieldName::F32);
        lies_to_all::<F61>(parties, FieldName::F61);
        lies_to_all::<F128>(parties, FieldName::F128);
    }
}
