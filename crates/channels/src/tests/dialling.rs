//! Round trips until a mesh stands, counted by relays between the parties: no times are measured.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use super::meshes::{NAMES, close, world};
use super::*;

/// Bytes of all connections go through here in lock step: what is sent in one direction passes
/// only when every connection sends in that direction. A connection that waits for another one to
/// be through never passes.
struct LockStep {
    connections: usize,
    /// Of each connection, how often its direction has changed so far, and the direction.
    flights: Mutex<Vec<(usize, Option<RelayDirection>)>>,
    changed: Condvar,
    is_open: Mutex<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelayDirection {
    ToListener,
    ToDialler,
}

impl LockStep {
    fn new(connections: usize) -> Arc<Self> {
        Arc::new(LockStep {
            connections,
            flights: Mutex::default(),
            changed: Condvar::new(),
            is_open: Mutex::new(false),
        })
    }

    /// A new connection, by number.
    fn enter(&self) -> usize {
        let mut flights = self.flights.lock().expect("nobody panicked");
        flights.push((0, None));
        flights.len() - 1
    }

    /// Waits until bytes of this connection may pass.
    fn pass(&self, connection: usize, direction: RelayDirection) {
        let mut flights = self.flights.lock().expect("nobody panicked");
        let (count, last) = &mut flights[connection];
        if *last == Some(direction) {
            return;
        }
        (*count, *last) = (*count + 1, Some(direction));
        let flight = *count;
        self.changed.notify_all();
        loop {
            let there = flights.iter().filter(|(count, _)| *count >= flight).count();
            if there >= self.connections || self.is_open() {
                return;
            }
            flights = self.changed.wait(flights).expect("nobody panicked");
        }
    }

    fn is_open(&self) -> bool {
        *self.is_open.lock().expect("nobody panicked")
    }

    /// Lets everything pass; returns the flights of each connection so far.
    fn open(&self) -> Vec<usize> {
        let flights = self.flights.lock().expect("nobody panicked");
        *self.is_open.lock().expect("nobody panicked") = true;
        self.changed.notify_all();
        flights.iter().map(|(count, _)| *count).collect()
    }

    /// Stands at a port for the party at `target`.
    fn relay(self: &Arc<Self>, target: u16) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the system has ports");
        let port = listener.local_addr().expect("it is bound").port();
        let lock_step = self.clone();
        // Ends with the process.
        thread::spawn(move || {
            for dialled in listener.incoming() {
                let dialled = dialled.expect("a connection");
                let number = lock_step.enter();
                let listening = loop {
                    match TcpStream::connect(("127.0.0.1", target)) {
                        Ok(stream) => break stream,
                        Err(_) => thread::sleep(Duration::from_millis(5)),
                    }
                };
                let both =
                    || -> std::io::Result<_> { Ok((dialled.try_clone()?, listening.try_clone()?)) };
                let (dialled_too, listening_too) = both().expect("the system has files");
                for (direction, mut source, mut target) in [
                    (RelayDirection::ToListener, dialled, listening_too),
                    (RelayDirection::ToDialler, listening, dialled_too),
                ] {
                    let lock_step = lock_step.clone();
                    thread::spawn(move || {
                        let mut bytes = [0; 4096];
                        while let Ok(count @ 1..) = source.read(&mut bytes) {
                            let mut flight = bytes[..count].to_vec();
                            if !lock_step.is_open() {
                                read_rest(&mut source, &mut flight);
                            }
                            lock_step.pass(number, direction);
                            if target.write_all(&flight).is_err() {
                                break;
                            }
                        }
                        // It is gone already, or goes now.
                        let _ = target.shutdown(Shutdown::Write);
                    });
                }
            }
        });
        port
    }
}

/// Appends what follows at once: an answer to the first piece of a flight (TLS sends one before it has all) must not
/// stand between the pieces.
fn read_rest(source: &mut TcpStream, flight: &mut Vec<u8>) {
    const PAUSE: Duration = Duration::from_millis(50);
    let mut bytes = [0; 4096];
    source.set_read_timeout(Some(PAUSE)).expect("a pause is not zero");
    while let Ok(count @ 1..) = source.read(&mut bytes) {
        flight.extend_from_slice(&bytes[..count]);
    }
    source.set_read_timeout(None).expect("none is allowed");
}

/// The cluster in which all but the last party are dialled through a relay.
fn behind_relays(cluster: &ClusterConfig, lock_step: &Arc<LockStep>) -> ClusterConfig {
    let mut text = String::new();
    for party in cluster.parties() {
        let (name, bound) = (&party.name, SocketAddr::from(([127, 0, 0, 1], port_of(party))));
        let relay = lock_step.relay(bound.port());
        text.push_str(&format!(
            "[[party]]\nname = '{name}'\naddress = '127.0.0.1:{relay}'\nbind = '{bound}'\n"
        ));
    }
    ClusterConfig::parse(std::path::Path::new("cluster.toml"), &text).expect("a cluster")
}

/// Streams were dialled one after another: three took nine round trips where three would do.
#[test]
fn a_mesh_takes_the_round_trips_of_one_connection() {
    for (over, manner, count, streams) in [
        (TestTransport::Tls, TransportKind::Tls, 2, 3),
        (TestTransport::Tls, TransportKind::Tls, 3, 3),
        (TestTransport::Tcp, TransportKind::Plain, 3, 2),
    ] {
        let connections = count * (count - 1) / 2 * usize::from(streams);
        let lock_step = LockStep::new(connections);
        let (cluster, securities) = world(over, count);
        let cluster = behind_relays(&cluster, &lock_step);
        let meshes = thread::scope(|scope| {
            let cluster = &cluster;
            let parties = securities.iter().zip(NAMES).map(|(security, me)| {
                scope.spawn(move || {
                    let mut settings = settings(cluster, me, security);
                    settings.streams = streams;
                    // Nothing is sent when the mesh stands.
                    settings.timeouts.keep_alive = Duration::from_secs(15);
                    connect_mesh(&settings, &mut |_| ()).expect("no stream waits for another")
                })
            });
            let parties: Vec<_> = parties.collect();
            parties.into_iter().map(|party| party.join().expect("no panic")).collect::<Vec<_>>()
        });
        let flights = lock_step.open();
        // And one round trip for TCP, which the relays do not see.
        let expected = 2 * manner.round_trips() as usize - 2;
        assert_eq!(flights, vec![expected; connections], "{over:?}");
        thread::scope(|scope| {
            for mesh in meshes {
                scope.spawn(move || close(mesh).expect("a clean end"));
            }
        });
    }
}

/// A simulated network did not hold back what it takes to connect, so that a run was told to be
/// shorter than it would be.
#[test]
fn a_simulated_network_holds_back_connections() {
    let rtt = Duration::from_millis(40);
    for (over, manner) in TestTransport::ALL.into_iter().zip([
        TransportKind::Plain,
        TransportKind::Tls,
        TransportKind::Quic,
    ]) {
        let start = Instant::now();
        let (a, b) = pair_with(over, |settings| {
            settings.network = Some(NetworkModel { rtt, bandwidth_bits_per_second: None });
        });
        // A lower bound, which no machine is too slow for.
        assert!(start.elapsed() >= rtt * manner.round_trips(), "{over:?}: {:?}", start.elapsed());
        close_both(a, b);
    }
}
