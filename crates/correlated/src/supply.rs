//! [`Supply`]: hands out material that comes in batches, in any pieces; what makers, batches and
//! sources of all material have in common.
//!
//! Invariants: batches are used again, so nothing is allocated once every kind has come. When they
//! come in the order of a [`Schedule`](crate::demand::Schedule), at most one batch of each kind
//! waits beside the one that is being used.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, SyncSender};

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;

use crate::CorrelatedError;
use crate::demand::MaterialKind;

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
    ) -> Result<(), CorrelatedError>;

    /// How many batches of a kind can be begun one after another before the first is finished: those of
    /// which finishing sends nothing, and as many as channels take.
    fn begun_max(&self, _kind: <Self::Batch as MaterialBatch>::Kind) -> usize {
        0
    }

    /// Sends all that this party sends for `count` of a kind of which that is more than none.
    ///
    /// # Errors
    /// When a channel fails.
    fn begin(
        &mut self,
        _kind: <Self::Batch as MaterialBatch>::Kind,
        _count: usize,
        _batch: &mut Self::Batch,
    ) -> Result<(), CorrelatedError> {
        unreachable!("no kind can be begun")
    }

    /// Makes what was begun, in the same order.
    ///
    /// # Errors
    /// As [`Maker::make`].
    fn finish(&mut self, _batch: &mut Self::Batch) -> Result<(), CorrelatedError> {
        unreachable!("no kind can be begun")
    }

    /// The parties.
    fn parties(&mut self) -> &mut Parties<Self::Channel>;

    /// This party's randomness.
    fn prg(&mut self) -> &mut Prg;
}

/// Makes the batches of `schedule`, in a thread of its own, and gives the maker back unless it failed;
/// `recycled` are batches that have been used up, for their memory. Each is made before the schedule is
/// asked for the next.
pub(crate) fn make_ahead<M: Maker>(
    maker: M,
    schedule: impl Iterator<Item = Result<Need<M>, CorrelatedError>>,
    batches: SyncSender<Result<M::Batch, CorrelatedError>>,
    recycled: Receiver<M::Batch>,
) -> Option<M> {
    make_batches(maker, (schedule, false), batches, recycled)
}

/// The same; where the schedule `is_known`, that is, waits for nothing that is made, batches are begun
/// before those before them are finished.
pub(crate) fn make_batches<M: Maker>(
    mut maker: M,
    (schedule, is_known): (impl Iterator<Item = Result<Need<M>, CorrelatedError>>, bool),
    batches: SyncSender<Result<M::Batch, CorrelatedError>>,
    recycled: Receiver<M::Batch>,
) -> Option<M> {
    let blank = || recycled.try_recv().unwrap_or_else(|_| M::Batch::empty());
    let (mut schedule, mut begun) = (schedule.peekable(), VecDeque::new());
    loop {
        let mut made = match is_known {
            true => {
                begin_all(&mut maker, &mut schedule, &mut begun, blank).map(|()| begun.pop_front())
            }
            false => Ok(None),
        };
        made = match made {
            Ok(Some(mut batch)) => maker.finish(&mut batch).map(|()| Some(batch)),
            Ok(None) => make_next(&mut maker, schedule.next(), blank),
            Err(error) => Err(error),
        };
        let failed = made.is_err();
        let Some(made) = made.transpose() else { return Some(maker) };
        // When nobody listens any more, nobody needs more, nor hears why there is none.
        if batches.send(made).is_err() || failed {
            return None;
        }
    }
}

/// Begins what can be begun before the first of `begun` is finished.
fn begin_all<M: Maker>(
    maker: &mut M,
    schedule: &mut Peekable<impl Iterator<Item = Result<Need<M>, CorrelatedError>>>,
    begun: &mut VecDeque<M::Batch>,
    blank: impl Fn() -> M::Batch,
) -> Result<(), CorrelatedError> {
    while let Some(&Ok((kind, count))) = schedule.peek() {
        if begun.len() >= maker.begun_max(kind) {
            break;
        }
        let mut batch = blank();
        maker.begin(kind, count, &mut batch)?;
        begun.push_back(batch);
        schedule.next();
    }
    Ok(())
}

/// Makes what `need` says as a whole; nothing if that is nothing.
fn make_next<M: Maker>(
    maker: &mut M,
    need: Option<Result<Need<M>, CorrelatedError>>,
    blank: impl Fn() -> M::Batch,
) -> Result<Option<M::Batch>, CorrelatedError> {
    let Some(need) = need else { return Ok(None) };
    let ((kind, count), mut batch) = (need?, blank());
    maker.make(kind, count, &mut batch).map(|()| Some(batch))
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
    fn next(&mut self, kind: B::Kind, count: usize, used: Option<B>) -> Result<B, CorrelatedError>;
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
    ) -> Result<(), CorrelatedError> {
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
