//! Sessions that work: bytes, agreements, ends, keep-alives, simulated networks.

use std::net::TcpStream;
use std::time::Instant;

use super::*;
use crate::tls::TlsRole;
use crate::transport::{ReadHalf, WriteHalf};

/// Sends `total` bytes of a pattern in pieces of awkward lengths.
fn send_pattern(channel: &mut FramedChannel, total: usize) -> Result<(), ChannelError> {
    let lengths = [1, 4096, 130_000, MAX_BORROW_BYTES, 77, 16 * 1024];
    let (mut sent, mut i) = (0, 0);
    while sent < total {
        let len = lengths[i % lengths.len()].min(total - sent);
        channel.send_with(len, |buffer| {
            for (at, byte) in buffer.iter_mut().enumerate() {
                *byte = pattern(sent + at);
            }
        })?;
        (sent, i) = (sent + len, i + 1);
    }
    channel.flush()
}

fn receive_pattern(channel: &mut FramedChannel, total: usize) -> Result<(), ChannelError> {
    let lengths = [99_999, 8, MAX_BORROW_BYTES, 1, 32 * 1024];
    let (mut received, mut i) = (0, 0);
    while received < total {
        let len = lengths[i % lengths.len()].min(total - received);
        channel.recv_with(len, |buffer| {
            assert!(buffer.iter().enumerate().all(|(at, &byte)| byte == pattern(received + at)));
        })?;
        (received, i) = (received + len, i + 1);
    }
    Ok(())
}

fn pattern(at: usize) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8
}

#[test]
fn many_bytes_both_ways_arrive_and_are_counted() -> Result<(), ChannelError> {
    const TOTAL: usize = 20_000_003;
    for over in TestTransport::ALL {
        let (mut a, mut b) = pair(over);
        let there = thread::spawn(move || -> Result<_, ChannelError> {
            for _ in 0..TOTAL / 500_000 {
                send_pattern(&mut b, 500_000)?;
                receive_pattern(&mut b, 500_000)?;
            }
            send_pattern(&mut b, TOTAL)?;
            receive_pattern(&mut b, TOTAL)?;
            Ok(b)
        });
        for _ in 0..TOTAL / 500_000 {
            send_pattern(&mut a, 500_000)?;
            receive_pattern(&mut a, 500_000)?;
        }
        receive_pattern(&mut a, TOTAL)?;
        send_pattern(&mut a, TOTAL)?;
        let b = there.join().expect("the other party does not panic")?;
        let payload = (TOTAL + TOTAL / 500_000 * 500_000) as u64;
        for channel in [&a, &b] {
            let expected = Traffic { sent_bytes: payload, received_bytes: payload };
            assert_eq!(channel.traffic(), expected);
            assert_eq!(channel.monitor().traffic(), expected);
        }
        let monitor = a.monitor();
        close_both(a, b);
        let wire = monitor.wire_traffic();
        let least = payload + if over == TestTransport::Tls { payload / 16_384 * 22 } else { 0 };
        for bytes in [wire.sent_bytes, wire.received_bytes] {
            assert!(bytes > least && bytes < least + least / 100, "{bytes} for {payload}");
        }
    }
    Ok(())
}

#[test]
fn both_parties_may_send_ahead_even_in_tiny_messages() -> Result<(), ChannelError> {
    for (over, piece) in
        [(TestTransport::Tcp, 64), (TestTransport::Tls, 64), (TestTransport::Tcp, SEND_AHEAD_BYTES)]
    {
        let (mut a, mut b) = pair(over);
        for channel in [&mut a, &mut b] {
            for _ in 0..SEND_AHEAD_BYTES / piece {
                channel.send(&vec![3; piece])?;
                channel.flush()?;
            }
        }
        let mut received = vec![0; SEND_AHEAD_BYTES];
        for channel in [&mut a, &mut b] {
            channel.recv(&mut received)?;
            assert!(received.iter().all(|&byte| byte == 3));
        }
        close_both(a, b);
    }
    Ok(())
}

#[test]
fn agreements_keep_their_place_in_the_stream() -> Result<(), ChannelError> {
    let (mut a, mut b) = pair(TestTransport::Tls);
    assert_eq!((a.peer(), b.peer()), ("site_b", "site_a"));
    assert_eq!(a.session(), b.session());
    let there = thread::spawn(move || -> Result<_, ChannelError> {
        assert_eq!(b.exchange(b"")?, b"hello");
        b.recv_with(4, |bytes| assert_eq!(bytes, b"data"))?;
        assert_eq!(b.exchange(&vec![9; CONTROL_BYTES_MAX])?, b"second");
        Ok(b)
    });
    assert_eq!(a.exchange(b"hello")?, b"");
    a.send(b"data")?;
    assert_eq!(a.exchange(b"second")?, vec![9; CONTROL_BYTES_MAX]);
    let too_long = a.exchange(&vec![0; CONTROL_BYTES_MAX + 1]);
    assert!(matches!(too_long, Err(ChannelError::ControlTooLong { .. })));
    close_both(a, there.join().expect("the other party does not panic")?);
    Ok(())
}

