//! Slices: what the instructions in flight hold together, and so what one round opens.
//!
//! On authenticated shares a product of matrices of any size is one round, if memory holds it. Each
//! round costs a round trip; what a round holds was touched by none before, which costs page faults
//! and misses. So slices are as large as the rule of [`held_bytes`] lets them be where nobody
//! says what the network is like, and else as small as rounds are still short beside what they send
//! ([`calibrated`]; `docs/decisions/0024-slices.md` has the measurements).
//! All parties order alike: each says what it would have, and the least counts (`agreement.rs`).

use phineus_channels::NetworkModel;

use crate::arguments::Protocol;
use crate::quantity;

/// What the instructions in flight may hold together, at the least, where memory is not short.
const HELD_BYTES: u64 = 4 << 20;
/// Memory that is short: the instructions in flight may hold a sixteenth of it.
const SHORT_BYTES: u64 = 16 * HELD_BYTES;
const HELD_BYTES_MIN: u64 = 1 << 20;
/// More makes fewer rounds of large openings, and runs no faster: what is held is touched for the
/// first time then.
const HELD_BYTES_MAX: u64 = 160 << 20;

/// The least of it that counts, whatever a party asks for: a round for each element would be
/// nobody's wish.
const SLICE_BYTES_MIN: u64 = 64 << 10;

/// Bytes held for each byte that a product of matrices opens: two elements for the share of the
/// operand, four for its opening, in buffers that grow by an eighth (`SpdzRounds`).
const HELD_PER_OPENED: u64 = 7;

/// A round sends for so many times as long as it waits: a sixteenth of the time is lost.
const SENDS_PER_WAIT: u64 = 16;

/// What the instructions in flight may hold together. All parties order alike: where it depends on
/// memory, it depends on the least limit of all.
pub(crate) fn held_bytes(
    protocol: Protocol,
    least_limit_bytes: u64,
    slice_bytes: Option<u64>,
) -> u64 {
    match protocol.field() {
        // Openings of whole matrices take fewer rounds the more of them are held.
        Some(_) => {
            let within = |stated: u64| stated.min(least_limit_bytes / 4).max(SLICE_BYTES_MIN);
            slice_bytes.map_or(rule(least_limit_bytes), within)
        }
        None => least(least_limit_bytes),
    }
}

fn least(limit_bytes: u64) -> u64 {
    (limit_bytes / 16).clamp(HELD_BYTES_MIN, HELD_BYTES)
}

/// What openings may hold, if only memory bounds it.
fn rule(limit_bytes: u64) -> u64 {
    match limit_bytes {
        0..SHORT_BYTES => least(limit_bytes),
        // Inputs and products may each take as much, in different rounds.
        limit => (limit / 8).min(HELD_BYTES_MAX),
    }
}

/// The slice for a network that is stated: so large that the rounds' waiting is little beside
/// their sending, and no larger than without. Where no bandwidth is stated there is nothing to
/// compare.
pub(crate) fn calibrated(network: Option<NetworkModel>, limit_bytes: u64) -> Option<u64> {
    let network = network?;
    let bits = network.bandwidth_bits_per_second?;
    let on_the_way = u128::from(bits) * network.rtt.as_nanos() / 8_000_000_000;
    let wanted = on_the_way * u128::from(HELD_PER_OPENED * SENDS_PER_WAIT);
    let most = rule(limit_bytes);
    Some(u64::try_from(wanted).unwrap_or(u64::MAX).clamp(HELD_BYTES.min(most), most))
}

/// What one round of openings may hold if nobody says `--slice`, and why; nothing of protocols whose
/// rounds follow from the program alone.
pub(crate) fn sentence(
    protocol: Protocol,
    least_limit_bytes: u64,
    network: Option<NetworkModel>,
) -> Option<String> {
    protocol.field()?;
    let calibrated = calibrated(network, least_limit_bytes);
    let rule = rule(least_limit_bytes);
    let bytes = held_bytes(protocol, least_limit_bytes, calibrated);
    let why = match bytes {
        _ if bytes < rule => "rounds then send for 16 times as long as they wait, or for longer",
        HELD_BYTES_MAX => "more saves rounds but no time",
        _ if least_limit_bytes < SHORT_BYTES => "a sixteenth of the least --memory of all parties",
        _ => "an eighth of the least --memory of all parties",
    };
    Some(format!("{} in a round of openings at most: {why}", quantity::bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn network(rtt_us: u64, megabits: u64) -> Option<NetworkModel> {
        let bandwidth_bits_per_second = Some(megabits * 1_000_000);
        Some(NetworkModel { rtt: Duration::from_micros(rtt_us), bandwidth_bits_per_second })
    }

    #[test]
    fn slices_follow_the_network_within_memory() {
        let limit = 1 << 30;
        assert_eq!(calibrated(None, limit), None);
        let rtt = Duration::from_millis(1);
        let unknown = NetworkModel { rtt, bandwidth_bits_per_second: None };
        assert_eq!(calibrated(Some(unknown), limit), None);
        // 250 kB are on the way.
        assert_eq!(calibrated(network(200, 10_000), limit), Some(28_000_000));
        assert_eq!(calibrated(network(100, 1000), limit), Some(HELD_BYTES), "nothing to gain");
        assert_eq!(calibrated(network(40_000, 1000), limit), Some(limit / 8), "what memory gives");
        assert_eq!(calibrated(network(40_000, 1000), 1 << 40), Some(HELD_BYTES_MAX));
        for limit in [1 << 24, 1 << 26, 1 << 28, 1 << 30, 1 << 34] {
            let rule = held_bytes(Protocol::Spdz, limit, None);
            for net in [network(10, 100), network(200, 10_000), network(100_000, 10_000)] {
                let slice = calibrated(net, limit);
                assert!(held_bytes(Protocol::Spdz, limit, slice) <= rule, "{limit}: {slice:?}");
            }
        }
        let held = |slice| held_bytes(Protocol::Spdz, 1 << 30, slice);
        assert_eq!((held(None), held(Some(1 << 40))), (128 << 20, 256 << 20), "as asked for");
    }
}
