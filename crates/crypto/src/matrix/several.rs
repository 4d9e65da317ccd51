//! A matrix times several vectors: each block of the matrix is read once for all of them.
//!
//! Source: Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3),
//! 2008. Of a small matrix, a tile of a larger product, sums of a few rows and vectors stay in
//! registers while its columns pass by. Of a large one a block is in the second-level cache while
//! all vectors are multiplied with it, one after the other, by the loop for one vector. Cost: the
//! products; of the memory, a large matrix once, and results once for each [`BLOCK_COLUMNS`]
//! columns. Invariant: no sum takes more products than it can. Not protected: sums of small
//! matrices are in registers, or on the stack, and not wiped.

use std::marker::PhantomData;

use zeroize::Zeroize;

use super::{MatrixRows, SumOfProducts, add_products};

/// A matrix of at most so many elements is in the first-level cache as it is.
const SMALL: usize = 4096;

/// Rows and columns of a block of a large matrix: 512 KiB with 8 bytes each.
const BLOCK_ROWS: usize = 256;
const BLOCK_COLUMNS: usize = 256;

/// A matrix and tuples of vectors.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a, E> {
    /// Column by column.
    pub(crate) matrix: &'a [E],
    /// Tuple after tuple of `width` vectors, whose entries lie next to each other; results alike.
    pub(crate) vectors: &'a [E],
    pub(crate) columns: usize,
    pub(crate) width: usize,
}

/// Rows of a small matrix.
#[derive(Clone, Copy)]
pub(crate) struct Strip {
    row: usize,
    /// Rows of the whole matrix.
    rows: usize,
}

/// Multiplies the parts of a matrix.
pub(crate) trait StripKernel<E> {
    /// The longest strip: 16 or 8 rows.
    const STRIP_ROWS: usize;

