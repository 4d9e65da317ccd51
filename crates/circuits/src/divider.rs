//! Non-restoring division, at the width of the partial remainder.
//!
//! After `k` quotient bits the remainder `r` has at most `k` bits. Of it only `t = r` or `t = r - d` modulo `2^k` is
//! there, whichever the quotient bit `q` leaves (Robertson, "A new class of digital division methods", 1958); the next
//! step subtracts the divisor `d` from `2t + bit` if `q`, else it adds it, modulo `2^(k + 1)`. So the low `k` bits of the
//! divisor do in step `k`, although more of them are set. The quotient bit is 1 if none is, and the low bits do not borrow.
//!
//! The borrow `B'` of step `k + 1` follows from the carry or borrow `c` out of that sum, without an AND. With `q`, it is
//! `c`. Without, let `D` and `D'` be the divisor modulo `2^k` and `2^(k + 1)`, so `D' = D + 2^k e`, and `B` the borrow of
//! step `k`, so `t = r - D + 2^k B`. Then `2t + bit + D' = (2r + bit - D') + 2^(k + 1) (e + B)`, of which the bracket is
//! what the step computes less `2^(k + 1) B'`: so `c = e + B - B'`. As `q` means that `e` and `B` are 0, always
//! `B' = c ^ e ^ B`.
//!
//! We derived this ourselves and know no publication of it. Cost: step `k` takes `k` ANDs and one for the quotient bit, the
//! ORs of the divisor's bits `w - 2`, and to restore the last remainder `2w - 1`: about `w^2 / 2`.
//!
//! Division by zero is as in RISC-V: quotient all ones (signed: -1), remainder the dividend.
//! Signed division truncates toward zero; the least value over -1 wraps to itself.

use crate::BitAlgebra;
use crate::adder::{self, abs, add_or_sub_assign, negate_if};
use crate::rows::{row, span, take, width_of};

/// ANDs for the ORs of the divisor's bits from each of 1, 2, ... up.
const fn or_chain(width: usize) -> u64 {
    width.saturating_sub(2) as u64
}

/// ANDs of [`div_unsigned`] per lane.
pub const fn div_unsigned_ands(width: usize) -> u64 {
    let steps = width * (width + 1) / 2 + width - 1;
    steps as u64 + or_chain(width)
}

/// ANDs of [`rem_unsigned`] and [`divrem_unsigned`] per lane.
pub const fn divrem_unsigned_ands(width: usize) -> u64 {
    div_unsigned_ands(width) + 2 * width as u64 - 1
}

/// ANDs of [`div_signed`] per lane: besides the unsigned division two absolute values and a
/// negation of `w - 1` each, and the test whether the divisor is zero.
pub const fn div_signed_ands(width: usize) -> u64 {
    div_unsigned_ands(width) - or_chain(width) + 4 * (width as u64 - 1) + 1
}

/// ANDs of [`rem_signed`] per lane: besides the unsigned division two absolute values and a
/// negation.
pub const fn rem_signed_ands(width: usize) -> u64 {
    divrem_unsigned_ands(width) + 3 * (width as u64 - 1)
}

/// ANDs of [`divrem_signed`] per lane.
pub const fn divrem_signed_ands(width: usize) -> u64 {
    divrem_unsigned_ands(width) - or_chain(width) + 5 * (width as u64 - 1) + 1
}

/// Scratch wires that any function of this module needs at most.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // Signed: two absolute values, quotient and remainder (4w) and a row. Division: the ORs of the
    // divisor, the working value (2w) and two rows; then a step (2w + 2), or the restored part and
    // its addition (3w), which is more unless it is narrow.
    (9 * width + 5) * lanes
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
    let (any_from, rest) = take(scratch, a.len());
    or_from_top(alg, any_from, b, if with_zero { 0 } else { 1 }, lanes, rest);
    let (value, rest) = take(rest, a.len());
    let (no_borrow, rest) = take(rest, lanes);
    let (fits, rest) = take(rest, lanes);
    value.copy_from_slice(a);
    let mut division = Division { value, quotient, divisor: b, no_borrow, width, lanes };
    for k in 1..width {
        alg.not(fits, &any_from[row(k, lanes)]);
        division.step(alg, k, Some(fits), rest);
    }
    division.step(alg, width, None, rest);
    if let Some(remainder) = remainder {
        division.restore(alg, fits, rest);
        remainder.copy_from_slice(division.value);
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
/// `value` starts as the dividend. After `k` steps its rows `width - k..width` are the remainder of the dividend's
/// top `k` bits, or that less the divisor, modulo `2^k`; the dividend's next bit lies just below, so that taking it in
/// moves nothing.
struct Division<'s, W> {
    value: &'s mut [W],
    quotient: &'s mut [W],
    divisor: &'s [W],
    /// Whether the remainder is at least the divisor modulo `2^k`.
    no_borrow: &'s mut [W],
    width: usize,
    lanes: usize,
}

impl<W: Copy + Default> Division<'_, W> {
    /// Step `k`: `k` ANDs, and one if the divisor may have bits above `k`; `fits` is where it has none.
    fn step<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        k: usize,
        fits: Option<&[W]>,
        scratch: &mut [W],
    ) {
        let (lanes, low) = (self.lanes, self.width - k);
        let (propagate, rest) = take(scratch, k * lanes);
        let (x, rest) = take(rest, (k + 1) * lanes);
        let window = &mut self.value[span(low..self.width, lanes)];
        let divisor = &self.divisor[..k * lanes];
        let is_first = k == 1;
        adder::set_propagate(alg, propagate, x, window, divisor, is_first);
        if !is_first {
            let subtract = &self.quotient[row(low + 1, lanes)];
            for row in propagate.chunks_exact_mut(lanes) {
                alg.xor_assign(row, subtract);
            }
        }
        adder::chain(alg, x, propagate, divisor, lanes, rest);
        let (x, carry) = x.split_at(k * lanes);
        alg.xor_assign(window, x);
        if is_first {
            alg.not(self.no_borrow, carry);
        } else {
            alg.xor_assign(self.no_borrow, carry);
            alg.xor_assign(self.no_borrow, &divisor[row(k - 1, lanes)]);
        }
        let bit = &mut self.quotient[row(low, lanes)];
        match fits {
            Some(fits) => alg.and(bit, self.no_borrow, fits),
            None => bit.copy_from_slice(self.no_borrow),
        }
    }

    /// After the last step: adds the divisor where the quotient bit is 0. `2w - 1` ANDs.
    fn restore<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        negative: &mut [W],
        scratch: &mut [W],
    ) {
        let (added, rest) = take(scratch, self.divisor.len());
        alg.not(negative, &self.quotient[..self.lanes]);
        alg.and(added, self.divisor, negative);
        add_or_sub_assign(alg, self.value, added, false, self.lanes, rest);
    }
}
