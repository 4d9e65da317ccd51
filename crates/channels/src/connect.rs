//! Bringing two parties together, whichever starts first.
//!
//! The party further up in `cluster.toml` listens at its port, the other one dials it, again and
//! again with growing pauses, until both are there or [`Timeouts::connect`] is over. Then TLS, then
//! a hello each way, then the session.
//!
//! What does not concern the peer does not end the wait: a connection to our port that breaks off
//! or sends something else is dropped. What shows that the parties cannot work together (a key
//! that is not trusted, another version, another name) is reported at once, on both sides.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::cluster::{ClusterConfig, PartyConfig};
use crate::fingerprint::Fingerprint;
use crate::frame::{Fault, HEADER_BYTES, Header, Kind};
use crate::framed::{Connected, FramedChannel};
use crate::hello::{self, Hello, Nonce, PROTOCOL_VERSION};
use crate::identity::Identity;
use crate::reader::Reader;
use crate::record::is_key_refusal;
use crate::simulate::NetworkModel;
use crate::timeouts::Timeouts;
use crate::tls::{self, Side, TlsFailure};
use crate::transport::{Sink, Source, TransportError, tcp_halves};
use crate::trust::TrustStore;

/// How long a host name may be unknown before that is reported: name servers answer within a few
/// seconds, and a mistyped name should not take a minute to be found.
const UNKNOWN_HOST_PATIENCE: Duration = Duration::from_secs(5);

/// How often a listening party looks for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The first and the longest pause between two attempts to dial.
const DIAL_PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// How long one attempt to dial may take.
const DIAL_TIME_MAX: Duration = Duration::from_secs(5);

/// How a connection is protected.
pub enum Security {
    /// TLS 1.3; both parties prove the key that the other one trusts.
    Tls {
        /// Who this party is.
        identity: Identity,
        /// Whom it trusts.
        trusted: TrustStore,
    },
    /// Nothing, inside one machine.
    Plain(PlainLoopback),
}

/// Shows that all parties of a cluster are on this machine, the one case that needs no TLS.
#[derive(Clone, Debug)]
pub struct PlainLoopback(());

impl PlainLoopback {
    /// Checks that all addresses of a cluster are loopback addresses.
    ///
    /// # Errors
    /// Names the first party that is, or may be, on another machine.
    pub fn new(cluster: &ClusterConfig) -> Result<Self, ChannelError> {
        for party in cluster.parties() {
            let address = (party.address.host.as_str(), party.address.port);
            let resolved = address
                .to_socket_addrs()
                .map(Iterator::collect)
                .unwrap_or_default();
            let resolved: Vec<SocketAddr> = resolved;
            let bound = party.bind.iter();
            let local = resolved
                .iter()
                .chain(bound)
                .all(|address| address.ip().is_loopback());
            if resolved.is_empty() || !local {
                let address = party.address.to_string();
                return Err(ChannelError::PlainNotLoopback {
                    party: party.name.clone(),
                    address,
                });
            }
        }
        Ok(PlainLoopback(()))
    }
}

/// What [`connect`] needs to know.
pub struct ConnectSettings<'a> {
    /// The parties.
    pub cluster: &'a ClusterConfig,
    /// Which of them this is.
    pub me: &'a str,
    /// Which of them to talk to.
    pub peer: &'a str,
    /// How the connection is protected.
    pub security: &'a Security,
    /// What the peer is shown if the versions differ, such as `phineus 0.1.0`.
    pub program_version: &'a str,
    /// The clock.
    pub timeouts: Timeouts,
    /// A slower network than the one there is.
    pub network: Option<NetworkModel>,
}

/// What a party is waiting for while it connects.
#[derive(Clone, Debug)]
pub struct Waiting<'a> {
    /// The peer's name.
    pub party: &'a str,
    /// The address that is dialled, or listened at.
    pub address: &'a str,
    /// For how long already.
    pub elapsed: Duration,
}

/// How one attempt failed.
enum Attempt {
    /// Nothing is settled; another attempt may succeed.
    Again(String),
    /// The parties cannot work together.
    Settled(ChannelError),
}

