//! Sums of columns of bits, one column after the other, in memory for the highest column.
//!
//! Entries of column `k` have weight `2^k`. Full adders turn three of them into one there and one in the
//! next column, for one AND, all of a column in as few batches as they need; two that are left take a
//! half adder. A constant takes no AND where one entry is left, and one where two are.

use crate::BitAlgebra;
use crate::rows::{row, take};

/// What is summed.
pub(crate) struct ColumnTerms<O, E> {
    /// The most entries that a column has without carries. A column has at most as many and one carries.
    pub(crate) entries_max: usize,
    /// Whether a constant 1 is in a column.
    pub(crate) ones: O,
    /// Writes the entries of a column, a row each; returns how many.
    pub(crate) entries: E,
}

/// The carries of a column of `height` entries and perhaps a constant; and how many of them take an AND.
pub(crate) const fn carries(height: usize, has_one: bool) -> (usize, usize) {
    let carries = (height + has_one as usize) / 2;
    // A constant added to a single entry is carried by the entry itself.
    let free = has_one && height % 2 == 1;
    (carries, carries - free as usize)
}

/// `out` = the sum of all entries and constants, modulo `2^(rows of out)`.
///
/// Scratch: five rows for each of the most entries, and four.
pub(crate) fn sum_of_columns<A, O, E>(
    alg: &mut A,
    out: &mut [A::Wire],
    mut terms: ColumnTerms<O, E>,
    lanes: usize,
    scratch: &mut [A::Wire],
) where
    A: BitAlgebra,
    O: Fn(usize) -> bool,
    E: FnMut(&mut A, usize, &mut [A::Wire]) -> usize,
{
    let (entries, rest) = take(scratch, (2 * terms.entries_max + 1) * lanes);
    let (carries, rest) = take(rest, (terms.entries_max + 1) * lanes);
    let columns = out.len() / lanes;
    let mut carried = 0;
    for (column, out) in out.chunks_exact_mut(lanes).enumerate() {
        entries[..carried].copy_from_slice(&carries[..carried]);
        let more = (terms.entries)(alg, column, &mut entries[carried..]) * lanes;
        let entries = &mut entries[..carried + more];
        let has_one = (terms.ones)(column);
        if column + 1 == columns {
            return xor_all(alg, out, entries, has_one, rest);
        }
        carried = sum_column(alg, out, entries, (has_one, &mut *carries), rest);
    }
}

/// `out` = the sum of a column, and its carries; returns their wires.
fn sum_column<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    entries: &mut [A::Wire],
    (has_one, carries): (bool, &mut [A::Wire]),
    scratch: &mut [A::Wire],
) -> usize {
    let lanes = out.len();
    let (mut left, mut carried) = (entries.len(), 0);
    while left >= 3 * lanes {
        let wires = left / (3 * lanes) * lanes;
        let (a, b_and_c) = entries.split_at_mut(wires);
        let (b, c) = b_and_c.split_at(wires);
        let c = &c[..wires];
        let (x, rest) = take(scratch, wires);
        let (y, rest) = take(rest, wires);
        let (product, _) = take(rest, wires);
        // With x = a ^ c and y = b ^ c: sum = x ^ b, carry = c ^ (x & y).
        alg.xor(x, a, c);
        alg.xor(y, b, c);
        alg.and(product, x, y);
        alg.xor(a, x, b);
        alg.xor(&mut carries[carried..carried + wires], product, c);
        carried += wires;
        entries.copy_within(3 * wires..left, wires);
        left -= 2 * wires;
    }
    let carry = &mut carries[carried..];
    match (left / lanes, has_one) {
        (0, _) => {
            alg.constant(out, has_one);
            return carried;
        }
        (1, false) => {
            out.copy_from_slice(&entries[..lanes]);
            return carried;
        }
        (1, true) => {
            alg.not(out, &entries[..lanes]);
            carry[..lanes].copy_from_slice(&entries[..lanes]);
        }
        (_, false) => {
            let (a, b) = (&entries[row(0, lanes)], &entries[row(1, lanes)]);
            alg.xor(out, a, b);
            alg.and(&mut carry[..lanes], a, b);
        }
        (_, true) => {
            // The carry is a | b = a ^ b ^ ab.
            let (a, b) = (&entries[row(0, lanes)], &entries[row(1, lanes)]);
            let (sum, _) = take(scratch, lanes);
            alg.xor(sum, a, b);
            alg.not(out, sum);
            alg.and(&mut carry[..lanes], a, b);
            alg.xor_assign(&mut carry[..lanes], sum);
        }
    }
    carried + lanes
}

/// `out` = the exclusive or of the entries and the constant.
fn xor_all<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    entries: &[A::Wire],
    has_one: bool,
    scratch: &mut [A::Wire],
) {
    let (sum, _) = take(scratch, out.len());
    alg.constant(sum, has_one);
    for entry in entries.chunks_exact(out.len()) {
        alg.xor_assign(sum, entry);
    }
    out.copy_from_slice(sum);
}
