//! Two channels joined inside one process, for tests, simulation and `--protocol` dry runs.
//!
//! The same buffers and bounds as over a network: what one end sends arrives after a flush or a
//! full buffer, and a sender [`SEND_AHEAD_BYTES`] ahead waits for its peer.

use std::time::{Duration, Instant};

use crate::limits::{INCOMING_BUFFERS, buffer_bytes, incoming_buffers};
use crate::pipe::{NoDataReason, Pipe, PipeEnd, PipeReader, PipeWriter};
use crate::{Channel, ChannelError, SEND_AHEAD_BYTES, SEND_AHEAD_BYTES_MIN, Traffic};

/// How long an end waits for bytes before it takes the other one for lost: longer than any
/// computation of a test, so that a missing flush fails instead of hanging for ever.
const PATIENCE: Duration = Duration::from_secs(300);

/// One end of a pair that lives in one process.
pub struct MemoryChannel {
    outlet: PipeWriter,
    inlet: PipeReader,
    peer: String,
    traffic: Traffic,
    ahead_bytes: usize,
    outgoing: std::sync::Arc<Pipe>,
    incoming: std::sync::Arc<Pipe>,
}

/// A pair of connected channels whose ends are called `site_a` and `site_b`.
pub fn memory_pair() -> (MemoryChannel, MemoryChannel) {
    memory_pair_named("site_a", "site_b")
}

/// A pair of connected channels: the first belongs to party `first`, the second to `second`.
pub fn memory_pair_named(first: &str, second: &str) -> (MemoryChannel, MemoryChannel) {
    let (there, back) = (Pipe::new(INCOMING_BUFFERS), Pipe::new(INCOMING_BUFFERS));
    let end = |outgoing: &std::sync::Arc<Pipe>, incoming: &std::sync::Arc<Pipe>, peer: &str| {
        MemoryChannel {
            outlet: PipeWriter::new(outgoing.clone()),
            inlet: PipeReader::new(incoming.clone()),
            peer: peer.to_owned(),
            traffic: Traffic::default(),
            ahead_bytes: SEND_AHEAD_BYTES,
            outgoing: outgoing.clone(),
            incoming: incoming.clone(),
        }
    };
    (end(&there, &back, second), end(&back, &there, first))
}

impl MemoryChannel {
    /// The name of the party at the other end.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// As [`FramedChannel::set_ahead`](crate::FramedChannel::set_ahead).
    ///
    /// # Panics
    /// If it is less than the least.
    pub fn set_ahead(&mut self, ahead_bytes: usize) {
        let before = self.ahead_bytes;
        assert!(ahead_bytes >= SEND_AHEAD_BYTES_MIN, "a slice, and one that the peer is behind");
        let buffers = [incoming_buffers(before), incoming_buffers(ahead_bytes)];
        self.incoming.resize(buffers, buffer_bytes(ahead_bytes));
        self.ahead_bytes = ahead_bytes;
    }

    fn closed(&self) -> ChannelError {
        ChannelError::Closed { party: self.peer.clone() }
    }

    fn ended(&self, end: PipeEnd) -> ChannelError {
        match end {
            PipeEnd::Finished => self.closed(),
            PipeEnd::Broken(error) => error,
        }
    }
}

impl Channel for MemoryChannel {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let result = self.outlet.lend(len, fill);
        let result = result.map_err(|end| self.ended(end))?;
        self.traffic.sent_bytes += len as u64;
        Ok(result)
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        let deadline = (!self.inlet.holds(len)).then(|| Instant::now() + PATIENCE);
        let result = self.inlet.lend(len, deadline, read).map_err(|dry| match dry {
            NoDataReason::End(end) => self.ended(end),
            NoDataReason::TimedOut => {
                ChannelError::Lost { party: self.peer.clone(), seconds: PATIENCE.as_secs() }
            }
            NoDataReason::Unexpected(_) => unreachable!("a memory channel carries only data"),
        })?;
        self.traffic.received_bytes += len as u64;
        Ok(result)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.outlet.publish().map_err(|end| self.ended(end))
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn ahead_bytes(&self) -> usize {
        self.ahead_bytes
    }
}

