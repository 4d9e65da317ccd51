//! Division: restoring where the partial remainder is short, non-restoring in blocks after.
//!
//! After `k` quotient bits the remainder has at most `k` bits, so it is compared with the low `k`
//! bits of the divisor only, and with the OR of the others: a restoring step costs `2k + 1`. A
//! non-restoring step on `k` bits (Robertson, "A new class of digital division methods", 1958)
//! costs `k`, but needs one fixed width: in a block of steps the divisor is cut to the width at the
//! block's end and replaced by zero if that loses a bit, so that the block changes nothing; then
//! its quotient bits are cleared. The remainder is restored once per block. Which steps form
//! blocks is decided by tables computed from the counts: about `0.6 w²` to `0.8 w²` ANDs for
//! 256 to 32 bits where plain restoring needs `2w²`.
//!
//! Division by zero is as in RISC-V: quotient all ones (signed: -1), remainder the dividend.
//! Signed division truncates toward zero; the least value over -1 wraps to itself.

use crate::BitAlgebra;
use crate::adder::{self, abs, add_or_sub_assign, negate_if};
use crate::rows::{row, span, take, width_of};

/// The widest operand.
pub const WIDTH_MAX: usize = 256;

/// Costs of [`divide`] by width, and the choices that lead to them.
struct DividerCosts {
    /// ANDs to reach the exact remainder of the top `k` bits.
    prefix: [u32; WIDTH_MAX + 1],
    /// Where the last block or step before that begins.
    start: [u16; WIDTH_MAX + 1],
    /// ANDs of a quotient, with or without remainder, and where its last block begins.
    quotient: [u32; WIDTH_MAX + 1],
    quotient_start: [u16; WIDTH_MAX + 1],
    remainder: [u32; WIDTH_MAX + 1],
    remainder_start: [u16; WIDTH_MAX + 1],
}

static COSTS: DividerCosts = costs();

const fn costs() -> DividerCosts {
    const NONE: [u32; WIDTH_MAX + 1] = [0; WIDTH_MAX + 1];
    const ZERO: [u16; WIDTH_MAX + 1] = [0; WIDTH_MAX + 1];
    let mut costs = DividerCosts {
        prefix: NONE,
        start: ZERO,
        quotient: NONE,
        quotient_start: ZERO,
        remainder: NONE,
        remainder_start: ZERO,
    };
    let mut k = 1;
    while k <= WIDTH_MAX {
        // A restoring step: k to subtract, 1 for the quotient bit, k to select.
        let mut best = costs.prefix[k - 1] + 2 * k as u32 + 1;
        let mut start = k - 1;
        // The final block has the whole divisor: no OR, no masks.
        let mut quotient = u32::MAX;
        let mut remainder = costs.prefix[k - 1] + or_chain(k, k - 1) + 2 * k as u32;
        let mut remainder_start = k - 1;
        let mut s = 0;
        while s < k {
            let steps = (k - s) as u32;
            let width = k as u32;
            // A block: mask the divisor, the steps, mask the quotient bits, restore (2k - 1).
            let block = costs.prefix[s] + width + steps * width + steps + 2 * width - 1;
            if block < best {
                best = block;
                start = s;
            }
            let last = costs.prefix[s] + or_chain(k, s) + steps * width;
            if last < quotient {
                quotient = last;
                costs.quotient_start[k] = s as u16;
            }
            if last + 2 * width - 1 < remainder {
                remainder = last + 2 * width - 1;
                remainder_start = s;
            }
            s += 1;
        }
        costs.prefix[k] = best;
        costs.start[k] = start as u16;
        costs.quotient[k] = quotient;
        costs.remainder[k] = remainder;
        costs.remainder_start[k] = remainder_start as u16;
        k += 1;
    }
    costs
}

/// ANDs for the ORs of the divisor's bits from each of 1, 2, ... up, if any block needs them.
const fn or_chain(width: usize, last_start: usize) -> u32 {
    if last_start == 0 || width < 2 { 0 } else { width as u32 - 2 }
}

/// ANDs of [`div_unsigned`] per lane.
pub fn div_unsigned_ands(width: usize) -> u64 {
    u64::from(COSTS.quotient[width])
}

/// ANDs of [`rem_unsigned`] and [`divrem_unsigned`] per lane.
pub fn divrem_unsigned_ands(width: usize) -> u64 {
    u64::from(COSTS.remainder[width])
}

/// ANDs of [`div_signed`] per lane: besides the unsigned division two absolute values and a
/// negation of `w - 1` each, and the test whether the divisor is zero.
pub fn div_signed_ands(width: usize) -> u64 {
    let or_chain = or_chain(width, usize::from(COSTS.quotient_start[width]));
    div_unsigned_ands(width) - u64::from(or_chain) + 4 * (width as u64 - 1) + 1
}

/// ANDs of [`rem_signed`] per lane: besides the unsigned division two absolute values and a
/// negation.
pub fn rem_signed_ands(width: usize) -> u64 {
    divrem_unsigned_ands(width) + 3 * (width as u64 - 1)
}

