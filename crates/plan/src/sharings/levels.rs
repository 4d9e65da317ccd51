//! Levels of rounds in which something takes place.

/// More spans than this are joined.
const SPANS_MAX: usize = 64;

/// A set of levels, as spans that do not touch. If there are more than [`SPANS_MAX`], the two with the shortest gap
/// between them are joined.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    spans: Vec<(u32, u32)>,
}

impl Levels {
    /// Adds the levels from `start` to before `end`.
    pub(super) fn add(&mut self, start: u32, end: u32) {
        if start >= end {
            return;
        }
        // Spans before `first` end before it, those from `last` on begin behind it.
        let first = self.spans.partition_point(|span| span.1 < start);
        let last = self.spans.partition_point(|span| span.0 <= end);
        if first == last {
            self.spans.insert(first, (start, end));
        } else {
            let joined = (start.min(self.spans[first].0), end.max(self.spans[last - 1].1));
            self.spans[first] = joined;
            self.spans.drain(first + 1..last);
        }
        if self.spans.len() > SPANS_MAX {
            let gap = |k: &usize| self.spans[k + 1].0 - self.spans[*k].1;
            let shortest = (0..self.spans.len() - 1).min_by_key(gap).expect("there are several");
            self.spans[shortest].1 = self.spans[shortest + 1].1;
            self.spans.remove(shortest + 1);
        }
    }

    /// Number of levels.
    pub(super) fn count(&self) -> u64 {
        self.spans.iter().map(|(start, end)| u64::from(end - start)).sum()
    }

    /// The spans, ascending.
    pub(super) fn spans(&self) -> &[(u32, u32)] {
        &self.spans
    }
}

/// A level as a number with this many binary places.
pub(super) const PLACES: u32 = 16;

/// The share of each set in the levels of all: a level that is in several sets is shared by them equally. With
/// [`PLACES`] binary places.
pub(super) fn shares(sets: &[&Levels]) -> Vec<u64> {
    let spans = sets.iter().flat_map(|set| set.spans());
    let mut ends: Vec<(u32, i32)> =
        spans.flat_map(|&(start, end)| [(start, 1), (end, -1)]).collect();
    ends.sort_unstable();
    // What a set would have that has all levels before one.
    let mut sums: Vec<(u32, u64)> = Vec::new();
    let (mut sum, mut active, mut level) = (0u64, 0i64, 0u32);
    for (end, change) in ends {
        if end > level {
            if active > 0 {
                sum += (u64::from(end - level) << PLACES) / active as u64;
            }
            level = end;
        }
        active += i64::from(change);
        match sums.last_mut() {
            Some(last) if last.0 == level => last.1 = sum,
            Some(_) | None => sums.push((level, sum)),
        }
    }
    let before = |level: u32| {
        let place = sums.partition_point(|(end, _)| *end <= level);
        if place == 0 { 0 } else { sums[place - 1].1 }
    };
    let share =
        |set: &&Levels| set.spans().iter().map(|&(start, end)| before(end) - before(start)).sum();
    sets.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(spans: &[(u32, u32)]) -> Levels {
        let mut levels = Levels::default();
        spans.iter().for_each(|&(start, end)| levels.add(start, end));
        levels
    }

    #[test]
    fn spans_that_touch_are_one() {
        let all = levels(&[(5, 7), (0, 2), (2, 4), (9, 9), (3, 6)]);
        assert_eq!((all.spans(), all.count()), (&[(0, 7)][..], 7));
    }

    #[test]
    fn many_spans_are_joined_where_the_gap_is_short() {
        let mut spans: Vec<(u32, u32)> =
            (0..SPANS_MAX as u32).map(|k| (10 * k, 10 * k + 1)).collect();
        spans.push((5000, 5001));
        spans.push((5003, 5004));
        let all = levels(&spans);
        assert_eq!(all.spans().len(), SPANS_MAX);
        assert_eq!(all.spans().last(), Some(&(5000, 5004)));
    }

    #[test]
    fn shares_of_sets_add_up_to_the_levels_of_all() {
        let sets = [levels(&[(0, 4)]), levels(&[(2, 6)]), levels(&[(10, 12)]), levels(&[])];
        let sets: Vec<&Levels> = sets.iter().collect();
        let one = 1 << PLACES;
        assert_eq!(shares(&sets), [3 * one, 3 * one, 2 * one, 0]);
    }
}
