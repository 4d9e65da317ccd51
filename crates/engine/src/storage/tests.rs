//! One suite over every backend that moves pages: both kinds, with and without registered buffers,
//! with and without the page cache.

use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use phineus_crypto::{Block, Prg};

use super::faults::InjectedFault;
use super::*;

const FRAMES: u32 = 8;
const SLOTS: u32 = 24;

/// A backend that moves pages.
#[derive(Clone, Copy, Debug)]
enum BackendConfig {
    Uring { registered: bool, page_cache: bool },
    Threads { page_cache: bool },
}

/// A storage over frames, in a directory that disappears with it.
struct TestStorage {
    storage: Storage,
    frames: FrameMemory,
    _directory: tempfile::TempDir,
}

fn config(directory: &Path, page_bytes: u32, depth: u32) -> StorageConfig {
    let backend = StorageBackend::Auto;
    StorageConfig { directory: directory.to_owned(), page_bytes, slots: SLOTS, backend, depth }
}

impl TestStorage {
    fn new(tested: BackendConfig, page_bytes: u32, depth: u32) -> TestStorage {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let frames = FrameMemory::new(FRAMES, page_bytes).expect("a few MiB are free");
        let (backend, page_cache) = match tested {
            BackendConfig::Uring { page_cache, .. } => (StorageBackend::IoUring, page_cache),
            BackendConfig::Threads { page_cache } => (StorageBackend::Threads, page_cache),
        };
        let config = StorageConfig { backend, ..config(directory.path(), page_bytes, depth) };
        let mut storage = start(&config, &frames, page_cache);
        if matches!(tested, BackendConfig::Uring { registered: false, .. }) {
            storage.transfers.unregister_buffers();
        }
        TestStorage { storage, frames, _directory: directory }
    }

    /// Writes the page that `seed` makes to `slot`, by way of `frame`.
    fn put(&mut self, frame: u32, slot: u32, seed: u64) -> Result<(), StorageError> {
        self.issue_out(frame, slot, seed)?;
        self.storage.finish_out(&mut self.frames, FrameIndex(frame))
    }

    /// Reads `slot` into `frame` and compares it with the page that `seed` makes.
    fn expect(&mut self, frame: u32, slot: u32, seed: u64) -> Result<(), StorageError> {
        self.storage.issue_in(&mut self.frames, FrameIndex(frame), SpillSlot(slot))?;
        self.finish_in(frame, seed)
    }

    fn issue_out(&mut self, frame: u32, slot: u32, seed: u64) -> Result<(), StorageError> {
        fill(self.frames.frame_mut(FrameIndex(frame)), seed);
        self.storage.issue_out(&mut self.frames, FrameIndex(frame), SpillSlot(slot))
    }

    fn finish_in(&mut self, frame: u32, seed: u64) -> Result<(), StorageError> {
        self.storage.finish_in(&mut self.frames, FrameIndex(frame))?;
        let mut expected = vec![0; self.frames.page_bytes() as usize];
        fill(&mut expected, seed);
        assert!(
            self.frames.frame_mut(FrameIndex(frame)) == expected,
            "page {seed} came back wrong"
        );
        Ok(())
    }

    /// Bytes on disk in `slot`.
    fn raw(&self, slot: u32) -> Vec<u8> {
        // Aligned, because the file may be past the page cache.
        let page_bytes = self.frames.page_bytes();
        let mut page = FrameMemory::new(1, page_bytes).expect("a few MiB are free");
        let offset = self.storage.transfers.device().slot_offset_bytes(slot);
        let file = self.storage.transfers.device().file();
        file.read_exact_at(page.as_mut_slice(), offset).expect("the slot is in the file");
        page.as_slice().to_vec()
    }

    fn overwrite(&self, slot: u32, bytes: &[u8]) {
        let mut page = FrameMemory::new(1, self.frames.page_bytes()).expect("a few MiB are free");
        page.as_mut_slice().copy_from_slice(bytes);
        let offset = self.storage.transfers.device().slot_offset_bytes(slot);
        let file = self.storage.transfers.device().file();
        file.write_all_at(page.as_slice(), offset).expect("the slot is in the file");
    }

