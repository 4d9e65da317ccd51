//! Slices: limits on what instructions in flight hold, and so on what one round opens.
//!
//! On authenticated shares a product of matrices of any size is one round, if memory holds it. Each
//! round costs a round trip; what a round holds was touched by none before, which costs page faults
//! and misses. So slices are as large as the rule of [`held_bytes`] lets them be where rounds would
//! else be short beside the wait for them, and else no larger than costs nothing (`fitting`;
//! `docs/decisions/0024-slices.md` has the measurements). What the network has on the way is
//! stated, or measured before a run (`calibration.rs`). All parties order alike: each says what it
//! would have, and the least counts (`agreement.rs`).

use std::time::Duration;

use phineus_channels::NetworkModel;
use phineus_tables::quantity;

use crate::protocol::Protocol;

/// Lower bound on the bytes that the instructions in flight hold together, if memory is not short.
const HELD_BYTES: u64 = 4 << 20;
/// Upper bound on these bytes for protocols without preprocessing.
const UNPREPARED_HELD_BYTES: u64 = 32 << 20;
/// As [`HELD_BYTES`], where rounds mostly wait: a sixty-fourth of memory, up to this.
const FAR_HELD_BYTES: u64 = 64 << 20;
/// A round trip from which on rounds mostly wait, for most programs: in this time shares of some million ANDs are
/// computed. What is measured while machines are busy is some milliseconds too long at times.
const FAR_ROUND_TRIP: Duration = Duration::from_millis(10);
/// Memory that is short: the instructions in flight may hold a sixteenth of it.
const SHORT_BYTES: u64 = 16 * HELD_BYTES;
const HELD_BYTES_MIN: u64 = 1 << 20;
/// More makes fewer rounds of large openings, and runs no faster: what is held is touched for the
/// first time then.
const HELD_BYTES_MAX: u64 = 160 << 20;

/// The least of it that counts, whatever a party asks for: a round for each element would be
/// of no use to anybody.
const SLICE_BYTES_MIN: u64 = 64 << 10;

/// Bytes held for each byte that a product of matrices opens: two elements for the share of the
/// operand, four for its opening, in buffers that grow by an eighth (`SpdzRounds`).
const HELD_PER_OPENED: u64 = 7;

/// A round sends for so many times as long as it waits: a sixteenth of the time is lost.
const SENDS_PER_WAIT: u64 = 16;

/// Slices of up to so many bytes cost no more time than smaller ones.
const FREE_BYTES: u64 = 112 << 20;

/// Returns whether parties with this longest round trip are far from each other: then ordering looks further ahead, so
/// that more instructions share a round.
pub fn is_far(round_trip: Duration) -> bool {
    round_trip >= FAR_ROUND_TRIP
}

/// Limit on the bytes that the instructions in flight hold together. All parties must order alike,
/// so where it depends on memory, it depends on the least limit of all parties.
pub fn held_bytes(
    protocol: Protocol,
    least_limit_bytes: u64,
    (slice_bytes, is_far): (Option<u64>, bool),
) -> u64 {
    match protocol.field() {
        // Openings of whole matrices take fewer rounds the more of them are held.
        Some(_) => {
            let within = |stated: u64| stated.min(least_limit_bytes / 4).max(SLICE_BYTES_MIN);
            slice_bytes.map_or(rule(least_limit_bytes), within)
        }
        None if protocol.has_preprocessing() && is_far => {
            least(least_limit_bytes).max((least_limit_bytes / 64).min(FAR_HELD_BYTES))
        }
        None if protocol.has_preprocessing() => least(least_limit_bytes),
        // Rounds wait for nothing that is made beside them, so larger ones take less time.
        None => (least_limit_bytes / 16).clamp(HELD_BYTES_MIN, UNPREPARED_HELD_BYTES),
    }
}

