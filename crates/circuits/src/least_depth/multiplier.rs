//! Multiplication: the sum of columns of exclusive ors.
//!
//! As in [`crate::multiplier`], operands are digits of 1 and -1, and a product of two digits takes no AND.
//! So the sum begins at depth 0.

use super::columns::WeightColumns;
use super::plan::BestNetworks;
use crate::record::{Recorder, Wire};

/// `a * b`, the low `w` bits.
pub fn mul(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    product(r, a, b, a.len(), false)
}

/// `a * b`, all `2 w` bits.
pub fn mul_full(r: &mut Recorder, a: &[Wire], b: &[Wire], signed: bool) -> Vec<Wire> {
    product(r, a, b, 2 * a.len(), signed)
}

/// Up to this many bits products of bits may be less deep than those of digits.
const NARROW_MAX: usize = 8;

type Product = fn(&mut Recorder, &[Wire], &[Wire], usize, bool) -> Vec<Wire>;

fn product(r: &mut Recorder, a: &[Wire], b: &[Wire], width: usize, signed: bool) -> Vec<Wire> {
    let cost = |product: Product| {
        let mut r = Recorder::new();
        let inputs = r.inputs(2 * a.len());
        let (first, second) = inputs.split_at(a.len());
        let out = product(&mut r, first, if a == b { first } else { second }, width, signed);
        let template = r.finish(&out);
        (template.depth(), template.and_count())
    };
    if a.len() <= NARROW_MAX && cost(of_bits) < cost(of_digits) {
        return of_bits(r, a, b, width, signed);
    }
    of_digits(r, a, b, width, signed)
}

/// The sum of products of bits. Signed products are those of Baugh, Wooley, "A two's complement parallel array
/// multiplication algorithm", IEEE Transactions on Computers C-22, 1973: the products with one top bit are
/// complemented, and two constants correct the sum. A square has each product of different bits twice, and so
/// once in the next column.
fn of_bits(r: &mut Recorder, a: &[Wire], b: &[Wire], width: usize, signed: bool) -> Vec<Wire> {
    let mut columns = WeightColumns::new(width);
    let top = a.len() - 1;
    let is_square = a == b;
    for (i, &a) in a.iter().enumerate() {
        let first = if is_square { i } else { 0 };
        for (j, &b) in b.iter().enumerate().skip(first) {
            let twice = usize::from(is_square && i != j);
            if i + j + twice < width {
                let bit = r.and2(a, b);
                columns.push(i + j + twice, bit.not_if(signed && (i == top) != (j == top)));
            }
        }
    }
    if signed {
        columns.push(top + 1, Wire::ONE);
        columns.push(2 * top + 1, Wire::ONE);
    }
    columns.sum(r, &mut BestNetworks::default())
}

fn of_digits(r: &mut Recorder, a: &[Wire], b: &[Wire], width: usize, signed: bool) -> Vec<Wire> {
    // Those of signed operands have the top bit complemented.
    let digits = |value: &[Wire]| -> Vec<Wire> {
        let top = value.len() - 1;
        value.iter().enumerate().map(|(i, &bit)| bit.not_if(signed && i == top)).collect()
    };
    match a == b {
        true => square_of_digits(r, &digits(a), width, signed),
        false => product_of_digits(r, &digits(a), &digits(b), width, signed),
    }
}

/// A product without its lowest column, which is a carry and nothing else:
/// `2ab = sum of 2^(i + j) (a[i] XNOR b[j]) + ~a + ~b + 1`, and of unsigned operands `+ 2^w (a + b) - 2^(2w)`,
/// of signed ones `- 2^(2w - 1)`.
fn product_of_digits(
    r: &mut Recorder,
    a: &[Wire],
    b: &[Wire],
    width: usize,
    signed: bool,
) -> Vec<Wire> {
    let w = a.len();
    let mut columns = WeightColumns::new(width);
    let mut push = |column: usize, wire: Wire| columns.push(column - 1, wire);
    // Column 0: `(a XNOR b) + !a + !b + 1 = 2 + 2 !a !b = 2 (a | b) + 4 !a !b`.
    let neither = r.and2(!a[0], !b[0]);
    push(1, !neither);
    push(2, neither);
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            if (1..=width).contains(&(i + j)) {
                push(i + j, !r.xor2(a, b));
            }
        }
    }
    for i in 0..w {
        for bit in [a[i], b[i]] {
            if i > 0 {
                push(i, !bit);
            }
            if !signed {
                push(w + i, bit);
            }
        }
    }
    if signed {
        push(2 * w - 1, Wire::ONE);
    }
    push(2 * w, Wire::ONE);
    columns.sum(r, &mut BestNetworks::default())
}

/// `a² = sum over i < j of 2^(i + j) (a[i] XNOR a[j]) + ~a - sum of 4^i`, and of unsigned ones `+ 2^w a`; the sum of
/// `4^i` is over all `i`, of signed ones all but the last.
fn square_of_digits(r: &mut Recorder, a: &[Wire], width: usize, signed: bool) -> Vec<Wire> {
    let w = a.len();
    let mut columns = WeightColumns::new(width);
    for (i, &bit) in a.iter().enumerate() {
        for (j, &other) in a.iter().enumerate().skip(i + 1) {
            columns.push(i + j, !r.xor2(bit, other));
        }
        columns.push(i, !bit);
        if !signed {
            columns.push(w + i, bit);
        }
    }
    let terms = w - usize::from(signed);
    for column in 0..width {
        if terms > 0 && (column == 0 || column % 2 == 1 || column >= 2 * terms) {
            columns.push(column, Wire::ONE);
        }
    }
    columns.sum(r, &mut BestNetworks::default())
}
