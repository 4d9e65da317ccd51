//! Connects all parties, whichever starts first.
//!
//! Each party listens at one port for those further down in `cluster.toml` and dials those further
//! up, all streams to all of them at once (`dialling.rs`), again and again with growing pauses, until
//! a connection for every stream to every party is there or [`Timeouts::connect`] is over. Each
//! connection: TLS, then a hello in each direction, which says who it is and which stream it
//! carries, then the session.
//!
//! What need not concern the parties does not end the wait: a connection to our port that breaks
//! off, sends something else or proves a key that is not trusted is dropped, and a party that is
//! gone before all are there may come again. What shows that the parties cannot work together (a
//! key that is not trusted where this party dialled; from a peer with a trusted key another version,
//! another name, the same party twice) is reported at once.

use std::net::{SocketAddr, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crate::ChannelError;
use crate::cluster::{ClusterConfig, Transport};
use crate::framed::FramedChannel;
use crate::identity::Identity;
use crate::mesh_setup::MeshSetup;
use crate::message::AbortReason;
use crate::simulate::NetworkModel;
use crate::timeouts::Timeouts;
use crate::trust::TrustStore;
use crate::{quic, tcp};

/// How often a party looks whether those that are there still live.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// How a connection is protected.
pub enum ConnectionSecurity {
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
            // Who has no address only dials the others.
            let Some(address) = &party.address else { continue };
            let named = (address.host.as_str(), address.port);
            let resolved = named.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
            let resolved: Vec<SocketAddr> = resolved;
            let bound = party.bind.iter();
            let local = resolved.iter().chain(bound).all(|address| address.ip().is_loopback());
            if resolved.is_empty() || !local {
                let address = address.to_string();
                return Err(ChannelError::PlainNotLoopback { party: party.name.clone(), address });
            }
        }
        Ok(PlainLoopback(()))
    }
}

/// Settings of [`connect_mesh`].
pub struct MeshSettings<'a> {
    /// The parties, all of which take part.
    pub cluster: &'a ClusterConfig,
    /// Which of them this is.
    pub me: &'a str,
    /// How many channels lead to each other party; all parties must say the same.
    pub streams: u16,
    /// How many of the parties, the last ones, are clients: each has one channel to each party that
    /// is none, which it dials, and none to other clients. All parties must say the same.
    pub clients: usize,
    /// How the connections are protected.
    pub security: &'a ConnectionSecurity,
    /// Program version, such as `phineus 0.1.0`; shown to the peers if the versions differ.
    pub program_version: &'a str,
    /// Shown to the peers if the numbers of streams differ, such as `--protocol gmw`; at most 256 bytes.
    pub purpose: &'a str,
    /// The clock.
    pub timeouts: Timeouts,
    /// A slower network than the one there is, between each two parties.
    pub network: Option<NetworkModel>,
    /// Whether this party wants no mesh any more; asked several times a second until all are there.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// Progress of connecting: the missing parties.
#[derive(Clone, Debug)]
pub struct ConnectProgress<'a> {
    /// The parties that are not there yet.
    pub missing: &'a [&'a str],
    /// For how long already.
    pub elapsed: Duration,
    /// Why the last connection was turned away whose maker did not prove a trusted key, if there
    /// was one: the error with which the wait ends if nobody else comes.
    pub turned_away: Option<ChannelError>,
}

/// The channels of one party, by stream and then by party; none to itself.
pub type Mesh = Vec<Vec<Option<FramedChannel>>>;

/// The one channel that a party has in a mesh of two parties and one stream.
///
/// # Panics
/// If the mesh has more channels, or none.
pub fn only_channel(mesh: Mesh) -> FramedChannel {
    let mut channels = mesh.into_iter().flatten().flatten();
    let only = channels.next().expect("there is a channel");
    assert!(channels.next().is_none(), "there is one channel");
    only
}

