//! Fills the incoming pipe from the network: in a thread, or by the owner who waits for it.
//!
//! A thread per channel keeps the network moving while the owner computes. But when the owner waits
//! for a small message, a thread between the two costs two hand-overs per round trip, more than the
//! kernel's own. So after a small message that somebody waited for the thread *parks*, and the
//! owner reads from the network itself ([`InlineReceiver`]); it calls the thread back when messages
//! become long ([`DIRECT_READ_BYTES`]), and the thread comes back by itself when the owner has not
//! read for two milliseconds. Whoever reads holds the lock on [`Receiving`].
//!
//! To be woken up takes longer than the kernel needs for a message: so an owner whose last wait was short looks again and
//! again before it sleeps (decision 0058).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::buffer_filler::{BufferFiller, Payload};
use crate::limits::DIRECT_READ_BYTES;
use crate::link::Link;
use crate::message::{AbortReason, MessageError, MessageHeader, MessageKind};
use crate::names::check_name;
use crate::pipe::{Buffer, Pipe, PopResult};
use crate::reader::MessageReader;
use crate::reorder::Reorder;
use crate::timeouts::Timeouts;

/// How long a parked thread waits before it looks whether the owner still reads: short against the
/// time in which a fast peer fills the kernel's buffers, long against a round trip.
const PARKED_MIN: Duration = Duration::from_millis(2);

/// Longest parking time while the owner is waiting for the network itself: nothing is missed then.
const PARKED_MAX: Duration = Duration::from_millis(32);

/// How long the owner looks at the network again and again before it sleeps: about what it takes to be woken up on a
/// processor that had nothing else to do. Whoever else wants to run goes first.
const LOOKING_MAX: Duration = Duration::from_micros(100);

/// Result of one receiving step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReceiveOutcome {
    /// A message was taken.
    Taken,
    /// A small message was taken that the owner waited for.
    Quick,
    /// A long message was taken.
    Long,
    /// There is nothing more to take.
    Done,
}

/// How the end of a session is dealt with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CloseState {
    Open,
    /// The peer has said bye.
    Parted,
    /// The stream has ended as it should.
    Ended,
    /// The session failed; the connection is to be cut, when the peer has been told.
    Failed,
    /// The session ended while the owner was reading; the peer is to be told.
    Interrupted,
}

/// Takes the messages of one direction.
pub(crate) struct Receiving {
    reader: MessageReader,
    link: Arc<Link>,
    /// Messages received so far.
    sequence: u64,
    reorder: Reorder,
    /// The buffer being filled.
    buffer: Option<Buffer>,
    /// The owner no longer reads; what still comes is dropped.
    discarding: bool,
    /// Whether the owner was waiting for the last buffer.
    was_awaited: bool,
    /// How long the owner waited for the network the last time.
    last_wait: Duration,
    phase: CloseState,
}

impl Receiving {
    pub(crate) fn new(reader: MessageReader, link: Arc<Link>, is_ordered: bool) -> Self {
        Receiving {
            reader,
            link,
            sequence: 0,
            reorder: Reorder::new(is_ordered),
            buffer: None,
            discarding: false,
            was_awaited: false,
            last_wait: Duration::ZERO,
            phase: CloseState::Open,
        }
    }

    /// Looks whether something has come until it has, for a short time, if that was enough the last time.
    fn look(&self, began: Instant) {
        while self.last_wait < LOOKING_MAX
            && !self.reader.is_ready()
            && began.elapsed() < LOOKING_MAX
        {
            thread::yield_now();
        }
    }

    /// Takes one message; `by_owner` says that the session's end is to be heeded while waiting.
    fn step(&mut self, by_owner: bool) -> ReceiveOutcome {
        if matches!(self.phase, CloseState::Ended | CloseState::Failed | CloseState::Interrupted) {
            return ReceiveOutcome::Done;
        }
        self.was_awaited = false;
        match self.take_message(by_owner) {
            Ok(length) => {
                if !self.reader.has_header() {
                    self.push_buffer();
                }
                let wire_bytes = self.reader.wire_bytes();
                self.link.counters.wire_received.store(wire_bytes, Ordering::Relaxed);
                match self.phase {
                    CloseState::Ended => ReceiveOutcome::Done,
                    _ if length > DIRECT_READ_BYTES => ReceiveOutcome::Long,
                    _ if self.was_awaited => ReceiveOutcome::Quick,
                    _ => ReceiveOutcome::Taken,
                }
            }
            Err(error) => {
                self.push_buffer();
                let is_stopped = by_owner && self.link.has_ended();
                self.phase = if is_stopped { CloseState::Interrupted } else { CloseState::Failed };
                self.link.fail(error);
                ReceiveOutcome::Done
            }
        }
    }

