//! Storage: the frames a worker computes on, and the swap file behind them.
//!
//! A planned program says when each page moves. `issue_in` and `issue_out` start a transfer and
//! return at once, `finish_in` and `finish_out` wait for it; in between the frame belongs to the
//! device. Pages lie encrypted on the disk: a page is sealed in its frame when its swap-out is
//! issued (so its contents are gone for the engine), and opened in its frame when its swap-in is
//! finished. The key never leaves the process.
//!
//! Cost per page in each direction: one pass of the page cipher on the owner's thread and one
//! system call.
//! Memory: the frames, and 24 bytes for each page of the swap file (0.04 % of it at 64 KiB a page;
//! [`Storage::memory_bytes`] says all of it). Nothing is allocated after the start.
//!
//! Invariants: a write number is the cipher's nonce and is never used twice (asserted); a frame
//! and a spill slot have at most one transfer between issue and finish (asserted: the plan's
//! checker proves it); after an error nothing more is moved.
//!
//! Not protected: which slots are moved, and when. That is public, as the whole plan is.

mod backend;
mod config;
mod error;
mod faults;
mod file_system;
mod frames;
mod mapping;
mod probe;
mod resident;
mod swap_file;
mod threads;
mod transfers;
#[cfg(target_os = "linux")]
mod uring;

#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use phineus_crypto::{PageCipher, Prg, Tag};

pub use config::{
    FrameIndex, SpillSlot, StorageBackend, StorageConfig, StorageStatistics, TransferDirection,
};
pub use error::StorageError;
pub use file_system::{free_bytes, memlock_limit_bytes};
pub use frames::{FrameMemory, PAGE_BYTES_MAX, PAGE_BYTES_MIN};
pub use probe::{DiskFigures, io_uring_refusal, probe_disk};
pub use resident::{
    available_memory_bytes, children_cpu_time, forbid_core_dumps, peak_resident_bytes,
    release_code, resident_bytes,
};

use backend::{SwapDevice, Transfer};
use swap_file::SwapFile;
use transfers::Transfers;

/// The swap file of one worker, with what is in flight between it and the frames.
///
/// Stays on the thread that made it, as io_uring wants.
pub struct Storage {
    transfers: Transfers,
    cipher: PageCipher,
    slots: Box<[SlotRecord]>,
    /// Per frame.
    pending: Box<[FrameTransfer]>,
    writes: u64,
    stopped: bool,
    statistics: StorageStatistics,
    stays_on_its_thread: PhantomData<*mut ()>,
}

/// Record of a page on disk: 24 bytes.
#[derive(Clone, Copy, Default)]
struct SlotRecord {
    /// Number of the write that filled the slot, from 1; 0 if none did. [`BUSY`] is added while a
    /// transfer of the slot is between issue and finish.
    write: u64,
    tag: Tag,
}
const _: () = assert!(size_of::<SlotRecord>() == 24);

/// Flag in [`SlotRecord::write`]: 2^63 writes of 4 KiB at 100 GB/s would take 12,000 years.
const BUSY: u64 = 1 << 63;

/// Transfer of a frame that is in progress.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameTransfer {
    Idle,
    /// Between the back end's submit and its answer.
    Moving(TransferDirection, u32),
    /// Answered, not yet finished.
    Arrived(TransferDirection, u32),
}

impl Storage {
    /// Creates the swap file, reserves its space, and starts the back end.
    ///
    /// # Errors
    /// What is wrong with the directory, the space, or the back end asked for.
    ///
    /// # Panics
    /// If `config` does not fit `frames` or breaks a limit.
    pub fn new(config: &StorageConfig, frames: &FrameMemory) -> Result<Storage, StorageError> {
        let length_bytes = u64::from(config.slots) * u64::from(config.page_bytes);
        let swap_file = SwapFile::create(&config.directory, length_bytes)?;
        Storage::with_swap_file(config, frames, swap_file)
    }

    fn with_swap_file(
        config: &StorageConfig,
        frames: &FrameMemory,
        swap_file: SwapFile,
    ) -> Result<Storage, StorageError> {
        assert_eq!(config.page_bytes, frames.page_bytes(), "frames and slots hold the same pages");
        let key = Prg::from_os().map_err(|_| StorageError::NoRandomness)?.next_block();
        let device = SwapDevice::new(frames, swap_file, config.slots);
        Ok(Storage {
            transfers: Transfers::start(config.backend, device, config.depth)?,
            cipher: PageCipher::from_seed(key),
            slots: vec![SlotRecord::default(); config.slots as usize].into_boxed_slice(),
            pending: vec![FrameTransfer::Idle; frames.frame_count() as usize].into_boxed_slice(),
            writes: 0,
            stopped: false,
            statistics: StorageStatistics::default(),
            stays_on_its_thread: PhantomData,
        })
    }

