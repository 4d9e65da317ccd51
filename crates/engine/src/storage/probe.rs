//! Measures what a directory's disk can do, as swapping would use it: for `phineus doctor` and for
//! the planner's lookahead.
//!
//! Cost: at most 256 MiB of space and 2 s of time. The figures are those of a short burst on an
//! otherwise idle disk; many disks slow down when written for minutes.

use std::path::Path;
use std::time::{Duration, Instant};

use phineus_crypto::Prg;

use super::backend::{SwapDevice, Transfer};
use super::swap_file::SwapFile;
use super::transfers::Transfers;
use super::{FrameMemory, StorageBackend, StorageError, TransferDirection};

/// The default page of a plan.
const PAGE_BYTES: u32 = 64 << 10;

/// 4096 * 64 KiB = 256 MiB: beyond the caches of most disks, 0.3 s of a slow NVMe's writing.
const SLOT_COUNT: u32 = 4096;

/// Transfers in flight in the bandwidth phases.
const DEPTH: u32 = 32;

/// Time of the first phase, which also fills the file: 0.6 s; the five others have 0.25 s each.
/// 0.6 + 5 * 0.25 = 1.85 s.
const FILL_TIME: Duration = Duration::from_millis(600);
const PHASE_TIME: Duration = Duration::from_millis(250);

/// Measurements of a disk, with pages of 64 KiB.
#[derive(Clone, Copy, Debug)]
pub struct DiskFigures {
    /// Writing in order, 32 in flight.
    pub sequential_write_bytes_per_s: f64,
    /// Reading in order, 32 in flight.
    pub sequential_read_bytes_per_s: f64,
    /// Writing in random order, 32 in flight.
    pub random_write_bytes_per_s: f64,
    /// Reading in random order, 32 in flight.
    pub random_read_bytes_per_s: f64,
    /// One page written at a time: the median.
    pub write_latency: Duration,
    /// One page read at a time: the median.
    pub read_latency: Duration,
    /// The back end that was used.
    pub backend_name: &'static str,
    /// Whether the transfers went past the page cache; if not, the figures are memory's.
    pub is_direct: bool,
    /// Whether the file system itself lives in memory: swapping there saves none.
    pub is_memory_backed: bool,
    /// Size of the file that was used; less than 256 MiB on a disk too slow to fill it.
    pub tested_bytes: u64,
}

/// Measures the disk of `directory` in about 2 s.
///
/// # Errors
/// As [`super::Storage::new`], and a failure of the device.
pub fn probe_disk(directory: &Path, backend: StorageBackend) -> Result<DiskFigures, StorageError> {
    let mut probe = Probe::start(directory, backend)?;
    let fill = probe.phase(TransferDirection::Out, AccessOrder::Sequential, DEPTH, FILL_TIME)?;
    probe.filled = fill.pages.clamp(1, u64::from(SLOT_COUNT)) as u32;
    let mut measure = |direction, order, depth| probe.phase(direction, order, depth, PHASE_TIME);
    let sequential_read = measure(TransferDirection::In, AccessOrder::Sequential, DEPTH)?;
    let random_read = measure(TransferDirection::In, AccessOrder::Random, DEPTH)?;
    let single_read = measure(TransferDirection::In, AccessOrder::Random, 1)?;
    let random_write = measure(TransferDirection::Out, AccessOrder::Random, DEPTH)?;
    let single_write = measure(TransferDirection::Out, AccessOrder::Random, 1)?;
    let swap_file = &probe.transfers.device().swap_file;
    Ok(DiskFigures {
        sequential_write_bytes_per_s: fill.bytes_per_s(),
        sequential_read_bytes_per_s: sequential_read.bytes_per_s(),
        random_write_bytes_per_s: random_write.bytes_per_s(),
        random_read_bytes_per_s: random_read.bytes_per_s(),
        write_latency: single_write.median_wait,
        read_latency: single_read.median_wait,
        backend_name: probe.transfers.backend().name(),
        is_direct: swap_file.is_direct(),
        is_memory_backed: swap_file.is_memory_backed(),
        tested_bytes: u64::from(probe.filled) * u64::from(PAGE_BYTES),
    })
}

