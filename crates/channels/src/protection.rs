//! Protection of TLS 1.3 records: sealing and opening them under the keys of one direction.
//!
//! Where this CPU has wide AES instructions, AES-128-GCM is our own
//! (`phineus_crypto::RecordCipher`): it uses all of them, and reads from one place and writes to
//! another, so that no byte is copied besides. Everything else is rustls' own.
//!
//! Source: RFC 8446, section 5.2 (records, associated data), 5.3 (nonces), 5.4 (padding).
//!
//! Invariant: the sequence number is the nonce; the caller never uses one twice.

use std::ops::Range;

use phineus_crypto::{Kernel, RecordCipher, TAG_BYTES, Variant};
use rustls::crypto::cipher::{
    InboundOpaqueMessage, Iv, MessageDecrypter, MessageEncrypter, Nonce, OutboundChunks,
    OutboundPlainMessage,
};
use rustls::{ConnectionTrafficSecrets, ContentType, ProtocolVersion, Tls13CipherSuite};

use crate::frame::Fault;
use crate::limits::TLS_PLAIN_BYTES_MAX;
use crate::transport::TransportError;

/// Bytes before the body of a record: type, legacy version, length.
pub(crate) const RECORD_HEADER_BYTES: usize = 5;

/// Bytes of a body besides its content: the type behind it, and the tag.
const EXPANSION_BYTES: usize = 1 + TAG_BYTES;

pub(crate) fn tls_fault(detail: impl ToString) -> TransportError {
    TransportError::Fault(Fault::Tls { detail: detail.to_string() })
}

/// Who protects records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Whoever is fastest on this CPU.
    Fastest,
    /// rustls: for tests, which compare.
    Rustls,
}

/// AES-128-GCM under the key of one direction.
pub(crate) struct Own {
    cipher: RecordCipher,
    iv: Iv,
}

impl Own {
    /// `None` where rustls is as fast, or has another cipher, or is to do it.
    fn new(secrets: &ConnectionTrafficSecrets, by: By) -> Option<Own> {
        if by == By::Rustls {
            return None;
        }
        let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else { return None };
        let kernel = Kernel::selected();
        let key = key.as_ref().try_into().ok()?;
        let iv = <[u8; 12]>::try_from(iv.as_ref()).ok()?.into();
        let cipher = (kernel.variant() >= Variant::Vaes256).then(|| RecordCipher::new(kernel, key));
        cipher.map(|cipher| Own { cipher, iv })
    }

    fn nonce(&self, sequence: u64) -> [u8; 12] {
        Nonce::new(&self.iv, sequence).0
    }

    /// Whether `body` is what the peer sent as its record number `sequence`.
    fn is_authentic(&self, sequence: u64, body: &[u8]) -> bool {
        self.cipher.is_authentic(&self.nonce(sequence), &header(body.len()), body)
    }
}

/// The header of a protected record, which is also its associated data.
fn header(body_bytes: usize) -> [u8; RECORD_HEADER_BYTES] {
    let [high, low] = (body_bytes as u16).to_be_bytes();
    [u8::from(ContentType::ApplicationData), 3, 3, high, low]
}

/// What seals records.
pub(crate) enum Sealer {
    Own(Box<Own>),
    Rustls(Box<dyn MessageEncrypter>),
}

/// Records that are ready to be sent: of our own in one buffer, of rustls in one each.
pub(crate) struct Sealed {
    buffer: Box<[u8]>,
    used: usize,
    pub(crate) records: Vec<Vec<u8>>,
}

impl Sealed {
    /// Room for records of `bytes` in all, if `sealer` needs it.
    pub(crate) fn new(sealer: &Sealer, bytes: usize, records: usize) -> Sealed {
        let bytes = if matches!(sealer, Sealer::Own(_)) { bytes } else { 0 };
        let buffer = vec![0; bytes].into_boxed_slice();
        Sealed { buffer, used: 0, records: Vec::with_capacity(records) }
    }

    /// The records in the buffer.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer[..self.used]
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.records.clear();
    }
}

impl Sealer {
    pub(crate) fn new(
        suite: &Tls13CipherSuite,
        secrets: ConnectionTrafficSecrets,
        by: By,
    ) -> Result<Sealer, TransportError> {
        use ConnectionTrafficSecrets as Secrets;
        if let Some(own) = Own::new(&secrets, by) {
            return Ok(Sealer::Own(Box::new(own)));
        }
        match secrets {
            Secrets::Aes128Gcm { key, iv }
            | Secrets::Aes256Gcm { key, iv }
            | Secrets::Chacha20Poly1305 { key, iv } => {
                Ok(Sealer::Rustls(suite.aead_alg.encrypter(key, iv)))
            }
            _ => Err(tls_fault("unknown cipher")),
        }
    }

