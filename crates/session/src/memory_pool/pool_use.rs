//! Shares that are in use, and the session that has to end when the total is passed.

use std::collections::{BTreeMap, VecDeque};

/// The shares of a pool that are in use, and the sessions that wait and compute.
#[derive(Default)]
pub(super) struct PoolUse {
    /// Bytes taken from the pool, by share.
    pub(super) taken: BTreeMap<u64, u64>,
    pub(super) next: u64,
    /// Sessions that wait for memory, in the order in which they get it.
    pub(super) waiting: VecDeque<u64>,
    /// Sessions that compute, in the order in which they began.
    pub(super) computing: Vec<Computing>,
    /// By how much a session passed its share while it computed alone, by whole share, in bytes.
    pub(super) passed_bytes: BTreeMap<u64, u64>,
    /// The session that is being ended.
    pub(super) ended: Option<EndedSession>,
    /// The peak of the process that a session has been ended for.
    pub(super) seen_peak_bytes: u64,
}

/// A session that computes, or one party of it.
#[derive(Clone, Copy)]
pub(super) struct Computing {
    pub(super) share: u64,
    /// The share that the first is a part of, or itself.
    pub(super) whole: u64,
}

/// A session that is being ended, or one party of it, which ends the others.
#[derive(Clone, Copy)]
pub(super) struct EndedSession {
    pub(super) share: u64,
    pub(super) why: EndReason,
}

/// Why a session ends, and no other, when the total is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// It passed its share by so many bytes.
    PassedShare { bytes: u64 },
    /// No session was seen to pass its share.
    BeganLast,
}

impl PoolUse {
    /// Notes by how much the only session that computes has passed its share, if the process takes
    /// `own_bytes` and all other shares are in use.
    pub(super) fn note_share(&mut self, own_bytes: u64, resident_bytes: u64) {
        let Some(first) = self.computing.first() else { return };
        let whole = first.whole;
        if self.computing.iter().all(|other| other.whole == whole)
            && let Some(bytes) = resident_bytes.checked_sub(own_bytes + self.taken_bytes())
            && bytes > 0
        {
            let most = self.passed_bytes.entry(whole).or_default();
            *most = bytes.max(*most);
        }
    }

    /// The session that has to end for the others.
    pub(super) fn to_end(&self) -> Option<EndedSession> {
        let passed = |computing: &&Computing| self.passed_bytes.get(&computing.whole).copied();
        let most = self.computing.iter().max_by_key(|computing| passed(computing))?;
        match passed(&most) {
            Some(bytes) => {
                Some(EndedSession { share: most.share, why: EndReason::PassedShare { bytes } })
            }
            None => {
                let last = self.computing.last()?;
                Some(EndedSession { share: last.share, why: EndReason::BeganLast })
            }
        }
    }

    pub(super) fn taken_bytes(&self) -> u64 {
        self.taken.values().sum()
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}
