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
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::cluster::{ClusterConfig, PartyConfig};
use crate::establish::{Attempt, attempt};
use crate::framed::FramedChannel;
use crate::identity::Identity;
use crate::simulate::NetworkModel;
use crate::timeouts::Timeouts;
use crate::tls::Side;
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
            let resolved = address.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
            let resolved: Vec<SocketAddr> = resolved;
            let bound = party.bind.iter();
            let local = resolved.iter().chain(bound).all(|address| address.ip().is_loopback());
            if resolved.is_empty() || !local {
                let address = party.address.to_string();
                return Err(ChannelError::PlainNotLoopback { party: party.name.clone(), address });
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
            ChannelError::UnknownParty { name: name.to_owned(), known: known.join(", ") }
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
    if matches!(settings.security, Security::Plain(_)) {
        // The token may have been made for another cluster.
        PlainLoopback::new(settings.cluster)?;
    }
    let mut wait = Wait { started: Instant::now(), reported: None, on_wait };
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
        if self.reported.is_none_or(|last| now - last >= Duration::from_secs(1)) {
            self.reported = Some(now);
            let elapsed = now - self.started;
            (self.on_wait)(&Waiting { party, address, elapsed });
        }
    }
}

/// Where a party listens: at `bind`; else at its own address if that is loopback; else at its port
/// on every interface, because the address may be that of a router in front of it.
///
/// Where there is more than one address, the first that the system can bind is taken: the first
/// one here means IPv6 and IPv4, but a system without IPv6 refuses it.
fn listen_addresses(me: &PartyConfig, security: &Security) -> Vec<SocketAddr> {
    if let Some(bind) = me.bind {
        return vec![bind];
    }
    let port = me.address.port;
    let resolved = (me.address.host.as_str(), port).to_socket_addrs();
    let loopback = resolved.into_iter().flatten().find(|address| address.ip().is_loopback());
    match (loopback, security) {
        (Some(address), _) => vec![address],
        (None, Security::Plain(_)) => vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))],
        (None, Security::Tls { .. }) => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        ],
    }
}

/// Starts to listen at one of the addresses.
fn bind(me: &PartyConfig, addresses: &[SocketAddr]) -> Result<TcpListener, ChannelError> {
    let mut last = None;
    for &address in addresses {
        let bound = TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        match bound {
            Ok(listener) => return Ok(listener),
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

fn listen(
    settings: &ConnectSettings<'_>,
    me: &PartyConfig,
    wait: &mut Wait<'_>,
) -> Result<FramedChannel, ChannelError> {
    let listener = bind(me, &listen_addresses(me, settings.security))?;
    let address =
        listener.local_addr().map_or_else(|_| me.address.to_string(), |at| at.to_string());
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
            return Err(ChannelError::NobodyCame { party, address, seconds, detail });
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
            return Err(ChannelError::Unreachable { party, address, seconds, detail });
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
            return Err(ChannelError::UnknownHost { party, host, detail });
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
            // Dialling a free port of this machine can by chance meet itself half-way.
            Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                last = "nobody listens there".to_owned();
            }
            Ok(stream) => return Ok(Ok(stream)),
            Err(error) => last = error.to_string(),
        }
    }
    Ok(Err(last))
}
