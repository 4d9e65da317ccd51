//! From a TCP connection to a session: TLS, then a hello each way.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::connect::{ConnectSettings, Security};
use crate::fingerprint::Fingerprint;
use crate::frame::{Fault, HEADER_BYTES, Header, Kind};
use crate::framed::{Connected, FramedChannel};
use crate::hello::{self, Hello, Nonce, PROTOCOL_VERSION};
use crate::identity::Identity;
use crate::reader::Reader;
use crate::record::is_key_refusal;
use crate::tls::{self, Side, TlsFailure};
use crate::transport::{Sink, Source, TransportError, tcp_halves};

/// How one attempt failed.
pub(crate) enum Attempt {
    /// Nothing is settled; another attempt may succeed.
    Again(String),
    /// The parties cannot work together.
    Settled(ChannelError),
}

/// Turns a TCP connection into a session, or says why not.
pub(crate) fn attempt(
    settings: &ConnectSettings<'_>,
    stream: &TcpStream,
    side: Side,
) -> Result<FramedChannel, Attempt> {
    let io_failed = |error: io::Error| Attempt::Again(error.to_string());
    stream.set_nonblocking(false).map_err(io_failed)?;
    stream.set_nodelay(true).map_err(io_failed)?;
    let patience = Some(settings.timeouts.handshake);
    stream.set_write_timeout(patience).map_err(io_failed)?;
    let made = establish(settings, stream, side);
    if made.is_err() {
        hang_up(stream, settings.timeouts.farewell);
    }
    let mut connected = made?;
    connected.reader.set_lost(settings.timeouts.lost);
    stream.set_read_timeout(Some(settings.timeouts.lost)).map_err(io_failed)?;
    stream.set_write_timeout(None).map_err(io_failed)?;
    FramedChannel::start(connected, settings.timeouts, settings.network).map_err(Attempt::Settled)
}

fn establish(
    settings: &ConnectSettings<'_>,
    stream: &TcpStream,
    side: Side,
) -> Result<Connected, Attempt> {
    let io_failed = |error: io::Error| Attempt::Again(error.to_string());
    let (source, mut sink): (Box<dyn Source>, Box<dyn Sink>) = match settings.security {
        Security::Plain(_) => {
            let (source, sink) = tcp_halves(stream).map_err(io_failed)?;
            (Box::new(source), Box::new(sink))
        }
        Security::Tls { identity, trusted } => {
            let trusted = trusted.fingerprint(settings.peer);
            let deadline = Instant::now() + settings.timeouts.handshake;
            let halves = tls::handshake(stream, deadline, side, identity, trusted);
            let (source, sink) =
                halves.map_err(|failure| tls_failed(settings, identity, trusted, failure))?;
            (Box::new(source), Box::new(sink))
        }
    };
    stream.set_read_timeout(Some(settings.timeouts.handshake)).map_err(io_failed)?;
    let mut reader = Reader::new(source, settings.peer, settings.timeouts.handshake);
    let nonce = nonce().map_err(Attempt::Settled)?;
    let written = say_hello(settings, sink.as_mut(), nonce);
    // Even if writing failed: the peer may have said why it hung up.
    let theirs = hear_hello(settings, &mut reader)?;
    if let Err(error) = written {
        return Err(Attempt::Again(format!("{error:?}")));
    }
    check_hello(settings, &theirs).map_err(Attempt::Settled)?;
    let session = match side {
        Side::Listener => hello::session(&nonce, &theirs.nonce),
        Side::Dialler => hello::session(&theirs.nonce, &nonce),
    };
    let cut = Box::new(stream.try_clone().map_err(io_failed)?);
    Ok(Connected { peer: settings.peer.to_owned(), session, reader, sink, cut })
}

/// A random number from the system, through the cryptographic library that is here anyway.
fn nonce() -> Result<Nonce, ChannelError> {
    let mut nonce = Nonce::default();
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut nonce).map_err(|_| ChannelError::Io {
        during: "drawing a random number".to_owned(),
        detail: "the system has none".to_owned(),
    })?;
    Ok(nonce)
}

fn say_hello(
    settings: &ConnectSettings<'_>,
    sink: &mut dyn Sink,
    nonce: Nonce,
) -> Result<(), TransportError> {
    let content = Hello {
        protocol_version: PROTOCOL_VERSION,
        nonce,
        program_version: settings.program_version.to_owned(),
        sender: settings.me.to_owned(),
        receiver: settings.peer.to_owned(),
    };
    let content = content.to_bytes();
    let length = u32::try_from(content.len()).expect("a hello is short");
    let header = Header { kind: Kind::Hello, length, session: 0, position: 0 };
    sink.write(&header.to_bytes(), &content)
}

