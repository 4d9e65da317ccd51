//! Relations between each row and the next.

use phineus_frontend::{Records, Value};

/// Applies `function` to each row and its successor; one row fewer comes out, cut alike.
///
/// `function` sees the columns of some rows and the columns of their successors.
#[track_caller]
pub fn adjacent(records: &Records, function: impl Fn(&[Value], &[Value]) -> Value) -> Vec<Value> {
    let mut results = Vec::new();
    for index in 0..records.chunk_count() {
        let rows = records.chunk(index);
        let lanes = rows[0].lanes();
        let next = (index + 1 < records.chunk_count()).then(|| records.chunk(index + 1));
        let (from, successors): (Vec<Value>, Vec<Value>) = match next {
            Some(next) => rows
                .iter()
                .zip(&next)
                .map(|(value, next)| {
                    let head = next.lane_slice(0, 1);
                    let moved = match lanes {
                        1 => head,
                        _ => value.lane_slice(1, lanes - 1).lane_concat(&head),
                    };
                    (value.clone(), moved)
                })
                .unzip(),
            None if lanes == 1 => break,
            None => rows
                .iter()
                .map(|value| (value.lane_slice(0, lanes - 1), value.lane_slice(1, lanes - 1)))
                .unzip(),
        };
        results.push(function(&from, &successors));
    }
    results
}
