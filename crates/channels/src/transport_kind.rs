//! Transport of a party (TLS or nothing over TCP, or QUIC), and the notice to a peer that speaks
//! another one.
//!
//! Who finds at its TCP port bytes of another manner answers with a *notice*, an abort message of
//! session 0 outside TLS that says how this party speaks, so that the dialler knows at once. Over
//! QUIC a party keeps the TCP port of the same number for that alone, and a dialler that QUIC gives
//! no answer asks there.
//!
//! Cost: 25 bytes, only where a session would not come about. A notice proves nothing: like a wrong
//! key it ends the wait of the one who dialled, and to the other one it is only said.

use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::cluster::Transport;
use crate::mesh::{ConnectionSecurity, MeshSettings};
use crate::mesh_setup::{AttemptFailure, MeshSetup};
use crate::message::{HEADER_BYTES, MessageHeader, MessageKind, parse_header};
use crate::tcp::{ACCEPT_PAUSE, addresses, hang_up, refused};
use crate::tls::read_all;

/// How long a party over QUIC is left alone before its TCP port is asked, and between two questions:
/// longer than a handshake takes, so that where all is well nothing is asked.
const ASK_PAUSE: Duration = Duration::from_secs(2);

/// How long a connection to ask on may take, and then the answer: a party that all have met waits
/// so long at most for a question that is under way.
const ASK_TIME_MAX: Duration = Duration::from_millis(500);

/// How often more bytes are looked for where the first ones do not suffice.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

const NOTICE_BYTES: usize = HEADER_BYTES + 1;

/// How a party speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TransportKind {
    /// TLS over TCP.
    Tls = 16,
    /// TCP alone, inside one machine.
    Plain = 17,
    /// QUIC.
    Quic = 18,
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TransportKind::Tls => "TLS over TCP",
            TransportKind::Plain => "without TLS (`--plain`)",
            TransportKind::Quic => "QUIC",
        })
    }
}

impl TransportKind {
    /// How the party of these settings speaks.
    pub(crate) fn of(settings: &MeshSettings<'_>) -> TransportKind {
        match (settings.cluster.transport(), settings.security) {
            (Transport::Quic, _) => TransportKind::Quic,
            (Transport::Tcp, ConnectionSecurity::Tls { .. }) => TransportKind::Tls,
            (Transport::Tcp, ConnectionSecurity::Plain(_)) => TransportKind::Plain,
        }
    }

    /// Round trips until a connection stands: for TCP, TLS 1.3 (RFC 8446, figure 1) and the hello with
    /// its answer; QUIC's handshake (RFC 9001, figure 1) is that of TCP and TLS in one.
    pub const fn round_trips(self) -> u32 {
        match self {
            TransportKind::Tls => 3,
            TransportKind::Plain | TransportKind::Quic => 2,
        }
    }

    /// The kind with this code, which stands where an abort has its reason.
    pub(crate) fn from_code(code: u8) -> Option<TransportKind> {
        [TransportKind::Tls, TransportKind::Plain, TransportKind::Quic]
            .into_iter()
            .find(|known| *known as u8 == code)
    }

