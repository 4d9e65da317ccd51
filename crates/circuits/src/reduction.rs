//! Reductions: over the bits of a value, and over lanes.
//!
//! Trees over halves, so that each level is one batch. Counting and sums over lanes go through
//! the compressor (`compressor`), which uses the fewest carries known.

use crate::BitAlgebra;
use crate::compressor::{self, Heights};
use crate::rows::{row, take, width_of};

/// Scratch wires that any function of this module needs at most, for an input of `width` bits.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // Sums: the columns, then what summing them needs: 1 + 1 + 1 times the input and four rows.
    // This is also enough for `lane_or`: three times the input and a row of `width` wires.
    let columns = width * lanes;
    let wide_rows = columns + compressor::scratch_wires(width, lanes);
    let single_wires = columns + compressor::scratch_wires(columns, 1);
    (if wide_rows > single_wires { wide_rows } else { single_wires }) + width + lanes
}

/// `out = a[0] & a[1] & ...` over the bits of each lane, one row: `w - 1` ANDs.
pub fn and_reduce<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (work, rest) = take(scratch, a.len());
    let (spare, _) = take(rest, a.len());
    work.copy_from_slice(a);
    and_reduce_in_place(alg, out, work, spare, lanes);
}

/// `out = a[0] | a[1] | ...` over the bits of each lane, one row: `w - 1` ANDs.
pub fn or_reduce<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (work, rest) = take(scratch, a.len());
    let (spare, rest) = take(rest, a.len());
    let (all_zero, _) = take(rest, lanes);
    alg.not(work, a);
    and_reduce_in_place(alg, all_zero, work, spare, lanes);
    alg.not(out, all_zero);
}

/// `out = a[0] ^ a[1] ^ ...` over the bits of each lane, one row: free.
pub fn xor_reduce<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], a: &[A::Wire], lanes: usize) {
    out.copy_from_slice(&a[..lanes]);
    for row in a[lanes..].chunks_exact(lanes) {
        alg.xor_assign(out, row);
    }
}

/// `out` = the number of ones of `a`; `out` may have any width (wrapping, or zeros on top).
///
/// `w - ones(w)` ANDs when `out` has all bits that the number can have, `ones(w)` the number
/// of ones of `w` in binary: Boyar, Peralta, "Tight bounds for the multiplicative complexity of
/// symmetric functions", Theoretical Computer Science 396, 2008.
pub fn popcount<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let mut heights = Heights::new();
    heights.set(0, width_of(a.len(), lanes));
    let (entries, rest) = take(scratch, a.len());
    entries.copy_from_slice(a);
    compressor::sum(alg, out, entries, &mut heights, lanes, rest);
}

/// `out` = the number of zeros above the highest one of `a` (`w` when `a` is zero); `out` may have
/// any width (wrapping, or zeros on top): `w - 1` ANDs.
///
/// The OR of all bits from the top down to each bit costs one AND per bit; the step in this
/// thermometer code is one-hot, so that encoding it in binary is XORs only.
pub fn leading_zeros<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let (seen, rest) = take(scratch, a.len());
    let (product, _) = take(rest, lanes);
    // seen[k]: a one among the top k + 1 bits.
    seen[row(0, lanes)].copy_from_slice(&a[row(width - 1, lanes)]);
    for k in 1..width {
        let (before, now) = seen.split_at_mut(k * lanes);
        let (before, now) = (&before[row(k - 1, lanes)], &mut now[..lanes]);
        let bit = &a[row(width - 1 - k, lanes)];
        alg.and(product, before, bit);
        alg.xor(now, before, bit);
        alg.xor_assign(now, product);
    }
    // Exactly z leading zeros: seen[z] & !seen[z - 1] = seen[z] ^ seen[z - 1], with seen[-1] = 0
    // and seen[w] = 1. Summing over the z with bit j set, the runs of such z telescope.
    for (j, out) in out.chunks_exact_mut(lanes).enumerate() {
        alg.constant(out, false);
        let bit_of = |z: usize| j < usize::BITS as usize && z >> j & 1 == 1;
        for z in 0..width {
            if bit_of(z) != bit_of(z + 1) {
                alg.xor_assign(out, &seen[row(z, lanes)]);
            }
        }
        if bit_of(width) {
            alg.constant(product, true);
            alg.xor_assign(out, product);
        }
    }
}

