//! [`Progress`]: connects a session to its caller. Events go to the caller, cancellation comes from
//! it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use phineus_channels::Monitor;
use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;

/// Interval of the samples that estimate how long a computation waits for its peers.
const SAMPLE_PAUSE: Duration = Duration::from_millis(20);

/// Shortest wait for a peer that is reported.
const WAITING_SHOWN: Duration = Duration::from_secs(2);

/// An event of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A stage of the session begins.
    Stage {
        /// Its name, as in `planning`.
        text: String,
    },
    /// A note for the user, of lasting interest.
    Note {
        /// One sentence.
        text: String,
    },
    /// A protection that users expect is missing. Show it, however quiet the program is.
    Warning {
        /// One sentence.
        text: String,
    },
    /// Some parties are not connected yet; sent about once a second.
    Waiting {
        /// Their names.
        parties: Vec<String>,
        /// Seconds since the session began to wait.
        seconds: u64,
    },
    /// Progress of the computation.
    Running(Snapshot),
}

/// Progress of a computation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// Instructions that were run.
    pub done: u64,
    /// Instructions in all; a block that runs several times counts once.
    pub total: u64,
    /// Bytes sent to all peers.
    pub sent_bytes: u64,
    /// Bytes received from all peers.
    pub received_bytes: u64,
    /// The resident set of the process.
    pub memory_bytes: u64,
    /// The memory limit of the session.
    pub limit_bytes: u64,
    /// The peer that the computation is waiting for, and the seconds so far.
    pub waiting_for: Option<(String, u64)>,
}

/// Receives the events of a session, on the thread on which each happens.
pub trait Listener: Send + Sync {
    /// Receives one event. It must not block, because the session waits for it.
    fn hear(&self, event: Event);

    /// Interval between two [`Event::Running`].
    fn pause(&self) -> Duration {
        Duration::from_millis(200)
    }
}

/// Any function can be a listener.
impl<F: Fn(Event) + Send + Sync> Listener for F {
    fn hear(&self, event: Event) {
        self(event);
    }
}

/// Connects a session to its caller. Clones share the same connection.
#[derive(Clone)]
pub struct Progress {
    listener: Arc<dyn Listener>,
    cancel: Cancel,
}

impl Progress {
    /// Events go to `listener`; `cancel` ends the session.
    pub fn new(listener: impl Listener + 'static, cancel: Cancel) -> Progress {
        Progress { listener: Arc::new(listener), cancel }
    }

    /// Without a listener and without cancellation.
    pub fn unheard() -> Progress {
        Progress::new(|_| (), Cancel::new())
    }

    /// The handle that ends the session.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The `Progress` of one of several parties that run in this process, with the same listener.
    pub(crate) fn of_part(&self) -> Progress {
        Progress { listener: self.listener.clone(), cancel: self.cancel.part() }
    }

    /// Sends the event that a stage begins.
    pub fn stage(&self, text: &str) {
        self.listener.hear(Event::Stage { text: text.to_owned() });
    }

    /// Sends a note for the user.
    pub fn note(&self, text: &str) {
        self.listener.hear(Event::Note { text: text.to_owned() });
    }

    /// Warns the user.
    pub fn warn(&self, text: &str) {
        self.listener.hear(Event::Warning { text: text.to_owned() });
    }

    /// Sends the names of the parties that are not connected yet.
    pub(crate) fn waiting(&self, parties: &[&str], elapsed: Duration) {
        let parties = parties.iter().map(|&party| party.to_owned()).collect();
        self.listener.hear(Event::Waiting { parties, seconds: elapsed.as_secs() });
    }

    /// Watches a computation from a thread of its own until the watch is dropped.
    pub(crate) fn watch(
        &self,
        peer: &str,
        monitor: Option<Monitor>,
        total: u64,
        limit_bytes: u64,
    ) -> ComputationWatch {
        let shared = Arc::new(ProgressState::default());
        let watching = Watching {
            progress: self.clone(),
            shared: shared.clone(),
            peer: peer.to_owned(),
            monitor,
            total,
            limit_bytes,
        };
        let thread = std::thread::Builder::new()
            .name("progress".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || watching.run());
        // Without the thread only the events are missing.
        ComputationWatch { shared, cancel: self.cancel.clone(), thread: thread.ok() }
    }
}

#[derive(Default)]
struct ProgressState {
    done: AtomicU64,
    stop: AtomicBool,
    waited_ns: AtomicU64,
}

/// A computation being watched.
pub struct ComputationWatch {
    shared: Arc<ProgressState>,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

impl ComputationWatch {
    /// Records that `done` instructions are done; returns whether the run continues.
    pub(crate) fn advance(&self, done: u64) -> bool {
        self.shared.done.store(done, Ordering::Relaxed);
        !self.cancel.stops_session()
    }

    /// Time spent waiting for the peer so far, estimated from samples.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.shared.waited_ns.load(Ordering::Relaxed))
    }
}

impl Drop for ComputationWatch {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Otherwise a run of a few milliseconds would wait for the next sample.
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

struct Watching {
    progress: Progress,
    shared: Arc<ProgressState>,
    peer: String,
    monitor: Option<Monitor>,
    total: u64,
    limit_bytes: u64,
}

impl Watching {
    fn run(self) {
        let pause = self.progress.listener.pause();
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
            if shown.is_none_or(|shown| shown.elapsed() >= pause) {
                shown = Some(Instant::now());
                self.show(waiting);
            }
        }
    }

    fn show(&self, waiting: Option<Duration>) {
        let traffic = self.monitor.as_ref().map(Monitor::traffic).unwrap_or_default();
        let waiting = waiting.filter(|waiting| *waiting >= WAITING_SHOWN);
        self.progress.listener.hear(Event::Running(Snapshot {
            done: self.shared.done.load(Ordering::Relaxed),
            total: self.total,
            sent_bytes: traffic.sent_bytes,
            received_bytes: traffic.received_bytes,
            memory_bytes: phineus_engine::resident_bytes().unwrap_or(0),
            limit_bytes: self.limit_bytes,
            waiting_for: waiting.map(|waiting| (self.peer.clone(), waiting.as_secs())),
        }));
    }
}
