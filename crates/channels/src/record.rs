//! The TLS 1.3 record layer of an established connection, one half per thread.
//!
//! rustls makes the connection (`tls.rs`) and then hands out its traffic keys through its kernel
//! interface; the two directions have separate keys and counters, so that encryption and
//! decryption run in different threads without a lock and in the channel's own buffers. Sealing
//! and opening are rustls' own record functions; only the five-byte record header, and the choice
//! between data, alert and key update, are made here.
//!
//! Source: RFC 8446, sections 5.1-5.2 (records), 4.6.3 and 7.2 (key update), 5.5 (limits of use),
//! 6 (alerts).
//!
//! Cost: 22 bytes and one AEAD call per 16 KiB; the sender copies the plaintext once, the receiver
//! opens in place and copies once.

use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, TcpStream};

use rustls::crypto::cipher::{
    InboundOpaqueMessage, MessageDecrypter, MessageEncrypter, OutboundChunks, OutboundPlainMessage,
};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion, Tls13CipherSuite};

use crate::limits::{BUFFER_BYTES, TLS_PLAIN_BYTES_MAX, TLS_READ_BYTES, TLS_RECORD_BYTES_MAX};
use crate::message::MessageError;
use crate::transport::{ReadHalf, TransportError, WriteHalf, is_readable, write_all_parts};

/// Records sent under one key before it is replaced: half of the 2^24 that rustls allows for
/// AES-GCM, i.e. 128 GiB of full records (RFC 8446, section 5.5 allows 2^24.5).
const RECORDS_PER_KEY: u64 = 1 << 23;

/// Bytes before the body of a record: type, legacy version, length.
const RECORD_HEADER_BYTES: usize = 5;

/// Records of one message: a full buffer with its header, and one for rounding up.
const RECORDS_PER_MESSAGE: usize = BUFFER_BYTES / TLS_PLAIN_BYTES_MAX + 1;

const CLOSE_NOTIFY: u8 = 0;
const KEY_UPDATE: u8 = 24;

/// Draws the next traffic key of one direction from the connection's key schedule.
pub(crate) type NextKey =
    Box<dyn FnMut() -> Result<ConnectionTrafficSecrets, rustls::Error> + Send>;

fn tls_fault(detail: impl ToString) -> TransportError {
    TransportError::Fault(MessageError::Tls { detail: detail.to_string() })
}

fn encrypter(
    suite: &Tls13CipherSuite,
    secrets: ConnectionTrafficSecrets,
) -> Result<Box<dyn MessageEncrypter>, TransportError> {
    use ConnectionTrafficSecrets as Secrets;
    match secrets {
        Secrets::Aes128Gcm { key, iv }
        | Secrets::Aes256Gcm { key, iv }
        | Secrets::Chacha20Poly1305 { key, iv } => Ok(suite.aead_alg.encrypter(key, iv)),
        _ => Err(tls_fault("unknown cipher")),
    }
}

fn decrypter(
    suite: &Tls13CipherSuite,
    secrets: ConnectionTrafficSecrets,
) -> Result<Box<dyn MessageDecrypter>, TransportError> {
    use ConnectionTrafficSecrets as Secrets;
    match secrets {
        Secrets::Aes128Gcm { key, iv }
        | Secrets::Aes256Gcm { key, iv }
        | Secrets::Chacha20Poly1305 { key, iv } => Ok(suite.aead_alg.decrypter(key, iv)),
        _ => Err(tls_fault("unknown cipher")),
    }
}

/// The sending half of a TLS connection.
pub(crate) struct TlsWriteHalf {
    stream: TcpStream,
    suite: &'static Tls13CipherSuite,
    encrypter: Box<dyn MessageEncrypter>,
    /// Number of the next record under this key, which is also its nonce: never reused.
    sequence: u64,
    next_key: NextKey,
    records_per_key: u64,
    sealed: Vec<Vec<u8>>,
    wire_bytes: u64,
}

impl TlsWriteHalf {
    pub(crate) fn new(
        stream: TcpStream,
        suite: &'static Tls13CipherSuite,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        next_key: NextKey,
    ) -> Result<Self, TransportError> {
        Ok(TlsWriteHalf {
            stream,
            suite,
            encrypter: encrypter(suite, secrets)?,
            sequence,
            next_key,
            records_per_key: RECORDS_PER_KEY,
            sealed: Vec::with_capacity(RECORDS_PER_MESSAGE + 1),
            wire_bytes: 0,
        })
    }

    /// Replaces keys after this many records, so that a test need not send 128 GiB.
    #[cfg(test)]
    pub(crate) fn set_records_per_key(&mut self, records_per_key: u64) {
        self.records_per_key = records_per_key;
    }

    fn seal(
        &mut self,
        typ: ContentType,
        payload: OutboundChunks<'_>,
    ) -> Result<(), TransportError> {
        let plain = OutboundPlainMessage { typ, version: ProtocolVersion::TLSv1_2, payload };
        let sealed = self.encrypter.encrypt(plain, self.sequence).map_err(tls_fault)?;
        self.sequence += 1;
        self.sealed.push(sealed.encode());
        Ok(())
    }

