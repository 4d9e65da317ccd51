//! Start order, keys, names, versions, ports.

use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

use super::*;
use crate::hello::Hello;

fn short(settings: &mut MeshSettings<'_>) {
    settings.timeouts.connect = Duration::from_secs(1);
}

fn failed(result: Connecting) -> ChannelError {
    match result {
        Ok(_) => panic!("this connection must not be made"),
        Err(error) => error,
    }
}

#[test]
fn either_party_may_start_first() -> Result<(), ChannelError> {
    for over in TestTransport::ALL {
        for late in ["site_a", "site_b"] {
            let cluster = local_cluster().with_transport(over.transport());
            let both = securities(over, &cluster);
            let (a, b) = connect_both_with(&cluster, &both, |settings| {
                if settings.me == late {
                    thread::sleep(Duration::from_millis(200));
                }
            });
            let (mut a, mut b) = (a?, b?);
            a.send(b"x")?;
            a.flush()?;
            b.recv_with(1, |bytes| assert_eq!(bytes, b"x"))?;
            close_both(a, b);
        }
    }
    Ok(())
}

#[test]
fn waiting_is_reported_and_ends() {
    let cluster = local_cluster();
    let [security_a, security_b] = securities(TestTransport::Tls, &cluster);
    for (me, peer, security) in
        [("site_a", "site_b", &security_a), ("site_b", "site_a", &security_b)]
    {
        let mut settings = settings(&cluster, me, security);
        settings.timeouts.connect = Duration::from_millis(2300);
        let (mut reports, start) = (0, Instant::now());
        let error = failed(
            connect_mesh(&settings, &mut |waiting| {
                assert_eq!(waiting.missing, [peer]);
                reports += 1;
            })
            .map(only_channel),
        );
        assert!((2..=4).contains(&reports), "{reports}");
        assert!(start.elapsed() < Duration::from_secs(15));
        let text = error.to_string();
        match error {
            ChannelError::NobodyCame { .. } => assert_eq!(me, "site_a"),
            ChannelError::Unreachable { .. } => assert_eq!(me, "site_b"),
            _ => panic!("{text}"),
        }
        assert!(text.contains(peer) && text.contains("within 2 s"), "{text}");
    }
}

/// A party with a port says at the end of its patience why it turned somebody away.
fn soon(settings: &mut MeshSettings<'_>) {
    settings.timeouts.connect = Duration::from_secs(4);
}

