//! Ctrl-C: the command ends soon and cleanly, with exit code 130, at any time. A run that passed
//! its memory limit ends likewise, with exit code 6.
//!
//! The signal handler only sets a flag. A watching thread sees it and ends the process, or the session
//! first if there is one that listens ([`cancel`]).

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use phineus_session::failure::Exit;
use phineus_session::private_directory::is_private;

use crate::cancel::cancel;
use crate::display::{Display, say};
use crate::leftovers::leftovers;
use crate::output::print_document;
use crate::words::worded;

/// Signals that asked to stop, so far.
static REQUESTS: AtomicU32 = AtomicU32::new(0);

/// Whether this is a child whose parent has ended.
static IS_ORPHAN: AtomicBool = AtomicBool::new(false);

/// How often an orphan tries to remove what its siblings may be writing or removing, too.
const REMOVALS: usize = 5;

/// How often the watching thread looks.
const PAUSE: Duration = Duration::from_millis(30);

/// How long a session may take to tell the others before the process ends anyway.
const PATIENCE: Duration = Duration::from_secs(5);

struct SignalState {
    /// The directory that a parent has made, removed by its children if the parent is gone.
    of_parent: Option<PathBuf>,
    telling: ExitNotice,
}

/// How the end of a process is told.
#[derive(Clone, Copy)]
pub(crate) enum ExitNotice {
    Text,
    Json,
    /// Whoever started the process tells it.
    Nothing,
}

static STATE: Mutex<SignalState> =
    Mutex::new(SignalState { of_parent: None, telling: ExitNotice::Text });

extern "C" fn note(_: libc::c_int) {
    cancel().request();
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn note_orphaned(signal: libc::c_int) {
    IS_ORPHAN.store(true, Ordering::Relaxed);
    note(signal);
}

/// Returns whether this process reports its end as JSON; `false` instead of waiting, for the panic hook.
pub(crate) fn tells_in_json() -> bool {
    STATE.try_lock().is_ok_and(|state| matches!(state.telling, ExitNotice::Json))
}

/// Takes over the signals and starts the watching thread.
pub(crate) fn install(telling: ExitNotice) {
    with(|state| state.telling = telling);
    // The handler must not be the first to use it.
    cancel();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = note as extern "C" fn(libc::c_int);
        // SAFETY: the handler does nothing but change atomics, which is async-signal-safe.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    let watcher =
        std::thread::Builder::new().name("signals".to_owned()).stack_size(128 * 1024).spawn(watch);
    drop(watcher);
}

/// Makes sure that this child of a local run does not outlive its parent, and removes the directory
/// of all children, in which `cluster` is, if the parent could not and it is one that parents make.
pub(crate) fn end_with_parent(cluster: &Path) {
    // Looked at now: later another child may already have begun to remove it.
    let directory = cluster.parent().filter(|directory| is_private(directory));
    with(|state| state.of_parent = directory.map(Path::to_owned));
    #[cfg(target_os = "linux")]
    // SAFETY: the handler does nothing but change atomics, which is async-signal-safe; then asks for
    // the signal when the parent ends, which touches no memory.
    unsafe {
        let handler = note_orphaned as extern "C" fn(libc::c_int);
        libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGUSR1 as libc::c_ulong, 0, 0, 0);
    }
}

/// Ends a child whose parent has ended, removing what the parent would have removed: a command that
/// notices it may come to its end before the watching thread looks.
pub(crate) fn end_if_orphaned() {
    if is_orphan() {
        end();
    }
}

/// Leaves what a terminal sends to the process that this one works for.
pub(crate) fn leave_to_parent() {
    for signal in [libc::SIGINT, libc::SIGHUP] {
        // SAFETY: no handler runs any more.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Ends this process, and those that it has started where they are a group of their own.
pub(crate) fn end_group() -> ! {
    // SAFETY: asks for two numbers, and signals those of the same group, which this process leads.
    unsafe {
        if libc::getpgrp() == libc::getpid() {
            libc::kill(0, libc::SIGKILL);
        }
    }
    std::process::exit(0);
}

fn with<R>(change: impl FnOnce(&mut SignalState) -> R) -> R {
    let mut state = STATE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    change(&mut state)
}

fn watch() {
    while !cancel().is_requested() {
        std::thread::sleep(PAUSE);
    }
    if is_orphan() || !cancel().is_heard() {
        end();
    }
    cancel().cancel();
    let mut waited = Duration::ZERO;
    while waited < PATIENCE && REQUESTS.load(Ordering::Relaxed) < 2 && !is_orphan() {
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
    end();
}

fn is_orphan() -> bool {
    IS_ORPHAN.load(Ordering::Relaxed)
}

/// Ends the process at once, leaving nothing behind.
fn end() -> ! {
    leftovers().remove();
    if is_orphan() {
        // Kept: another thread that comes here, too, must not end the process before it is gone.
        let directory = with(|state| state.of_parent.clone());
        for directory in directory.iter().cycle().take(REMOVALS) {
            let _ = std::fs::remove_dir_all(directory);
            std::thread::sleep(PAUSE);
        }
        // Nobody is there to be told.
        std::process::exit(Exit::Interrupted as i32);
    }
    let reason = cancel().reason();
    match with(|state| state.telling) {
        ExitNotice::Text => say(&worded(&reason).to_string()),
        ExitNotice::Json => {
            let printed = print_document(Some(&reason));
            if matches!(printed, Ok(false)) {
                // The command is over and has printed its document: its exit code counts.
                std::thread::sleep(PATIENCE);
            }
        }
        ExitNotice::Nothing if reason.code.exit == Exit::Interrupted => {}
        // Whoever started the process does not know why.
        ExitNotice::Nothing => Display::for_parent().ended(Err(&reason)),
    }
    std::process::exit(reason.code.exit as i32);
}
