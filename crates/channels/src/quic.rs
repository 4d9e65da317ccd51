//! A mesh over QUIC (RFC 9000): one connection between each two parties, a QUIC stream per stream.
//!
//! quinn does QUIC, with rustls and ring and the same pinned keys as over TCP (`tls.rs`). It is
//! asynchronous; here alone is a tokio runtime, with one thread, which moves the packets of all
//! connections. The threads of a channel wait in it for their own stream.
//!
//! Cost: about a third of the throughput of TLS over TCP, as packets are sealed one by one and
//! acknowledged outside the kernel. Counted as bytes on the wire are the messages; what QUIC adds
//! is not. Protects what TLS protects.

mod halves;

use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle, Scope};
use std::time::{Duration, Instant};

use quinn::{Connecting, ConnectionError, Incoming, RecvStream, SendStream, VarInt};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::time::timeout;

use halves::{alert, connected};

use crate::ChannelError;
use crate::dialling::dial_at_once;
use crate::fingerprint::Fingerprint;
use crate::handshake::{greet, key_refused};
use crate::mesh::ConnectionSecurity;
use crate::mesh_setup::{AttemptFailure, MeshSetup};
use crate::quic_config::{client_config, presented_key, server_config, trusted_diallers};
use crate::record::is_key_refusal;
use crate::tcp::{ACCEPT_PAUSE, ATTEMPTS_MAX, addresses, bind, refused, wrong_key};
use crate::transport::READ_PAUSE;
use crate::transport_kind::{ask, keep_door};

/// The pause between two attempts to dial; QUIC itself repeats its first packets for longer.
const DIAL_PAUSE: Duration = Duration::from_millis(50);

/// How long first packets are repeated, first after 0.3 s and then with doubling pauses, before the
/// peer's address is looked up anew. Long enough for a handshake on a busy machine: a dialler that
/// gives up in the middle of one does not hear why it is refused.
const DIAL_TIME_MAX: Duration = Duration::from_secs(5);

/// Keeps the thread that moves packets alive as long as anything needs it.
struct PacketThread {
    handle: Handle,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl PacketThread {
    /// Waits for a connection to be made; `None` if that takes too long, or is no longer wanted.
    fn finish(
        &self,
        setup: &MeshSetup<'_>,
        connecting: Connecting,
        patience: Duration,
    ) -> Option<Result<quinn::Connection, ConnectionError>> {
        let deadline = Instant::now() + patience;
        let mut connecting = pin!(connecting);
        while !setup.is_over() && Instant::now() < deadline {
            let made = async { timeout(READ_PAUSE, connecting.as_mut()).await };
            if let Ok(made) = self.handle.block_on(made) {
                return Some(made);
            }
        }
        None
    }
}

impl Drop for PacketThread {
    /// Stays until the peers know that the connections are closed, a tenth of a second.
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported there.
            let _ = thread.join();
        }
    }
}

/// The UDP port of a party.
pub(crate) struct Endpoint {
    endpoint: quinn::Endpoint,
    mover: Arc<PacketThread>,
}

fn io_error(error: &dyn std::fmt::Display) -> ChannelError {
    ChannelError::Io { during: "starting QUIC".to_owned(), detail: error.to_string() }
}

