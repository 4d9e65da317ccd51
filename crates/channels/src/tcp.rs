//! A mesh over TCP: one connection for each stream between two parties.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::cluster::PartyConfig;
use crate::dialling::{ConnectResult, DialTarget, dial_at_once};
use crate::fingerprint::Fingerprint;
use crate::handshake::{Connection, greet, key_refused};
use crate::identity::Identity;
use crate::limits::THREAD_STACK_BYTES;
use crate::mesh::ConnectionSecurity;
use crate::mesh_setup::{AttemptFailure, MeshSetup};
use crate::message::HEADER_BYTES;
use crate::record::is_key_refusal;
use crate::tls::{self, TlsFailure, TlsRole};
use crate::transport::{READ_PAUSE, TransportError, halves};
use crate::transport_kind::{TransportKind, first, met};

/// How long a host name may be unknown before that is reported: name servers answer within a few
/// seconds, and a mistyped name should not take a minute to be found.
const UNKNOWN_HOST_PATIENCE: Duration = Duration::from_secs(5);

/// How often a listening party looks for a connection where none wakes it.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Connections that are being made at a time; more wait. All parties with four streams each.
pub(crate) const ATTEMPTS_MAX: usize = 64;

/// The first and the longest pause between two attempts to dial. Of the parties of a local run some
/// dial a few milliseconds before the others listen: a small program ran for less time than the 50 ms
/// that this was.
const DIAL_PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_secs(1)];

/// How long one attempt to dial may take.
const DIAL_TIME_MAX: Duration = Duration::from_secs(3);

/// Where a party listens: at `bind`; else at its own address if that is loopback; else at its port
/// on every interface, because the address may be that of a router in front of it.
///
/// Where there is more than one address, the first that the system can bind is taken: the first
/// one here means IPv6 and IPv4, but a system without IPv6 refuses it.
pub(crate) fn listen_addresses(me: &PartyConfig, security: &ConnectionSecurity) -> Vec<SocketAddr> {
    if let Some(bind) = me.bind {
        return vec![bind];
    }
    // Who is dialled by nobody may take any port.
    let port = me.address.as_ref().map_or(0, |address| address.port);
    let named = me.address.as_ref().map(|address| (address.host.as_str(), port).to_socket_addrs());
    let mut resolved = named.into_iter().flatten().flatten();
    let loopback = resolved.find(|address| address.ip().is_loopback());
    match (loopback, security) {
        (Some(address), _) => vec![address],
        (None, ConnectionSecurity::Plain(_)) => vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))],
        (None, ConnectionSecurity::Tls { .. }) => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ],
    }
}

/// Binds the first of the addresses of this party that the system has.
pub(crate) fn bind<T>(
    setup: &MeshSetup<'_>,
    bind: impl Fn(SocketAddr) -> io::Result<T>,
) -> Result<T, ChannelError> {
    let me = &setup.settings.cluster.parties()[setup.me];
    let mut last = None;
    for address in listen_addresses(me, setup.settings.security) {
        match bind(address) {
            Ok(bound) => return Ok(bound),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(ChannelError::PortInUse { me: me.name.clone(), address });
            }
            Err(error) => last = Some((address, error)),
        }
    }
    let (address, error) = last.expect("there is at least one address");
    let (address, detail) = (address.to_string(), error.to_string());
    Err(ChannelError::CannotListen { me: me.name.clone(), address, detail })
}

/// Listens at the port of this party, unless nobody dials it: it is the last, or a client.
pub(crate) fn listen(
    setup: &MeshSetup<'_>,
) -> Result<Option<(TcpListener, SocketAddr)>, ChannelError> {
    if setup.diallers().next().is_none() {
        return Ok(None);
    }
    bind(setup, |address| {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    })
    .map(Some)
}