#[test]
fn what_is_sent_before_the_end_arrives() -> Result<(), ChannelError> {
    for over in TestTransport::ALL {
        let (mut a, mut b) = pair(over);
        let closing = thread::spawn(move || {
            a.send(&vec![1; 3 * SEND_AHEAD_BYTES])?;
            a.close()
        });
        thread::sleep(Duration::from_millis(50));
        b.recv(&mut vec![0; 3 * SEND_AHEAD_BYTES])?;
        let after = b.recv_with(1, |_| ());
        assert!(matches!(after, Err(ChannelError::Closed { .. })), "{after:?}");
        b.close()?;
        closing.join().expect("closing does not panic")?;
    }
    Ok(())
}

#[test]
fn unread_bytes_do_not_hinder_a_clean_end() -> Result<(), ChannelError> {
    for over in TestTransport::ALL {
        let (mut a, b) = pair(over);
        let sending = thread::spawn(move || {
            a.send(&vec![1; 8 * SEND_AHEAD_BYTES])?;
            a.close()
        });
        b.close()?;
        sending.join().expect("sending does not panic")?;
    }
    Ok(())
}

#[test]
fn keep_alives_bridge_a_long_silence() -> Result<(), ChannelError> {
    for over in TestTransport::ALL {
        let (mut a, mut b) = pair_with(over, |settings| {
            settings.timeouts.keep_alive = Duration::from_millis(30);
            settings.timeouts.lost = Duration::from_millis(700);
        });
        let monitor = b.monitor();
        let receiving = thread::spawn(move || -> Result<_, ChannelError> {
            b.recv_with(4, |bytes| assert_eq!(bytes, b"late"))?;
            Ok(b)
        });
        thread::sleep(Duration::from_millis(1500));
        let waited = monitor.waiting().expect("site_b waits");
        assert!(waited > Duration::from_secs(1), "{waited:?}");
        a.send(b"late")?;
        a.flush()?;
        let b = receiving.join().expect("receiving does not panic")?;
        assert_eq!(monitor.waiting(), None);
        assert_eq!(monitor.traffic().received_bytes, 4);
        close_both(a, b);
    }
    Ok(())
}

/// A party that has waited sends its first bytes before anybody asks for it; the other one has them although nothing was
/// flushed.
#[test]
fn first_bytes_after_a_wait_leave_at_once() -> Result<(), ChannelError> {
    const LENGTH: usize = 20 * 1024;
    for over in [TestTransport::Tcp, TestTransport::Tls] {
        let (mut a, mut b) = pair(over);
        let there = thread::spawn(move || -> Result<_, ChannelError> {
            // Buffers of the system grow with what goes through them.
            receive_pattern(&mut b, 1_000_000)?;
            b.send(&[1])?;
            b.flush()?;
            receive_pattern(&mut b, LENGTH)?;
            b.send(&[2])?;
            b.flush()?;
            Ok(b)
        });
        send_pattern(&mut a, 1_000_000)?;
        a.recv(&mut [0])?;
        // Its sending thread rests by then.
        thread::sleep(Duration::from_millis(50));
        a.send_with(LENGTH, |buffer| {
            buffer.iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern(at));
        })?;
        // Without a flush: this would wait for ever if the bytes were still here.
        a.recv(&mut [0])?;
        close_both(a, there.join().expect("it does not panic")?);
    }
    Ok(())
}

#[test]
fn a_simulated_round_trip_takes_its_time() -> Result<(), ChannelError> {
    const RTT: Duration = Duration::from_millis(60);
    const ROUNDS: u32 = 5;
    let (mut a, mut b) = pair_with(TestTransport::Tcp, |settings| {
        settings.network = Some(NetworkModel::parse("rtt=60ms").expect("this is a network"));
    });
    let echo = thread::spawn(move || -> Result<_, ChannelError> {
        for _ in 0..ROUNDS {
            let word = b.recv_with(8, |bytes| bytes.to_vec())?;
            b.send(&word)?;
            b.flush()?;
        }
        Ok(b)
    });
    let start = Instant::now();
    for _ in 0..ROUNDS {
        a.send(b"question")?;
        a.flush()?;
        a.recv_with(8, |bytes| assert_eq!(bytes, b"question"))?;
    }
    let took = start.elapsed();
    assert!(took >= RTT * ROUNDS && took < RTT * ROUNDS * 3, "{took:?}");
    close_both(a, echo.join().expect("the echo does not panic")?);
    Ok(())
}

