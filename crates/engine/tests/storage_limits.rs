//! What storage promises about memory: nothing allocated while it runs, nothing above its budget.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use phineus_engine::{
    FrameIndex, FrameMemory, SpillSlot, Storage, StorageBackend, StorageConfig, StorageError,
    io_uring_refusal, resident_bytes,
};

/// Counts allocations of all threads.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const FRAMES: u32 = 256;
const SLOTS: u32 = 512;
const PAGE_BYTES: u32 = 64 << 10;
const DEPTH: u32 = 32;

// One test only: another one at the same time would be counted too.
#[test]
fn nothing_is_allocated_and_the_budget_holds() {
    for backend in [StorageBackend::Threads, StorageBackend::IoUring] {
        if backend == StorageBackend::IoUring && io_uring_refusal().is_some() {
            eprintln!("skipped: io_uring, {}", io_uring_refusal().expect("just seen"));
            continue;
        }
        let resident_before = resident_bytes();
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let mut frames = FrameMemory::new(FRAMES, PAGE_BYTES).expect("16 MiB are free");
        let config = StorageConfig {
            directory: directory.path().to_owned(),
            page_bytes: PAGE_BYTES,
            slots: SLOTS,
            backend,
            depth: DEPTH,
        };
        let mut storage = Storage::new(&config, &frames).expect("32 MiB of disk are free");
        // Threads and locks may allocate once, at their first use.
        pass(&mut storage, &mut frames).expect("the disk works");
        let allocations_before = ALLOCATIONS.load(Ordering::Relaxed);
        pass(&mut storage, &mut frames).expect("the disk works");
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations_before;
        assert_eq!(allocations, 0, "{backend:?} allocates while it runs");
        if let (Some(before), Some(now)) = (resident_before, resident_bytes()) {
            let budget = Storage::memory_bytes(FRAMES, SLOTS, DEPTH) + frames.length_bytes() as u64;
            // The kernel's count of resident pages lags by up to 64 pages a thread.
            const LAG_BYTES: u64 = 6 * 64 * 4096;
            let grown = now.saturating_sub(before);
            assert!(grown <= budget + LAG_BYTES, "{backend:?}: {grown} for {budget}");
        }
    }
}

/// Writes every slot and reads every slot, `DEPTH` pages at a time.
fn pass(storage: &mut Storage, frames: &mut FrameMemory) -> Result<(), StorageError> {
    for slots in (0..SLOTS).step_by(DEPTH as usize) {
        let pairs = (slots..slots + DEPTH).map(|slot| (FrameIndex(slot % FRAMES), SpillSlot(slot)));
        for (frame, slot) in pairs.clone() {
            frames.frame_mut(frame).fill(slot.0 as u8);
            storage.issue_out(frames, frame, slot)?;
        }
        for (frame, _) in pairs.clone() {
            storage.finish_out(frames, frame)?;
        }
        for (frame, slot) in pairs.clone() {
            storage.issue_in(frames, frame, slot)?;
        }
        for (frame, slot) in pairs {
            storage.finish_in(frames, frame)?;
            assert!(frames.frame_mut(frame).iter().all(|&byte| byte == slot.0 as u8));
        }
    }
    Ok(())
}
