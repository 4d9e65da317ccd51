//! [`ValueWidths`]: the bits that narrowing leaves of each value, in a temporary file.

use std::io::{self, Write};

use phineus_bytecode::varint;

use crate::narrow::NarrowClaim;
use crate::scratch::ScratchFile;

/// Bytes that are written or read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Bits of the values of a program after narrowing; values that are missing are not computed.
pub struct ValueWidths {
    file: ScratchFile,
    buffer: Vec<u8>,
    last: u64,
    failed: Option<io::Error>,
}

impl ValueWidths {
    /// In an empty file.
    pub fn new(file: ScratchFile) -> ValueWidths {
        ValueWidths { file, buffer: Vec::new(), last: 0, failed: None }
    }

    /// Takes note of a value; values come in ascending order.
    pub fn note(&mut self, claim: &NarrowClaim) {
        let Some(place) = claim.place else { return };
        varint::write(&mut self.buffer, claim.value - self.last);
        varint::write(&mut self.buffer, u64::from(place.offset + place.length));
        self.last = claim.value;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let written = self.file.write_all(&self.buffer);
        self.failed = self.failed.take().or(written.err());
        self.buffer.clear();
    }

    /// The same, to be read.
    ///
    /// # Errors
    /// If the file could not be written.
    pub(super) fn into_reader(mut self) -> io::Result<WidthReader> {
        self.flush();
        match self.failed {
            Some(error) => Err(error),
            None => Ok(WidthReader {
                file: self.file,
                offset: 0,
                buffer: Vec::new(),
                place: 0,
                value: 0,
                next: None,
            }),
        }
    }
}

/// Reads the bits of values in ascending order.
pub(super) struct WidthReader {
    file: ScratchFile,
    offset: u64,
    buffer: Vec<u8>,
    /// The first byte of the buffer that is not read.
    place: usize,
    value: u64,
    next: Option<(u64, u16)>,
}

/// The most bytes of the two numbers of a value.
const ENTRY_BYTES_MAX: usize = 20;

impl WidthReader {
    /// The bits of a value; 0 of one that is not computed. Values before it are skipped.
    pub(super) fn bits(&mut self, value: u64) -> io::Result<u16> {
        loop {
            if self.next.is_none() {
                self.next = self.read()?;
            }
            match self.next {
                Some((found, _)) if found < value => self.next = None,
                Some((found, bits)) if found == value => return Ok(bits),
                Some(_) | None => return Ok(0),
            }
        }
    }

    fn read(&mut self) -> io::Result<Option<(u64, u16)>> {
        if self.buffer.len() - self.place < ENTRY_BYTES_MAX {
            self.buffer.drain(..self.place);
            self.place = 0;
            let held = self.buffer.len();
            self.buffer.resize(BUFFER_BYTES, 0);
            let count = self.file.read_at(&mut self.buffer[held..], self.offset)?;
            self.buffer.truncate(held + count);
            self.offset += count as u64;
        }
        let mut rest = &self.buffer[self.place..];
        if rest.is_empty() {
            return Ok(None);
        }
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let distance = varint::read(&mut rest).ok_or_else(damaged)?;
        let bits = varint::read(&mut rest).ok_or_else(damaged)?;
        self.place = self.buffer.len() - rest.len();
        self.value += distance;
        Ok(Some((self.value, bits as u16)))
    }
}
