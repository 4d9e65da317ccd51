//! The loops over slices of elements, as [`super::kernels`] compiles them for each width.
//!
//! All are inlined into functions that enable a width's instructions, and are written so that the
//! compiler makes vectors of them: no branch in a loop, elements next to each other.

use super::Field;
use crate::matrix::{
    Factors, MatrixRows, Strip, SumOfProducts, add_blocks, add_products, add_strip,
};
use std::marker::PhantomData;

/// How products are made.
pub(super) trait Multiplication {
    fn mul<F: Field>(a: F, b: F) -> F;
    fn wide_mul_add<F: Field>(sum: F::Wide, a: F, b: F) -> F::Wide;
}

/// In the words of the processor.
pub(super) struct InWords;

/// In the lanes of vectors.
pub(super) struct InLanes;

impl Multiplication for InWords {
    #[inline(always)]
    fn mul<F: Field>(a: F, b: F) -> F {
        a.mul(b)
    }

    #[inline(always)]
    fn wide_mul_add<F: Field>(sum: F::Wide, a: F, b: F) -> F::Wide {
        F::wide_mul_add(sum, a, b)
    }
}

impl Multiplication for InLanes {
    #[inline(always)]
    fn mul<F: Field>(a: F, b: F) -> F {
        a.mul_in_lane(b)
    }

    #[inline(always)]
    fn wide_mul_add<F: Field>(sum: F::Wide, a: F, b: F) -> F::Wide {
        F::wide_mul_add_in_lane(sum, a, b)
    }
}

/// Drops superfluous bits; whether all elements are then reduced.
#[inline(always)]
pub(super) fn truncate<F: Field, M: Multiplication>(x: &mut [F]) -> bool {
    crate::public([x.len()]);
    let mut reduced = true;
    for x in x {
        *x = x.truncated();
        reduced &= x.is_reduced();
    }
    reduced
}

#[inline(always)]
pub(super) fn are_reduced<F: Field, M: Multiplication>(x: &[F]) -> bool {
    crate::public([x.len()]);
    x.iter().fold(true, |reduced, x| reduced & x.is_reduced())
}

#[inline(always)]
pub(super) fn add_assign<F: Field, M: Multiplication>(out: &mut [F], x: &[F]) {
    crate::public([out.len(), x.len()]);
    assert_eq!(out.len(), x.len(), "slices of one length");
    for (out, x) in out.iter_mut().zip(x) {
        *out = out.add(*x);
    }
}

#[inline(always)]
pub(super) fn sub_assign<F: Field, M: Multiplication>(out: &mut [F], x: &[F]) {
    crate::public([out.len(), x.len()]);
    assert_eq!(out.len(), x.len(), "slices of one length");
    for (out, x) in out.iter_mut().zip(x) {
        *out = out.sub(*x);
    }
}

#[inline(always)]
pub(super) fn scale_add<F: Field, M: Multiplication>(out: &mut [F], k: F, x: &[F]) {
    crate::public([out.len(), x.len()]);
    assert_eq!(out.len(), x.len(), "slices of one length");
    for (out, x) in out.iter_mut().zip(x) {
        *out = out.add(M::mul(*x, k));
    }
}

/// Elements that are doubled at a time: they stay in registers or the first-level cache.
const PAIRS: usize = 64;

#[inline(always)]
pub(super) fn scale_add_pairs<F: Field, M: Multiplication>(out: &mut [F], k: [F; 2], x: &[F]) {
    crate::public([out.len(), x.len()]);
    assert_eq!(out.len(), 2 * x.len(), "a pair for each element");
    let mut doubled = [F::ZERO; 2 * PAIRS];
    let ks: [F; 2 * PAIRS] = std::array::from_fn(|i| k[i % 2]);
    for (out, x) in out.chunks_mut(2 * PAIRS).zip(x.chunks(PAIRS)) {
        let doubled = &mut doubled[..out.len()];
        for (pair, x) in doubled.chunks_exact_mut(2).zip(x) {
            (pair[0], pair[1]) = (*x, *x);
        }
        for ((out, x), k) in out.iter_mut().zip(&*doubled).zip(&ks) {
            *out = out.add(M::mul(*x, *k));
        }
    }
}

