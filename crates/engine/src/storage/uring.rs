//! Moving pages with io_uring: the kernel works while the owner computes.
//!
//! The swap file is registered, and the frames too where `RLIMIT_MEMLOCK` lets the kernel pin them
//! (that saves looking up 16 addresses per 64 KiB page). A submission is a system call of 3 to
//! 5 µs, most of it telling the disk, and no thread; transfers issued in quick succession share
//! one. Alone a page costs 4 to 8 µs of processor; with threads it is 14 to 21 µs.
//! No polling kernel thread (SQPOLL): it would burn a core that computes.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use io_uring::{IoUring, Probe, opcode, squeue, types};

use super::TransferDirection;
use super::backend::{AttemptResult, Completion, SwapDevice, Transfer};
use super::faults::InjectedFault;
use super::mapping::Mapping;

/// The kernel registers buffers of at most 1 GiB (see io_uring_register(2)); a multiple of every
/// page size, so that no frame straddles two.
const BUFFER_BYTES_MAX: usize = 1 << 30;
const _: () = assert!(BUFFER_BYTES_MAX.is_multiple_of(super::frames::PAGE_BYTES_MAX as usize));

/// Place of the swap file in the table of registered files.
const SWAP_FILE: types::Fixed = types::Fixed(0);

/// A transfer issued this soon after the last submission waits for company, up to
/// [`BATCH_MAX`]: what is asked for 10 ms ahead of its need can wait this long, and a page every
/// 500 µs, at 5 µs each, is a cost of 1 %. Where pages move more slowly, each is submitted at once.
const BATCH_WINDOW: Duration = Duration::from_micros(500);

/// Transfers in one submission at most: the call's own cost is then below 1 µs each.
const BATCH_MAX: u32 = 8;

/// A ring, and what it has in flight.
pub(super) struct UringBackend {
    ring: IoUring,
    /// Entries that the kernel has not been told about.
    queued: u32,
    submitted_at: Instant,
    device: Arc<SwapDevice>,
    buffers_registered: bool,
    /// Attempt of each entry of the ring; its index is the entry's user data.
    attempts: Vec<TransferAttempt>,
    idle: Vec<u32>,
}

/// One attempt at a transfer.
#[derive(Clone, Copy)]
struct TransferAttempt {
    transfer: Transfer,
    moved_bytes: u32,
    /// The error a test wants instead of the answer.
    refused: Option<i32>,
}

impl UringBackend {
    /// Sets up a ring for `depth` transfers; the error says in one clause why there is none.
    pub(super) fn start(device: Arc<SwapDevice>, depth: u32) -> Result<UringBackend, String> {
        let ring = build_ring(depth)?;
        ring.submitter()
            .register_files(&[device.file().as_raw_fd()])
            .map_err(|error| format!("the kernel does not register files: {error}"))?;
        let buffers_registered = register_buffers(&ring, device.mapping()).is_ok();
        let transfer = Transfer { direction: TransferDirection::In, frame: 0, slot: 0 };
        let unused = TransferAttempt { transfer, moved_bytes: 0, refused: None };
        let attempts = vec![unused; depth as usize];
        let idle = (0..depth).collect();
        let submitted_at = Instant::now();
        let queued = 0;
        Ok(UringBackend { ring, queued, submitted_at, device, buffers_registered, attempts, idle })
    }

