//! Measurements that a run adapts to: bandwidth times delay of the network between the parties, and
//! the cache of the processor.
//!
//! Each party sends `PROBE_BYTES` to all others at once, as in a round, and waits for theirs; how
//! much longer that takes than a few bytes is what the bytes take. The first of `REPETITIONS`
//! finds connections that have sent nothing yet and send little at a time; the shortest counts.
//! Cost: 768 KiB to each peer and eight round trips. Invariant: all parties end with the same
//! figure, the largest that anyone has; which of two plans it decides for is bounded by
//! `slices.rs`. Not protected: a party may state what it likes, and make rounds a few times more or
//! fewer.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agreement::{Peers, confirm, exchange_number};
use crate::failure::Failure;

/// Bytes of one message.
const MESSAGE_BYTES: usize = phineus_channels::CONTROL_BYTES_MAX;
/// Messages that are sent before any is awaited: a channel holds eight times as much.
const MESSAGES: usize = 4;
const PROBE_BYTES: usize = MESSAGES * MESSAGE_BYTES;
const _: () = assert!(8 * PROBE_BYTES <= phineus_channels::SEND_AHEAD_BYTES * 2);
const REPETITIONS: usize = 3;
/// Shortest time that a probe counts as: its time at 100 Gbit/s, since clocks and schedulers
/// resolve no less.
const PROBE_LEAST: Duration = Duration::from_micros(20);

/// Bytes that are on the way between the parties when they wait for nothing: at the slowest of all
/// ends. `round_trip` is that of the parties that are farthest apart.
pub fn on_the_way(channels: &mut Peers, round_trip: Duration) -> Result<u64, Failure> {
    // All begin together, and probes are no messages that could say anything else.
    confirm(channels)?;
    let probe = vec![0; MESSAGE_BYTES];
    // Each the shortest: one that waited for a processor says nothing of the network.
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    for _ in 0..REPETITIONS {
        few = few.min(pass(channels, 1, &[0])?);
        many = many.min(pass(channels, MESSAGES, &probe)?);
    }
    exchange_number(channels, bandwidth_delay(round_trip, many.saturating_sub(few)))
}

/// Bytes on the way in half a round trip to and half a round trip back, if [`PROBE_BYTES`] take so
/// long.
fn bandwidth_delay(round_trip: Duration, probe: Duration) -> u64 {
    let probe = probe.max(PROBE_LEAST);
    let bytes = PROBE_BYTES as u128 * round_trip.as_nanos() / probe.as_nanos();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Sends a message so many times to everybody, receives as many, and says how long that took.
fn pass(channels: &mut Peers, count: usize, message: &[u8]) -> Result<Duration, Failure> {
    let start = Instant::now();
    for _ in 0..count {
        channels.iter_mut().flatten().try_for_each(|channel| channel.send_agreement(message))?;
    }
    for channel in channels.iter_mut().flatten() {
        for _ in 0..count {
            // Whatever it says: bytes that nobody looks at.
            channel.receive_agreement()?;
        }
    }
    Ok(start.elapsed())
}

/// The second-level cache of a core of this machine, or of one that is not known.
pub fn cache_bytes() -> u64 {
    let caches = Path::new("/sys/devices/system/cpu/cpu0/cache");
    (0..8)
        .find_map(|index| {
            let says = |what: &str| fs::read_to_string(caches.join(format!("index{index}/{what}")));
            let is_second = says("level").ok()?.trim() == "2";
            is_second.then(|| parse_kib(&says("size").ok()?)).flatten()
        })
        .unwrap_or(CACHE_BYTES)
}

/// No processor of the last ten years has a smaller one.
const CACHE_BYTES: u64 = 256 << 10;

/// `1024K` as Linux writes sizes of caches.
fn parse_kib(text: &str) -> Option<u64> {
    let kib: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
    kib.checked_mul(1024).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_follow_bandwidth_and_delay() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(bandwidth_delay(millisecond, millisecond), PROBE_BYTES as u64);
        assert_eq!(bandwidth_delay(40 * millisecond, 2 * millisecond), 20 * PROBE_BYTES as u64);
        assert_eq!(bandwidth_delay(Duration::ZERO, millisecond), 0);
        assert_eq!(bandwidth_delay(Duration::MAX, Duration::ZERO), u64::MAX);
    }
    #[test]
    fn caches_are_what_the_system_says() {
        assert_eq!(parse_kib("1024K\n"), Some(1 << 20));
        assert_eq!(["", "K", "0K", "12M", "99999999999999999999K"].map(parse_kib), [None; 5]);
        assert!(cache_bytes() >= 64 << 10);
    }
}
