//! The thread that takes messages from the transport, checks them and fills the incoming pipe.
//!
//! Payload goes from the transport straight into a block; only what one read brings beyond the
//! current message (at most [`READ_AHEAD_BYTES`]) is copied once more.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::ChannelError;
use crate::frame::{AbortReason, Fault, HEADER_BYTES, Header, Kind, parse_header};
use crate::limits::READ_AHEAD_BYTES;
use crate::link::Link;
use crate::pipe::Block;
use crate::timeouts::Timeouts;
use crate::transport::{Source, TransportError};

/// Bytes read beyond what was asked for.
struct Ahead {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Ahead {
    fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Moves bytes to `target` and returns how many.
    fn take(&mut self, target: &mut [u8]) -> usize {
        let count = self.content().len().min(target.len());
        target[..count].copy_from_slice(&self.bytes[self.start..self.start + count]);
        self.start += count;
        count
    }
}

/// A message reader over a transport; first used by the hello, then by the thread.
pub(crate) struct Reader {
    source: Box<dyn Source>,
    ahead: Ahead,
    peer: String,
    lost: Duration,
}

impl Reader {
    pub(crate) fn new(source: Box<dyn Source>, peer: &str, lost: Duration) -> Self {
        let bytes = vec![0; READ_AHEAD_BYTES].into_boxed_slice();
        let ahead = Ahead { bytes, start: 0, end: 0 };
        Reader { source, ahead, peer: peer.to_owned(), lost }
    }

    pub(crate) fn set_lost(&mut self, lost: Duration) {
        self.lost = lost;
    }

    pub(crate) fn misbehaved(&self, fault: Fault) -> ChannelError {
        ChannelError::Misbehaved { party: self.peer.clone(), fault }
    }

    fn failed(&self, error: TransportError) -> ChannelError {
        let party = self.peer.clone();
        if error.is_timeout() {
            return ChannelError::Lost { party, seconds: self.lost.as_secs() };
        }
        match error {
            TransportError::Io(_) => ChannelError::Closed { party },
            TransportError::Alert(code) => ChannelError::TlsAlert { party, code },
            TransportError::Fault(fault) => ChannelError::Misbehaved { party, fault },
        }
    }

    /// Whether the next header is here already.
    fn has_header(&self) -> bool {
        self.ahead.content().len() >= HEADER_BYTES
    }

    /// Waits for the next header; `None` if the stream ends before it.
    pub(crate) fn header(&mut self) -> Result<Option<Header>, ChannelError> {
        while !self.has_header() {
            let kept = self.ahead.start..self.ahead.end;
            self.ahead.bytes.copy_within(kept.clone(), 0);
            (self.ahead.start, self.ahead.end) = (0, kept.len());
            let room = &mut self.ahead.bytes[kept.len()..];
            let read = self.source.read(room, &mut []).map_err(|error| self.failed(error))?;
            if read == 0 {
                return Ok(None);
            }
            self.ahead.end += read;
        }
        let mut bytes = [0; HEADER_BYTES];
        self.ahead.take(&mut bytes);
        parse_header(&bytes).map(Some).map_err(|fault| self.misbehaved(fault))
    }

    /// Waits for payload and returns how much of `target`, which is not empty, it filled.
    fn payload(&mut self, target: &mut [u8]) -> Result<usize, ChannelError> {
        let count = self.ahead.take(target);
        if count > 0 {
            return Ok(count);
        }
        let ahead = &mut self.ahead.bytes;
        let read = self.source.read(target, ahead).map_err(|error| self.failed(error))?;
        if read == 0 {
            return Err(ChannelError::Closed { party: self.peer.clone() });
        }
        let count = read.min(target.len());
        (self.ahead.start, self.ahead.end) = (0, read - count);
        Ok(count)
    }

    /// Waits for all of `target`.
    pub(crate) fn payload_exact(&mut self, mut target: &mut [u8]) -> Result<(), ChannelError> {
        while !target.is_empty() {
            let count = self.payload(target)?;
            target = &mut target[count..];
        }
        Ok(())
    }
}

/// The state of the reading thread.
pub(crate) struct Receiving {
    reader: Reader,
    link: Arc<Link>,
    /// Data bytes received so far.
    position: u64,
    /// The block being filled.
    block: Option<Block>,
    /// The owner no longer reads; what still comes is dropped.
    discarding: bool,
    timeouts: Timeouts,
}

impl Receiving {
    pub(crate) fn new(reader: Reader, link: Arc<Link>, timeouts: Timeouts) -> Self {
        Receiving { reader, link, position: 0, block: None, discarding: false, timeouts }
    }

