//! [`Altered`]: correlated randomness of which a test changes something.

use phineus_correlated::CorrelatedError;
use phineus_correlated::authenticated::{AuthenticatedRandomness, MatrixSize, Share};
use phineus_crypto::field::Field;

/// Correlated randomness, as in [`AuthenticatedRandomness`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestedRandomness {
    Triples,
    Squares,
    Bits,
    Masks { owner: usize },
    BitMasks { owner: usize },
    Bounded,
    Matrices,
}

/// Changes of a party's correlated randomness.
pub(super) trait Alteration: Send {
    /// May change shares, column by column.
    fn shares<F: Field>(&mut self, of: TestedRandomness, columns: &mut [&mut [Share<F>]]);

    /// May change the values that this party knows of its masks.
    fn values<F: Field>(&mut self, _of: TestedRandomness, _values: &mut [F]) {}

    /// Is told of openings, as [`AuthenticatedRandomness::opened_narrowly`] is.
    fn opened_narrowly<F: Field>(&self, _opened: &[F], _hidden_bits: u32) {}
}

/// Correlated randomness of `correlated`, changed by `alteration`.
pub(super) struct Altered<M, A> {
    pub(super) correlated: M,
    pub(super) alteration: A,
}

impl<F, M, A> AuthenticatedRandomness<F> for Altered<M, A>
where
    F: Field,
    M: AuthenticatedRandomness<F>,
    A: Alteration,
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
        self.alteration.shares(TestedRandomness::Triples, &mut [a, b, c]);
        Ok(())
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.correlated.squares(a, c)?;
        self.alteration.shares(TestedRandomness::Squares, &mut [a, c]);
        Ok(())
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.correlated.bits(b)?;
        self.alteration.shares(TestedRandomness::Bits, &mut [b]);
        Ok(())
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        mut values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        self.correlated.masks(owner, shares, values.as_deref_mut())?;
        self.masked(TestedRandomness::Masks { owner }, shares, values);
        Ok(())
    }

    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        mut values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        self.correlated.bit_masks(owner, shares, values.as_deref_mut())?;
        self.masked(TestedRandomness::BitMasks { owner }, shares, values);
        Ok(())
    }

    fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.correlated.bounded(integers)?;
        self.alteration.shares(TestedRandomness::Bounded, &mut [integers]);
        Ok(())
    }

    fn opened_narrowly(&mut self, opened: &[F], hidden_bits: u32) {
        self.alteration.opened_narrowly(opened, hidden_bits);
    }

    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        self.correlated.matrix_triples(size, a, b, c)?;
        self.alteration.shares(TestedRandomness::Matrices, &mut [a, b, c]);
        Ok(())
    }
}

impl<M, A: Alteration> Altered<M, A> {
    fn masked<F: Field>(
        &mut self,
        of: TestedRandomness,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) {
        self.alteration.shares(of, &mut [shares]);
        if let Some(values) = values {
            self.alteration.values(of, values);
        }
    }
}
