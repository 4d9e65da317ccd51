//! [`AuthenticatedRandomness`]: authenticated correlated randomness that runs draw, from any
//! source.

mod dealer;
mod share;
#[cfg(test)]
mod tests;

use phineus_crypto::field::Field;

use crate::CorrelatedError;

pub use dealer::Dealer;
pub use share::Share;

/// The size of a product of matrices: `rows` by `cols` times `cols` by `vectors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatrixSize {
    /// Rows of the first matrix and of the product.
    pub rows: u32,
    /// Columns of the first matrix, rows of the second.
    pub cols: u32,
    /// Columns of the second matrix and of the product.
    pub vectors: u32,
}

impl MatrixSize {
    /// Entries of the first matrix.
    pub fn entries(self) -> usize {
        (self.rows as usize).saturating_mul(self.cols as usize)
    }

    /// Entries of the second matrix.
    pub fn factors(self) -> usize {
        (self.cols as usize).saturating_mul(self.vectors as usize)
    }

    /// Entries of the product.
    pub fn results(self) -> usize {
        (self.rows as usize).saturating_mul(self.vectors as usize)
    }

    /// Products of an entry and a factor.
    pub fn multiplications(self) -> usize {
        self.entries().saturating_mul(self.vectors as usize)
    }

    /// How many products of this size the slices hold.
    ///
    /// # Panics
    /// If a side is zero or the slices do not hold as many of each.
    pub fn count(self, a: usize, b: usize, c: usize) -> usize {
        assert!(self.multiplications() > 0, "a matrix has rows and columns");
        let count = c / self.results();
        let is_whole = c == count * self.results();
        let right = is_whole && b == count * self.factors() && a == count * self.entries();
        assert!(right, "as many matrices, vectors and products");
        count
    }
}

/// Statistical security of masks that are not uniform over the field: what is opened under one is
/// at a distance of 2^-40 from what it would be for any other number.
pub const STATISTICAL_BITS: u32 = 40;
/// Bits of the integers that bounded masks are sums of: a number that is hidden by one may, with a
/// sign or an offset, have a bit more than what lies below the mask.
pub const BOUNDED_BITS: u32 = STATISTICAL_BITS + 1;

/// A source of authenticated correlated randomness. All parties make the same calls in the same
/// order; the lengths of the slices are the counts.
///
/// What a source gives is right, or a run that uses it ends with
/// [`Cheated`](CorrelatedError::Cheated) before any output.
pub trait AuthenticatedRandomness<F: Field>: Send {
    /// This party's share of the key of all MACs.
    fn delta(&self) -> F;

    /// Waits until no check is under way in which correlated randomness is made: who lies in one
    /// learns the key, and could make wrong openings pass.
    ///
    /// # Errors
    /// When making it has failed, also where nobody has asked for it yet.
    fn settle(&mut self) -> Result<(), CorrelatedError>;

    /// Why making it has failed, if it has and nobody has been told yet: who finds a lie there ends
    /// its channels, and may hear that of others before it asks for the next correlated randomness.
    fn blame(&mut self) -> Option<CorrelatedError> {
        None
    }

    /// Random `a` and `b`, and `c = a * b`.
    ///
    /// # Errors
    /// When making it fails, as all of these.
    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError>;

    /// Random `a`, and `c = a * a`.
    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), CorrelatedError>;

    /// Random elements that are zero or one.
    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), CorrelatedError>;

    /// Random elements that party `owner` knows: `values` is `Some` at the owner only.
    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError>;

    /// Random bits that party `owner` knows: `values` is `Some` at the owner only.
    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError>;

    /// Sums of a random integer of [`BOUNDED_BITS`] bits of each party.
    fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError>;

    /// Hears what was opened behind masks from [`bits`](Self::bits) and [`bounded`](Self::bounded); what
    /// they hide has at most `hidden_bits` bits. For tests whose masks are zero.
    fn opened_narrowly(&mut self, _opened: &[F], _hidden_bits: u32) {}

    /// Random matrices `a` (`rows` by `cols`) and `b` (`cols` by `vectors`), and `c = a * b`
    /// (`rows` by `vectors`), all column by column, one after the other.
    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError>;
}
