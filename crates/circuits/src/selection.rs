//! Selection, exchange, minimum and maximum, and the bitwise operations.
//!
//! `sel ? a : b = b ^ (sel & (a ^ b))`: `w` ANDs in one batch; the same product exchanges two
//! values (Kolesnikov, Schneider, "Improved Garbled Circuit: Free XOR Gates and Applications",
//! ICALP 2008, section 3.3).

use crate::BitAlgebra;
use crate::comparison::{lt_signed, lt_unsigned};
use crate::rows::take;

/// Scratch wires that any function of this module needs at most.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // The order bit, then either the comparison or two values.
    crate::comparison::scratch_wires(width, lanes) + lanes
}

/// `out = sel ? a : b`; `sel` is one row and gives the number of lanes: `w` ANDs.
pub fn mux<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    sel: &[A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    scratch: &mut [A::Wire],
) {
    let (difference, _) = take(scratch, a.len());
    alg.xor(difference, a, b);
    alg.and(out, difference, sel);
    alg.xor_assign(out, b);
}

/// `(low, high) = sel ? (b, a) : (a, b)`; `sel` is one row: `w` ANDs for both.
pub fn cond_swap<A: BitAlgebra>(
    alg: &mut A,
    low: &mut [A::Wire],
    high: &mut [A::Wire],
    sel: &[A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    scratch: &mut [A::Wire],
) {
    let (difference, _) = take(scratch, a.len());
    alg.xor(difference, a, b);
    alg.and(low, difference, sel);
    alg.xor(high, low, b);
    alg.xor_assign(low, a);
}

/// `out = sel ? a : 0`; `sel` is one row: `w` ANDs.
pub fn and_mask<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], sel: &[A::Wire], a: &[A::Wire]) {
    alg.and(out, a, sel);
}

/// `out = min(a, b)`, unsigned: `2w` ANDs.
pub fn min_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (less, rest) = take(scratch, lanes);
    lt_unsigned(alg, less, a, b, lanes, rest);
    mux(alg, out, less, a, b, rest);
}

/// `out = max(a, b)`, unsigned: `2w` ANDs.
pub fn max_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (less, rest) = take(scratch, lanes);
    lt_unsigned(alg, less, a, b, lanes, rest);
    mux(alg, out, less, b, a, rest);
}

/// `out = min(a, b)`, signed: `2w` ANDs.
pub fn min_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (less, rest) = take(scratch, lanes);
    lt_signed(alg, less, a, b, lanes, rest);
    mux(alg, out, less, a, b, rest);
}

/// `out = max(a, b)`, signed: `2w` ANDs.
pub fn max_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (less, rest) = take(scratch, lanes);
    lt_signed(alg, less, a, b, lanes, rest);
    mux(alg, out, less, b, a, rest);
}

/// `out = a & b`, bit by bit: `w` ANDs.
pub fn bit_and<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], a: &[A::Wire], b: &[A::Wire]) {
    assert_eq!(a.len(), b.len(), "bitwise operands have equal widths");
    alg.and(out, a, b);
}

/// `out = a | b`, bit by bit: `w` ANDs.
pub fn bit_or<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], a: &[A::Wire], b: &[A::Wire]) {
    bit_and(alg, out, a, b);
    alg.xor_assign(out, a);
    alg.xor_assign(out, b);
}

/// `out = a ^ b`, bit by bit: free.
pub fn bit_xor<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], a: &[A::Wire], b: &[A::Wire]) {
    alg.xor(out, a, b);
}

/// `out = !a`, bit by bit: free.
pub fn bit_not<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], a: &[A::Wire]) {
    alg.not(out, a);
}