    fn plan_fault(&self, attempts: std::ops::Range<u64>, fault: InjectedFault) {
        self.storage.transfers.device().faults.plan(attempts, fault);
    }
}

fn start(config: &StorageConfig, frames: &FrameMemory, page_cache: bool) -> Storage {
    /// The kernel takes back the locked memory of closed rings some milliseconds late, which a
    /// small `RLIMIT_MEMLOCK` does not forgive when a test makes dozens of them.
    const TRIES_MAX: u32 = 200;
    const PAUSE: Duration = Duration::from_millis(10);

    let length_bytes = u64::from(config.slots) * u64::from(config.page_bytes);
    for _ in 0..TRIES_MAX {
        let mut swap_file =
            SwapFile::create(&config.directory, length_bytes).expect("a few MiB are free");
        if page_cache {
            swap_file.use_page_cache().expect("flags of an open file can be changed");
        }
        match Storage::with_swap_file(config, frames, swap_file) {
            Err(StorageError::IoUringRefused { .. }) => std::thread::sleep(PAUSE),
            started => return started.expect("backends() lists what works here"),
        }
    }
    panic!("io_uring works at one time and not at another");
}

/// Every backend that works on this machine.
fn backends() -> Vec<BackendConfig> {
    let mut backends = vec![
        BackendConfig::Threads { page_cache: false },
        BackendConfig::Threads { page_cache: true },
    ];
    if let Some(reason) = io_uring_refusal() {
        eprintln!("skipped: io_uring, {reason}");
        return backends;
    }
    for registered in [false, true] {
        for page_cache in [false, true] {
            backends.push(BackendConfig::Uring { registered, page_cache });
        }
    }
    backends
}

/// The page of `seed`: never repeats, so that a page in the wrong place shows.
fn fill(page: &mut [u8], seed: u64) {
    Prg::from_seed(Block::from_bits(u128::from(seed))).fill_bytes(page);
}

/// Random numbers for choosing what to do.
struct TestRng(Prg);

impl TestRng {
    fn new(seed: u64) -> TestRng {
        TestRng(Prg::from_seed(Block::from_bits(u128::from(seed) | 1 << 64)))
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.0.next_block().to_bits() % bound as u128) as usize
    }
}

/// Transfer of a frame in flight, in the model: direction, slot, page.
type InFlight = Option<(TransferDirection, usize, u64)>;

/// Random legal issues and finishes, compared with a model that knows every slot's page.
fn random_run(tested: BackendConfig, page_bytes: u32, depth: u32, steps: u64, seed: u64) {
    let mut rig = TestStorage::new(tested, page_bytes, depth);
    let mut dice = TestRng::new(seed);
    let mut slots: Vec<Option<u64>> = vec![None; SLOTS as usize];
    let mut in_flight: Vec<InFlight> = vec![None; FRAMES as usize];
    for step in 0..steps {
        let frame = dice.below(FRAMES as usize);
        let slot = dice.below(SLOTS as usize);
        let is_busy = in_flight.iter().flatten().any(|&(_, busy, _)| busy == slot);
        match in_flight[frame].take() {
            Some((TransferDirection::In, _, page)) => {
                rig.finish_in(frame as u32, page).expect("no fault is planned");
            }
            Some((TransferDirection::Out, slot, page)) => {
                let frame = FrameIndex(frame as u32);
                rig.storage.finish_out(&mut rig.frames, frame).expect("no fault is planned");
                slots[slot] = Some(page);
            }
            None if is_busy => {}
            None => match slots[slot].filter(|_| dice.below(2) == 0) {
                Some(page) => {
                    let (frame_index, slot_index) =
                        (FrameIndex(frame as u32), SpillSlot(slot as u32));
                    rig.storage
                        .issue_in(&mut rig.frames, frame_index, slot_index)
                        .expect("no fault is planned");
                    in_flight[frame] = Some((TransferDirection::In, slot, page));
                }
                None => {
                    let page = seed << 32 | step;
                    rig.issue_out(frame as u32, slot as u32, page).expect("no fault is planned");
                    in_flight[frame] = Some((TransferDirection::Out, slot, page));
                }
            },
        }
    }
    rig.storage.drain(&mut rig.frames).expect("no fault is planned");
    for (direction, slot, page) in in_flight.into_iter().flatten() {
        if direction == TransferDirection::Out {
            slots[slot] = Some(page);
        }
    }
    for (slot, page) in slots.iter().enumerate() {
        if let Some(page) = *page {
            rig.expect(0, slot as u32, page).expect("no fault is planned");
        }
    }
    let statistics = rig.storage.statistics();
    assert!(statistics.pages_in > 0 && statistics.pages_out > 0, "seed {seed} does nothing");
    assert_eq!(statistics.bytes_in, statistics.pages_in * u64::from(page_bytes));
}

