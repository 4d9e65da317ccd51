//! Sends buffers of the outgoing pipe as messages: in a thread, or at once by the owner.
//!
//! The thread also sends keep-alives when there is nothing else to send, delays messages when a
//! network is simulated, and says the last word: bye, or abort. A message with nothing queued
//! before it that the network takes at once is written by the owner itself, which saves a hand-over. Whoever
//! writes holds the lock on [`Sending`], and buffers leave the pipe only under that lock, so the order is kept.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::link::Link;
use crate::message::MessageKind;
use crate::pipe::{PipeEnd, PopResult};
use crate::simulate::DelayLine;
use crate::timeouts::Timeouts;
use crate::transport::{TransportError, WriteHalf};

/// The sending half of a session.
pub(crate) struct Sending {
    sink: Box<dyn WriteHalf>,
    link: Arc<Link>,
    /// Messages sent so far.
    sequence: u64,
    last_write: Instant,
}

impl Sending {
    pub(crate) fn new(sink: Box<dyn WriteHalf>, link: Arc<Link>) -> Self {
        Sending { sink, link, sequence: 0, last_write: Instant::now() }
    }

    pub(crate) fn write(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
    ) -> Result<(), TransportError> {
        let header = self.link.header(kind, payload.len(), self.sequence).to_bytes();
        self.sink.write(&header, payload)?;
        self.sequence += 1;
        self.last_write = Instant::now();
        self.count();
        Ok(())
    }

    fn count(&self) {
        self.link.counters.wire_sent.store(self.sink.wire_bytes(), Ordering::Relaxed);
    }
}

/// The state of the writing thread.
pub(crate) struct Writer {
    sending: Arc<Mutex<Sending>>,
    link: Arc<Link>,
    line: Option<DelayLine>,
    timeouts: Timeouts,
}

impl Writer {
    pub(crate) fn new(
        sending: Arc<Mutex<Sending>>,
        link: Arc<Link>,
        line: Option<DelayLine>,
        timeouts: Timeouts,
    ) -> Self {
        Writer { sending, link, line, timeouts }
    }

    /// Runs until the channel is closed or broken.
    pub(crate) fn run(mut self) {
        if self.send_all().is_err() {
            self.link.wait_for_error(self.timeouts.farewell);
            self.link.fail(self.link.closed());
        }
        let mut sending = self.lock();
        // A transport that cannot be closed is closed already.
        let _ = sending.sink.close();
        sending.count();
        drop(sending);
        self.link.writer_done();
    }

    fn lock(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().expect("who writes does not panic")
    }

    fn send_all(&mut self) -> Result<(), TransportError> {
        let end = match self.line.take() {
            None => self.send_buffers()?,
            Some(line) => self.send_delayed(line)?,
        };
        match end {
            PipeEnd::Finished => self.part(),
            PipeEnd::Broken(_) => match self.link.farewell() {
                Some((reason, blamed)) => {
                    let mut content = vec![reason as u8];
                    content.extend(blamed.unwrap_or_default().as_bytes());
                    self.lock().write(MessageKind::Abort, &content)
                }
                None => Ok(()),
            },
        }
    }

    fn keep_alive_due(&self) -> Instant {
        self.lock().last_write + self.timeouts.keep_alive
    }

    /// Sends a keep-alive, unless something was sent meanwhile.
    fn keep_alive(&self) -> Result<(), TransportError> {
        let mut sending = self.lock();
        if sending.last_write.elapsed() >= self.timeouts.keep_alive {
            sending.write(MessageKind::KeepAlive, &[])?;
        }
        Ok(())
    }

    fn send_buffers(&mut self) -> Result<PipeEnd, TransportError> {
        let outgoing = self.link.outgoing.clone();
        loop {
            if !outgoing.wait_filled(self.keep_alive_due()) {
                self.keep_alive()?;
                continue;
            }
            let mut sending = self.lock();
            while let Some(popped) = outgoing.try_pop() {
                match popped {
                    PopResult::Buffer(buffer) => {
                        sending.write(buffer.kind, buffer.content())?;
                        outgoing.recycle(buffer);
                    }
                    PopResult::End(end) => return Ok(end),
                    PopResult::TimedOut => unreachable!("it does not wait"),
                }
            }
        }
    }

    /// Like [`send_buffers`](Self::send_buffers), with each message held back as the line says.
    fn send_delayed(&mut self, mut line: DelayLine) -> Result<PipeEnd, TransportError> {
        let outgoing = self.link.outgoing.clone();
        let mut finished = false;
        loop {
            while let Some((kind, piece)) = line.take_due(Instant::now()) {
                self.lock().write(kind, &piece)?;
            }
            let keep_alive = self.keep_alive_due();
            let next = line.next_release();
            if finished && next.is_none() {
                return Ok(PipeEnd::Finished);
            }
            let wake = next.map_or(keep_alive, |release| release.min(keep_alive));
            if finished || !line.has_room() {
                std::thread::sleep(wake.saturating_duration_since(Instant::now()));
            } else {
                match outgoing.pop(Some(wake)) {
                    PopResult::Buffer(buffer) => {
                        line.accept(buffer.kind, buffer.content(), Instant::now());
                        outgoing.recycle(buffer);
                    }
                    PopResult::End(PipeEnd::Finished) => finished = true,
                    PopResult::End(end) => return Ok(end),
                    PopResult::TimedOut => {}
                }
            }
            if Instant::now() >= keep_alive {
                self.keep_alive()?;
            }
        }
    }

    /// Says bye and stays, audibly, until the peer has said it too.
    fn part(&mut self) -> Result<(), TransportError> {
        self.lock().write(MessageKind::Bye, &[])?;
        while !self.link.wait_for_bye(self.keep_alive_due()) {
            self.keep_alive()?;
        }
        Ok(())
    }
}