/// Connects two parties; both call this, in any order within [`Timeouts::connect`].
///
/// `on_wait` is called about once a second until the peer is there.
///
/// # Errors
/// Why there is no connection, and what to do about it.
pub fn connect(
    settings: &ConnectSettings<'_>,
    on_wait: &mut dyn FnMut(&Waiting<'_>),
) -> Result<FramedChannel, ChannelError> {
    let parties = settings.cluster.parties();
    let index = |name: &str| {
        settings.cluster.index_of(name).ok_or_else(|| {
            let known: Vec<&str> = parties.iter().map(|party| party.name.as_str()).collect();
            ChannelError::UnknownParty {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    };
    let (me, peer) = (index(settings.me)?, index(settings.peer)?);
    assert_ne!(me, peer, "a party does not connect to itself");
    if let Security::Tls { identity, .. } = settings.security
        && identity.name() != settings.me
    {
        let (me, identity) = (settings.me.to_owned(), identity.name().to_owned());
        return Err(ChannelError::WrongIdentity { me, identity });
    }
    let mut wait = Wait {
        started: Instant::now(),
        reported: None,
        on_wait,
    };
    if me < peer {
        listen(settings, &parties[me], &mut wait)
    } else {
        dial(settings, &parties[peer], &mut wait)
    }
}

/// The clock of the attempt, and who is told about it.
struct Wait<'a> {
    started: Instant,
    reported: Option<Instant>,
    on_wait: &'a mut dyn FnMut(&Waiting<'_>),
}

impl Wait<'_> {
    fn report(&mut self, party: &str, address: &str) {
        let now = Instant::now();
        if self
            .reported
            .is_none_or(|last| now - last >= Duration::from_secs(1))
        {
            self.reported = Some(now);
            let elapsed = now - self.started;
            (self.on_wait)(&Waiting {
                party,
                address,
                elapsed,
            });
        }
    }
}

/// Where a party listens: at `bind`; else at its own address if that is loopback; else at its port
/// on every interface, because the address may be that of a router in front of it.
fn listen_address(me: &PartyConfig, security: &Security) -> SocketAddr {
    if let Some(bind) = me.bind {
        return bind;
    }
    let port = me.address.port;
    let resolved = (me.address.host.as_str(), port).to_socket_addrs();
    let loopback = resolved
        .into_iter()
        .flatten()
        .find(|address| address.ip().is_loopback());
    match (loopback, security) {
        (Some(address), _) => address,
        (None, Security::Tls { .. }) => SocketAddr::from(([0, 0, 0, 0], port)),
        (None, Security::Plain(_)) => SocketAddr::from(([127, 0, 0, 1], port)),
    }
}

fn listen(
    settings: &ConnectSettings<'_>,
    me: &PartyConfig,
    wait: &mut Wait<'_>,
) -> Result<FramedChannel, ChannelError> {
    let at = listen_address(me, settings.security);
    let address = at.to_string();
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => ChannelError::PortInUse {
            me: me.name.clone(),
            address: at,
        },
        _ => ChannelError::CannotListen {
            me: me.name.clone(),
            address: address.clone(),
            detail: error.to_string(),
        },
    };
    let listener = TcpListener::bind(at).map_err(&cannot)?;
    listener.set_nonblocking(true).map_err(&cannot)?;
    let mut detail = "no connection came".to_owned();
    loop {
        wait.report(settings.peer, &address);
        match listener.accept() {
            Ok((stream, _)) => match attempt(settings, &stream, Side::Listener) {
                Ok(channel) => return Ok(channel),
                Err(Attempt::Settled(error)) => return Err(error),
                Err(Attempt::Again(how)) => detail = format!("the last connection: {how}"),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(ACCEPT_PAUSE),
            // A connection that was gone before it was taken, or too many open files: both pass.
            Err(error) => {
                detail = error.to_string();
                thread::sleep(ACCEPT_PAUSE);
            }
        }
        if wait.started.elapsed() >= settings.timeouts.connect {
            let party = settings.peer.to_owned();
            let seconds = settings.timeouts.connect.as_secs();
            return Err(ChannelError::NobodyCame {
                party,
                address,
                seconds,
                detail,
            });
        }
    }
}

fn dial(
    settings: &ConnectSettings<'_>,
    peer: &PartyConfig,
    wait: &mut Wait<'_>,
) -> Result<FramedChannel, ChannelError> {
    let address = peer.address.to_string();
    let [mut pause, longest] = DIAL_PAUSES;
    loop {
        wait.report(&peer.name, &address);
        let detail = match reach(settings, peer, wait.started)? {
            Ok(stream) => match attempt(settings, &stream, Side::Dialler) {
                Ok(channel) => return Ok(channel),
                Err(Attempt::Settled(error)) => return Err(error),
                Err(Attempt::Again(detail)) => detail,
            },
            Err(detail) => detail,
        };
        let elapsed = wait.started.elapsed();
        if elapsed >= settings.timeouts.connect {
            let (party, seconds) = (peer.name.clone(), settings.timeouts.connect.as_secs());
            return Err(ChannelError::Unreachable {
                party,
                address,
                seconds,
                detail,
            });
        }
        thread::sleep(pause.min(settings.timeouts.connect - elapsed));
        pause = (pause * 3 / 2).min(longest);
    }
}

/// Tries each address of the peer once; the inner error says how the last one failed.
fn reach(
    settings: &ConnectSettings<'_>,
    peer: &PartyConfig,
    started: Instant,
) -> Result<Result<TcpStream, String>, ChannelError> {
    let host = peer.address.host.as_str();
    let addresses = match (host, peer.address.port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) if started.elapsed() < UNKNOWN_HOST_PATIENCE.min(settings.timeouts.connect) => {
            return Ok(Err(error.to_string()));
        }
        Err(error) => {
            let (party, host, detail) = (peer.name.clone(), host.to_owned(), error.to_string());
            return Err(ChannelError::UnknownHost {
                party,
                host,
                detail,
            });
        }
    };
    let mut last = "the host has no address".to_owned();
    for address in addresses {
        let plain = matches!(settings.security, Security::Plain(_));
        if plain && !address.ip().is_loopback() {
            let (party, address) = (peer.name.clone(), address.to_string());
            return Err(ChannelError::PlainNotLoopback { party, address });
        }
        let left = settings.timeouts.connect.saturating_sub(started.elapsed());
        let patience = left.clamp(Duration::from_millis(1), DIAL_TIME_MAX);
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Ok(Ok(stream)),
            Err(error) => last = error.to_string(),
        }
    }
    Ok(Err(last))
}