fn least(limit_bytes: u64) -> u64 {
    (limit_bytes / 16).clamp(HELD_BYTES_MIN, HELD_BYTES)
}

/// Bytes that a round may open if only memory bounds them.
fn rule(limit_bytes: u64) -> u64 {
    match limit_bytes {
        0..SHORT_BYTES => least(limit_bytes),
        // Inputs and products may each take as much, in different rounds.
        limit => (limit / 8).min(HELD_BYTES_MAX),
    }
}

/// The slice for a network with so many bytes on the way: so large that the rounds' waiting is
/// little beside their sending, not larger than memory allows, nor smaller than is of any use.
fn fitting(on_the_way: u64, limit_bytes: u64) -> u64 {
    let wanted = on_the_way.saturating_mul(HELD_PER_OPENED * SENDS_PER_WAIT);
    let most = rule(limit_bytes);
    wanted.clamp(FREE_BYTES.min(most), most)
}

/// The slice for a network that is stated. Where no bandwidth is, there is nothing to compare.
pub fn stated(network: Option<NetworkModel>, limit_bytes: u64) -> Option<u64> {
    let network = network?;
    let bits = network.bandwidth_bits_per_second?;
    let on_the_way = u128::from(bits) * network.rtt.as_nanos() / 8_000_000_000;
    Some(fitting(u64::try_from(on_the_way).unwrap_or(u64::MAX), limit_bytes))
}

/// The slice that a run is expected to take that opens so many bytes of matrices: where nobody
/// states a network and it will be measured, that of parties who are near each other.
pub fn expected(network: Option<NetworkModel>, limit_bytes: u64, opened_bytes: u64) -> Option<u64> {
    match network {
        None => matters(limit_bytes, opened_bytes).then(|| fitting(0, limit_bytes)),
        Some(_) => stated(network, limit_bytes),
    }
}

/// Whether a slice may be larger or smaller, for parties that open so many bytes of matrices.
pub fn matters(limit_bytes: u64, opened_bytes: u64) -> bool {
    rule(limit_bytes) > FREE_BYTES && opened_bytes.saturating_mul(HELD_PER_OPENED) > FREE_BYTES
}

/// The slice for a network as it was measured, and what was measured, for the user.
pub fn measured(on_the_way: u64, round_trip: Duration, limit_bytes: u64) -> (u64, String) {
    let bytes = fitting(on_the_way, limit_bytes);
    let bits = u128::from(on_the_way) * 8_000_000_000 / round_trip.as_nanos().max(1);
    let (slice, micros) = (quantity::bytes(bytes), round_trip.as_micros());
    let megabits = bits / 1_000_000;
    let found = format!(
        "slice: {slice} in a round of openings at most: measured rtt={micros}us,bw={megabits}mbit"
    );
    (bytes, found)
}