/// Takes connections until none are wanted.
pub(crate) fn accept_all<'scope, 'env>(
    setup: &'scope MeshSetup<'env>,
    listener: &TcpListener,
    scope: &'scope Scope<'scope, '_>,
) {
    while !setup.is_over() {
        if setup.attempt_count() >= ATTEMPTS_MAX {
            thread::sleep(ACCEPT_PAUSE);
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                let Some(number) = setup.begin_attempt(&stream) else { continue };
                let serve = move || match attempt(setup, &stream, number, None) {
                    Ok((party, channel)) => setup.put(party, channel),
                    Err(failed) => setup.settle(None, failed),
                };
                let thread = thread::Builder::new().stack_size(THREAD_STACK_BYTES);
                if let Err(error) = thread.spawn_scoped(scope, serve) {
                    setup.end_attempt(number);
                    setup.note(None, error.to_string());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                setup.wait_for_guest(listener, ACCEPT_PAUSE);
            }
            // A connection that was gone before it was taken, or too many open files: both pass.
            Err(error) => {
                setup.note(None, error.to_string());
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

/// Dials one party until all its streams are there, and again when one is lost.
pub(crate) fn dial_all(setup: &MeshSetup<'_>, party: usize) {
    let [first, longest] = DIAL_PAUSES;
    let mut pause = first;
    while !setup.is_over() {
        let missing = setup.missing_streams(party);
        if missing.is_empty() {
            setup.wait(longest);
            continue;
        }
        let made = match addresses(setup, party) {
            Ok(found) => {
                dial_at_once(setup, party, &missing, |dialled| dial(setup, dialled, &found))
            }
            Err(failed) => {
                setup.settle(Some(party), failed);
                0
            }
        };
        if made > 0 {
            pause = first;
        }
        if made < missing.len() {
            setup.rest(pause);
            pause = (pause * 3 / 2).min(longest);
        }
    }
}

fn dial(setup: &MeshSetup<'_>, dialled: DialTarget, addresses: &[SocketAddr]) -> ConnectResult {
    let stream = reach(setup, dialled.party, addresses)?;
    let Some(number) = setup.begin_attempt(&stream) else {
        return Err(AttemptFailure::Again("time is up".to_owned()));
    };
    attempt(setup, &stream, number, Some(dialled))
}

/// The addresses of a party, as its name is known now.
pub(crate) fn addresses(
    setup: &MeshSetup<'_>,
    party: usize,
) -> Result<Vec<SocketAddr>, AttemptFailure> {
    let config = &setup.settings.cluster.parties()[party];
    let address = config.address.as_ref().expect("checked before anybody is dialled");
    let host = address.host.as_str();
    let patience = UNKNOWN_HOST_PATIENCE.min(setup.settings.timeouts.connect / 2);
    match (host, address.port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) if setup.started.elapsed() < patience => {
            Err(AttemptFailure::Again(error.to_string()))
        }
        Err(error) => {
            let (party, host, detail) = (config.name.clone(), host.to_owned(), error.to_string());
            Err(AttemptFailure::Settled(ChannelError::UnknownHost { party, host, detail }))
        }
    }
}

/// Tries each address of the party once.
fn reach(
    setup: &MeshSetup<'_>,
    party: usize,
    addresses: &[SocketAddr],
) -> Result<TcpStream, AttemptFailure> {
    let mut last = "the host has no address".to_owned();
    for address in addresses {
        let plain = matches!(setup.settings.security, ConnectionSecurity::Plain(_));
        if plain && !address.ip().is_loopback() {
            let (party, address) = (setup.name(party).to_owned(), address.to_string());
            return Err(AttemptFailure::Settled(ChannelError::PlainNotLoopback { party, address }));
        }
        let left = setup.settings.timeouts.connect.saturating_sub(setup.started.elapsed());
        let patience = left.clamp(Duration::from_millis(1), DIAL_TIME_MAX);
        match TcpStream::connect_timeout(address, patience) {
            // Dialling a free port of this machine can by chance meet itself half-way.
            Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                last = "nobody listens there".to_owned();
            }
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    Err(AttemptFailure::Again(last))
}

/// Turns a TCP connection into a session, or says why not.
fn attempt(
    setup: &MeshSetup<'_>,
    stream: &TcpStream,
    number: u64,
    dialled: Option<DialTarget>,
) -> ConnectResult {
    let made = session(setup, stream, dialled);
    if made.is_err() {
        hang_up(stream, setup.settings.timeouts.farewell);
    }
    // No attempt any longer, so that the end of all attempts does not end it.
    setup.end_attempt(number);
    made
}

fn session(
    setup: &MeshSetup<'_>,
    stream: &TcpStream,
    dialled: Option<DialTarget>,
) -> ConnectResult {
    let io_failed = |error: io::Error| AttemptFailure::Again(error.to_string());
    let settings = setup.settings;
    stream.set_nonblocking(false).map_err(io_failed)?;
    stream.set_nodelay(true).map_err(io_failed)?;
    let patience = Some(settings.timeouts.handshake);
    stream.set_write_timeout(patience).map_err(io_failed)?;
    let ours = TransportKind::of(settings);
    // One for all that a stranger can take part in.
    let deadline = Instant::now() + settings.timeouts.handshake;
    if dialled.is_none()
        && let Some(theirs) =
            first(stream, deadline).map_err(io_failed)?.filter(|theirs| *theirs != ours)
    {
        ours.tell(stream);
        return Err(met(setup, None, theirs));
    }
    let connection = secure(setup, stream, deadline, dialled)?;
    stream.set_read_timeout(Some(READ_PAUSE)).map_err(io_failed)?;
    let made = greet(setup, connection, dialled)?;
    stream.set_write_timeout(None).map_err(io_failed)?;
    Ok(made)
}

fn secure(
    setup: &MeshSetup<'_>,
    stream: &TcpStream,
    deadline: Instant,
    dialled: Option<DialTarget>,
) -> Result<Connection, AttemptFailure> {
    let io_failed = |error: io::Error| AttemptFailure::Again(error.to_string());
    let cut = Box::new(stream.try_clone().map_err(io_failed)?);
    let identity = match setup.settings.security {
        ConnectionSecurity::Plain(_) => {
            let (source, sink) = halves(stream).map_err(io_failed)?;
            let (source, sink) = (Box::new(source), Box::new(sink));
            return Ok(Connection { source, sink, cut, presented: None });
        }
        ConnectionSecurity::Tls { identity, .. } => identity,
    };
    let (side, trusted) = match dialled {
        Some(DialTarget { party, .. }) => (TlsRole::Dialler, vec![party]),
        None => (TlsRole::Listener, setup.diallers().collect()),
    };
    let trusted: Vec<Fingerprint> =
        trusted.into_iter().filter_map(|party| setup.trusted(party)).collect();
    let (source, sink, presented) = tls::handshake(stream, deadline, side, identity, &trusted)
        .map_err(|failure| match (failure, dialled) {
            // What is no TLS was left unread.
            (TlsFailure::Transport(TransportError::Fault(_)), Some(DialTarget { party, .. }))
                if let Ok(Some(theirs)) = first(stream, deadline) =>
            {
                met(setup, Some(party), theirs)
            }
            (failure, _) => tls_failed(setup, identity, dialled, failure),
        })?;
    let (source, sink) = (Box::new(source), Box::new(sink));
    Ok(Connection { source, sink, cut, presented: Some(presented) })
}

/// Result of a connection that failed TLS: final if this party dialled, because it chose the peer.
/// Otherwise the peer is turned away and this party continues to wait.
pub(crate) fn refused(dialled: Option<usize>, error: ChannelError) -> AttemptFailure {
    match dialled {
        Some(_) => AttemptFailure::Settled(error),
        None => AttemptFailure::TurnedAway(error),
    }
}

/// Somebody presented a key that is not trusted.
pub(crate) fn wrong_key(
    setup: &MeshSetup<'_>,
    dialled: Option<usize>,
    presented: Fingerprint,
) -> ChannelError {
    let mut diallers = setup.diallers();
    let only = diallers.next().filter(|_| diallers.next().is_none());
    let Some(party) = dialled.or(only) else {
        return ChannelError::Stranger { presented, missing: setup.awaited() };
    };
    let name = setup.name(party).to_owned();
    match setup.trusted(party) {
        Some(trusted) => ChannelError::WrongKey { party: name, presented, trusted },
        None => ChannelError::NotTrusted { party: name, presented },
    }
}

fn tls_failed(
    setup: &MeshSetup<'_>,
    identity: &Identity,
    dialled: Option<DialTarget>,
    failure: TlsFailure,
) -> AttemptFailure {
    let party = dialled.map(|dialled| dialled.party);
    match failure {
        TlsFailure::Key(presented) => refused(party, wrong_key(setup, party, presented)),
        TlsFailure::Transport(TransportError::Alert(code)) if is_key_refusal(code) => {
            let name = party.map_or_else(|| setup.awaited(), |at| setup.name(at).to_owned());
            refused(party, key_refused(name, identity))
        }
        TlsFailure::Transport(TransportError::Alert(code)) => {
            AttemptFailure::Again(format!("TLS alert {code}"))
        }
        TlsFailure::Transport(TransportError::Fault(fault)) => {
            AttemptFailure::Again(format!("it sent {fault}"))
        }
        TlsFailure::Transport(TransportError::Io(error)) => {
            AttemptFailure::Again(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    "no answer in time".to_owned()
                }
                io::ErrorKind::UnexpectedEof => "it was closed at once".to_owned(),
                _ => error.to_string(),
            })
        }
    }
}

/// Ends a connection so that what was written still arrives: closing it while something is unread
/// would reset it.
pub(crate) fn hang_up(mut stream: &TcpStream, patience: Duration) {
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