#[test]
fn pages_come_back_as_they_went() {
    let seed = std::process::id().into();
    for tested in backends() {
        for (page_bytes, steps) in [(4 << 10, 1000), (64 << 10, 300), (1 << 20, 60)] {
            for depth in [1, 3, 32] {
                println!("{tested:?}, pages of {page_bytes}, depth {depth}, seed {seed}");
                random_run(tested, page_bytes, depth, steps, seed);
            }
        }
    }
}

#[test]
fn interrupted_and_short_transfers_are_continued() {
    for tested in backends() {
        println!("{tested:?}");
        let mut rig = TestStorage::new(tested, 64 << 10, 4);
        rig.plan_fault(0..3, InjectedFault::Refuse(libc::EINTR));
        rig.plan_fault(3..4, InjectedFault::Shorten(4096));
        rig.plan_fault(4..6, InjectedFault::Refuse(libc::EAGAIN));
        rig.plan_fault(6..8, InjectedFault::Shorten(3 * 4096));
        // Past the page cache the kernel itself never answers an odd length.
        if matches!(
            tested,
            BackendConfig::Threads { page_cache: true }
                | BackendConfig::Uring { page_cache: true, .. }
        ) {
            rig.plan_fault(8..10, InjectedFault::Shorten(5000));
        }
        rig.put(0, 5, 77).expect("all of these faults pass");
        rig.plan_fault(11..12, InjectedFault::Shorten(16384));
        rig.expect(1, 5, 77).expect("all of these faults pass");
    }
}

#[test]
fn a_failing_device_is_an_error_at_every_point() {
    for tested in backends() {
        for (errno, full) in [(libc::EIO, false), (libc::ENOSPC, true), (libc::EDQUOT, true)] {
            for failing in 0..12 {
                let mut rig = TestStorage::new(tested, 4096, 2);
                rig.plan_fault(failing..u64::MAX, InjectedFault::Refuse(errno));
                let outcome = (0..6u32)
                    .try_for_each(|page| rig.issue_out(page, page, page.into()))
                    .and_then(|()| rig.storage.drain(&mut rig.frames))
                    .and_then(|()| (0..6).try_for_each(|page| rig.expect(page, page, page.into())));
                match outcome.expect_err("one of the twelve transfers failed") {
                    StorageError::DiskFull { .. } => assert!(full, "{tested:?} {failing}"),
                    StorageError::Device { source, .. } => {
                        assert_eq!((source.raw_os_error(), full), (Some(errno), false));
                    }
                    other => panic!("{tested:?} {failing}: {other}"),
                }
                let after = rig.storage.issue_in(&mut rig.frames, FrameIndex(7), SpillSlot(0));
                assert!(matches!(after, Err(StorageError::Stopped)), "{tested:?} {failing}");
            }
        }
    }
}

#[test]
fn a_file_cut_short_is_an_error() {
    for tested in backends() {
        let mut rig = TestStorage::new(tested, 4096, 2);
        rig.put(0, SLOTS - 1, 1).expect("the disk works");
        rig.storage.transfers.device().file().set_len(4096).expect("our own file");
        let error = rig.expect(0, SLOTS - 1, 1).expect_err("nothing is there");
        assert!(matches!(error, StorageError::Device { .. }), "{tested:?}: {error}");
    }
}

