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
use crate::frame::{HEADER_BYTES, Header, Kind, parse_header};
use crate::gathering::{Attempt, Gathering};
use crate::mesh::{MeshSettings, Security};
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
pub enum Manner {
    /// TLS over TCP.
    Tls = 16,
    /// TCP alone, inside one machine.
    Plain = 17,
    /// QUIC.
    Quic = 18,
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Manner::Tls => "TLS over TCP",
            Manner::Plain => "without TLS (`--plain`)",
            Manner::Quic => "QUIC",
        })
    }
}

impl Manner {
    /// How the party of these settings speaks.
    pub(crate) fn of(settings: &MeshSettings<'_>) -> Manner {
        match (settings.cluster.transport(), settings.security) {
            (Transport::Quic, _) => Manner::Quic,
            (Transport::Tcp, Security::Tls { .. }) => Manner::Tls,
            (Transport::Tcp, Security::Plain(_)) => Manner::Plain,
        }
    }

    /// Round trips until a connection stands: for TCP, TLS 1.3 (RFC 8446, figure 1) and the hello with
    /// its answer; QUIC's handshake (RFC 9001, figure 1) is that of TCP and TLS in one.
    pub const fn round_trips(self) -> u32 {
        match self {
            Manner::Tls => 3,
            Manner::Plain | Manner::Quic => 2,
        }
    }

    /// The manner with this code, which stands where an abort has its reason.
    pub(crate) fn from_code(code: u8) -> Option<Manner> {
        [Manner::Tls, Manner::Plain, Manner::Quic].into_iter().find(|known| *known as u8 == code)
    }

    fn notice(self) -> [u8; NOTICE_BYTES] {
        let header = Header { kind: Kind::Abort, length: 1, session: 0, stream: 0, sequence: 0 };
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
pub(crate) fn first(stream: &TcpStream, deadline: Instant) -> io::Result<Option<Manner>> {
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
            [22, 3, ..] => return Ok(Some(Manner::Tls)),
            [b'P', b'H', _, kind] if *kind == Kind::Abort as u8 => return heard(stream, deadline),
            [b'P', b'H', _, _] => return Ok(Some(Manner::Plain)),
            [22 | b'P'] | [b'P', b'H', ..] => thread::sleep(LOOK_PAUSE),
            _ => return Ok(None),
        }
    }
}

/// Reads a notice, which must be there by `deadline`.
fn heard(stream: &TcpStream, deadline: Instant) -> io::Result<Option<Manner>> {
    let mut bytes = [0; NOTICE_BYTES];
    read_all(stream, deadline, &mut bytes)?;
    let header = parse_header(&bytes);
    let is_notice = header.is_ok_and(|it| it.kind == Kind::Abort && it.session == 0);
    Ok(Manner::from_code(bytes[HEADER_BYTES]).filter(|_| is_notice))
}

/// Result of meeting another transport, at a dialled party or at somebody who dialled.
pub(crate) fn met(gathering: &Gathering<'_>, dialled: Option<usize>, theirs: Manner) -> Attempt {
    let ours = Manner::of(gathering.settings);
    if theirs == ours {
        return Attempt::Again(format!("{theirs} comes through only in part"));
    }
    let party = match dialled {
        Some(party) => gathering.name(party).to_owned(),
        None => format!("somebody, most likely {},", gathering.awaited()),
    };
    refused(dialled, ChannelError::OtherManner { party, theirs, ours })
}

/// Over QUIC: answers those who come to the TCP port of the same number.
pub(crate) fn keep_door(gathering: &Gathering<'_>, address: SocketAddr) {
    // Another program may have that port: then nobody is told.
    let Ok(listener) = TcpListener::bind(address) else { return };
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !gathering.is_over() {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let Some(number) = gathering.begin_attempt(&stream) else { continue };
        let answered = answer_at_door(gathering, &stream);
        gathering.end_attempt(number);
        match answered {
            Ok(Some(theirs)) if theirs != Manner::Quic => {
                gathering.settle(None, met(gathering, None, theirs));
            }
            Ok(_) | Err(_) => {}
        }
    }
}

fn answer_at_door(gathering: &Gathering<'_>, stream: &TcpStream) -> io::Result<Option<Manner>> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(ASK_TIME_MAX))?;
    let theirs = first(stream, Instant::now() + ASK_TIME_MAX)?;
    if theirs.is_some() {
        Manner::Quic.tell(stream);
        hang_up(stream, gathering.settings.timeouts.farewell);
    }
    Ok(theirs)
}

/// Over QUIC: asks at the TCP port of a party that does not answer how it speaks.
pub(crate) fn ask(gathering: &Gathering<'_>, party: usize) {
    while !gathering.is_over() {
        gathering.rest(ASK_PAUSE);
        if gathering.missing_streams(party).is_empty() {
            continue;
        }
        let Ok(addresses) = addresses(gathering, party) else { continue };
        for address in addresses {
            if let Some(theirs) = answer_of(gathering, &address) {
                gathering.settle(Some(party), met(gathering, Some(party), theirs));
            }
        }
    }
}

/// Answer to a connection from `address`; `None` if no more connections are wanted.
fn answer_of(gathering: &Gathering<'_>, address: &SocketAddr) -> Option<Manner> {
    if gathering.is_over() {
        return None;
    }
    let stream = TcpStream::connect_timeout(address, ASK_TIME_MAX).ok()?;
    // The end of all attempts ends this one, too.
    let number = gathering.begin_attempt(&stream)?;
    Manner::Quic.tell(&stream);
    let answered = first(&stream, Instant::now() + ASK_TIME_MAX);
    gathering.end_attempt(number);
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
            let notice = Manner::Tls.notice();
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
        for manner in [Manner::Tls, Manner::Plain, Manner::Quic] {
            let bytes = manner.notice();
            let header = parse_header(&bytes).expect("a message");
            assert_eq!((header.kind, header.length, header.session), (Kind::Abort, 1, 0));
            assert_eq!(Manner::from_code(bytes[HEADER_BYTES]), Some(manner));
        }
    }
}