    /// All of a large matrix, as [`add_blocks`].
    fn add_blocks(&self, out: &mut [E], rows: usize, factors: Factors<'_, E>);
    /// Some rows of a small matrix, as [`add_strip`].
    fn add_strip<const ROWS: usize>(&self, out: &mut [E], factors: Factors<'_, E>, strip: Strip);
}

/// Parts that are compiled into the function that multiplies.
pub(crate) struct Inlined<P>(pub(crate) PhantomData<P>);

impl<P: SumOfProducts> StripKernel<P::Element> for Inlined<P> {
    const STRIP_ROWS: usize = P::STRIP_ROWS;

    #[inline(always)]
    fn add_blocks(&self, out: &mut [P::Element], rows: usize, factors: Factors<'_, P::Element>) {
        add_blocks::<P>(out, rows, factors);
    }

    #[inline(always)]
    fn add_strip<const ROWS: usize>(
        &self,
        out: &mut [P::Element],
        factors: Factors<'_, P::Element>,
        strip: Strip,
    ) {
        add_strip::<P, ROWS>(out, factors, strip);
    }
}

/// Adds to `out` the products of a matrix of `rows` rows with all vectors.
///
/// # Panics
/// If the sizes do not fit together.
#[inline(always)]
pub(crate) fn add_products_of_several<E: Copy, T: StripKernel<E>>(
    out: &mut [E],
    rows: usize,
    factors: Factors<'_, E>,
    parts: &T,
) {
    let Factors { matrix, vectors, columns, width } = factors;
    crate::public([out.len(), rows, matrix.len(), vectors.len(), columns, width]);
    assert_eq!(Some(matrix.len()), rows.checked_mul(columns), "rows times columns");
    if columns == 0 || rows == 0 {
        return;
    }
    assert!(width > 0 && vectors.len().is_multiple_of(columns * width), "whole tuples of vectors");
    assert_eq!(out.len(), rows * (vectors.len() / columns), "a result for each row and vector");
    if matrix.len() > SMALL {
        return parts.add_blocks(out, rows, factors);
    }
    let mut strip = Strip { row: 0, rows };
    while T::STRIP_ROWS == 16 && rows - strip.row >= 16 {
        parts.add_strip::<16>(out, factors, strip);
        strip.row += 16;
    }
    while rows - strip.row >= 8 {
        parts.add_strip::<8>(out, factors, strip);
        strip.row += 8;
    }
    while rows > strip.row {
        parts.add_strip::<1>(out, factors, strip);
        strip.row += 1;
    }
}

/// Block after block of a large matrix, vector after vector.
#[inline(always)]
pub(crate) fn add_blocks<P: SumOfProducts>(
    out: &mut [P::Element],
    rows: usize,
    Factors { matrix, vectors, columns, width }: Factors<'_, P::Element>,
) {
    crate::public([out.len(), rows, matrix.len(), vectors.len(), columns, width]);
    let mut vector = [P::Element::default(); BLOCK_COLUMNS];
    let mut results = [P::Element::default(); BLOCK_ROWS];
    for first in (0..columns).step_by(BLOCK_COLUMNS) {
        let vector = &mut vector[..BLOCK_COLUMNS.min(columns - first)];
        let of_block = &matrix[first * rows..][..vector.len() * rows];
        for row in (0..rows).step_by(BLOCK_ROWS) {
            let results = &mut results[..BLOCK_ROWS.min(rows - row)];
            let block = MatrixRows::all(of_block, rows, vector.len()).from(row);
            let tuples = vectors.chunks_exact(columns * width);
            for (tuple, out) in tuples.zip(out.chunks_exact_mut(rows * width)) {
                let out = &mut out[row * width..][..results.len() * width];
                if width == 1 {
                    add_products::<P>(out, block, &tuple[first..][..vector.len()]);
                    continue;
                }
                for k in 0..width {
                    let entries = tuple[first * width + k..].iter().step_by(width);
                    vector.iter_mut().zip(entries).for_each(|(own, entry)| *own = *entry);
                    let places = out[k..].iter_mut().step_by(width);
                    results.iter_mut().zip(places).for_each(|(result, out)| *result = *out);
                    add_products::<P>(results, block, vector);
                    let places = out[k..].iter_mut().step_by(width);
                    places.zip(&*results).for_each(|(out, result)| *out = *result);
                }
            }
        }
    }
    vector.zeroize();
    results.zeroize();
}

/// A strip times all vectors: four at a time, which are two tuples of two.
#[inline(always)]
pub(crate) fn add_strip<P: SumOfProducts, const ROWS: usize>(
    out: &mut [P::Element],
    factors: Factors<'_, P::Element>,
    strip: Strip,
) {
    let Factors { matrix, vectors, columns, width } = factors;
    crate::public([out.len(), matrix.len(), vectors.len(), columns, width, strip.row, strip.rows]);
    // A small matrix has no more columns than it has entries.
    const { assert!(P::TERMS >= SMALL && SMALL >= BLOCK_COLUMNS) };
    let count = factors.vectors.len() / factors.columns;
    let mut vector = 0;
    while count - vector >= 4 {
        add_some::<P, ROWS, 4>(out, factors, strip, vector);
        vector += 4;
    }
    if count - vector >= 2 {
        add_some::<P, ROWS, 2>(out, factors, strip, vector);
        vector += 2;
    }
    if count > vector {
        add_some::<P, ROWS, 1>(out, factors, strip, vector);
    }
}

/// One strip times the vectors from number `vector` on.
#[inline(always)]
fn add_some<P: SumOfProducts, const ROWS: usize, const VECTORS: usize>(
    out: &mut [P::Element],
    Factors { matrix, vectors, columns, width }: Factors<'_, P::Element>,
    strip: Strip,
    vector: usize,
) {
    let mut sums = [[P::Sum::default(); ROWS]; VECTORS];
    // Loops and no `map`: the compiler may call that, and then slices come from memory.
    let mut starts = [0; VECTORS];
    let mut factors = [&vectors[..0]; VECTORS];
    for j in 0..VECTORS {
        let (tuple, k) = ((vector + j) / width, (vector + j) % width);
        starts[j] = (tuple * strip.rows + strip.row) * width + k;
        factors[j] = &vectors[tuple * columns * width + k..][..(columns - 1) * width + 1];
    }
    let mut entry = 0;
    for column in 0..columns {
        // Once more in each turn: these numbers share stack slots with elements.
        crate::public([column, entry]);
        let own = matrix[column * strip.rows + strip.row..].first_chunk::<ROWS>();
        let own = own.expect("strips are within the matrix");
        for (sums, factors) in sums.iter_mut().zip(factors) {
            crate::public([factors.len()]);
            let factor = factors[entry];
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum = P::mul_add(*sum, *own, factor);
            }
        }
        entry += width;
    }
    crate::public(starts);
    finish::<P, ROWS, VECTORS>(out, width, (starts, sums));
}

/// Adds sums to results `width` apart.
#[inline(always)]
fn finish<P: SumOfProducts, const ROWS: usize, const VECTORS: usize>(
    out: &mut [P::Element],
    width: usize,
    (starts, sums): ([usize; VECTORS], [[P::Sum; ROWS]; VECTORS]),
) {
    // Tuples of two begin at even vectors.
    if width == 2 && VECTORS >= 2 {
        for (starts, sums) in starts.chunks_exact(2).zip(sums.chunks_exact(2)) {
            let out = &mut out[starts[0]..][..2 * ROWS];
            let pairs = sums[0].iter().zip(&sums[1]);
            for (out, (first, second)) in out.chunks_exact_mut(2).zip(pairs) {
                out[0] = P::finish(out[0], *first);
                out[1] = P::finish(out[1], *second);
            }
        }
        return;
    }
    for (start, sums) in starts.into_iter().zip(&sums) {
        let out = &mut out[start..];
        if width == 1 {
            for (out, sum) in out[..ROWS].iter_mut().zip(sums) {
                *out = P::finish(*out, *sum);
            }
        } else {
            for (out, sum) in out.iter_mut().step_by(width).zip(sums) {
                *out = P::finish(*out, *sum);
            }
        }
    }
}