/// Sentence about how much one round opens without `--slice`, and why, for products with this
/// number of matrix entries; `None` for protocols whose rounds follow from the program alone.
pub fn sentence(
    protocol: Protocol,
    least_limit_bytes: u64,
    network: Option<NetworkModel>,
    entries: u64,
) -> Option<String> {
    let opened_bytes = entries.saturating_mul(protocol.field()?.bytes() as u64);
    let expected = expected(network, least_limit_bytes, opened_bytes);
    let rule = rule(least_limit_bytes);
    let bytes = held_bytes(protocol, least_limit_bytes, (expected, false));
    let why = match bytes {
        _ if bytes < rule && network.is_none() => {
            let most = quantity::bytes(rule);
            return Some(format!(
                "{} in a round of openings at most; up to {most} where a run measures that the \
                 parties are far apart (or where the network is stated)",
                quantity::bytes(bytes)
            ));
        }
        _ if bytes < rule => "rounds then send for 16 times as long as they wait, or for longer",
        HELD_BYTES_MAX => "more saves rounds but no time",
        _ if least_limit_bytes < SHORT_BYTES => {
            "a sixteenth of the least memory limit of all parties"
        }
        _ => "an eighth of the least memory limit of all parties",
    };
    Some(format!("{} in a round of openings at most: {why}", quantity::bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::list::{GMW, SPDZ};

    fn network(rtt_us: u64, megabits: u64) -> Option<NetworkModel> {
        let bandwidth_bits_per_second = Some(megabits * 1_000_000);
        Some(NetworkModel { rtt: Duration::from_micros(rtt_us), bandwidth_bits_per_second })
    }

    #[test]
    fn slices_follow_the_network_within_memory() {
        let limit = 1 << 30;
        assert_eq!(stated(None, limit), None);
        let rtt = Duration::from_millis(1);
        let unknown = NetworkModel { rtt, bandwidth_bits_per_second: None };
        assert_eq!(stated(Some(unknown), limit), None);
        // 1.1 MB are on the way, and 250 kB.
        assert_eq!(stated(network(900, 10_000), limit), Some(126_000_000));
        assert_eq!(stated(network(200, 10_000), limit), Some(FREE_BYTES), "nothing to gain");
        assert_eq!(stated(network(40_000, 1000), limit), Some(limit / 8), "what memory gives");
        assert_eq!(stated(network(40_000, 1000), 1 << 40), Some(HELD_BYTES_MAX));
        assert_eq!(expected(None, limit, 17 << 20), Some(FREE_BYTES));
        assert_eq!(expected(None, limit, 16 << 20), None, "it is not measured");
        for limit in [1 << 24, 1 << 26, 1 << 28, 1 << 30, 1 << 34] {
            let rule = held_bytes(SPDZ, limit, (None, false));
            for net in [network(10, 100), network(200, 10_000), network(100_000, 10_000)] {
                let slice = stated(net, limit);
                assert!(held_bytes(SPDZ, limit, (slice, false)) <= rule, "{limit}: {slice:?}");
            }
        }
        let held = |slice| held_bytes(SPDZ, 1 << 30, (slice, false));
        assert_eq!((held(None), held(Some(1 << 40))), (128 << 20, 256 << 20), "as asked for");
    }

    #[test]
    fn more_is_in_flight_between_parties_that_are_far_from_each_other() {
        let held = |limit, is_far| held_bytes(GMW, limit, (None, is_far)) >> 20;
        let limits = [1 << 20, 1 << 28, 1 << 30, 1 << 32, 1 << 40];
        assert_eq!(limits.map(|limit| held(limit, false)), [1, 4, 4, 4, 4]);
        assert_eq!(limits.map(|limit| held(limit, true)), [1, 4, 16, 64, 64]);
        assert!(!is_far(Duration::from_millis(9)) && is_far(Duration::from_millis(20)));
    }

    #[test]
    fn what_is_measured_counts_like_what_is_stated() {
        let limit = 1 << 30;
        for (rtt_us, megabits) in [(100, 100), (800, 10_000), (900, 10_000), (40_000, 10_000)] {
            let on_the_way = rtt_us * megabits / 8;
            let (bytes, said) = measured(on_the_way, Duration::from_micros(rtt_us), limit);
            assert_eq!(Some(bytes), stated(network(rtt_us, megabits), limit));
            assert!(said.ends_with(&format!("rtt={rtt_us}us,bw={megabits}mbit")), "{said}");
        }
        // Whatever a peer says, and however many bytes there are.
        for (on_the_way, limit) in [(u64::MAX, limit), (u64::MAX, u64::MAX), (0, 1 << 20)] {
            let (bytes, _) = measured(on_the_way, Duration::ZERO, limit);
            assert!((HELD_BYTES_MIN..=HELD_BYTES_MAX).contains(&bytes), "{bytes}");
        }
        assert!(matters(limit, 17 << 20) && !matters(limit, 16 << 20));
        assert!(!matters(896 << 20, u64::MAX), "memory alone decides");
    }
}
