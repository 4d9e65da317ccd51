//! Predicted time of a plan on a network, and the choice of the protocol with the least.
//!
//! The same at all parties that give the same program, network and memory limit: `--protocol auto`
//! rests on it.

use phineus_bytecode::PlanDescription;
use phineus_channels::{NetworkModel, TransportKind};
use phineus_crypto::GarbledGate;
use phineus_engine::REGION_PAGE_BYTES;
use phineus_ot::FieldBits;
use phineus_protocols::bmr::costs::{GarbledAmounts, garbling_costs, totals as garbling};
use phineus_protocols::bmr::limits::LONGEST_AHEAD_BYTES;
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use phineus_protocols::spdz::costs::totals as authenticated;
use serde::{Deserialize, Serialize};

use crate::agreement;
use crate::planned::PlannedFile;
use crate::protocol::{Protocol, STREAMS_MAX};

/// Assumed bandwidth of a disk in each direction when the time of swapping is predicted: a modest
/// NVMe or a good network disk. `doctor` measures the one at hand.
const DISK_BYTES_PER_S: f64 = 800e6;

/// A round is one direction of the network: its messages leave at once and take half a round trip.
const ROUND_TRIPS_PER_ROUND: f64 = 0.5;

/// Round trips until all connections stand, which are made at once.
const CONNECTING_ROUND_TRIPS: f64 = TransportKind::Tls.round_trips() as f64;

/// Seconds that a process takes from its start to its end besides all that is counted here: `clear`
/// runs a small program in 2.7 ms of processor time.
const PROCESS_S: f64 = 3e-3;

/// Seconds of reading keys and tables, agreeing and writing results, of two parties that start at once on
/// two cores (`benches/predictions.py`).
const PARTY_S: f64 = 5e-3;

/// Seconds in which both parties plan an instruction, on two cores: `sort n=2048` takes 48 ms for 50,304
/// garbled instructions, and 113 ms for 67,550 on shares.
const PLANNING_S_PER_INSTRUCTION: f64 = 1.4e-6;

/// Seconds in which they plan a byte of the circuits of computing on shares: `sha256 n=1` takes 30 ms for 2.9 MB.
const PLANNING_S_PER_CIRCUIT_BYTE: f64 = 9e-9;

/// Seconds for one connection: 2 ms of processor time for both sides of TLS (a small program takes
/// 30 ms in all processes with one stream and 50 ms with three, of which 12 are those of other base
/// oblivious transfers: (50 - 30 - 12) / 2 / 2).
const CONNECTION_S: f64 = 2e-3;

/// Seconds that parts of a run take.
#[derive(Clone, Copy, Debug, Default)]
pub struct PredictedTimes {
    /// Of all threads.
    pub compute: f64,
    /// Of that what is computed between rounds, by the thread that waits for them.
    pub online_compute: f64,
    pub network: f64,
    pub storage: f64,
    /// Of `network`, the tables of half gates, which the rounds wait for.
    pub tables: f64,
    /// Latency beside which all else goes on in other threads.
    pub latency: f64,
    /// Waiting before anything can be computed: latency of set-up and of the first batches, and of
    /// authenticated correlated randomness also the time to send them.
    pub awaited: f64,
    /// Of `compute`, what nothing else goes on beside: set-up, and the first batches of
    /// authenticated correlated randomness.
    pub setup: f64,
    /// Of authenticated correlated randomness after the first batches: one thread computes, sends
    /// and waits in turn.
    pub making: f64,
    /// From the start of the process to the first message of the run, and the farewell.
    pub start: f64,
}

impl PredictedTimes {
    /// From the start of the process to its end.
    pub fn total(&self) -> f64 {
        self.start + self.running()
    }

    /// Time that a report calls running. After set-up, computing, sending and swapping go on at the same
    /// time. So does preprocessing while the parties wait for each other in rounds.
    pub fn running(&self) -> f64 {
        // Tables are sent while they are garbled.
        let rounds = self.latency + self.online_compute.max(self.tables);
        let beside = rounds.max(self.compute - self.setup).max(self.network).max(self.storage);
        self.awaited + self.setup + beside.max(self.making)
    }

    /// All latency of the run.
    pub fn all_latency(&self) -> f64 {
        self.latency + self.awaited
    }

    pub fn bound(&self) -> &'static str {
        if self.all_latency() > self.compute.max(self.network).max(self.storage) {
            "the network's latency"
        } else if self.network >= self.compute && self.network >= self.storage {
            "the network's bandwidth"
        } else if self.storage > self.compute {
            "storage"
        } else {
            "computing"
        }
    }
}

