//! [`Buffered`]: correlated randomness that comes in batches, handed out in any pieces.
//!
//! Invariants: batches are used again, so nothing is allocated once every kind has come. When they
//! come in the order of a [`Schedule`](crate::demand::Schedule), at most one batch of each kind
//! waits beside the one that is being used.

use std::collections::{BTreeMap, VecDeque};

use crate::CorrelatedError;
use crate::generator::RandomnessBatch;

/// Where batches come from.
pub trait BatchSource<B: RandomnessBatch>: Send {
    /// The next batch, because `count` of `kind` are missing; `used` is one that has been used up,
    /// for its memory. It may be of another kind, which is needed later.
    ///
    /// # Errors
    /// When making or reading it fails.
    fn next(&mut self, kind: B::Kind, count: usize, used: Option<B>) -> Result<B, CorrelatedError>;
}

/// Correlated randomness from a source of batches.
pub struct Buffered<B: RandomnessBatch, S> {
    pub(crate) source: S,
    shelves: BTreeMap<B::Kind, BatchQueue<B>>,
    used: Vec<B>,
}

/// The batches of one kind that have come.
struct BatchQueue<B> {
    batches: VecDeque<B>,
    /// Items of the first batch that have been handed out.
    taken: usize,
}

impl<B> BatchQueue<B> {
    fn empty() -> BatchQueue<B> {
        BatchQueue { batches: VecDeque::new(), taken: 0 }
    }
}

impl<B: RandomnessBatch, S: BatchSource<B>> Buffered<B, S> {
    pub(crate) fn new(source: S) -> Buffered<B, S> {
        Buffered { source, shelves: BTreeMap::new(), used: Vec::new() }
    }

    /// Whether all that has come has been used.
    pub fn is_used_up(&self) -> bool {
        self.shelves.values().all(|shelf| shelf.batches.is_empty())
    }

    /// Hands out `count` of a kind: `copy(batch, from, to, len)` copies `len` items from number
    /// `from` of a batch to number `to` of what was asked for.
    pub(crate) fn take(
        &mut self,
        kind: B::Kind,
        count: usize,
        mut copy: impl FnMut(&B, usize, usize, usize),
    ) -> Result<(), CorrelatedError> {
        let mut done = 0;
        while done < count {
            let shelf = self.shelves.entry(kind).or_insert_with(BatchQueue::empty);
            let Some(batch) = shelf.batches.front() else {
                let batch = self.source.next(kind, count - done, self.used.pop())?;
                let shelf = self.shelves.entry(batch.kind()).or_insert_with(BatchQueue::empty);
                shelf.batches.push_back(batch);
                continue;
            };
            let piece = (count - done).min(batch.count() - shelf.taken);
            copy(batch, shelf.taken, done, piece);
            done += piece;
            shelf.taken += piece;
            if shelf.taken == batch.count() {
                shelf.taken = 0;
                self.used.extend(shelf.batches.pop_front());
            }
        }
        Ok(())
    }
}
