//! Counting bits, and sums over lanes.

use super::columns::WeightColumns;
use super::order::{all, any};
use super::plan::BestNetworks;
use crate::record::{Recorder, Wire};

/// How many wires are 1, in `width` bits, wrapping: depth `floor(log2 w)` for `w` wires, since
/// bit `k` of the count has degree `2^k`.
pub fn popcount(r: &mut Recorder, wires: &[Wire], width: usize) -> Vec<Wire> {
    let mut columns = WeightColumns::new(width);
    wires.iter().for_each(|&wire| columns.push(0, wire));
    columns.sum(r, &mut BestNetworks::default())
}

/// The sum of values, in `width` bits, wrapping; values are extended by their sign if `signed`.
pub fn sum(r: &mut Recorder, values: &[Vec<Wire>], width: usize, signed: bool) -> Vec<Wire> {
    let mut columns = WeightColumns::new(width);
    let mut corrections = 0u64;
    for value in values {
        let top = value.len() - 1;
        if signed && value.len() < width {
            // The top bit t counts -t 2^top = (!t - 1) 2^top: no copies of the sign.
            columns.push_value(0, &value[..top]);
            columns.push(top, !value[top]);
            corrections += 1;
        } else {
            columns.push_value(0, value);
        }
    }
    if let Some(value) = values.first().filter(|_| corrections > 0) {
        push_negative(&mut columns, corrections, value.len() - 1, width);
    }
    columns.sum(r, &mut BestNetworks::default())
}

/// Pushes the constant `-(count 2^start)`.
fn push_negative(columns: &mut WeightColumns, count: u64, start: usize, width: usize) {
    // -(c 2^s) = (!c + 1) 2^s, with ones above the bits of c.
    let negative = count.wrapping_neg();
    for column in start..width {
        let bit = column - start;
        let is_one = bit >= 64 || negative >> bit & 1 == 1;
        columns.push(column, Wire::constant(is_one));
    }
}

/// How many bits of `a` are 0 above the highest 1, in `width` bits, wrapping: depth
/// `ceil(log2 w)`.
pub fn leading_zeros(r: &mut Recorder, a: &[Wire], width: usize) -> Vec<Wire> {
    let (mut count, some) = zeros_above(r, a);
    count.resize(width, Wire::ZERO);
    // The count of a zero is 0 so far: it becomes the width.
    for (bit, wire) in count.iter_mut().enumerate().take(usize::BITS as usize) {
        if a.len() >> bit & 1 == 1 {
            *wire = r.xor2(*wire, !some);
        }
    }
    count
}

/// Zeros above the highest 1, or 0 if there is no 1; and whether there is one.
fn zeros_above(r: &mut Recorder, a: &[Wire]) -> (Vec<Wire>, Wire) {
    if let [bit] = *a {
        return (Vec::new(), bit);
    }
    // The upper part is the largest power of two below the length, so that its size is one bit.
    let upper_bits = (a.len() - 1).ilog2() as usize;
    let (lower, upper) = a.split_at(a.len() - (1 << upper_bits));
    let (above, some_above) = zeros_above(r, upper);
    let (mut below, some_below) = zeros_above(r, lower);
    below.resize(upper_bits, Wire::ZERO);
    let mut count: Vec<Wire> = above
        .iter()
        .zip(below)
        .map(|(&above, below)| {
            let below = r.and2(!some_above, below);
            r.xor2(above, below)
        })
        .collect();
    let only_below = r.and2(!some_above, some_below);
    count.push(only_below);
    (count, r.xor2(some_above, only_below))
}

/// Folds lanes bit by bit: `values` are the lanes.
pub fn lane_and(r: &mut Recorder, values: &[Vec<Wire>]) -> Vec<Wire> {
    (0..values[0].len()).map(|bit| all(r, &column(values, bit))).collect()
}

/// As [`lane_and`], for OR.
pub fn lane_or(r: &mut Recorder, values: &[Vec<Wire>]) -> Vec<Wire> {
    (0..values[0].len()).map(|bit| any(r, &column(values, bit))).collect()
}

fn column(values: &[Vec<Wire>], bit: usize) -> Vec<Wire> {
    values.iter().map(|value| value[bit]).collect()
}
