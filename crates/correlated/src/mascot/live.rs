//! [`Live`]: authenticated correlated randomness made by a thread just ahead of its use.
//!
//! The thread has the generator with channels of its own. It makes the batches of the schedule and
//! no more, and waits while [`BATCHES_AHEAD`] of them lie unused. When it fails, the consumer gets
//! its error with the next batch, or when it next asks whether all is settled (`trust`); when the
//! consumer is dropped, the thread ends with the batch it is making.
//! Cost: the generator's. Memory: the generator's, and `BATCHES_AHEAD + 2` batches and one more
//! of each kind.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use phineus_channels::Channel;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::buffered::{AuthenticatedSource, Buffered};
use super::coin::cheated;
use super::deviation::{Deviation, Honest};
use super::limits::BATCHES_AHEAD;
use super::trust::Trust;
use super::{Batch, Demand, Generator, Kind, Schedule};
use crate::CorrelatedError;
use crate::buffered::BatchSource;
use crate::generator::{Pipelining, make_batches};

/// Authenticated correlated randomness from a thread; see [`Live::start`].
pub type Live<F, C, D = Honest> = Buffered<F, LiveSource<F, C, D>>;

/// The thread that makes batches.
pub struct LiveSource<F: Field, C, D = Honest> {
    delta: Zeroizing<F>,
    batches: Receiver<Result<Batch<F>, CorrelatedError>>,
    used: SyncSender<Batch<F>>,
    thread: JoinHandle<Option<Generator<F, C, D>>>,
    failed: bool,
    trust: Arc<Trust>,
}

impl<F: Field, C: Channel + 'static, D: Deviation> Live<F, C, D> {
    /// Starts making what is demanded, in the order of its use.
    ///
    /// All parties must give the same demand and order.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start(
        generator: Generator<F, C, D>,
        demand: Demand,
        order: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + 'static,
    ) -> std::io::Result<Live<F, C, D>> {
        Live::start_batches(generator, Schedule::new(demand, order))
    }

    /// Starts making these batches, which all parties must give in the same order, and all of which
    /// must be used.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start_batches(
        generator: Generator<F, C, D>,
        schedule: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + 'static,
    ) -> std::io::Result<Live<F, C, D>> {
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let (used, recycled) = sync_channel(BATCHES_AHEAD + 1);
        let trust = generator.trust.clone();
        let delta = Zeroizing::new(generator.delta());
        let thread = thread::Builder::new()
            .name("preprocessing".to_owned())
            .spawn(move || make_batches(generator, schedule, Pipelining::Off, sender, recycled))?;
        Ok(Buffered::new(LiveSource { delta, batches, used, thread, failed: false, trust }))
    }

    /// Waits for the thread after everything has been used; gives the generator back.
    ///
    /// # Errors
    /// When the thread failed.
    ///
    /// # Panics
    /// If something that was demanded has not been used.
    pub fn finish(self) -> Result<Generator<F, C, D>, CorrelatedError> {
        assert!(self.is_used_up(), "less was used than was demanded");
        match self.source.batches.recv() {
            Ok(Ok(_)) => panic!("less was used than was demanded"),
            Ok(Err(error)) => Err(error),
            Err(_) => match self.source.thread.join() {
                Ok(generator) => generator.ok_or_else(cheated),
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

impl<F: Field, C: Send, D: Send> AuthenticatedSource<F> for LiveSource<F, C, D> {
    fn delta(&self) -> F {
        *self.delta
    }

    fn settle(&mut self) -> Result<(), CorrelatedError> {
        if self.trust.wait() {
            return Ok(());
        }
        self.failed = true;
        // The error comes behind what was made before it.
        loop {
            match self.batches.recv() {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(cheated()),
            }
        }
    }

    fn blame(&mut self) -> Option<CorrelatedError> {
        let mut made = self.batches.try_iter();
        let error = made.find_map(Result::err);
        self.failed |= error.is_some();
        error.filter(|error| !matches!(error, CorrelatedError::Channel(_)))
    }
}

impl<F: Field, C: Send, D: Send> BatchSource<Batch<F>> for LiveSource<F, C, D> {
    fn next(
        &mut self,
        _: Kind,
        _: usize,
        used: Option<Batch<F>>,
    ) -> Result<Batch<F>, CorrelatedError> {
        if self.failed {
            return Err(cheated());
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
