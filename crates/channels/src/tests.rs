//! Whole sessions over real sockets on the loopback interface.

mod connecting;
mod dialling;
mod failures;
mod manners;
mod meshes;
mod reordering;
mod sessions;

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::Duration;

use crate::*;

/// How parties are connected in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestTransport {
    Tcp,
    Tls,
    Quic,
}

impl TestTransport {
    const ALL: [TestTransport; 3] = [TestTransport::Tcp, TestTransport::Tls, TestTransport::Quic];

    pub(crate) fn transport(self) -> Transport {
        if self == TestTransport::Quic { Transport::Quic } else { Transport::Tcp }
    }
}

/// Timings for tests: long enough for a loaded machine where nothing should happen, short where
/// something should.
fn timeouts() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(20),
        handshake: Duration::from_secs(10),
        keep_alive: Duration::from_millis(100),
        lost: Duration::from_secs(20),
        farewell: Duration::from_secs(1),
    }
}

/// A port that was free a moment ago and that the system does not give to others by itself.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Below 32768, where ports for outgoing connections begin; spread by process.
    let first = 10_000 + std::process::id() as u16 % 200 * 100;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

pub(crate) fn local_cluster() -> ClusterConfig {
    ClusterConfig::local([("site_a", free_port()), ("site_b", free_port())])
}

/// The port at which a party listens.
fn port_of(party: &PartyConfig) -> u16 {
    party.address.as_ref().expect("parties of tests have addresses").port
}

/// The two sides' security, each trusting the other.
pub(crate) fn securities(over: TestTransport, cluster: &ClusterConfig) -> [ConnectionSecurity; 2] {
    match over {
        TestTransport::Tcp => [0, 1].map(|_| {
            ConnectionSecurity::Plain(
                PlainLoopback::new(cluster).expect("the cluster is on loopback"),
            )
        }),
        TestTransport::Tls | TestTransport::Quic => {
            let [a, b] = ["site_a", "site_b"]
                .map(|name| Identity::ephemeral(name).expect("the system has randomness"));
            let (print_a, print_b) = (a.fingerprint(), b.fingerprint());
            [tls(a, "site_b", Some(print_b)), tls(b, "site_a", Some(print_a))]
        }
    }
}

fn tls(identity: Identity, peer: &str, fingerprint: Option<Fingerprint>) -> ConnectionSecurity {
    let mut trusted = TrustStore::in_memory();
    if let Some(fingerprint) = fingerprint {
        trusted.trust(peer, fingerprint).expect("nothing else is trusted");
    }
    ConnectionSecurity::Tls { identity, trusted }
}

pub(crate) fn settings<'a>(
    cluster: &'a ClusterConfig,
    me: &'a str,
    security: &'a ConnectionSecurity,
) -> MeshSettings<'a> {
    MeshSettings {
        cluster,
        me,
        streams: 1,
        clients: 0,
        security,
        program_version: "phineus test",
        purpose: "a test",
        timeouts: timeouts(),
        network: None,
        is_cancelled: &|| false,
    }
}

type Connecting = Result<FramedChannel, ChannelError>;

/// Connects one of two parties.
fn connect(settings: &MeshSettings<'_>) -> Connecting {
    connect_mesh(settings, &mut |_| ()).map(only_channel)
}

/// Connects both parties with their own securities; `change` may alter the settings of each.
fn connect_both_with(
    cluster: &ClusterConfig,
    [security_a, security_b]: &[ConnectionSecurity; 2],
    change: impl Fn(&mut MeshSettings<'_>) + Sync,
) -> (Connecting, Connecting) {
    thread::scope(|scope| {
        let change = &change;
        let b = scope.spawn(move || {
            let mut settings = settings(cluster, "site_b", security_b);
            change(&mut settings);
            connect(&settings)
        });
        let mut settings = settings(cluster, "site_a", security_a);
        change(&mut settings);
        let a = connect(&settings);
        (a, b.join().expect("connecting does not panic"))
    })
}

/// A connected pair.
fn pair_with(
    over: TestTransport,
    change: impl Fn(&mut MeshSettings<'_>) + Sync,
) -> (FramedChannel, FramedChannel) {
    let cluster = local_cluster().with_transport(over.transport());
    let (a, b) = connect_both_with(&cluster, &securities(over, &cluster), change);
    (a.expect("site_a connects"), b.expect("site_b connects"))
}

fn pair(over: TestTransport) -> (FramedChannel, FramedChannel) {
    pair_with(over, |_| ())
}

/// Closes both ends, as two parties would.
fn close_both(a: FramedChannel, b: FramedChannel) {
    let closing = thread::spawn(move || b.close());
    a.close().expect("site_a closes cleanly");
    closing.join().expect("closing does not panic").expect("site_b closes cleanly");
}
