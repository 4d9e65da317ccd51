//! Takes messages from the transport, checks them, and directs their payload to buffers.
//!
//! Payload goes from the transport straight into a buffer; only what one read brings beyond the
//! current message (at most [`READ_AHEAD_BYTES`]) is copied once more.

use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::limits::READ_AHEAD_BYTES;
use crate::message::{HEADER_BYTES, MessageError, MessageHeader, parse_header};
use crate::transport::{ReadHalf, TransportError};

/// Asked from time to time while a reader waits: an answer ends the waiting.
pub(crate) type StopCondition<'a> = dyn Fn() -> Option<ChannelError> + 'a;

/// Bytes read beyond what was asked for.
struct ReadBuffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
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
pub(crate) struct MessageReader {
    source: Box<dyn ReadHalf>,
    ahead: ReadBuffer,
    peer: String,
    lost: Duration,
    /// When something was heard last.
    heard: Instant,
}

impl MessageReader {
    pub(crate) fn new(source: Box<dyn ReadHalf>, peer: &str, lost: Duration) -> Self {
        let bytes = vec![0; READ_AHEAD_BYTES].into_boxed_slice();
        let ahead = ReadBuffer { bytes, start: 0, end: 0 };
        MessageReader { source, ahead, peer: peer.to_owned(), lost, heard: Instant::now() }
    }

    pub(crate) fn set_peer(&mut self, peer: &str) {
        peer.clone_into(&mut self.peer);
    }

    pub(crate) fn set_lost(&mut self, lost: Duration) {
        (self.lost, self.heard) = (lost, Instant::now());
    }

    pub(crate) fn misbehaved(&self, fault: MessageError) -> ChannelError {
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

    /// Reads into `wanted`, or ahead if that is empty; 0 at the end. Waits until the peer counts as
    /// lost; a source gives up earlier, so that a look can be had at `interrupted`.
    fn read(
        &mut self,
        wanted: &mut [u8],
        interrupted: &StopCondition<'_>,
    ) -> Result<usize, ChannelError> {
        loop {
            let read = if wanted.is_empty() {
                let room = &mut self.ahead.bytes[self.ahead.end..];
                self.source.read(room, &mut [])
            } else {
                self.source.read(wanted, &mut self.ahead.bytes)
            };
            match read {
                Ok(read) => {
                    self.heard = Instant::now();
                    return Ok(read);
                }
                Err(error) if error.is_timeout() && self.heard.elapsed() < self.lost => {
                    if let Some(error) = interrupted() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Reads and drops everything up to the end of the stream or an error.
    pub(crate) fn drain(&mut self) {
        let mut scratch = [0; READ_AHEAD_BYTES];
        while self.read(&mut scratch, &|| None).is_ok_and(|read| read > 0) {}
    }

    pub(crate) fn wire_bytes(&self) -> u64 {
        self.source.wire_bytes()
    }

    /// Whether the next header is here already.
    pub(crate) fn has_header(&self) -> bool {
        self.ahead.content().len() >= HEADER_BYTES
    }

    /// Whether something has come, as far as that is known.
    pub(crate) fn is_ready(&self) -> bool {
        self.has_header() || self.source.is_ready()
    }

    /// Waits for the next header; `None` if the stream ends before it.
    pub(crate) fn header(
        &mut self,
        interrupted: &StopCondition<'_>,
    ) -> Result<Option<MessageHeader>, ChannelError> {
        while !self.has_header() {
            let kept = self.ahead.start..self.ahead.end;
            self.ahead.bytes.copy_within(kept.clone(), 0);
            (self.ahead.start, self.ahead.end) = (0, kept.len());
            let read = self.read(&mut [], interrupted)?;
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
    pub(crate) fn payload(
        &mut self,
        target: &mut [u8],
        interrupted: &StopCondition<'_>,
    ) -> Result<usize, ChannelError> {
        let count = self.ahead.take(target);
        if count > 0 {
            return Ok(count);
        }
        let read = self.read(target, interrupted)?;
        if read == 0 {
            return Err(ChannelError::Closed { party: self.peer.clone() });
        }
        let count = read.min(target.len());
        (self.ahead.start, self.ahead.end) = (0, read - count);
        Ok(count)
    }

    /// Waits for all of `target`.
    pub(crate) fn payload_exact(
        &mut self,
        mut target: &mut [u8],
        interrupted: &StopCondition<'_>,
    ) -> Result<(), ChannelError> {
        while !target.is_empty() {
            let count = self.payload(target, interrupted)?;
            target = &mut target[count..];
        }
        Ok(())
    }
}
