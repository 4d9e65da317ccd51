//! Shares of memory add up to no more than the limit.

use super::*;

fn situation(limit_bytes: u64) -> Situation {
    Situation {
        limit_bytes,
        least_limit_bytes: limit_bytes,
        slice_bytes: None,
        prove_inputs: true,
        process_bytes: PROCESS_BYTES,
        tables_bytes: 1 << 20,
        protocol: Protocol::Garbled,
        parties: 2,
        clients: 0,
        ways: Ways::default(),
        round_trip: Duration::ZERO,
        transport: Transport::Tcp,
        network: None,
    }
}

#[test]
fn frames_fill_the_limit_and_never_exceed_it() {
    for limit in [32u64 << 20, 48 << 20, 1 << 30, 8 << 30] {
        let figures =
            Figures { slots: 10_000, scratch_wires: 5000, index_bytes: 4000, ..Figures::default() };
        let situation = situation(limit);
        let frames = situation.frames(figures);
        let total = situation.budget(Figures { frames, ..figures }).total();
        assert!(total <= limit, "{total} of {limit}");
        assert!(total + 2 * situation.page_bytes() > limit, "{total} of {limit}");
    }
}

#[test]
fn channels_to_clients_are_counted_whole() {
    let small = BatchScale::ALL[BatchScale::ALL.len() - 1];
    let with = |clients| Situation { protocol: Protocol::Gmw, clients, ..situation(1 << 30) };
    let channel =
        |clients, scale| with(clients).budget(Figures { scale, ..Figures::default() }).channel;
    let whole = with(0).channel_bytes(BatchScale::FULL);
    for scale in [BatchScale::FULL, small] {
        assert_eq!(channel(14, scale) - channel(0, scale), 14 * whole);
    }
    assert!(channel(0, small) < channel(0, BatchScale::FULL));
}

#[test]
fn too_little_memory_leaves_no_frames() {
    assert_eq!(situation(8 << 20).frames(Figures::default()), 0);
}
