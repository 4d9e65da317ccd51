//! State that the owner of a channel shares with its two helper threads: the pipes, the first
//! error, the progress of each thread and the counters; and the group that ties the channels of one
//! party together.
//!
//! The channels of a mesh stand and fall together ([`ChannelGroup`]): when one of them fails, the
//! others end too, with the same error, and tell their peers which party was at fault. So every
//! party names the one that was lost first, and not one that stopped because of it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use crate::limits::{INCOMING_BUFFERS, OUTGOING_BUFFERS};
use crate::message::{AbortReason, MessageHeader, MessageKind};
use crate::pipe::Pipe;
use crate::transport::Cut;
use crate::{ChannelError, Traffic};

/// The last word of a party that fails: why, and through whose fault, if that is known.
pub(crate) type Farewell = (AbortReason, Option<String>);

/// How a session ended, as far as it has.
#[derive(Default)]
struct SessionEnd {
    error: Option<ChannelError>,
    farewell: Option<Farewell>,
    bye_received: bool,
    writer_done: bool,
    reader_done: bool,
}

/// Shared by the owner of a channel and its two threads.
pub(crate) struct Link {
    pub(crate) peer: String,
    pub(crate) session: u64,
    pub(crate) stream: u16,
    pub(crate) outgoing: Arc<Pipe>,
    pub(crate) incoming: Arc<Pipe>,
    pub(crate) counters: Arc<Counters>,
    transport: Box<dyn Cut>,
    fate: Mutex<SessionEnd>,
    changed: Condvar,
    has_ended: AtomicBool,
    /// Whether a test has killed this party.
    #[cfg(test)]
    is_dead: AtomicBool,
    group: OnceLock<Arc<ChannelGroup>>,
}

impl Link {
    pub(crate) fn new(peer: &str, (session, stream): (u64, u16), cut: Box<dyn Cut>) -> Arc<Self> {
        Arc::new(Link {
            peer: peer.to_owned(),
            session,
            stream,
            outgoing: Pipe::new(OUTGOING_BUFFERS),
            incoming: Pipe::new(INCOMING_BUFFERS),
            counters: Arc::new(Counters::default()),
            transport: cut,
            fate: Mutex::new(SessionEnd::default()),
            changed: Condvar::new(),
            has_ended: AtomicBool::new(false),
            #[cfg(test)]
            is_dead: AtomicBool::new(false),
            group: OnceLock::new(),
        })
    }

    fn fate(&self) -> MutexGuard<'_, SessionEnd> {
        self.fate.lock().expect("no code panics while it holds this lock")
    }

    fn change(&self, change: impl FnOnce(&mut SessionEnd)) {
        change(&mut self.fate());
        self.changed.notify_all();
    }

    /// Waits until `what` holds or `deadline`; returns whether it holds.
    fn wait_until(&self, deadline: Instant, what: impl Fn(&SessionEnd) -> bool) -> bool {
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
        self.fate().error.clone()
    }

    /// Whether there is an [`error`](Self::error).
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Ends the session with `error` unless it has ended before.
    fn end(&self, error: ChannelError, farewell: Option<Farewell>) {
        #[cfg(test)]
        let farewell = farewell.filter(|_| !self.is_dead.load(Ordering::Acquire));
        let mut fate = self.fate();
        if fate.error.is_none() {
            (fate.error, fate.farewell) = (Some(error), farewell);
            self.has_ended.store(true, Ordering::Release);
        }
        let cause = fate.error.clone().expect("it was just put there");
        drop(fate);
        self.changed.notify_all();
        // Bytes that came before a connection was lost are still good; after an abort or a
        // fault nothing the peer said is worth computing on.
        let is_broken = matches!(&cause, ChannelError::Closed { party }
            | ChannelError::Lost { party, .. } if *party == self.peer);
        // Outgoing first: who sees the error when receiving must see it when sending, too.
        self.outgoing.break_off(cause.clone(), true);
        self.incoming.break_off(cause, !is_broken);
    }

    /// From now on nobody is told anything, whatever another channel of this party notices.
    #[cfg(test)]
    pub(crate) fn fall_silent(&self) {
        self.is_dead.store(true, Ordering::Release);
    }

    /// Ends the session as the death of this process would: nobody is told.
    #[cfg(test)]
    pub(crate) fn die(&self) {
        self.end(self.closed(), None);
    }

    /// Ends the session, and those of the group, because something is wrong with the peer.
    pub(crate) fn fail(&self, error: ChannelError) {
        let blame = error.party().map(str::to_owned);
        self.end_all(EndCause { error: Some(error), reason: AbortReason::Lost, blame });
    }

    /// Ends the session, and those of the group, because this party gives up; the writers tell the
    /// peers.
    pub(crate) fn abort(&self, reason: AbortReason) {
        self.end_all(EndCause { error: None, reason, blame: None });
    }

    fn end_all(&self, cause: EndCause) {
        let Some(group) = self.group.get() else {
            return self.end_by(&cause);
        };
        // This session first: its owner is waiting for it. But for the reason that came first.
        self.end_by(group.first.get_or_init(|| cause));
        group.end_all();
    }

    fn end_by(&self, cause: &EndCause) {
        let farewell = match &cause.error {
            // The peer is gone, or has said itself that it goes.
            Some(error) if error.party() == Some(&self.peer) => match error {
                ChannelError::Misbehaved { .. } => Some((AbortReason::Misbehaved, None)),
                _ => None,
            },
            _ => Some((cause.reason, cause.blame.clone())),
        };
        let error = cause.error.clone();
        let error = error.unwrap_or_else(|| ChannelError::Stopped { party: self.peer.clone() });
        self.end(error, farewell);
    }

    /// Last message that the writer of a broken session sends to the peer.
    pub(crate) fn farewell(&self) -> Option<Farewell> {
        self.fate().farewell.clone()
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
        self.wait_until(deadline, |fate| fate.bye_received || fate.error.is_some())
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

    /// Whether so many bytes can be written without waiting for the peer to read.
    pub(crate) fn is_writable(&self, bytes: usize) -> bool {
        self.transport.is_writable(bytes)
    }

    /// The header of a message in this session.
    pub(crate) fn header(&self, kind: MessageKind, length: usize, sequence: u64) -> MessageHeader {
        let length = u32::try_from(length).expect("a message is at most one buffer");
        MessageHeader { kind, length, session: self.session, stream: self.stream, sequence }
    }
}