    /// Memory of a storage of this size, besides the pages of the frames.
    pub fn memory_bytes(frame_count: u32, slots: u32, depth: u32) -> u64 {
        let per_frame = size_of::<FrameTransfer>() + size_of::<bool>();
        // Answer, ring entries (64 + 2 * 16 bytes) or queue entries, bookkeeping of an attempt.
        const PER_TRANSFER_BYTES: u64 = 256;
        // Four I/O threads touch one or two pages of their stacks; a ring is a few pages.
        const FIXED_BYTES: u64 = 64 << 10;
        u64::from(slots) * size_of::<SlotRecord>() as u64
            + u64::from(frame_count) * per_frame as u64
            + u64::from(depth) * PER_TRANSFER_BYTES
            + FIXED_BYTES
    }

    /// Starts reading `slot` into `frame`, whose old contents are lost.
    ///
    /// # Errors
    /// A failure of any transfer since the last call.
    ///
    /// # Panics
    /// If the plan is wrong: the frame or the slot has an unfinished transfer, or the slot was
    /// never written.
    pub fn issue_in(
        &mut self,
        frames: &mut FrameMemory,
        frame: FrameIndex,
        slot: SpillSlot,
    ) -> Result<(), StorageError> {
        self.check(frames)?;
        self.take_slot(slot);
        assert!(
            self.slots[slot.0 as usize].write != BUSY,
            "plan error: spill slot {} is read before it is written",
            slot.0
        );
        frames.lend(frame);
        self.submit(TransferDirection::In, frame, slot)
    }

    /// Waits until the page issued into `frame` is there, and decrypts it.
    ///
    /// # Errors
    /// A failure of any transfer since the last call; [`StorageError::Corrupted`] if the page is
    /// not what was written.
    ///
    /// # Panics
    /// If no swap-in of `frame` was issued.
    pub fn finish_in(
        &mut self,
        frames: &mut FrameMemory,
        frame: FrameIndex,
    ) -> Result<(), StorageError> {
        let slot = self.finish(frames, TransferDirection::In, frame)?;
        let record = self.slots[slot as usize];
        let start = Instant::now();
        if self.cipher.open(record.write, frames.frame_mut(frame), record.tag).is_err() {
            self.stopped = true;
            return Err(StorageError::Corrupted { slot });
        }
        self.statistics.cipher += start.elapsed();
        self.statistics.pages_in += 1;
        self.statistics.bytes_in += u64::from(self.transfers.device().page_bytes());
        Ok(())
    }

    /// Encrypts `frame` where it is and starts writing it to `slot`.
    ///
    /// # Errors
    /// A failure of any transfer since the last call.
    ///
    /// # Panics
    /// If the plan is wrong: the frame or the slot has an unfinished transfer.
    ///
    /// # Security
    /// Each write has a number of its own, which is the nonce of its encryption.
    pub fn issue_out(
        &mut self,
        frames: &mut FrameMemory,
        frame: FrameIndex,
        slot: SpillSlot,
    ) -> Result<(), StorageError> {
        self.check(frames)?;
        self.take_slot(slot);
        self.writes += 1;
        assert!(self.writes < BUSY, "a nonce of the page cipher would repeat");
        let start = Instant::now();
        let tag = self.cipher.seal(self.writes, frames.frame_mut(frame));
        self.statistics.cipher += start.elapsed();
        self.slots[slot.0 as usize] = SlotRecord { write: self.writes | BUSY, tag };
        self.statistics.pages_out += 1;
        self.statistics.bytes_out += u64::from(self.transfers.device().page_bytes());
        frames.lend(frame);
        self.submit(TransferDirection::Out, frame, slot)
    }

    /// Waits until the swap-out of `frame` is done; the frame can then be used for another page.
    ///
    /// # Errors
    /// A failure of any transfer since the last call.
    ///
    /// # Panics
    /// If no swap-out of `frame` was issued.
    pub fn finish_out(
        &mut self,
        frames: &mut FrameMemory,
        frame: FrameIndex,
    ) -> Result<(), StorageError> {
        self.finish(frames, TransferDirection::Out, frame).map(|_| ())
    }