/// Turns a TCP connection into a session, or says why not.
fn attempt(
    settings: &ConnectSettings<'_>,
    stream: &TcpStream,
    side: Side,
) -> Result<FramedChannel, Attempt> {
    let io_failed = |error: io::Error| Attempt::Again(error.to_string());
    stream.set_nonblocking(false).map_err(io_failed)?;
    stream.set_nodelay(true).map_err(io_failed)?;
    let patience = Some(settings.timeouts.handshake);
    stream.set_read_timeout(patience).map_err(io_failed)?;
    stream.set_write_timeout(patience).map_err(io_failed)?;
    let made = establish(settings, stream, side);
    if made.is_err() {
        hang_up(stream, settings.timeouts.farewell);
    }
    let mut connected = made?;
    connected.reader.set_lost(settings.timeouts.lost);
    stream
        .set_read_timeout(Some(settings.timeouts.lost))
        .map_err(io_failed)?;
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
            let halves = tls::handshake(stream, side, identity, trusted);
            let (source, sink) =
                halves.map_err(|failure| tls_failed(settings, identity, trusted, failure))?;
            (Box::new(source), Box::new(sink))
        }
    };
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
    Ok(Connected {
        peer: settings.peer.to_owned(),
        session,
        reader,
        sink,
        cut,
    })
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
    let header = Header {
        kind: Kind::Hello,
        length,
        session: 0,
        position: 0,
    };
    sink.write(&header.to_bytes(), &content)
}

fn hear_hello(settings: &ConnectSettings<'_>, reader: &mut Reader) -> Result<Hello, Attempt> {
    let read = |reader: &mut Reader| {
        let ended = ChannelError::Closed {
            party: settings.peer.to_owned(),
        };
        let header = reader.header()?.ok_or(ended)?;
        if header.kind != Kind::Hello || header.session != 0 || header.position != 0 {
            let fault = Fault::Order {
                expected: Kind::Hello,
                found: header.kind,
            };
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
    ChannelError::KeyRefused {
        party,
        me,
        fingerprint,
    }
}

fn tls_failed(
    settings: &ConnectSettings<'_>,
    identity: &Identity,
    trusted: Option<Fingerprint>,
    failure: TlsFailure,
) -> Attempt {
    let party = settings.peer.to_owned();
    match (failure, trusted) {
        (TlsFailure::Key(presented), Some(trusted)) => Attempt::Settled(ChannelError::WrongKey {
            party,
            presented,
            trusted,
        }),
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
        return Err(ChannelError::WrongParty {
            party,
            found: theirs.sender.clone(),
        });
    }
    if theirs.receiver != settings.me {
        let (expected, me) = (theirs.receiver.clone(), settings.me.to_owned());
        return Err(ChannelError::WrongSelf {
            party,
            expected,
            me,
        });
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