/// Why io_uring cannot be used here, in one clause; `None` if it can.
pub fn io_uring_refusal() -> Option<String> {
    #[cfg(target_os = "linux")]
    return super::uring::refusal_here();
    #[cfg(not(target_os = "linux"))]
    return Some("this system is not Linux".to_owned());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessOrder {
    Sequential,
    Random,
}

/// Counts and time of one phase.
struct ProbePhase {
    pages: u64,
    elapsed: Duration,
    /// Between submission and answer, if one transfer was in flight at a time.
    median_wait: Duration,
}

impl ProbePhase {
    fn bytes_per_s(&self) -> f64 {
        self.pages as f64 * f64::from(PAGE_BYTES) / self.elapsed.as_secs_f64()
    }
}

struct Probe {
    transfers: Transfers,
    /// Slots that hold data. Reading the others would measure nothing.
    filled: u32,
    random: Prg,
}

impl Probe {
    fn start(directory: &Path, backend: StorageBackend) -> Result<Probe, StorageError> {
        let mut frames = FrameMemory::new(DEPTH, PAGE_BYTES)?;
        // Random contents: some disks and file systems compress.
        let mut random = Prg::from_os().map_err(|_| StorageError::NoRandomness)?;
        random.fill_bytes(frames.as_mut_slice());
        let file_bytes = u64::from(SLOT_COUNT) * u64::from(PAGE_BYTES);
        let swap_file = SwapFile::create(directory, file_bytes)?;
        let device = SwapDevice::new(&frames, swap_file, SLOT_COUNT);
        let transfers = Transfers::start(backend, device, DEPTH)?;
        Ok(Probe { transfers, filled: SLOT_COUNT, random })
    }

    /// Moves pages for `time`, or the whole file once if in order.
    fn phase(
        &mut self,
        direction: TransferDirection,
        order: AccessOrder,
        depth: u32,
        time: Duration,
    ) -> Result<ProbePhase, StorageError> {
        let mut idle: Vec<u32> = (0..depth).collect();
        let mut waits = Vec::new();
        let (mut submitted, mut pages) = (0u64, 0u64);
        let start = Instant::now();
        loop {
            let submission = Instant::now();
            let in_time = submission - start < time;
            let is_more = order == AccessOrder::Random || submitted < u64::from(self.filled);
            while in_time && is_more && !idle.is_empty() {
                let slot = match order {
                    AccessOrder::Random => self.random_slot(),
                    AccessOrder::Sequential if submitted < u64::from(self.filled) => {
                        submitted as u32
                    }
                    AccessOrder::Sequential => break,
                };
                let frame = idle.pop().expect("checked not empty");
                self.transfers.submit(Transfer { direction, frame, slot })?;
                submitted += 1;
            }
            if self.transfers.is_empty() {
                break;
            }
            self.transfers.collect(true, |answered| {
                pages += 1;
                idle.push(answered.frame);
            })?;
            if depth == 1 {
                waits.push(submission.elapsed());
            }
        }
        waits.sort_unstable();
        let median_wait = waits.get(waits.len() / 2).copied().unwrap_or_default();
        Ok(ProbePhase { pages, elapsed: start.elapsed(), median_wait })
    }

    fn random_slot(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.random.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes) % self.filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_possible_and_nothing_stays() {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        for backend in [StorageBackend::Auto, StorageBackend::Threads] {
            let figures = probe_disk(directory.path(), backend).expect("256 MiB are free");
            let bandwidths = [
                figures.sequential_write_bytes_per_s,
                figures.sequential_read_bytes_per_s,
                figures.random_write_bytes_per_s,
                figures.random_read_bytes_per_s,
            ];
            // From a page in 0.6 s to more than any bus carries.
            assert!(bandwidths.iter().all(|&b| b > 1e5 && b < 1e12), "{figures:?}");
            assert!(
                figures.read_latency > Duration::ZERO && figures.write_latency > Duration::ZERO
            );
            assert!(figures.tested_bytes >= u64::from(PAGE_BYTES), "{figures:?}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).expect("readable").count(), 0);
    }

    #[test]
    fn the_reason_and_the_back_end_agree() {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let started = Probe::start(directory.path(), StorageBackend::IoUring);
        match (started, io_uring_refusal()) {
            (Ok(probe), None) => assert!(probe.transfers.backend().name().starts_with("io_uring")),
            (Err(StorageError::IoUringRefused { reason }), Some(same)) => assert_eq!(reason, same),
            (started, refusal) => panic!("{:?} but {refusal:?}", started.err()),
        }
    }
}
