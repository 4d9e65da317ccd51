//! [`MemoryBound`]: how much memory compiling may take, and how much it takes. Each step states what it holds at most.

use std::cell::Cell;

use phineus_plan::Scratch;

use crate::OverlayError;
use crate::records::BLOCK_BYTES;

/// A bound on the bytes that the steps of compiling hold at once.
#[derive(Debug)]
pub struct MemoryBound {
    limit_bytes: u64,
    peak_bytes: Cell<u64>,
}

impl MemoryBound {
    /// Without a bound.
    pub fn none() -> MemoryBound {
        MemoryBound::of(u64::MAX)
    }

    /// At most so many bytes.
    pub fn of(limit_bytes: u64) -> MemoryBound {
        MemoryBound { limit_bytes, peak_bytes: Cell::new(0) }
    }

    /// The most that a step has stated.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes.get()
    }

    /// Fails if a step needs more than the bound.
    ///
    /// # Errors
    /// [`OverlayError::Memory`].
    pub(crate) fn check(&self, needed_bytes: u64) -> Result<(), OverlayError> {
        self.peak_bytes.set(self.peak_bytes().max(needed_bytes));
        let limit_bytes = self.limit_bytes;
        match needed_bytes > limit_bytes {
            true => Err(OverlayError::Memory { limit_bytes, needed_bytes }),
            false => Ok(()),
        }
    }
}

/// Where a pass over a program has its files and its memory.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) scratch: &'a Scratch,
    pub(crate) bound: &'a MemoryBound,
}

impl Place<'_> {
    /// Fails if the tables of a pass take more than the bound, with a block of each of its files and what the scratch holds.
    pub(crate) fn check(&self, table_bytes: u64) -> Result<(), OverlayError> {
        self.bound.check(table_bytes + 2 * BLOCK_BYTES + self.scratch.held_bytes())
    }
}
