//! [`BatchGenerator`]: makes correlated randomness of any kind batch by batch, also in a thread beside
//! the run.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, SyncSender};

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;

use crate::CorrelatedError;
use crate::demand::RandomnessKind;

/// Correlated randomness of one kind that was made together. Wiped on drop.
pub trait RandomnessBatch: Send + Sized {
    /// Kinds of correlated randomness.
    type Kind: RandomnessKind + Debug + Send;

    /// An empty batch, whose memory grows to that of the largest batch it ever holds.
    fn empty() -> Self;

    /// Kind of the correlated randomness in the batch.
    fn kind(&self) -> Self::Kind;

    /// How many there are.
    fn count(&self) -> usize;
}

/// All parties together, making correlated randomness.
pub trait BatchGenerator {
    /// Type of the batches that generators make.
    type Batch: RandomnessBatch;
    /// Type of the channels to the other parties.
    type Channel: Channel;

    /// Makes `count` of a kind.
    ///
    /// # Errors
    /// When a channel fails or a party is found to cheat.
    fn make(
        &mut self,
        kind: <Self::Batch as RandomnessBatch>::Kind,
        count: usize,
        batch: &mut Self::Batch,
    ) -> Result<(), CorrelatedError>;

    /// How many batches of a kind can be begun one after another before the first is finished: those of
    /// which finishing sends nothing, and as many as channels take.
    fn begun_max(&self, _kind: <Self::Batch as RandomnessBatch>::Kind) -> usize {
        0
    }

    /// Sends all that this party sends for `count` of a kind of which that is more than none.
    ///
    /// # Errors
    /// When a channel fails.
    fn begin(
        &mut self,
        _kind: <Self::Batch as RandomnessBatch>::Kind,
        _count: usize,
        _batch: &mut Self::Batch,
    ) -> Result<(), CorrelatedError> {
        unreachable!("no kind can be begun")
    }

    /// Makes what was begun, in the same order.
    ///
    /// # Errors
    /// As [`BatchGenerator::make`].
    fn finish(&mut self, _batch: &mut Self::Batch) -> Result<(), CorrelatedError> {
        unreachable!("no kind can be begun")
    }

    /// The parties.
    fn parties(&mut self) -> &mut Parties<Self::Channel>;

    /// This party's randomness.
    fn prg(&mut self) -> &mut Prg;
}

/// Whether batches are begun before those before them are finished.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pipelining {
    /// The schedule does not depend on opened values, so all parties know what comes next.
    On,
    /// Each batch is finished before the schedule is asked for the next.
    Off,
}

/// Makes the batches of `schedule`, in a thread of its own, and gives the generator back unless it
/// failed; `recycled` are batches that have been used up, for their memory.
pub(crate) fn make_batches<G: BatchGenerator>(
    mut generator: G,
    schedule: impl Iterator<Item = Result<Need<G>, CorrelatedError>>,
    pipelining: Pipelining,
    batches: SyncSender<Result<G::Batch, CorrelatedError>>,
    recycled: Receiver<G::Batch>,
) -> Option<G> {
    let blank = || recycled.try_recv().unwrap_or_else(|_| G::Batch::empty());
    let (mut schedule, mut begun) = (schedule.peekable(), VecDeque::new());
    loop {
        let mut made = match pipelining {
            Pipelining::On => begin_all(&mut generator, &mut schedule, &mut begun, blank)
                .map(|()| begun.pop_front()),
            Pipelining::Off => Ok(None),
        };
        made = match made {
            Ok(Some(mut batch)) => generator.finish(&mut batch).map(|()| Some(batch)),
            Ok(None) => make_next(&mut generator, schedule.next(), blank),
            Err(error) => Err(error),
        };
        let failed = made.is_err();
        let Some(made) = made.transpose() else { return Some(generator) };
        // When nobody listens any more, nobody needs more, nor hears why there is none.
        if batches.send(made).is_err() || failed {
            return None;
        }
    }
}

/// Begins what can be begun before the first of `begun` is finished.
fn begin_all<G: BatchGenerator>(
    generator: &mut G,
    schedule: &mut Peekable<impl Iterator<Item = Result<Need<G>, CorrelatedError>>>,
    begun: &mut VecDeque<G::Batch>,
    blank: impl Fn() -> G::Batch,
) -> Result<(), CorrelatedError> {
    while let Some(&Ok((kind, count))) = schedule.peek() {
        if begun.len() >= generator.begun_max(kind) {
            break;
        }
        let mut batch = blank();
        generator.begin(kind, count, &mut batch)?;
        begun.push_back(batch);
        schedule.next();
    }
    Ok(())
}

/// Makes what `need` says as a whole; nothing if that is nothing.
fn make_next<G: BatchGenerator>(
    generator: &mut G,
    need: Option<Result<Need<G>, CorrelatedError>>,
    blank: impl Fn() -> G::Batch,
) -> Result<Option<G::Batch>, CorrelatedError> {
    let Some(need) = need else { return Ok(None) };
    let ((kind, count), mut batch) = (need?, blank());
    generator.make(kind, count, &mut batch).map(|()| Some(batch))
}

/// A kind that a generator is asked for, and how many of it.
type Need<G> = (<<G as BatchGenerator>::Batch as RandomnessBatch>::Kind, usize);
