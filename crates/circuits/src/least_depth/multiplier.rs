//! Multiplication: all bit products at once, then the sum of their columns.
//!
//! Signed products are those of Baugh, Wooley, "A two's complement parallel array multiplication
//! algorithm", IEEE Transactions on Computers C-22, 1973: the products with one top bit are
//! complemented, and two constants correct the sum. A square has each product of different bits
//! twice, and so once in the next column.

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

fn product(r: &mut Recorder, a: &[Wire], b: &[Wire], width: usize, signed: bool) -> Vec<Wire> {
    let mut columns = WeightColumns::new(width);
    let top = a.len() - 1;
    let is_square = a == b;
    for (i, &a) in a.iter().enumerate() {
        let first = if is_square { i } else { 0 };
        for (j, &b) in b.iter().enumerate().skip(first) {
            let twice = usize::from(is_square && i != j);
            if i + j + twice < width {
                let bit = r.and2(a, b);
                let negative = signed && (i == top) != (j == top);
                columns.push(i + j + twice, if negative { !bit } else { bit });
            }
        }
    }
    if signed {
        columns.push(top + 1, Wire::ONE);
        columns.push(2 * top + 1, Wire::ONE);
    }
    columns.sum(r, &mut BestNetworks::default())
}