#[test]
fn a_simulated_line_has_its_bandwidth_and_hides_no_latency() -> Result<(), ChannelError> {
    // 2.5 MB at 20 Mbit/s take 1 s; 40 ms one way come once, not per message.
    const BYTES: usize = 2_500_000;
    let (mut a, mut b) = pair_with(TestTransport::Tls, |settings| {
        let network = NetworkModel::parse("rtt=80ms, bw=20mbit").expect("this is a network");
        settings.network = Some(network);
    });
    let start = Instant::now();
    let sending = thread::spawn(move || -> Result<_, ChannelError> {
        for _ in 0..BYTES / 10_000 {
            a.send(&[5; 10_000])?;
            a.flush()?;
        }
        Ok(a)
    });
    b.recv(&mut vec![0; BYTES])?;
    let took = start.elapsed();
    let expected = Duration::from_millis(1040);
    assert!(took >= expected && took < expected * 2, "{took:?}");
    close_both(sending.join().expect("sending does not panic")?, b);
    Ok(())
}

#[test]
fn network_models_are_read_or_refused() {
    let model = NetworkModel::parse("rtt=40ms,bw=100mbit").expect("this is a network");
    assert_eq!(model.rtt, Duration::from_millis(40));
    assert_eq!(model.bandwidth_bits_per_second, Some(100_000_000));
    let model = NetworkModel::parse("bw=2.5gbit").expect("this is a network");
    assert_eq!(model.rtt, Duration::ZERO);
    assert_eq!(model.bandwidth_bits_per_second, Some(2_500_000_000));
    assert_eq!(NetworkModel::parse("rtt=500us").expect("a network").rtt.as_micros(), 500);
    for wrong in [
        "",
        "rtt",
        "rtt=40",
        "rtt=-1ms",
        "rtt=20s",
        "rtt=1ms,rtt=1ms",
        "bw=1",
        "bw=1kbit",
        "bw=NaNmbit",
        "loss=1%",
        "rtt=40ms bw=1gbit",
        "rtt=2s,bw=1gbit",
        "bw=99999gbit",
        "rtt=..s",
    ] {
        let refused = NetworkModel::parse(wrong).expect_err(wrong);
        assert!(!refused.to_string().is_empty(), "{wrong}");
    }
}

#[test]
fn tls_keys_are_replaced_in_time() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let dialled = TcpStream::connect(listener.local_addr()?)?;
    let (accepted, _) = listener.accept()?;
    let [a, b] = ["site_a", "site_b"]
        .map(|name| Identity::ephemeral(name).expect("the system has randomness"));
    let (trusted_a, trusted_b) = (a.fingerprint(), b.fingerprint());
    let deadline = Instant::now() + Duration::from_secs(10);
    let listening = thread::spawn(move || {
        crate::tls::handshake(&accepted, deadline, TlsRole::Listener, &a, &[trusted_b]).ok()
    });
    let dialling =
        crate::tls::handshake(&dialled, deadline, TlsRole::Dialler, &b, &[trusted_a]).ok();
    let (_, mut sink, _) = dialling.ok_or("no connection")?;
    let listened = listening.join().expect("the handshake does not panic");
    let (mut source, _, key) = listened.ok_or("no connection")?;

    assert_eq!(key, trusted_b);

    // 100 messages of three records, and a new key after each seven records.
    sink.set_records_per_key(7);
    let message: Vec<u8> = (0..40_000).map(pattern).collect();
    let expected = message.clone();
    let sending = thread::spawn(move || {
        for _ in 0..100 {
            sink.write(b"header", &message).expect("the peer reads");
        }
        sink.close().expect("the peer reads");
        sink.wire_bytes()
    });
    for _ in 0..100 {
        let mut received = vec![0; 6 + expected.len()];
        let mut filled = 0;
        while filled < received.len() {
            let read = source.read(&mut received[filled..], &mut []).expect("records are good");
            assert!(read > 0, "the stream ends early");
            filled += read;
        }
        assert!(received.starts_with(b"header") && received.ends_with(&expected));
    }
    assert_eq!(source.read(&mut [0], &mut []).expect("the end is clean"), 0);
    let wire_bytes = sending.join().expect("sending does not panic");
    assert_eq!(wire_bytes, source.wire_bytes());
    // Three records a message and a close, and 27 bytes for each of the 42 key updates.
    assert_eq!(wire_bytes, 100 * (6 + 40_000 + 3 * 22) + (2 + 22) + 42 * (5 + 22));
    Ok(())
}