/// Why the channels of one party end.
struct EndCause {
    /// The error; `None` if this party gives up by itself.
    error: Option<ChannelError>,
    /// Reason that the peers are told, and the party at fault.
    reason: AbortReason,
    blame: Option<String>,
}

/// The channels of one party, which end together.
#[derive(Default)]
pub(crate) struct ChannelGroup {
    members: Vec<Weak<Link>>,
    /// Cause of the end.
    first: OnceLock<EndCause>,
}

impl ChannelGroup {
    /// Ties these channels together, once and for all.
    pub(crate) fn tie(links: &[Arc<Link>]) -> Arc<ChannelGroup> {
        let members = links.iter().map(Arc::downgrade).collect();
        let group = Arc::new(ChannelGroup { members, first: OnceLock::new() });
        for link in links {
            let is_new = link.group.set(group.clone()).is_ok();
            assert!(is_new, "a channel belongs to one mesh");
        }
        // What happened before they were tied concerns the others now.
        if let Some(error) = links.iter().find_map(|link| link.error()) {
            let blame = error.party().map(str::to_owned);
            group.end_for(EndCause { error: Some(error), reason: AbortReason::Lost, blame });
        }
        group
    }

    /// Ends all sessions because this party gives up, if through the fault of another one then with
    /// its name.
    pub(crate) fn abort(&self, reason: AbortReason, blame: Option<&str>) {
        self.end_for(EndCause { error: None, reason, blame: blame.map(str::to_owned) });
    }

    fn end_for(&self, cause: EndCause) {
        self.first.get_or_init(|| cause);
        self.end_all();
    }

    fn end_all(&self) {
        let cause = self.first.get().expect("it is set before");
        self.links().for_each(|link| link.end_by(cause));
    }

    fn links(&self) -> impl Iterator<Item = Arc<Link>> {
        self.members.iter().filter_map(Weak::upgrade)
    }

    fn wait_for_writers(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.links().for_each(|link| {
            link.wait_for_writer(deadline.saturating_duration_since(Instant::now()));
        });
    }
}

/// Counters of a channel; each is written by one thread and read by any.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) wire_sent: AtomicU64,
    pub(crate) wire_received: AtomicU64,
    /// One more than the milliseconds after the start at which the owner began to wait for the
    /// peer; 0 when it works.
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

/// Lets another thread, such as a signal handler's, end the sessions that their owners are busy
/// with: that of one channel and those of its mesh.
#[derive(Clone)]
pub struct Aborter {
    pub(crate) link: Arc<Link>,
    pub(crate) patience: Duration,
}

impl Aborter {
    /// Ends the sessions and tells the peers why; returns when that has left, or after the time for
    /// farewells. The owners' calls fail with [`ChannelError::Stopped`].
    pub fn abort(&self, reason: AbortReason) {
        self.link.abort(reason);
        match self.link.group.get() {
            Some(group) => group.wait_for_writers(self.patience),
            None => self.link.wait_for_writer(self.patience),
        }
    }
}
