//! A matrix times a vector, for elements of any kind: the loop under `Field::mat_vec_add` and
//! [`ring`](crate::ring).
//!
//! The matrix lies column by column. Sums of a block of rows stay in the first-level cache while
//! the block's columns pass by, four at a time, the next four asked for ahead; so memory is read
//! once, in pieces of [`BLOCK_ROWS`] elements. Sums are wiped.

mod several;

use zeroize::{DefaultIsZeroes, Zeroize};

pub(crate) use several::{
    Factors, Inlined, Strip, StripKernel, add_blocks, add_products_of_several, add_strip,
};

/// Sums of products of elements.
pub(crate) trait SumOfProducts {
    type Element: DefaultIsZeroes;
    /// A sum in progress.
    type Sum: DefaultIsZeroes;
    /// How many products a sum can take before [`SumOfProducts::fold`].
    const TERMS: usize;
    /// Rows of a small matrix whose sums are kept in registers: 16 or 8, what is faster.
    const STRIP_ROWS: usize;

    fn mul_add(sum: Self::Sum, a: Self::Element, b: Self::Element) -> Self::Sum;
    fn fold(sum: Self::Sum) -> Self::Sum;
    fn finish(out: Self::Element, sum: Self::Sum) -> Self::Element;
}

/// Some rows of a matrix.
#[derive(Clone, Copy)]
pub(crate) struct MatrixRows<'a, E> {
    matrix: &'a [E],
    /// Rows of the whole matrix: from one column to the next.
    stride: usize,
    /// The first of these rows.
    first: usize,
}

impl<'a, E> MatrixRows<'a, E> {
    /// All rows of a matrix.
    ///
    /// # Panics
    /// If the matrix is not `rows` by `cols`.
    pub(crate) fn all(matrix: &'a [E], rows: usize, cols: usize) -> MatrixRows<'a, E> {
        assert_eq!(Some(matrix.len()), rows.checked_mul(cols), "rows times columns");
        MatrixRows { matrix, stride: rows, first: 0 }
    }

    /// From row `first` of these on.
    pub(crate) fn from(self, first: usize) -> MatrixRows<'a, E> {
        MatrixRows { first: self.first + first, ..self }
    }

    #[inline(always)]
    fn column(&self, column: usize, len: usize) -> &'a [E] {
        &self.matrix[column * self.stride + self.first..][..len]
    }
}

/// Rows whose sums are kept at a time: with 8 bytes each, they and the next four columns are
/// within half of a first-level cache.
const BLOCK_ROWS: usize = 512;

/// Columns whose products are added to a sum that is loaded and stored once.
const COLUMNS: usize = 4;

/// Rows for which memory is asked at a time.
const AHEAD_ROWS: usize = 64;

/// Adds to `out` the first `out.len()` of `rows` times `vector`.
#[inline(always)]
pub(crate) fn add_products<P: SumOfProducts>(
    out: &mut [P::Element],
    rows: MatrixRows<'_, P::Element>,
    vector: &[P::Element],
) {
    crate::public([out.len(), vector.len(), rows.matrix.len(), rows.stride, rows.first]);
    let used = out.len().min(BLOCK_ROWS);
    let mut sums = [P::Sum::default(); BLOCK_ROWS];
    let (groups, rest) = vector.as_chunks::<COLUMNS>();
    for (block, out) in out.chunks_mut(BLOCK_ROWS).enumerate() {
        let (sums, rows) = (&mut sums[..out.len()], rows.from(block * BLOCK_ROWS));
        sums.fill(P::Sum::default());
        let columns = |group| [0, 1, 2, 3].map(|j| rows.column(COLUMNS * group + j, out.len()));
        let mut terms = 0;
        for (group, ks) in groups.iter().enumerate() {
            // One group less than fits: the rest comes without a look.
            if terms + COLUMNS > P::TERMS - COLUMNS {
                sums.iter_mut().for_each(|sum| *sum = P::fold(*sum));
                terms = 0;
            }
            terms += COLUMNS;
            let next = if group + 1 < groups.len() { group + 1 } else { group };
            add_columns::<P>(sums, columns(group), ks, columns(next));
        }
        for (j, &k) in rest.iter().enumerate() {
            let column = rows.column(COLUMNS * groups.len() + j, out.len());
            for (sum, x) in sums.iter_mut().zip(column) {
                *sum = P::mul_add(*sum, *x, k);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = P::finish(*out, *sum);
        }
    }
    sums[..used].zeroize();
}

/// Adds the products of four columns, and asks for the next four: the processor does not foresee
/// them where columns are longer than blocks.
#[inline(always)]
fn add_columns<P: SumOfProducts>(
    sums: &mut [P::Sum],
    columns: [&[P::Element]; COLUMNS],
    ks: &[P::Element; COLUMNS],
    next: [&[P::Element]; COLUMNS],
) {
    for (i, sums) in sums.chunks_mut(AHEAD_ROWS).enumerate() {
        let rows = i * AHEAD_ROWS..i * AHEAD_ROWS + sums.len();
        next.iter().for_each(|next| prefetch(&next[rows.clone()]));
        let [a, b, c, d] = columns.map(|column| &column[rows.clone()]);
        for ((((sum, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let first = P::mul_add(P::mul_add(*sum, *a, ks[0]), *b, ks[1]);
            *sum = P::mul_add(P::mul_add(first, *c, ks[2]), *d, ks[3]);
        }
    }
}

/// Asks memory for elements that will be read soon.
#[inline(always)]
fn prefetch<E>(x: &[E]) {
    #[cfg(target_arch = "x86_64")]
    for line in x.chunks(64 / size_of::<E>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; it reads nothing that the program sees, and every x86-64 has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = x;
}

/// Calls `run` for parts of `out` and the same rows, each on a thread of its own.
pub(crate) fn on_threads<E: Copy + Send + Sync>(
    threads: usize,
    out: &mut [E],
    rows: MatrixRows<'_, E>,
    run: impl Fn(&mut [E], MatrixRows<'_, E>) + Sync,
) {
    let part = out.len().div_ceil(threads.max(1)).next_multiple_of(AHEAD_ROWS);
    if part >= out.len() {
        return run(out, rows);
    }
    std::thread::scope(|scope| {
        for (i, out) in out.chunks_mut(part).enumerate() {
            let (run, rows) = (&run, rows.from(i * part));
            scope.spawn(move || run(out, rows));
        }
    });
}
