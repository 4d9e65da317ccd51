//! [`RowQueue`]: puts rows from the order in which a device issues them into the order of the gates.
//!
//! It is bounded. [`row_span`] states how far a row of a stream may come before a gate that still lacks its own; with
//! space for so many rows, a device that waits for space and a host that waits for a row never wait for each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use phineus_crypto::GarbledGate;
use zerocopy::IntoBytes;

use crate::device::gates;
use crate::stream::Stream;

/// How often a host that waits looks whether it is still wanted.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of a queue for each row: the row, and whether it is there.
pub const QUEUED_ROW_BYTES: u64 = GarbledGate::BYTES as u64 + 1;

/// The most gates from the first whose row is missing to one whose row comes, counted with both.
pub fn row_span(stream: &Stream) -> u64 {
    let mut is_there = vec![0_u64; (stream.and_count() as usize).div_ceil(64)];
    let (mut first_missing, mut span) = (0, 0);
    for gate in gates(stream) {
        span = span.max(gate + 1 - first_missing);
        is_there[gate / 64] |= 1 << (gate % 64);
        while is_there
            .get(first_missing / 64)
            .is_some_and(|bits| bits >> (first_missing % 64) & 1 == 1)
        {
            first_missing += 1;
        }
    }
    span as u64
}

/// There are no more rows: the device has ended, or the run is not wanted any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

struct QueueState {
    /// Row of gate `g` at `g % rows.len()`.
    rows: Vec<GarbledGate>,
    is_there: Vec<bool>,
    /// The first gate whose row was not taken.
    next: usize,
    has_ended: bool,
}

/// Rows on their way from a device to its host.
pub struct RowQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

impl RowQueue {
    /// A queue with space for `capacity` rows.
    pub fn new(capacity: u64) -> RowQueue {
        let capacity = capacity.max(1) as usize;
        let (rows, is_there) = (vec![GarbledGate::default(); capacity], vec![false; capacity]);
        let state = QueueState { rows, is_there, next: 0, has_ended: false };
        RowQueue { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Puts rows in, with the numbers of their gates; waits for space.
    ///
    /// # Errors
    /// [`Ended`] if nobody wants them.
    pub(crate) fn put(
        &self,
        rows: &[GarbledGate],
        gates: &mut dyn Iterator<Item = usize>,
    ) -> Result<(), Ended> {
        let mut state = self.state();
        for row in rows {
            let gate = gates.next().expect("no more rows than gates");
            assert!(gate >= state.next, "each gate has one row");
            while !state.has_ended && gate - state.next >= state.rows.len() {
                self.changed.notify_all();
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.has_ended {
                return Err(Ended);
            }
            let place = gate % state.rows.len();
            state.rows[place] = *row;
            state.is_there[place] = true;
        }
        self.changed.notify_all();
        if state.has_ended { Err(Ended) } else { Ok(()) }
    }

    /// Takes the rows of the next gates, as bytes; `is_cancelled` is asked while it waits.
    ///
    /// # Errors
    /// [`Ended`] if they do not come.
    pub fn take(&self, rows: &mut [u8], is_cancelled: &dyn Fn() -> bool) -> Result<(), Ended> {
        let mut state = self.state();
        for row in rows.chunks_exact_mut(GarbledGate::BYTES) {
            let place = state.next % state.rows.len();
            while !state.is_there[place] {
                if state.has_ended || is_cancelled() {
                    return Err(Ended);
                }
                self.changed.notify_all();
                let waited = self.changed.wait_timeout(state, LOOK_INTERVAL);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            row.copy_from_slice(state.rows[place].as_bytes());
            state.is_there[place] = false;
            state.next += 1;
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Ends the queue: nobody waits for it any more. Rows that are there can still be taken.
    pub(crate) fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
