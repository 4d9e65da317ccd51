//! [`MatrixProducts`]: batches of matrices times a few vectors, wherever they are computed.
//!
//! [`OnCpu`] computes them with the loops of [`Field`]; another implementation may use a device,
//! and gives the same elements. Cost: a product per element of a matrix and vector. Invariant:
//! elements are reduced and so the results are the same wherever they are computed, in whatever
//! order. Not protected: of a matrix that is multiplied by two vectors, which is one that was
//! opened, copies may stay.

use zeroize::Zeroizing;

use super::Field;

/// A matrix times `width` vectors: a summand of a [`Product`].
#[derive(Clone, Copy)]
pub struct Term<'a, E> {
    /// Column by column.
    pub matrix: &'a [E],
    /// An entry for each column of the matrix, of all vectors next to each other.
    pub vectors: &'a [E],
    /// How many vectors.
    pub width: usize,
}

impl<'a, E> Term<'a, E> {
    /// Columns of the matrix.
    pub fn columns(&self) -> usize {
        self.vectors.len() / self.width
    }

    /// Rows of the matrix, if results have so many elements.
    pub fn rows(&self, out_len: usize) -> usize {
        out_len / self.width
    }

    /// These columns only.
    #[must_use]
    pub fn part(&self, out_len: usize, columns: std::ops::Range<usize>) -> Term<'a, E> {
        let rows = self.rows(out_len);
        Term {
            matrix: &self.matrix[columns.start * rows..columns.end * rows],
            vectors: &self.vectors[columns.start * self.width..columns.end * self.width],
            width: self.width,
        }
    }

    fn check(&self, out_len: usize) {
        let (rows, columns) = (self.rows(out_len), self.columns());
        let vectors = self.width > 0 && self.vectors.len() == columns * self.width;
        let matrix = Some(self.matrix.len()) == rows.checked_mul(columns);
        assert!(vectors && matrix && out_len == rows * self.width, "rows, columns and vectors");
    }
}

/// Results and what is to be added to them: row by row, of all vectors next to each other.
pub struct Product<'a, E, const TERMS: usize> {
    /// One row after the other.
    pub out: &'a mut [E],
    /// Their rows times their widths are the results' length.
    pub terms: [Term<'a, E>; TERMS],
}

impl<E, const TERMS: usize> Product<'_, E, TERMS> {
    /// # Panics
    /// If the sizes do not fit together, or the terms' matrices differ in columns.
    pub fn check(&self) {
        self.terms.iter().for_each(|term| term.check(self.out.len()));
        let alike = self.terms.iter().all(|term| term.columns() == self.terms[0].columns());
        assert!(alike, "as many columns in each term");
    }

    /// Products of elements that this takes.
    pub fn work(&self) -> usize {
        self.terms.iter().map(|term| term.matrix.len() * term.width).sum()
    }
}

/// Who computes the products of matrices that a party makes alone.
pub trait MatrixProducts<F: Field>: Send {
    /// Whether it takes a batch of so much work ([`Product::work`]); who asks makes it else.
    fn takes(&self, work: usize) -> bool;

    /// Adds to each product's results its two terms.
    ///
    /// # Panics
    /// If the sizes do not fit together.
    fn add(&mut self, products: &mut [Product<'_, F, 2>]);
}

/// Below so many columns they are added one by one.
const COLUMNS_TOGETHER: usize = 4;

/// The processor, on the thread that asks.
#[derive(Default)]
pub struct OnCpu<F: Field> {
    vector: Zeroizing<Vec<F>>,
    results: Zeroizing<Vec<F>>,
}

impl<F: Field> OnCpu<F> {
    /// Adds to `out` the product of some of a term's columns.
    ///
    /// # Panics
    /// If the sizes do not fit together.
    pub fn add_term(&mut self, out: &mut [F], term: &Term<'_, F>) {
        term.check(out.len());
        let (rows, columns) = (term.rows(out.len()), term.columns());
        if term.width <= 2 && columns < COLUMNS_TOGETHER && rows > 0 {
            let of_each = term.matrix.chunks_exact(rows).zip(term.vectors.chunks_exact(term.width));
            for (column, entries) in of_each {
                match *entries {
                    [value, mac] => F::scale_add_pairs(out, [value, mac], column),
                    _ => F::scale_add(out, entries[0], column),
                }
            }
            return;
        }
        if term.width == 1 {
            return F::mat_vec_add(out, term.matrix, term.vectors);
        }
        for k in 0..term.width {
            let vector = blank(&mut self.vector, columns);
            for (entry, all) in vector.iter_mut().zip(term.vectors.chunks_exact(term.width)) {
                *entry = all[k];
            }
            let results = blank(&mut self.results, rows);
            F::mat_vec_add(results, term.matrix, vector);
            for (row, result) in out.chunks_exact_mut(term.width).zip(results) {
                row[k] = row[k].add(*result);
            }
        }
    }
}

/// So many zeros; what was there before is wiped.
fn blank<F: Field>(buffer: &mut Zeroizing<Vec<F>>, len: usize) -> &mut [F] {
    if buffer.len() < len {
        *buffer = Zeroizing::new(vec![F::ZERO; len]);
    }
    buffer[..len].fill(F::ZERO);
    &mut buffer[..len]
}

impl<F: Field> MatrixProducts<F> for OnCpu<F> {
    fn takes(&self, _: usize) -> bool {
        true
    }

    fn add(&mut self, products: &mut [Product<'_, F, 2>]) {
        for product in products {
            for term in &product.terms {
                self.add_term(product.out, term);
            }
        }
    }
}