/// ANDs of [`divrem_signed`] per lane.
pub fn divrem_signed_ands(width: usize) -> u64 {
    let or_chain = or_chain(width, usize::from(COSTS.remainder_start[width]));
    divrem_unsigned_ands(width) - u64::from(or_chain) + 5 * (width as u64 - 1) + 1
}

/// Scratch wires that any function of this module needs at most.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // Signed: two absolute values, quotient and remainder (4w) and a row. Division: the working
    // value (2w), the ORs of the divisor, the masked divisor and a row; then the restored part
    // and its addition (3w + 1), more than the two chains of a step (2w + 3) or a cleared
    // quotient.
    (11 * width + 8) * lanes
}

/// `out = a / b`, unsigned; all ones where `b` is zero: [`div_unsigned_ands`] ANDs.
pub fn div_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    divide(alg, out, None, [a, b], false, lanes, scratch);
}

/// `out = a % b`, unsigned; `a` where `b` is zero: [`divrem_unsigned_ands`] ANDs.
pub fn rem_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (quotient, rest) = take(scratch, a.len());
    divide(alg, quotient, Some(out), [a, b], false, lanes, rest);
}

/// `(quotient, remainder) = (a / b, a % b)`, unsigned: [`divrem_unsigned_ands`] ANDs.
pub fn divrem_unsigned<A: BitAlgebra>(
    alg: &mut A,
    quotient: &mut [A::Wire],
    remainder: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    divide(alg, quotient, Some(remainder), [a, b], false, lanes, scratch);
}

/// `out = a / b`, signed, truncating toward zero; -1 where `b` is zero: [`div_signed_ands`] ANDs.
pub fn div_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    divide_signed(alg, Some(out), None, [a, b], lanes, scratch);
}

/// `out = a % b`, signed, with the sign of `a`; `a` where `b` is zero: [`rem_signed_ands`] ANDs.
pub fn rem_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    divide_signed(alg, None, Some(out), [a, b], lanes, scratch);
}

/// `(quotient, remainder) = (a / b, a % b)`, signed: [`divrem_signed_ands`] ANDs.
pub fn divrem_signed<A: BitAlgebra>(
    alg: &mut A,
    quotient: &mut [A::Wire],
    remainder: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    divide_signed(alg, Some(quotient), Some(remainder), [a, b], lanes, scratch);
}

fn divide_signed<A: BitAlgebra>(
    alg: &mut A,
    quotient: Option<&mut [A::Wire]>,
    remainder: Option<&mut [A::Wire]>,
    [a, b]: [&[A::Wire]; 2],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let top = a.len() - lanes..a.len();
    let (a_abs, rest) = take(scratch, a.len());
    let (b_abs, rest) = take(rest, a.len());
    let (quotient_abs, rest) = take(rest, a.len());
    let (remainder_abs, rest) = take(rest, a.len());
    let (negative, rest) = take(rest, lanes);
    abs(alg, a_abs, a, lanes, rest);
    abs(alg, b_abs, b, lanes, rest);
    let wanted = remainder.is_some().then_some(&mut *remainder_abs);
    let with_zero = quotient.is_some();
    let nonzero = divide(alg, quotient_abs, wanted, [a_abs, b_abs], with_zero, lanes, rest);
    if let Some(quotient) = quotient {
        // Over zero the quotient is all ones whatever the signs: never negated.
        let signs = &mut quotient[..lanes];
        alg.xor(signs, &a[top.clone()], &b[top.clone()]);
        alg.and(negative, signs, nonzero);
        negate_if(alg, quotient, negative, quotient_abs, rest);
    }
    if let Some(remainder) = remainder {
        negate_if(alg, remainder, &a[top], remainder_abs, rest);
    }
}

/// Divides unsigned. With `with_zero` it also tells where the divisor is not zero, in the row of
/// scratch it returns (empty otherwise).
fn divide<'s, A: BitAlgebra>(
    alg: &mut A,
    quotient: &mut [A::Wire],
    remainder: Option<&mut [A::Wire]>,
    [a, b]: [&[A::Wire]; 2],
    with_zero: bool,
    lanes: usize,
    scratch: &'s mut [A::Wire],
) -> &'s [A::Wire] {
    let width = width_of(a.len(), lanes);
    let [a_len, b_len, q_len] = [a.len(), b.len(), quotient.len()];
    assert!(a_len == b_len && a_len == q_len, "quotient and operands have equal widths");
    let starts = if remainder.is_some() { &COSTS.remainder_start } else { &COSTS.quotient_start };
    let last = usize::from(starts[width]);
    let (any_from, rest) = take(scratch, a.len());
    let lowest = if with_zero { 0 } else { 1 };
    if last > 0 || with_zero {
        or_from_top(alg, any_from, b, lowest, lanes, rest);
    }
    let (value, rest) = take(rest, 2 * a.len());
    value[..a.len()].copy_from_slice(a);
    let mut division = Division { value, quotient, divisor: b, any_from, width, lanes };

    // The blocks before the last one, found from their ends.
    let mut ends = [0; WIDTH_MAX + 1];
    let (mut count, mut end) = (0, last);
    while end > 0 {
        ends[count] = end;
        count += 1;
        end = usize::from(COSTS.start[end]);
    }
    for &end in ends[..count].iter().rev() {
        let start = usize::from(COSTS.start[end]);
        // One step alone is cheaper restoring.
        if start + 1 == end {
            division.restoring_step(alg, end, rest);
        } else {
            division.block(alg, start..end, true, rest);
        }
    }
    match remainder {
        // Here one restoring step costs 2w, a block of one step with restoring 3w - 1.
        Some(_) if last + 1 == width => division.restoring_step(alg, width, rest),
        _ => division.block(alg, last..width, remainder.is_some(), rest),
    }
    if let Some(remainder) = remainder {
        remainder.copy_from_slice(&division.value[..a.len()]);
    }
    if with_zero { &any_from[..lanes] } else { &[] }
}