#[inline(always)]
pub(super) fn scale_assign<F: Field, M: Multiplication>(out: &mut [F], k: F) {
    crate::public([out.len()]);
    for out in out {
        *out = M::mul(*out, k);
    }
}

#[inline(always)]
pub(super) fn mul_slices<F: Field, M: Multiplication>(out: &mut [F], x: &[F], y: &[F]) {
    crate::public([out.len(), x.len(), y.len()]);
    assert!(out.len() == x.len() && out.len() == y.len(), "slices of one length");
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = M::mul(*x, *y);
    }
}

#[inline(always)]
pub(super) fn mul_add_assign<F: Field, M: Multiplication>(out: &mut [F], x: &[F], y: &[F]) {
    crate::public([out.len(), x.len(), y.len()]);
    assert!(out.len() == x.len() && out.len() == y.len(), "slices of one length");
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = out.add(M::mul(*x, *y));
    }
}

/// Sums that are added to side by side, so that they fill vectors: four of the widest.
const SUMS: usize = 32;

#[inline(always)]
pub(super) fn sum<F: Field, M: Multiplication>(x: &[F]) -> F {
    crate::public([x.len()]);
    let mut sums = [F::ZERO; SUMS];
    let (groups, rest) = x.as_chunks::<SUMS>();
    for group in groups {
        for (sum, x) in sums.iter_mut().zip(group) {
            *sum = sum.add(*x);
        }
    }
    sums.iter().chain(rest).fold(F::ZERO, |sum, x| sum.add(*x))
}

#[inline(always)]
pub(super) fn dot<F: Field, M: Multiplication>(x: &[F], y: &[F]) -> F {
    crate::public([x.len(), y.len()]);
    assert_eq!(x.len(), y.len(), "slices of one length");
    let mut total = F::ZERO;
    // Each sum takes one product of a group and less than one of a rest.
    let part = F::WIDE_TERMS.saturating_mul(SUMS) / 2;
    for (x, y) in x.chunks(part).zip(y.chunks(part)) {
        let mut sums = [F::Wide::default(); SUMS];
        let ((xs, x), (ys, y)) = (x.as_chunks::<SUMS>(), y.as_chunks::<SUMS>());
        for (x, y) in xs.iter().zip(ys) {
            for i in 0..SUMS {
                sums[i] = M::wide_mul_add(sums[i], x[i], y[i]);
            }
        }
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum = M::wide_mul_add(*sum, *x, *y);
        }
        total = sums.iter().fold(total, |total, &sum| total.add(F::narrow(sum)));
    }
    total
}

/// Sums of products in a field.
struct InField<F, M>(PhantomData<(F, M)>);

/// Elements as long as their sums fill two registers of the widest vector unit.
pub(super) const fn strip_rows<F: Field>() -> usize {
    if size_of::<F>() == size_of::<F::Wide>() { 16 } else { 8 }
}

impl<F: Field, M: Multiplication> SumOfProducts for InField<F, M> {
    type Element = F;
    type Sum = F::Wide;
    const TERMS: usize = F::WIDE_TERMS;
    const STRIP_ROWS: usize = strip_rows::<F>();

    #[inline(always)]
    fn mul_add(sum: F::Wide, a: F, b: F) -> F::Wide {
        M::wide_mul_add(sum, a, b)
    }

    #[inline(always)]
    fn fold(sum: F::Wide) -> F::Wide {
        F::fold(sum)
    }

    #[inline(always)]
    fn finish(out: F, sum: F::Wide) -> F {
        out.add(F::narrow(sum))
    }
}

#[inline(always)]
pub(super) fn mat_vec_add<F: Field, M: Multiplication>(
    out: &mut [F],
    rows: MatrixRows<'_, F>,
    vector: &[F],
) {
    add_products::<InField<F, M>>(out, rows, vector);
}

#[inline(always)]
pub(super) fn mat_mul_blocks<F: Field, M: Multiplication>(
    out: &mut [F],
    rows: usize,
    factors: Factors<'_, F>,
) {
    add_blocks::<InField<F, M>>(out, rows, factors);
}

#[inline(always)]
pub(super) fn mat_mul_strip<F: Field, M: Multiplication, const ROWS: usize>(
    out: &mut [F],
    factors: Factors<'_, F>,
    strip: Strip,
) {
    add_strip::<InField<F, M>, ROWS>(out, factors, strip);
}