    /// Finishes everything in flight, as at the end of a run.
    ///
    /// # Errors
    /// The first failure.
    pub fn drain(&mut self, frames: &mut FrameMemory) -> Result<(), StorageError> {
        for frame in (0..frames.frame_count()).map(FrameIndex) {
            match self.pending[frame.0 as usize] {
                FrameTransfer::Idle => {}
                FrameTransfer::Moving(TransferDirection::In, _)
                | FrameTransfer::Arrived(TransferDirection::In, _) => {
                    self.finish_in(frames, frame)?;
                }
                FrameTransfer::Moving(TransferDirection::Out, _)
                | FrameTransfer::Arrived(TransferDirection::Out, _) => {
                    self.finish_out(frames, frame)?;
                }
            }
        }
        Ok(())
    }

    /// Statistics of this storage so far.
    pub fn statistics(&self) -> StorageStatistics {
        self.statistics
    }

    /// The back end at work, in words.
    pub fn backend_name(&self) -> &'static str {
        self.transfers.backend().name()
    }

    /// Whether transfers go past the page cache.
    pub fn is_direct(&self) -> bool {
        self.transfers.device().swap_file.is_direct()
    }

    fn check(&self, frames: &FrameMemory) -> Result<(), StorageError> {
        assert!(
            self.transfers.device().belongs_to(frames),
            "these are not the frames of this storage"
        );
        if self.stopped { Err(StorageError::Stopped) } else { Ok(()) }
    }

    /// Marks `slot` as being moved.
    fn take_slot(&mut self, slot: SpillSlot) {
        let record = &mut self.slots[slot.0 as usize];
        assert!(
            record.write & BUSY == 0,
            "plan error: a transfer of spill slot {} is not finished",
            slot.0
        );
        record.write |= BUSY;
    }

    /// Gives a transfer to the back end, waiting first if it is full.
    fn submit(
        &mut self,
        direction: TransferDirection,
        frame: FrameIndex,
        slot: SpillSlot,
    ) -> Result<(), StorageError> {
        if self.transfers.is_full() {
            let start = Instant::now();
            self.collect(true)?;
            self.statistics.blocked_issue += start.elapsed();
        }
        self.pending[frame.0 as usize] = FrameTransfer::Moving(direction, slot.0);
        let transfer = Transfer { direction, frame: frame.0, slot: slot.0 };
        let submitted = self.transfers.submit(transfer);
        self.stopped |= submitted.is_err();
        submitted
    }

    /// Waits for the transfer of `frame`, gives the frame back, and says which slot it was about.
    fn finish(
        &mut self,
        frames: &mut FrameMemory,
        direction: TransferDirection,
        frame: FrameIndex,
    ) -> Result<u32, StorageError> {
        self.check(frames)?;
        let is_moving = |storage: &Storage| {
            matches!(storage.pending[frame.0 as usize], FrameTransfer::Moving(moving, _)
                if moving == direction)
        };
        if is_moving(self) {
            self.collect(false)?;
        }
        if is_moving(self) {
            let start = Instant::now();
            while is_moving(self) {
                self.collect(true)?;
            }
            self.count_late(direction, start.elapsed());
        }
        let FrameTransfer::Arrived(arrived, slot) = self.pending[frame.0 as usize] else {
            panic!("plan error: no transfer of frame {} to finish", frame.0);
        };
        assert!(arrived == direction, "plan error: frame {} moved the other way", frame.0);
        self.pending[frame.0 as usize] = FrameTransfer::Idle;
        self.slots[slot as usize].write &= !BUSY;
        frames.take_back(frame);
        Ok(slot)
    }

    fn count_late(&mut self, direction: TransferDirection, waited: Duration) {
        let statistics = &mut self.statistics;
        match direction {
            TransferDirection::In => {
                statistics.late_in += 1;
                statistics.blocked_in += waited;
            }
            TransferDirection::Out => {
                statistics.late_out += 1;
                statistics.blocked_out += waited;
            }
        }
    }

    /// Takes the back end's answers; if `wait`, at least one.
    fn collect(&mut self, wait: bool) -> Result<(), StorageError> {
        let pending = &mut self.pending;
        let collected = self.transfers.collect(wait, |transfer| {
            pending[transfer.frame as usize] =
                FrameTransfer::Arrived(transfer.direction, transfer.slot);
        });
        self.stopped |= collected.is_err();
        collected
    }
}
