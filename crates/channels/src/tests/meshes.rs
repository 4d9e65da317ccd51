//! More than two parties, more than one stream: gathering, misunderstandings, losses.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::*;

pub(super) const NAMES: [&str; 5] = ["site_a", "site_b", "site_c", "site_d", "site_e"];

/// Parties on this machine and their securities, each trusting all others.
pub(super) fn world(over: TestTransport, count: usize) -> (ClusterConfig, Vec<ConnectionSecurity>) {
    let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
    let cluster = ClusterConfig::local(NAMES.into_iter().zip(ports));
    let cluster = cluster.with_transport(over.transport());
    if over == TestTransport::Tcp {
        let plain = PlainLoopback::new(&cluster).expect("the cluster is on loopback");
        return (cluster, (0..count).map(|_| ConnectionSecurity::Plain(plain.clone())).collect());
    }
    let identities: Vec<Identity> = NAMES[..count]
        .iter()
        .map(|name| Identity::ephemeral(name).expect("the system has randomness"))
        .collect();
    let prints: Vec<_> = identities.iter().map(Identity::fingerprint).collect();
    let securities = identities.into_iter().enumerate().map(|(me, identity)| {
        let mut trusted = TrustStore::in_memory();
        for peer in (0..count).filter(|&peer| peer != me) {
            trusted.trust(NAMES[peer], prints[peer]).expect("nothing else is trusted");
        }
        ConnectionSecurity::Tls { identity, trusted }
    });
    let securities = securities.collect();
    (cluster, securities)
}

type MeshResult = Result<Mesh, ChannelError>;

