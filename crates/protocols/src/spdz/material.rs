//! [`Material`]: the authenticated randomness that runs use up, whoever made it.

use phineus_crypto::field::Field;

use super::Share;
use crate::ProtocolError;

/// A source of authenticated material. All parties make the same calls in the same order; the
/// lengths of the slices are the counts.
///
/// What a source gives is right, or a run that uses it ends with
/// [`Cheated`](ProtocolError::Cheated) before any output.
pub trait Material<F: Field>: Send {
    /// This party's share of the key of all MACs.
    fn delta(&self) -> F;

    /// Waits until no check is under way in which material is made: who lies in one learns the key,
    /// and could make wrong openings pass.
    ///
    /// # Errors
    /// When making it has failed, also where nobody has asked for it yet.
    fn settle(&mut self) -> Result<(), ProtocolError>;

    /// Why making it has failed, if it has and nobody has been told yet: who finds a lie there ends
    /// its channels, and may hear that of others before it asks for the next material.
    fn blame(&mut self) -> Option<ProtocolError> {
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
    ) -> Result<(), ProtocolError>;

    /// Random `a`, and `c = a * a`.
    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), ProtocolError>;

    /// Random elements that are zero or one.
    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), ProtocolError>;

    /// Random elements that party `owner` knows: `values` is `Some` at the owner only.
    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), ProtocolError>;

    /// Random matrices `a` (`rows * cols`, column by column) and vectors `b` (`cols`), and
    /// `c = a * b` (`rows`), one after the other: `c.len() / rows` of them.
    fn matrix_triples(
        &mut self,
        rows: usize,
        cols: usize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), ProtocolError>;
}

/// How many matrix triples of a size the slices hold.
///
/// # Panics
/// If a size is zero or the slices do not hold as many of each.
pub fn matrix_count(rows: usize, cols: usize, a: usize, b: usize, c: usize) -> usize {
    assert!(rows > 0 && cols > 0, "a matrix has rows and columns");
    let count = c / rows;
    let right = c == count * rows && b == count * cols && a == count * rows * cols;
    assert!(right, "as many matrices, vectors and products");
    count
}
