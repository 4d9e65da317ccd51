//! [`Metered`]: a channel that counts messages and rounds.
//!
//! A message is what is sent before a flush or before something is received; a round is something
//! received after something was sent. Cost: an addition per call.

use std::time::{Duration, Instant};

use phineus_channels::{Channel, ChannelError, FramedChannel, Parties, Traffic};
use serde::{Deserialize, Serialize};

/// A channel and what has gone over it.
pub struct Metered<C> {
    channel: C,
    messages: u64,
    rounds: u64,
    /// Whether there is something that was sent and not flushed.
    is_message_open: bool,
    /// Whether something was sent since something was received.
    has_asked: bool,
    last_received: Option<Instant>,
}

impl<C: Channel> Metered<C> {
    pub fn new(channel: C) -> Metered<C> {
        Metered {
            channel,
            messages: 0,
            rounds: 0,
            is_message_open: false,
            has_asked: false,
            last_received: None,
        }
    }

    pub fn into_inner(self) -> C {
        self.channel
    }

    fn end_message(&mut self) {
        self.messages += u64::from(std::mem::take(&mut self.is_message_open));
    }
}

impl<C: Channel> Channel for Metered<C> {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.is_message_open |= len > 0;
        self.has_asked |= len > 0;
        self.channel.send_with(len, fill)
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        if len > 0 {
            self.end_message();
            self.rounds += u64::from(std::mem::take(&mut self.has_asked));
        }
        let received = self.channel.recv_with(len, read)?;
        self.last_received = Some(Instant::now());
        Ok(received)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.end_message();
        self.channel.flush()
    }

    fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }

    fn ahead_bytes(&self) -> usize {
        self.channel.ahead_bytes()
    }
}

/// Counters of some channels at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterSnapshot {
    messages: u64,
    /// Of the channel with the most.
    rounds: u64,
    traffic: Traffic,
    last_received: Option<Instant>,
}

impl CounterSnapshot {
    /// Of these channels together.
    pub fn of<'a, C: Channel + 'a>(
        channels: impl Iterator<Item = &'a Metered<C>>,
    ) -> CounterSnapshot {
        let mut sum = CounterSnapshot::default();
        for one in channels {
            let traffic = one.traffic();
            sum.messages += one.messages + u64::from(one.is_message_open);
            sum.rounds = sum.rounds.max(one.rounds);
            sum.traffic.sent_bytes += traffic.sent_bytes;
            sum.traffic.received_bytes += traffic.received_bytes;
            sum.last_received = sum.last_received.max(one.last_received);
        }
        sum
    }

    /// Of all channels of these parties.
    pub fn of_parties<C: Channel>(parties: &mut Parties<Metered<C>>) -> CounterSnapshot {
        let mut sum = CounterSnapshot::default();
        for peer in parties.peers() {
            sum = sum.and(CounterSnapshot::of(std::iter::once(&*parties.channel(peer))));
        }
        sum
    }

    /// This and what has gone over other channels.
    pub fn and(mut self, other: CounterSnapshot) -> CounterSnapshot {
        self.messages += other.messages;
        self.rounds = self.rounds.max(other.rounds);
        self.traffic.sent_bytes += other.traffic.sent_bytes;
        self.traffic.received_bytes += other.traffic.received_bytes;
        self.last_received = self.last_received.max(other.last_received);
        self
    }

    /// When the last bytes came, if any did.
    pub fn last_received(&self) -> Option<Instant> {
        self.last_received
    }

    /// Difference to the counters `earlier`, which were read `time` ago.
    pub fn since(&self, earlier: &CounterSnapshot, time: Duration) -> PhaseFigures {
        PhaseFigures {
            seconds: time.as_secs_f64(),
            messages: self.messages - earlier.messages,
            rounds: self.rounds - earlier.rounds,
            sent_bytes: self.traffic.sent_bytes - earlier.traffic.sent_bytes,
            received_bytes: self.traffic.received_bytes - earlier.traffic.received_bytes,
        }
    }
}

/// Measurements of one party in a phase of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseFigures {
    pub seconds: f64,
    /// Sent to any party.
    pub messages: u64,
    /// On the link with the most.
    pub rounds: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

impl PhaseFigures {
    /// Of this phase and one that went on at the same time, over other channels.
    pub fn beside(self, other: PhaseFigures) -> PhaseFigures {
        PhaseFigures {
            seconds: self.seconds.max(other.seconds),
            messages: self.messages + other.messages,
            rounds: self.rounds.max(other.rounds),
            sent_bytes: self.sent_bytes + other.sent_bytes,
            received_bytes: self.received_bytes + other.received_bytes,
        }
    }
}

/// Closes channels that have been used to their end; returns why a peer did not say goodbye.
pub fn close_all(channels: impl Iterator<Item = FramedChannel>) -> Option<String> {
    let farewells: Vec<String> =
        channels.filter_map(|channel| channel.close().err().map(|e| e.to_string())).collect();
    farewells.into_iter().next()
}

#[cfg(test)]
mod tests {
    use phineus_channels::memory_pair_named;

    use super::*;

    #[test]
    fn messages_and_rounds_are_counted() {
        let (near, far) = memory_pair_named("near", "far");
        let (mut near, mut far) = (Metered::new(near), Metered::new(far));
        let mut bytes = [0; 3];
        for _ in 0..4 {
            near.send(&[1]).expect("it has room");
            near.send(&[2, 3]).expect("it has room");
            near.flush().expect("it is open");
            near.flush().expect("it is open");
            far.recv(&mut bytes).expect("it was sent");
            far.send(&[4]).expect("it has room");
            far.flush().expect("it is open");
            near.recv(&mut bytes[..1]).expect("it was sent");
        }
        let near = CounterSnapshot::of(std::iter::once(&near))
            .since(&CounterSnapshot::default(), Duration::ZERO);
        let far = CounterSnapshot::of(std::iter::once(&far))
            .since(&CounterSnapshot::default(), Duration::ZERO);
        assert_eq!((near.messages, near.rounds), (4, 4));
        assert_eq!((near.sent_bytes, near.received_bytes), (12, 4));
        // The first question was not an answer to anything.
        assert_eq!((far.messages, far.rounds), (4, 3));
    }
}
