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

    /// The first row that is missing.
    pub(super) fn first_missing(&self) -> u64 {
        self.0.get(&0).copied().unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::random::SeededRng;

    #[test]
    fn intervals_are_a_set_of_rows() {
        let mut random = SeededRng::new(1);
        for _ in 0..2000 {
            let (mut intervals, mut rows) = (Intervals::default(), BTreeSet::new());
            for _ in 0..random.below(8) {
                let from = random.below(20);
                let to = from + 1 + random.below(4);
                let before: Vec<u64> = (from..to).filter(|row| rows.contains(row)).collect();
                rows.extend(from..to);
                match intervals.add(from, to) {
                    Some(twice) => assert!(before.contains(&twice)),
                    None => assert!(before.is_empty()),
                }
            }
            let gap = intervals.first_gap(24);
            let missing: Vec<u64> = (0..24).filter(|row| !rows.contains(row)).collect();
            assert_eq!(gap.map(|gap| gap.0), missing.first().copied());
            let ends = |&(from, to): &(u64, u64)| {
                (from..to).all(|row| !rows.contains(&row)) && (to == 24 || rows.contains(&to))
            };
            assert!(gap.as_ref().is_none_or(ends));
        }
    }
}
