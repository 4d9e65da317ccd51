//! The TLS 1.3 record layer of an established connection, one half per thread.
//!
//! rustls makes the connection (`tls.rs`) and then hands out its traffic keys through its kernel
//! interface; the two directions have separate keys and counters, so that encryption and
//! decryption run in different threads without a lock and in the channel's own buffers. Sealing
//! and opening are in `protection.rs`; the choice between data, alert and key update is made here.
//!
//! Source: RFC 8446, sections 5.1-5.2 (records), 4.6.3 and 7.2 (key update), 5.5 (limits of use),
//! 6 (alerts).
//!
//! Cost: 22 bytes and one AEAD call per 16 KiB. Where `protection.rs` has a cipher of its own, the
//! sender seals from the channel's buffer, and the receiver opens whole records into it; else each
//! copies once besides.

use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, TcpStream};
use std::ops::Range;

use rustls::{ConnectionTrafficSecrets, ContentType, Tls13CipherSuite};

use crate::limits::{BLOCK_BYTES, TLS_PLAIN_BYTES_MAX, TLS_READ_BYTES, TLS_RECORD_BYTES_MAX};
use crate::protection::{By, Opener, RECORD_HEADER_BYTES, Sealed, Sealer, tls_fault};
use crate::transport::{Sink, Source, TransportError, write_all_parts};

/// Records sent under one key before it is replaced: half of the 2^24 that rustls allows for
/// AES-GCM, i.e. 128 GiB of full records (RFC 8446, section 5.5 allows 2^24.5).
const RECORDS_PER_KEY: u64 = 1 << 23;

/// Records of one message: a full block with its header, and one for rounding up.
const RECORDS_PER_MESSAGE: usize = BLOCK_BYTES / TLS_PLAIN_BYTES_MAX + 1;

/// Bytes of a message's records, with a key update before each: what a record may be longer than
/// ours holds that.
const SEALED_BYTES: usize = RECORDS_PER_MESSAGE * TLS_RECORD_BYTES_MAX;

const CLOSE_NOTIFY: u8 = 0;
const KEY_UPDATE: u8 = 24;

/// Draws the next traffic key of one direction from the connection's key schedule.
pub(crate) type NextKey =
    Box<dyn FnMut() -> Result<ConnectionTrafficSecrets, rustls::Error> + Send>;

/// The sending half of a TLS connection.
pub(crate) struct TlsSink {
    stream: TcpStream,
    suite: &'static Tls13CipherSuite,
    sealer: Sealer,
    /// Number of the next record under this key, which is also its nonce: never reused.
    sequence: u64,
    next_key: NextKey,
    by: By,
    records_per_key: u64,
    sealed: Sealed,
    wire_bytes: u64,
}

impl TlsSink {
    pub(crate) fn new(
        stream: TcpStream,
        suite: &'static Tls13CipherSuite,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        next_key: NextKey,
    ) -> Result<Self, TransportError> {
        let sealer = Sealer::new(suite, secrets, By::Fastest)?;
        Ok(TlsSink {
            stream,
            suite,
            sealed: Sealed::new(&sealer, SEALED_BYTES, RECORDS_PER_MESSAGE + 1),
            sealer,
            sequence,
            next_key,
            by: By::Fastest,
            records_per_key: RECORDS_PER_KEY,
            wire_bytes: 0,
        })
    }

    /// Replaces keys after this many records, so that a test need not send 128 GiB.
    #[cfg(test)]
    pub(crate) fn set_records_per_key(&mut self, records_per_key: u64) {
        self.records_per_key = records_per_key;
    }

    /// Who protects records from the next key on.
    #[cfg(test)]
    pub(crate) fn set_by(&mut self, by: By) {
        self.by = by;
    }

    fn seal(&mut self, typ: ContentType, pieces: [&[u8]; 2]) -> Result<(), TransportError> {
        self.sealer.seal(typ, self.sequence, pieces, &mut self.sealed)?;
        self.sequence += 1;
        Ok(())
    }

