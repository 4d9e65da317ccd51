//! [`Transfers`]: a back end and its unanswered transfers, none of which outlives the memory.

use std::sync::Arc;

use super::backend::{Backend, Completion, SwapDevice, Transfer};
use super::{StorageBackend, StorageError};

/// Transfers in flight at most; io_uring's own limit is 32768, and no disk gains beyond this.
pub(super) const DEPTH_MAX: u32 = 1024;

/// Transfers that were submitted to a back end and are not finished.
pub(super) struct Transfers {
    backend: Backend,
    device: Arc<SwapDevice>,
    /// Answers on their way to the caller.
    answers: Vec<Completion>,
    unanswered: u32,
    depth: u32,
}

impl Transfers {
    /// Starts the back end `wanted` for `depth` transfers at once.
    pub(super) fn start(
        wanted: StorageBackend,
        device: SwapDevice,
        depth: u32,
    ) -> Result<Transfers, StorageError> {
        assert!((1..=DEPTH_MAX).contains(&depth), "a depth of {depth}");
        let device = Arc::new(device);
        Ok(Transfers {
            backend: Backend::start(wanted, &device, depth)?,
            device,
            answers: Vec::with_capacity(depth as usize),
            unanswered: 0,
            depth,
        })
    }

    /// Files and memory that the transfers work on.
    pub(super) fn device(&self) -> &SwapDevice {
        &self.device
    }

    /// The back end, for its name.
    pub(super) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// As on a machine where little memory may be pinned.
    #[cfg(test)]
    pub(super) fn unregister_buffers(&mut self) {
        #[cfg(target_os = "linux")]
        if let Backend::IoUring(backend) = &mut self.backend {
            backend.unregister_buffers();
        }
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.unanswered == 0
    }

    /// Whether an answer must be collected before the next submit.
    pub(super) fn is_full(&self) -> bool {
        self.unanswered == self.depth
    }

    /// Starts `transfer`.
    pub(super) fn submit(&mut self, transfer: Transfer) -> Result<(), StorageError> {
        assert!(!self.is_full(), "more transfers than the depth allows");
        self.unanswered += 1;
        self.backend.submit(transfer).map_err(|source| StorageError::Ring { source })
    }

    /// Tells `answered` about each transfer that is done; if `wait`, about at least one.
    ///
    /// Failed transfers are told too; the result is the first failure.
    pub(super) fn collect(
        &mut self,
        wait: bool,
        mut answered: impl FnMut(Transfer),
    ) -> Result<(), StorageError> {
        let collected = self.backend.collect(wait, &mut self.answers);
        let mut outcome = collected.map_err(|source| StorageError::Ring { source });
        self.unanswered -= self.answers.len() as u32;
        for Completion { transfer, result } in self.answers.drain(..) {
            let Transfer { direction, slot, .. } = transfer;
            self.device.forget_cached(slot);
            answered(transfer);
            if let (Ok(()), Err(source)) = (&outcome, result) {
                let directory = self.device.swap_file.directory();
                outcome = Err(StorageError::from_transfer(directory, direction, slot, source));
            }
        }
        outcome
    }
}

impl Drop for Transfers {
    /// Waits for the device: it must not write to memory that is given back.
    fn drop(&mut self) {
        while self.unanswered > 0 {
            if self.backend.collect(true, &mut self.answers).is_err() {
                self.device.leak_memory();
                return;
            }
            self.unanswered -= self.answers.len() as u32;
            self.answers.clear();
        }
    }
}