/// Row `k` of `out` = the OR of the rows `k..` of `a`, for `k >= lowest`: `w - 1 - lowest` ANDs.
fn or_from_top<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lowest: usize,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (product, _) = take(scratch, lanes);
    let top = a.len() - lanes;
    out[top..].copy_from_slice(&a[top..]);
    for k in (lowest..top / lanes).rev() {
        let (below, above) = out.split_at_mut((k + 1) * lanes);
        let (now, bit) = (&mut below[row(k, lanes)], &a[row(k, lanes)]);
        alg.and(product, &above[..lanes], bit);
        alg.xor(now, &above[..lanes], bit);
        alg.xor_assign(now, product);
    }
}

/// A division in progress.
///
/// `value` starts as the dividend. After `k` steps its rows `width - k..width` are the remainder
/// of the dividend's top `k` bits; the dividend's next bit lies just below, so that taking it in
/// moves nothing. Rows above `width` serve the blocks.
struct Division<'s, W> {
    value: &'s mut [W],
    quotient: &'s mut [W],
    divisor: &'s [W],
    any_from: &'s [W],
    width: usize,
    lanes: usize,
}

impl<W: Copy + Default> Division<'_, W> {
    /// Step `k`, leaving the exact remainder: `2k + 1` ANDs, or `2k` for the last one.
    fn restoring_step<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        k: usize,
        scratch: &mut [W],
    ) {
        let lanes = self.lanes;
        let (propagate, rest) = take(scratch, k * lanes);
        let (x, rest) = take(rest, (k + 1) * lanes);
        let value = &mut self.value[span(self.width - k..self.width, lanes)];
        let divisor = &self.divisor[..k * lanes];
        adder::set_propagate(alg, propagate, x, value, divisor, true);
        adder::chain(alg, x, propagate, divisor, lanes, rest);
        let (x, borrow) = x.split_at(k * lanes);

        let bit = &mut self.quotient[row(self.width - k, lanes)];
        alg.not(bit, borrow);
        if k < self.width {
            let (fits, rest) = take(rest, lanes);
            let (both, _) = take(rest, lanes);
            alg.not(fits, &self.any_from[row(k, lanes)]);
            alg.and(both, bit, fits);
            bit.copy_from_slice(both);
        }
        // The difference is value ^ x.
        alg.and(propagate, x, bit);
        alg.xor_assign(value, propagate);
    }

    /// Steps `steps.start + 1..=steps.end` without restoring in between. Every block but the last
    /// must `restore`.
    fn block<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        steps: std::ops::Range<usize>,
        restore: bool,
        scratch: &mut [W],
    ) {
        let (width, lanes, end) = (self.width, self.lanes, steps.end);
        let (fits, rest) = take(scratch, lanes);
        let (masked, rest) = take(rest, end * lanes);
        let divisor = if end < width {
            alg.not(fits, &self.any_from[row(end, lanes)]);
            alg.and(masked, &self.divisor[..end * lanes], fits);
            &*masked
        } else {
            self.divisor
        };
        alg.constant(&mut self.value[span(width..width + steps.len(), lanes)], false);
        for k in steps.start + 1..=end {
            // The value before has its sign in the row just above this window.
            let low = width - k;
            let window = &mut self.value[span(low..low + end + 1, lanes)];
            if k == steps.start + 1 {
                add_or_sub_assign(alg, window, divisor, true, lanes, rest);
            } else {
                let subtract = &self.quotient[row(low + 1, lanes)];
                adder::add_or_sub_assign_if(alg, window, divisor, subtract, rest);
            }
            let bit = &mut self.quotient[row(low, lanes)];
            alg.not(bit, &window[end * lanes..]);
        }
        if end < width {
            let bits = &mut self.quotient[span(width - end..width - steps.start, lanes)];
            let (cleared, _) = take(rest, bits.len());
            alg.and(cleared, bits, fits);
            bits.copy_from_slice(cleared);
        }
        if restore {
            let (value, negative) = self.value.split_at_mut(width * lanes);
            let (added, rest) = take(rest, end * lanes);
            alg.and(added, divisor, &negative[..lanes]);
            let remainder = &mut value[span(width - end..width, lanes)];
            add_or_sub_assign(alg, remainder, added, false, lanes, rest);
        }
    }
}
