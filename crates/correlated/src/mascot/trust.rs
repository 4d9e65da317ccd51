//! [`Trust`]: whether the MAC key is still secret, as the thread that makes correlated randomness
//! states.
//!
//! Who lies in the last check of a batch learns the key from the others' answers, and the check
//! fails; or it withholds its own answer, and the check does not end. Another thread that uses
//! earlier batches with the same key must not take the MACs that it is shown meanwhile: it waits
//! until the check has passed ([`Trust::wait`]), after everybody has committed to what it shows.
//!
//! Invariants: trust that is lost stays lost, also when the thread panics. Nothing waits for ever
//! but for peers: whoever waits has used as much as its peers, so that their threads reach the
//! same check.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckState {
    /// No check has failed, and none is under way.
    Kept,
    /// A check is under way.
    Asked,
    /// A check or something else has failed.
    Lost,
}

pub(super) struct Trust {
    state: Mutex<CheckState>,
    changed: Condvar,
}

/// A check under way, which fails unless it is said to have passed.
struct CheckGuard<'a>(&'a Trust, CheckState);

impl Drop for CheckGuard<'_> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

impl Trust {
    pub(super) fn new() -> Trust {
        Trust { state: Mutex::new(CheckState::Kept), changed: Condvar::new() }
    }

    /// Runs a check.
    pub(super) fn ask<E>(&self, check: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        self.set(CheckState::Asked);
        let mut asking = CheckGuard(self, CheckState::Lost);
        check()?;
        asking.1 = CheckState::Kept;
        Ok(())
    }

    /// Something has failed.
    pub(super) fn lose(&self) {
        self.set(CheckState::Lost);
    }

    /// Waits until no check is under way; whether all have passed.
    pub(super) fn wait(&self) -> bool {
        let state = self.state();
        let asked = |state: &mut CheckState| *state == CheckState::Asked;
        let state = self.changed.wait_while(state, asked).unwrap_or_else(PoisonError::into_inner);
        *state == CheckState::Kept
    }

    fn state(&self) -> MutexGuard<'_, CheckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: CheckState) {
        let mut now = self.state();
        if *now != CheckState::Lost {
            *now = state;
        }
        drop(now);
        self.changed.notify_all();
    }
}