    /// Takes one message and returns the length of its payload.
    fn take_message(&mut self, by_owner: bool) -> Result<usize, ChannelError> {
        let link = self.link.clone();
        let interrupted = || if by_owner { link.error() } else { None };
        let (header, held) = match self.reorder.take(self.sequence) {
            Some((header, payload)) => (header, Some(payload)),
            None => {
                let Some(header) = self.reader.header(&interrupted)? else {
                    return self.end();
                };
                self.check(&header)?;
                (header, None)
            }
        };
        let length = header.length as usize;
        let must_wait = self.reorder.must_wait(&header, self.sequence);
        if must_wait.map_err(|fault| self.reader.misbehaved(fault))? {
            let mut payload = vec![0; length];
            self.reader.payload_exact(&mut payload, &interrupted)?;
            self.reorder.hold(header, payload);
            return Ok(0);
        }
        self.sequence += 1;
        let mut payload = Payload { reader: &mut self.reader, held, taken: 0, by_owner, link };
        if self.phase == CloseState::Parted {
            return match header.kind {
                MessageKind::KeepAlive => Ok(0),
                // The peer was done and then gave up: what it sent before its bye stands.
                MessageKind::Abort => Err(self.link.closed()),
                found => Err(self.out_of_order(MessageKind::KeepAlive, found)),
            };
        }
        match header.kind {
            MessageKind::KeepAlive => {}
            MessageKind::Hello => {
                return Err(self.out_of_order(MessageKind::Data, MessageKind::Hello));
            }
            MessageKind::Abort => {
                let mut content = vec![0; length];
                payload.fill_exact(&mut content)?;
                return Err(self.aborted(&content));
            }
            MessageKind::Bye => {
                self.phase = CloseState::Parted;
                self.push_buffer();
                self.link.incoming.finish();
                self.link.bye_received();
            }
            MessageKind::Data => {
                let slot = (&mut self.buffer, &mut self.discarding, &mut self.was_awaited);
                let mut filling = BufferFiller { link: &self.link, slot };
                filling.data(&mut payload, length)?;
            }
            MessageKind::Agreement => {
                let slot = (&mut self.buffer, &mut self.discarding, &mut self.was_awaited);
                let mut filling = BufferFiller { link: &self.link, slot };
                filling.agreement(&mut payload, length)?;
            }
        }
        Ok(length)
    }

    /// The stream has ended: as it should only after a bye.
    fn end(&mut self) -> Result<usize, ChannelError> {
        if self.phase != CloseState::Parted {
            return Err(self.link.closed());
        }
        self.phase = CloseState::Ended;
        Ok(0)
    }

    fn out_of_order(&self, expected: MessageKind, found: MessageKind) -> ChannelError {
        self.reader.misbehaved(MessageError::Order { expected, found })
    }

    fn check(&self, header: &MessageHeader) -> Result<(), ChannelError> {
        if header.session != self.link.session {
            return Err(self.reader.misbehaved(MessageError::Session));
        }
        let (expected, found) = (self.link.stream, header.stream);
        if expected != found {
            return Err(self.reader.misbehaved(MessageError::Stream { expected, found }));
        }
        Ok(())
    }

    /// Converts the peer's abort message to an error.
    fn aborted(&self, content: &[u8]) -> ChannelError {
        let (code, blamed) = content.split_first().expect("an abort has at least one byte");
        let reason = AbortReason::from_code(*code);
        let peer = self.link.peer.clone();
        if blamed.is_empty() {
            return ChannelError::PeerAborted { party: peer, reason };
        }
        match std::str::from_utf8(blamed) {
            Ok(name) if check_name(name).is_ok() => {
                ChannelError::PeerLost { party: name.to_owned(), reported_by: peer }
            }
            _ => self.reader.misbehaved(MessageError::Abort),
        }
    }