impl Drop for MemoryChannel {
    /// Flushed bytes still arrive; then the peer learns that this end is closed.
    fn drop(&mut self) {
        self.outgoing.finish();
        self.incoming.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{MAX_BORROW_BYTES, SEND_AHEAD_BYTES};

    fn expect_closed<R>(result: Result<R, ChannelError>, by: &str) {
        match result {
            Err(ChannelError::Closed { party }) => assert_eq!(party, by),
            Err(other) => panic!("expected a closed channel, got: {other}"),
            Ok(_) => panic!("expected a closed channel, got a value"),
        }
    }

    #[test]
    fn both_may_send_ahead_before_they_receive() -> Result<(), ChannelError> {
        let (mut a, mut b) = memory_pair();
        for channel in [&mut a, &mut b] {
            channel.send(&vec![7; SEND_AHEAD_BYTES])?;
            channel.flush()?;
        }
        let mut received = vec![0; SEND_AHEAD_BYTES];
        for channel in [&mut a, &mut b] {
            channel.recv(&mut received)?;
            assert!(received.iter().all(|&byte| byte == 7));
            assert_eq!(channel.traffic().sent_bytes, SEND_AHEAD_BYTES as u64);
            assert_eq!(channel.traffic().received_bytes, SEND_AHEAD_BYTES as u64);
        }
        Ok(())
    }

    #[test]
    fn a_channel_holds_what_it_promises() -> Result<(), ChannelError> {
        let small = [SEND_AHEAD_BYTES_MIN, SEND_AHEAD_BYTES / 2];
        for ahead in small.into_iter().chain([SEND_AHEAD_BYTES, 4 * SEND_AHEAD_BYTES]) {
            let (mut a, mut b) = memory_pair();
            // Some buffers are in use then, and may be given up when they have been read.
            a.send(&[1; 1000])?;
            a.flush()?;
            for channel in [&mut a, &mut b] {
                channel.set_ahead(ahead);
                assert_eq!(channel.ahead_bytes(), ahead);
            }
            b.recv(&mut [0; 1000])?;
            for piece in vec![7; ahead].chunks(MAX_BORROW_BYTES - 1) {
                a.send(piece)?;
                a.flush()?;
            }
            let mut received = vec![0; ahead];
            b.recv(&mut received)?;
            assert!(received.iter().all(|&byte| byte == 7));
        }
        Ok(())
    }

    #[test]
    fn many_small_flushes_do_not_use_up_the_buffers() -> Result<(), ChannelError> {
        let (mut a, mut b) = memory_pair();
        for i in 0..SEND_AHEAD_BYTES / 8 {
            a.send(&(i as u64).to_le_bytes())?;
            a.flush()?;
        }
        for i in 0..SEND_AHEAD_BYTES / 8 {
            let word = b.recv_with(8, |bytes| bytes.to_vec())?;
            assert_eq!(word, (i as u64).to_le_bytes());
        }
        Ok(())
    }

    #[test]
    fn awkward_lengths_arrive_in_order_between_threads() -> Result<(), ChannelError> {
        let (mut a, mut b) = memory_pair_named("alpha", "beta");
        assert_eq!((a.peer(), b.peer()), ("beta", "alpha"));
        let lengths = [1, 127, 0, MAX_BORROW_BYTES, 8191, MAX_BORROW_BYTES - 1, 3, 70_000];
        let total: usize = 40 * lengths.iter().sum::<usize>();
        let sender = thread::spawn(move || -> Result<(), ChannelError> {
            let mut next = 0u8;
            for _ in 0..40 {
                for len in lengths {
                    a.send_with(len, |buffer| {
                        for byte in buffer {
                            *byte = next;
                            next = next.wrapping_mul(5).wrapping_add(1);
                        }
                    })?;
                }
            }
            a.flush()?;
            Ok(())
        });
        let mut expected = 0u8;
        let mut left = total;
        while left > 0 {
            let len = left.min(99_991);
            b.recv_with(len, |buffer| {
                for &byte in buffer {
                    assert_eq!(byte, expected);
                    expected = expected.wrapping_mul(5).wrapping_add(1);
                }
            })?;
            left -= len;
        }
        assert_eq!(b.traffic().received_bytes, total as u64);
        sender.join().expect("the sender does not panic")
    }

    #[test]
    fn what_was_flushed_arrives_before_the_end_is_reported() -> Result<(), ChannelError> {
        let (mut a, mut b) = memory_pair();
        a.send(b"last words")?;
        a.flush()?;
        drop(a);
        b.recv_with(10, |bytes| assert_eq!(bytes, b"last words"))?;
        expect_closed(b.recv_with(1, |_| ()), "site_a");
        expect_closed(b.recv_with(1, |_| ()), "site_a");
        expect_closed(b.send(b"x").and_then(|()| b.flush()), "site_a");
        Ok(())
    }

    #[test]
    fn a_sender_far_ahead_is_told_that_its_peer_left() {
        let (mut a, b) = memory_pair();
        let sender = thread::spawn(move || a.send(&vec![0; 8 * SEND_AHEAD_BYTES]));
        thread::sleep(Duration::from_millis(20));
        drop(b);
        expect_closed(sender.join().expect("the sender does not panic"), "site_b");
    }
}
