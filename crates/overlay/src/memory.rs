//! [`MemoryBound`]: how much memory compiling may take, and how much it takes. Each step states what it holds at most.

use std::cell::Cell;

use crate::OverlayError;

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