impl Endpoint {
    /// Binds the port of this party; also returns its address.
    pub(crate) fn start(setup: &MeshSetup<'_>) -> Result<(Endpoint, String), ChannelError> {
        let socket = bind(setup, UdpSocket::bind)?;
        let address = socket.local_addr().map_err(|error| io_error(&error))?.to_string();
        let (server, _) = server_config(setup).map_err(|error| io_error(&error))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| io_error(&error))?;
        let (handle, stop) = (runtime.handle().clone(), Arc::new(Notify::new()));
        let entered = handle.enter();
        let config = quinn::EndpointConfig::default();
        let (inner, of_quinn) = (Some(server), Arc::new(quinn::TokioRuntime));
        let endpoint = quinn::Endpoint::new(config, inner, socket, of_quinn);
        let endpoint = endpoint.map_err(|error| io_error(&error))?;
        drop(entered);
        let farewell = setup.settings.timeouts.farewell;
        let (stopping, closing) = (stop.clone(), endpoint.clone());
        let run = move || {
            runtime.block_on(async move {
                stopping.notified().await;
                closing.close(VarInt::from_u32(0), b"");
                // If the peers do not hear it they will find out by themselves.
                let _ = timeout(farewell, closing.wait_idle()).await;
            });
        };
        let thread = thread::Builder::new().name("quic".to_owned()).spawn(run);
        let thread = Some(thread.map_err(|error| io_error(&error))?);
        Ok((Endpoint { endpoint, mover: Arc::new(PacketThread { handle, stop, thread }) }, address))
    }

    /// Accepts and dials until nothing more is wanted.
    pub(crate) fn gather<'scope, 'env>(
        self,
        setup: &'scope MeshSetup<'env>,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let endpoint = Arc::new(self);
        for party in (0..setup.me).filter(|&party| setup.streams_to(party) > 0) {
            let endpoint = endpoint.clone();
            scope.spawn(move || endpoint.dial_all(setup, party));
            scope.spawn(move || ask(setup, party));
        }
        if setup.diallers().next().is_some()
            && let Ok(address) = endpoint.endpoint.local_addr()
        {
            scope.spawn(move || keep_door(setup, address));
        }
        scope.spawn(move || endpoint.accept_all(setup, scope));
    }

    fn accept_all<'scope, 'env>(
        &self,
        setup: &'scope MeshSetup<'env>,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let guests = Arc::new(());
        while !setup.is_over() {
            let accept = async { timeout(ACCEPT_PAUSE, self.endpoint.accept()).await };
            let Ok(Some(incoming)) = self.mover.handle.block_on(accept) else { continue };
            // Whoever it is, it dials again.
            if Arc::strong_count(&guests) > ATTEMPTS_MAX {
                incoming.refuse();
                continue;
            }
            let (mover, guest) = (self.mover.clone(), guests.clone());
            let serve = move || {
                let _guest = guest;
                if let Err(failed) = welcome(setup, &mover, incoming, scope) {
                    setup.settle(None, failed);
                }
            };
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, serve) {
                setup.note(None, error.to_string());
            }
        }
    }

    /// Dials one party until all its streams are there, and again when it is lost.
    fn dial_all(&self, setup: &MeshSetup<'_>, party: usize) {
        let mut connection: Option<(quinn::Connection, Fingerprint)> = None;
        while !setup.is_over() {
            let missing = setup.missing_streams(party);
            if missing.is_empty() {
                setup.wait(READ_PAUSE);
                continue;
            }
            if connection.as_ref().is_none_or(|(known, _)| known.close_reason().is_some()) {
                connection = match self.dial(setup, party) {
                    Ok(made) => Some(made),
                    Err(failed) => {
                        setup.settle(Some(party), failed);
                        None
                    }
                };
            }
            let made = connection.as_ref().map_or(0, |(known, presented)| {
                dial_at_once(setup, party, &missing, |dialled| {
                    let halves = self.open(setup, party, known)?;
                    greet(setup, connected(&self.mover, known, halves, *presented), Some(dialled))
                })
            });
            if made < missing.len() {
                connection = None;
                setup.wait(DIAL_PAUSE);
            }
        }
    }

    /// Opens a stream. A peer that counts fewer streams lets no more be opened, and says why in the
    /// first.
    fn open(
        &self,
        setup: &MeshSetup<'_>,
        party: usize,
        connection: &quinn::Connection,
    ) -> Result<(SendStream, RecvStream), AttemptFailure> {
        let deadline = Instant::now() + setup.settings.timeouts.handshake;
        while !setup.is_over() && Instant::now() < deadline {
            let opening = async { timeout(READ_PAUSE, connection.open_bi()).await };
            if let Ok(opened) = self.mover.handle.block_on(opening) {
                return opened.map_err(|error| failed(setup, Some(party), &error));
            }
        }
        Err(AttemptFailure::Again("it takes no more streams".to_owned()))
    }

    fn dial(
        &self,
        setup: &MeshSetup<'_>,
        party: usize,
    ) -> Result<(quinn::Connection, Fingerprint), AttemptFailure> {
        let mut last = "the host has no address".to_owned();
        for address in addresses(setup, party)? {
            let (config, verifier) = client_config(setup, party)
                .map_err(|error| AttemptFailure::Settled(io_error(&error)))?;
            let entered = self.mover.handle.enter();
            let connecting = self.endpoint.connect_with(config, address, "phineus");
            drop(entered);
            let connecting = match connecting {
                Ok(connecting) => connecting,
                Err(error) => {
                    last = error.to_string();
                    continue;
                }
            };
            match self.mover.finish(setup, connecting, DIAL_TIME_MAX) {
                Some(Ok(connection)) => {
                    let presented = verifier.presented().expect("the handshake has verified a key");
                    return Ok((connection, presented));
                }
                Some(Err(error)) => match verifier.presented() {
                    Some(key) if setup.trusted(party) != Some(key) => {
                        return Err(AttemptFailure::Settled(wrong_key(setup, Some(party), key)));
                    }
                    _ => return Err(failed(setup, Some(party), &error)),
                },
                None => last = "no answer".to_owned(),
            }
        }
        Err(AttemptFailure::Again(last))
    }
}

