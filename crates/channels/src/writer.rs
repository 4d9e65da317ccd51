//! The thread that takes blocks from the outgoing pipe and sends them as messages.
//!
//! It also sends keep-alives when there is nothing else to send, delays messages when a network
//! is simulated, and says the last word: bye, or abort.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::frame::Kind;
use crate::link::Link;
use crate::pipe::{End, Popped};
use crate::simulate::DelayLine;
use crate::timeouts::Timeouts;
use crate::transport::{Sink, TransportError};

/// The state of the writing thread.
pub(crate) struct Sending {
    sink: Box<dyn Sink>,
    link: Arc<Link>,
    /// Data bytes sent so far.
    position: u64,
    last_write: Instant,
    line: Option<DelayLine>,
    timeouts: Timeouts,
}

impl Sending {
    pub(crate) fn new(
        sink: Box<dyn Sink>,
        link: Arc<Link>,
        line: Option<DelayLine>,
        timeouts: Timeouts,
    ) -> Self {
        Sending { sink, link, position: 0, last_write: Instant::now(), line, timeouts }
    }

    /// Runs until the channel is closed or broken.
    pub(crate) fn run(mut self) {
        if self.send_all().is_err() {
            self.link.wait_for_error(self.timeouts.farewell);
            self.link.fail(self.link.closed());
        }
        // A transport that cannot be closed is closed already.
        let _ = self.sink.close();
        self.count();
        self.link.writer_done();
    }

    fn send_all(&mut self) -> Result<(), TransportError> {
        let end = match self.line.take() {
            None => self.send_blocks()?,
            Some(line) => self.send_delayed(line)?,
        };
        match end {
            End::Finished => self.part(),
            End::Broken(_) => match self.link.abort_to_send() {
                Some(reason) => self.write(Kind::Abort, &[reason as u8]),
                None => Ok(()),
            },
        }
    }

    fn send_blocks(&mut self) -> Result<End, TransportError> {
        let outgoing = self.link.outgoing.clone();
        loop {
            match outgoing.pop(Some(self.last_write + self.timeouts.keep_alive)) {
                Popped::Block(block) => {
                    self.write(block.kind, block.content())?;
                    outgoing.recycle(block);
                }
                Popped::TimedOut => self.write(Kind::KeepAlive, &[])?,
                Popped::End(end) => return Ok(end),
            }
        }
    }

    /// Like [`send_blocks`](Self::send_blocks), with each message held back as the line says.
    fn send_delayed(&mut self, mut line: DelayLine) -> Result<End, TransportError> {
        let outgoing = self.link.outgoing.clone();
        let mut finished = false;
        loop {
            while let Some((kind, piece)) = line.take_due(Instant::now()) {
                self.write(kind, &piece)?;
            }
            let keep_alive = self.last_write + self.timeouts.keep_alive;
            let next = line.next_release();
            if finished && next.is_none() {
                return Ok(End::Finished);
            }
            let wake = next.map_or(keep_alive, |release| release.min(keep_alive));
            if finished || !line.has_room() {
                std::thread::sleep(wake.saturating_duration_since(Instant::now()));
            } else {
                match outgoing.pop(Some(wake)) {
                    Popped::Block(block) => {
                        line.accept(block.kind, block.content(), Instant::now());
                        outgoing.recycle(block);
                    }
                    Popped::End(End::Finished) => finished = true,
                    Popped::End(end) => return Ok(end),
                    Popped::TimedOut => {}
                }
            }
            if Instant::now() >= keep_alive {
                self.write(Kind::KeepAlive, &[])?;
            }
        }
    }

    /// Says bye and stays, audibly, until the peer has said it too.
    fn part(&mut self) -> Result<(), TransportError> {
        self.write(Kind::Bye, &[])?;
        while !self.link.wait_for_bye(self.last_write + self.timeouts.keep_alive) {
            self.write(Kind::KeepAlive, &[])?;
        }
        Ok(())
    }

    fn write(&mut self, kind: Kind, payload: &[u8]) -> Result<(), TransportError> {
        let header = self.link.header(kind, payload.len(), self.position).to_bytes();
        self.sink.write(&header, payload)?;
        if kind == Kind::Data {
            self.position += payload.len() as u64;
        }
        self.last_write = Instant::now();
        self.count();
        Ok(())
    }

    fn count(&self) {
        self.link.counters.wire_sent.store(self.sink.wire_bytes(), Ordering::Relaxed);
    }
}
