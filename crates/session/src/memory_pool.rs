//! [`MemoryPool`]: one memory limit for all sessions of a process, also for concurrent ones.
//!
//! A session gets a [`Reservation`], is refused, or waits. It plans within its share, so that all
//! shares, and the memory of the process itself, stay within the total. A session's limit is the
//! one that `phineus explain` states and that a process of its own would need: code and heap of a
//! process ([`PROCESS_BYTES`]) are in it, but they exist once, so a session takes only the rest
//! from the pool.
//!
//! The system counts the memory of a process, not of a session. A session's own use is known only
//! while it computes alone: the pool notes by how much each session exceeded its share then. If the
//! total is exceeded, the session ends that exceeded its share by the most; if none was seen to, the
//! one that began to compute last. The others continue. When it has ended, the memory is checked
//! again.

mod pool_use;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use phineus_tables::quantity;

use crate::failure::{Failure, codes};
use crate::heap;
use crate::process_memory::{PROCESS_BYTES, default_limit};

use pool_use::{Computing, EndReason, PoolUse};

/// Interval at which a session that waits for memory checks whether it was cancelled.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// Memory limit of a session.
#[derive(Clone, Debug, Default)]
pub enum MemoryLimit {
    /// [`default_limit`], for the whole process.
    #[default]
    Default,
    /// Limit on the resident bytes of the whole process, including its code. The process runs one
    /// session at a time.
    Process(u64),
    /// A share of the limit of a process that runs several sessions.
    Reserved(Reservation),
}

impl MemoryLimit {
    /// The limit in bytes, as if the session had a process of its own.
    pub fn bytes(&self) -> u64 {
        match self {
            MemoryLimit::Default => default_limit(),
            MemoryLimit::Process(bytes) => *bytes,
            MemoryLimit::Reserved(reservation) => reservation.limit_bytes(),
        }
    }
}

/// Memory that the sessions of a process share. Clones share the same pool.
#[derive(Clone)]
pub struct MemoryPool(Arc<PoolState>);

struct PoolState {
    total_bytes: u64,
    own_bytes: u64,
    state: Mutex<PoolUse>,
    changed: Condvar,
}

/// That a session has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    resident_bytes: u64,
    why: EndReason,
}

/// A share of a [`MemoryPool`], for one session at a time. Clones hold the same share; it returns
/// to the pool when the last of them is dropped.
#[derive(Clone)]
pub struct Reservation(Arc<ReservedShare>);

struct ReservedShare {
    pool: Arc<PoolState>,
    number: u64,
    bytes: u64,
    /// The share that this one is a part of.
    whole: Option<Reservation>,
    is_used: AtomicBool,
}

impl MemoryPool {
    /// Makes a pool. `total_bytes` is the limit on the resident memory of the process. `own_bytes`
    /// is the most that the process takes without sessions: its code, its heap and its data. The
    /// code of sessions is in `own_bytes`; [`PROCESS_BYTES`] is enough for a process that does
    /// little else.
    ///
    /// # Errors
    /// Exit class 6 if nothing is left for sessions.
    pub fn new(total_bytes: u64, own_bytes: u64) -> Result<MemoryPool, Failure> {
        if own_bytes >= total_bytes {
            let [own, total] = [own_bytes, total_bytes].map(quantity::bytes);
            let message =
                format!("the process itself takes {own} of {total}: nothing is left for sessions");
            return Err(Failure::new(codes::POOL, message)
                .remedy("give more than that; what the sessions need comes on top"));
        }
        let seen_peak_bytes = phineus_engine::peak_resident_bytes().unwrap_or(0);
        let state = Mutex::new(PoolUse { seen_peak_bytes, ..PoolUse::default() });
        Ok(MemoryPool(Arc::new(PoolState {
            total_bytes,
            own_bytes,
            state,
            changed: Condvar::new(),
        })))
    }

    /// Memory for all sessions together.
    pub fn size_bytes(&self) -> u64 {
        self.0.total_bytes - self.0.own_bytes
    }

    /// Memory that no session has reserved.
    pub fn free_bytes(&self) -> u64 {
        self.size_bytes().saturating_sub(self.0.state().taken_bytes())
    }