#[test]
fn changed_moved_and_old_pages_are_found() {
    for tested in backends() {
        let damages: [fn(&mut TestStorage); 3] = [
            |rig| {
                let mut page = rig.raw(3);
                page[4095] ^= 0x10;
                rig.overwrite(3, &page);
            },
            |rig| rig.overwrite(3, &rig.raw(4)),
            |rig| {
                let old = rig.raw(3);
                rig.put(1, 3, 30).expect("the disk works");
                rig.overwrite(3, &old);
            },
        ];
        for damage in damages {
            let mut rig = TestStorage::new(tested, 4096, 2);
            rig.put(0, 3, 3).expect("the disk works");
            rig.put(0, 4, 4).expect("the disk works");
            damage(&mut rig);
            let error = rig.expect(0, 3, 3).expect_err("the page is not what was written");
            assert!(matches!(error, StorageError::Corrupted { slot: 3 }), "{tested:?}: {error}");
            assert!(matches!(rig.expect(1, 4, 4), Err(StorageError::Stopped)));
        }
    }
}

#[test]
fn the_disk_sees_only_random_bytes() {
    let mut rig = TestStorage::new(BackendConfig::Threads { page_cache: false }, 4096, 1);
    for slot in 0..2 {
        rig.frames.frame_mut(FrameIndex(0)).fill(0x41);
        rig.storage.issue_out(&mut rig.frames, FrameIndex(0), SpillSlot(slot)).expect("works");
        rig.storage.finish_out(&mut rig.frames, FrameIndex(0)).expect("works");
    }
    let (first, second) = (rig.raw(0), rig.raw(1));
    // Bytes that agree by chance: 4096 / 256 = 16 expected; 64 are 12 standard deviations more.
    let agree = |a: &[u8], b: &[u8]| a.iter().zip(b).filter(|(a, b)| a == b).count();
    assert!(agree(&first, &[0x41; 4096]) < 64 && agree(&first, &second) < 64);
}

#[test]
fn frames_in_flight_cannot_be_touched() {
    let mut rig = TestStorage::new(BackendConfig::Threads { page_cache: false }, 4096, 2);
    rig.issue_out(2, 0, 1).expect("the disk works");
    assert!(rig.frames.is_in_flight(FrameIndex(2)));
    let touched = catch_unwind(AssertUnwindSafe(|| rig.frames.frame_mut(FrameIndex(2))[0]));
    assert!(touched.is_err());
    rig.storage.finish_out(&mut rig.frames, FrameIndex(2)).expect("the disk works");
    assert!(!rig.frames.is_in_flight(FrameIndex(2)));
}

