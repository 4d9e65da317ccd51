//! Ctrl-C: the run ends soon, cleanly, with exit code 130, whatever it is waiting for. So does a run
//! that passed its memory limit ([`crate::memory_watch`]), with exit code 6.
//!
//! The signal handler only sets a flag. A watching thread sees it and does what the mode says:
//! end the process, tell the peer, or leave it to the command, which looks at the flag itself.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use phineus_channels::{AbortReason, Aborter};

use crate::failure::{Exit, Failure};
use crate::memory_watch;
use crate::private_directory::is_private;
use crate::progress::Progress;

/// Signals that asked to stop, so far.
static REQUESTS: AtomicU32 = AtomicU32::new(0);

/// Whether this is a child whose parent has ended.
static IS_ORPHAN: AtomicBool = AtomicBool::new(false);

/// How often an orphan tries to remove what its siblings may be writing or removing, too.
const REMOVALS: usize = 5;

/// How often the watching thread looks.
const PAUSE: Duration = Duration::from_millis(30);

/// How long a session may take to say goodbye before the process ends anyway.
const PATIENCE: Duration = Duration::from_secs(5);

enum Mode {
    /// Nothing to say goodbye to: end the process.
    Exit,
    /// The command looks at [`requested`] itself.
    Cooperative,
    /// A peer must be told; after that the command's calls fail.
    Session(Aborter),
}

struct State {
    mode: Mode,
    /// Removed if the process ends at once.
    leftovers: Vec<PathBuf>,
    /// What a parent has made, removed by its children if it is gone.
    of_parent: Option<PathBuf>,
    /// How an end at once is told: as JSON or as text, or not at all.
    telling: Telling,
}

/// How the end of a process is told.
#[derive(Clone, Copy)]
pub(crate) enum Telling {
    Text,
    Json,
    /// Whoever started the process tells it.
    Nothing,
}

static STATE: Mutex<State> = Mutex::new(State {
    mode: Mode::Exit,
    leftovers: Vec::new(),
    of_parent: None,
    telling: Telling::Text,
});

extern "C" fn note(_: libc::c_int) {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn note_orphaned(_: libc::c_int) {
    IS_ORPHAN.store(true, Ordering::Relaxed);
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// Returns whether this process reports its end as JSON; `false` instead of waiting, for the panic hook.
pub(crate) fn tells_in_json() -> bool {
    STATE.try_lock().is_ok_and(|state| matches!(state.telling, Telling::Json))
}

/// Takes over the signals and starts the watching thread.
pub(crate) fn install(telling: Telling) {
    with(|state| state.telling = telling);
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = note as extern "C" fn(libc::c_int);
        // SAFETY: the handler does nothing but add to an atomic, which is async-signal-safe.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    let watcher = std::thread::Builder::new()
        .name("interrupt".to_owned())
        .stack_size(128 * 1024)
        .spawn(watch);
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

/// Ends a child whose parent has ended, removing what the parent would have removed: a command that notices it
/// may come to its end before the watching thread looks.
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

/// Returns whether the run must stop: the user asked, or it passed its memory limit.
pub(crate) fn requested() -> bool {
    REQUESTS.load(Ordering::Relaxed) > 0
}

/// Why the run stops, once it is [`requested`].
pub(crate) fn reason() -> Failure {
    memory_watch::passed().unwrap_or_else(Failure::interrupted)
}

/// Looks whether the memory limit has been passed, before something that cannot be taken back: if so,
/// the session is ended, and its next message fails.
pub(crate) fn stop_if_over_limit() {
    if memory_watch::look() {
        REQUESTS.fetch_add(1, Ordering::Relaxed);
        stops_session();
    }
}

/// From now on the command looks at [`requested`] itself.
pub(crate) fn cooperate() {
    with(|state| state.mode = Mode::Cooperative);
}

/// From now on an interruption ends this session first; one that came before ends it now.
pub(crate) fn guard_session(aborter: Aborter) {
    with(|state| state.mode = Mode::Session(aborter));
    stops_session();
}

/// Returns whether the run must stop; if so the peers have been told, so that whoever ends the session
/// after this call gives no other reason.
pub(crate) fn stops_session() -> bool {
    if !requested() {
        return false;
    }
    let aborter = with(|state| match &state.mode {
        Mode::Session(aborter) => Some(aborter.clone()),
        Mode::Exit | Mode::Cooperative => None,
    });
    // The watching thread may be at it already: the first one tells, and both wait until it is told.
    if let Some(aborter) = aborter {
        aborter.abort(abort_reason());
    }
    true
}

/// The run is over: from now on an interruption ends the process.
///
/// # Errors
/// If the run is being ended because it passed its memory limit. The mode stays as it is, so that the
/// command says so and not the watching thread.
pub(crate) fn release() -> Result<(), Failure> {
    memory_watch::stop()?;
    with(|state| state.mode = Mode::Exit);
    Ok(())
}

/// Something to remove if the process is ended at once.
pub(crate) fn remember(path: &Path) {
    with(|state| state.leftovers.push(path.to_owned()));
}

/// Nothing to remove any more.
pub(crate) fn forget(path: &Path) {
    with(|state| state.leftovers.retain(|left| left != path));
}

fn with<R>(change: impl FnOnce(&mut State) -> R) -> R {
    let mut state = STATE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    change(&mut state)
}

fn watch() {
    while !requested() {
        std::thread::sleep(PAUSE);
        if memory_watch::look() {
            REQUESTS.fetch_add(1, Ordering::Relaxed);
        }
    }
    if is_orphan() {
        end();
    }
    let aborter = with(|state| match &state.mode {
        Mode::Exit => None,
        Mode::Cooperative => Some(None),
        Mode::Session(aborter) => Some(Some(aborter.clone())),
    });
    match aborter {
        None => end(),
        Some(Some(aborter)) => aborter.abort(abort_reason()),
        Some(None) => {}
    }
    let mut waited = Duration::ZERO;
    while waited < PATIENCE && REQUESTS.load(Ordering::Relaxed) < 2 && !is_orphan() {
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
    end();
}

/// The reason that the peers are told.
fn abort_reason() -> AbortReason {
    match memory_watch::passed() {
        Some(_) => AbortReason::Failed,
        None => AbortReason::Interrupted,
    }
}

fn is_orphan() -> bool {
    IS_ORPHAN.load(Ordering::Relaxed)
}

/// Ends the process at once, leaving nothing behind.
fn end() -> ! {
    remove_leftovers();
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
    let reason = reason();
    match with(|state| state.telling) {
        Telling::Text => crate::progress::say(&reason.to_string()),
        Telling::Json => {
            let printed = crate::output::print_document(Some(&reason));
            if matches!(printed, Ok(false)) {
                // The command is over and has printed its document: its exit code counts.
                std::thread::sleep(PATIENCE);
            }
        }
        Telling::Nothing if reason.code.exit == Exit::Interrupted => {}
        // Whoever started the process does not know why.
        Telling::Nothing => Progress::for_parent().ended(Err(&reason)),
    }
    std::process::exit(reason.code.exit as i32);
}

/// Removes what would be left behind. Does nothing rather than wait, as it is also called when
/// something else went wrong.
pub(crate) fn remove_leftovers() {
    if let Ok(state) = STATE.try_lock() {
        for path in &state.leftovers {
            let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        }
    }
}