    fn push_buffer(&mut self) {
        let slot = (&mut self.buffer, &mut self.discarding, &mut self.was_awaited);
        BufferFiller { link: &self.link, slot }.push_buffer();
    }

    /// Waits for the end of the session; called only by the helper thread, because it blocks.
    fn conclude(&mut self, timeouts: &Timeouts) {
        match self.phase {
            CloseState::Interrupted => self.reader.drain(),
            CloseState::Failed => {
                if self.link.farewell().is_some() {
                    self.link.wait_for_writer(timeouts.farewell);
                }
                self.link.cut();
            }
            CloseState::Open | CloseState::Parted | CloseState::Ended => {}
        }
    }
}

/// Where the thread waits while the owner reads.
#[derive(Default)]
struct ParkState {
    is_called: Mutex<bool>,
    called: Condvar,
    /// Whether the owner is reading right now, and how often it did.
    is_occupied: AtomicBool,
    visits: AtomicU64,
}

impl ParkState {
    fn call(&self) {
        *self.is_called.lock().expect("no code panics while it holds this lock") = true;
        self.called.notify_one();
    }

    /// Waits until the owner calls, or stops reading.
    fn wait(&self) {
        const HELD: &str = "no code panics while it holds this lock";
        let (mut pause, mut visits) = (PARKED_MIN, self.visits.load(Ordering::Relaxed));
        let mut is_called = self.is_called.lock().expect(HELD);
        while !*is_called {
            let (guard, waited) = self.called.wait_timeout(is_called, pause).expect(HELD);
            is_called = guard;
            let visits_now = self.visits.load(Ordering::Relaxed);
            if self.is_occupied.load(Ordering::Acquire) {
                pause = (2 * pause).min(PARKED_MAX);
            } else if waited.timed_out() && visits_now == visits {
                break;
            } else {
                pause = PARKED_MIN;
            }
            visits = visits_now;
        }
        *is_called = false;
    }
}

/// The owner's way to the network, past the thread.
#[derive(Clone)]
pub(crate) struct InlineReceiver {
    receiving: Arc<Mutex<Receiving>>,
    parking: Arc<ParkState>,
}

impl InlineReceiver {
    pub(crate) fn new(receiving: Receiving) -> Self {
        InlineReceiver { receiving: Arc::new(Mutex::new(receiving)), parking: Arc::default() }
    }

    /// Waits for a filled buffer or the end; reads from the network while the thread does not.
    pub(crate) fn pop(&self, pipe: &Pipe) -> PopResult {
        if let Some(popped) = pipe.try_pop() {
            return popped;
        }
        let mut receiving = match self.receiving.try_lock() {
            Ok(receiving) => receiving,
            Err(TryLockError::WouldBlock) => return pipe.pop(None),
            Err(TryLockError::Poisoned(_)) => panic!("the receiving thread panicked"),
        };
        self.parking.is_occupied.store(true, Ordering::Release);
        let began = Instant::now();
        receiving.look(began);
        let mut is_over = false;
        let popped = loop {
            if let Some(popped) = pipe.try_pop() {
                break popped;
            }
            is_over |= matches!(receiving.step(true), ReceiveOutcome::Long | ReceiveOutcome::Done);
        };
        receiving.last_wait = began.elapsed();
        drop(receiving);
        self.parking.visits.fetch_add(1, Ordering::Relaxed);
        self.parking.is_occupied.store(false, Ordering::Release);
        if is_over {
            self.parking.call();
        }
        popped
    }

    /// Wakes the thread, so that it sees the end.
    pub(crate) fn call_thread(&self) {
        self.parking.call();
    }

    /// The thread: runs until the peer is done, the connection ends or something fails.
    pub(crate) fn run(self, link: &Link, timeouts: &Timeouts) {
        const HELD: &str = "who reads does not panic";
        loop {
            let mut receiving = self.receiving.lock().expect(HELD);
            let step = loop {
                match receiving.step(false) {
                    ReceiveOutcome::Taken | ReceiveOutcome::Long => {}
                    step => break step,
                }
            };
            if step == ReceiveOutcome::Done {
                receiving.conclude(timeouts);
                break;
            }
            drop(receiving);
            self.parking.wait();
        }
        link.reader_done();
    }
}