/// Predicted times of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prediction {
    /// All of it, with preprocessing in the background where there is any.
    pub whole: PredictedTimes,
    /// The preprocessing alone, set-up included, if all of it is made before.
    pub preprocessing: PredictedTimes,
    /// The rest of it then.
    pub online: PredictedTimes,
}

/// Predicts a run of `planned` on the network `net`; on one machine if there is none.
pub fn predict(planned: &PlannedFile, net: Option<NetworkModel>) -> Prediction {
    let plan = planned.plan();
    let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0) as f64;
    let pages = plan.swap_in_count.max(plan.swap_out_count) as f64;
    let page_bytes = plan.page_bytes() as f64;
    // Every link has the stated bandwidth, each way.
    let links = (planned.computing - 1).max(1) as f64;
    let bandwidth = net.and_then(|net| net.bandwidth_bits_per_second);
    let sending =
        |bytes: f64| bandwidth.map_or(0.0, |bits| (bytes / links * 8.0 / bits as f64).max(0.0));
    let rtt = net.map_or(0.0, |net| net.rtt.as_secs_f64());
    let sent = sent_bytes(planned).into_iter().take(planned.computing);
    let bytes = sent.max().unwrap_or(0) as f64;
    let before_bytes = bytes_before(planned).into_iter().max().unwrap_or(0) as f64;
    let trips = ROUND_TRIPS_PER_ROUND;
    let rounds = (total(totals::ROUNDS) + total(authenticated::CHECK_ROUNDS)) * trips;
    let before_rounds = rounds_before(plan) as f64 * trips;
    // Beside a run of one block, batches overlap.
    let overlapped = if planned.blocks.is_some() { 0 } else { mixed::overlapped_rounds(plan) };
    let making = total(mixed::totals::PREPROCESSING_ROUNDS) - overlapped as f64;
    let beside_rounds = making.max(total(garbling::GARBLING_ROUNDS)) * trips;
    let protocol = Protocol::of_verified_plan(plan);
    let is_authenticated = protocol.field().is_some();
    let tables = match planned.takes_half_gates() {
        true => sending(total(garbling::Y_AND_GATES) * GarbledGate::BYTES as f64),
        false => 0.0,
    };
    let (first_rounds, first_share) = match planned.blocks.is_some() && planned.is_garbled() {
        // Each block waits for what is garbled for it alone.
        true => (before_rounds / trips, 0.0),
        false => protocol.first_batches(plan),
    };
    let awaited = before_rounds.min(first_rounds * trips);
    // Rounds of garbled circuits are those of oblivious transfers and outputs: gates wait for them.
    let (awaited, rounds) = if is_shared(plan) { (awaited, rounds) } else { (rounds, 0.0) };
    let latency = rounds.max(beside_rounds - awaited);
    let compute = total(totals::COMPUTE_NS) * 1e-9;
    let setup = total(totals::SETUP_NS) * 1e-9;
    let before = total(mixed::totals::PREPROCESSING_NS) * 1e-9;
    // Regions are read and written where they are needed, and nothing is done meanwhile.
    let touched = planned.region_touches().unwrap_or(0) as f64 * f64::from(REGION_PAGE_BYTES);
    let storage = (pages * page_bytes + 2.0 * touched) / DISK_BYTES_PER_S;
    // Who makes authenticated correlated randomness or garbles is ahead of its peer by half of what
    // a channel takes: more than that lies in a batch, unless windows are as long as one.
    let is_short = planned.ahead_bytes < LONGEST_AHEAD_BYTES;
    let fills_channels = is_authenticated || total(garbling::GARBLING_ROUNDS) > 0.0 && is_short;
    let sending_before = match fills_channels {
        true => sending(before_bytes).max(before_bytes / links * rtt / planned.ahead_bytes as f64),
        false => sending(before_bytes),
    };
    // One thread makes authenticated correlated randomness: it computes, sends and waits in turn.
    let made = before - setup.min(before) + sending_before;
    let in_turn = |latency: f64| if is_authenticated { made + latency * rtt } else { 0.0 };
    Prediction {
        whole: PredictedTimes {
            compute,
            // Garbled circuits state no preprocessing, and set-up all the same.
            online_compute: compute - before.max(setup),
            network: sending(bytes).max(sending_before + sending(bytes - before_bytes)),
            storage,
            tables,
            latency: latency * rtt,
            awaited: awaited * rtt + first_share * sending_before,
            setup: setup + first_share * (before - setup),
            making: in_turn(before_rounds - awaited) - first_share * made,
            start: SetupTimes::of(plan).seconds(rtt) + planning_seconds(plan),
        },
        preprocessing: PredictedTimes {
            compute: before,
            network: sending_before,
            awaited: before_rounds * rtt,
            setup: setup.min(before),
            making: in_turn(0.0),
            ..PredictedTimes::default()
        },
        online: PredictedTimes {
            compute: compute - before,
            online_compute: compute - before,
            network: sending(bytes - before_bytes),
            storage,
            tables,
            latency: rounds * rtt,
            ..PredictedTimes::default()
        },
    }
}