    /// Runs until the peer is done, the connection ends or something fails.
    pub(crate) fn run(mut self) {
        if let Err(error) = self.receive_all() {
            let misbehaved = matches!(error, ChannelError::Misbehaved { .. });
            self.push_block();
            self.link.fail(error);
            if misbehaved {
                self.link.wait_for_writer(self.timeouts.farewell);
            }
            self.link.cut();
        }
        self.link.reader_done();
    }

    fn receive_all(&mut self) -> Result<(), ChannelError> {
        loop {
            if !self.reader.has_header() {
                self.push_block();
            }
            let Some(header) = self.reader.header()? else {
                return Err(self.link.closed());
            };
            self.check(&header)?;
            match header.kind {
                Kind::Data => self.data(header.length as usize)?,
                Kind::Agreement => self.agreement(header.length as usize)?,
                Kind::KeepAlive => {}
                Kind::Abort => {
                    let mut code = [0];
                    self.reader.payload_exact(&mut code)?;
                    let reason = AbortReason::from_code(code[0]);
                    let party = self.link.peer.clone();
                    return Err(ChannelError::PeerAborted { party, reason });
                }
                Kind::Bye => return self.bye(),
                Kind::Hello => return Err(self.out_of_order(Kind::Data, Kind::Hello)),
            }
            self.count();
        }
    }

    fn count(&self) {
        let wire_bytes = self.reader.source.wire_bytes();
        self.link.counters.wire_received.store(wire_bytes, Ordering::Relaxed);
    }

    fn out_of_order(&self, expected: Kind, found: Kind) -> ChannelError {
        self.reader.misbehaved(Fault::Order { expected, found })
    }

    fn check(&self, header: &Header) -> Result<(), ChannelError> {
        if header.session != self.link.session {
            return Err(self.reader.misbehaved(Fault::Session));
        }
        if header.position != self.position {
            let fault = Fault::Position { expected: self.position, found: header.position };
            return Err(self.reader.misbehaved(fault));
        }
        Ok(())
    }

    /// The block to fill next; `None` when the owner no longer reads.
    fn take_block(&mut self) -> Option<Block> {
        if self.discarding {
            return None;
        }
        let block = match self.block.take() {
            Some(block) => Some(block),
            None => self.link.incoming.take_free(None).ok(),
        };
        self.discarding = block.is_none();
        block
    }

    fn push_block(&mut self) {
        let Some(block) = self.block.take() else {
            return;
        };
        if block.content().is_empty() && block.kind == Kind::Data {
            self.block = Some(block);
            return;
        }
        match self.link.incoming.push(block) {
            Ok(left_over) => self.block = left_over,
            Err(_) => self.discarding = true,
        }
    }

    fn data(&mut self, length: usize) -> Result<(), ChannelError> {
        let mut left = length;
        while left > 0 {
            let Some(mut block) = self.take_block() else {
                self.discard(left)?;
                break;
            };
            let room = block.room();
            let wanted = room.len().min(left);
            let outcome = self.reader.payload(&mut room[..wanted]);
            let count = *outcome.as_ref().unwrap_or(&0);
            block.grow(count);
            let full = block.room().is_empty();
            // Back in its place even after an error: what came before it is still delivered.
            self.block = Some(block);
            outcome?;
            left -= count;
            if full {
                self.push_block();
            }
        }
        self.position += length as u64;
        Ok(())
    }

    fn agreement(&mut self, length: usize) -> Result<(), ChannelError> {
        self.push_block();
        let Some(mut block) = self.take_block() else {
            return self.discard(length);
        };
        self.reader.payload_exact(&mut block.room()[..length])?;
        block.grow(length);
        block.kind = Kind::Agreement;
        self.block = Some(block);
        self.push_block();
        Ok(())
    }

    fn discard(&mut self, length: usize) -> Result<(), ChannelError> {
        let mut scratch = [0; READ_AHEAD_BYTES];
        let mut left = length;
        while left > 0 {
            let wanted = left.min(scratch.len());
            left -= self.reader.payload(&mut scratch[..wanted])?;
        }
        Ok(())
    }

    /// After its bye the peer sends nothing but keep-alives until it closes.
    fn bye(&mut self) -> Result<(), ChannelError> {
        self.push_block();
        self.link.incoming.finish();
        self.link.bye_received();
        while let Some(header) = self.reader.header()? {
            self.check(&header)?;
            match header.kind {
                Kind::KeepAlive => {}
                Kind::Abort => {
                    // The peer was done and then gave up: what it sent before its bye stands.
                    return Err(self.link.closed());
                }
                found => return Err(self.out_of_order(Kind::KeepAlive, found)),
            }
        }
        self.count();
        Ok(())
    }
}