    fn notice(self) -> [u8; NOTICE_BYTES] {
        let header = MessageHeader {
            kind: MessageKind::Abort,
            length: 1,
            session: 0,
            stream: 0,
            sequence: 0,
        };
        let mut bytes = [self as u8; NOTICE_BYTES];
        bytes[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        bytes
    }

    /// Tells the other end how this party speaks.
    pub(crate) fn tell(self, mut stream: &TcpStream) {
        // It may be gone already, or never have been one of us.
        let _ = stream.write_all(&self.notice());
    }
}

/// How the other end speaks, by the first bytes that it sends: they are looked at and stay unread,
/// but for a notice. Nothing if they say nothing, or none come by `deadline`.
pub(crate) fn first(stream: &TcpStream, deadline: Instant) -> io::Result<Option<TransportKind>> {
    let mut beginning = [0; 4];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left == Duration::ZERO {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        let seen = stream.peek(&mut beginning)?;
        match &beginning[..seen] {
            // A TLS record of a handshake (RFC 8446, section 5.1).
            [22, 3, ..] => return Ok(Some(TransportKind::Tls)),
            [b'P', b'H', _, kind] if *kind == MessageKind::Abort as u8 => {
                return heard(stream, deadline);
            }
            [b'P', b'H', _, _] => return Ok(Some(TransportKind::Plain)),
            [22 | b'P'] | [b'P', b'H', ..] => thread::sleep(LOOK_PAUSE),
            _ => return Ok(None),
        }
    }
}

/// Reads a notice, which must be there by `deadline`.
fn heard(stream: &TcpStream, deadline: Instant) -> io::Result<Option<TransportKind>> {
    let mut bytes = [0; NOTICE_BYTES];
    read_all(stream, deadline, &mut bytes)?;
    let header = parse_header(&bytes);
    let is_notice = header.is_ok_and(|it| it.kind == MessageKind::Abort && it.session == 0);
    Ok(TransportKind::from_code(bytes[HEADER_BYTES]).filter(|_| is_notice))
}

/// Result of meeting another transport, at a dialled party or at somebody who dialled.
pub(crate) fn met(
    setup: &MeshSetup<'_>,
    dialled: Option<usize>,
    theirs: TransportKind,
) -> AttemptFailure {
    let ours = TransportKind::of(setup.settings);
    if theirs == ours {
        return AttemptFailure::Again(format!("{theirs} comes through only in part"));
    }
    let party = match dialled {
        Some(party) => setup.name(party).to_owned(),
        None => format!("somebody, most likely {},", setup.awaited()),
    };
    refused(dialled, ChannelError::OtherManner { party, theirs, ours })
}

/// Over QUIC: answers those who come to the TCP port of the same number.
pub(crate) fn keep_door(setup: &MeshSetup<'_>, address: SocketAddr) {
    // Another program may have that port: then nobody is told.
    let Ok(listener) = TcpListener::bind(address) else { return };
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !setup.is_over() {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let Some(number) = setup.begin_attempt(&stream) else { continue };
        let answered = answer_at_door(setup, &stream);
        setup.end_attempt(number);
        match answered {
            Ok(Some(theirs)) if theirs != TransportKind::Quic => {
                setup.settle(None, met(setup, None, theirs));
            }
            Ok(_) | Err(_) => {}
        }
    }
}

fn answer_at_door(setup: &MeshSetup<'_>, stream: &TcpStream) -> io::Result<Option<TransportKind>> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(ASK_TIME_MAX))?;
    let theirs = first(stream, Instant::now() + ASK_TIME_MAX)?;
    if theirs.is_some() {
        TransportKind::Quic.tell(stream);
        hang_up(stream, setup.settings.timeouts.farewell);
    }
    Ok(theirs)
}

/// Over QUIC: asks at the TCP port of a party that does not answer how it speaks.
pub(crate) fn ask(setup: &MeshSetup<'_>, party: usize) {
    while !setup.is_over() {
        setup.rest(ASK_PAUSE);
        if setup.missing_streams(party).is_empty() {
            continue;
        }
        let Ok(addresses) = addresses(setup, party) else { continue };
        for address in addresses {
            if let Some(theirs) = answer_of(setup, &address) {
                setup.settle(Some(party), met(setup, Some(party), theirs));
            }
        }
    }
}

/// Answer to a connection from `address`; `None` if no more connections are wanted.
fn answer_of(setup: &MeshSetup<'_>, address: &SocketAddr) -> Option<TransportKind> {
    if setup.is_over() {
        return None;
    }
    let stream = TcpStream::connect_timeout(address, ASK_TIME_MAX).ok()?;
    // The end of all attempts ends this one, too.
    let number = setup.begin_attempt(&stream)?;
    TransportKind::Quic.tell(&stream);
    let answered = first(&stream, Instant::now() + ASK_TIME_MAX);
    setup.end_attempt(number);
    answered.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever sends a notice byte by byte, each long before time is up, gets no more time for it.
    #[test]
    fn a_notice_that_drips_in_comes_too_late() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut dialled = TcpStream::connect(listener.local_addr()?)?;
        let (accepted, _) = listener.accept()?;
        let dripping = thread::spawn(move || {
            let notice = TransportKind::Tls.notice();
            dialled.write_all(&notice[..4])?;
            notice[4..].iter().try_for_each(|byte| {
                thread::sleep(Duration::from_millis(50));
                dialled.write_all(&[*byte])
            })
        });
        let heard = first(&accepted, Instant::now() + Duration::from_millis(300));
        let kind = heard.expect_err("twenty-one bytes take more than a second").kind();
        assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{kind}");
        drop(accepted);
        // The other end may have gone in the middle of it.
        let _ = dripping.join().expect("it only writes");
        Ok(())
    }

    #[test]
    fn a_notice_is_a_message() {
        for manner in [TransportKind::Tls, TransportKind::Plain, TransportKind::Quic] {
            let bytes = manner.notice();
            let header = parse_header(&bytes).expect("a message");
            assert_eq!((header.kind, header.length, header.session), (MessageKind::Abort, 1, 0));
            assert_eq!(TransportKind::from_code(bytes[HEADER_BYTES]), Some(manner));
        }
    }
}
