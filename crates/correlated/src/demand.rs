//! [`Demand`] and [`Schedule`]: amounts of correlated randomness that a program needs, and the
//! batches in which it is made.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use phineus_channels::{SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN};

use serde::{Deserialize, Serialize};

use crate::CorrelatedError;

/// How large batches are, and what is on the way between two parties: all of it where memory is
/// plenty, and a half, a quarter or an eighth where it is short. The same at all parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u64", try_from = "u64")]
pub struct BatchScale {
    halvings: u8,
}

impl BatchScale {
    /// Whole batches.
    pub const FULL: BatchScale = BatchScale { halvings: 0 };

    /// All there are, the largest first. Less than an eighth would save less memory than what is
    /// needed besides, and take many rounds.
    pub const ALL: [BatchScale; 4] = [
        BatchScale::FULL,
        BatchScale { halvings: 1 },
        BatchScale { halvings: 2 },
        BatchScale { halvings: 3 },
    ];

    /// The one that a plan states.
    pub fn from_halvings(halvings: u64) -> Option<BatchScale> {
        BatchScale::ALL.into_iter().find(|scale| scale.halvings() == halvings)
    }

    /// How a plan states it.
    pub fn halvings(self) -> u64 {
        self.halvings.into()
    }

    /// Scales an amount to this batch size.
    pub const fn of(self, full: usize) -> usize {
        full >> self.halvings
    }

    /// Bytes that a party may be ahead of its peer on each channel.
    pub const fn ahead_bytes(self) -> usize {
        let ahead = self.of(SEND_AHEAD_BYTES);
        if ahead > SEND_AHEAD_BYTES_MIN { ahead } else { SEND_AHEAD_BYTES_MIN }
    }
}

impl From<BatchScale> for u64 {
    fn from(scale: BatchScale) -> u64 {
        scale.halvings()
    }
}

impl TryFrom<u64> for BatchScale {
    type Error = String;

    fn try_from(halvings: u64) -> Result<BatchScale, String> {
        BatchScale::from_halvings(halvings)
            .ok_or_else(|| format!("batches are halved 0 to 3 times, not {halvings} times"))
    }
}

/// A kind of correlated randomness.
pub trait RandomnessKind: Copy + Ord {
    /// Items of a batch.
    fn batch_items(self, scale: BatchScale) -> usize;
}

/// How much of each kind a program needs in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand<K> {
    counts: BTreeMap<K, usize>,
    scale: BatchScale,
}

impl<K> Default for Demand<K> {
    fn default() -> Demand<K> {
        Demand { counts: BTreeMap::new(), scale: BatchScale::FULL }
    }
}

impl<K: RandomnessKind> Demand<K> {
    /// The sum of what is demanded in some order.
    pub fn of(order: impl IntoIterator<Item = (K, usize)>) -> Demand<K> {
        let mut demand = Demand::default();
        order.into_iter().for_each(|(kind, count)| demand.add(kind, count));
        demand
    }

    /// Of nothing yet, which is made in batches of this size.
    pub fn scaled(scale: BatchScale) -> Demand<K> {
        Demand { scale, ..Demand::default() }
    }

    /// How large its batches are.
    pub fn scale(&self) -> BatchScale {
        self.scale
    }

    /// Adds `count` of a kind.
    pub fn add(&mut self, kind: K, count: usize) {
        if count > 0 {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    /// How much of a kind.
    pub fn count(&self, kind: K) -> usize {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// All kinds of which something is needed, in ascending order.
    pub fn kinds(&self) -> impl Iterator<Item = (K, usize)> {
        self.counts.iter().map(|(&kind, &count)| (kind, count))
    }

    /// The batches in which all of it is made: of each kind full ones, then the rest.
    pub fn batches(&self) -> impl Iterator<Item = (K, usize)> {
        self.kinds().flat_map(|(kind, count)| batches(kind, count, self.scale))
    }
}

/// The batches in which `count` of a kind are made: full ones, then the rest.
pub fn batches<K: RandomnessKind>(
    kind: K,
    count: usize,
    scale: BatchScale,
) -> impl Iterator<Item = (K, usize)> {
    let batch = kind.batch_items(scale);
    (0..count).step_by(batch).map(move |first| (kind, batch.min(count - first)))
}

/// The batches that all parties make, in the order in which they are first needed.
///
/// What a batch holds beyond the need stays for later needs of its kind, so at most one batch of
/// each kind waits. Which batches a kind is made in depends on the demand only, not on the order.
pub struct Schedule<K, I> {
    order: I,
    /// The need that is looked at, as far as it is not covered.
    current: Option<(K, usize)>,
    /// Not made yet.
    remaining: Demand<K>,
    /// Made and not needed yet.
    surplus: BTreeMap<K, usize>,
}

impl<K: RandomnessKind, I: Iterator<Item = Result<(K, usize), CorrelatedError>>> Schedule<K, I> {
    /// The batches for needs in this order, which are `demand` in all. An error of the order comes
    /// in its place, and ends what is made.
    pub fn new(demand: Demand<K>, order: I) -> Schedule<K, I> {
        Schedule { order, current: None, remaining: demand, surplus: BTreeMap::new() }
    }
}

impl<K, I> Iterator for Schedule<K, I>
where
    K: RandomnessKind,
    I: Iterator<Item = Result<(K, usize), CorrelatedError>>,
{
    type Item = Result<(K, usize), CorrelatedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (kind, needed) = match self.current.take().map(Ok).or_else(|| self.order.next()) {
                Some(Ok(need)) => need,
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    let left = self.remaining.kinds().any(|(_, count)| count > 0);
                    assert!(!left, "the order needs less than the demand");
                    return None;
                }
            };
            let surplus = self.surplus.entry(kind).or_default();
            if *surplus >= needed {
                *surplus -= needed;
                continue;
            }
            self.current = Some((kind, needed - *surplus));
            let remaining = self.remaining.counts.get_mut(&kind).filter(|count| **count > 0);
            let remaining = remaining.expect("the order needs what the demand has");
            *surplus = kind.batch_items(self.remaining.scale).min(*remaining);
            *remaining -= *surplus;
            return Some(Ok((kind, *surplus)));
        }
    }
}

/// The batches of a program of several blocks: those of each block when it is known to run.
///
/// Each block has its own demand, so what one run of it takes depends on nothing but the block, and
/// nothing of it is left over for another.
pub struct BlockSchedule<K, I, B> {
    entered: Receiver<usize>,
    begin: B,
    current: Option<Schedule<K, I>>,
}

impl<K: RandomnessKind, I, B> BlockSchedule<K, I, B>
where
    I: Iterator<Item = Result<(K, usize), CorrelatedError>>,
    B: FnMut(usize) -> Result<(Demand<K>, I), CorrelatedError>,
{
    /// The batches, and where the blocks that run are said to; they end when that is dropped.
    /// `begin` says what a block demands, and in which order.
    pub fn new(begin: B) -> (BlockSchedule<K, I, B>, Sender<usize>) {
        let (sender, entered) = channel();
        (BlockSchedule { entered, begin, current: None }, sender)
    }
}

impl<K: RandomnessKind, I, B> Iterator for BlockSchedule<K, I, B>
where
    I: Iterator<Item = Result<(K, usize), CorrelatedError>>,
    B: FnMut(usize) -> Result<(Demand<K>, I), CorrelatedError>,
{
    type Item = Result<(K, usize), CorrelatedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            match (self.begin)(self.entered.recv().ok()?) {
                Ok((demand, order)) => self.current = Some(Schedule::new(demand, order)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
