//! The messages on the wire: a fixed header, then the payload.
//!
//! ```text
//! offset  bytes  field     meaning (all integers little-endian)
//!      0      2  magic     0x50 0x48 ("PH")
//!      2      1  version   of this framing: 2
//!      3      1  kind      see [`MessageKind`]
//!      4      4  length    payload bytes after the header; the bounds depend on the kind
//!      8      8  session   0 in a hello; after it, the same random number in both directions
//!     16      2  stream    which of the streams between the two parties
//!     18      6  sequence  messages of this session sent earlier in this direction, without the hello
//! ```
//!
//! | kind | name | payload | when |
//! |---|---|---|---|
//! | 1 | data | 1 to [`BUFFER_BYTES`] bytes of the stream | any time after the hello |
//! | 2 | hello | see `hello.rs` | first message in each direction, exactly once |
//! | 3 | agreement | 0 to [`CONTROL_BYTES_MAX`] bytes | both sides, at one point of the stream |
//! | 4 | keep-alive | none | when nothing was sent for 15 s |
//! | 5 | abort | [`AbortReason`], the party at fault if known | last of a party that failed |
//! | 6 | bye | none | last message of a party that is done |
//!
//! Session, stream and sequence say where a message belongs, so that it may come over any transport
//! in any order (`reorder.rs`). A message that breaks a rule ends the session with one
//! [`MessageError`]. The payload is never interpreted here, and no length is believed before it was
//! checked against its bound.

use crate::limits::{BUFFER_BYTES, CONTROL_BYTES_MAX};
use crate::names::NAME_BYTES_MAX;

/// Bytes of a message header.
pub const HEADER_BYTES: usize = 24;

/// Version of the framing, in every header.
pub const FRAME_VERSION: u8 = 2;

/// Sequence numbers have 48 bits: at a million messages a second they last nine years.
pub(crate) const SEQUENCE_END: u64 = 1 << 48;

const MAGIC: [u8; 2] = *b"PH";

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MessageKind {
    /// A piece of the byte stream.
    Data = 1,
    /// Who speaks, and in which version.
    Hello = 2,
    /// A small message outside the byte stream, exchanged by both sides.
    Agreement = 3,
    /// "I am still here."
    KeepAlive = 4,
    /// "I failed", with a coarse reason.
    Abort = 5,
    /// "I am done."
    Bye = 6,
}

impl MessageKind {
    /// The shortest and the longest payload of this kind.
    fn length_bounds(self) -> (usize, usize) {
        match self {
            MessageKind::Data => (1, BUFFER_BYTES),
            MessageKind::Hello | MessageKind::Agreement => (0, CONTROL_BYTES_MAX),
            MessageKind::KeepAlive | MessageKind::Bye => (0, 0),
            MessageKind::Abort => (1, 1 + NAME_BYTES_MAX),
        }
    }
}

impl std::fmt::Display for MessageKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            MessageKind::Data => "data",
            MessageKind::Hello => "hello",
            MessageKind::Agreement => "agreement",
            MessageKind::KeepAlive => "keep-alive",
            MessageKind::Abort => "abort",
            MessageKind::Bye => "bye",
        })
    }
}

/// A message header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// Kind of the message.
    pub kind: MessageKind,
    /// Payload bytes that follow.
    pub length: u32,
    /// The session both parties agreed on in their hellos.
    pub session: u64,
    /// Which of the streams between the two parties.
    pub stream: u16,
    /// Messages of the session that were sent earlier in this direction; below 2^48.
    pub sequence: u64,
}

impl MessageHeader {
    /// The header as it goes over the wire.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..2].copy_from_slice(&MAGIC);
        bytes[2] = FRAME_VERSION;
        bytes[3] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.session.to_le_bytes());
        assert!(self.sequence < SEQUENCE_END, "no session has that many messages");
        let place = self.sequence << 16 | u64::from(self.stream);
        bytes[16..24].copy_from_slice(&place.to_le_bytes());
        bytes
    }
}

/// Reads a header from the first [`HEADER_BYTES`] of `bytes`.
///
/// Total: any input gives a header whose length is within the bounds of its kind, or a fault.
pub fn parse_header(bytes: &[u8]) -> Result<MessageHeader, MessageError> {
    let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(MessageError::Truncated);
    };
    if bytes[0..2] != MAGIC {
        return Err(MessageError::NotPhineus);
    }
    if bytes[2] != FRAME_VERSION {
        return Err(MessageError::FrameVersion { version: bytes[2] });
    }
    let kind = match bytes[3] {
        1 => MessageKind::Data,
        2 => MessageKind::Hello,
        3 => MessageKind::Agreement,
        4 => MessageKind::KeepAlive,
        5 => MessageKind::Abort,
        6 => MessageKind::Bye,
        code => return Err(MessageError::UnknownKind { code }),
    };
    let word =
        |at: usize| -> [u8; 8] { bytes[at..at + 8].try_into().expect("the slice has eight bytes") };
    let length = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    let (shortest, longest) = kind.length_bounds();
    if !(shortest..=longest).contains(&(length as usize)) {
        return Err(MessageError::Length { kind, length });
    }
    let (session, place) = (u64::from_le_bytes(word(8)), u64::from_le_bytes(word(16)));
    let (stream, sequence) = (place as u16, place >> 16);
    Ok(MessageHeader { kind, length, session, stream, sequence })
}

