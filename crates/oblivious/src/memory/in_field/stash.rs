//! [`Found`]: which row of a stash is meant, and its choice by a tree.

use phineus_frontend::Value;

/// One bit for each row of a stash, at most one of them 1, and the tree of choices between the rows.
pub(super) struct Found {
    bits: Vec<Value>,
    /// From the leaves on: which of each two rows is taken, 1 for the second.
    choices: Vec<Vec<Value>>,
    /// Whether any is 1.
    pub(super) is_there: Value,
}

impl Found {
    /// `bits` are in chunks; each chunk but the last has as many lanes as the first.
    #[track_caller]
    pub(super) fn new(bits: Vec<Value>) -> Found {
        let mut flags = bits.clone();
        let mut choices = Vec::new();
        while let Some((low, high)) = halves(&flags) {
            flags = merged(&low, &high, |_, low, high| high.or(low));
            choices.push(high);
        }
        Found { bits, choices, is_there: flags.swap_remove(0) }
    }

    /// The cell of the row that is meant, or `otherwise` if there is none; `rows` are in the same chunks.
    #[track_caller]
    pub(super) fn select(&self, rows: &[Value], otherwise: &Value) -> Value {
        let mut rows = rows.to_vec();
        for choices in &self.choices {
            let (low, high) = halves(&rows).expect("as many rows as bits");
            rows = merged(&low, &high, |at, low, high| choices[at].select(high, low));
        }
        self.is_there.select(&rows[0], otherwise)
    }

    /// `rows` with `new` in place of the one that is meant.
    #[track_caller]
    pub(super) fn replaced(&self, rows: &[Value], new: &Value) -> Vec<Value> {
        let chunks = self.bits.iter().zip(rows);
        chunks.map(|(bits, rows)| bits.select(&new.tile(rows.lanes()), rows)).collect()
    }
}

/// The rows that stay in their places and those that are chosen against the first of these; nothing if there is one row.
#[track_caller]
fn halves(chunks: &[Value]) -> Option<(Vec<Value>, Vec<Value>)> {
    if chunks.len() > 1 {
        let of = |odd: usize| chunks.iter().skip(odd).step_by(2).cloned().collect();
        return Some((of(0), of(1)));
    }
    let lanes = chunks[0].lanes();
    let half = lanes.div_ceil(2);
    (lanes > 1).then(|| {
        let (low, high) = (chunks[0].lane_slice(0, half), chunks[0].lane_slice(half, lanes - half));
        (vec![low], vec![high])
    })
}

/// `merge` of each chunk of `low` with that of `high`, if there is one, in as many lanes as that has.
#[track_caller]
fn merged(
    low: &[Value],
    high: &[Value],
    merge: impl Fn(usize, &Value, &Value) -> Value,
) -> Vec<Value> {
    let merged = low.iter().enumerate().map(|(at, low)| {
        let Some(high) = high.get(at) else { return low.clone() };
        let (lanes, more) = (high.lanes(), low.lanes() - high.lanes());
        match more {
            0 => merge(at, low, high),
            _ => {
                let both = merge(at, &low.lane_slice(0, lanes), high);
                both.lane_concat(&low.lane_slice(lanes, more))
            }
        }
    });
    merged.collect()
}