/// All parties connect, each with its own settings.
fn gather(
    (cluster, securities): &(ClusterConfig, Vec<ConnectionSecurity>),
    streams: u16,
    change: impl Fn(&mut MeshSettings<'_>) + Sync,
) -> Vec<MeshResult> {
    thread::scope(|scope| {
        let change = &change;
        let parties = securities.iter().enumerate().map(|(me, security)| {
            scope.spawn(move || {
                let mut settings = settings(cluster, NAMES[me], security);
                settings.streams = streams;
                change(&mut settings);
                connect_mesh(&settings, &mut |_| ())
            })
        });
        let parties: Vec<_> = parties.collect();
        parties.into_iter().map(|party| party.join().expect("it does not panic")).collect()
    })
}

fn good(over: TestTransport, count: usize, streams: u16) -> Vec<Mesh> {
    let gathered = gather(&world(over, count), streams, |_| ());
    gathered.into_iter().map(|mesh| mesh.expect("all are there")).collect()
}

fn failed(gathered: MeshResult) -> ChannelError {
    match gathered {
        Ok(_) => panic!("this mesh must not be made"),
        Err(error) => error,
    }
}

pub(super) fn close(mesh: Mesh) -> Result<(), ChannelError> {
    mesh.into_iter().flatten().flatten().try_for_each(FramedChannel::close)
}

/// Everybody sends everybody a word in every stream, many times.
fn chat(me: usize, mesh: &mut Mesh, rounds: usize) -> Result<(), ChannelError> {
    for round in 0..rounds {
        for (stream, row) in mesh.iter_mut().enumerate() {
            for (peer, channel) in row.iter_mut().enumerate() {
                let Some(channel) = channel else { continue };
                channel.send(&[me as u8, peer as u8, stream as u8, round as u8])?;
                channel.flush()?;
            }
            for (peer, channel) in row.iter_mut().enumerate() {
                let Some(channel) = channel else { continue };
                let expected = [peer as u8, me as u8, stream as u8, round as u8];
                channel.recv_with(4, |bytes| assert_eq!(bytes, expected))?;
            }
        }
    }
    Ok(())
}

#[test]
fn any_number_of_parties_and_streams_come_together() {
    for (over, count, streams) in [
        (TestTransport::Tcp, 5, 3),
        (TestTransport::Tls, 3, 2),
        (TestTransport::Quic, 2, 3),
        (TestTransport::Quic, 3, 2),
    ] {
        let meshes = good(over, count, streams);
        thread::scope(|scope| {
            for (me, mut mesh) in meshes.into_iter().enumerate() {
                scope.spawn(move || {
                    assert_eq!((mesh.len(), mesh[0].len()), (usize::from(streams), count));
                    for (stream, row) in mesh.iter().enumerate() {
                        for (peer, channel) in row.iter().enumerate() {
                            let found = channel.as_ref().map(|c| (c.peer(), c.stream()));
                            let is_other = peer != me;
                            assert_eq!(found, is_other.then_some((NAMES[peer], stream as u16)));
                        }
                    }
                    chat(me, &mut mesh, 30).expect("all live");
                    close(mesh).expect("a clean end");
                });
            }
        });
    }
}

#[test]
fn the_order_of_starting_does_not_matter() {
    for late in NAMES.into_iter().take(3) {
        let gathered = gather(&world(TestTransport::Tls, 3), 2, |settings| {
            if settings.me == late {
                thread::sleep(Duration::from_millis(300));
            }
        });
        let meshes: Vec<Mesh> = gathered.into_iter().map(|m| m.expect("all are there")).collect();
        thread::scope(|scope| {
            for mesh in meshes {
                scope.spawn(move || close(mesh).expect("a clean end"));
            }
        });
    }
}

#[test]
fn all_that_are_missing_are_named() {
    let (cluster, securities) = world(TestTransport::Tls, 4);
    let mut settings = settings(&cluster, "site_b", &securities[1]);
    settings.timeouts.connect = Duration::from_millis(500);
    let mut reports = Vec::new();
    let error = failed(connect_mesh(&settings, &mut |waiting| {
        reports.push(waiting.missing.join(" "));
    }));
    assert_eq!(reports, ["site_a site_c site_d"]);
    let text = error.to_string();
    assert!(matches!(error, ChannelError::Incomplete { .. }), "{text}");
    for part in ["site_a could not be reached at 127.0.0.1:", "site_c did not connect", "site_d"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_party_that_stops_while_others_gather_is_named_by_all() {
    // site_c gives up after a second because site_d never comes.
    let (cluster, securities) = world(TestTransport::Tcp, 4);
    let start = Instant::now();
    let errors = thread::scope(|scope| {
        let parties = [0, 1, 2].map(|me| {
            let (cluster, security) = (&cluster, &securities[me]);
            scope.spawn(move || {
                let mut settings = settings(cluster, NAMES[me], security);
                settings.timeouts.connect = Duration::from_secs(if me == 2 { 1 } else { 15 });
                failed(connect_mesh(&settings, &mut |_| ()))
            })
        });
        parties.map(|party| party.join().expect("it does not panic"))
    });
    assert!(matches!(&errors[2], ChannelError::NobodyCame { party, .. } if party == "site_d"));
    for error in &errors[..2] {
        match error {
            ChannelError::PeerLost { party, .. } => assert_eq!(party, "site_d"),
            other => panic!("{other}"),
        }
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn who_stops_waiting_may_come_again() {
    static GOES: AtomicBool = AtomicBool::new(false);
    for over in [TestTransport::Tcp, TestTransport::Quic] {
        GOES.store(false, Ordering::Relaxed);
        let (cluster, securities) = world(over, 3);
        let join = |me: usize,
                    is_cancelled: fn() -> bool,
                    on_wait: &mut dyn FnMut(&ConnectProgress<'_>)| {
            let mut settings = settings(&cluster, NAMES[me], &securities[me]);
            settings.timeouts.connect = Duration::from_secs(120);
            settings.is_cancelled = &is_cancelled;
            connect_mesh(&settings, on_wait)
        };
        let meshes = thread::scope(|scope| {
            // site_b goes when site_a has it, and comes again when site_a knows that it went.
            let (tell, told) = std::sync::mpsc::channel();
            let a = scope.spawn(move || {
                let mut waiting = |waiting: &ConnectProgress<'_>| match waiting.missing {
                    ["site_c"] => GOES.store(true, Ordering::Relaxed),
                    _ if GOES.load(Ordering::Relaxed) => drop(tell.send(())),
                    _ => {}
                };
                join(0, || false, &mut waiting)
            });
            let gone = failed(join(1, || GOES.load(Ordering::Relaxed), &mut |_| ()));
            assert!(matches!(gone, ChannelError::Cancelled), "{over:?}: {gone}");
            told.recv().expect("site_a notices");
            let rest = [1, 2].map(|me| scope.spawn(move || join(me, || false, &mut |_| ())));
            let all = [a].into_iter().chain(rest);
            let all = all.map(|party| party.join().expect("it does not panic"));
            all.map(|mesh| mesh.expect("all are there")).collect::<Vec<Mesh>>()
        });
        thread::scope(|scope| {
            for mesh in meshes {
                scope.spawn(move || close(mesh).expect("a clean end"));
            }
        });
    }
}

#[test]
fn different_counts_are_told_on_both_sides() {
    for over in [TestTransport::Tcp, TestTransport::Quic] {
        different_counts_are_told(over);
    }
}

fn different_counts_are_told(over: TestTransport) {
    let (cluster, securities) = world(over, 3);
    let smaller = cluster.only(&["site_a", "site_b"]);
    let errors = |streams: [u16; 2], clusters: [&ClusterConfig; 2]| {
        thread::scope(|scope| {
            let both = [0, 1].map(|me| {
                let (cluster, security) = (clusters[me], &securities[me]);
                scope.spawn(move || {
                    let mut settings = settings(cluster, NAMES[me], security);
                    settings.streams = streams[me];
                    settings.timeouts.connect = Duration::from_secs(5);
                    failed(connect_mesh(&settings, &mut |_| ())).to_string()
                })
            });
            both.map(|party| party.join().expect("it does not panic"))
        })
    };
    let [a, b] = errors([1, 2], [&smaller, &smaller]);
    let what = "streams between the two (which depends on who computes)";
    assert!(a.starts_with(&format!("site_b counts 2 {what}, here there are 1")), "{a}");
    assert!(b.starts_with(&format!("site_a counts 1 {what}, here there are 2")), "{b}");
    let [a, b] = errors([1, 1], [&smaller, &cluster]);
    assert!(a.starts_with("site_b counts 3 parties, here there are 2"), "{a}");
    assert!(b.starts_with("site_a counts 2 parties, here there are 3"), "{b}");
}

#[test]
fn parties_asked_for_different_things_name_both() {
    let (cluster, securities) = world(TestTransport::Tcp, 2);
    let gathered = gather(&(cluster, securities), 1, |settings| {
        if settings.me == "site_b" {
            (settings.streams, settings.purpose) = (3, "--protocol gmw");
        }
        settings.timeouts.connect = Duration::from_secs(5);
    });
    let errors: Vec<String> = gathered.into_iter().map(|it| failed(it).to_string()).collect();
    assert!(
        errors[0].starts_with("site_b was asked for --protocol gmw, and this party for a test")
    );
    assert!(
        errors[1].starts_with("site_a was asked for a test, and this party for --protocol gmw")
    );
}

#[test]
fn the_same_party_twice_is_told_on_both_sides() {
    // site_c is missing, so that the others still gather when the second site_b comes.
    for over in [TestTransport::Tls, TestTransport::Quic] {
        let (cluster, securities) = world(over, 3);
        // The second process has site_b's key, but a port of its own.
        let ports: Vec<u16> = cluster.parties().iter().map(port_of).collect();
        let other = ClusterConfig::local(NAMES.into_iter().zip([ports[0], free_port(), ports[2]]));
        let other = other.with_transport(over.transport());
        let texts = thread::scope(|scope| {
            let parties = [(0, &cluster, 0), (1, &cluster, 0), (1, &other, 500)].map(
                |(me, cluster, pause)| {
                    let security = &securities[me];
                    scope.spawn(move || {
                        thread::sleep(Duration::from_millis(pause));
                        let mut settings = settings(cluster, NAMES[me], security);
                        settings.timeouts.connect = Duration::from_secs(8);
                        failed(connect_mesh(&settings, &mut |_| ())).to_string()
                    })
                },
            );
            parties.map(|party| party.join().expect("it does not panic"))
        });
        assert!(texts[0].starts_with("site_b connected twice"), "{}", texts[0]);
        // On a busy machine the second may come first; then the first one is refused.
        let refused = |text: &String| text.contains("another process that runs as site_b");
        assert!(texts[1..].iter().any(refused), "{texts:?}");
    }
}

#[test]
fn the_key_of_another_party_does_not_do() {
    // site_c says that it is site_b: its key gives it away.
    for over in [TestTransport::Tls, TestTransport::Quic] {
        let (cluster, mut securities) = world(over, 3);
        let Some(ConnectionSecurity::Tls { trusted, .. }) = securities.pop() else {
            panic!("a third")
        };
        let liar = Identity::ephemeral("site_b").expect("the system has randomness");
        let ConnectionSecurity::Tls { trusted: known, .. } = &mut securities[0] else {
            panic!("TLS")
        };
        known.untrust("site_c").expect("it is in memory");
        known.trust("site_c", liar.fingerprint()).expect("nothing is trusted now");
        let liar = ConnectionSecurity::Tls { identity: liar, trusted };
        let (at_a, at_c) = thread::scope(|scope| {
            let a = scope.spawn(|| {
                failed(connect_mesh(&settings(&cluster, "site_a", &securities[0]), &mut |_| ()))
            });
            let c = failed(connect_mesh(&settings(&cluster, "site_b", &liar), &mut |_| ()));
            (a.join().expect("it does not panic"), c)
        });
        match &at_a {
            ChannelError::OtherKey { party, owner, .. } => {
                assert_eq!((party.as_str(), owner.as_str()), ("site_b", "site_c"));
            }
            other => panic!("{other}"),
        }
        assert!(matches!(at_c, ChannelError::KeyRefused { .. }), "{at_c}");
    }
}

/// A list of those who were awaited went out as the name of who was lost, and the honest party that
/// sent it was said to have cheated.
#[test]
fn who_refuses_a_key_without_a_name_makes_nobody_else_a_cheat() {
    for (over, is_away) in
        [(TestTransport::Tls, true), (TestTransport::Tls, false), (TestTransport::Quic, true)]
    {
        let (cluster, mut securities) = world(over, 4);
        let other = Identity::ephemeral("site_a").expect("the system has randomness");
        let ConnectionSecurity::Tls { trusted, .. } = &mut securities[2] else { panic!("TLS") };
        trusted.untrust("site_a").expect("it is in memory");
        trusted.trust("site_a", other.fingerprint()).expect("nothing is trusted now");
        let (at_a, at_b) = thread::scope(|scope| {
            let (cluster, securities) = (&cluster, &securities);
            let meet = move |me: usize, seconds: u64| {
                let mut settings = settings(cluster, NAMES[me], &securities[me]);
                settings.timeouts.connect = Duration::from_secs(seconds);
                failed(connect_mesh(&settings, &mut |_| ()))
            };
            let a = scope.spawn(move || meet(0, 6));
            let c = failed(connect_mesh(&settings(cluster, "site_c", &securities[2]), &mut |_| ()));
            assert!(matches!(c, ChannelError::WrongKey { .. }), "{c}");
            // site_b, and site_d or nobody, come after that.
            let d = (!is_away).then(|| scope.spawn(move || meet(3, 20)));
            let b = meet(1, 20);
            d.map(|d| d.join().expect("it does not panic"));
            (a.join().expect("it does not panic"), b)
        });
        let names = if is_away { "site_c or site_d" } else { "site_c" };
        match at_a {
            ChannelError::KeyRefused { party, .. } => assert_eq!(party, names),
            other => panic!("{other}"),
        }
        match at_b {
            ChannelError::PeerAborted { party, reason } => {
                assert_eq!((party.as_str(), reason, is_away), ("site_a", AbortReason::Lost, true));
            }
            ChannelError::PeerLost { party, reported_by } => {
                assert_eq!((party.as_str(), reported_by.as_str()), ("site_c", "site_a"));
                assert!(!is_away);
            }
            other => panic!("{over:?}: {other}"),
        }
    }
}

#[test]
fn a_stranger_among_many_is_shown_with_its_key() {
    for over in [TestTransport::Tls, TestTransport::Quic] {
        let (cluster, mut securities) = world(over, 3);
        let stranger = Identity::ephemeral("site_b").expect("the system has randomness");
        let key = stranger.fingerprint();
        let ConnectionSecurity::Tls { identity, .. } = &mut securities[1] else { panic!("TLS") };
        *identity = stranger;
        let (at_a, at_b) = thread::scope(|scope| {
            let b = scope.spawn(|| {
                failed(connect_mesh(&settings(&cluster, "site_b", &securities[1]), &mut |_| ()))
            });
            let mut settings = settings(&cluster, "site_a", &securities[0]);
            settings.timeouts.connect = Duration::from_secs(4);
            let a = failed(connect_mesh(&settings, &mut |_| ()));
            (a, b.join().expect("it does not panic"))
        });
        match at_a {
            ChannelError::Stranger { presented, missing } => {
                assert_eq!((presented, missing.as_str()), (key, "site_b, site_c"));
            }
            other => panic!("{other}"),
        }
        assert!(matches!(at_b, ChannelError::KeyRefused { .. }), "{at_b}");
    }
}

/// Errors of the surviving parties after `lost` was killed at some moment.
fn kill(over: TestTransport, lost: usize, after: Duration) -> Vec<ChannelError> {
    let meshes = good(over, 3, 2);
    thread::scope(|scope| {
        let parties: Vec<_> = meshes
            .into_iter()
            .enumerate()
            .map(|(me, mut mesh)| {
                scope.spawn(move || {
                    if me == lost {
                        // Takes part for a while: killed at a moment that is not known before.
                        let end = Instant::now() + after;
                        while Instant::now() < end {
                            chat(me, &mut mesh, 1).expect("all live");
                        }
                        FramedChannel::kill(mesh.iter().flatten().flatten());
                        return None;
                    }
                    let error = loop {
                        if let Err(error) = chat(me, &mut mesh, 1) {
                            break error;
                        }
                    };
                    // Whatever is called next says the same, in all streams, when what came before
                    // is read.
                    for channel in mesh.iter_mut().flatten().flatten() {
                        let again = loop {
                            if let Err(again) = channel.recv_with(1, |_| ()) {
                                break again;
                            }
                        };
                        assert_eq!(again.to_string(), error.to_string());
                    }
                    Some(error)
                })
            })
            .collect();
        parties.into_iter().filter_map(|party| party.join().expect("it does not panic")).collect()
    })
}

#[test]
fn the_party_that_was_lost_first_is_named_by_all() {
    for over in TestTransport::ALL {
        for (lost, after) in [(0, 3), (1, 11), (2, 17), (0, 29), (1, 0), (2, 41)] {
            let start = Instant::now();
            let errors = kill(over, lost, Duration::from_millis(after));
            assert_eq!(errors.len(), 2);
            for error in errors {
                assert_eq!(error.party(), Some(NAMES[lost]), "{over:?}: {error}");
            }
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        }
    }
}

#[test]
fn a_broken_connection_between_two_is_told_to_the_third() {
    // site_b and site_c lose each other; site_a hears of it from the one or the other.
    let mut meshes = good(TestTransport::Tcp, 3, 1);
    let mut c = meshes.pop().expect("three parties");
    let b = meshes.pop().expect("three parties");
    let mut a = meshes.pop().expect("three parties");
    FramedChannel::kill(b[0][2].iter());
    let error = a[0][1].as_mut().expect("to site_b").recv_with(1, |_| ()).expect_err("it ended");
    match &error {
        // Either end of the broken connection may be heard first.
        ChannelError::PeerLost { party, reported_by } => {
            assert!(["site_b", "site_c"].contains(&party.as_str()), "{error}");
            assert_ne!(party, reported_by);
        }
        other => panic!("{other}"),
    }
    assert!(c[0][0].as_mut().expect("to site_a").recv_with(1, |_| ()).is_err());
}

#[test]
fn giving_up_in_one_stream_tells_everybody_why() {
    for over in [TestTransport::Tls, TestTransport::Quic] {
        let mut meshes = good(over, 3, 2);
        let mut mine = meshes.remove(0);
        let channel = mine[1][2].take().expect("a channel to site_c");
        channel.abort(AbortReason::Disagreement);
        drop(mine);
        for mut mesh in meshes {
            let channel = mesh[0][0].as_mut().expect("a channel to site_a");
            match channel.recv_with(1, |_| ()).expect_err("site_a has stopped") {
                ChannelError::PeerAborted { party, reason } => {
                    assert_eq!((party.as_str(), reason), ("site_a", AbortReason::Disagreement));
                }
                // One that stopped because of it may be heard first; it names the same.
                ChannelError::PeerLost { party, .. } => assert_eq!(party, "site_a"),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn agreements_go_to_all_before_any_is_awaited() {
    let meshes = good(TestTransport::Tcp, 4, 1);
    thread::scope(|scope| {
        for (me, mut mesh) in meshes.into_iter().enumerate() {
            scope.spawn(move || {
                for channel in mesh[0].iter_mut().flatten() {
                    channel.send_agreement(&[me as u8]).expect("all live");
                }
                for (peer, channel) in mesh[0].iter_mut().enumerate() {
                    let Some(channel) = channel else { continue };
                    assert_eq!(channel.receive_agreement().expect("all live"), [peer as u8]);
                }
                close(mesh).expect("a clean end");
            });
        }
    });
}

#[test]
fn clients_have_one_channel_to_each_other_party_and_none_among_themselves() {
    for (over, count, clients) in
        [(TestTransport::Tcp, 5, 3), (TestTransport::Tls, 4, 2), (TestTransport::Quic, 4, 2)]
    {
        let gathered = gather(&world(over, count), 2, |settings| settings.clients = clients);
        thread::scope(|scope| {
            for (me, mesh) in gathered.into_iter().enumerate() {
                let mut mesh = mesh.expect("all are there");
                scope.spawn(move || {
                    let is_client = |party: usize| party + clients >= count;
                    for (stream, row) in mesh.iter().enumerate() {
                        for (peer, channel) in row.iter().enumerate() {
                            let is_there = peer != me
                                && match (is_client(me), is_client(peer)) {
                                    (false, false) => true,
                                    (true, true) => false,
                                    _ => stream == 0,
                                };
                            assert_eq!(channel.is_some(), is_there, "{me} {peer} {stream}");
                        }
                    }
                    chat(me, &mut mesh, 10).expect("all live");
                    close(mesh).expect("a clean end");
                });
            }
        });
    }
}

/// The cluster without the addresses of its last parties.
fn without_addresses(cluster: &ClusterConfig, last: usize) -> ClusterConfig {
    let mut text = format!("transport = '{}'\n", cluster.transport().name());
    let count = cluster.parties().len();
    for (place, party) in cluster.parties().iter().enumerate() {
        text.push_str(&format!("[[party]]\nname = '{}'\n", party.name));
        if place + last < count {
            text.push_str(&format!("address = '127.0.0.1:{}'\n", port_of(party)));
        }
    }
    ClusterConfig::parse(std::path::Path::new("cluster.toml"), &text).expect("a cluster")
}

#[test]
fn who_is_dialled_by_nobody_needs_no_address() {
    for over in TestTransport::ALL {
        let (cluster, securities) = world(over, 4);
        let world = (without_addresses(&cluster, 2), securities);
        let gathered = gather(&world, 1, |settings| settings.clients = 2);
        thread::scope(|scope| {
            for (me, mesh) in gathered.into_iter().enumerate() {
                let mut mesh = mesh.expect("all are there");
                scope.spawn(move || {
                    chat(me, &mut mesh, 3).expect("all live");
                    close(mesh).expect("a clean end");
                });
            }
        });
        // Without clients the last one alone is dialled by nobody.
        for error in gather(&world, 1, |_| ()) {
            let error = failed(error);
            assert!(
                matches!(&error, ChannelError::NoAddress { party } if party == "site_c"),
                "{error}"
            );
        }
    }
}

#[test]
fn different_numbers_of_clients_are_told() {
    let (cluster, securities) = world(TestTransport::Tcp, 3);
    let gathered = gather(&(cluster, securities), 2, |settings| {
        settings.clients = usize::from(settings.me != "site_b");
        settings.timeouts.connect = Duration::from_secs(5);
    });
    // The first party agrees with each of the others, and may have met both before they stop.
    let errors: Vec<String> =
        gathered.into_iter().filter_map(|it| it.err().map(|error| error.to_string())).collect();
    let is_told = |error: &String| error.contains("streams between the two");
    assert!(errors.iter().any(is_told), "{errors:?}");
}
