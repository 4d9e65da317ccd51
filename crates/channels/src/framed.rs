//! [`FramedChannel`]: a channel over a network connection.
//!
//! One thread encrypts and sends, one receives and decrypts, so that computing goes on meanwhile;
//! small messages go past them (`writer.rs`, `receiver.rs`), so that a round trip costs little more
//! than the kernel's. Between them and the owner lie two pipes of reusable buffers: nothing is
//! allocated per message (TLS sealing excepted: rustls allocates one buffer per 16 KiB record), and
//! the whole channel stays within [`CHANNEL_MEMORY_BYTES`](crate::CHANNEL_MEMORY_BYTES).
//!
//! The life of a session: hello in each direction, then data and agreements, then bye in each
//! direction. A party that fails sends one abort instead; a channel that is dropped without
//! [`FramedChannel::close`] does the same.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::limits::{
    CONTROL_BYTES_MAX, DIRECT_WRITE_BYTES, EARLY_BYTES, EARLY_PIECE_BYTES, THREAD_STACK_BYTES,
    WIRE_OVERHEAD_BYTES, buffer_bytes, incoming_buffers, outgoing_buffers,
};
use crate::link::{Aborter, ChannelGroup, Link, Monitor};
use crate::message::{AbortReason, MessageError, MessageKind};
use crate::pipe::{NoDataReason, PipeEnd, PipeReader, PipeWriter};
use crate::reader::MessageReader;
use crate::receiver::{InlineReceiver, Receiving};
use crate::simulate::{DelayLine, NetworkModel};
use crate::timeouts::Timeouts;
use crate::transport::{Cut, WriteHalf};
use crate::writer::{Sending, Writer};
use crate::{Channel, ChannelError, SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN, Traffic};

/// A channel over TCP or TLS.
pub struct FramedChannel {
    outlet: PipeWriter,
    inlet: PipeReader,
    link: Arc<Link>,
    sending: Arc<Mutex<Sending>>,
    direct: InlineReceiver,
    /// Whether messages may be written at once: not in a simulated network.
    writes_direct: bool,
    /// Bytes that are still sent in early pieces after the last wait.
    early_bytes: usize,
    ahead_bytes: usize,
    round_trip: Option<Duration>,
    exchanges: u64,
    sent_bytes: u64,
    received_bytes: u64,
    started: Instant,
    timeouts: Timeouts,
    threads: Vec<JoinHandle<()>>,
    parted: bool,
}

/// The pieces of a connection whose hello is done.
pub(crate) struct Connected {
    pub(crate) peer: String,
    pub(crate) session: u64,
    pub(crate) stream: u16,
    pub(crate) is_ordered: bool,
    pub(crate) reader: MessageReader,
    pub(crate) sink: Box<dyn WriteHalf>,
    pub(crate) cut: Box<dyn Cut>,
    /// Between hello and answer, at the party that dialled.
    pub(crate) round_trip: Option<Duration>,
}

impl FramedChannel {
    /// Starts the threads of a connection.
    pub(crate) fn start(
        connected: Connected,
        timeouts: Timeouts,
        network: Option<NetworkModel>,
    ) -> Result<Self, ChannelError> {
        let Connected { peer, session, stream, is_ordered, reader, sink, cut, round_trip } =
            connected;
        let delay = network.as_ref().map_or(Duration::ZERO, |network| network.rtt);
        let link = Link::new(&peer, (session, stream), cut);
        let line = network.map(DelayLine::new);
        let direct = InlineReceiver::new(Receiving::new(reader, link.clone(), is_ordered));
        let sending = Arc::new(Mutex::new(Sending::new(sink, link.clone())));
        let mut channel = FramedChannel {
            outlet: PipeWriter::new(link.outgoing.clone()),
            inlet: PipeReader::with_direct(link.incoming.clone(), direct.clone()),
            link: link.clone(),
            sending: sending.clone(),
            direct: direct.clone(),
            writes_direct: line.is_none(),
            early_bytes: EARLY_BYTES,
            ahead_bytes: SEND_AHEAD_BYTES,
            round_trip: round_trip.map(|measured| measured + delay),
            exchanges: 0,
            sent_bytes: 0,
            received_bytes: 0,
            started: Instant::now(),
            timeouts,
            threads: Vec::with_capacity(2),
            parted: false,
        };
        let writer = Writer::new(sending, link.clone(), line, timeouts);
        let reading = link.clone();
        let started = spawn(format!("send-{peer}"), move || writer.run())
            .and_then(|thread| {
                channel.threads.push(thread);
                spawn(format!("receive-{peer}"), move || direct.run(&reading, &timeouts))
            })
            .map(|thread| channel.threads.push(thread));
        if let Err(error) = started {
            link.cut();
            link.reader_done();
            link.writer_done();
            let during = "starting the threads of a channel".to_owned();
            return Err(ChannelError::Io { during, detail: error.to_string() });
        }
        Ok(channel)
    }

