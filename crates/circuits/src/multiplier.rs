//! Multiplication by sums of exclusive ors, Karatsuba above, and squares.
//!
//! An unsigned `a` of `w` bits is a sum of digits that are 1 or -1: `2a = 2^w - 1 + sum of ±2^i`. The
//! product of two such digits is 1 where the bits are equal, so it takes no AND, and
//! `2ab = sum of 2^(i + j) (a[i] XNOR b[j]) + (2^w - 1)(a + b) - (2^w - 1)^2`: half of the ANDs of a
//! product of bits are saved, those of the products (`array.rs`); squares save half of the rest
//! (`square.rs`).
//!
//! Karatsuba (Karatsuba, Ofman, 1962), in the form with the difference product
//! `(a0 - a1)(b1 - b0)`, computes the full product where the exact count says so; the low
//! half uses one full product and two shorter low halves (Mulders, "On short multiplications and
//! divisions", AAECC 11, 2000). Where to split is decided by tables computed from the counts.
//!
//! ANDs: [`mul_ands`] and [`mul_full_ands`]; where nothing is split, `w (w + 3) / 2 - 1` and
//! `w² + 2w - 1`.

mod array;
mod square;

use crate::BitAlgebra;
use crate::adder::{add_or_sub, add_or_sub_assign, add_or_sub_assign_if, negate_if};
use crate::rows::{row, span, take, width_of};

use array::{array_full, array_low};
pub use square::{square, square_ands, square_full_signed, square_full_unsigned};

/// The widest operand.
pub const WIDTH_MAX: usize = 256;

/// ANDs by width, and where to split (zero: do not split, use the array).
struct MultiplierCosts {
    ands: [u32; WIDTH_MAX + 1],
    split: [u16; WIDTH_MAX + 1],
}

static FULL: MultiplierCosts = full_costs();
static LOW: MultiplierCosts = low_costs();

const fn full_costs() -> MultiplierCosts {
    let mut costs = MultiplierCosts { ands: [0; WIDTH_MAX + 1], split: [0; WIDTH_MAX + 1] };
    let mut w = 1;
    while w <= WIDTH_MAX {
        let array = array::full_ands(w);
        costs.ands[w] = array;
        if w >= 4 {
            let h = w.div_ceil(2);
            // Two products of h and one of w - h bits; two absolute differences of 2h - 1; the
            // middle: w to add the outer products, w to add or subtract the difference product;
            // 2w - h - 1 to add the middle to the result.
            let combine = (2 * (2 * h - 1) + 2 * w + (2 * w - h - 1)) as u32;
            let karatsuba = 2 * costs.ands[h] + costs.ands[w - h] + combine;
            if karatsuba < array {
                costs.ands[w] = karatsuba;
                costs.split[w] = h as u16;
            }
        }
        w += 1;
    }
    costs
}

const fn low_costs() -> MultiplierCosts {
    let full = full_costs();
    let mut costs = MultiplierCosts { ands: [0; WIDTH_MAX + 1], split: [0; WIDTH_MAX + 1] };
    let mut w = 1;
    while w <= WIDTH_MAX {
        costs.ands[w] = array::low_ands(w);
        let mut h = w.div_ceil(2);
        while h < w {
            let g = w - h;
            let combine = if g > 1 { 2 * g - 3 } else { 0 } as u32;
            let split = full.ands[h] + 2 * costs.ands[g] + combine;
            if split < costs.ands[w] {
                costs.ands[w] = split;
                costs.split[w] = h as u16;
            }
            h += 1;
        }
        w += 1;
    }
    costs
}

/// ANDs of [`mul`] per lane.
pub fn mul_ands(width: usize) -> u64 {
    u64::from(LOW.ands[width])
}

/// ANDs of [`mul_full_unsigned`] per lane.
pub fn mul_full_ands(width: usize) -> u64 {
    u64::from(FULL.ands[width])
}

/// Scratch wires that any function of this module needs at most.
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    // An array keeps 3w + 5 rows, and takes 3w + 3 more for a step; columns take less. Karatsuba keeps
    // 2w + 4 rows while it recurses to half the width. Above that the low half keeps its product of
    // fewer than 2w rows.
    let array = 6 * width + 8;
    let rows = if width < 10 { array + 4 } else { 7 * width + 64 };
    rows * lanes
}

