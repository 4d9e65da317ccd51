//! Products by carry-save arrays of exclusive ors.
//!
//! With `s = a + b`, and minus `s` as its complement plus 1:
//! `2ab = sum of 2^(i + j) (a[j] XNOR b[i]) + 2^w s + ~s - 2^(2w)`.
//! Signed operands have the digits of their bits with the top one complemented, so that
//! `2a + 1 = sum of ±2^i`, and
//! `2ab = sum of 2^(i + j) (a[j] XNOR b[i]) + ~s[..w] + 2^w s[w] - 2^(2w - 1)`.
//! Column 0 holds `a[0] XNOR b[0]` and its equal `~s[0]`, which is a carry and nothing else.
//!
//! The array (Braun, "Digital Computer Design", 1963) adds a row at each step with independent full
//! adders, and in the same batch the carry that goes up along the columns that are complete.

use crate::BitAlgebra;
use crate::adder::{add_or_sub, set_propagate};
use crate::column_sum::{ColumnTerms, sum_of_columns};
use crate::rows::{row, span, take, width_of};

/// Below this many bits products of bits take fewer ANDs.
const FULL_MIN: usize = 3;
const LOW_MIN: usize = 4;

/// ANDs of [`array_full`] of unsigned operands.
pub(super) const fn full_ands(width: usize) -> u32 {
    if width < FULL_MIN { (2 * width * width - width) as u32 } else { full_signed_ands(width) }
}

/// ANDs of [`array_full`] of signed operands.
pub(super) const fn full_signed_ands(width: usize) -> u32 {
    (width * width + 2 * width - 1) as u32
}

/// ANDs of [`array_low`].
pub(super) const fn low_ands(width: usize) -> u32 {
    (if width < LOW_MIN { width * width - width + 1 } else { width * (width + 3) / 2 - 1 }) as u32
}

/// One row of digits times `digit`: bit `j` of `a` and the complement of the digit, exclusively or-ed.
fn set_row<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    digit: &[A::Wire],
    complement: &mut [A::Wire],
) {
    alg.not(complement, digit);
    let lanes = digit.len();
    for (out, a) in out.chunks_exact_mut(lanes).zip(a.chunks_exact(lanes)) {
        alg.xor(out, a, complement);
    }
}

/// The state of an array: the carry into the lowest column that is not complete, and those into
/// each column from there on.
struct Carries<'s, W> {
    ripple: &'s mut [W],
    columns: &'s mut [W],
}

/// Adds `addend` to the columns of `sum` and the carries, and the ripple to the lowest column. The
/// first `kept` wires carry; those above only have their sum.
fn add_row<A: BitAlgebra>(
    alg: &mut A,
    sum: &mut [A::Wire],
    carries: &mut Carries<'_, A::Wire>,
    (addend, kept): (&[A::Wire], usize),
    scratch: &mut [A::Wire],
) {
    let lanes = carries.ripple.len();
    let columns = &mut carries.columns[..sum.len()];
    let (x, rest) = take(scratch, sum.len() + lanes);
    let (y, rest) = take(rest, kept + lanes);
    let (product, _) = take(rest, kept + lanes);
    alg.xor(&mut x[..sum.len()], sum, columns);
    alg.xor(&mut y[..kept], &addend[..kept], &columns[..kept]);
    alg.xor(sum, &x[..sum.len()], addend);
    // A half adder more, of the lowest sum and the ripple.
    x[kept..kept + lanes].copy_from_slice(&sum[..lanes]);
    y[kept..].copy_from_slice(carries.ripple);
    alg.and(product, &x[..kept + lanes], y);
    alg.xor_assign(&mut columns[..kept], &product[..kept]);
    alg.xor_assign(&mut sum[..lanes], carries.ripple);
    carries.ripple.copy_from_slice(&product[kept..]);
}

/// Low half of a product: [`low_ands`] ANDs. Row `k` of `out` is column `k + 1`.
pub(super) fn array_low<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    if width < LOW_MIN {
        return of_bits(alg, out, [a, b], lanes, scratch);
    }
    let (s, rest) = take(scratch, a.len() + lanes);
    let (columns, rest) = take(rest, a.len());
    let (addend, rest) = take(rest, a.len());
    let (digit, rest) = take(rest, lanes);
    let (ripple, rest) = take(rest, lanes);
    add_or_sub(alg, s, a, b, false, lanes, rest);
    set_row(alg, addend, a, &b[..lanes], digit);
    ripple.copy_from_slice(&addend[..lanes]);
    out[..a.len() - lanes].copy_from_slice(&addend[lanes..]);
    out[a.len() - lanes..].copy_from_slice(&s[..lanes]);
    alg.not(columns, &s[lanes..]);
    let mut carries = Carries { ripple, columns };
    for i in 1..width {
        let sum = &mut out[(i - 1) * lanes..];
        let (kept, addend) = (sum.len() - lanes, &mut addend[..sum.len()]);
        set_row(alg, addend, a, &b[row(i, lanes)], digit);
        add_row(alg, sum, &mut carries, (addend, kept), rest);
    }
    let top = &mut out[a.len() - lanes..];
    alg.xor_assign(top, &carries.columns[..lanes]);
    alg.xor_assign(top, carries.ripple);
}

