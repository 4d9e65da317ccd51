//! Two sessions of one process, of which one takes more than its share: it ends, and the other one,
//! which began last, goes on. A process of its own, as the limit is that of the process.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use phineus_session::cancel::Cancel;
use phineus_session::failure::{Exit, Failure, codes};
use phineus_session::memory_budget::PROCESS_BYTES;
use phineus_session::party::{self, AllResults};
use phineus_session::progress::{Event, Progress};
use phineus_session::registry::Registry;
use phineus_session::settings::{
    InputTable, MemoryLimit, MemoryPool, ProgramChoice, ProtocolChoice, Reservation, Run, protocols,
};
use phineus_tables::MemoryTable;

const MIB: u64 = 1 << 20;
/// Memory of the process besides its sessions.
const OWN_BYTES: u64 = 32 * MIB;
/// Memory of each session.
const SHARE_BYTES: u64 = 100 * MIB;
/// The watch looks 30 times in this time.
const LOOKS: Duration = Duration::from_secs(1);

/// The figure of the process, in bytes.
fn resident_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it says so");
    let kib = line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
    kib.expect("a number") << 10
}

/// Holds a session at its stage `computing`.
struct Gate {
    reached: Receiver<()>,
    open: Sender<()>,
    cancel: Cancel,
}

fn gate() -> (Gate, Progress) {
    let ((arrive, reached), (open, opened)) = (channel(), channel());
    let (arrive, opened, cancel) = (Mutex::new(Some(arrive)), Mutex::new(opened), Cancel::new());
    let listener = move |event| {
        if let Event::Stage { text } = event
            && text == "computing"
            && let Some(arrive) = arrive.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            arrive.send(()).expect("the test waits");
            let opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
            opened.recv().expect("the test opens it");
        }
    };
    let progress = Progress::new(listener, cancel.clone());
    (Gate { reached, open, cancel }, progress)
}

fn session(share: Reservation, progress: &Progress) -> Result<AllResults, Failure> {
    let elements = |name: &str, elements: &[u64]| {
        let table = MemoryTable::new(name.to_owned()).with("element", elements.to_vec());
        InputTable::source(name, table)
    };
    let mut run = Run {
        choice: ProgramChoice { program: Some("psi".to_owned()), ..ProgramChoice::default() },
        inputs: vec![elements("site_a", &[3, 5, 8]), elements("site_b", &[2, 3, 8, 9])],
        ..Run::default()
    };
    run.together.protocol = ProtocolChoice::This(protocols::GMW);
    run.resources.memory = MemoryLimit::Reserved(share);
    party::run_all(&Registry::built_in(), &run, progress)
}

fn ballast(bytes: u64) -> Vec<u8> {
    std::hint::black_box(vec![1; bytes as usize])
}

#[test]
fn the_session_that_takes_more_than_its_share_ends() -> Result<(), Failure> {
    let own_bytes = resident_bytes("VmRSS:") + OWN_BYTES;
    let total_bytes = own_bytes + 2 * SHARE_BYTES;
    let pool = MemoryPool::new(total_bytes, own_bytes)?;
    let limit_bytes = SHARE_BYTES + PROCESS_BYTES;
    std::thread::scope(|scope| {
        // In here, so that a test that fails lets the sessions go on.
        let (first, line) = gate();
        let (second, other_line) = gate();
        let share = pool.reserve(limit_bytes)?;
        let elder = scope.spawn(move || session(share, &line));
        first.reached.recv().expect("it computes");
        let of_first = ballast(OWN_BYTES + SHARE_BYTES + 16 * MIB);
        std::thread::sleep(LOOKS);
        assert!(resident_bytes("VmHWM:") < total_bytes, "the limit of all is not passed yet");
        let share = pool.reserve(limit_bytes)?;
        let younger = scope.spawn(move || session(share, &other_line));
        second.reached.recv().expect("it computes");
        let rest = ballast(total_bytes - resident_bytes("VmRSS:") + 8 * MIB);
        // Long enough for the watch to find it, and to have found the other one, too.
        std::thread::sleep(LOOKS);
        assert!(resident_bytes("VmHWM:") > total_bytes, "the limit of all is passed");
        drop((of_first, rest));
        first.open.send(()).expect("it waits");
        let failure = elder.join().expect("it does not panic").err().expect("it passed its share");
        assert_eq!((failure.code, failure.code.exit), (codes::LIMIT_PASSED, Exit::DoesNotFit));
        let message = failure.message();
        assert!(message.contains("; this session passed its share by "), "{message}");
        second.open.send(()).expect("it waits");
        let answer = younger.join().expect("it does not panic")?;
        let cell = answer.outputs.iter().flatten().last().expect("both learn it").cell(0, 0);
        assert_eq!(cell.as_limbs()[0], 2);
        assert!(!second.cancel.is_requested());
        Ok(())
    })
}