/// `out = a * b`, wrapping, signed or unsigned: [`mul_ands`] ANDs.
pub fn mul<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    assert!(a.len() == b.len() && a.len() == out.len(), "equal widths");
    let h = usize::from(LOW.split[width]);
    if h == 0 {
        return array_low(alg, out, a, b, lanes, scratch);
    }
    let g = width - h;
    let (product, rest) = take(scratch, 2 * h * lanes);
    mul_full_unsigned(alg, product, &a[span(0..h, lanes)], &b[span(0..h, lanes)], lanes, rest);
    out.copy_from_slice(&product[..out.len()]);

    let (cross, rest) = take(scratch, 2 * g * lanes);
    let (cross_a, cross_b) = cross.split_at_mut(g * lanes);
    mul(alg, cross_a, &a[span(h..width, lanes)], &b[span(0..g, lanes)], lanes, rest);
    mul(alg, cross_b, &a[span(0..g, lanes)], &b[span(h..width, lanes)], lanes, rest);
    add_two_assign(alg, &mut out[h * lanes..], cross_a, cross_b, lanes, rest);
}

/// `out = a * b`, unsigned, `out` twice as wide as the operands: [`mul_full_ands`] ANDs.
pub fn mul_full_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert!(a.len() == b.len() && 2 * a.len() == out.len(), "the product has twice the width");
    if FULL.split[width_of(a.len(), lanes)] == 0 {
        array_full(alg, out, [a, b], false, lanes, scratch);
    } else {
        karatsuba(alg, out, a, b, lanes, scratch);
    }
}

/// ANDs of [`mul_full_signed`] per lane.
pub fn mul_full_signed_ands(width: usize) -> u64 {
    match is_split_signed(width) {
        true if width == 1 => 1,
        true => mul_full_ands(width - 1) + 4 * width as u64 - 3,
        false => array::full_signed_ands(width).into(),
    }
}

/// Whether a signed product takes fewer ANDs around an unsigned one of one bit less.
fn is_split_signed(width: usize) -> bool {
    width == 1 || FULL.ands[width - 1] + (4 * width as u32 - 3) < array::full_signed_ands(width)
}

/// `out = a * b`, signed, `out` twice as wide as the operands: [`mul_full_signed_ands`] ANDs.
pub fn mul_full_signed<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert!(a.len() == b.len() && 2 * a.len() == out.len(), "the product has twice the width");
    match is_split_signed(width_of(a.len(), lanes)) {
        true => around_unsigned(alg, out, a, b, lanes, scratch),
        false => array_full(alg, out, [a, b], true, lanes, scratch),
    }
}

/// A signed product from an unsigned one of a bit less.
///
/// With `a = a' - sa 2^v`, `b = b' - sb 2^v`, `v = w - 1`: `ab = a'b' - 2^v (sa b' + sb a') +
/// sa sb 2^(2v)`. Minus a `v`-bit number is its complement plus `1 - 2^v`; the two ones are the
/// carries into the lowest place, the two `2^v` flip the top bit (Baugh, Wooley, 1973).
fn around_unsigned<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let low = a.len() - lanes;
    let (a_sign, b_sign) = (&a[low..], &b[low..]);
    let (a, b) = (&a[..low], &b[..low]);
    let (signs, rest) = take(scratch, lanes);
    alg.and(signs, a_sign, b_sign);
    if low == 0 {
        out[..lanes].copy_from_slice(signs);
        return alg.constant(&mut out[lanes..], false);
    }
    mul_full_unsigned(alg, &mut out[..2 * low], a, b, lanes, rest);

    // Rows v.. of the product: p; the complements u of sa & b' and v of sb & a'.
    let (u, rest) = take(rest, low);
    let (v, rest) = take(rest, low);
    let (product, rest) = take(rest, low);
    alg.and(product, b, a_sign);
    alg.not(u, product);
    alg.and(product, a, b_sign);
    alg.not(v, product);
    // Full adders: sum in u, carry (one place higher) in v.
    let p = &mut out[low..2 * low];
    alg.xor_assign(u, p);
    let (d, rest) = take(rest, low);
    alg.xor(d, v, p);
    alg.and(product, u, d);
    alg.xor_assign(u, v);
    alg.xor(v, product, p);

    // Place 0: sum + 1 + 1 = sum, and a carry. Place i: sum[i] + carry[i - 1] + carry.
    let (carry, rest) = take(rest, lanes);
    p[..lanes].copy_from_slice(&u[..lanes]);
    alg.constant(carry, true);
    let places = low / lanes;
    for i in 1..places {
        let (s, c) = (&u[row(i, lanes)], &v[row(i - 1, lanes)]);
        let out = &mut out[low..][row(i, lanes)];
        full_adder(alg, out, s, c, carry, rest);
    }
    let (middle, top) = out[2 * low..].split_at_mut(lanes);
    full_adder(alg, middle, &v[low - lanes..], signs, carry, rest);
    alg.not(top, carry);
}

