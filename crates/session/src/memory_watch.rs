//! The watch over the memory limit: a process that exceeds it ends its run at once.
//!
//! The limit applies to the resident set as the system counts it (`VmRSS`, at its peak `VmHWM`): heap,
//! stacks, frames, and the pages of the executable and its libraries that were touched.
//!
//! A session that has a share of a [`MemoryPool`](crate::memory_pool::MemoryPool) ends only if the pool
//! says so.
//!
//! The watch starts when a plan is accepted. A thread looks at the peak every few milliseconds, and
//! the run looks itself before the first output, and as often as the thread before it opens places of
//! memory. Once the limit is passed the run ends as if the user had stopped it ([`crate::cancel`]): the
//! others are told that something failed here, and not what.

use std::sync::{Mutex, MutexGuard, PoisonError};

use phineus_tables::quantity;

use crate::failure::{Failure, Remedy, RunField, codes};
use crate::memory_pool::{MemoryLimit, Reservation};

/// State of the watch. One value behind one lock: a run that ends while the watching thread looks
/// has either passed its limit or is watched no more, and whoever asks learns the same.
#[derive(Clone, Default)]
enum WatchState {
    #[default]
    Off,
    On {
        limit_bytes: u64,
    },
    Shared(Reservation),
    /// For good: what is passed once stays passed.
    Passed(Box<Failure>),
    /// A session of a pool that is being ended.
    Ending(Box<Failure>, Reservation),
}

impl WatchState {
    /// Looks at a peak; returns whether the limit has been passed.
    fn look_at(&mut self, peak_bytes: u64) -> bool {
        if let WatchState::On { limit_bytes } = *self
            && peak_bytes > limit_bytes
        {
            *self = WatchState::Passed(Box::new(failure(peak_bytes, limit_bytes)));
        }
        matches!(self, WatchState::Passed(_) | WatchState::Ending(..))
    }

    fn stop(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.passed() {
            return Err(failure);
        }
        if let WatchState::Shared(reservation) = std::mem::take(self) {
            reservation.end();
        }
        Ok(())
    }

    fn passed(&self) -> Option<Failure> {
        match self {
            WatchState::Off | WatchState::On { .. } | WatchState::Shared(_) => None,
            WatchState::Passed(failure) | WatchState::Ending(failure, _) => {
                Some((**failure).clone())
            }
        }
    }
}

/// The watch of one session.
#[derive(Default)]
pub(crate) struct MemoryWatch(Mutex<WatchState>);

impl MemoryWatch {
    fn watch(&self) -> MutexGuard<'_, WatchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a limit from now on.
    ///
    /// # Errors
    /// If it has been passed already.
    pub(crate) fn start(&self, limit: &MemoryLimit) -> Result<(), Failure> {
        *self.watch() = match limit {
            MemoryLimit::Reserved(reservation) => {
                reservation.begin()?;
                WatchState::Shared(reservation.clone())
            }
            MemoryLimit::Process(_) | MemoryLimit::Default => {
                let limit_bytes = limit.bytes();
                check(limit_bytes)?;
                WatchState::On { limit_bytes }
            }
        };
        Ok(())
    }

    /// Watches no more: what follows is no part of the run.
    ///
    /// # Errors
    /// If the limit was found to be passed: the run is being ended for it.
    pub(crate) fn stop(&self) -> Result<(), Failure> {
        self.watch().stop()
    }

    /// The session is over, whatever became of it: it gives its share back.
    pub(crate) fn give_back(&self) {
        let mut watch = self.watch();
        *watch = match std::mem::take(&mut *watch) {
            WatchState::Shared(reservation) => {
                reservation.end();
                WatchState::Off
            }
            WatchState::Ending(failure, reservation) => {
                reservation.end();
                WatchState::Passed(failure)
            }
            other => other,
        };
    }

    /// Returns whether a limit is watched that was not passed yet.
    pub(crate) fn is_on(&self) -> bool {
        matches!(*self.watch(), WatchState::On { .. } | WatchState::Shared(_))
    }

    /// Looks now; returns whether the limit has been passed.
    pub(crate) fn look(&self) -> bool {
        let mut watch = self.watch();
        let peak_bytes = match &*watch {
            WatchState::Off | WatchState::Passed(_) | WatchState::Ending(..) => 0,
            WatchState::On { .. } => phineus_engine::peak_resident_bytes().unwrap_or(0),
            WatchState::Shared(reservation) => {
                if let Some(passed) = reservation.look() {
                    let failure = Box::new(reservation.failure(passed));
                    *watch = WatchState::Ending(failure, reservation.clone());
                }
                0
            }
        };
        watch.look_at(peak_bytes)
    }

    /// Why the run ends, if it is because the limit was passed.
    pub(crate) fn passed(&self) -> Option<Failure> {
        self.watch().passed()
    }
}

/// Refuses to go on if `limit_bytes` has been passed.
pub fn check(limit_bytes: u64) -> Result<(), Failure> {
    match phineus_engine::peak_resident_bytes() {
        Some(peak) if peak > limit_bytes => Err(failure(peak, limit_bytes)),
        _ => Ok(()),
    }
}

fn failure(peak_bytes: u64, limit_bytes: u64) -> Failure {
    let (peak, limit) = (quantity::bytes(peak_bytes), quantity::bytes(limit_bytes));
    let message =
        format!("the memory limit was passed: {peak} were resident, the limit is {limit}");
    let more = (peak_bytes + peak_bytes / 8).div_ceil(1 << 20);
    Failure::new(codes::LIMIT_PASSED, message).remedy(
        Remedy::new("give ")
            .field(RunField::Memory)
            .and(format!(" {more}MiB; the plan should have fitted, so please report this bug")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    /// A limit that holds is passed when more is touched, and the run is told which and by how much.
    #[test]
    fn what_passes_the_limit_is_found() {
        let resident = phineus_engine::peak_resident_bytes().expect("every test system says it");
        let limit_bytes = resident + (16 << 20);
        let watch = MemoryWatch::default();
        watch.start(&MemoryLimit::Process(limit_bytes)).expect("it is not passed yet");
        assert!(!watch.look() && watch.passed().is_none());
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(watch.look());
        let failure = watch.passed().expect("it was found");
        assert_eq!(
            (failure.code.exit, failure.code.to_string().as_str()),
            (Exit::DoesNotFit, "E6122")
        );
        assert!(failure.message().contains(&quantity::bytes(limit_bytes)), "{failure}");
        assert!(
            watch.start(&MemoryLimit::Process(limit_bytes)).is_err(),
            "it does not begin again"
        );
        drop(touched);
        assert!(watch.stop().is_err() && watch.look(), "it stays passed");
        let other = MemoryWatch::default();
        assert!(!other.look() && other.stop().is_ok(), "another session has a watch of its own");
    }

    /// A run that ended while the watching thread looked was told that it had passed a limit of 0 B.
    #[test]
    fn a_watch_that_ends_has_passed_its_limit_or_not() {
        let mut watch = WatchState::On { limit_bytes: 5 << 20 };
        assert!(!watch.look_at(5 << 20));
        assert!(watch.stop().is_ok());
        assert!(!watch.look_at(9 << 20), "the run is over");
        assert!(watch.passed().is_none());
        watch = WatchState::On { limit_bytes: 5 << 20 };
        assert!(watch.look_at(9 << 20));
        let told = watch.stop().expect_err("it was found before the end").message();
        assert!(told.ends_with("9.0 MiB were resident, the limit is 5.0 MiB"), "{told}");
        assert_eq!(watch.passed().map(|failure| failure.message()), Some(told));
    }
}
