//! What the two helper threads of a channel and its owner share: the pipes, the first error, how
//! far each thread is, and the counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::frame::{AbortReason, Header, Kind};
use crate::limits::{INCOMING_BLOCKS, OUTGOING_BLOCKS};
use crate::pipe::Pipe;
use crate::transport::Cut;
use crate::{ChannelError, Traffic};

/// What happened to a session so far.
#[derive(Default)]
struct Fate {
    error: Option<ChannelError>,
    abort: Option<AbortReason>,
    bye_received: bool,
    writer_done: bool,
    reader_done: bool,
}

/// Shared by the owner of a channel and its two threads.
pub(crate) struct Link {
    pub(crate) peer: String,
    pub(crate) session: u64,
    pub(crate) outgoing: Arc<Pipe>,
    pub(crate) incoming: Arc<Pipe>,
    pub(crate) counters: Arc<Counters>,
    transport: Box<dyn Cut>,
    fate: Mutex<Fate>,
    changed: Condvar,
}

impl Link {
    pub(crate) fn new(peer: &str, session: u64, transport: Box<dyn Cut>) -> Arc<Self> {
        Arc::new(Link {
            peer: peer.to_owned(),
            session,
            outgoing: Pipe::new(OUTGOING_BLOCKS),
            incoming: Pipe::new(INCOMING_BLOCKS),
            counters: Arc::new(Counters::default()),
            transport,
            fate: Mutex::new(Fate::default()),
            changed: Condvar::new(),
        })
    }

    fn fate(&self) -> MutexGuard<'_, Fate> {
        self.fate.lock().expect("no code panics while it holds this lock")
    }

    fn change(&self, change: impl FnOnce(&mut Fate)) {
        change(&mut self.fate());
        self.changed.notify_all();
    }

    /// Waits until `what` holds or `deadline`; returns whether it holds.
    fn wait_until(&self, deadline: Instant, what: impl Fn(&Fate) -> bool) -> bool {
        let mut fate = self.fate();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if what(&fate) || left == Duration::ZERO {
                return what(&fate);
            }
            let waited = self.changed.wait_timeout(fate, left);
            fate = waited.expect("no code panics while it holds this lock").0;
        }
    }

    pub(crate) fn closed(&self) -> ChannelError {
        ChannelError::Closed { party: self.peer.clone() }
    }

    /// The error that ended the session, if one did.
    pub(crate) fn error(&self) -> Option<ChannelError> {
        let fate = self.fate();
        match fate.abort {
            Some(_) => Some(ChannelError::Stopped { party: self.peer.clone() }),
            None => fate.error.clone(),
        }
    }

    /// Ends the session with `error`, unless it ended with another one before.
    pub(crate) fn fail(&self, error: ChannelError) {
        let mut fate = self.fate();
        let cause = fate.error.get_or_insert(error).clone();
        let is_ours = fate.abort.is_some();
        drop(fate);
        // A peer that is told of an abort closes the connection: that is not why the session ended.
        let error =
            if is_ours { ChannelError::Stopped { party: self.peer.clone() } } else { cause };
        self.changed.notify_all();
        // Bytes that came before a connection was lost are still good; after an abort or a
        // fault nothing the peer said is worth computing on.
        let at_once = !matches!(error, ChannelError::Closed { .. } | ChannelError::Lost { .. });
        // Outgoing first: who sees the error when receiving must see it when sending, too.
        self.outgoing.break_off(error.clone(), true);
        self.incoming.break_off(error, at_once);
    }

    /// Ends the session because this party gives up; the writer tells the peer.
    pub(crate) fn abort(&self, reason: AbortReason) {
        self.change(|fate| {
            if fate.error.is_none() {
                fate.abort.get_or_insert(reason);
            }
        });
        let error = || ChannelError::Stopped { party: self.peer.clone() };
        self.outgoing.break_off(error(), true);
        self.incoming.break_off(error(), true);
    }

    /// What the writer of a broken session has to tell the peer.
    pub(crate) fn abort_to_send(&self) -> Option<AbortReason> {
        let fate = self.fate();
        match &fate.error {
            Some(ChannelError::Misbehaved { .. }) => Some(AbortReason::Misbehaved),
            _ => fate.abort,
        }
    }

    pub(crate) fn bye_received(&self) {
        self.change(|fate| fate.bye_received = true);
    }

    pub(crate) fn writer_done(&self) {
        self.change(|fate| fate.writer_done = true);
    }

    pub(crate) fn reader_done(&self) {
        self.change(|fate| fate.reader_done = true);
    }

    /// Waits for the peer's bye, an error, or `deadline`; returns whether there was one.
    pub(crate) fn wait_for_bye(&self, deadline: Instant) -> bool {
        self.wait_until(deadline, |fate| {
            fate.bye_received || fate.error.is_some() || fate.abort.is_some()
        })
    }

    /// Gives the reader, which may have the peer's own explanation, time to say why a write failed.
    pub(crate) fn wait_for_error(&self, patience: Duration) {
        self.wait_until(Instant::now() + patience, |fate| fate.error.is_some() || fate.reader_done);
    }

    pub(crate) fn wait_for_writer(&self, patience: Duration) {
        self.wait_until(Instant::now() + patience, |fate| fate.writer_done);
    }

    pub(crate) fn wait_for_reader(&self, patience: Duration) {
        self.wait_until(Instant::now() + patience, |fate| fate.reader_done);
    }

    /// Ends the transport, whatever the threads are waiting for.
    pub(crate) fn cut(&self) {
        self.transport.cut();
    }

    /// The header of a message in this session.
    pub(crate) fn header(&self, kind: Kind, length: usize, position: u64) -> Header {
        let length = u32::try_from(length).expect("a message is at most one block");
        Header { kind, length, session: self.session, position }
    }
}