    fn seal_data(&mut self, pieces: [&[u8]; 2]) -> Result<(), TransportError> {
        if self.sequence >= self.records_per_key {
            // `update_not_requested`: the peer counts its own records.
            let message = [KEY_UPDATE, 0, 0, 1, 0];
            self.seal(ContentType::Handshake, [&message, &[]])?;
            let secrets = (self.next_key)().map_err(tls_fault)?;
            self.sealer = Sealer::new(self.suite, secrets, self.by)?;
            self.sequence = 0;
        }
        self.seal(ContentType::ApplicationData, pieces)
    }

    fn write_sealed(&mut self) -> Result<(), TransportError> {
        const PARTS: usize = 2 * (RECORDS_PER_MESSAGE + 1);
        let mut parts = [IoSlice::new(&[]); PARTS];
        let sealed = [self.sealed.buffered()].into_iter();
        let sealed = sealed.chain(self.sealed.records.iter().map(Vec::as_slice));
        let mut count = 0;
        for record in sealed.filter(|record| !record.is_empty()) {
            // A message fits in its records and as many key updates.
            parts[count] = IoSlice::new(record);
            count += 1;
            self.wire_bytes += record.len() as u64;
        }
        write_all_parts(&mut self.stream, &mut parts[..count])?;
        self.sealed.clear();
        Ok(())
    }
}

impl Sink for TlsSink {
    fn write(&mut self, header: &[u8], payload: &[u8]) -> Result<(), TransportError> {
        let first = payload.len().min(TLS_PLAIN_BYTES_MAX - header.len());
        let (with_header, rest) = payload.split_at(first);
        self.seal_data([header, with_header])?;
        for piece in rest.chunks(TLS_PLAIN_BYTES_MAX) {
            self.seal_data([piece, &[]])?;
        }
        self.write_sealed()
    }