/// Mistake of a wrong plan: its name and the calls that make it.
type Mistake = (&'static str, fn(&mut TestStorage));

#[test]
fn wrong_plans_panic() {
    let (frame, slot) = (FrameIndex(1), SpillSlot(1));
    let mistakes: [Mistake; 7] = [
        ("a slot never written", |rig| rig.expect(0, 9, 0).expect("must panic")),
        ("a frame issued twice", |rig| rig.issue_out(1, 2, 0).expect("must panic")),
        ("a slot issued twice", |rig| rig.issue_out(2, 1, 0).expect("must panic")),
        ("a finish of nothing", |rig| rig.finish_in(5, 0).expect("must panic")),
        ("a finish the other way", |rig| rig.finish_in(1, 0).expect("must panic")),
        ("a slot out of the file", |rig| rig.put(0, SLOTS, 0).expect("must panic")),
        ("a frame out of memory", |rig| rig.expect(FRAMES, 1, 0).expect("must panic")),
    ];
    for (mistake, make) in mistakes {
        let mut rig = TestStorage::new(BackendConfig::Threads { page_cache: false }, 4096, 2);
        rig.storage.issue_out(&mut rig.frames, frame, slot).expect("the disk works");
        let result = catch_unwind(AssertUnwindSafe(|| make(&mut rig)));
        let message = result.expect_err(mistake);
        let message = message.downcast_ref::<String>().expect("panics here have text");
        assert!(!message.contains("must panic"), "{mistake}: {message}");
    }
}

#[test]
#[should_panic(expected = "not the frames of this storage")]
fn other_frames_are_refused() {
    let mut rig = TestStorage::new(BackendConfig::Threads { page_cache: false }, 4096, 2);
    let mut other = FrameMemory::new(FRAMES, 4096).expect("a few KiB are free");
    let _ = rig.storage.issue_out(&mut other, FrameIndex(0), SpillSlot(0));
}

#[test]
fn dropping_in_any_order_with_transfers_in_flight_is_safe() {
    for tested in backends() {
        for frames_first in [false, true] {
            let mut rig = TestStorage::new(tested, 64 << 10, 8);
            for page in 0..FRAMES {
                rig.issue_out(page, page, page.into()).expect("the disk works");
            }
            let TestStorage { storage, frames, .. } = rig;
            if frames_first {
                drop(frames);
                drop(storage);
            } else {
                drop(storage);
                drop(frames);
            }
        }
    }
}

#[test]
fn an_impossible_directory_is_refused() {
    let frames = FrameMemory::new(1, 4096).expect("a page is free");
    let error = Storage::new(&config(Path::new("/no/such/place"), 4096, 1), &frames);
    let error = error.err().expect("there is no such place");
    assert_eq!(error.to_string(), "the swap directory /no/such/place does not exist");
}

/// Runs the test `name` again in a child process, with `argument` in the environment.
#[cfg(target_os = "linux")]
fn child(name: &str, argument: &Path) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().expect("a test knows its program"))
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD_ARGUMENT, argument)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a program can start itself")
}

#[cfg(target_os = "linux")]
const CHILD_ARGUMENT: &str = "PHINEUS_STORAGE_TEST_CHILD";

#[test]
#[cfg(target_os = "linux")]
fn a_killed_process_leaves_no_file() {
    use std::io::{BufRead, BufReader};

    const SLOT_PAGE: u32 = 64 << 10;
    if let Some(directory) = std::env::var_os(CHILD_ARGUMENT) {
        let mut frames = FrameMemory::new(2, SLOT_PAGE).expect("a few KiB are free");
        let config = config(Path::new(&directory), SLOT_PAGE, 2);
        let mut storage = Storage::new(&config, &frames).expect("the directory is writable");
        println!("swapping");
        for slot in (0..SLOTS).cycle() {
            storage.issue_out(&mut frames, FrameIndex(0), SpillSlot(slot)).expect("works");
            storage.finish_out(&mut frames, FrameIndex(0)).expect("works");
        }
    }
    let directory = tempfile::tempdir().expect("the temporary directory is writable");
    let mut child = child("storage::tests::a_killed_process_leaves_no_file", directory.path());
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let is_swapping = output.lines().map_while(Result::ok).any(|line| line.ends_with("swapping"));
    assert!(is_swapping, "the child ended early");
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    let left = std::fs::read_dir(directory.path()).expect("readable").count();
    assert_eq!(left, 0, "files left behind");
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_size_limit_is_found_before_the_run() {
    if let Some(directory) = std::env::var_os(CHILD_ARGUMENT) {
        let limit = libc::rlimit { rlim_cur: 1 << 20, rlim_max: 1 << 20 };
        // SAFETY: setrlimit only reads the structure.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        let frames = FrameMemory::new(1, 64 << 10).expect("a page is free");
        let error = Storage::new(&config(Path::new(&directory), 64 << 10, 1), &frames);
        let error = error.err().expect("24 * 64 KiB = 1.5 MiB is more than 1 MiB");
        assert!(matches!(error, StorageError::FileSizeLimit { .. }), "{error}");
        return;
    }
    let directory = tempfile::tempdir().expect("the temporary directory is writable");
    let name = "storage::tests::a_file_size_limit_is_found_before_the_run";
    let output = child(name, directory.path()).wait_with_output().expect("our own child");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
