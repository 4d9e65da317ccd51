//! What the user sees while waiting: a bar on a terminal, else a line every ten seconds.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use phineus_channels::Monitor;
use phineus_tables::quantity;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// How often a running computation is looked at: fine enough to estimate what it waits for.
const SAMPLE_PAUSE: Duration = Duration::from_millis(20);

/// How often a bar or a child's line is renewed.
const BAR_PAUSE: Duration = Duration::from_millis(200);

/// How often a line is printed where there is no terminal.
const LINE_PAUSE: Duration = Duration::from_secs(10);

/// Waiting for the peer is worth saying from here on.
const WAITING_SHOWN: Duration = Duration::from_secs(2);

/// Something that happened, as a child process tells its parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Event {
    /// What is being done now.
    Stage { text: String },
    /// Something that stays on the screen.
    Note { text: String },
    /// How far the computation is.
    Running(Snapshot),
    /// The end.
    Failed { failure: serde_json::Value },
    /// The other end.
    Done,
}

/// How far a computation is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) limit_bytes: u64,
    /// The peer, and for how many seconds already.
    pub(crate) waiting_for: Option<(String, u64)>,
}

enum Voice {
    Bar(ProgressBar),
    Lines,
    Events,
    Quiet,
}

struct Inner {
    voice: Voice,
    verbose: bool,
    last_line: Mutex<Option<Instant>>,
}

/// Says how far things are; clones say it to the same place.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Inner>);

impl Progress {
    /// For a user: a bar on a terminal, else lines; nothing if `quiet`.
    pub(crate) fn for_user(quiet: bool, verbose: bool) -> Progress {
        let voice = if quiet {
            Voice::Quiet
        } else if std::io::stderr().is_terminal() {
            Voice::Bar(ProgressBar::with_draw_target(
                Some(1000),
                ProgressDrawTarget::stderr_with_hz(8),
            ))
        } else {
            Voice::Lines
        };
        Progress::new(voice, verbose)
    }

    /// For a parent process: one event a line on stdout.
    pub(crate) fn for_parent() -> Progress {
        Progress::new(Voice::Events, false)
    }

    fn new(voice: Voice, verbose: bool) -> Progress {
        Progress(Arc::new(Inner { voice, verbose, last_line: Mutex::new(None) }))
    }

    /// Says what is being done now.
    pub(crate) fn stage(&self, text: &str) {
        match &self.0.voice {
            Voice::Bar(bar) => {
                bar.set_style(spinner());
                bar.set_message(text.to_owned());
                bar.tick();
            }
            Voice::Lines if self.0.verbose => say(text),
            Voice::Lines | Voice::Quiet => {}
            Voice::Events => emit(&Event::Stage { text: text.to_owned() }),
        }
    }

    /// Says something that stays on the screen.
    pub(crate) fn note(&self, text: &str) {
        match &self.0.voice {
            Voice::Bar(bar) => bar.suspend(|| say(text)),
            Voice::Lines => say(text),
            Voice::Quiet => {}
            Voice::Events => emit(&Event::Note { text: text.to_owned() }),
        }
    }

    /// Says that a peer is not there yet; called about once a second.
    pub(crate) fn waiting(&self, party: &str, elapsed: Duration) {
        let text = format!("waiting for {party} {} s", elapsed.as_secs());
        if elapsed.as_secs() == 0 {
            return;
        }
        match &self.0.voice {
            Voice::Lines if elapsed.as_secs() % LINE_PAUSE.as_secs() == 1 => say(&text),
            _ => self.stage(&text),
        }
    }