    /// The name of the party at the other end.
    pub fn peer(&self) -> &str {
        &self.link.peer
    }

    /// Which of the streams between the two parties this is.
    pub fn stream(&self) -> u16 {
        self.link.stream
    }

    /// Ties channels together: when one fails, all do, and name the same party.
    pub(crate) fn tie<'a>(channels: impl Iterator<Item = &'a FramedChannel>) -> Arc<ChannelGroup> {
        let links: Vec<_> = channels.map(|channel| channel.link.clone()).collect();
        ChannelGroup::tie(&links)
    }

    /// Why the session ended, if it did.
    pub(crate) fn error(&self) -> Option<ChannelError> {
        self.link.error()
    }

    /// The random number that both parties use to name this session.
    pub fn session(&self) -> u64 {
        self.link.session
    }

    /// Bytes on the wire so far, framing and encryption included, the handshake not.
    pub fn wire_traffic(&self) -> Traffic {
        self.link.counters.wire()
    }

    /// A handle with which another thread can watch this channel.
    pub fn monitor(&self) -> Monitor {
        Monitor { counters: self.link.counters.clone(), started: self.started }
    }

    /// A handle with which another thread can end this session.
    pub fn aborter(&self) -> Aborter {
        Aborter { link: self.link.clone(), patience: self.timeouts.farewell }
    }

    /// Takes or gives up memory: both ends have agreed to be ahead of each other by no more than
    /// that. Once.
    ///
    /// # Panics
    /// If it is less than the least.
    pub fn set_ahead(&mut self, ahead_bytes: usize) {
        let before = self.ahead_bytes;
        assert!(ahead_bytes >= SEND_AHEAD_BYTES_MIN, "a slice, and one that the peer is behind");
        let buffer_bytes = buffer_bytes(ahead_bytes);
        let buffers = [incoming_buffers(before), incoming_buffers(ahead_bytes)];
        self.link.incoming.resize(buffers, buffer_bytes);
        let buffers = [outgoing_buffers(before), outgoing_buffers(ahead_bytes)];
        self.link.outgoing.resize(buffers, buffer_bytes);
        self.ahead_bytes = ahead_bytes;
    }

    /// How long it took from question to answer when the connection was made, and so with the delay
    /// of a simulated network; nothing at the party that was dialled.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// Sends a small message and returns the one that the peer sends by the same call.
    ///
    /// It lies outside the byte stream of [`Channel`], but both parties must call it at the same
    /// point of that stream; anything else is an error. Everything sent before is flushed.
    ///
    /// # Errors
    /// A message longer than [`CONTROL_BYTES_MAX`] is refused; the rest is as for `recv_with`.
    pub fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        self.send_agreement(message)?;
        self.receive_agreement()
    }

    /// The first half of [`exchange`](Self::exchange), for those who exchange with many: it does
    /// not wait.
    ///
    /// # Errors
    /// As for [`exchange`](Self::exchange).
    pub fn send_agreement(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        let (bytes, max) = (message.len(), CONTROL_BYTES_MAX);
        if bytes > max {
            return Err(ChannelError::ControlTooLong { bytes, max });
        }
        let sent = self.outlet.publish_control(MessageKind::Agreement, message);
        sent.map_err(|end| self.ended(end))
    }

    /// The second half of [`exchange`](Self::exchange).
    ///
    /// # Errors
    /// As for [`exchange`](Self::exchange).
    pub fn receive_agreement(&mut self) -> Result<Vec<u8>, ChannelError> {
        self.begin_waiting();
        let answer = self.inlet.take_control(MessageKind::Agreement, None);
        self.end_waiting();
        self.exchanges += u64::from(answer.is_ok());
        answer.map_err(|dry| self.dried(dry, MessageKind::Agreement))
    }

    /// Number of messages received by [`receive_agreement`](Self::receive_agreement).
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// Ends the session: sends what is left, says bye, and waits for the peer's bye.
    ///
    /// Waits as long as the peer is alive. What the peer sent and nobody received is dropped.
    ///
    /// # Errors
    /// Why the session ended otherwise.
    pub fn close(mut self) -> Result<(), ChannelError> {
        let published = self.outlet.publish().map_err(|end| self.ended(end));
        if published.is_ok() {
            self.link.incoming.finish();
            self.link.outgoing.finish();
            self.begin_waiting();
            self.parted = true;
            self.join();
            self.end_waiting();
        }
        match self.link.error() {
            Some(error) => Err(error),
            None => published,
        }
    }

    /// Ends the session because this party gives up, and tells the peer why, coarsely.
    pub fn abort(mut self, reason: AbortReason) {
        self.give_up(reason);
    }

    fn give_up(&mut self, reason: AbortReason) {
        if std::mem::replace(&mut self.parted, true) {
            return;
        }
        self.link.abort(reason);
        self.direct.call_thread();
        self.link.wait_for_writer(self.timeouts.farewell);
        // Closing while bytes are unread would reset the connection and could destroy the abort
        // message on its way, so the reader first drains it until the peer has closed.
        self.link.wait_for_reader(self.timeouts.farewell);
        self.link.cut();
        self.join();
    }

    /// Ends connections as the death of this process would: all at once, and nobody is told.
    #[cfg(test)]
    pub(crate) fn kill<'a>(channels: impl Iterator<Item = &'a FramedChannel> + Clone) {
        channels.clone().for_each(|channel| channel.link.fall_silent());
        channels.clone().for_each(|channel| channel.link.die());
        channels.for_each(|channel| channel.link.cut());
    }

    fn join(&mut self) {
        self.direct.call_thread();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.link.fail(self.link.closed());
            }
        }
    }

    /// Writes what is pending if that is not much, nothing is before it, and it can leave at once;
    /// returns whether it did.
    fn write_directly(&mut self) -> Result<bool, ChannelError> {
        let Some(content) = self.outlet.pending(DIRECT_WRITE_BYTES) else {
            return Ok(false);
        };
        let Some(mut sending) = self.writes_direct.then(|| self.sending.try_lock().ok()).flatten()
        else {
            return Ok(false);
        };
        if !self.link.outgoing.is_idle()
            || !self.link.is_writable(content.len() + WIRE_OVERHEAD_BYTES)
        {
            return Ok(false);
        }
        if sending.write(MessageKind::Data, content).is_err() {
            drop(sending);
            self.link.wait_for_error(self.timeouts.farewell);
            self.link.fail(self.link.closed());
            return Err(self.link.error().expect("it has just failed"));
        }
        drop(sending);
        self.outlet.clear_pending();
        Ok(true)
    }

    fn begin_waiting(&self) {
        let now_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.link.counters.waiting_since_ms.store(now_ms + 1, Ordering::Relaxed);
    }

    fn end_waiting(&self) {
        self.link.counters.waiting_since_ms.store(0, Ordering::Relaxed);
    }

    fn ended(&self, end: PipeEnd) -> ChannelError {
        match end {
            PipeEnd::Broken(error) => error,
            PipeEnd::Finished => self.link.closed(),
        }
    }

    fn dried(&self, dry: NoDataReason, expected: MessageKind) -> ChannelError {
        match dry {
            NoDataReason::End(end) => self.ended(end),
            NoDataReason::TimedOut => unreachable!("without a deadline nothing times out"),
            NoDataReason::Unexpected(found) => {
                let party = self.link.peer.clone();
                let fault = MessageError::Order { expected, found };
                let error = ChannelError::Misbehaved { party, fault };
                self.link.fail(error.clone());
                error
            }
        }
    }
}

