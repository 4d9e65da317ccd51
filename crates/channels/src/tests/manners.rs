//! Parties that speak TLS, nothing over TCP, or QUIC, each to one that speaks otherwise.

use std::time::Instant;

use super::*;

/// The two parties, each over its own.
fn meet(
    listener: TestTransport,
    dialler: TestTransport,
    patience: Duration,
) -> [(ChannelError, Duration); 2] {
    let cluster = local_cluster();
    let start = Instant::now();
    let connect_as = |me: &'static str, place: usize, over: TestTransport| {
        let cluster = cluster.clone().with_transport(over.transport());
        let security = securities(over, &cluster).into_iter().nth(place).expect("there are two");
        move || {
            let mut settings = settings(&cluster, me, &security);
            settings.timeouts.connect = patience;
            let error = connect_mesh(&settings, &mut |_| ()).err().expect("they cannot meet");
            (error, start.elapsed())
        }
    };
    let parties = [connect_as("site_a", 0, listener), connect_as("site_b", 1, dialler)];
    parties.map(thread::spawn).map(|party| party.join().expect("connecting does not panic"))
}

#[test]
fn each_says_how_the_other_one_speaks() {
    let patience = Duration::from_secs(8);
    thread::scope(|scope| {
        for listener in TestTransport::ALL {
            for dialler in TestTransport::ALL.into_iter().filter(|over| *over != listener) {
                scope.spawn(move || {
                    let [(at_a, waited_a), (at_b, waited_b)] = meet(listener, dialler, patience);
                    let manner = |over| match over {
                        TestTransport::Tcp => TransportKind::Plain,
                        TestTransport::Tls => TransportKind::Tls,
                        TestTransport::Quic => TransportKind::Quic,
                    };
                    for (error, ours, others) in
                        [(at_a, listener, dialler), (at_b, dialler, listener)]
                    {
                        let ChannelError::OtherManner { party, theirs, ours: said } = &error else {
                            panic!("{listener:?} {dialler:?}: {error}");
                        };
                        assert_eq!((*theirs, *said), (manner(others), manner(ours)));
                        assert!(party.contains("site_"), "{error}");
                    }
                    // The one who dialled knows at once; the other one, whom anybody may dial, waits.
                    assert!(waited_b < patience - Duration::from_secs(1), "{waited_b:?}");
                    assert!(waited_a >= patience, "{waited_a:?}");
                });
            }
        }
    });
}

#[test]
fn who_speaks_otherwise_does_not_end_the_wait() {
    for (over, stranger) in [
        (TestTransport::Tls, TestTransport::Tcp),
        (TestTransport::Tcp, TestTransport::Tls),
        (TestTransport::Quic, TestTransport::Tls),
    ] {
        let plain = local_cluster();
        let cluster = plain.clone().with_transport(over.transport());
        let both = securities(over, &cluster);
        let (a, b) = connect_both_with(&cluster, &both, |settings| {
            if settings.me == "site_b" {
                let other = plain.clone().with_transport(stranger.transport());
                let [_, security] = securities(stranger, &other);
                let told = connect(&super::settings(&other, "site_b", &security));
                let error = told.err().expect("they cannot meet");
                assert!(matches!(error, ChannelError::OtherManner { .. }), "{error}");
            }
        });
        close_both(a.expect("site_b came in the end"), b.expect("site_a was there"));
    }
}
