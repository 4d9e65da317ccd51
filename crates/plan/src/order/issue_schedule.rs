//! [`IssueSchedule`]: spreads instructions with slack over the rounds of those without.
//!
//! A wide part beside a deep one could all be issued in the first round. Then its correlated
//! randomness must be there in the first round, the deep part waits meanwhile, and later rounds
//! have nothing to do but to wait for the network. So where the end of the program is in sight and
//! all of it fits in flight at once, an instruction that need not be issued yet waits until it is
//! its turn: in each round as large a part is issued as has passed of the rounds until it must be.
//!
//! Invariant: an instruction is issued when it is ready and its rounds, with those of all that
//! waits for it, are as many as are left. Nothing is short of space, so the program takes the
//! rounds of its longest chain, as without this schedule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// In place of the latest round of an instruction whose turn it is.
const GRANTED: u32 = u32::MAX;

/// Bytes for an instruction: when it is issued, and its place among those that wait.
pub(super) const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<Waiting>();

/// The latest round, from the beginning on, the place in the window, and what is held in flight.
type Waiting = Reverse<(u32, u32, u64)>;

/// When the instructions of the window are issued, up to the end of the program.
pub(super) struct IssueSchedule {
    /// Number of the first of them.
    first: u64,
    /// The latest round in which each can be issued, counted from `begin`.
    latest: Vec<u32>,
    /// The round in which this began.
    begin: u64,
    /// Bytes that they hold while in flight, and bytes of those already issued.
    total_bytes: u64,
    issued_bytes: u64,
    /// Ready ones whose turn it is not, the one with the least time on top.
    waiting: BinaryHeap<Waiting>,
}

impl IssueSchedule {
    /// For the instructions from number `first` on, at round `begin`.
    pub(super) fn new(first: u64, latest: Vec<u32>, begin: u64, total_bytes: u64) -> IssueSchedule {
        IssueSchedule {
            first,
            latest,
            begin,
            total_bytes,
            issued_bytes: 0,
            waiting: BinaryHeap::new(),
        }
    }

    /// Whether instruction `index`, which is ready, is issued in `round`; it waits here if not.
    pub(super) fn issues(&mut self, index: u64, held_bytes: u64, round: u64) -> bool {
        let place = (index - self.first) as u32;
        let latest = self.latest[place as usize];
        if latest == GRANTED {
            return true;
        }
        let is_due = self.is_due(latest, held_bytes, round);
        match is_due {
            true => self.issued_bytes += held_bytes,
            false => self.waiting.push(Reverse((latest, place, held_bytes))),
        }
        is_due
    }

    fn is_due(&self, latest: u32, held_bytes: u64, round: u64) -> bool {
        let (passed, all) = (round - self.begin + 1, u64::from(latest) + 1);
        let issued = u128::from(self.issued_bytes + held_bytes) * u128::from(all);
        passed >= all || issued <= u128::from(self.total_bytes) * u128::from(passed)
    }

    /// The next of those that waited whose turn it is in `round`: it is issued then.
    pub(super) fn next_due(&mut self, round: u64) -> Option<u64> {
        let &Reverse((latest, place, held_bytes)) = self.waiting.peek()?;
        if !self.is_due(latest, held_bytes, round) {
            return None;
        }
        self.waiting.pop();
        self.issued_bytes += held_bytes;
        self.latest[place as usize] = GRANTED;
        Some(self.first + u64::from(place))
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
