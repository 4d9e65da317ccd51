//! The two implementations of page transfers, behind one enum, and what they share.
//!
//! A back end moves whole pages between frames and the swap file, several at a time, in any order.
//! It retries what the operating system interrupts or cuts short, knows nothing of encryption, and
//! answers each transfer exactly once.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::faults::FaultInjector;
use super::frames::FrameMemory;
use super::mapping::Mapping;
use super::swap_file::SwapFile;
use super::threads::ThreadBackend;
#[cfg(target_os = "linux")]
use super::uring::UringBackend;
use super::{StorageBackend, StorageError, TransferDirection};

/// One page to move.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub(super) direction: TransferDirection,
    pub(super) frame: u32,
    pub(super) slot: u32,
}

/// The answer to one transfer.
pub(super) struct Completion {
    pub(super) transfer: Transfer,
    pub(super) result: io::Result<()>,
}

/// Files and memory that transfers work on. Shared by the storage, its back end and the back end's
/// threads.
pub(super) struct SwapDevice {
    pub(super) swap_file: SwapFile,
    pub(super) faults: FaultInjector,
    mapping: Arc<Mapping>,
    frame_count: u32,
    page_bytes: u32,
    slot_count: u32,
}

impl SwapDevice {
    /// Joins the frames and a swap file of `slot_count` pages.
    pub(super) fn new(frames: &FrameMemory, swap_file: SwapFile, slot_count: u32) -> SwapDevice {
        SwapDevice {
            swap_file,
            faults: FaultInjector::default(),
            mapping: Arc::clone(frames.mapping()),
            frame_count: frames.frame_count(),
            page_bytes: frames.page_bytes(),
            slot_count,
        }
    }

    /// Whether `frames` are the frames this was made for.
    pub(super) fn belongs_to(&self, frames: &FrameMemory) -> bool {
        Arc::ptr_eq(&self.mapping, frames.mapping())
    }

    pub(super) fn file(&self) -> &File {
        self.swap_file.file()
    }

    pub(super) fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "for registered buffers"))]
    pub(super) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// After a transfer through the page cache: asks the kernel not to keep a copy of `slot`.
    pub(super) fn forget_cached(&self, slot: u32) {
        let offset_bytes = self.slot_offset_bytes(slot);
        self.swap_file.forget_cached(offset_bytes, self.page_bytes);
    }

    /// Keeps the memory mapped for ever: for when the kernel may still write to it.
    pub(super) fn leak_memory(&self) {
        std::mem::forget(Arc::clone(&self.mapping));
    }

    /// Address of the first byte of `frame`.
    pub(super) fn frame_address(&self, frame: u32) -> *mut u8 {
        assert!(frame < self.frame_count, "frame {frame} of {}", self.frame_count);
        let offset = frame as usize * self.page_bytes as usize;
        // SAFETY: the mapping holds frame_count pages, and frame is one of them.
        unsafe { self.mapping.base().add(offset) }
    }

    /// Place of `slot` in the swap file.
    pub(super) fn slot_offset_bytes(&self, slot: u32) -> u64 {
        assert!(slot < self.slot_count, "spill slot {slot} of {}", self.slot_count);
        u64::from(slot) * u64::from(self.page_bytes)
    }

    /// How to go on after an attempt that moved `moved_bytes` more of a page than the
    /// `before_bytes` moved already.
    pub(super) fn advance(&self, before_bytes: u32, moved: io::Result<u32>) -> AttemptResult {
        match moved {
            Err(error) => match error.raw_os_error() {
                // ECANCELED: io_uring drops transfers of a thread that ends.
                Some(libc::EINTR | libc::EAGAIN | libc::ECANCELED) => {
                    AttemptResult::Again(before_bytes)
                }
                _ => AttemptResult::Done(Err(error)),
            },
            Ok(0) => AttemptResult::Done(Err(io::Error::from(io::ErrorKind::UnexpectedEof))),
            Ok(moved_bytes) if before_bytes + moved_bytes >= self.page_bytes => {
                AttemptResult::Done(Ok(()))
            }
            Ok(moved_bytes) => {
                // O_DIRECT takes aligned places only: what is past the last one is moved again.
                let aligned_bytes =
                    (before_bytes + moved_bytes) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
                if aligned_bytes > before_bytes {
                    AttemptResult::Again(aligned_bytes)
                } else {
                    AttemptResult::Done(Err(io::Error::from(io::ErrorKind::UnexpectedEof)))
                }
            }
        }
    }
}

/// Logical block of a disk, at most.
const ALIGNMENT_BYTES: u32 = super::frames::PAGE_BYTES_MIN;

/// Result of an attempt at a transfer.
pub(super) enum AttemptResult {
    /// Try the page again from this byte on.
    Again(u32),
    /// This is the answer.
    Done(io::Result<()>),
}

/// The implementation that moves pages.
pub(super) enum Backend {
    #[cfg(target_os = "linux")]
    IoUring(Box<UringBackend>),
    Threads(ThreadBackend),
}

impl Backend {
    /// Starts the back end `wanted`, or the best that works.
    pub(super) fn start(
        wanted: StorageBackend,
        device: &Arc<SwapDevice>,
        depth: u32,
    ) -> Result<Backend, StorageError> {
        let refusal = match wanted {
            StorageBackend::Threads => None,
            #[cfg(target_os = "linux")]
            _ => match UringBackend::start(Arc::clone(device), depth) {
                Ok(backend) => return Ok(Backend::IoUring(Box::new(backend))),
                Err(reason) => Some(reason),
            },
            #[cfg(not(target_os = "linux"))]
            _ => Some("this system is not Linux".to_owned()),
        };
        match (wanted, refusal) {
            (StorageBackend::IoUring, Some(reason)) => Err(StorageError::IoUringRefused { reason }),
            _ => ThreadBackend::start(device, depth)
                .map(Backend::Threads)
                .map_err(|source| StorageError::Threads { source }),
        }
    }

    /// Which one it is, for reports.
    pub(super) fn name(&self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Backend::IoUring(backend) => backend.name(),
            Backend::Threads(_) => "threads",
        }
    }

    /// Starts `transfer`; at most `depth` may be unanswered.
    pub(super) fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Backend::IoUring(backend) => backend.submit(transfer),
            Backend::Threads(backend) => {
                backend.submit(transfer);
                Ok(())
            }
        }
    }

    /// Appends the answers that are there to `answers`; if `wait`, at least one.
    ///
    /// With `wait`, something must be unanswered.
    pub(super) fn collect(&mut self, wait: bool, answers: &mut Vec<Completion>) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Backend::IoUring(backend) => backend.collect(wait, answers),
            Backend::Threads(backend) => {
                backend.collect(wait, answers);
                Ok(())
            }
        }
    }
}
