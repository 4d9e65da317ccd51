//! [`Supply`]: hands out material that comes in batches, in any pieces; what makers, batches and
//! sources of all material have in common.
//!
//! Invariants: batches are used again, so nothing is allocated once every kind has come. When they
//! come in the order of a [`Schedule`](crate::demand::Schedule), at most one batch of each kind
//! waits beside the one that is being used.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::sync::mpsc::{Receiver, SyncSender};

use phineus_channels::Channel;
use phineus_crypto::Prg;

use crate::demand::MaterialKind;
use crate::{Parties, ProtocolError};

/// Material of one kind that was made together. Wiped on drop.
pub trait MaterialBatch: Send + Sized {
    /// What it can be.
    type Kind: MaterialKind + Debug + Send;

    /// An empty batch, whose memory grows to that of the largest batch it ever holds.
    fn empty() -> Self;

    /// What it is.
    fn kind(&self) -> Self::Kind;

    /// How many there are.
    fn count(&self) -> usize;
}

/// All parties together, making material.
pub trait Maker {
    /// What they make.
    type Batch: MaterialBatch;
    /// What they talk over.
    type Channel: Channel;

    /// Makes `count` of a kind.
    ///
    /// # Errors
    /// When a channel fails or a party is found to cheat.
    fn make(
        &mut self,
        kind: <Self::Batch as MaterialBatch>::Kind,
        count: usize,
        batch: &mut Self::Batch,
    ) -> Result<(), ProtocolError>;

    /// The parties.
    fn parties(&mut self) -> &mut Parties<Self::Channel>;

    /// This party's randomness.
    fn prg(&mut self) -> &mut Prg;
}

/// Makes the batches of `schedule`, in a thread of its own, and gives the maker back unless it failed;
/// `recycled` are batches that have been used up, for their memory.
pub(crate) fn make_ahead<M: Maker>(
    mut maker: M,
    schedule: impl Iterator<Item = Result<Need<M>, ProtocolError>>,
    batches: SyncSender<Result<M::Batch, ProtocolError>>,
    recycled: Receiver<M::Batch>,
) -> Option<M> {
    for need in schedule {
        let (kind, count) = match need {
            Ok(need) => need,
            Err(error) => {
                // Nobody may be there to hear of it.
                batches.send(Err(error)).ok();
                return None;
            }
        };
        let mut batch = recycled.try_recv().unwrap_or_else(|_| M::Batch::empty());
        let made = maker.make(kind, count, &mut batch);
        let failed = made.is_err();
        // When nobody listens any more, nobody needs more.
        if batches.send(made.map(|()| batch)).is_err() || failed {
            return None;
        }
    }
    Some(maker)
}

/// What a maker is asked for: a kind, and how many of it.
type Need<M> = (<<M as Maker>::Batch as MaterialBatch>::Kind, usize);

/// Where batches come from.
pub trait Source<B: MaterialBatch>: Send {
    /// The next batch, because `count` of `kind` are missing; `used` is one that has been used up,
    /// for its memory. It may be of another kind, which is needed later.
    ///
    /// # Errors
    /// When making or reading it fails.
    fn next(&mut self, kind: B::Kind, count: usize, used: Option<B>) -> Result<B, ProtocolError>;
}

/// Material from a source of batches.
pub struct Supply<B: MaterialBatch, S> {
    pub(crate) source: S,
    shelves: BTreeMap<B::Kind, Shelf<B>>,
    used: Vec<B>,
}

/// The batches of one kind that have come.
struct Shelf<B> {
    batches: VecDeque<B>,
    /// Items of the first batch that have been handed out.
    taken: usize,
}

impl<B> Shelf<B> {
    fn empty() -> Shelf<B> {
        Shelf { batches: VecDeque::new(), taken: 0 }
    }
}

impl<B: MaterialBatch, S: Source<B>> Supply<B, S> {
    pub(crate) fn new(source: S) -> Supply<B, S> {
        Supply { source, shelves: BTreeMap::new(), used: Vec::new() }
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
    ) -> Result<(), ProtocolError> {
        let mut done = 0;
        while done < count {
            let shelf = self.shelves.entry(kind).or_insert_with(Shelf::empty);
            let Some(batch) = shelf.batches.front() else {
                let batch = self.source.next(kind, count - done, self.used.pop())?;
                let shelf = self.shelves.entry(batch.kind()).or_insert_with(Shelf::empty);
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
