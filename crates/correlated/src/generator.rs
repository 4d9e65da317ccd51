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

    /// Whether `count` of a kind can be begun while the batches of `begun` are in progress: if channels take the messages of
    /// all of them.
    fn can_begin(
        &self,
        _begun: &VecDeque<Self::Batch>,
        _kind: <Self::Batch as RandomnessBatch>::Kind,
        _count: usize,
    ) -> bool {
        false
    }

    /// Sends what this party sends first for `count` of a kind that can be begun; receives nothing.
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

    /// Whether what the peers send first for a kind is answered by a message.
    fn is_answered(&self, _kind: <Self::Batch as RandomnessBatch>::Kind) -> bool {
        false
    }

    /// Takes what the peers sent first for a batch that was begun, in the same order, and answers it.
    ///
    /// # Errors
    /// As [`BatchGenerator::make`].
    fn offer(&mut self, _batch: &mut Self::Batch) -> Result<(), CorrelatedError> {
        unreachable!("no kind can be begun")
    }

    /// Makes what was begun and offered, in the same order; sends nothing.
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
    let (mut schedule, mut begun) = (schedule.peekable(), Begun::none());
    loop {
        let mut made = match pipelining {
            Pipelining::On => begin_all(&mut generator, &mut schedule, &mut begun.batches, blank)
                .and_then(|()| begun.finish_first(&mut generator)),
            Pipelining::Off => Ok(None),
        };
        if let Ok(None) = made {
            made = make_next(&mut generator, schedule.next(), blank);
        }
        let failed = made.is_err();
        let Some(made) = made.transpose() else { return Some(generator) };
        // When nobody listens any more, nobody needs more, nor hears why there is none.
        if batches.send(made).is_err() || failed {
            return None;
        }
    }
}

/// Batches that are begun and not finished, the first one first.
struct Begun<B> {
    batches: VecDeque<B>,
    /// How many of them are offered.
    offered: usize,
}

impl<B: RandomnessBatch> Begun<B> {
    fn none() -> Begun<B> {
        Begun { batches: VecDeque::new(), offered: 0 }
    }

    /// The first of them when it is finished; nothing if there is none.
    ///
    /// Choices and answers of a party come in one stream. If the first batch is answered, the peer has sent the choices of all
    /// batches that are begun before that answer, so all of them are offered before the first one is finished.
    fn finish_first<G: BatchGenerator<Batch = B>>(
        &mut self,
        generator: &mut G,
    ) -> Result<Option<B>, CorrelatedError> {
        if self.offered == 0 {
            let first = self.batches.front().map(RandomnessBatch::kind);
            let is_answered = first.is_some_and(|kind| generator.is_answered(kind));
            self.offered = if is_answered { self.batches.len() } else { self.batches.len().min(1) };
            self.batches.iter_mut().take(self.offered).try_for_each(|one| generator.offer(one))?;
        }
        let Some(mut batch) = self.batches.pop_front() else { return Ok(None) };
        self.offered -= 1;
        generator.finish(&mut batch).map(|()| Some(batch))
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
        if !generator.can_begin(begun, kind, count) {
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
