//! Interprets a planned program inside a memory limit: frames, storage, clear driver.

pub mod bits;
mod blocks;
mod clear;
mod data;
mod driver;
mod interpret;
mod lanes;
pub mod packed;
mod permutations;
mod regions;
mod storage;

pub use blocks::{BlockProgram, Carried, CarriedLayout, run_blocks};
pub use clear::{ClearDriver, row_bits};
pub use data::{DataError, Inputs, Outputs, from_bits, to_bits};
pub use driver::Driver;
pub use interpret::{INSTRUCTIONS_PER_PROGRESS, RunError, RunMemory, run};
pub use permutations::{NotAPermutation, OwnPermutations, PermutationPeak};
pub use regions::{NoSuchRow, REGION_PAGE_BYTES, RegionError, RegionSwap, Regions};
pub use storage::{
    DiskFigures, FrameIndex, FrameMemory, PAGE_BYTES_MAX, PAGE_BYTES_MIN, SpillSlot, Storage,
    StorageBackend, StorageConfig, StorageError, StorageStatistics, TransferDirection,
    available_memory_bytes, children_cpu_time, forbid_core_dumps, free_bytes, io_uring_refusal,
    memlock_limit_bytes, peak_resident_bytes, probe_disk, release_code, resident_bytes,
};
