//! The first message in each direction: who speaks, in which version, to whom.
//!
//! ```text
//! offset  bytes  field (integers little-endian)
//!      0      8  "PHINEUS\0"
//!      8      2  protocol version
//!     10     16  nonce: random, one per connection and party
//!     26      2  length of the next field, then that many bytes of UTF-8: program version
//!      .      2  length, then name of the sender
//!      .      2  length, then name of the party the sender means to talk to; in an answer that
//!                refuses an unknown sender: the names of those it waits for
//!      .      2  length, then what the sender was asked to run, in words for people
//!      .     16  instance: random, one per run of a party
//!      .      2  parties of the computation
//!      .      2  streams between each two parties
//!      .      2  the stream that this connection carries
//!      .      1  verdict: see [`HelloVerdict`]; 0 in the hello of the party that dialled
//! ```
//!
//! The party that dialled speaks first; the answer says whether it is welcome. The session number
//! is the first eight bytes of SHA-256 over the nonce of the party that listened and the nonce of
//! the party that dialled. It keeps connections apart; what protects them is TLS.

use sha2::{Digest, Sha256};

use crate::cluster::PARTIES_MAX;
use crate::limits::CONTROL_BYTES_MAX;
use crate::message::MessageError;
use crate::names::NAME_BYTES_MAX;

/// Version of the protocols spoken over a channel; parties must have the same.
pub const PROTOCOL_VERSION: u16 = 9;

const MAGIC: &[u8; 8] = b"PHINEUS\0";
const NONCE_BYTES: usize = 16;
const PROGRAM_VERSION_BYTES_MAX: usize = 256;
const PURPOSE_BYTES_MAX: usize = 256;

/// The names of all the parties that there can be, with commas.
const RECEIVERS_BYTES_MAX: usize = PARTIES_MAX * (NAME_BYTES_MAX + 2);
const _: () = assert!(RECEIVERS_BYTES_MAX <= CONTROL_BYTES_MAX / 2);

/// A random number, one per party and connection.
pub(crate) type Nonce = [u8; NONCE_BYTES];

/// The content of a hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) protocol_version: u16,
    pub(crate) nonce: Nonce,
    pub(crate) program_version: String,
    pub(crate) sender: String,
    pub(crate) receiver: String,
    pub(crate) purpose: String,
    pub(crate) instance: Nonce,
    pub(crate) parties: u16,
    pub(crate) streams: u16,
    pub(crate) stream: u16,
    pub(crate) verdict: HelloVerdict,
}

/// Answer of a party that was dialled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum HelloVerdict {
    /// The connection stands, unless versions or numbers of parties or streams differ.
    #[default]
    Welcome = 0,
    /// No such party belongs here.
    Unknown = 1,
    /// The dialler meant another party.
    NotMe = 2,
    /// Another process is here under that name.
    Twice = 3,
    /// That key is trusted for another name.
    OtherKey = 4,
}

impl HelloVerdict {
    fn from_code(code: u8) -> Option<HelloVerdict> {
        Some(match code {
            0 => HelloVerdict::Welcome,
            1 => HelloVerdict::Unknown,
            2 => HelloVerdict::NotMe,
            3 => HelloVerdict::Twice,
            4 => HelloVerdict::OtherKey,
            _ => return None,
        })
    }
}

impl Hello {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.protocol_version.to_le_bytes());
        bytes.extend(self.nonce);
        for text in [&self.program_version, &self.sender, &self.receiver, &self.purpose] {
            let length = u16::try_from(text.len()).expect("names and versions are short");
            bytes.extend(length.to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend(self.instance);
        for number in [self.parties, self.streams, self.stream] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.push(self.verdict as u8);
        bytes
    }

    /// Reads a hello. Total: any input gives a hello with bounded, printable texts or a fault.
    ///
    /// The texts of a hello of another protocol version are empty: they may have another form.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut rest = bytes;
        if take(&mut rest, MAGIC.len())? != MAGIC {
            return Err(MessageError::Hello);
        }
        let protocol_version = take_number(&mut rest)?;
        let nonce = take(&mut rest, NONCE_BYTES)?.try_into().expect("that many were taken");
        let mut hello = Hello {
            protocol_version,
            nonce,
            program_version: String::new(),
            sender: String::new(),
            receiver: String::new(),
            purpose: String::new(),
            instance: Nonce::default(),
            parties: 0,
            streams: 0,
            stream: 0,
            verdict: HelloVerdict::Welcome,
        };
        if protocol_version != PROTOCOL_VERSION {
            hello.program_version = take_text(&mut rest, PROGRAM_VERSION_BYTES_MAX)
                .unwrap_or_else(|_| "unknown".to_owned());
            return Ok(hello);
        }
        hello.program_version = take_text(&mut rest, PROGRAM_VERSION_BYTES_MAX)?;
        hello.sender = take_text(&mut rest, NAME_BYTES_MAX)?;
        hello.receiver = take_text(&mut rest, RECEIVERS_BYTES_MAX)?;
        hello.purpose = take_text(&mut rest, PURPOSE_BYTES_MAX)?;
        hello.instance = take(&mut rest, NONCE_BYTES)?.try_into().expect("that many were taken");
        for number in [&mut hello.parties, &mut hello.streams, &mut hello.stream] {
            *number = take_number(&mut rest)?;
        }
        hello.verdict =
            HelloVerdict::from_code(take(&mut rest, 1)?[0]).ok_or(MessageError::Hello)?;
        if rest.is_empty() { Ok(hello) } else { Err(MessageError::Hello) }
    }
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], MessageError> {
    let (taken, left) = rest.split_at_checked(count).ok_or(MessageError::Hello)?;
    *rest = left;
    Ok(taken)
}