/// Full product, of at least two bits if signed: [`full_ands`] or [`full_signed_ands`] ANDs. Row `k` of `out` is column `k + 1`.
pub(super) fn array_full<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    [a, b]: [&[A::Wire]; 2],
    is_signed: bool,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    if width < FULL_MIN && !is_signed {
        return of_bits(alg, out, [a, b], lanes, scratch);
    }
    let (s, rest) = take(scratch, a.len() + lanes);
    let (columns, rest) = take(rest, a.len());
    let (addend, rest) = take(rest, a.len());
    let (spare, rest) = take(rest, 2 * lanes);
    let (digit, complement) = spare.split_at_mut(lanes);
    let (ripple, rest) = take(rest, lanes);
    let top = a.len() - lanes;
    add_or_sub(alg, s, a, b, false, lanes, rest);
    let mut set_addend = |alg: &mut A, addend: &mut [A::Wire], i: usize| {
        digit.copy_from_slice(&b[row(i, lanes)]);
        if is_signed && i + 1 == width {
            alg.not(complement, &b[row(i, lanes)]);
            digit.copy_from_slice(complement);
        }
        set_row(alg, addend, a, digit, complement);
        if is_signed {
            complement.copy_from_slice(&addend[top..]);
            alg.not(&mut addend[top..], complement);
        }
    };
    set_addend(alg, addend, 0);
    ripple.copy_from_slice(&addend[..lanes]);
    out[..top].copy_from_slice(&addend[lanes..]);
    alg.not(columns, &s[lanes..]);
    match is_signed {
        true => {
            // The sign of the sum: its carry where the signs are equal.
            let sign = &mut columns[top..];
            alg.xor(sign, &a[top..], &b[top..]);
            alg.xor_assign(sign, &s[a.len()..]);
            let (zeros, one) = out[top..2 * a.len() - lanes].split_at_mut(top);
            alg.constant(zeros, false);
            alg.constant(one, true);
        }
        false => out[top..2 * a.len() - lanes].copy_from_slice(&s[..a.len()]),
    }
    let mut carries = Carries { ripple, columns };
    for i in 1..width {
        set_addend(alg, addend, i);
        let sum = &mut out[span(i - 1..i - 1 + width, lanes)];
        add_row(alg, sum, &mut carries, (addend, a.len()), rest);
    }
    // The upper half: the sum, the carries and the ripple.
    let Carries { ripple, columns } = carries;
    let (sum, above) = out[top..].split_at_mut(a.len());
    let (x, rest) = take(rest, a.len() + lanes);
    let (propagate, rest) = take(rest, a.len());
    let (product, _) = take(rest, lanes);
    set_propagate(alg, propagate, x, sum, columns, false);
    alg.xor(&mut x[..lanes], &columns[..lanes], ripple);
    alg.xor(&mut x[lanes..a.len()], &columns[..top], &columns[lanes..]);
    x[a.len()..].copy_from_slice(&columns[top..]);
    alg.and_chain(x, propagate, product);
    alg.xor_assign(sum, &x[..a.len()]);
    alg.not(above, &x[a.len()..]);
    if !is_signed {
        alg.xor_assign(above, &s[a.len()..]);
    }
}

/// An unsigned product, or its low bits, by products of bits.
fn of_bits<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    [a, b]: [&[A::Wire]; 2],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let entries = |alg: &mut A, column: usize, entries: &mut [A::Wire]| {
        let pairs = (column.saturating_sub(width - 1)..=column).take_while(|&i| i < width);
        let mut count = 0;
        for (i, entry) in pairs.zip(entries.chunks_exact_mut(lanes)) {
            alg.and(entry, &a[row(column - i, lanes)], &b[row(i, lanes)]);
            count += 1;
        }
        count
    };
    let terms = ColumnTerms { entries_max: width, ones: |_| false, entries };
    sum_of_columns(alg, out, terms, lanes, scratch);
}
