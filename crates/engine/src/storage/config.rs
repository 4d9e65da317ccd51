//! Options of storage, and its statistics.

use std::path::PathBuf;
use std::time::Duration;

/// A page's place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameIndex(pub u32);

/// A page's place in the swap file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpillSlot(pub u32);

/// The direction in which a page moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferDirection {
    /// Swap-in: from the swap file to a frame.
    In,
    /// Swap-out: from a frame to the swap file.
    Out,
}

impl TransferDirection {
    pub(super) fn verb(self) -> &'static str {
        match self {
            TransferDirection::In => "read",
            TransferDirection::Out => "write",
        }
    }
}

/// How pages are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StorageBackend {
    /// io_uring where the kernel allows it, else threads.
    #[default]
    Auto,
    /// io_uring or an error.
    IoUring,
    /// A few threads with `pread` and `pwrite`.
    Threads,
}

/// Options of a [`super::Storage`].
#[derive(Clone, Debug)]
pub struct StorageConfig {
    /// Where the swap file is made.
    pub directory: PathBuf,
    /// Bytes of a page; those of the frames.
    pub page_bytes: u32,
    /// Pages in the swap file.
    pub slots: u32,
    /// How pages are moved.
    pub backend: StorageBackend,
    /// Transfers in flight at the device at most, 1 to 1024; one more issue waits for the oldest.
    pub depth: u32,
}

/// Statistics of a storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageStatistics {
    /// Swap-ins finished.
    pub pages_in: u64,
    /// Swap-outs issued.
    pub pages_out: u64,
    /// Bytes of the swap-ins.
    pub bytes_in: u64,
    /// Bytes of the swap-outs.
    pub bytes_out: u64,
    /// Swap-ins that were not there yet when needed.
    pub late_in: u64,
    /// Swap-outs that were not done yet when their frame was needed.
    pub late_out: u64,
    /// Time spent waiting in `finish_in`.
    pub blocked_in: Duration,
    /// Time spent waiting in `finish_out`.
    pub blocked_out: Duration,
    /// Time spent waiting in an issue because `depth` transfers were in flight.
    pub blocked_issue: Duration,
    /// Time spent encrypting and decrypting.
    pub cipher: Duration,
}