fn take_number(rest: &mut &[u8]) -> Result<u16, MessageError> {
    let bytes = take(rest, 2)?.try_into().expect("two bytes were taken");
    Ok(u16::from_le_bytes(bytes))
}

/// Takes a text that can be shown: bounded, UTF-8, nothing that steers a terminal.
fn take_text(rest: &mut &[u8], bytes_max: usize) -> Result<String, MessageError> {
    let length = usize::from(take_number(rest)?);
    if length > bytes_max {
        return Err(MessageError::Hello);
    }
    let text = std::str::from_utf8(take(rest, length)?).map_err(|_| MessageError::Hello)?;
    if text.chars().any(char::is_control) {
        return Err(MessageError::Hello);
    }
    Ok(text.to_owned())
}

/// The session number that both parties derive.
pub(crate) fn session(listener: &Nonce, dialler: &Nonce) -> u64 {
    let digest = Sha256::new().chain_update(listener).chain_update(dialler).finalize();
    u64::from_le_bytes(*digest.first_chunk().expect("a digest has 32 bytes"))
}

/// Reads a greeting, and says it again if it is one.
#[cfg(feature = "fuzzing")]
pub fn read_greeting(bytes: &[u8]) {
    if let Ok(hello) = Hello::parse(bytes)
        && hello.protocol_version == PROTOCOL_VERSION
    {
        assert!(Hello::parse(&hello.to_bytes()).is_ok_and(|again| again == hello));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Hello {
        Hello {
            protocol_version: PROTOCOL_VERSION,
            nonce: [7; NONCE_BYTES],
            program_version: "phineus 0.1.0".to_owned(),
            sender: "site_a".to_owned(),
            receiver: "site_b".to_owned(),
            purpose: "a test".to_owned(),
            instance: [8; NONCE_BYTES],
            parties: 3,
            streams: 2,
            stream: 1,
            verdict: HelloVerdict::Twice,
        }
    }

    #[test]
    fn another_version_is_read_as_far_as_possible() {
        let mut hello = sample();
        hello.protocol_version = PROTOCOL_VERSION + 1;
        let mut bytes = hello.to_bytes();
        bytes.truncate(8 + 2 + NONCE_BYTES + 2 + 5);
        let read = Hello::parse(&bytes).expect("the version is readable");
        assert_eq!(
            (read.protocol_version, read.program_version.as_str()),
            (PROTOCOL_VERSION + 1, "unknown")
        );
        let read = Hello::parse(&hello.to_bytes()).expect("the version is readable");
        assert_eq!(read.program_version, "phineus 0.1.0");
    }

    #[test]
    fn terminal_escapes_are_refused() {
        let mut hello = sample();
        hello.sender = "\u{1b}[2Jsite_a".to_owned();
        assert_eq!(Hello::parse(&hello.to_bytes()), Err(MessageError::Hello));
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood(
            nonce: Nonce,
            program_version in "[ -~]{0,64}",
            sender in "[a-z][a-z0-9_]{0,62}",
            receiver in "[a-z][a-z0-9_]{0,62}",
            purpose in "[ -~]{0,64}",
        ) {
            let hello = Hello { nonce, program_version, sender, receiver, purpose, ..sample() };
            prop_assert_eq!(Hello::parse(&hello.to_bytes()), Ok(hello));
        }

        #[test]
        fn random_bytes_are_read_or_refused(tail: Vec<u8>, at in 0usize..120, value: u8) {
            let _ = Hello::parse(&tail);
            let mut bytes = sample().to_bytes();
            let at = at % bytes.len();
            bytes[at] = value;
            bytes.extend(&tail);
            if let Ok(hello) = Hello::parse(&bytes) {
                prop_assert!(hello.sender.len() <= NAME_BYTES_MAX);
                prop_assert!(tail.is_empty() || hello.protocol_version != PROTOCOL_VERSION);
            }
        }
    }
}
