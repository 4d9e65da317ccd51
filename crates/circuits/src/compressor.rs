//! Sums of many bits of given weights with the fewest carries known.
//!
//! Column `k` holds entries of weight `2^k`, any number of them. Full adders turn three entries of
//! a column into one there and one in the next, for one AND (Wallace, "A suggestion for a fast
//! multiplier", 1964; the count is Boyar and Peralta's, see [`and_count`]). Each layer adds all
//! triples of all columns in one batch; when every column has at most two entries left, a ripple
//! ends it. At most one half adder is used per column, so no carry is made in vain.
//!
//! Entries are rows of `lanes` wires, column after column. The sum is modulo `2^width_out`.

use crate::BitAlgebra;
use crate::rows::{copy_row, row, take, width_of};

/// The most columns a sum can have: a product of two 256-bit values.
pub(crate) const COLUMNS_MAX: usize = 2 * 256;

/// The number of entries in each column.
pub(crate) struct Heights([u32; COLUMNS_MAX]);

impl Heights {
    pub(crate) const fn new() -> Self {
        Heights([0; COLUMNS_MAX])
    }

    pub(crate) fn set(&mut self, column: usize, height: usize) {
        self.0[column] = u32::try_from(height).expect("a column has fewer than 2^32 entries");
    }

    fn of(&self, column: usize) -> usize {
        self.0[column] as usize
    }

    fn total(&self, columns: usize) -> usize {
        (0..columns).map(|k| self.of(k)).sum()
    }
}

/// Scratch wires that [`sum`] needs for `entries` entries in all.
pub(crate) const fn scratch_wires(entries: usize, lanes: usize) -> usize {
    // The next layer's columns; three rows for each of at most entries / 3 full adders; and at
    // least the four rows of the ripple.
    (entries + 3 * (entries / 3) + 4) * lanes
}

/// ANDs of a sum of columns into `columns` bits: from column `k` with `h` entries and `c` carries
/// coming in leave `floor((h + c) / 2)` carries at one AND each; the top column has none.
pub(crate) const fn and_count(heights: &Heights, columns: usize) -> usize {
    let (mut ands, mut carries, mut k) = (0, 0, 0);
    while k + 1 < columns {
        carries = (heights.0[k] as usize + carries) / 2;
        ands += carries;
        k += 1;
    }
    ands
}

/// `out` = the sum of all entries modulo `2^(rows of out)`: [`and_count`] ANDs.
///
/// `entries` holds the columns one after the other and is overwritten, like `heights`.
pub(crate) fn sum<'w, A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    entries: &'w mut [A::Wire],
    heights: &mut Heights,
    lanes: usize,
    scratch: &'w mut [A::Wire],
) {
    let columns = width_of(out.len(), lanes);
    let wires = heights.total(columns) * lanes;
    assert_eq!(entries.len(), wires, "the entries are those of the columns of the sum");
    let (mut next, rest) = take(scratch, wires);
    let mut current = entries;
    while (0..columns - 1).any(|k| heights.of(k) >= 3) {
        add_triples(alg, current, next, heights, columns, lanes, rest);
        std::mem::swap(&mut current, &mut next);
    }
    ripple(alg, out, current, heights, lanes, rest);
}

/// One layer: full adders on all triples below the top column.
fn add_triples<A: BitAlgebra>(
    alg: &mut A,
    current: &[A::Wire],
    next: &mut [A::Wire],
    heights: &mut Heights,
    columns: usize,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let triples_of = |height: usize, k: usize| if k + 1 < columns { height / 3 } else { 0 };
    let triples: usize = (0..columns).map(|k| triples_of(heights.of(k), k)).sum();
    let (x, rest) = take(scratch, triples * lanes);
    let (y, rest) = take(rest, triples * lanes);
    let (product, _) = take(rest, triples * lanes);

    // With x = a ^ c and y = b ^ c: sum = x ^ b, carry = c ^ (x & y).
    let (mut from, mut at) = (0, 0);
    for k in 0..columns {
        let wires = triples_of(heights.of(k), k) * lanes;
        if wires > 0 {
            let [a, b, c] = thirds(&current[from..from + 3 * wires]);
            alg.xor(&mut x[at..at + wires], a, c);
            alg.xor(&mut y[at..at + wires], b, c);
        }
        from += heights.of(k) * lanes;
        at += wires;
    }
    alg.and(product, x, y);

    // A column becomes: its sums, what was left over, the carries from below.
    let (mut from, mut to, mut at) = (0, 0, 0);
    let (mut carries, mut carried): (usize, &[A::Wire]) = (0, &[]);
    for k in 0..columns {
        let height = heights.of(k);
        let wires = triples_of(height, k) * lanes;
        let (triple, left) = current[from..from + height * lanes].split_at(3 * wires);
        let [_, b, c] = thirds(triple);
        let (sums, next) = next[to..].split_at_mut(wires);
        let (kept, next) = next.split_at_mut(left.len());
        if wires > 0 {
            alg.xor(sums, &x[at..at + wires], b);
        }
        kept.copy_from_slice(left);
        if carries > 0 {
            alg.xor(&mut next[..carries], carried, &product[at - carries..at]);
        }
        let remaining = wires + left.len() + carries;
        heights.set(k, remaining / lanes);
        from += height * lanes;
        to += remaining;
        at += wires;
        (carries, carried) = (wires, c);
    }
}

fn thirds<W>(wires: &[W]) -> [&[W]; 3] {
    let (a, rest) = wires.split_at(wires.len() / 3);
    let (b, c) = rest.split_at(a.len());
    [a, b, c]
}

/// Adds columns of at most two entries (any number in the top one), lowest first.
fn ripple<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    entries: &[A::Wire],
    heights: &Heights,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (carry, rest) = take(scratch, lanes);
    let (x, rest) = take(rest, lanes);
    let (y, rest) = take(rest, lanes);
    let (product, _) = take(rest, lanes);
    let top = out.len() / lanes - 1;
    let (mut from, mut has_carry) = (0, false);
    for k in 0..=top {
        let (height, out) = (heights.of(k), &mut out[row(k, lanes)]);
        let column = &entries[from..from + height * lanes];
        from += height * lanes;
        if k == top || height + usize::from(has_carry) < 2 {
            xor_all(alg, out, column, has_carry.then_some(&*carry), lanes);
            has_carry = false;
            continue;
        }
        let (first, second) = column.split_at(lanes);
        match (height, has_carry) {
            (1, true) => {
                alg.xor(out, first, carry);
                alg.and(product, first, carry);
                copy_row(carry, product);
            }
            (2, false) => {
                alg.xor(out, first, second);
                alg.and(carry, first, second);
            }
            _ => {
                alg.xor(x, first, carry);
                alg.xor(y, second, carry);
                alg.and(product, x, y);
                alg.xor(out, x, second);
                alg.xor_assign(carry, product);
            }
        }
        has_carry = true;
    }
}

/// `out` = the XOR of the rows of `column` and of `carry`; zero when there is none.
fn xor_all<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    column: &[A::Wire],
    carry: Option<&[A::Wire]>,
    lanes: usize,
) {
    let mut empty = true;
    for row in column.chunks_exact(lanes).chain(carry) {
        if empty {
            copy_row(out, row);
        } else {
            alg.xor_assign(out, row);
        }
        empty = false;
    }
    if empty {
        alg.constant(out, false);
    }
}
