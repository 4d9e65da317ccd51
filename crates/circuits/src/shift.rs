//! Shifts, rotations and changes of width.
//!
//! By public amounts these only rename wires. By secret amounts: a barrel of one conditional
//! shift per bit of the amount, each one batch of ANDs. A conditional rotation by `s` needs no
//! AND for one element of each of its `gcd(w, s)` cycles: the differences along a cycle sum to
//! zero, so the last product is the XOR of the others.

use crate::BitAlgebra;
use crate::reduction::or_reduce;
use crate::rows::{span, take, width_of};

/// Scratch wires that any function of this module needs at most, for amounts of `amount_width`
/// bits.
pub const fn scratch_wires(width: usize, amount_width: usize, lanes: usize) -> usize {
    // A value, two products of it; the test for too large amounts (see `or_reduce`) and its row.
    (3 * width + 2 * amount_width + 3) * lanes
}

/// Bits that enter at the open end of a shift.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShiftDirection {
    Left,
    Right { signed: bool },
}

/// `out = a << amount` by a public amount; zero from `w` on: free.
pub fn shl_const<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: usize,
    lanes: usize,
) {
    let moved = amount.min(width_of(a.len(), lanes)) * lanes;
    out[moved..].copy_from_slice(&a[..a.len() - moved]);
    alg.constant(&mut out[..moved], false);
}

/// `out = a >> amount` by a public amount, zeros coming in: free.
pub fn shr_const<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: usize,
    lanes: usize,
) {
    let moved = amount.min(width_of(a.len(), lanes)) * lanes;
    let kept = a.len() - moved;
    out[..kept].copy_from_slice(&a[moved..]);
    alg.constant(&mut out[kept..], false);
}

/// `out = a >> amount` by a public amount, copies of the sign coming in: free.
pub fn sar_const<W: Copy>(out: &mut [W], a: &[W], amount: usize, lanes: usize) {
    let moved = amount.min(width_of(a.len(), lanes) - 1) * lanes;
    cast_signed(out, &a[moved..], lanes);
}

/// `out = a` rotated left by a public amount (modulo `w`): free.
pub fn rotl_const<W: Copy>(out: &mut [W], a: &[W], amount: usize, lanes: usize) {
    let moved = amount % width_of(a.len(), lanes) * lanes;
    let (low, high) = a.split_at(a.len() - moved);
    out[moved..].copy_from_slice(low);
    out[..moved].copy_from_slice(high);
}

/// `out = a`, zero-extended or truncated to the rows of `out`: free.
pub fn cast_unsigned<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], a: &[A::Wire]) {
    let common = a.len().min(out.len());
    out[..common].copy_from_slice(&a[..common]);
    alg.constant(&mut out[common..], false);
}

/// `out = a`, sign-extended or truncated to the rows of `out`: free.
pub fn cast_signed<W: Copy>(out: &mut [W], a: &[W], lanes: usize) {
    let common = a.len().min(out.len());
    out[..common].copy_from_slice(&a[..common]);
    for row in out[common..].chunks_exact_mut(lanes) {
        row.copy_from_slice(&a[a.len() - lanes..]);
    }
}

/// `out = a << amount` by a secret unsigned amount; zero from `w` on.
///
/// With `L = ceil(log2 w)` and `v` bits in the amount: `w * min(v, L)` ANDs, and `w + v - L - 1`
/// more if `v > L`.
pub fn shl<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    barrel(alg, out, a, amount, ShiftDirection::Left, lanes, scratch);
}

/// `out = a >> amount` by a secret unsigned amount, zeros coming in: the cost of [`shl`].
pub fn shr<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    barrel(alg, out, a, amount, ShiftDirection::Right { signed: false }, lanes, scratch);
}

/// `out = a >> amount` by a secret unsigned amount, copies of the sign coming in.
///
/// The cost of [`shl`] with `w - 1` in place of `w`: the sign never changes.
pub fn sar<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    barrel(alg, out, a, amount, ShiftDirection::Right { signed: true }, lanes, scratch);
}

/// `out = a` rotated left by a secret unsigned amount (modulo `w`): the sum over the bits `k` of
/// the amount of `w - gcd(w, 2^k mod w)` ANDs; `w * L - (w - 1)` for `w = 2^L` and `v >= L`.
pub fn rotl<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let (rotated, rest) = take(scratch, a.len());
    let (product, _) = take(rest, a.len());
    out.copy_from_slice(a);
    let mut step = 1 % width;
    for bit in amount.chunks_exact(lanes) {
        if step != 0 {
            rotl_const(rotated, out, step, lanes);
            alg.xor_assign(rotated, out);
            // Rows with equal remainder modulo the number of cycles form a cycle.
            let cycles = greatest_common_divisor(width, step);
            let (last, others) = product.split_at_mut(cycles * lanes);
            alg.and(others, &rotated[span(cycles..width, lanes)], bit);
            last.copy_from_slice(&others[..last.len()]);
            for block in others.chunks_exact(last.len()).skip(1) {
                alg.xor_assign(last, block);
            }
            alg.xor_assign(out, product);
        }
        step = step * 2 % width;
    }
}

fn barrel<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    amount: &[A::Wire],
    direction: ShiftDirection,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    // Shifts by 2^k >= w leave nothing: those bits are ORed into one.
    let stages = (width.next_power_of_two().ilog2() as usize).min(amount.len() / lanes);
    let (used, too_large) = amount.split_at(stages * lanes);
    let (difference, rest) = take(scratch, a.len());
    let (product, rest) = take(rest, a.len());
    out.copy_from_slice(a);
    for (k, bit) in used.chunks_exact(lanes).enumerate() {
        let changed = stage(alg, difference, out, (1 << k) * lanes, direction, lanes);
        alg.and(&mut product[..changed], &difference[..changed], bit);
        alg.xor_assign(&mut out[..changed], &product[..changed]);
    }
    if !too_large.is_empty() {
        let (any, rest) = take(rest, lanes);
        or_reduce(alg, any, too_large, lanes, rest);
        let changed = stage(alg, difference, out, a.len(), direction, lanes);
        if changed > 0 {
            alg.and(&mut product[..changed], &difference[..changed], any);
            alg.xor_assign(&mut out[..changed], &product[..changed]);
        }
    }
}

/// `difference = value ^ (value shifted by moved wires)`; returns how many wires can change.
fn stage<A: BitAlgebra>(
    alg: &mut A,
    difference: &mut [A::Wire],
    value: &[A::Wire],
    moved: usize,
    direction: ShiftDirection,
    lanes: usize,
) -> usize {
    let wires = value.len();
    match direction {
        ShiftDirection::Left => {
            alg.xor(&mut difference[moved..], &value[moved..], &value[..wires - moved]);
            difference[..moved].copy_from_slice(&value[..moved]);
            wires
        }
        ShiftDirection::Right { signed } => {
            let kept = wires - moved;
            alg.xor(&mut difference[..kept], &value[..kept], &value[moved..]);
            if !signed {
                difference[kept..].copy_from_slice(&value[kept..]);
                return wires;
            }
            let sign = &value[wires - lanes..];
            for start in (kept..wires - lanes).step_by(lanes) {
                let row = start..start + lanes;
                alg.xor(&mut difference[row.clone()], &value[row], sign);
            }
            wires - lanes
        }
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
