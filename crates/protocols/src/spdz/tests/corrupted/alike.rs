//! A party that lies to all alike: it computes with a share, a MAC or a key that is not its own,
//! and follows the protocol in all else. No two parties ever hear different things, so that nothing but
//! the check of MACs can notice; and it is noticed by all.
//!
//! Correlated randomness is from a dealer: what is told to all while correlated randomness is made
//! is in `mascot/tests`.

use std::sync::Arc;

use phineus_correlated::CorrelatedError;
use phineus_correlated::authenticated::{AuthenticatedRandomness, BOUNDED_BITS, MatrixSize, Share};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};

use super::case::{CorruptedCase, TestComputation, case};
use super::lying::{Audience, MessageFault, Tampering};
use super::{ONLINE, RandomnessSource, RunOutcome, WatchedRun};
use crate::ProtocolError;

/// Value that a party changes, consistently towards all peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConsistentDeviation {
    /// Its share of the key, with which all its sums of MACs are wrong and well committed to.
    Key,
    /// The first share of a column of correlated randomness, or the share of its MAC.
    Share { of: RandomnessKind, column: usize, of_mac: bool },
    /// The first factor of the first triple, by two to this power.
    Factor(u32),
}

/// Correlated randomness, as in [`AuthenticatedRandomness`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RandomnessKind {
    Triples,
    Squares,
    Bits,
    Masks { owner: usize },
    BitMasks { owner: usize },
    Bounded,
    Matrices,
}

/// Correlated randomness with the share that its party lies about.
pub(super) struct CorruptedRandomness<M> {
    correlated: M,
    lie: Option<ConsistentDeviation>,
}

impl<M> CorruptedRandomness<M> {
    pub(super) fn new(correlated: M, lie: Option<ConsistentDeviation>) -> CorruptedRandomness<M> {
        CorruptedRandomness { correlated, lie }
    }

    pub(super) fn into_inner(self) -> M {
        self.correlated
    }

    fn tell<F: Field>(&mut self, correlated: RandomnessKind, columns: &mut [&mut [Share<F>]]) {
        let (of, column, of_mac, by) = match self.lie {
            Some(ConsistentDeviation::Share { of, column, of_mac }) => (of, column, of_mac, F::ONE),
            Some(ConsistentDeviation::Factor(bits)) => {
                (RandomnessKind::Triples, 0, false, F::new(1 << bits))
            }
            _ => return,
        };
        if of == correlated {
            self.lie = None;
            let share = columns[column].first_mut().expect("nobody asks for nothing");
            let part = if of_mac { &mut share.mac } else { &mut share.value };
            *part = part.add(by);
        }
    }
}

impl<F: Field, M: AuthenticatedRandomness<F>> AuthenticatedRandomness<F>
    for CorruptedRandomness<M>
{
    fn delta(&self) -> F {
        self.correlated.delta()
    }

    fn settle(&mut self) -> Result<(), CorrelatedError> {
        self.correlated.settle()
    }

    fn blame(&mut self) -> Option<CorrelatedError> {
        self.correlated.blame()
    }

    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        self.correlated.triples(a, b, c)?;
        self.tell(RandomnessKind::Triples, &mut [a, b, c]);
        Ok(())
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.correlated.squares(a, c)?;
        self.tell(RandomnessKind::Squares, &mut [a, c]);
        Ok(())
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.correlated.bits(b)?;
        self.tell(RandomnessKind::Bits, &mut [b]);
        Ok(())
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        self.correlated.masks(owner, shares, values)?;
        self.tell(RandomnessKind::Masks { owner }, &mut [shares]);
        Ok(())
    }

    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        self.correlated.bit_masks(owner, shares, values)?;
        self.tell(RandomnessKind::BitMasks { owner }, &mut [shares]);
        Ok(())
    }

    fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.correlated.bounded(integers)?;
        self.tell(RandomnessKind::Bounded, &mut [integers]);
        Ok(())
    }

    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        self.correlated.matrix_triples(size, a, b, c)?;
        self.tell(RandomnessKind::Matrices, &mut [a, b, c]);
        Ok(())
    }
}

/// Every lie about correlated randomness of a run of [`TestComputation::All`], and the key.
fn lies<F: Field>(parties: usize) -> Vec<ConsistentDeviation> {
    let inputs = [0, parties - 1].map(|owner| (RandomnessKind::BitMasks { owner }, 1));
    let kinds = [
        (RandomnessKind::Triples, 3),
        (RandomnessKind::Squares, 2),
        (RandomnessKind::Bits, 1),
        (RandomnessKind::Matrices, 3),
    ];
    let bounded = (F::BITS > BOUNDED_BITS).then_some((RandomnessKind::Bounded, 1));
    let columns = kinds.into_iter().chain(inputs).chain([(RandomnessKind::Masks { owner: 0 }, 1)]);
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
