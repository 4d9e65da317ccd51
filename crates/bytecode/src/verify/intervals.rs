//! [`Intervals`]: which rows of a column were written.

use std::collections::BTreeMap;

/// Disjoint stretches of rows, from start to end (exclusive), never touching.
#[derive(Clone, Default)]
pub(super) struct Intervals(BTreeMap<u64, u64>);

impl Intervals {
    /// Adds `from..to`; returns a row that was there before, if there is one.
    pub(super) fn add(&mut self, mut from: u64, mut to: u64) -> Option<u64> {
        let mut twice = None;
        while let Some((&start, &end)) = self.0.range(..=to).next_back() {
            if end < from {
                break;
            }
            if start < to && end > from {
                twice = Some(start.max(from));
            }
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
        twice
    }

    /// The first stretch of `0..rows` that is missing.
    pub(super) fn first_gap(&self, rows: u64) -> Option<(u64, u64)> {
        let mut covered = 0;
        for (&start, &end) in &self.0 {
            if start > covered {
                return Some((covered, start));
            }
            covered = end;
        }
        (covered < rows).then_some((covered, rows))
    }
}