    /// Takes the share of a session whose limit is `limit_bytes`.
    ///
    /// # Errors
    /// Exit class 6 if the pool has too little left.
    pub fn reserve(&self, limit_bytes: u64) -> Result<Reservation, Failure> {
        let bytes = self.share_of(limit_bytes)?;
        let mut state = self.0.state();
        let free = self.size_bytes() - state.taken_bytes();
        if bytes > free || !state.waiting.is_empty() {
            let [free, bytes] = [free, bytes].map(quantity::bytes);
            let message = format!(
                "other sessions take the memory that is meant for all: {free} of it are free, and \
                 this one needs {bytes}"
            );
            return Err(Failure::new(codes::POOL, message)
                .remedy("wait until another session has ended, or give all of them more"));
        }
        let number = state.number();
        Ok(self.take(&mut state, number, bytes))
    }

    /// Reserves memory, and waits until other sessions have ended if necessary. Sessions that wait
    /// get their shares in the order in which they came.
    ///
    /// # Errors
    /// Exit class 6 if the whole pool is too small. The wait also ends if `is_cancelled`, which is
    /// called several times a second, returns true.
    pub fn reserve_when_free(
        &self,
        limit_bytes: u64,
        is_cancelled: impl Fn() -> bool,
    ) -> Result<Reservation, Failure> {
        let bytes = self.share_of(limit_bytes)?;
        let mut state = self.0.state();
        let number = state.number();
        state.waiting.push_back(number);
        loop {
            let is_next = state.waiting.front() == Some(&number);
            if is_cancelled() {
                state.waiting.retain(|other| *other != number);
                self.0.changed.notify_all();
                return Err(Failure::interrupted());
            }
            if is_next && bytes <= self.size_bytes() - state.taken_bytes() {
                state.waiting.pop_front();
                self.0.changed.notify_all();
                return Ok(self.take(&mut state, number, bytes));
            }
            let waited = self.0.changed.wait_timeout(state, LOOK_PAUSE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Memory that a session with this limit takes from the pool.
    fn share_of(&self, limit_bytes: u64) -> Result<u64, Failure> {
        let bytes = limit_bytes.saturating_sub(PROCESS_BYTES);
        if bytes == 0 || bytes > self.size_bytes() {
            let [limit, largest] =
                [limit_bytes, self.size_bytes() + PROCESS_BYTES].map(quantity::bytes);
            let message = format!(
                "a session of {limit} does not fit: all sessions together have {largest}, and each \
                 needs more than {}",
                quantity::bytes(PROCESS_BYTES)
            );
            return Err(Failure::new(codes::POOL, message));
        }
        Ok(bytes)
    }

    fn take(&self, state: &mut PoolUse, number: u64, bytes: u64) -> Reservation {
        state.taken.insert(number, bytes);
        let (pool, is_used) = (self.0.clone(), AtomicBool::new(false));
        Reservation(Arc::new(ReservedShare { pool, number, bytes, whole: None, is_used }))
    }
}

impl Reservation {
    /// The limit of the session, as if it had a process of its own.
    pub fn limit_bytes(&self) -> u64 {
        self.0.bytes + PROCESS_BYTES
    }

    /// Equal parts of this share, for the parties of one computation; they are held as long as one of
    /// the parts.
    pub(crate) fn split(&self, parts: u64) -> Vec<Reservation> {
        let pool = &self.0.pool;
        let part = |_| {
            let number = pool.state().number();
            let (pool, bytes) = (pool.clone(), self.0.bytes / parts);
            let (whole, is_used) = (Some(self.clone()), AtomicBool::new(false));
            Reservation(Arc::new(ReservedShare { pool, number, bytes, whole, is_used }))
        };
        (0..parts).map(part).collect()
    }

    /// Marks the session as computing.
    ///
    /// # Errors
    /// If another session computes with this share, or the process has passed the total already.
    pub(crate) fn begin(&self) -> Result<(), Failure> {
        if self.0.is_used.swap(true, Ordering::Relaxed) {
            return Err(Failure::usage("two sessions at the same time cannot have one share"));
        }
        let resident_bytes = phineus_engine::resident_bytes().unwrap_or(0);
        if resident_bytes > self.0.pool.total_bytes {
            self.0.is_used.store(false, Ordering::Relaxed);
            return Err(self.0.pool.failure(resident_bytes, "no session can begin"));
        }
        let computing = Computing { share: self.0.number, whole: self.0.whole_number() };
        self.0.pool.state().computing.push(computing);
        Ok(())
    }

    /// Marks the session as not computing.
    pub(crate) fn end(&self) {
        self.0.end();
    }

    /// Checks the memory of the process; returns the reason if this is the session that must end.
    pub(crate) fn look(&self) -> Option<Passed> {
        let (resident, peak) =
            (phineus_engine::resident_bytes(), phineus_engine::peak_resident_bytes());
        self.0.pool.look(self.0.number, (resident.unwrap_or(0), peak.unwrap_or(0)))
    }

    /// The failure of a session that must end.
    pub(crate) fn failure(&self, passed: Passed) -> Failure {
        let why = match passed.why {
            EndReason::PassedShare { bytes } => {
                format!("this session passed its share by {}", quantity::bytes(bytes))
            }
            EndReason::BeganLast => "this session began last".to_owned(),
        };
        self.0.pool.failure(passed.resident_bytes, &why)
    }
}

impl PoolState {
    fn state(&self) -> MutexGuard<'_, PoolUse> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a session ends when so much is resident.
    fn failure(&self, resident_bytes: u64, why: &str) -> Failure {
        let [resident, total, own] =
            [resident_bytes, self.total_bytes, self.own_bytes].map(quantity::bytes);
        let message = format!(
            "the memory limit of all sessions was passed: {resident} were resident, the limit is \
             {total}; {why}"
        );
        Failure::new(codes::LIMIT_PASSED, message).remedy(format!(
            "check that the process takes no more than {own} besides its sessions; if it does not, \
             please report this bug"
        ))
    }

    fn look(&self, share: u64, (resident_bytes, peak_bytes): (u64, u64)) -> Option<Passed> {
        let mut state = self.state();
        state.note_share(self.own_bytes, resident_bytes);
        let is_new_peak = peak_bytes > state.seen_peak_bytes.max(self.total_bytes);
        let passed = if is_new_peak { peak_bytes } else { resident_bytes };
        if passed > self.total_bytes && state.ended.is_none() {
            state.ended = state.to_end();
            state.seen_peak_bytes = state.seen_peak_bytes.max(peak_bytes);
        }
        let ended = state.ended.filter(|ended| ended.share == share)?;
        Some(Passed { resident_bytes: passed.max(state.seen_peak_bytes), why: ended.why })
    }
}

impl ReservedShare {
    fn whole_number(&self) -> u64 {
        self.whole.as_ref().map_or(self.number, |whole| whole.0.number)
    }

    fn end(&self) {
        let mut state = self.pool.state();
        state.computing.retain(|other| other.share != self.number);
        if state.ended.is_some_and(|ended| ended.share == self.number) {
            heap::trim();
            state.ended = None;
            // It may have taken more between being found and its end: no other session ends for that.
            let peak_bytes = phineus_engine::peak_resident_bytes().unwrap_or(0);
            state.seen_peak_bytes = peak_bytes.max(state.seen_peak_bytes);
        }
        self.is_used.store(false, Ordering::Relaxed);
    }
}

impl Drop for ReservedShare {
    fn drop(&mut self) {
        self.end();
        if self.whole.is_none() {
            // What the session has freed is not resident when the next one begins.
            heap::trim();
            let mut state = self.pool.state();
            state.taken.remove(&self.number);
            state.passed_bytes.remove(&self.number);
            drop(state);
            self.pool.changed.notify_all();
        }
    }
}

impl fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoolState { total_bytes, own_bytes, .. } = &*self.0;
        f.debug_struct("MemoryPool")
            .field("total_bytes", total_bytes)
            .field("own_bytes", own_bytes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("bytes", &self.0.bytes).finish_non_exhaustive()
    }
}