    /// Shows how far a computation is.
    pub(crate) fn running(&self, snapshot: &Snapshot) {
        match &self.0.voice {
            Voice::Bar(bar) => {
                bar.set_style(running_style());
                bar.set_length(snapshot.total.max(1));
                bar.set_position(snapshot.done);
                bar.set_message(describe(snapshot));
            }
            Voice::Lines => {
                let mut last = self.0.last_line.lock().expect("nobody panics while holding it");
                let first = *last.get_or_insert_with(Instant::now);
                if first.elapsed() >= LINE_PAUSE {
                    *last = Some(Instant::now());
                    // Of a program that decides how often its parts run, the total counts each
                    // once.
                    let percent = (100 * snapshot.done / snapshot.total.max(1)).min(100);
                    say(&format!("{percent:3} %  {}", describe(snapshot)));
                }
            }
            Voice::Quiet => {}
            Voice::Events => emit(&Event::Running(snapshot.clone())),
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Voice::Bar(bar) = &self.0.voice {
            bar.finish_and_clear();
        }
    }

    /// Tells a parent how it ended; nothing otherwise.
    pub(crate) fn ended(&self, result: Result<(), &Failure>) {
        self.clear();
        if matches!(self.0.voice, Voice::Events) {
            emit(&match result {
                Ok(()) => Event::Done,
                Err(failure) => Event::Failed { failure: failure.to_json() },
            });
        }
    }

    /// Watches a computation from a thread of its own until the watch is dropped.
    pub(crate) fn watch(
        &self,
        peer: &str,
        monitor: Option<Monitor>,
        total: u64,
        limit_bytes: u64,
    ) -> Watch {
        let shared = Arc::new(Shared::default());
        let pause = if matches!(self.0.voice, Voice::Quiet) { LINE_PAUSE } else { BAR_PAUSE };
        let watching = Watching {
            progress: self.clone(),
            shared: shared.clone(),
            peer: peer.to_owned(),
            monitor,
            total,
            limit_bytes,
            pause,
        };
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || watching.run());
        // Without the thread only the display is missing.
        Watch { shared, thread: thread.ok() }
    }
}

/// Prints a line to stderr; a stderr that is gone is no reason to fail.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn emit(event: &Event) {
    if let Ok(line) = serde_json::to_string(event) {
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").expect("a template of ours")
}

fn running_style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_bar} {percent:>3} %  {eta:>4}  {msg}")
        .expect("a template of ours")
}

fn describe(snapshot: &Snapshot) -> String {
    let traffic = quantity::bytes(snapshot.sent_bytes + snapshot.received_bytes);
    let memory = quantity::bytes(snapshot.memory_bytes);
    let limit = quantity::bytes(snapshot.limit_bytes);
    let mut text = format!("{traffic}  memory {memory} of {limit}");
    if let Some((peer, seconds)) = &snapshot.waiting_for {
        text.push_str(&format!("  waiting for {peer} {seconds} s"));
    }
    text
}

#[derive(Default)]
struct Shared {
    done: AtomicU64,
    stop: AtomicBool,
    waited_ns: AtomicU64,
}

/// A computation being watched.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Notes that `done` instructions are done; returns whether to go on.
    pub(crate) fn advance(&self, done: u64) -> bool {
        self.shared.done.store(done, Ordering::Relaxed);
        !crate::interrupt::stops_session()
    }

    /// Time spent waiting for the peer so far, estimated from samples.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.shared.waited_ns.load(Ordering::Relaxed))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A run of a few milliseconds would else wait for the next look.
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

struct Watching {
    progress: Progress,
    shared: Arc<Shared>,
    peer: String,
    monitor: Option<Monitor>,
    total: u64,
    limit_bytes: u64,
    pause: Duration,
}

impl Watching {
    fn run(self) {
        let mut shown: Option<Instant> = None;
        let mut sampled = Instant::now();
        while !self.shared.stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(SAMPLE_PAUSE);
            let since = std::mem::replace(&mut sampled, Instant::now()).elapsed();
            let waiting = self.monitor.as_ref().and_then(Monitor::waiting);
            if waiting.is_some() {
                let nanoseconds = since.as_nanos() as u64;
                self.shared.waited_ns.fetch_add(nanoseconds, Ordering::Relaxed);
            }
            if shown.is_none_or(|shown| shown.elapsed() >= self.pause) {
                shown = Some(Instant::now());
                self.show(waiting);
            }
        }
    }

    fn show(&self, waiting: Option<Duration>) {
        let traffic = self.monitor.as_ref().map(Monitor::traffic).unwrap_or_default();
        let waiting = waiting.filter(|waiting| *waiting >= WAITING_SHOWN);
        self.progress.running(&Snapshot {
            done: self.shared.done.load(Ordering::Relaxed),
            total: self.total,
            sent_bytes: traffic.sent_bytes,
            received_bytes: traffic.received_bytes,
            memory_bytes: phineus_engine::resident_bytes().unwrap_or(0),
            limit_bytes: self.limit_bytes,
            waiting_for: waiting.map(|waiting| (self.peer.clone(), waiting.as_secs())),
        });
    }
}
