//! Sums of products with the same vectors as products of matrices, in tiles that fit a value.

use phineus_bytecode::limits::VALUE_WIRES_MAX;

use super::{Outline, RecordedSum, is_same};
use crate::value::Value;

/// How a product of matrices is cut into products that values hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiling {
    rows: usize,
    columns: usize,
    vectors: usize,
}

impl Tiling {
    /// Those that open the fewest elements; of equals the ones with the most columns, and then
    /// rows, as each factor costs oblivious transfers in preprocessing. Sides are whole, or powers
    /// of two.
    fn new([rows, columns, vectors]: [usize; 3], most: usize) -> Tiling {
        let sides = (0..=most.ilog2()).map(|log| 1 << log).filter(|side| *side < vectors);
        let whole = (vectors <= most).then_some(vectors);
        let tiles = sides.chain(whole).map(|side| {
            let room = most / side;
            let own = if rows <= room { rows } else { 1 << room.ilog2() };
            let opened = rows * vectors.div_ceil(side) + vectors * rows.div_ceil(own);
            let columns = columns.min(most / own.max(side));
            (opened, Tiling { rows: own, columns, vectors: side })
        });
        let best = tiles.min_by_key(|(opened, tiles)| {
            (*opened, std::cmp::Reverse((tiles.columns, tiles.rows)))
        });
        best.expect("a value holds one element").1
    }
}

/// The sum of the products of each; nothing where there are no products.
pub(super) fn products(group: &[(RecordedSum, Outline<'_>)]) -> Vec<Value> {
    let vectors: Vec<&Value> = group[0].1.terms.iter().map(|term| &term.vector).collect();
    let Some(first) = vectors.first() else { return Vec::new() };
    let factors: Vec<Vec<&(Value, u32)>> = group
        .iter()
        .map(|(_, outline)| outline.terms.iter().map(|term| &term.factor).collect())
        .collect();
    let rows = first.lanes() as usize;
    let most = (VALUE_WIRES_MAX / u32::from(first.width())) as usize;
    let tiles = Tiling::new([rows, vectors.len(), group.len()], most);
    let seconds: Vec<Vec<Value>> = (0..vectors.len())
        .step_by(tiles.columns)
        .map(|at| {
            let columns = at..vectors.len().min(at + tiles.columns);
            let of_each = factors.chunks(tiles.vectors);
            of_each.map(|part| second_tile(part, columns.clone())).collect()
        })
        .collect();
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); group.len()];
    for row in (0..rows).step_by(tiles.rows) {
        let own = tiles.rows.min(rows - row) as u32;
        let firsts: Vec<Value> = vectors
            .chunks(tiles.columns)
            .map(|columns| {
                let cut = columns.iter().map(|column| column.lane_slice(row as u32, own));
                joined(cut.collect())
            })
            .collect();
        for (part, results) in results.chunks_mut(tiles.vectors).enumerate() {
            let count = results.len() as u32;
            let terms = firsts
                .iter()
                .zip(&seconds)
                .map(|(first, seconds)| first.mat_mul(&seconds[part], count));
            let sum = Value::sum_of(terms).expect("there are columns");
            for (results, at) in results.iter_mut().zip((0..).step_by(own as usize)) {
                results.push(sum.lane_slice(at, own));
            }
        }
    }
    results.into_iter().map(joined).collect()
}

/// The factors of some sums for some columns, sum after sum.
fn second_tile(sums: &[Vec<&(Value, u32)>], columns: std::ops::Range<usize>) -> Value {
    let by_sum: Vec<&(Value, u32)> =
        sums.iter().flat_map(|factors| factors[columns.clone()].iter().copied()).collect();
    let by_column: Vec<&(Value, u32)> =
        columns.flat_map(|column| sums.iter().map(move |factors| factors[column])).collect();
    let (runs, other) = (runs(&by_sum), runs(&by_column));
    let turns = 2 * sums.len().ilog2() as usize;
    if !sums.len().is_power_of_two() || runs.len() <= other.len() + turns {
        return packed(&runs);
    }
    // The factors of a column lie together: one column after the other, and then turned.
    let mut tile = packed(&other);
    for _ in 0..sums.len().ilog2() {
        let (even, odd) = tile.deinterleave(1);
        tile = even.lane_concat(&odd);
    }
    tile
}

/// Lanes that lie together in a value: from where on, and how many.
type LaneRange<'a> = (&'a Value, u32, u32);

fn runs<'a>(lanes: &[&'a (Value, u32)]) -> Vec<LaneRange<'a>> {
    let mut runs: Vec<LaneRange<'a>> = Vec::new();
    for (value, lane) in lanes {
        match runs.last_mut() {
            Some((known, start, count)) if is_same(known, value) && *start + *count == *lane => {
                *count += 1;
            }
            _ => runs.push((value, *lane, 1)),
        }
    }
    runs
}

fn packed(runs: &[LaneRange<'_>]) -> Value {
    joined(runs.iter().map(|(value, start, count)| value.lane_slice(*start, *count)).collect())
}

fn joined(parts: Vec<Value>) -> Value {
    Value::joined(parts).expect("there are lanes")
}

#[cfg(test)]
mod tests;
