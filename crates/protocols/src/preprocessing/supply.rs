//! [`Supply`]: hands out what comes in batches, in any pieces.
//!
//! Invariants: batches come in the order of a [`super::Schedule`], so at most one batch of each
//! kind waits here beside the one that is being used. Batches are used again: nothing is allocated
//! once every kind has come.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use super::{Batch, Kind, Preprocessing};
use crate::ProtocolError;

/// Where batches come from.
pub trait Source: Send {
    /// The next batch; `used` is one that has been used up, for its memory.
    fn next(&mut self, used: Option<Batch>) -> Result<Batch, ProtocolError>;
}

/// Preprocessed material from a source of batches.
pub struct Supply<S> {
    pub(super) source: S,
    shelves: BTreeMap<Kind, Shelf>,
    used: Vec<Batch>,
}

/// The batches of one kind that have come.
#[derive(Default)]
struct Shelf {
    batches: VecDeque<Batch>,
    /// Elements of the first batch that have been handed out.
    taken: usize,
}

impl<S: Source> Supply<S> {
    pub(super) fn new(source: S) -> Supply<S> {
        Supply { source, shelves: BTreeMap::new(), used: Vec::new() }
    }

    /// Whether all that has come has been used.
    pub fn is_used_up(&self) -> bool {
        self.shelves.values().all(|shelf| shelf.batches.is_empty())
    }

    fn take(
        &mut self,
        kind: Kind,
        count: usize,
        targets: &mut [&mut [u64]],
    ) -> Result<(), ProtocolError> {
        for (column, target) in targets.iter_mut().enumerate() {
            assert_eq!(target.len(), kind.column_words(column, count), "room for what is asked");
            if kind.is_packed(column) {
                target.fill(0);
            }
        }
        let mut done = 0;
        while done < count {
            let shelf = self.shelves.entry(kind).or_default();
            let Some(batch) = shelf.batches.front() else {
                let batch = self.source.next(self.used.pop())?;
                self.shelves.entry(batch.kind()).or_default().batches.push_back(batch);
                continue;
            };
            let piece = (count - done).min(batch.count() - shelf.taken);
            batch.copy(shelf.taken, targets, done, piece);
            done += piece;
            shelf.taken += piece;
            if shelf.taken == batch.count() {
                shelf.taken = 0;
                self.used.extend(shelf.batches.pop_front());
            }
        }
        Ok(())
    }
}

impl<S: Source> Preprocessing for Supply<S> {
    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::BitTriple, count, &mut [a, b, c])
    }

    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::RingTriple { width }, a.len(), &mut [a, b, c])
    }

    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::SquarePair { width }, a.len(), &mut [a, c])
    }

    fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::SharedBit { width }, ring.len(), &mut [bits, ring])
    }
}