/// What a channel counted so far; written by one thread each, read by any.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) wire_sent: AtomicU64,
    pub(crate) wire_received: AtomicU64,
    /// Milliseconds after `EPOCH` at which the owner began to wait for the peer; 0 when it works.
    pub(crate) waiting_since_ms: AtomicU64,
}

impl Counters {
    pub(crate) fn payload(&self) -> Traffic {
        Traffic {
            sent_bytes: self.sent.load(Ordering::Relaxed),
            received_bytes: self.received.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn wire(&self) -> Traffic {
        Traffic {
            sent_bytes: self.wire_sent.load(Ordering::Relaxed),
            received_bytes: self.wire_received.load(Ordering::Relaxed),
        }
    }
}

/// Lets another thread, such as a progress bar, watch a channel.
#[derive(Clone)]
pub struct Monitor {
    pub(crate) counters: Arc<Counters>,
    pub(crate) started: Instant,
}

impl Monitor {
    /// Payload bytes sent and received so far.
    pub fn traffic(&self) -> Traffic {
        self.counters.payload()
    }

    /// Bytes on the wire so far, framing and encryption included, the handshake not.
    pub fn wire_traffic(&self) -> Traffic {
        self.counters.wire()
    }

    /// For how long the owner has been waiting for bytes of the peer, if it is.
    pub fn waiting(&self) -> Option<Duration> {
        let since = self.counters.waiting_since_ms.load(Ordering::Relaxed);
        let since = since.checked_sub(1).map(Duration::from_millis)?;
        Some(self.started.elapsed().saturating_sub(since))
    }
}

/// Lets another thread, such as a signal handler's, end a session that its owner is busy with.
#[derive(Clone)]
pub struct Aborter {
    pub(crate) link: Arc<Link>,
    pub(crate) patience: Duration,
}

impl Aborter {
    /// Ends the session and tells the peer why; returns when that has left, or after the time for
    /// farewells. The owner's calls fail with [`ChannelError::Stopped`].
    pub fn abort(&self, reason: AbortReason) {
        self.link.abort(reason);
        self.link.wait_for_writer(self.patience);
    }
}