/// Seconds until all parties have planned, if they do so on one machine.
fn planning_seconds(plan: &PlanDescription) -> f64 {
    let circuits = plan.costs.get(mixed::totals::CIRCUIT_BYTES).copied().unwrap_or(0);
    plan.instruction_count as f64 * PLANNING_S_PER_INSTRUCTION
        + circuits as f64 * PLANNING_S_PER_CIRCUIT_BYTE
}

/// Work of the parties before a run and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupTimes {
    /// Connections to each other party, made at once.
    pub connections: u64,
    /// Messages that all send at once before the run: each takes half a round trip. A party that is
    /// dialled has its connections half a round trip early, so a run may take that much less.
    pub exchanges: u64,
}

impl SetupTimes {
    /// Of a run of `plan` whose protocol is stated by all.
    pub fn of(plan: &PlanDescription) -> SetupTimes {
        let connections = match Protocol::of_plan(plan).map_or(0, |protocol| protocol.streams()) {
            0 => return SetupTimes::default(),
            1 => 1,
            _ => u64::from(STREAMS_MAX),
        };
        SetupTimes { connections, exchanges: agreement::EXCHANGES }
    }

    /// Round trips of all of it.
    pub fn round_trips(&self) -> f64 {
        let connecting = if self.connections > 0 { CONNECTING_ROUND_TRIPS } else { 0.0 };
        connecting + self.exchanges as f64 * ROUND_TRIPS_PER_ROUND
    }

    fn seconds(&self, rtt: f64) -> f64 {
        let party = if self.connections > 0 { PARTY_S } else { 0.0 };
        PROCESS_S + party + self.connections as f64 * CONNECTION_S + self.round_trips() * rtt
    }
}

/// Whether parties compute on shares, in rounds.
pub fn is_shared(plan: &PlanDescription) -> bool {
    plan.costs.contains_key(mixed::totals::HELD_BYTES)
}

/// Bytes that each party sends.
pub fn sent_bytes(planned: &PlannedFile) -> Vec<u64> {
    let costs = &planned.plan().costs;
    let parties = 0..planned.description.parties.len();
    let sent = |party| costs.get(&mixed::totals::sent_bytes(party)).copied();
    parties.map(|party| sent(party).unwrap_or(0)).collect()
}

/// Rounds that triples and garbled tables take, if all are made in one go.
pub fn rounds_before(plan: &PlanDescription) -> u64 {
    let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
    // They are made at the same time, over channels of their own.
    total(mixed::totals::PREPROCESSING_ROUNDS).max(total(garbling::GARBLING_ROUNDS))
}

/// Bytes that each party sends and receives for garbling.
fn garbling_bytes(planned: &PlannedFile) -> impl Iterator<Item = u64> {
    let total = |party| planned.plan().costs.get(&garbling::garbling_bytes(party)).copied();
    (0..planned.computing).map(move |party| total(party).unwrap_or(0))
}

/// Bytes that a party sends and receives for garbling, if anything is garbled.
pub fn garbling_traffic(planned: &PlannedFile, party: usize) -> (u64, u64) {
    let total = |name: &str| planned.plan().costs.get(name).copied().unwrap_or(0);
    if total(garbling::GARBLING_ROUNDS) == 0 {
        return (0, 0);
    }
    let garbled = GarbledAmounts {
        gates: total(garbling::Y_AND_GATES),
        decoding_bytes: total(mixed::totals::DECODING_BYTES),
    };
    let ot = (FieldBits::DEFAULT, planned.scale());
    let costs = garbling_costs(party, planned.computing, garbled, ot);
    (costs.sent_bytes, costs.received_bytes)
}

/// Bytes that are neither sent nor received if oblivious transfers come from a trusted dealer; part
/// of the bytes above.
pub fn garbling_ot_bytes(planned: &PlannedFile) -> u64 {
    planned.plan().costs.get(garbling::GARBLING_OT_BYTES).copied().unwrap_or(0)
}

