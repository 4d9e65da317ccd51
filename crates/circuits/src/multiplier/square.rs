//! Squares: half of the exclusive ors of a product, each twice.
//!
//! From `2 a[i] a[j] = a[i] + a[j] + (a[i] XNOR a[j]) - 1`, of an unsigned `a` of `w` bits:
//! `a² = sum over i < j of 2^(i + j) (a[i] XNOR a[j]) + 2^w a + ~a - sum of 4^i`. Of a signed one, whose
//! top digit is complemented: `a² = sum of 2^(i + j) (a[i] XNOR a[j]) + ~a - sum over i < w - 1 of 4^i`,
//! with the complement of the top bit in `~a`, too. Minus a sum of `n` powers of 4 has a 1 in column 0, in
//! all odd columns, and in all columns from `2n` on.

use crate::BitAlgebra;
use crate::column_sum::{ColumnTerms, carries, sum_of_columns};
use crate::rows::{row, take, width_of};

/// A square.
#[derive(Clone, Copy)]
struct Square {
    width: usize,
    is_signed: bool,
}

impl Square {
    /// Pairs of bits in a column.
    const fn pairs(self, column: usize) -> std::ops::Range<usize> {
        // The lower index: from where the other one is a bit.
        let first = (column + 1).saturating_sub(self.width);
        first..column.div_ceil(2)
    }

    /// Whether a column has the bit of the column's own number, complemented, or the one `width` below.
    const fn bit(self, column: usize) -> Option<usize> {
        if column < self.width {
            Some(column)
        } else if !self.is_signed && column < 2 * self.width {
            Some(column - self.width)
        } else {
            None
        }
    }

    /// Whether a constant is in a column.
    const fn has_one(self, column: usize) -> bool {
        let terms = self.width - self.is_signed as usize;
        terms > 0 && (column == 0 || column % 2 == 1 || column >= 2 * terms)
    }

    const fn ands(self, columns: usize) -> usize {
        let (mut ands, mut carried, mut column) = (0, 0, 0);
        while column + 1 < columns {
            let pairs = self.pairs(column);
            let height = carried + (pairs.end - pairs.start) + self.bit(column).is_some() as usize;
            let (out, taken) = carries(height, self.has_one(column));
            ands += taken;
            carried = out;
            column += 1;
        }
        ands
    }
}

/// ANDs of [`square`] (of `width` columns), [`square_full_unsigned`] and [`square_full_signed`] (of twice as many).
pub fn square_ands(width: usize, columns: usize, is_signed: bool) -> u64 {
    Square { width, is_signed }.ands(columns) as u64
}

/// `out = a * a`, wrapping, signed or unsigned: [`square_ands`] ANDs.
pub fn square<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(a.len(), out.len(), "the low half has the width of the operand");
    low_columns(alg, out, (a, false), lanes, scratch);
}

/// `out = a * a`, unsigned, `out` twice as wide as the operand: [`square_ands`] ANDs.
pub fn square_full_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(2 * a.len(), out.len(), "the square has twice the width");
    low_columns(alg, out, (a, false), lanes, scratch);
}

/// `out = a * a`, signed, `out` twice as wide as the operand: [`square_ands`] ANDs.
pub fn square_full_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(2 * a.len(), out.len(), "the square has twice the width");
    low_columns(alg, out, (a, true), lanes, scratch);
}

fn low_columns<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    (a, is_signed): (&[A::Wire], bool),
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let square = Square { width, is_signed };
    let (spare, rest) = take(scratch, lanes);
    let is_top = |i: usize| is_signed && i + 1 == width;
    let entries = |alg: &mut A, column: usize, entries: &mut [A::Wire]| {
        let mut count = 0;
        let mut entries = entries.chunks_exact_mut(lanes);
        for i in square.pairs(column) {
            let (entry, j) = (entries.next().expect("there is space"), column - i);
            let differs = if is_top(j) { &mut *entry } else { &mut *spare };
            alg.xor(differs, &a[row(i, lanes)], &a[row(j, lanes)]);
            if !is_top(j) {
                alg.not(entry, spare);
            }
            count += 1;
        }
        if let Some(i) = square.bit(column) {
            let (entry, bit) = (entries.next().expect("there is space"), &a[row(i, lanes)]);
            match column < width && !is_top(i) {
                true => alg.not(entry, bit),
                false => entry.copy_from_slice(bit),
            }
            count += 1;
        }
        count
    };
    let ones = |column: usize| square.has_one(column);
    let terms = ColumnTerms { entries_max: width / 2 + 1, ones, entries };
    sum_of_columns(alg, out, terms, lanes, rest);
}