/// Why a party gave up, as it tells its peer. Deliberately coarse: it never says which check of a
/// protocol failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum AbortReason {
    /// Something failed at that party.
    Failed = 1,
    /// The user at that party stopped the run.
    Interrupted = 2,
    /// That party says the other one broke the protocol.
    Misbehaved = 3,
    /// The parties want to run different things.
    Disagreement = 4,
    /// That party lost another one, which it names.
    Lost = 5,
}

impl AbortReason {
    /// The reason with this code; an unknown code is just a failure.
    pub(crate) fn from_code(code: u8) -> Self {
        match code {
            2 => AbortReason::Interrupted,
            3 => AbortReason::Misbehaved,
            4 => AbortReason::Disagreement,
            5 => AbortReason::Lost,
            _ => AbortReason::Failed,
        }
    }
}

impl std::fmt::Display for AbortReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AbortReason::Failed => "an error there",
            AbortReason::Interrupted => "interrupted by its user",
            AbortReason::Misbehaved => "it says that this party broke the protocol",
            AbortReason::Disagreement => "the parties want to run different things",
            AbortReason::Lost => "it lost another party",
        })
    }
}

/// Faults in bytes that came from a peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Fewer bytes than a header.
    #[error("a message shorter than its header")]
    Truncated,
    /// The magic bytes are missing.
    #[error("bytes that are not Phineus messages")]
    NotPhineus,
    /// Framed by another version of Phineus.
    #[error("messages of framing version {version}, this is version {FRAME_VERSION}")]
    FrameVersion {
        /// The version in the header.
        version: u8,
    },
    /// A kind that does not exist.
    #[error("a message of the unknown kind {code}")]
    UnknownKind {
        /// The code in the header.
        code: u8,
    },
    /// A length out of bounds.
    #[error("a message of kind {kind} and {length} bytes, which is out of bounds")]
    Length {
        /// The kind of message.
        kind: MessageKind,
        /// The length in the header.
        length: u32,
    },
    /// A message of another session.
    #[error("a message of another session")]
    Session,
    /// A message of another stream.
    #[error("a message of stream {found} in stream {expected}")]
    Stream {
        /// The stream of this channel.
        expected: u16,
        /// Value in the header.
        found: u16,
    },
    /// A message is missing, repeated, or too far ahead of one that is missing.
    #[error("message {found} of the stream where message {expected} comes next")]
    Sequence {
        /// Where the stream stands.
        expected: u64,
        /// Value in the header.
        found: u64,
    },
    /// The content of an abort cannot be read.
    #[error("an abort that cannot be read")]
    Abort,
    /// The right kind of message at the wrong time.
    #[error("a message of kind {found} where one of kind {expected} belongs")]
    Order {
        /// Kind of message that is valid there.
        expected: MessageKind,
        /// Kind of message that arrived.
        found: MessageKind,
    },
    /// The content of a hello cannot be read.
    #[error("a hello that cannot be read")]
    Hello,
    /// The TLS layer refused what came.
    #[error("bytes that TLS refuses ({detail})")]
    Tls {
        /// Error text of the TLS layer.
        detail: String,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [MessageKind; 6] = [
        MessageKind::Data,
        MessageKind::Hello,
        MessageKind::Agreement,
        MessageKind::KeepAlive,
        MessageKind::Abort,
        MessageKind::Bye,
    ];

    #[test]
    fn the_bytes_of_a_header_are_these() {
        let (kind, sequence) = (MessageKind::Data, 1 << 40 | 7);
        let header = MessageHeader { kind, length: 0x0102, session: 3, stream: 0x0405, sequence };
        let expected =
            [0x50, 0x48, 2, 1, 2, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 4, 7, 0, 0, 0, 0, 1];
        assert_eq!(header.to_bytes(), expected);
    }

    proptest! {
        #[test]
        fn any_header_survives_the_wire(
            kind in prop::sample::select(&KINDS[..]),
            fraction in 0.0..=1.0f64,
            session: u64,
            stream: u16,
            sequence in 0..SEQUENCE_END,
        ) {
            let (shortest, longest) = kind.length_bounds();
            let length = shortest as u32 + ((longest - shortest) as f64 * fraction) as u32;
            let header = MessageHeader { kind, length, session, stream, sequence };
            prop_assert_eq!(parse_header(&header.to_bytes()), Ok(header));
        }

        #[test]
        fn random_bytes_give_a_bounded_header_or_a_fault(bytes: Vec<u8>) {
            if let Ok(header) = parse_header(&bytes) {
                prop_assert!(header.length as usize <= BUFFER_BYTES);
            }
        }

        #[test]
        fn nearly_right_bytes_give_a_bounded_header_or_a_fault(
            kind in prop::sample::select(&KINDS[..]),
            at in 0..HEADER_BYTES,
            value: u8,
            keep in 0..=HEADER_BYTES,
        ) {
            let length = kind.length_bounds().0 as u32;
            let header = MessageHeader { kind, length, session: 9, stream: 1, sequence: 9 };
            let mut bytes = header.to_bytes();
            bytes[at] = value;
            match parse_header(&bytes[..keep]) {
                Ok(read) => {
                    prop_assert_eq!(keep, HEADER_BYTES);
                    prop_assert!(read.length as usize <= BUFFER_BYTES);
                    prop_assert_eq!(read.to_bytes(), bytes);
                }
                Err(fault) => prop_assert!(keep < HEADER_BYTES || at < 8, "{}", fault),
            }
        }
    }
}