    /// The implementation's name, for reports.
    pub(super) fn name(&self) -> &'static str {
        if self.buffers_registered { "io_uring, registered buffers" } else { "io_uring" }
    }

    /// Works on without registered buffers, as where too little memory may be pinned.
    #[cfg(test)]
    pub(super) fn unregister_buffers(&mut self) {
        if self.buffers_registered {
            self.ring.submitter().unregister_buffers().expect("they are registered");
            self.buffers_registered = false;
        }
    }

    /// Hands one transfer to the kernel, now or with those that follow; at the latest when one is
    /// waited for.
    pub(super) fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        let index = self.idle.pop().expect("at most `depth` transfers are unanswered");
        self.push(index, transfer, 0);
        if self.queued < BATCH_MAX && self.submitted_at.elapsed() < BATCH_WINDOW {
            return Ok(());
        }
        self.enter(0)
    }

    /// Appends the answers that are there; if `wait`, waits for one.
    pub(super) fn collect(&mut self, wait: bool, answers: &mut Vec<Completion>) -> io::Result<()> {
        let answered_before = answers.len();
        let mut again = self.reap(answers);
        // Transfers may be done whose answers the kernel has had no occasion to write down.
        if answers.len() == answered_before && self.ring.submission().taskrun() {
            self.enter(0)?;
            again |= self.reap(answers);
        }
        while wait && answers.len() == answered_before {
            assert!(self.idle.len() < self.attempts.len(), "waiting for nothing");
            self.enter(1)?;
            again |= self.reap(answers);
        }
        if again { self.enter(0) } else { Ok(()) }
    }

    /// Reads the completion queue; true if some transfer was queued again.
    fn reap(&mut self, answers: &mut Vec<Completion>) -> bool {
        let mut again = false;
        loop {
            let Some(entry) = self.ring.completion().next() else {
                return again;
            };
            let index = entry.user_data() as u32;
            let TransferAttempt { transfer, moved_bytes, refused } = self.attempts[index as usize];
            let moved = match refused.map_or(entry.result(), |errno| -errno) {
                negative if negative < 0 => Err(io::Error::from_raw_os_error(-negative)),
                moved => Ok(moved as u32),
            };
            match self.device.advance(moved_bytes, moved) {
                AttemptResult::Again(from) => {
                    self.push(index, transfer, from);
                    again = true;
                }
                AttemptResult::Done(result) => {
                    self.idle.push(index);
                    answers.push(Completion { transfer, result });
                }
            }
        }
    }

    /// Queues one attempt under user data `index`.
    fn push(&mut self, index: u32, transfer: Transfer, moved_bytes: u32) {
        let mut length_bytes = self.device.page_bytes() - moved_bytes;
        let fault = self.device.faults.next();
        let refused = match fault {
            Some(InjectedFault::Refuse(errno)) => Some(errno),
            _ => None,
        };
        if let Some(InjectedFault::Shorten(bytes)) = fault {
            length_bytes = length_bytes.min(bytes);
        }
        self.attempts[index as usize] = TransferAttempt { transfer, moved_bytes, refused };
        let entry = if refused.is_some() {
            opcode::Nop::new().build()
        } else {
            self.entry(transfer, moved_bytes, length_bytes)
        };
        let entry = entry.user_data(u64::from(index));
        // SAFETY: the entry names bytes of one frame that `device` keeps mapped until the ring is
        // gone (the owner waits for every answer, or leaks the mapping). The frame is in flight
        // from issue to finish, so no Rust reference to its bytes exists meanwhile (frames.rs).
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("the ring has an entry for each of `depth` transfers");
        self.queued += 1;
    }

    fn entry(&self, transfer: Transfer, moved_bytes: u32, length_bytes: u32) -> squeue::Entry {
        let Transfer { direction, frame, slot } = transfer;
        let offset = self.device.slot_offset_bytes(slot) + u64::from(moved_bytes);
        let address = self.device.frame_address(frame).wrapping_add(moved_bytes as usize);
        let from_base = address as usize - self.device.mapping().base() as usize;
        let buffer = (from_base / BUFFER_BYTES_MAX) as u16;
        match (direction, self.buffers_registered) {
            (TransferDirection::In, true) => {
                opcode::ReadFixed::new(SWAP_FILE, address, length_bytes, buffer)
                    .offset(offset)
                    .build()
            }
            (TransferDirection::Out, true) => {
                opcode::WriteFixed::new(SWAP_FILE, address, length_bytes, buffer)
                    .offset(offset)
                    .build()
            }
            (TransferDirection::In, false) => {
                opcode::Read::new(SWAP_FILE, address, length_bytes).offset(offset).build()
            }
            (TransferDirection::Out, false) => {
                opcode::Write::new(SWAP_FILE, address, length_bytes).offset(offset).build()
            }
        }
    }

    /// Submits what is queued and waits for `wanted` answers.
    fn enter(&mut self, wanted: usize) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(wanted) {
                Ok(taken) => {
                    self.queued = self.queued.saturating_sub(taken as u32);
                    self.submitted_at = Instant::now();
                    return Ok(());
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // Short of kernel memory: the entry stays queued and goes with the next call.
                    Some(libc::EAGAIN | libc::EBUSY) if wanted == 0 => return Ok(()),
                    Some(libc::EAGAIN | libc::EBUSY) => std::thread::yield_now(),
                    _ => return Err(error),
                },
            }
        }
    }
}

impl Drop for UringBackend {
    fn drop(&mut self) {
        if self.buffers_registered {
            // Closing the ring unpins the frames too, but some time later.
            let _ = self.ring.submitter().unregister_buffers();
        }
    }
}

/// A ring that knows the four operations, with the best flags this kernel takes.
fn build_ring(depth: u32) -> Result<IoUring, String> {
    // Linux 5.19: completions wait for the next system call instead of interrupting the owner,
    // and a flag says that some do.
    let cooperative = IoUring::builder().setup_coop_taskrun().setup_taskrun_flag().build(depth);
    let ring = cooperative.or_else(|_| IoUring::new(depth)).map_err(|error| refusal(&error))?;
    let mut probe = Probe::new();
    let probed = ring.submitter().register_probe(&mut probe);
    let operations = [
        opcode::Read::CODE,
        opcode::Write::CODE,
        opcode::ReadFixed::CODE,
        opcode::WriteFixed::CODE,
    ];
    if probed.is_err() || !operations.iter().all(|&code| probe.is_supported(code)) {
        return Err("this kernel's io_uring is older than Linux 5.6".to_owned());
    }
    Ok(ring)
}

/// Why the kernel gave no ring.
fn refusal(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring".to_owned(),
        Some(libc::EPERM | libc::EACCES) => {
            "io_uring is forbidden here (container profile, or kernel.io_uring_disabled)".to_owned()
        }
        Some(libc::ENOMEM) => "RLIMIT_MEMLOCK is too small for a ring".to_owned(),
        _ => error.to_string(),
    }
}

fn register_buffers(ring: &IoUring, mapping: &Mapping) -> io::Result<()> {
    let buffers: Vec<libc::iovec> = (0..mapping.length_bytes())
        .step_by(BUFFER_BYTES_MAX)
        .map(|offset| libc::iovec {
            iov_base: mapping.base().wrapping_add(offset).cast(),
            iov_len: BUFFER_BYTES_MAX.min(mapping.length_bytes() - offset),
        })
        .collect();
    // SAFETY: the buffers are parts of the mapping, which outlives the ring (see `push`).
    unsafe { ring.submitter().register_buffers(&buffers) }
}

/// Why io_uring cannot be used here, in one clause; `None` if it can.
pub(super) fn refusal_here() -> Option<String> {
    build_ring(2).err()
}
