//! Shares of memory add up to no more than the limit.

use super::*;
use crate::protocol::list::{BMR, GARBLED, GMW, MIXED, SPDZ};

fn situation(limit_bytes: u64) -> BudgetParameters {
    BudgetParameters {
        limit_bytes,
        least_limit_bytes: limit_bytes,
        slice_bytes: None,
        prove_inputs: true,
        process_bytes: PROCESS_BYTES,
        tables_bytes: 1 << 20,
        client_tables_bytes: None,
        protocol: GARBLED,
        parties: 2,
        clients: 0,
        variant: ProtocolVariant::default(),
        round_trip: Duration::ZERO,
        is_far: false,
        transport: Transport::Tcp,
        network: None,
    }
}

#[test]
fn frames_fill_the_limit_and_never_exceed_it() {
    for limit in [32u64 << 20, 48 << 20, 1 << 30, 8 << 30] {
        let figures = PlanFigures {
            slots: 10_000,
            scratch_wires: 5000,
            index_bytes: 4000,
            ..PlanFigures::default()
        };
        let situation = situation(limit);
        let frames = situation.frames(figures);
        let total = situation.budget(PlanFigures { frames, ..figures }).total();
        assert!(total <= limit, "{total} of {limit}");
        assert!(total + 2 * situation.page_bytes() > limit, "{total} of {limit}");
    }
}

#[test]
fn channels_to_clients_are_counted_whole() {
    let small = BatchScale::ALL[BatchScale::ALL.len() - 1];
    let with = |clients| BudgetParameters { protocol: GMW, clients, ..situation(1 << 30) };
    let channel = |clients, scale| {
        with(clients).budget(PlanFigures { scale, ..PlanFigures::default() }).channel
    };
    let whole = with(0).channel_bytes(BatchScale::FULL);
    for scale in [BatchScale::FULL, small] {
        assert_eq!(channel(14, scale) - channel(0, scale), 14 * whole);
    }
    assert!(channel(0, small) < channel(0, BatchScale::FULL));
}

/// Windows grow with latency and memory, to what is of use; and what is longer is counted.
#[test]
fn windows_follow_the_round_trip_and_the_limit() {
    let full = BatchScale::FULL;
    let at = |protocol, parties, limit_mib: u64, millis| BudgetParameters {
        protocol,
        parties,
        round_trip: Duration::from_millis(millis),
        ..situation(limit_mib << 20)
    };
    let ahead = |situation: BudgetParameters| situation.ahead_bytes(full, true) >> 20;
    let garbled = |parties, limit, millis| ahead(at(BMR, parties, limit, millis));
    assert_eq!([0, 4, 5, 9, 40, 100].map(|millis| garbled(2, 1024, millis)), [1, 1, 2, 4, 4, 4]);
    assert_eq!([32, 64, 127, 128].map(|limit| garbled(2, limit, 40)), [1, 2, 2, 4]);
    assert_eq!([2, 3, 4, 5].map(|parties| garbled(parties, 256, 40)), [4, 4, 2, 2]);
    assert_eq!(ahead(at(SPDZ, 2, 1024, 100)), 8);
    // Nothing is garbled, or batches are small.
    let slow = at(MIXED, 3, 1024, 40);
    assert_eq!(slow.ahead_bytes(full, false), full.ahead_bytes());
    assert_eq!(slow.ahead_bytes(BatchScale::ALL[1], true), BatchScale::ALL[1].ahead_bytes());
    let driver = |situation: BudgetParameters, garbling_bytes| {
        situation.budget(PlanFigures { garbling_bytes, ..PlanFigures::default() }).driver
    };
    let fast = at(MIXED, 3, 1024, 0);
    assert_eq!(
        driver(slow, 1) - driver(fast, 1),
        2 * (6 << 20),
        "two blocks for each, to two peers"
    );
    assert_eq!(driver(slow, 0), driver(fast, 0));
}

#[test]
fn too_little_memory_leaves_no_frames() {
    assert_eq!(situation(8 << 20).frames(PlanFigures::default()), 0);
}