/// Bytes that each party sends before the online phase, whenever it does.
pub fn bytes_before(planned: &PlannedFile) -> Vec<u64> {
    let triples = preprocessing_bytes(planned).into_iter().map(|(sent, _)| sent);
    triples.zip(garbling_bytes(planned)).map(|(triples, tables)| triples + tables).collect()
}

/// The most that goes over a link between two parties in one direction.
pub fn link_bytes(planned: &PlannedFile) -> u64 {
    let links = (planned.computing as u64 - 1).max(1);
    let sent = sent_bytes(planned).into_iter().take(planned.computing).max().unwrap_or(0);
    let to_clients = (planned.computing..planned.description.parties.len())
        .filter_map(|client| planned.plan().costs.get(&mixed::totals::client_output_bytes(client)));
    (sent - to_clients.sum::<u64>()).div_ceil(links)
}

/// Bytes on a link for triples, garbled tables and the like; part of the bytes above.
pub fn link_bytes_before(planned: &PlannedFile) -> u64 {
    let links = (planned.computing as u64 - 1).max(1);
    bytes_before(planned).into_iter().max().unwrap_or(0).div_ceil(links)
}

/// Bytes that each party sends and receives for triples and the like, including set-up.
pub fn preprocessing_bytes(planned: &PlannedFile) -> Vec<(u64, u64)> {
    let costs = &planned.plan().costs;
    if costs.contains_key(&authenticated::online_received_bytes(0)) {
        let total = |name: String| costs.get(&name).copied().unwrap_or(0);
        let of = |party| {
            let sent = total(mixed::totals::sent_bytes(party));
            let received = total(mixed::totals::received_bytes(party));
            let online = total(mixed::totals::online_bytes(party));
            (sent - online, received - total(authenticated::online_received_bytes(party)))
        };
        return (0..planned.computing).map(of).collect();
    }
    // Protocols without preprocessing state none.
    let total = |name: String| costs.get(&name).copied().unwrap_or(0);
    let of = |party: usize| {
        let sent = total(mixed::totals::made_sent_bytes(party));
        (sent, total(mixed::totals::made_received_bytes(party)))
    };
    (0..planned.computing).map(of).collect()
}

/// Correlated randomness that a plan takes besides the triples of AND gates, and how much.
pub fn correlated(plan: &PlanDescription) -> Vec<(String, u64)> {
    Protocol::of_plan(plan).map_or(Vec::new(), |protocol| protocol.making_in_words(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Preprocessing goes on while the parties wait for each other in rounds: the two were added.
    #[test]
    fn what_goes_on_at_the_same_time_is_not_added() {
        let times = PredictedTimes {
            compute: 3.0,
            online_compute: 0.5,
            network: 2.0,
            storage: 1.0,
            tables: 0.25,
            latency: 2.0,
            awaited: 0.25,
            setup: 0.0,
            making: 0.0,
            start: 0.125,
        };
        assert_eq!(times.running(), 0.25 + 3.0);
        assert_eq!(times.total(), 0.125 + 0.25 + 3.0);
        assert_eq!(PredictedTimes { latency: 4.0, ..times }.running(), 0.25 + 4.0 + 0.5);
        assert_eq!(PredictedTimes { network: 9.0, ..times }.running(), 0.25 + 9.0);
        // Rounds wait for tables, which are sent while they are garbled.
        assert_eq!(PredictedTimes { tables: 1.75, ..times }.running(), 0.25 + 2.0 + 1.75);
        // Base oblivious transfers were hidden behind rounds that wait for them.
        assert_eq!(PredictedTimes { setup: 1.5, ..times }.running(), 0.25 + 1.5 + 2.5);
        assert_eq!(
            PredictedTimes { setup: 1.5, latency: 4.0, ..times }.running(),
            0.25 + 1.5 + 4.5
        );
        assert_eq!(PredictedTimes { making: 5.0, setup: 1.5, ..times }.running(), 0.25 + 1.5 + 5.0);
        assert_eq!((times.bound(), times.all_latency()), ("computing", 2.25));
    }

    /// Three streams were nine round trips, one after another.
    #[test]
    fn a_start_has_three_round_trips_however_many_connections() {
        let garbled = SetupTimes { connections: 1, exchanges: 3 };
        assert_eq!(garbled.round_trips(), 3.0 + 0.5 * 3.0);
        assert_eq!(SetupTimes { connections: 3, ..garbled }.round_trips(), 3.0 + 0.5 * 3.0);
        assert_eq!(SetupTimes::default().round_trips(), 0.0);
        let second = garbled.seconds(1.0) - garbled.seconds(0.0);
        assert!((second - garbled.round_trips()).abs() < 1e-9);
    }
}
