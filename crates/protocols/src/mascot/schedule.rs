//! [`Demand`] and [`Schedule`]: what a program needs, and in which batches it is made.

use std::collections::BTreeMap;

use super::Kind;

/// How much of each kind a program needs in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    counts: BTreeMap<Kind, usize>,
}

impl Demand {
    /// The sum of what is demanded in some order.
    pub fn of(order: impl IntoIterator<Item = (Kind, usize)>) -> Demand {
        let mut demand = Demand::default();
        order.into_iter().for_each(|(kind, count)| demand.add(kind, count));
        demand
    }

    /// Adds `count` of a kind.
    pub fn add(&mut self, kind: Kind, count: usize) {
        if count > 0 {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    /// How much of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// All kinds of which something is needed, in ascending order.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, usize)> {
        self.counts.iter().map(|(&kind, &count)| (kind, count))
    }

    /// The batches in which all of it is made: of each kind full ones, then the rest.
    pub fn batches(&self) -> impl Iterator<Item = (Kind, usize)> {
        self.kinds().flat_map(|(kind, count)| {
            let batch = kind.batch_items();
            (0..count).step_by(batch).map(move |first| (kind, batch.min(count - first)))
        })
    }
}

/// The batches that all parties make, in the order in which they are first needed.
///
/// What a batch holds beyond the need stays for later needs of its kind, so at most one batch of
/// each kind waits. Which batches a kind is made in depends on the demand only, not on the order.
pub struct Schedule<I> {
    order: I,
    /// The need that is looked at, as far as it is not covered.
    current: Option<(Kind, usize)>,
    /// Not made yet.
    remaining: Demand,
    /// Made and not needed yet.
    surplus: BTreeMap<Kind, usize>,
}

impl<I: Iterator<Item = (Kind, usize)>> Schedule<I> {
    /// The batches for needs in this order, which are `demand` in all.
    pub fn new(demand: Demand, order: I) -> Schedule<I> {
        Schedule { order, current: None, remaining: demand, surplus: BTreeMap::new() }
    }
}

impl<I: Iterator<Item = (Kind, usize)>> Iterator for Schedule<I> {
    type Item = (Kind, usize);

    fn next(&mut self) -> Option<(Kind, usize)> {
        loop {
            let Some((kind, needed)) = self.current.take().or_else(|| self.order.next()) else {
                let left = self.remaining.kinds().any(|(_, count)| count > 0);
                assert!(!left, "the order needs less than the demand");
                return None;
            };
            let surplus = self.surplus.entry(kind).or_default();
            if *surplus >= needed {
                *surplus -= needed;
                continue;
            }
            self.current = Some((kind, needed - *surplus));
            let remaining = self.remaining.counts.get_mut(&kind).filter(|count| **count > 0);
            let remaining = remaining.expect("the order needs what the demand has");
            *surplus = kind.batch_items().min(*remaining);
            *remaining -= *surplus;
            return Some((kind, *surplus));
        }
    }
}