    /// Seals a record of `pieces`, one behind the other, at most [`TLS_PLAIN_BYTES_MAX`] in all.
    pub(crate) fn seal(
        &mut self,
        typ: ContentType,
        sequence: u64,
        pieces: [&[u8]; 2],
        sealed: &mut Sealed,
    ) -> Result<(), TransportError> {
        let [first, second] = pieces;
        match self {
            Sealer::Own(own) => {
                let body_bytes = first.len() + second.len() + EXPANSION_BYTES;
                let header = header(body_bytes);
                let record = &mut sealed.buffer[sealed.used..][..header.len() + body_bytes];
                let (start, body) = record.split_at_mut(header.len());
                start.copy_from_slice(&header);
                let pieces = [first, second, &[u8::from(typ)]];
                own.cipher.seal(&own.nonce(sequence), &header, &pieces, body);
                sealed.used += header.len() + body_bytes;
            }
            Sealer::Rustls(encrypter) => {
                let payload = OutboundChunks::new(&pieces);
                let plain =
                    OutboundPlainMessage { typ, version: ProtocolVersion::TLSv1_2, payload };
                let record = encrypter.encrypt(plain, sequence).map_err(tls_fault)?;
                sealed.records.push(record.encode());
            }
        }
        Ok(())
    }
}

/// What opens records.
pub(crate) enum Opener {
    Own(Box<Own>),
    Rustls(Box<dyn MessageDecrypter>),
}

impl Opener {
    pub(crate) fn new(
        suite: &Tls13CipherSuite,
        secrets: ConnectionTrafficSecrets,
        by: By,
    ) -> Result<Opener, TransportError> {
        use ConnectionTrafficSecrets as Secrets;
        if let Some(own) = Own::new(&secrets, by) {
            return Ok(Opener::Own(Box::new(own)));
        }
        match secrets {
            Secrets::Aes128Gcm { key, iv }
            | Secrets::Aes256Gcm { key, iv }
            | Secrets::Chacha20Poly1305 { key, iv } => {
                Ok(Opener::Rustls(suite.aead_alg.decrypter(key, iv)))
            }
            _ => Err(tls_fault("unknown cipher")),
        }
    }

    /// Opens a record of data straight to the front of `target`, and returns how many bytes:
    /// `None`, and nothing is done, if it has no room there, is no data, or is rustls' to open.
    pub(crate) fn open_to(
        &self,
        sequence: u64,
        body: &[u8],
        target: &mut [u8],
    ) -> Result<Option<usize>, TransportError> {
        let Opener::Own(own) = self else { return Ok(None) };
        let length = body.len().saturating_sub(EXPANSION_BYTES);
        if length == 0 || length > target.len().min(TLS_PLAIN_BYTES_MAX) {
            return Ok(None);
        }
        if !own.is_authentic(sequence, body) {
            return Err(tls_fault("cannot decrypt peer's message"));
        }
        // The type is the last byte, unless there is padding behind it.
        let nonce = own.nonce(sequence);
        let from = length / 16 * 16;
        let mut end = [0; 16];
        own.cipher.apply(&nonce, from, &body[from..=length], &mut end[..=length - from]);
        if end[length - from] != u8::from(ContentType::ApplicationData) {
            return Ok(None);
        }
        own.cipher.apply(&nonce, 0, &body[..length], &mut target[..length]);
        Ok(Some(length))
    }

    /// Opens a record in place or to `opened`; its type, where its content is, and whether that is
    /// in `opened`.
    pub(crate) fn open(
        &mut self,
        sequence: u64,
        body: &mut [u8],
        opened: &mut [u8],
    ) -> Result<(ContentType, Range<usize>, bool), TransportError> {
        match self {
            Opener::Own(own) => {
                if !own.is_authentic(sequence, body) {
                    return Err(tls_fault("cannot decrypt peer's message"));
                }
                let length = body.len() - TAG_BYTES;
                let inner = &mut opened[..length];
                own.cipher.apply(&own.nonce(sequence), 0, &body[..length], inner);
                let content = inner.iter().rposition(|byte| *byte != 0);
                let content = content.ok_or_else(|| tls_fault("a record without a type"))?;
                if content > TLS_PLAIN_BYTES_MAX {
                    return Err(tls_fault("a record that is too long"));
                }
                Ok((ContentType::from(inner[content]), 0..content, true))
            }
            Opener::Rustls(decrypter) => {
                let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
                let sealed = InboundOpaqueMessage::new(typ, version, body);
                let message = decrypter.decrypt(sealed, sequence).map_err(tls_fault)?;
                // Opened in place: the plaintext starts where the sealed body started.
                Ok((message.typ, 0..message.payload.len(), false))
            }
        }
    }
}
