//! A peer that breaks off, lies, keeps silent or gives up. The peer is played by hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;
use crate::hello::{self, Hello};

/// Dials a listening party and says this hello; returns the stream, and the nonce heard.
pub(super) fn fake_hello(port: u16, content: &Hello) -> (TcpStream, hello::Nonce) {
    let mut stream = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    };
    let content = content.to_bytes();
    let length = content.len() as u32;
    let header =
        MessageHeader { kind: MessageKind::Hello, length, session: 0, stream: 0, sequence: 0 };
    stream.write_all(&header.to_bytes()).expect("the party reads");
    stream.write_all(&content).expect("the party reads");
    let mut bytes = [0; HEADER_BYTES];
    stream.read_exact(&mut bytes).expect("the party answers");
    let header = parse_header(&bytes).expect("the party sends messages");
    let mut answer = vec![0; header.length as usize];
    stream.read_exact(&mut answer).expect("the party answers");
    (stream, Hello::parse(&answer).expect("the party says hello").nonce)
}

/// The hello of a `site_b` to a `site_a`, no one else being there.
pub(super) fn hello_of_b() -> Hello {
    Hello {
        protocol_version: PROTOCOL_VERSION,
        nonce: [5; 16],
        program_version: "fake".to_owned(),
        sender: "site_b".to_owned(),
        receiver: "site_a".to_owned(),
        purpose: "a test".to_owned(),
        instance: [6; 16],
        parties: 2,
        streams: 1,
        stream: 0,
        verdict: hello::HelloVerdict::Welcome,
    }
}

/// A session between a real `site_a` and a `site_b` that is only a socket.
struct Fake {
    socket: TcpStream,
    session: u64,
    stream: u16,
}

impl Fake {
    fn send(&mut self, kind: MessageKind, length: usize, sequence: u64, payload: &[u8]) {
        let (length, session) = (length as u32, self.session);
        let header = MessageHeader { kind, length, session, stream: self.stream, sequence };
        // The party may have hung up already, which some tests want.
        let _ = self.socket.write_all(&[&header.to_bytes()[..], payload].concat());
    }

    /// Reads messages until one that is no keep-alive.
    fn next_message(&mut self) -> Option<(MessageHeader, Vec<u8>)> {
        loop {
            let mut bytes = [0; HEADER_BYTES];
            self.socket.read_exact(&mut bytes).ok()?;
            let header = parse_header(&bytes).expect("the party sends messages");
            let mut payload = vec![0; header.length as usize];
            self.socket.read_exact(&mut payload).ok()?;
            if header.kind != MessageKind::KeepAlive {
                return Some((header, payload));
            }
        }
    }
}

