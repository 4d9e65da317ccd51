//! Equality and order.
//!
//! Order is the borrow of a subtraction (see `adder`): `w` ANDs. Signed order swaps the
//! top bits of the operands, which is free. Equality is an AND tree over `!(a ^ b)`: `w - 1` ANDs.

use crate::BitAlgebra;
use crate::reduction::and_reduce_in_place;
use crate::rows::take;

/// Scratch wires that any function of this module needs at most.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // Propagate bits (`width` rows), the chain (one more), an AND, and the result before its
    // complement.
    (2 * width + 3) * lanes
}

/// `out = (a == b)`, one row: `w - 1` ANDs.
pub fn eq<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (different, rest) = take(scratch, a.len());
    let (same, _) = take(rest, a.len());
    alg.xor(different, a, b);
    alg.not(same, different);
    and_reduce_in_place(alg, out, same, different, lanes);
}

/// `out = (a != b)`, one row: `w - 1` ANDs.
pub fn ne<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (equal, rest) = take(scratch, lanes);
    eq(alg, equal, a, b, lanes, rest);
    alg.not(out, equal);
}

/// `out = (a < b)`, unsigned, one row: `w` ANDs.
pub fn lt_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let top = &b[b.len() - lanes..];
    less(alg, out, a, b, top, lanes, scratch);
}

/// `out = (a < b)`, signed, one row: `w` ANDs.
pub fn lt_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    // Flipping both top bits swaps them: the pivot of the top majority becomes a's top bit.
    let top = &a[a.len() - lanes..];
    less(alg, out, a, b, top, lanes, scratch);
}

/// `out = (a <= b)`, unsigned, one row: `w` ANDs.
pub fn le_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (greater, rest) = take(scratch, lanes);
    lt_unsigned(alg, greater, b, a, lanes, rest);
    alg.not(out, greater);
}

/// `out = (a <= b)`, signed, one row: `w` ANDs.
pub fn le_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (greater, rest) = take(scratch, lanes);
    lt_signed(alg, greater, b, a, lanes, rest);
    alg.not(out, greater);
}

/// The borrow of `a - b`, with `top` in place of b's top bit as pivot of the last majority.
fn less<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    top: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(out.len(), lanes, "a comparison gives one bit");
    assert_eq!(a.len(), b.len(), "compared values have equal widths");
    let (propagate, rest) = take(scratch, a.len());
    let (x, rest) = take(rest, a.len() + lanes);
    let (product, _) = take(rest, lanes);
    alg.xor(&mut x[..a.len()], a, b);
    alg.not(propagate, &x[..a.len()]);

    // x[i] = b[i] ^ borrow, as in `adder::chain`, but for the pivot of the top row; above it the
    // borrow alone.
    let (last, end) = (a.len() - lanes, a.len());
    x[..lanes].copy_from_slice(if last == 0 { top } else { &b[..lanes] });
    if last > 0 {
        alg.xor(&mut x[lanes..last], &b[..last - lanes], &b[lanes..last]);
        alg.xor(&mut x[last..end], &b[last - lanes..last], top);
    }
    x[end..].copy_from_slice(top);
    alg.and_chain(x, propagate, product);
    out.copy_from_slice(&x[end..]);
}