    fn close(&mut self) -> Result<(), TransportError> {
        const WARNING: u8 = 1;
        self.seal(ContentType::Alert, [&[WARNING, CLOSE_NOTIFY], &[]])?;
        self.write_sealed()?;
        Ok(self.stream.shutdown(Shutdown::Write)?)
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

/// The receiving half of a TLS connection.
pub(crate) struct TlsSource {
    stream: TcpStream,
    suite: &'static Tls13CipherSuite,
    opener: Opener,
    sequence: u64,
    next_key: NextKey,
    by: By,
    /// Records as they came; `raw` of it has not been opened, `plain` is opened and not yet taken.
    buffer: Box<[u8]>,
    raw: Range<usize>,
    plain: Range<usize>,
    /// Where records are opened to that do not fit where they are wanted.
    opened: Box<[u8]>,
    plain_is_opened: bool,
    closed: bool,
    wire_bytes: u64,
}

impl TlsSource {
    pub(crate) fn new(
        stream: TcpStream,
        suite: &'static Tls13CipherSuite,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        next_key: NextKey,
    ) -> Result<Self, TransportError> {
        let opener = Opener::new(suite, secrets, By::Fastest)?;
        let opened_bytes = if matches!(opener, Opener::Own(_)) { TLS_RECORD_BYTES_MAX } else { 0 };
        Ok(TlsSource {
            stream,
            suite,
            opener,
            opened: vec![0; opened_bytes].into_boxed_slice(),
            plain_is_opened: false,
            sequence,
            next_key,
            by: By::Fastest,
            buffer: vec![0; TLS_READ_BYTES].into_boxed_slice(),
            raw: 0..0,
            plain: 0..0,
            closed: false,
            wire_bytes: 0,
        })
    }

    /// Who opens records from the next key on.
    #[cfg(test)]
    pub(crate) fn set_by(&mut self, by: By) {
        self.by = by;
    }

    /// The length of the first record that is wholly in the buffer, header included.
    fn next_record(&self) -> Result<Option<usize>, TransportError> {
        let raw = &self.buffer[self.raw.clone()];
        let Some(header) = raw.first_chunk::<RECORD_HEADER_BYTES>() else {
            return Ok(None);
        };
        let body = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if header[0] != u8::from(ContentType::ApplicationData) {
            return Err(tls_fault("a record that is not encrypted"));
        }
        let length = RECORD_HEADER_BYTES + body;
        if length > TLS_RECORD_BYTES_MAX {
            return Err(tls_fault("a record that is too long"));
        }
        Ok((raw.len() >= length).then_some(length))
    }

    /// The body of the record of `length` bytes at the start of `raw`.
    fn body(&self, length: usize) -> Range<usize> {
        self.raw.start + RECORD_HEADER_BYTES..self.raw.start + length
    }

    /// Opens that record to `target` if it is data and fits; how many bytes that gave.
    fn open_to(
        &mut self,
        length: usize,
        target: &mut [u8],
    ) -> Result<Option<usize>, TransportError> {
        let body = &self.buffer[self.body(length)];
        let opened = self.opener.open_to(self.sequence, body, target)?;
        if opened.is_some() {
            self.raw.start += length;
            self.sequence += 1;
        }
        Ok(opened)
    }

    /// Opens that record, whatever it is.
    fn open(&mut self, length: usize) -> Result<(), TransportError> {
        let body = self.body(length);
        self.raw.start += length;
        let (sealed, opened) = (&mut self.buffer[body.clone()], &mut self.opened);
        let (typ, content, is_opened) = self.opener.open(self.sequence, sealed, opened)?;
        self.sequence += 1;
        let start = if is_opened { 0 } else { body.start };
        let content = content.start + start..content.end + start;
        let source = if is_opened { &self.opened } else { &self.buffer };
        match (typ, &source[content.clone()]) {
            (ContentType::ApplicationData, _) => {
                (self.plain, self.plain_is_opened) = (content, is_opened);
                Ok(())
            }
            (ContentType::Alert, [_, CLOSE_NOTIFY]) => {
                self.closed = true;
                Ok(())
            }
            (ContentType::Alert, [_, code]) => Err(TransportError::Alert(*code)),
            (ContentType::Handshake, [KEY_UPDATE, 0, 0, 1, 0]) => {
                let secrets = (self.next_key)().map_err(tls_fault)?;
                self.opener = Opener::new(self.suite, secrets, self.by)?;
                self.sequence = 0;
                Ok(())
            }
            _ => Err(tls_fault("a message that has no place after the handshake")),
        }
    }

    /// Moves opened bytes to `target` and returns how many.
    fn take(&mut self, target: &mut [u8]) -> usize {
        let count = self.plain.len().min(target.len());
        let taken = self.plain.start..self.plain.start + count;
        let source = if self.plain_is_opened { &self.opened } else { &self.buffer };
        target[..count].copy_from_slice(&source[taken]);
        self.plain.start += count;
        count
    }

    /// Reads more records from the network; `false` at the end of the stream.
    fn fill(&mut self) -> Result<bool, TransportError> {
        self.buffer.copy_within(self.raw.clone(), 0);
        self.raw = 0..self.raw.len();
        loop {
            match self.stream.read(&mut self.buffer[self.raw.end..]) {
                Ok(read) => {
                    self.raw.end += read;
                    self.wire_bytes += read as u64;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Source for TlsSource {
    fn read(&mut self, wanted: &mut [u8], ahead: &mut [u8]) -> Result<usize, TransportError> {
        let (mut in_wanted, mut in_ahead) = (0, 0);
        loop {
            in_wanted += self.take(&mut wanted[in_wanted..]);
            in_ahead += self.take(&mut ahead[in_ahead..]);
            let full = in_wanted == wanted.len() && in_ahead == ahead.len();
            if full || self.closed {
                return Ok(in_wanted + in_ahead);
            }
            if let Some(length) = self.next_record()? {
                match self.open_to(length, &mut wanted[in_wanted..])? {
                    Some(count) => in_wanted += count,
                    None => self.open(length)?,
                }
            } else if in_wanted + in_ahead > 0 || !self.fill()? {
                return Ok(in_wanted + in_ahead);
            }
        }
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

/// Whether an alert means that the peer's TLS refused our key (RFC 8446, section 6.2:
/// bad_certificate to certificate_unknown, unknown_ca, access_denied, certificate_required).
pub(crate) fn is_key_refusal(alert: u8) -> bool {
    matches!(alert, 42..=46 | 48 | 49 | 116)
}