#[test]
fn a_wrong_key_is_reported_on_both_sides() {
    for wrong_side in ["site_a", "site_b"] {
        let cluster = local_cluster();
        let [a, b, other] = ["site_a", "site_b", "other"]
            .map(|name| Identity::ephemeral(name).expect("the system has randomness"));
        let (print_a, print_b, stranger) = (a.fingerprint(), b.fingerprint(), other.fingerprint());
        let (trusted_a, trusted_b) =
            if wrong_side == "site_a" { (stranger, print_b) } else { (print_a, stranger) };
        let both = [tls(a, "site_b", Some(trusted_b)), tls(b, "site_a", Some(trusted_a))];
        let (at_a, at_b) = connect_both_with(&cluster, &both, soon);
        let (refusing, refused) = if wrong_side == "site_a" { (at_b, at_a) } else { (at_a, at_b) };
        match failed(refusing) {
            ChannelError::WrongKey { party, presented, trusted } => {
                assert_eq!(party, wrong_side);
                assert_eq!(presented, if wrong_side == "site_a" { print_a } else { print_b });
                assert_eq!(trusted, stranger);
            }
            other => panic!("{other}"),
        }
        match failed(refused) {
            ChannelError::KeyRefused { me, fingerprint, .. } => {
                assert_eq!(me, wrong_side);
                assert_eq!(fingerprint, if wrong_side == "site_a" { print_a } else { print_b });
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn strangers_do_not_end_the_wait() {
    for over in [TestTransport::Tls, TestTransport::Quic] {
        let cluster = local_cluster().with_transport(over.transport());
        let securities = securities(over, &cluster);
        let ConnectionSecurity::Tls { trusted, .. } = &securities[1] else { panic!("keys") };
        let key = trusted.fingerprint("site_a").expect("site_b trusts site_a");
        let other = Identity::ephemeral("site_b").expect("the system has randomness");
        let stranger = tls(other, "site_a", Some(key));
        let notes = std::sync::Mutex::new(Vec::new());
        thread::scope(|scope| {
            let (cluster, securities, notes) = (&cluster, &securities, &notes);
            let a = scope.spawn(move || {
                connect_mesh(&settings(cluster, "site_a", &securities[0]), &mut |waiting| {
                    let text = waiting.turned_away.as_ref().map(ToString::to_string);
                    notes.lock().expect("nobody panicked").extend(text);
                })
                .map(only_channel)
            });
            let refused = failed(connect(&settings(cluster, "site_b", &stranger)));
            assert!(matches!(refused, ChannelError::KeyRefused { .. }), "{refused}");
            while notes.lock().expect("nobody panicked").is_empty() {
                thread::sleep(Duration::from_millis(50));
            }
            // The one who was waited for.
            let b = connect(&settings(cluster, "site_b", &securities[1]));
            let (mut a, mut b) = (a.join().expect("no panic").expect("a mesh"), b.expect("a mesh"));
            a.send(b"at last").expect("both are there");
            a.flush().expect("both are there");
            let mut text = [0; 7];
            b.recv(&mut text).expect("both are there");
            assert_eq!(&text, b"at last");
        });
    }
}

#[test]
fn an_unknown_key_comes_with_the_command_to_trust_it() {
    let cluster = local_cluster();
    let [a, b] = ["site_a", "site_b"]
        .map(|name| Identity::ephemeral(name).expect("the system has randomness"));
    let (print_a, print_b) = (a.fingerprint(), b.fingerprint());
    let both = [tls(a, "site_b", None), tls(b, "site_a", Some(print_a))];
    let (at_a, at_b) = connect_both_with(&cluster, &both, soon);
    let text = failed(at_a).to_string();
    assert!(text.contains(&format!("`phineus id trust site_b {print_b}`")), "{text}");
    let text = failed(at_b).to_string();
    assert!(text.contains(&format!("`phineus id trust site_b {print_b}`")), "{text}");
}

#[test]
fn a_name_that_is_somebody_else_is_reported() {
    // Both sides start, but site_b's configuration calls this party site_c.
    let cluster = local_cluster();
    let [a, b] = cluster.parties() else { panic!("two parties") };
    let other = ClusterConfig::local([("site_a", port_of(a)), ("site_c", port_of(b))]);
    let [security_a, security_c] = securities(TestTransport::Tcp, &cluster);
    let (at_a, at_c) = thread::scope(|scope| {
        let c = scope.spawn(|| connect(&settings(&other, "site_c", &security_c)));
        let a = connect(&settings(&cluster, "site_a", &security_a));
        (a, c.join().expect("connecting does not panic"))
    });
    match failed(at_a) {
        ChannelError::WrongParty { party, found } => {
            assert_eq!((party.as_str(), found.as_str()), ("site_b", "site_c"));
        }
        other => panic!("{other}"),
    }
    match failed(at_c) {
        ChannelError::WrongSelf { party, expected, me } => {
            assert_eq!((party.as_str(), expected.as_str()), ("site_a", "site_b"));
            assert_eq!(me, "site_c");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn another_version_is_reported_with_both() {
    let cluster = local_cluster();
    let [security_a, _] = securities(TestTransport::Tcp, &cluster);
    let port = port_of(&cluster.parties()[0]);
    let future = thread::spawn(move || {
        let content = Hello {
            protocol_version: PROTOCOL_VERSION + 6,
            program_version: "phineus 9.9".to_owned(),
            ..super::failures::hello_of_b()
        };
        super::failures::fake_hello(port, &content)
    });
    let error = failed(connect(&settings(&cluster, "site_a", &security_a)));
    let text = error.to_string();
    let theirs = PROTOCOL_VERSION + 6;
    let is_named =
        matches!(error, ChannelError::Incompatible { theirs: named, .. } if named == theirs);
    assert!(is_named, "{text}");
    let said = format!("phineus 9.9 (protocol {theirs})");
    assert!(text.contains(&said) && text.contains("phineus test"), "{text}");
    drop(future.join().expect("the fake peer does not panic"));
}

/// A TLS handshake record whose content is none.
const FALSE_HANDSHAKE: [u8; 69] = {
    let mut bytes = [0x5a; 69];
    (bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]) = (22, 3, 1, 0, 64);
    bytes
};

#[test]
fn strangers_at_the_port_do_not_matter() -> Result<(), ChannelError> {
    for over in [TestTransport::Tcp, TestTransport::Tls] {
        let cluster = local_cluster();
        let both = securities(over, &cluster);
        let port = port_of(&cluster.parties()[0]);
        let stranger = move || {
            for greeting in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 300], &FALSE_HANDSHAKE, &[]] {
                let mut stream = loop {
                    match TcpStream::connect(("127.0.0.1", port)) {
                        Ok(stream) => break stream,
                        Err(_) => thread::sleep(Duration::from_millis(10)),
                    }
                };
                // The party may hang up at any moment, which is as good.
                let _ = stream.write_all(greeting);
            }
        };
        let (a, b) = connect_both_with(&cluster, &both, |settings| {
            if settings.me == "site_b" {
                stranger();
            }
        });
        close_both(a?, b?);
    }
    Ok(())
}

#[test]
fn a_port_in_use_is_reported() {
    let cluster = local_cluster();
    let [security, _] = securities(TestTransport::Tls, &cluster);
    let port = port_of(&cluster.parties()[0]);
    let _squatter = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    let error = failed(connect(&settings(&cluster, "site_a", &security)));
    let text = error.to_string();
    assert!(matches!(error, ChannelError::PortInUse { .. }), "{text}");
    assert!(text.contains(&format!("port {port} of 127.0.0.1 is in use")), "{text}");
}

#[test]
fn wrong_settings_are_reported() {
    let parse = |text: &str| {
        ClusterConfig::parse(std::path::Path::new("cluster.toml"), text).expect("a cluster")
    };
    let remote = parse(
        "[[party]]\nname = 'site_a'\naddress = 'host.invalid:7'\n\
         [[party]]\nname = 'site_b'\naddress = '192.0.2.1:8'\nbind = '192.0.2.1:8'\n",
    );
    let text = PlainLoopback::new(&remote).expect_err("not on this machine").to_string();
    assert!(text.starts_with("site_a is at host.invalid:7, which is not this machine"), "{text}");
    let open = parse(
        "[[party]]\nname = 'a'\naddress = '127.0.0.1:7'\n\
         [[party]]\nname = 'b'\naddress = '127.0.0.1:8'\nbind = '0.0.0.0:8'\n",
    );
    assert!(PlainLoopback::new(&open).is_err(), "the port would be open to others");

    let identity = Identity::ephemeral("site_b").expect("the system has randomness");
    let security = tls(identity, "site_a", None);
    let mut unknown_host = settings(&remote, "site_b", &security);
    short(&mut unknown_host);
    let text = failed(connect(&unknown_host)).to_string();
    assert!(text.starts_with("the host of site_a, host.invalid, is unknown"), "{text}");

    let text = failed(connect(&settings(&remote, "site_x", &security))).to_string();
    assert_eq!(
        text,
        "site_x is not in cluster.toml, which has site_a, site_b; check the name given with --as"
    );
    let text = failed(connect(&settings(&remote, "site_a", &security))).to_string();
    assert!(text.contains("phineus id init site_a"), "{text}");

    let reversed = parse(
        "[[party]]\nname = 'site_b'\naddress = '192.0.2.1:8'\nbind = '192.0.2.1:8'\n\
         [[party]]\nname = 'site_a'\naddress = '127.0.0.1:7'\n",
    );
    let error = failed(connect(&settings(&reversed, "site_b", &security)));
    assert!(matches!(error, ChannelError::CannotListen { .. }), "{error}");
}