/// Connects all parties with each other; all call this, in any order within [`Timeouts::connect`].
///
/// Returns `[stream][party]`, parties in the order of the cluster. The channels end together: when
/// one fails, the others do, with the error of the first; when one is aborted or dropped before its
/// end, all peers are told. `on_wait` is called about once a second until all are there.
///
/// # Errors
/// Why there is no mesh, and what to do about it.
///
/// # Panics
/// If no streams are asked for, or all parties are clients.
pub fn connect_mesh(
    settings: &MeshSettings<'_>,
    on_wait: &mut dyn FnMut(&ConnectProgress<'_>),
) -> Result<Mesh, ChannelError> {
    assert!(settings.streams > 0, "a mesh has at least one stream");
    assert!(settings.clients < settings.cluster.parties().len(), "not all parties are clients");
    let me = check(settings)?;
    let setup = MeshSetup::new(settings, me)?;
    let gathered = match settings.cluster.transport() {
        Transport::Tcp => {
            let listener = tcp::listen(&setup)?;
            thread::scope(|scope| {
                if let Some((listener, _)) = &listener {
                    scope.spawn(|| tcp::accept_all(&setup, listener, scope));
                }
                for peer in (0..me).filter(|&peer| setup.streams_to(peer) > 0) {
                    let setup = &setup;
                    scope.spawn(move || tcp::dial_all(setup, peer));
                }
                let address = listener.as_ref().map(|(_, address)| address.to_string());
                wait_for_all(&setup, address, on_wait)
            })
        }
        Transport::Quic => {
            let (endpoint, address) = quic::Endpoint::start(&setup)?;
            thread::scope(|scope| {
                endpoint.gather(&setup, scope);
                wait_for_all(&setup, Some(address), on_wait)
            })
        }
    };
    let mesh = setup.into_mesh();
    let group = FramedChannel::tie(mesh.iter().flatten().flatten());
    match gathered {
        Ok(()) => Ok(mesh),
        Err(error) => {
            let reason = match error {
                ChannelError::Cancelled => AbortReason::Interrupted,
                _ => AbortReason::Lost,
            };
            // Of somebody who did not say a name there is but a list of those who are awaited.
            let known = |name: &&str| settings.cluster.index_of(name).is_some();
            group.abort(reason, error.party().filter(known));
            Err(error)
        }
    }
}

/// Finds what is wrong without the others; returns the place of this party.
fn check(settings: &MeshSettings<'_>) -> Result<usize, ChannelError> {
    let parties = settings.cluster.parties();
    let me = settings.cluster.index_of(settings.me).ok_or_else(|| {
        let known: Vec<&str> = parties.iter().map(|party| party.name.as_str()).collect();
        ChannelError::UnknownParty { name: settings.me.to_owned(), known: known.join(", ") }
    })?;
    // Each but the last is dialled by those further down, unless it is a client.
    let dialled = (parties.len() - 1).min(parties.len() - settings.clients);
    if let Some(party) = parties[..dialled].iter().find(|party| party.address.is_none()) {
        return Err(ChannelError::NoAddress { party: party.name.clone() });
    }
    match settings.security {
        ConnectionSecurity::Tls { identity, .. } if identity.name() != settings.me => {
            let (me, identity) = (settings.me.to_owned(), identity.name().to_owned());
            return Err(ChannelError::WrongIdentity { me, identity });
        }
        ConnectionSecurity::Tls { .. } => {}
        ConnectionSecurity::Plain(_) if settings.cluster.transport() == Transport::Quic => {
            return Err(ChannelError::PlainQuic);
        }
        // The token may have been made for another cluster.
        ConnectionSecurity::Plain(_) => {
            PlainLoopback::new(settings.cluster)?;
        }
    }
    Ok(me)
}

/// Watches the connections come, until all are there or something ends the wait.
fn wait_for_all(
    setup: &MeshSetup<'_>,
    address: Option<String>,
    on_wait: &mut dyn FnMut(&ConnectProgress<'_>),
) -> Result<(), ChannelError> {
    let started = setup.started;
    let mut reported: Option<Instant> = None;
    let outcome = loop {
        setup.sweep();
        if let Some(error) = setup.error() {
            break Err(error);
        }
        let missing = setup.missing();
        if missing.is_empty() {
            break Ok(());
        }
        if (setup.settings.is_cancelled)() {
            break Err(ChannelError::Cancelled);
        }
        let elapsed = started.elapsed();
        if elapsed >= setup.settings.timeouts.connect {
            break Err(setup.too_late(&missing, address.as_deref()));
        }
        if reported.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
            reported = Some(Instant::now());
            let missing: Vec<&str> = missing.iter().map(|&party| setup.name(party)).collect();
            on_wait(&ConnectProgress {
                missing: &missing,
                elapsed,
                turned_away: setup.turned_away(),
            });
        }
        setup.wait(LOOK_PAUSE);
    };
    setup.finish();
    outcome
}
