//! [`MatrixProducts`]: batches of matrices times a few vectors, wherever they are computed.
//!
//! [`OnCpu`] computes them with the loops of [`Field`]; another implementation may use a device,
//! and gives the same elements. Cost: a product per element of a matrix and vector. Invariant:
//! elements are reduced and so the results are the same wherever they are computed, in whatever
//! order. Not protected: of a matrix of few columns that is multiplied by two vectors, which is one
//! that was opened, copies may stay.

use super::Field;

/// A matrix times `count` tuples of `width` vectors: a summand of a [`MatrixProduct`].
#[derive(Clone, Copy)]
pub struct ProductTerm<'a, E> {
    /// Column by column.
    pub matrix: &'a [E],
    /// Tuple after tuple: an entry for each column of the matrix, of all vectors of the tuple next
    /// to each other.
    pub vectors: &'a [E],
    /// How many vectors are a tuple.
    pub width: usize,
    /// How many tuples.
    pub count: usize,
}

impl<'a, E> ProductTerm<'a, E> {
    /// How many vectors, of all tuples.
    pub fn all(&self) -> usize {
        self.width * self.count
    }

    /// One of the tuples only.
    #[must_use]
    pub fn tuple(&self, index: usize) -> ProductTerm<'a, E> {
        let len = self.columns() * self.width;
        ProductTerm { vectors: &self.vectors[index * len..][..len], count: 1, ..*self }
    }

    /// Columns of the matrix.
    pub fn columns(&self) -> usize {
        self.vectors.len() / self.all()
    }

    /// Rows of the matrix, if results have so many elements.
    pub fn rows(&self, out_len: usize) -> usize {
        out_len / self.all()
    }

    /// These columns only, of a single tuple.
    ///
    /// # Panics
    /// If there are more, or fewer columns.
    #[must_use]
    pub fn part(&self, out_len: usize, columns: std::ops::Range<usize>) -> ProductTerm<'a, E> {
        assert_eq!(self.count, 1, "columns of one tuple lie together");
        let rows = self.rows(out_len);
        ProductTerm {
            matrix: &self.matrix[columns.start * rows..columns.end * rows],
            vectors: &self.vectors[columns.start * self.width..columns.end * self.width],
            ..*self
        }
    }

    fn check(&self, out_len: usize) {
        assert!(self.all() > 0, "there are vectors");
        let (rows, columns) = (self.rows(out_len), self.columns());
        let vectors = self.vectors.len() == columns * self.all();
        let matrix = Some(self.matrix.len()) == rows.checked_mul(columns);
        assert!(vectors && matrix && out_len == rows * self.all(), "rows, columns and vectors");
    }
}

/// Results and what is to be added to them: tuple after tuple, row by row, of all vectors of a
/// tuple next to each other.
pub struct MatrixProduct<'a, E, const TERMS: usize> {
    /// One tuple after the other, and of each one row after the other.
    pub out: &'a mut [E],
    /// Their rows times their widths are the results' length.
    pub terms: [ProductTerm<'a, E>; TERMS],
}

impl<E, const TERMS: usize> MatrixProduct<'_, E, TERMS> {
    /// # Panics
    /// If the sizes do not fit together, or the terms' matrices differ in columns or tuples.
    pub fn check(&self) {
        self.terms.iter().for_each(|term| term.check(self.out.len()));
        let sizes = |term: &ProductTerm<'_, E>| (term.columns(), term.count);
        let alike = self.terms.iter().all(|term| sizes(term) == sizes(&self.terms[0]));
        assert!(alike, "as many columns and tuples in each term");
    }

    /// Products of elements that this takes.
    pub fn work(&self) -> usize {
        self.terms.iter().map(|term| term.matrix.len() * term.all()).sum()
    }
}

/// Who computes the products of matrices that a party makes alone.
pub trait MatrixProducts<F: Field>: Send {
    /// Returns whether the device takes a batch of this amount of work ([`MatrixProduct::work`]);
    /// otherwise the caller computes it.
    fn takes(&self, work: usize) -> bool;

    /// Adds to each product's results its two terms.
    ///
    /// # Panics
    /// If the sizes do not fit together.
    fn add(&mut self, products: &mut [MatrixProduct<'_, F, 2>]);
}

/// Below so many columns they are added one by one.
const COLUMNS_TOGETHER: usize = 4;

/// The processor, on the thread that asks.
#[derive(Clone, Copy, Default)]
pub struct OnCpu;

impl OnCpu {
    /// Adds to `out` the product of some of a term's columns.
    ///
    /// # Panics
    /// If the sizes do not fit together.
    pub fn add_term<F: Field>(self, out: &mut [F], term: &ProductTerm<'_, F>) {
        term.check(out.len());
        let (rows, columns) = (term.rows(out.len()), term.columns());
        if term.count == 1 && term.width <= 2 && columns < COLUMNS_TOGETHER && rows > 0 {
            let of_each = term.matrix.chunks_exact(rows).zip(term.vectors.chunks_exact(term.width));
            for (column, entries) in of_each {
                match *entries {
                    [value, mac] => F::scale_add_pairs(out, [value, mac], column),
                    _ => F::scale_add(out, entries[0], column),
                }
            }
        } else if term.all() == 1 {
            F::mat_vec_add(out, term.matrix, term.vectors);
        } else {
            F::mat_mul_add(out, (term.matrix, columns), (term.vectors, term.width));
        }
    }
}

impl<F: Field> MatrixProducts<F> for OnCpu {
    fn takes(&self, _: usize) -> bool {
        true
    }

    fn add(&mut self, products: &mut [MatrixProduct<'_, F, 2>]) {
        for product in products {
            for term in &product.terms {
                OnCpu.add_term(product.out, term);
            }
        }
    }
}