/// `out` = the sum of all lanes of `a` modulo `2^width_out`; `out` has one lane, `width_out` rows.
///
/// [`lane_sum_ands`] ANDs: the sum over all columns `k < width_out - 1` of the carries `c(k)` that
/// leave them, `c(k) = floor((n + c(k - 1)) / 2)` for `k < w` and `floor(c(k - 1) / 2)` above.
pub fn lane_sum<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let columns = width_of(a.len(), lanes).min(out.len());
    let mut heights = Heights::new();
    for column in 0..columns {
        heights.set(column, lanes);
    }
    let (entries, rest) = take(scratch, columns * lanes);
    entries.copy_from_slice(&a[..columns * lanes]);
    compressor::sum(alg, out, entries, &mut heights, 1, rest);
}

/// ANDs of [`lane_sum`] of `lanes` lanes of `width` bits into `width_out` bits.
pub fn lane_sum_ands(width: usize, width_out: usize, lanes: usize) -> u64 {
    let mut heights = Heights::new();
    for column in 0..width.min(width_out) {
        heights.set(column, lanes);
    }
    compressor::and_count(&heights, width_out) as u64
}

/// `out` = the XOR of all lanes of `a`; `out` has one lane: free.
pub fn lane_xor<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (work, _) = take(scratch, lanes);
    for (out, row) in out.iter_mut().zip(a.chunks_exact(lanes)) {
        work.copy_from_slice(row);
        let mut count = lanes;
        while count > 1 {
            // The upper half meets the lower half; an odd one in the middle waits.
            let half = count / 2;
            let (low, high) = work[..count].split_at_mut(count - half);
            alg.xor_assign(&mut low[..half], high);
            count -= half;
        }
        *out = work[0];
    }
}

/// `out` = the AND of all lanes of `a`; `out` has one lane: `w * (n - 1)` ANDs.
pub fn lane_and<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let (work, rest) = take(scratch, a.len());
    let (spare, _) = take(rest, a.len());
    // Lane-major: the lanes of a value become the rows of a tree over `width` lanes.
    for (i, row) in a.chunks_exact(lanes).enumerate() {
        for (j, &wire) in row.iter().enumerate() {
            work[j * width + i] = wire;
        }
    }
    and_reduce_in_place(alg, out, work, spare, width);
}

/// `out` = the OR of all lanes of `a`; `out` has one lane: `w * (n - 1)` ANDs.
pub fn lane_or<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (complement, rest) = take(scratch, a.len());
    let (all_zero, rest) = take(rest, out.len());
    alg.not(complement, a);
    lane_and(alg, all_zero, complement, lanes, rest);
    alg.not(out, all_zero);
}

/// `out` = the AND of the rows of `work`, which is overwritten like `spare` (as long as `work`).
pub(crate) fn and_reduce_in_place<'w, A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    mut work: &'w mut [A::Wire],
    mut spare: &'w mut [A::Wire],
    lanes: usize,
) {
    let mut rows = width_of(work.len(), lanes);
    while rows > 1 {
        let half = rows / 2;
        let (low, high) = work[..rows * lanes].split_at((rows - half) * lanes);
        alg.and(&mut spare[..half * lanes], &low[..half * lanes], high);
        let middle = half * lanes..(rows - half) * lanes;
        spare[middle.clone()].copy_from_slice(&low[middle]);
        rows -= half;
        std::mem::swap(&mut work, &mut spare);
    }
    out.copy_from_slice(&work[..lanes]);
}