fn with_fake(change: impl Fn(&mut MeshSettings<'_>) + Sync) -> (FramedChannel, Fake) {
    let cluster = local_cluster();
    let [security, _] = securities(TestTransport::Tcp, &cluster);
    let port = port_of(&cluster.parties()[0]);
    let peer = thread::spawn(move || {
        let (stream, nonce) = fake_hello(port, &hello_of_b());
        Fake { socket: stream, session: hello::session(&nonce, &[5; 16]), stream: 0 }
    });
    let mut settings = settings(&cluster, "site_a", &security);
    change(&mut settings);
    let channel = connect(&settings).expect("the fake peer connects");
    (channel, peer.join().expect("the fake peer does not panic"))
}

/// After an error every call fails, and soon.
fn assert_dead(channel: &mut FramedChannel) {
    let start = Instant::now();
    assert!(channel.recv_with(1, |_| ()).is_err());
    assert!(channel.send(&[0; 1]).and_then(|()| channel.flush()).is_err());
    assert!(channel.exchange(b"").is_err());
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_peer_that_closes_mid_message_is_reported() {
    let (mut channel, mut fake) = with_fake(|_| ());
    fake.send(MessageKind::Data, 1000, 0, &[7; 600]);
    drop(fake);
    channel.recv_with(600, |bytes| assert_eq!(bytes, [7; 600])).expect("these came");
    let error = channel.recv_with(400, |_| ()).expect_err("these did not");
    assert_eq!(error.to_string(), "site_b closed the connection");
    assert_dead(&mut channel);
}

#[test]
fn a_peer_that_is_killed_is_noticed_at_once() {
    for over in TestTransport::ALL {
        let (mut a, b) = pair(over);
        FramedChannel::kill(std::iter::once(&b));
        let start = Instant::now();
        let error = a.recv_with(1, |_| ()).expect_err("the connection is cut");
        assert!(matches!(error, ChannelError::Closed { .. }), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_dead(&mut a);
    }
}

#[test]
fn a_silent_peer_is_lost() {
    let (mut channel, _fake) = with_fake(|settings| {
        settings.timeouts.lost = Duration::from_secs(1);
        settings.timeouts.keep_alive = Duration::from_millis(200);
    });
    let start = Instant::now();
    let error = channel.recv_with(1, |_| ()).expect_err("nothing comes");
    let text = error.to_string();
    assert!(matches!(error, ChannelError::Lost { seconds: 1, .. }), "{text}");
    assert!(text.starts_with("nothing was heard from site_b for 1 s"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_dead(&mut channel);
}

#[test]
fn a_sender_learns_that_its_peer_is_lost() {
    let (mut channel, _fake) = with_fake(|settings| {
        settings.timeouts.lost = Duration::from_secs(1);
        settings.timeouts.keep_alive = Duration::from_millis(200);
    });
    // More than the channel's and the kernel's buffers hold: the peer does not read.
    let error = channel.send(&vec![0; 64 << 20]).expect_err("nobody takes this");
    assert!(matches!(error, ChannelError::Lost { .. }), "{error}");
}

#[test]
fn a_party_sends_keep_alives() {
    let (_channel, mut fake) = with_fake(|settings| {
        settings.timeouts.keep_alive = Duration::from_millis(20);
    });
    for _ in 0..5 {
        let mut bytes = [0; HEADER_BYTES];
        fake.socket.read_exact(&mut bytes).expect("the party is alive");
        assert_eq!(parse_header(&bytes).map(|header| header.kind), Ok(MessageKind::KeepAlive));
    }
}

/// Garbage gives this fault at the party, and an abort at the peer.
fn expect_fault(expected: MessageError, misbehave: impl FnOnce(&mut Fake)) {
    let (mut channel, mut fake) = with_fake(|_| ());
    misbehave(&mut fake);
    match channel.recv_with(1, |_| ()) {
        Err(ChannelError::Misbehaved { party, fault }) => {
            assert_eq!((party.as_str(), fault), ("site_b", expected));
        }
        other => panic!("expected {expected}, got {other:?}"),
    }
    assert_dead(&mut channel);
    let (header, payload) = fake.next_message().expect("the party says that it aborts");
    assert_eq!((header.kind, payload), (MessageKind::Abort, vec![AbortReason::Misbehaved as u8]));
    assert!(fake.next_message().is_none(), "nothing follows an abort");
}

#[test]
fn every_kind_of_garbage_is_told_apart() {
    expect_fault(MessageError::NotPhineus, |fake| {
        fake.socket.write_all(&[0xaa; 100]).expect("the party reads");
    });
    expect_fault(MessageError::Length { kind: MessageKind::Data, length: u32::MAX }, |fake| {
        fake.send(MessageKind::Data, u32::MAX as usize, 0, b"");
    });
    expect_fault(MessageError::Sequence { expected: 0, found: 8 }, |fake| {
        fake.send(MessageKind::Data, 1, 8, b"x");
    });
    expect_fault(MessageError::Sequence { expected: 1, found: 0 }, |fake| {
        fake.send(MessageKind::KeepAlive, 0, 0, b"");
        fake.send(MessageKind::Data, 1, 0, b"x");
    });
    expect_fault(MessageError::Stream { expected: 0, found: 3 }, |fake| {
        fake.stream = 3;
        fake.send(MessageKind::Data, 1, 0, b"x");
    });
    expect_fault(MessageError::Abort, |fake| {
        fake.send(MessageKind::Abort, 5, 0, b"\x05\x1b[2J");
    });
    expect_fault(MessageError::Session, |fake| {
        fake.session ^= 1;
        fake.send(MessageKind::Data, 1, 0, b"x");
    });
    expect_fault(
        MessageError::Order { expected: MessageKind::Data, found: MessageKind::Agreement },
        |fake| {
            fake.send(MessageKind::Agreement, 1, 0, b"x");
        },
    );
    expect_fault(
        MessageError::Order { expected: MessageKind::Data, found: MessageKind::Hello },
        |fake| {
            fake.send(MessageKind::Hello, 1, 0, b"x");
        },
    );
    expect_fault(MessageError::UnknownKind { code: 77 }, |fake| {
        let (kind, session) = (MessageKind::Data, fake.session);
        let header = MessageHeader { kind, length: 1, session, stream: 0, sequence: 0 };
        let mut bytes = header.to_bytes();
        bytes[3] = 77;
        fake.socket.write_all(&bytes).expect("the party reads");
    });
}

#[test]
fn data_where_an_agreement_belongs_is_refused() {
    let (mut channel, mut fake) = with_fake(|_| ());
    fake.send(MessageKind::Data, 1, 0, b"x");
    let error = channel.exchange(b"agreed?").expect_err("the peer sends data");
    let expected =
        MessageError::Order { expected: MessageKind::Agreement, found: MessageKind::Data };
    match error {
        ChannelError::Misbehaved { fault, .. } => assert_eq!(fault, expected),
        other => panic!("{other}"),
    }
    assert_dead(&mut channel);
}

#[test]
fn random_bytes_end_a_session_with_an_error() {
    let mut runner = TestRunner::new(ProptestConfig::with_cases(12));
    let garbage = proptest::collection::vec(any::<u8>(), 1..5000);
    let outcome = runner.run(&(garbage, any::<bool>()), |(garbage, well_begun)| {
        let (mut channel, mut fake) = with_fake(|_| ());
        if well_begun {
            fake.send(MessageKind::Data, 10, 0, &[1; 10]);
        }
        // The party may hang up before it has all of it.
        let _ = fake.socket.write_all(&garbage);
        drop(fake);
        let mut received = vec![0; 20_000];
        prop_assert!(channel.recv(&mut received).is_err());
        Ok(())
    });
    outcome.expect("no garbage is taken for data without an error");
}

#[test]
fn a_party_that_gives_up_says_so() {
    for over in TestTransport::ALL {
        let (a, mut b) = pair(over);
        a.abort(AbortReason::Interrupted);
        let error = b.recv_with(1, |_| ()).expect_err("the peer is gone");
        assert_eq!(error.to_string(), "site_a stopped: interrupted by its user");
        assert_dead(&mut b);

        let (a, mut b) = pair(over);
        drop(a);
        match b.send(&vec![0; 64 << 20]).expect_err("the peer is gone") {
            ChannelError::PeerAborted { party, reason } => {
                assert_eq!((party.as_str(), reason), ("site_a", AbortReason::Failed));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_party_that_gives_up_while_its_peer_sends_is_heard() {
    for over in TestTransport::ALL {
        let (a, mut b) = pair(over);
        let sending = thread::spawn(move || b.send(&vec![0; 256 << 20]));
        thread::sleep(Duration::from_millis(100));
        a.abort(AbortReason::Failed);
        let error = sending.join().expect("sending does not panic").expect_err("the peer is gone");
        assert!(matches!(error, ChannelError::PeerAborted { .. }), "{error}");
    }
}

#[test]
fn a_close_that_the_peer_does_not_answer_is_an_error() {
    let (channel, fake) = with_fake(|settings| {
        settings.timeouts.lost = Duration::from_secs(1);
    });
    let error = channel.close().expect_err("the peer says no bye");
    assert!(matches!(error, ChannelError::Lost { .. }), "{error}");
    drop(fake);
    let (channel, fake) = with_fake(|_| ());
    drop(fake);
    let error = channel.close().expect_err("the peer says no bye");
    assert!(matches!(error, ChannelError::Closed { .. }), "{error}");
}

#[test]
fn a_changed_record_is_refused() {
    // A man in the middle who changes one byte of a session: TLS notices, nothing is delivered.
    let cluster = local_cluster();
    let [a, b] = cluster.parties() else { panic!("two parties") };
    let (real, front) = (port_of(a), free_port());
    let dialled = ClusterConfig::local([("site_a", front), ("site_b", port_of(b))]);
    let [security_a, security_b] = securities(TestTransport::Tls, &cluster);
    let listener = TcpListener::bind(("127.0.0.1", front)).expect("the port is free");
    thread::scope(|scope| {
        let party_a = scope.spawn(|| connect(&settings(&cluster, "site_a", &security_a)));
        scope.spawn(move || {
            let (from_b, _) = listener.accept().expect("site_b dials");
            let to_a = loop {
                match TcpStream::connect(("127.0.0.1", real)) {
                    Ok(stream) => break stream,
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            };
            let (mut back_from, mut back_to) =
                (to_a.try_clone().expect("a socket"), from_b.try_clone().expect("a socket"));
            thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
            relay_and_change(from_b, to_a);
        });
        let mut b = connect(&settings(&dialled, "site_b", &security_b))
            .expect("the man in the middle lets the handshake pass");
        let mut a = party_a
            .join()
            .expect("connecting does not panic")
            .expect("the man in the middle lets the handshake pass");
        b.send(&vec![1; 100_000]).and_then(|()| b.flush()).expect("it leaves");
        match a.recv(&mut vec![0; 100_000]).expect_err("a byte was changed") {
            ChannelError::Misbehaved { fault: MessageError::Tls { .. }, .. } => {}
            other => panic!("{other}"),
        }
    });
}

/// Passes on what comes, with one bit of byte 50,000 turned.
fn relay_and_change(mut from: TcpStream, mut to: TcpStream) {
    let (mut passed, mut buffer) = (0, [0; 4096]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if (passed..passed + count).contains(&50_000) {
            buffer[50_000 - passed] ^= 4;
        }
        passed += count;
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn another_thread_can_end_a_session() {
    let (mut a, mut b) = pair(TestTransport::Tls);
    let aborter = a.aborter();
    let waiting = thread::spawn(move || a.recv_with(1, |_| ()));
    thread::sleep(Duration::from_millis(50));
    aborter.abort(AbortReason::Interrupted);
    let error = waiting.join().expect("receiving does not panic").expect_err("it was ended");
    assert!(matches!(error, ChannelError::Stopped { .. }), "{error}");
    let error = b.recv_with(1, |_| ()).expect_err("the peer is gone");
    assert_eq!(error.to_string(), "site_a stopped: interrupted by its user");
}