/// One place of an addition: `out`, `carry` = `a + b + carry`; all are one row.
fn full_adder<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    carry: &mut [A::Wire],
    scratch: &mut [A::Wire],
) {
    let (x, rest) = take(scratch, out.len());
    let (y, rest) = take(rest, out.len());
    let (product, _) = take(rest, out.len());
    alg.xor(x, a, carry);
    alg.xor(y, b, carry);
    alg.and(product, x, y);
    alg.xor(out, x, b);
    alg.xor_assign(carry, product);
}

/// `accumulator += a + b`, wrapping: `2w - 3` ANDs (none for one row).
fn add_two_assign<A: BitAlgebra>(
    alg: &mut A,
    accumulator: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let below_top = accumulator.len() - lanes;
    let (x, rest) = take(scratch, accumulator.len());
    let (y, rest) = take(rest, below_top);
    let (carries, rest) = take(rest, below_top);
    alg.xor(x, accumulator, b);
    alg.xor(accumulator, x, a);
    if below_top > 0 {
        alg.xor(y, &a[..below_top], &b[..below_top]);
        alg.and(carries, &x[..below_top], y);
        alg.xor_assign(carries, &b[..below_top]);
        add_or_sub_assign(alg, &mut accumulator[lanes..], carries, false, lanes, rest);
    }
}

/// Full product by Karatsuba: `h = ceil(w / 2)` low bits and `w - h` high bits of each operand.
fn karatsuba<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    a: &[A::Wire],
    b: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let width = width_of(a.len(), lanes);
    let h = usize::from(FULL.split[width]);
    let (a_low, a_high) = a.split_at(h * lanes);
    let (b_low, b_high) = b.split_at(h * lanes);
    let (low, high) = out.split_at_mut(2 * h * lanes);
    mul_full_unsigned(alg, low, a_low, b_low, lanes, scratch);
    mul_full_unsigned(alg, high, a_high, b_high, lanes, scratch);

    // middle = a0 b1 + a1 b0 = low + high - (a0 - a1)(b0 - b1) < 2^(w + 1)
    let middle_wires = (width + 1) * lanes;
    let (product, rest) = take(scratch, middle_wires);
    let (opposite, rest) = take(rest, lanes);
    difference_product(alg, &mut product[..2 * h * lanes], opposite, [a, b], lanes, rest);
    alg.constant(&mut product[2 * h * lanes..], false);
    let (middle, rest) = take(rest, middle_wires);
    add_or_sub(alg, middle, low, high, false, lanes, rest);
    let (same, rest) = take(rest, lanes);
    alg.not(same, opposite);
    add_or_sub_assign_if(alg, middle, product, same, rest);
    add_or_sub_assign(alg, &mut out[h * lanes..], middle, false, lanes, rest);
}

/// `|a0 - a1| * |b0 - b1|` into `out` and into `opposite` whether the two differences have
/// opposite signs; the halves are those of a value split after `out.len() / 2` wires.
fn difference_product<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    opposite: &mut [A::Wire],
    factors: [&[A::Wire]; 2],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let half = out.len() / 2;
    let (distances, rest) = take(scratch, 2 * half);
    let (a_distance, b_distance) = distances.split_at_mut(half);
    let (difference, work) = take(&mut *rest, half + lanes);
    for (i, distance) in [&mut *a_distance, &mut *b_distance].into_iter().enumerate() {
        let (low, high) = factors[i].split_at(half);
        add_or_sub(alg, difference, low, high, true, lanes, work);
        let (difference, negative) = difference.split_at(half);
        negate_if(alg, distance, negative, difference, work);
        if i == 0 {
            opposite.copy_from_slice(negative);
        } else {
            alg.xor_assign(opposite, negative);
        }
    }
    mul_full_unsigned(alg, out, a_distance, b_distance, lanes, rest);
}