impl Channel for FramedChannel {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let result = self.outlet.lend(len, fill);
        let result = result.map_err(|end| self.ended(end))?;
        self.sent_bytes += len as u64;
        self.link.counters.sent.store(self.sent_bytes, Ordering::Relaxed);
        if self.early_bytes > 0 && self.outlet.pending_bytes() >= EARLY_PIECE_BYTES {
            self.early_bytes = self.early_bytes.saturating_sub(self.outlet.pending_bytes());
            self.write_directly()?;
        }
        Ok(result)
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        let result = if self.inlet.holds(len) {
            self.inlet.lend(len, None, read)
        } else {
            self.early_bytes = EARLY_BYTES;
            self.begin_waiting();
            let result = self.inlet.lend(len, None, |bytes| {
                self.link.counters.waiting_since_ms.store(0, Ordering::Relaxed);
                read(bytes)
            });
            self.end_waiting();
            result
        };
        let result = result.map_err(|dry| self.dried(dry, MessageKind::Data))?;
        self.received_bytes += len as u64;
        self.link.counters.received.store(self.received_bytes, Ordering::Relaxed);
        Ok(result)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        if self.write_directly()? {
            return Ok(());
        }
        self.outlet.publish().map_err(|end| self.ended(end))
    }

    fn traffic(&self) -> Traffic {
        Traffic { sent_bytes: self.sent_bytes, received_bytes: self.received_bytes }
    }

    fn ahead_bytes(&self) -> usize {
        self.ahead_bytes
    }
}

impl Drop for FramedChannel {
    /// A channel dropped before its end tells the peer that this party failed.
    fn drop(&mut self) {
        self.give_up(AbortReason::Failed);
    }
}

fn spawn(name: String, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).stack_size(THREAD_STACK_BYTES).spawn(run)
}