    fn seal_data(&mut self, payload: OutboundChunks<'_>) -> Result<(), TransportError> {
        if self.sequence >= self.records_per_key {
            // `update_not_requested`: the peer counts its own records.
            let message = [KEY_UPDATE, 0, 0, 1, 0];
            self.seal(ContentType::Handshake, OutboundChunks::Single(&message))?;
            let secrets = (self.next_key)().map_err(tls_fault)?;
            self.encrypter = encrypter(self.suite, secrets)?;
            self.sequence = 0;
        }
        self.seal(ContentType::ApplicationData, payload)
    }

    fn write_sealed(&mut self) -> Result<(), TransportError> {
        const PARTS: usize = 2 * (RECORDS_PER_MESSAGE + 1);
        let mut parts = [IoSlice::new(&[]); PARTS];
        assert!(
            self.sealed.len() <= PARTS,
            "a message fits in its records and as many key updates"
        );
        for (part, record) in parts.iter_mut().zip(&self.sealed) {
            *part = IoSlice::new(record);
            self.wire_bytes += record.len() as u64;
        }
        let count = self.sealed.len();
        write_all_parts(&mut self.stream, &mut parts[..count])?;
        self.sealed.clear();
        Ok(())
    }
}

impl WriteHalf for TlsWriteHalf {
    fn write(&mut self, header: &[u8], payload: &[u8]) -> Result<(), TransportError> {
        let first = payload.len().min(TLS_PLAIN_BYTES_MAX - header.len());
        let (with_header, rest) = payload.split_at(first);
        self.seal_data(OutboundChunks::new(&[header, with_header]))?;
        for piece in rest.chunks(TLS_PLAIN_BYTES_MAX) {
            self.seal_data(OutboundChunks::Single(piece))?;
        }
        self.write_sealed()
    }

    fn close(&mut self) -> Result<(), TransportError> {
        const WARNING: u8 = 1;
        self.seal(ContentType::Alert, OutboundChunks::Single(&[WARNING, CLOSE_NOTIFY]))?;
        self.write_sealed()?;
        Ok(self.stream.shutdown(Shutdown::Write)?)
    }

    fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }
}

/// The receiving half of a TLS connection.
pub(crate) struct TlsReadHalf {
    stream: TcpStream,
    suite: &'static Tls13CipherSuite,
    decrypter: Box<dyn MessageDecrypter>,
    sequence: u64,
    next_key: NextKey,
    /// Records as they came; `raw` of it has not been opened, `plain` is opened and not yet taken.
    buffer: Box<[u8]>,
    raw: std::ops::Range<usize>,
    plain: std::ops::Range<usize>,
    closed: bool,
    wire_bytes: u64,
}

impl TlsReadHalf {
    pub(crate) fn new(
        stream: TcpStream,
        suite: &'static Tls13CipherSuite,
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        next_key: NextKey,
    ) -> Result<Self, TransportError> {
        Ok(TlsReadHalf {
            stream,
            suite,
            decrypter: decrypter(suite, secrets)?,
            sequence,
            next_key,
            buffer: vec![0; TLS_READ_BYTES].into_boxed_slice(),
            raw: 0..0,
            plain: 0..0,
            closed: false,
            wire_bytes: 0,
        })
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

    /// Opens the record of `length` bytes at the start of `raw`.
    fn open(&mut self, length: usize) -> Result<(), TransportError> {
        let body = self.raw.start + RECORD_HEADER_BYTES..self.raw.start + length;
        self.raw.start += length;
        let sealed = InboundOpaqueMessage::new(
            ContentType::ApplicationData,
            ProtocolVersion::TLSv1_2,
            &mut self.buffer[body.clone()],
        );
        let message = self.decrypter.decrypt(sealed, self.sequence).map_err(tls_fault)?;
        self.sequence += 1;
        match (message.typ, message.payload) {
            (ContentType::ApplicationData, payload) => {
                // Opened in place: the plaintext starts where the sealed body started.
                self.plain = body.start..body.start + payload.len();
                Ok(())
            }
            (ContentType::Alert, [_, CLOSE_NOTIFY]) => {
                self.closed = true;
                Ok(())
            }
            (ContentType::Alert, [_, code]) => Err(TransportError::Alert(*code)),
            (ContentType::Handshake, [KEY_UPDATE, 0, 0, 1, 0]) => {
                let secrets = (self.next_key)().map_err(tls_fault)?;
                self.decrypter = decrypter(self.suite, secrets)?;
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
        target[..count].copy_from_slice(&self.buffer[taken]);
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

impl ReadHalf for TlsReadHalf {
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
                self.open(length)?;
            } else if in_wanted + in_ahead > 0 || !self.fill()? {
                return Ok(in_wanted + in_ahead);
            }
        }
    }

    fn is_ready(&self) -> bool {
        let has_record = !self.plain.is_empty() || self.closed;
        has_record || !matches!(self.next_record(), Ok(None)) || is_readable(&self.stream)
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