fn hear_hello(settings: &ConnectSettings<'_>, reader: &mut Reader) -> Result<Hello, Attempt> {
    let read = |reader: &mut Reader| {
        let ended = ChannelError::Closed { party: settings.peer.to_owned() };
        let header = reader.header()?.ok_or(ended)?;
        if header.kind != Kind::Hello || header.session != 0 || header.position != 0 {
            let fault = Fault::Order { expected: Kind::Hello, found: header.kind };
            return Err(reader.misbehaved(fault));
        }
        let mut content = vec![0; header.length as usize];
        reader.payload_exact(&mut content)?;
        Hello::parse(&content).map_err(|fault| reader.misbehaved(fault))
    };
    read(reader).map_err(|error| match (error, settings.security) {
        (ChannelError::TlsAlert { party, code }, Security::Tls { identity, .. })
            if is_key_refusal(code) =>
        {
            Attempt::Settled(key_refused(party, identity))
        }
        // Behind TLS it was the peer itself that sent this.
        (error @ ChannelError::Misbehaved { .. }, Security::Tls { .. }) => Attempt::Settled(error),
        (error, _) => Attempt::Again(error.to_string()),
    })
}

fn key_refused(party: String, identity: &Identity) -> ChannelError {
    let (me, fingerprint) = (identity.name().to_owned(), identity.fingerprint());
    ChannelError::KeyRefused { party, me, fingerprint }
}

fn tls_failed(
    settings: &ConnectSettings<'_>,
    identity: &Identity,
    trusted: Option<Fingerprint>,
    failure: TlsFailure,
) -> Attempt {
    let party = settings.peer.to_owned();
    match (failure, trusted) {
        (TlsFailure::Key(presented), Some(trusted)) => {
            Attempt::Settled(ChannelError::WrongKey { party, presented, trusted })
        }
        (TlsFailure::Key(presented), None) => {
            Attempt::Settled(ChannelError::NotTrusted { party, presented })
        }
        (TlsFailure::Transport(TransportError::Alert(code)), _) if is_key_refusal(code) => {
            Attempt::Settled(key_refused(party, identity))
        }
        (TlsFailure::Transport(TransportError::Alert(code)), _) => {
            Attempt::Again(format!("TLS alert {code}"))
        }
        (TlsFailure::Transport(TransportError::Fault(fault)), _) => {
            Attempt::Again(format!("it sent {fault}"))
        }
        (TlsFailure::Transport(TransportError::Io(error)), _) => {
            Attempt::Again(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    "no answer in time".to_owned()
                }
                io::ErrorKind::UnexpectedEof => "it was closed at once".to_owned(),
                _ => error.to_string(),
            })
        }
    }
}

fn check_hello(settings: &ConnectSettings<'_>, theirs: &Hello) -> Result<(), ChannelError> {
    let party = settings.peer.to_owned();
    if theirs.protocol_version != PROTOCOL_VERSION {
        return Err(ChannelError::Incompatible {
            party,
            theirs: theirs.protocol_version,
            their_program: theirs.program_version.clone(),
            our_program: settings.program_version.to_owned(),
        });
    }
    if theirs.sender != settings.peer {
        return Err(ChannelError::WrongParty { party, found: theirs.sender.clone() });
    }
    if theirs.receiver != settings.me {
        let (expected, me) = (theirs.receiver.clone(), settings.me.to_owned());
        return Err(ChannelError::WrongSelf { party, expected, me });
    }
    Ok(())
}

/// Ends a connection so that what was written still arrives: closing it while something is unread
/// would reset it.
fn hang_up(mut stream: &TcpStream, patience: Duration) {
    let deadline = Instant::now() + patience;
    // Each of these fails only if the connection is gone, which ends the matter.
    let mut going = stream.shutdown(Shutdown::Write).is_ok();
    let mut scratch = [0; HEADER_BYTES * 64];
    while going {
        let left = deadline.saturating_duration_since(Instant::now());
        going = left > Duration::ZERO
            && stream.set_read_timeout(Some(left)).is_ok()
            && io::Read::read(&mut stream, &mut scratch).is_ok_and(|read| read > 0);
    }
}
