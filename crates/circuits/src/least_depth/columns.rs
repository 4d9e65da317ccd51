//! Sums of many terms: full adders by columns until two rows are left, then one prefix adder.
//!
//! A full adder costs one AND for its carry and none for its sum, so the sum is as early as its
//! inputs, and a column can send any number of carries on in one level. If columns of up to `h`
//! wires are to become columns of `t`, carries from below included, then `h <= 2 t - 1` suffices:
//! the heights 33, 17, 9, 5, 3, 2 take a level each. As in Dadda, "Some schemes for parallel
//! multipliers", Alta Frequenza 34, 1965, half adders, which only move wires, are made where a
//! column would miss its target height, and nowhere while wires are still to come.

use std::collections::VecDeque;

use super::adder::sum;
use super::plan::BestNetworks;
use crate::record::{Recorder, Wire};

/// Wires by weight: column `i` counts `2^i` each.
pub(super) struct WeightColumns {
    columns: Vec<Vec<Wire>>,
}

impl WeightColumns {
    /// No wires, for a sum of `width` bits, wrapping.
    pub(super) fn new(width: usize) -> WeightColumns {
        WeightColumns { columns: vec![Vec::new(); width] }
    }

    /// One more wire of weight `2^column`, or nothing if that is beyond the sum.
    pub(super) fn push(&mut self, column: usize, wire: Wire) {
        if let Some(column) = self.columns.get_mut(column)
            && wire != Wire::ZERO
        {
            column.push(wire);
        }
    }

    /// A term whose bit 0 has weight `2^start`.
    pub(super) fn push_value(&mut self, start: usize, value: &[Wire]) {
        for (i, &wire) in value.iter().enumerate() {
            self.push(start + i, wire);
        }
    }

    /// The two rows that are left after full adders: their sum is the sum.
    pub(super) fn reduce(mut self, r: &mut Recorder) -> [Vec<Wire>; 2] {
        let wires = self.columns.iter().flatten();
        let mut level = wires.map(|&wire| r.depth(wire)).min().unwrap_or(0);
        loop {
            let height = self.columns.iter().map(Vec::len).max().unwrap_or(0);
            if height <= 2 {
                break;
            }
            let any_late = self.columns.iter().flatten().any(|&wire| r.depth(wire) > level);
            // The least of 2, 3, 5, 9, ... that one level can reach.
            let target = (height - 1).div_ceil(2).next_power_of_two() + 1;
            self.reduce_level(r, level, if any_late { usize::MAX } else { target });
            level += 1;
        }
        let row = |k: usize| {
            let column = |column: &Vec<Wire>| column.get(k).copied().unwrap_or(Wire::ZERO);
            self.columns.iter().map(column).collect()
        };
        [row(0), row(1)]
    }

    /// The sum.
    pub(super) fn sum(self, r: &mut Recorder, plans: &mut BestNetworks) -> Vec<Wire> {
        let [x, y] = self.reduce(r);
        let first = y.iter().position(|&wire| wire != Wire::ZERO).unwrap_or(y.len());
        let mut out = x[..first].to_vec();
        if first < y.len() {
            out.extend(sum(r, plans, &x[first..], &y[first..], Wire::ZERO));
        }
        out
    }

    /// Makes all full adders of what is there at depth `level` or before, and half adders where
    /// a column would still have more than `target` wires with the carries from below.
    fn reduce_level(&mut self, r: &mut Recorder, level: u32, target: usize) {
        let mut carries: Vec<Wire> = Vec::new();
        let mut all_below_are_single = true;
        for column in &mut self.columns {
            column.sort_by_key(|&wire| r.depth(wire));
            let ready_count = column.partition_point(|&wire| r.depth(wire) <= level);
            let mut late = column.split_off(ready_count);
            let mut ready: VecDeque<Wire> = std::mem::take(column).into();
            late.append(&mut carries);
            loop {
                // A half adder also settles a column that nothing from below can reach any more.
                let settles = all_below_are_single && late.is_empty();
                if ready.len() >= 3 {
                    carries.push(full_adder(r, &mut ready));
                } else if ready.len() == 2 && (settles || ready.len() + late.len() > target) {
                    carries.push(half_adder(r, &mut ready));
                } else {
                    break;
                }
            }
            column.extend(ready.into_iter().chain(late).filter(|&wire| wire != Wire::ZERO));
            carries.retain(|&wire| wire != Wire::ZERO);
            all_below_are_single &= column.len() <= 1 && carries.is_empty();
        }
    }
}

/// Puts the sum of the three earliest wires in their place; returns the carry.
fn full_adder(r: &mut Recorder, ready: &mut VecDeque<Wire>) -> Wire {
    let [a, b, c] = [(); 3].map(|()| ready.pop_front().expect("there are three"));
    let half = r.xor2(a, b);
    let sum = r.xor2(half, c);
    ready.push_front(sum);
    r.majority(a, b, c)
}

/// As [`full_adder`], of two wires.
fn half_adder(r: &mut Recorder, ready: &mut VecDeque<Wire>) -> Wire {
    let [a, b] = [(); 2].map(|()| ready.pop_front().expect("there are two"));
    let sum = r.xor2(a, b);
    ready.push_front(sum);
    r.and2(a, b)
}
