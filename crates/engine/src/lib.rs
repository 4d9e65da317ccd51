//! Interprets a planned program inside a memory limit: frames, storage, clear driver

mod storage;

pub use storage::{
    Direction, DiskFigures, FrameIndex, FrameMemory, PAGE_BYTES_MAX, PAGE_BYTES_MIN, SpillSlot,
    Storage, StorageBackend, StorageConfig, StorageError, StorageStatistics,
    available_memory_bytes, forbid_core_dumps, io_uring_refusal, memlock_limit_bytes,
    peak_resident_bytes, probe_disk, resident_bytes,
};
