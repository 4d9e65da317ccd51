//! [`Cancel`]: ends a session from another thread.
//!
//! A session that is connected tells the other parties that it ends and why, then fails; its calls
//! on connections return at once. A session also ends itself when the process passes its memory
//! limit ([`crate::memory_watch`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use phineus_channels::{AbortReason, Aborter};

use crate::failure::{Exit, Failure};
use crate::memory_pool::MemoryLimit;
use crate::memory_watch::MemoryWatch;

/// Interval at which the peak of the process's memory is compared with the limit.
pub(crate) const MEMORY_PAUSE: Duration = Duration::from_millis(30);

/// Steps that end the session.
enum CancelStage {
    /// Nothing: the session is not connected yet.
    Alone,
    /// The session checks by itself, several times a second.
    Asking,
    /// The others must be told; after that its calls on connections fail.
    Met(Aborter),
}

struct CancelState {
    is_requested: AtomicBool,
    stage: Mutex<CancelStage>,
    memory: MemoryWatch,
    /// The handle of all parties of a computation, of which this one ends one.
    whole: Option<Cancel>,
    /// The handles of the parties that run as threads of this process.
    parts: Mutex<Vec<Weak<CancelState>>>,
}

/// Ends a session from another thread. Clones end the same session.
#[derive(Clone)]
pub struct Cancel(Arc<CancelState>);

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel::new()
    }
}

impl Cancel {
    /// A handle for one session at a time.
    pub fn new() -> Cancel {
        Cancel::of(None)
    }

    fn of(whole: Option<Cancel>) -> Cancel {
        Cancel(Arc::new(CancelState {
            is_requested: AtomicBool::new(false),
            stage: Mutex::new(CancelStage::Alone),
            memory: MemoryWatch::default(),
            whole,
            parts: Mutex::new(Vec::new()),
        }))
    }

    /// A handle for one of several parties that run in this process: `self` ends all of them.
    pub(crate) fn part(&self) -> Cancel {
        let part = Cancel::of(Some(self.clone()));
        self.parts().push(Arc::downgrade(&part.0));
        part
    }

    /// Requests the end and does nothing else, so that a signal handler may call it. A computing
    /// session notices it by itself; for a session that waits, another thread must call
    /// [`Cancel::cancel`].
    pub fn request(&self) {
        self.0.is_requested.store(true, Ordering::Relaxed);
    }

    /// Ends the session: the others are told that its user stopped it.
    pub fn cancel(&self) {
        self.request();
        let parts: Vec<_> = self.parts().iter().filter_map(Weak::upgrade).collect();
        parts.into_iter().for_each(|part| Cancel(part).cancel());
        self.stops_session();
    }

    /// Returns whether the session must end: somebody cancelled it, or it passed its memory limit.
    pub fn is_requested(&self) -> bool {
        let whole = self.0.whole.as_ref();
        self.0.is_requested.load(Ordering::Relaxed) || whole.is_some_and(Cancel::is_requested)
    }

    /// Returns whether the session ends by itself once it is cancelled. If not, it may be in the
    /// middle of planning, and nobody but its caller waits for it.
    pub fn is_heard(&self) -> bool {
        !matches!(*self.stage(), CancelStage::Alone)
    }

    /// The reason of the end, once it is requested.
    pub fn reason(&self) -> Failure {
        self.0.memory.passed().unwrap_or_else(Failure::interrupted)
    }

    /// The failure that ended the session, or the reason for which it was ended if that may be why it
    /// failed. A fault of its own stays: the other parties of this process end this one because of it.
    pub(crate) fn or_reason(&self, failure: Failure) -> Failure {
        let may_follow = match failure.code.exit {
            Exit::Success | Exit::RunTime | Exit::PeerLost | Exit::Interrupted => true,
            Exit::Usage
            | Exit::ProgramRefused
            | Exit::PeerCheated
            | Exit::DoesNotFit
            | Exit::Disagreement
            | Exit::BadInput => false,
        };
        if may_follow && self.is_requested() { self.reason() } else { failure }
    }

    /// States that the session checks by itself, from now on, whether it must end.
    pub fn ask(&self) {
        *self.stage() = CancelStage::Asking;
    }

    /// States that the session is connected: from now on the others are told of an end, at once if
    /// it was requested before.
    pub(crate) fn met(&self, aborter: Aborter) {
        *self.stage() = CancelStage::Met(aborter);
        self.stops_session();
    }

    /// Returns whether the session must end. If so the others have been told, so that whoever closes
    /// the connections after this call gives no other reason.
    pub(crate) fn stops_session(&self) -> bool {
        if !self.is_requested() {
            return false;
        }
        let aborter = match &*self.stage() {
            CancelStage::Met(aborter) => Some(aborter.clone()),
            CancelStage::Alone | CancelStage::Asking => None,
        };
        // Another thread may be telling them already: the first one tells, and both wait for it.
        if let Some(aborter) = aborter {
            let is_of_memory = self.0.memory.passed().is_some();
            aborter.abort(match is_of_memory {
                true => AbortReason::Failed,
                false => AbortReason::Interrupted,
            });
        }
        true
    }

    /// Starts to watch the memory limit, on a thread of its own.
    ///
    /// # Errors
    /// If it has been passed already.
    pub(crate) fn watch_memory(&self, limit: &MemoryLimit) -> Result<(), Failure> {
        self.0.memory.start(limit)?;
        let state = Arc::downgrade(&self.0);
        let watcher = std::thread::Builder::new()
            .name("memory".to_owned())
            .stack_size(128 * 1024)
            .spawn(move || {
                while let Some(state) = state.upgrade() {
                    if !state.memory.is_on() {
                        break;
                    }
                    Cancel(state).stop_if_over_limit();
                    std::thread::sleep(MEMORY_PAUSE);
                }
            });
        // Without the thread the run itself looks before it opens anything.
        drop(watcher);
        Ok(())
    }

    /// Ends the session if the memory limit has been passed: its next message then fails.
    pub(crate) fn stop_if_over_limit(&self) {
        if self.0.memory.look() {
            self.cancel();
        }
    }

    /// Ends the use for this session; `self` may serve another one.
    ///
    /// # Errors
    /// If it is being ended because it passed its memory limit.
    pub fn release(&self) -> Result<(), Failure> {
        self.0.memory.stop()?;
        *self.stage() = CancelStage::Alone;
        Ok(())
    }

    /// Returns the session's share of memory after a failure, although `self` may live on.
    pub(crate) fn give_back_memory(&self) {
        self.0.memory.give_back();
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Weak<CancelState>>> {
        self.0.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self) -> MutexGuard<'_, CancelStage> {
        self.0.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::codes;

    /// A party that refused its input was reported as interrupted: the other one, told of it, had
    /// ended all parties of the process before the first said why.
    #[test]
    fn a_fault_of_its_own_is_told_although_the_session_is_ended() {
        let cancel = Cancel::new();
        cancel.cancel();
        for (code, told) in [
            (codes::CELL, codes::CELL),
            (codes::MISBEHAVED, codes::MISBEHAVED),
            (codes::CLOSED, codes::INTERRUPTED),
            (codes::CHANNEL, codes::INTERRUPTED),
        ] {
            assert_eq!(cancel.or_reason(Failure::new(code, "why")).code, told);
        }
    }
}