/// Takes a connection and greets each of its streams.
fn welcome<'scope, 'env>(
    setup: &'scope MeshSetup<'env>,
    mover: &Arc<PacketThread>,
    incoming: Incoming,
    scope: &'scope Scope<'scope, '_>,
) -> Result<(), AttemptFailure> {
    let (config, verifier) =
        server_config(setup).map_err(|error| AttemptFailure::Settled(io_error(&error)))?;
    let entered = mover.handle.enter();
    let connecting = incoming.accept_with(Arc::new(config));
    drop(entered);
    let connecting = connecting.map_err(|error| AttemptFailure::Again(error.to_string()))?;
    let patience = setup.settings.timeouts.handshake;
    let connection = match mover.finish(setup, connecting, patience) {
        Some(Ok(connection)) => connection,
        Some(Err(error)) => {
            return Err(match verifier.presented() {
                Some(key) if !trusted_diallers(setup).contains(&key) => {
                    AttemptFailure::TurnedAway(wrong_key(setup, None, key))
                }
                _ => failed(setup, None, &error),
            });
        }
        None => return Err(AttemptFailure::Again("no answer in time".to_owned())),
    };
    let presented = presented_key(&connection)
        .ok_or_else(|| AttemptFailure::Again("a connection without a key".to_owned()))?;
    while !setup.is_over() && connection.close_reason().is_none() {
        let accept = async { timeout(ACCEPT_PAUSE, connection.accept_bi()).await };
        if let Ok(Ok((send, receive))) = mover.handle.block_on(accept) {
            let (mover, connection) = (mover.clone(), connection.clone());
            scope.spawn(move || {
                let made = connected(&mover, &connection, (send, receive), presented);
                match greet(setup, made, None) {
                    Ok((party, channel)) => setup.put(party, channel),
                    Err(failed) => {
                        // The dialler closes when it has read why.
                        let farewell = setup.settings.timeouts.farewell;
                        let closed = async { timeout(farewell, connection.closed()).await.is_ok() };
                        mover.handle.block_on(closed);
                        setup.settle(None, failed);
                    }
                }
            });
        }
    }
    Ok(())
}

/// Why a connection was not made.
fn failed(setup: &MeshSetup<'_>, party: Option<usize>, error: &ConnectionError) -> AttemptFailure {
    match (alert(error), setup.settings.security) {
        (Some(code), ConnectionSecurity::Tls { identity, .. }) if is_key_refusal(code) => {
            let name = party.map_or_else(|| setup.awaited(), |at| setup.name(at).to_owned());
            refused(party, key_refused(name, identity))
        }
        _ => AttemptFailure::Again(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
