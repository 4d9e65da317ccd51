//! Moving pages with a few threads and `pread`/`pwrite`: works everywhere.
//!
//! Cost: two wake-ups a page. Four threads keep a disk as busy as io_uring does from 64 KiB on.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::FileExt;
use std::slice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use super::TransferDirection;
use super::backend::{AttemptResult, Completion, SwapDevice, Transfer};
use super::faults::InjectedFault;

/// I/O threads. They sleep in the kernel: a 64 KiB page costs about 10 µs of processor and 100 µs
/// of disk, so four keep a disk of 2 GB/s busy (4 * 64 KiB / 110 µs = 2.4 GB/s).
const THREAD_COUNT: u32 = 4;

/// An I/O thread only calls the kernel.
const STACK_BYTES: usize = 128 << 10;

/// The pool. Dropping it ends its threads after the transfers they already have.
pub(super) struct ThreadBackend {
    shared: Arc<ThreadPoolState>,
    threads: Vec<JoinHandle<()>>,
    depth: usize,
}

struct ThreadPoolState {
    queues: Mutex<Queues>,
    /// Told when `waiting` grows or `stop` is set.
    work: Condvar,
    /// Told when `answers` grows.
    done: Condvar,
}

struct Queues {
    waiting: VecDeque<Transfer>,
    answers: Vec<Completion>,
    /// Submitted and not yet handed to the owner.
    unanswered: usize,
    stop: bool,
}

impl ThreadBackend {
    /// Starts the threads, never more than `depth`.
    pub(super) fn start(device: &Arc<SwapDevice>, depth: u32) -> io::Result<ThreadBackend> {
        let depth_usize = depth as usize;
        let queues = Queues {
            waiting: VecDeque::with_capacity(depth_usize),
            answers: Vec::with_capacity(depth_usize),
            unanswered: 0,
            stop: false,
        };
        let shared = Arc::new(ThreadPoolState {
            queues: Mutex::new(queues),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        // Built before the threads, so that a failed start stops those already running.
        let mut backend = ThreadBackend { shared, threads: Vec::new(), depth: depth_usize };
        for _ in 0..THREAD_COUNT.min(depth) {
            let (shared, device) = (Arc::clone(&backend.shared), Arc::clone(device));
            let builder = thread::Builder::new().name("storage".into()).stack_size(STACK_BYTES);
            backend.threads.push(builder.spawn(move || serve(&shared, &device))?);
        }
        Ok(backend)
    }

    /// Queues one transfer.
    pub(super) fn submit(&mut self, transfer: Transfer) {
        let mut queues = self.shared.lock();
        assert!(queues.unanswered < self.depth, "more transfers than the depth allows");
        queues.unanswered += 1;
        queues.waiting.push_back(transfer);
        drop(queues);
        self.shared.work.notify_one();
    }

    /// Moves the answers that are there to `answers`; if `wait`, waits for one.
    pub(super) fn collect(&mut self, wait: bool, answers: &mut Vec<Completion>) {
        let mut queues = self.shared.lock();
        assert!(!wait || queues.unanswered > 0, "waiting for nothing");
        while wait && queues.answers.is_empty() {
            queues = self.shared.done.wait(queues).expect(NO_PANIC);
        }
        queues.unanswered -= queues.answers.len();
        answers.append(&mut queues.answers);
    }
}

impl Drop for ThreadBackend {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to finish.
            let _ = thread.join();
        }
    }
}

const NO_PANIC: &str = "no storage thread panics while it holds the queues";

impl ThreadPoolState {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().expect(NO_PANIC)
    }
}

/// The life of one thread.
fn serve(shared: &ThreadPoolState, device: &SwapDevice) {
    let mut queues = shared.lock();
    loop {
        if let Some(transfer) = queues.waiting.pop_front() {
            drop(queues);
            let result = move_page(device, transfer);
            queues = shared.lock();
            queues.answers.push(Completion { transfer, result });
            shared.done.notify_one();
        } else if queues.stop {
            return;
        } else {
            queues = shared.work.wait(queues).expect(NO_PANIC);
        }
    }
}

/// Moves one page, in as many attempts as it takes.
fn move_page(device: &SwapDevice, transfer: Transfer) -> io::Result<()> {
    let mut moved_bytes = 0;
    loop {
        let moved = attempt(device, transfer, moved_bytes);
        match device.advance(moved_bytes, moved) {
            AttemptResult::Again(from) => moved_bytes = from,
            AttemptResult::Done(result) => return result,
        }
    }
}

/// One system call for what is left of a page; the number of bytes it moved.
fn attempt(device: &SwapDevice, transfer: Transfer, moved_bytes: u32) -> io::Result<u32> {
    let mut length_bytes = device.page_bytes() - moved_bytes;
    match device.faults.next() {
        Some(InjectedFault::Refuse(errno)) => return Err(io::Error::from_raw_os_error(errno)),
        Some(InjectedFault::Shorten(bytes)) => length_bytes = length_bytes.min(bytes),
        None => {}
    }
    let offset_bytes = device.slot_offset_bytes(transfer.slot) + u64::from(moved_bytes);
    // SAFETY: moved_bytes < page_bytes, so the range lies in the frame, and `device` keeps the
    // frame mapped. The frame is in flight from issue to finish, so no other reference to it
    // exists (see frames.rs); the lock around the queues orders this access with the owner's.
    let bytes = unsafe {
        let start = device.frame_address(transfer.frame).add(moved_bytes as usize);
        slice::from_raw_parts_mut(start, length_bytes as usize)
    };
    let moved = match transfer.direction {
        TransferDirection::In => device.file().read_at(bytes, offset_bytes),
        TransferDirection::Out => device.file().write_at(bytes, offset_bytes),
    }?;
    Ok(u32::try_from(moved).expect("no more than asked for"))
}
