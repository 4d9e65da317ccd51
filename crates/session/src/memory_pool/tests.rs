//! Shares, waiting, and which session ends when the total is passed.

use super::*;
use crate::failure::Exit;

const MIB: u64 = 1 << 20;

fn pool(mib: u64) -> MemoryPool {
    MemoryPool::new(PROCESS_BYTES + mib * MIB, PROCESS_BYTES).expect("something is left")
}

fn limit(mib: u64) -> u64 {
    PROCESS_BYTES + mib * MIB
}

#[test]
fn shares_never_exceed_the_pool() {
    let pool = pool(100);
    let first = pool.reserve(limit(60)).expect("it is free");
    assert_eq!((pool.free_bytes(), first.limit_bytes()), (40 * MIB, limit(60)));
    let refused = pool.reserve(limit(41)).expect_err("40 are left");
    assert_eq!((refused.code, refused.code.exit), (codes::POOL, Exit::DoesNotFit));
    let second = pool.reserve(limit(40)).expect("40 are left");
    assert_eq!(pool.free_bytes(), 0);
    let copy = first.clone();
    drop(first);
    assert_eq!(pool.free_bytes(), 0, "it is still in use");
    drop(copy);
    assert_eq!(pool.free_bytes(), 60 * MIB);
    drop(second);
    assert_eq!(pool.reserve(limit(101)).expect_err("never").code, codes::POOL);
    assert_eq!(pool.reserve(PROCESS_BYTES).expect_err("never").code, codes::POOL);
    assert!(MemoryPool::new(PROCESS_BYTES, PROCESS_BYTES).is_err());
}

#[test]
fn who_waits_gets_its_share_in_turn() {
    let pool = pool(100);
    let first = pool.reserve(limit(80)).expect("it is free");
    std::thread::scope(|scope| {
        let large = scope.spawn(|| pool.reserve_when_free(limit(90), || false));
        while pool.0.state().waiting.is_empty() {
            std::thread::yield_now();
        }
        // Small enough, but somebody has come before.
        assert!(pool.reserve(limit(10)).is_err());
        let small = scope.spawn(|| pool.reserve_when_free(limit(15), || false));
        while pool.0.state().waiting.len() < 2 {
            std::thread::yield_now();
        }
        drop(first);
        let large = large.join().expect("no panic").expect("80 came back");
        assert_eq!(pool.free_bytes(), 10 * MIB);
        drop(large);
        let small = small.join().expect("no panic").expect("90 came back");
        assert_eq!(pool.free_bytes(), 85 * MIB);
        drop(small);
    });
    let all = pool.reserve(limit(100)).expect("all is free");
    let ended = pool.reserve_when_free(limit(1), || true).expect_err("it is cancelled");
    assert_eq!(ended.code, codes::INTERRUPTED);
    assert!(pool.0.state().waiting.is_empty());
    drop(all);
}

fn look(share: &Reservation, resident_bytes: u64) -> Option<(u64, EndReason)> {
    let passed = share.0.pool.look(share.0.number, (resident_bytes, resident_bytes));
    passed.map(|passed| (passed.resident_bytes, passed.why))
}

/// Where no session was seen to pass its share, the one that began last ends, and no other until
/// it has ended.
#[test]
fn the_youngest_session_ends() {
    let pool = pool(1 << 20);
    let [first, second, idle] = [1, 2, 3].map(|_| pool.reserve(limit(10)).expect("there is room"));
    first.begin().expect("all is well");
    second.begin().expect("all is well");
    let total = pool.0.total_bytes;
    assert_eq!((look(&first, total), look(&second, total)), (None, None));
    assert_eq!(look(&first, total + 7), None);
    assert_eq!(look(&idle, total + 7), None, "it does not compute");
    let why = EndReason::BeganLast;
    assert_eq!(look(&second, total - 1), Some((total + 7, why)), "although memory is back");
    second.end();
    assert_eq!(look(&first, total), None, "the peak is known");
    let why = EndReason::PassedShare { bytes: total - PROCESS_BYTES - 30 * MIB + 9 };
    assert_eq!(look(&first, total + 9), Some((total + 9, why)), "another one, alone");
}

/// A session that took more than its share did not end: one that began later did, which had
/// kept within its own.
#[test]
fn the_session_that_passed_its_share_ends() {
    let pool = pool(1 << 20);
    let [first, second, third] = [1, 2, 3].map(|_| pool.reserve(limit(10)).expect("there is room"));
    first.begin().expect("all is well");
    // All three may take 30 MiB.
    assert_eq!(look(&first, limit(30)), None);
    // The second runs as two parties.
    let parts = second.split(2);
    first.end();
    parts.iter().for_each(|part| part.begin().expect("all is well"));
    assert_eq!(look(&parts[0], limit(37)), None, "there is room");
    assert_eq!(look(&parts[1], limit(36)), None, "there is room");
    first.begin().expect("all is well");
    third.begin().expect("all is well");
    let total = pool.0.total_bytes;
    let all = [&first, &third, &parts[0], &parts[1]];
    let ended = all.map(|share| look(share, total + 1));
    let why = EndReason::PassedShare { bytes: 7 * MIB };
    assert_eq!(ended, [None, None, None, Some((total + 1, why))]);
    let passed = Passed { resident_bytes: total + 1, why };
    let failure = parts[1].failure(passed);
    assert!(failure.message().ends_with("; this session passed its share by 7.0 MiB"));
    drop((parts, second));
    let ended = [&first, &third].map(|share| look(share, total + 9));
    assert_eq!(ended, [None, Some((total + 9, EndReason::BeganLast))]);
}

#[test]
fn parts_hold_the_whole() {
    let pool = pool(100);
    let whole = pool.reserve(limit(60)).expect("it is free");
    let mut parts = whole.split(2);
    drop(whole);
    let one = parts.pop().expect("two parts");
    assert_eq!(one.limit_bytes(), limit(30));
    drop(parts);
    assert_eq!(pool.free_bytes(), 40 * MIB);
    one.begin().expect("nobody else has it");
    assert!(one.begin().is_err(), "one session at a time");
    drop(one);
    assert_eq!(pool.free_bytes(), 100 * MIB);
    assert!(pool.0.state().computing.is_empty());
}
