//! Addition, subtraction and negation by ripple carry: one AND per carry.
//!
//! Source: Boyar, Peralta, Pochuev, "On the multiplicative complexity of Boolean functions over
//! the basis (∧, ⊕, 1)", Theoretical Computer Science 235, 2000: a carry is the majority of three
//! bits and costs one AND, `maj(a, b, c) = b ^ ((a ^ b) & (b ^ c))`.
//!
//! The chain carries `x = b ^ c` instead of `c`, so that `x' = (b ^ b') ^ ((a ^ b) & x)`: all but
//! one AND and one XOR per step are long batches over all rows, and the sum is `a ^ x`.
//! A borrow is the majority of `!a`, `b` and the borrow before: the same chain with `!(a ^ b)`.
//!
//! Cost: `w - 1` ANDs.

use crate::BitAlgebra;
use crate::rows::{row, take, width_of};

/// Scratch wires that any function of this module needs at most, for `width` result rows.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // In place: the chain and its propagate bits (`width` rows each), one row for the AND.
    (2 * width + 1) * lanes
}

/// `out = a + b`, wrapping: `w - 1` ANDs.
pub fn add<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(out.len(), a.len(), "the sum has the width of the operands");
    add_or_sub(alg, out, a, b, false, lanes, scratch);
}

/// `out = a - b`, wrapping: `w - 1` ANDs.
pub fn sub<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(out.len(), a.len(), "the difference has the width of the operands");
    add_or_sub(alg, out, a, b, true, lanes, scratch);
}

/// `out = -a`, wrapping: `max(w - 2, 0)` ANDs.
pub fn neg<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let (borrow, rest) = take(scratch, lanes);
    let (product, _) = take(rest, lanes);
    out[row(0, lanes)].copy_from_slice(&a[row(0, lanes)]);
    borrow.copy_from_slice(&a[row(0, lanes)]);
    for i in 1..width {
        let (a, out) = (&a[row(i, lanes)], &mut out[row(i, lanes)]);
        alg.xor(out, a, borrow);
        if i + 1 < width {
            // borrow' = a | borrow
            alg.and(product, a, borrow);
            alg.xor(borrow, out, product);
        }
    }
}

/// `out = negate ? -a : a`, wrapping: `w - 1` ANDs. `negate` is one row.
pub fn negate_if<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    negate: &[A::Wire],
    a: &[A::Wire],
    scratch: &mut [A::Wire],
) {
    let lanes = negate.len();
    let width = width_of(a.len(), lanes);
    let (carry, rest) = take(scratch, lanes);
    let (flipped, rest) = take(rest, lanes);
    let (product, _) = take(rest, lanes);
    // (a ^ s) + s: in row 0 the two s cancel.
    out[row(0, lanes)].copy_from_slice(&a[row(0, lanes)]);
    carry.copy_from_slice(negate);
    for i in 1..width {
        alg.xor(flipped, &a[row(i - 1, lanes)], negate);
        alg.and(product, flipped, carry);
        carry.copy_from_slice(product);
        let out = &mut out[row(i, lanes)];
        alg.xor(out, &a[row(i, lanes)], negate);
        alg.xor_assign(out, carry);
    }
}

/// `out = |a|` of a signed value; the least value stays itself: `w - 1` ANDs.
pub fn abs<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    negate_if(alg, out, &a[a.len() - lanes..], a, scratch);
}

/// `out = a ± b`. `b` may be narrower than `a` (zero-extended); `out` has the rows of `a`, or one
/// more for the carry or borrow. One AND per row of `out` but the first.
pub(crate) fn add_or_sub<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    subtract: bool,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (propagate, scratch) = take(scratch, out.len() - lanes);
    set_propagate(alg, propagate, out, a, b, subtract);
    chain(alg, out, propagate, b, lanes, scratch);
    alg.xor_assign(&mut out[..a.len()], a);
}

/// `accumulator ±= b`, wrapping; `b` may be narrower. One AND per row but the first.
pub(crate) fn add_or_sub_assign<A: BitAlgebra>(
    alg: &mut A,
    accumulator: &mut [A::Wire],
    b: &[A::Wire],
    subtract: bool,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (x, scratch) = take(scratch, accumulator.len());
    let (propagate, scratch) = take(scratch, accumulator.len() - lanes);
    set_propagate(alg, propagate, x, accumulator, b, subtract);
    chain(alg, x, propagate, b, lanes, scratch);
    alg.xor_assign(accumulator, x);
}

/// `accumulator = subtract ? accumulator - b : accumulator + b`, wrapping, equal widths.
///
/// With `b ^ s` and carry in `s` the chain itself is unchanged: only `a ^ b` meets `s`.
pub(crate) fn add_or_sub_assign_if<A: BitAlgebra>(
    alg: &mut A,
    accumulator: &mut [A::Wire],
    b: &[A::Wire],
    subtract: &[A::Wire],
    scratch: &mut [A::Wire],
) {
    let lanes = subtract.len();
    let (x, scratch) = take(scratch, accumulator.len());
    let (propagate, scratch) = take(scratch, accumulator.len() - lanes);
    set_propagate(alg, propagate, x, accumulator, b, false);
    for row in propagate.chunks_exact_mut(lanes) {
        alg.xor_assign(row, subtract);
    }
    chain(alg, x, propagate, b, lanes, scratch);
    alg.xor_assign(accumulator, x);
}

/// `propagate = a ^ b` (its complement to subtract); `spare` is overwritten.
pub(crate) fn set_propagate<A: BitAlgebra>(
    alg: &mut A,
    propagate: &mut [A::Wire],
    spare: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    subtract: bool,
) {
    let wires = propagate.len();
    let common = b.len().min(wires);
    let target = if subtract { &mut spare[..wires] } else { &mut *propagate };
    alg.xor(&mut target[..common], &a[..common], &b[..common]);
    target[common..].copy_from_slice(&a[common..wires]);
    if subtract {
        alg.not(propagate, &spare[..wires]);
    }
}

/// `x = b ^ carries`, where carry `i + 1` is `b[i] ^ (propagate[i] & x[i])` and carry 0 is zero
/// (or, with complemented `propagate`, the borrows). `b` may have fewer rows than `x`.
pub(crate) fn chain<A: BitAlgebra>(
    alg: &mut A,
    x: &mut [A::Wire],
    propagate: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (product, _) = take(scratch, lanes);
    let common = b.len().min(x.len());
    x[..lanes].copy_from_slice(&b[..lanes]);
    alg.xor(&mut x[lanes..common], &b[..common - lanes], &b[lanes..common]);
    if common < x.len() {
        x[common..common + lanes].copy_from_slice(&b[common - lanes..common]);
    }
    let with_b = common.min(x.len() - lanes);
    alg.and_chain(&mut x[..with_b + lanes], &propagate[..with_b], product);
    for start in (with_b..x.len() - lanes).step_by(lanes) {
        let (below, above) = x.split_at_mut(start + lanes);
        alg.and(&mut above[..lanes], &propagate[start..start + lanes], &below[start..]);
    }
}
