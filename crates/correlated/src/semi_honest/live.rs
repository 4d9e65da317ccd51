//! [`Live`]: correlated randomness made by a thread just ahead of its use.
//!
//! The thread has the generator with channels of its own. It makes the batches of the schedule and
//! no more, begins the next ones before it finishes the first where `can_begin` allows it, and
//! waits while as many of them lie unused as `limits` say. When it fails, the consumer gets its error
//! with the next batch; when the consumer is dropped, the thread ends with the batch it is making.
//! Cost: the generator's. Memory: the generator's, and [`Demand::ready_bytes`].

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use phineus_channels::Channel;

use super::{Batch, Buffered, Demand, Generator, Kind, Schedule};
use crate::buffered::BatchSource;
use crate::generator::{Pipelining, make_batches};
use crate::{CorrelatedError, StoreError};

/// Correlated randomness from a thread; see [`Live::start`].
pub type Live<C> = Buffered<LiveSource<C>>;

/// The thread that makes batches.
pub struct LiveSource<C> {
    batches: Receiver<Result<Batch, CorrelatedError>>,
    used: SyncSender<Batch>,
    thread: JoinHandle<Option<Generator<C>>>,
    failed: bool,
}

impl<C: Channel + Send + 'static> Live<C> {
    /// Starts making what is demanded, in the order of its use.
    ///
    /// All parties must give the same demand and order.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(
        generator: Generator<C>,
        demand: Demand,
        order: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + 'static,
    ) -> std::io::Result<Live<C>> {
        let ahead = demand.batches_ahead();
        Live::start_ahead(generator, Schedule::new(demand, order), Pipelining::On, ahead)
    }

    /// Starts making these batches, which all parties must give in the same order, and all of which
    /// must be used; of kinds that `demand` has. Which one is next may depend on those before: each is
    /// finished before the next is asked for.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start_batches(
        generator: Generator<C>,
        schedule: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + 'static,
        demand: &Demand,
    ) -> std::io::Result<Live<C>> {
        Live::start_ahead(generator, schedule, Pipelining::Off, demand.batches_ahead())
    }

    fn start_ahead(
        generator: Generator<C>,
        schedule: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + 'static,
        pipelining: Pipelining,
        ahead: usize,
    ) -> std::io::Result<Live<C>> {
        let (sender, batches) = sync_channel(ahead);
        let (used, recycled) = sync_channel(ahead + 1);
        let thread = thread::Builder::new()
            .name("preprocessing".to_owned())
            .spawn(move || make_batches(generator, schedule, pipelining, sender, recycled))?;
        Ok(Buffered::new(LiveSource { batches, used, thread, failed: false }))
    }

    /// Waits for the thread after everything has been used; gives the generator back.
    ///
    /// # Errors
    /// When the thread failed.
    ///
    /// # Panics
    /// If something that was demanded has not been used.
    pub fn finish(self) -> Result<Generator<C>, CorrelatedError> {
        assert!(self.is_used_up(), "less was used than was demanded");
        match self.source.batches.recv() {
            Ok(Ok(_)) => panic!("less was used than was demanded"),
            Ok(Err(error)) => Err(error),
            Err(_) => match self.source.thread.join() {
                Ok(generator) => generator.ok_or(StoreError::Failed.into()),
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

impl<C: Send> BatchSource<Batch> for LiveSource<C> {
    fn next(&mut self, _: Kind, _: usize, used: Option<Batch>) -> Result<Batch, CorrelatedError> {
        if self.failed {
            return Err(StoreError::Failed.into());
        }
        // When the thread has ended, or has enough of them, the batch is dropped.
        used.map(|used| self.used.try_send(used).ok());
        match self.batches.recv() {
            Ok(made) => {
                self.failed = made.is_err();
                made
            }
            Err(_) => panic!("more is used than was demanded, or the thread panicked"),
        }
    }
}
