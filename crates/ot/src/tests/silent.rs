//! Silent OT between two threads: correlation, exact bytes, iterations after iterations, failures.

use std::thread;

use phineus_channels::{Channel, MemoryChannel, Traffic, memory_pair};
use phineus_crypto::{Block, Delta, Prg};

use crate::limits::TILE_OTS;
use crate::silent::{iterations, setup_bytes};
use crate::*;

const SIZE: LpnParameters = LpnParameters::SMALL;

fn prg(seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed))
}

fn session(seed: u128) -> SessionId {
    let mut bytes = [0x51; 32];
    bytes[..16].copy_from_slice(&seed.to_le_bytes());
    SessionId::new(bytes)
}

/// Runs both parties after their set-up.
fn run<A: Send + 'static, B>(
    seed: u128,
    size: LpnParameters,
    sender: impl FnOnce(SilentSender, MemoryChannel) -> A + Send + 'static,
    receiver: impl FnOnce(SilentReceiver, MemoryChannel) -> B,
) -> (A, B) {
    let (mut a, mut b) = memory_pair();
    let sender = thread::spawn(move || {
        let mut prg = prg(seed);
        let delta = Delta::random(&mut prg);
        let ot = SilentSender::setup(&mut a, &mut prg, &session(seed), size, delta);
        sender(ot.expect("the receiver is honest"), a)
    });
    let ot = SilentReceiver::setup(&mut b, &mut prg(!seed), &session(seed), size);
    let received = receiver(ot.expect("the sender is honest"), b);
    (sender.join().expect("the sender does not panic"), received)
}

fn assert_correlated(delta: u128, q: &[Block], choices: &[u64], t: &[Block], what: &str) {
    assert_eq!(q.len(), t.len());
    for (j, (q, t)) in q.iter().zip(t).enumerate() {
        let chosen = choices[j / 64] >> (j % 64) & 1 == 1;
        let expected = q.to_bits() ^ if chosen { delta } else { 0 };
        assert!(t.to_bits() == expected, "OT {j}, {what}");
    }
}

fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// Three iterations and a bit, cut at other places than iterations and trees end.
#[test]
fn every_iteration_starts_the_next() {
    let seed = 0x51137;
    let step = 100_000;
    let steps = 3 * SIZE.output_ots() / step + 1;
    let ((delta, all_q, traffic), (all_choices, all_t)) = run(
        seed,
        SIZE,
        move |mut ot, mut channel| {
            let mut all = vec![Block::ZERO; steps * step];
            for q in all.chunks_mut(step) {
                ot.reserve(&mut channel, step).expect("the receiver is there");
                ot.extend_random(&mut channel, q).expect("the receiver is there");
            }
            (ot.delta().block().to_bits(), all, channel.traffic())
        },
        |mut ot, mut channel| {
            let words = step.div_ceil(64);
            let (mut choices, mut all) = (Vec::new(), vec![Block::ZERO; steps * step]);
            for t in all.chunks_mut(step) {
                ot.reserve(&mut channel, step).expect("the sender is there");
                let mut some = vec![0; words];
                ot.extend_random(&mut channel, &mut some, t).expect("the sender is there");
                choices.push(some);
            }
            (choices, all)
        },
    );
    let mut distinct: Vec<u128> = all_q.iter().map(|q| q.to_bits()).collect();
    for ((q, choices), t) in all_q.chunks(step).zip(&all_choices).zip(all_t.chunks(step)) {
        assert_correlated(delta, q, choices, t, &format!("seed {seed:#x}"));
        // Five deviations of a fair coin are 791 of 100,000.
        assert!(ones(choices).abs_diff(step as u32 / 2) < 800, "choices are even, seed {seed:#x}");
    }
    for bit in 1..128 {
        let ones = distinct.iter().filter(|q| *q >> bit & 1 == 1).count();
        let fair = distinct.len() / 2;
        assert!(ones.abs_diff(fair) < 4500, "bit {bit} is even, seed {seed:#x}");
    }
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), steps * step, "no block comes twice, seed {seed:#x}");
    assert_bytes(traffic, SIZE, (steps * step) as u64, 0);
}

/// Exactly the stated bytes: set-up, iterations, and the differences of chosen choices.
fn assert_bytes(traffic: Traffic, size: LpnParameters, count: u64, differences: u64) {
    let (sent, received) = setup_bytes(size);
    let sent = sent + iterations(count, size) * size.iteration_bytes();
    assert_eq!((traffic.sent_bytes, traffic.received_bytes), (sent, received + differences));
}

/// Compares the costs of set-up with docs/protocols/ot.md.
#[test]
fn a_set_up_costs_what_is_documented() {
    assert_eq!(setup_bytes(SIZE), (10_240, 144_391));
    for size in [LpnParameters::MEDIUM, LpnParameters::LARGE, LpnParameters::HUGE] {
        assert_eq!(setup_bytes(size), (10_240 + 152_640, 144_391));
    }
    let megabytes = |size| silent::state_bytes(size) as f64 * 1e-6;
    assert!(megabytes(SIZE) < 2.7 && megabytes(LpnParameters::HUGE) < 18.4);
}

#[test]
fn larger_sizes_start_from_the_smallest() {
    for (size, seed) in [(LpnParameters::MEDIUM, 0x3ed), (LpnParameters::HUGE, 0x4e6)] {
        let count = 20_000;
        let ((delta, q, traffic), (choices, t)) = run(
            seed,
            size,
            move |mut ot, mut channel| {
                let mut q = vec![Block::ZERO; count];
                ot.reserve(&mut channel, count).expect("the receiver is there");
                ot.extend_random(&mut channel, &mut q).expect("the receiver is there");
                (ot.delta().block().to_bits(), q, channel.traffic())
            },
            |mut ot, mut channel| {
                let (mut choices, mut t) = (vec![0; count.div_ceil(64)], vec![Block::ZERO; count]);
                ot.reserve(&mut channel, count).expect("the sender is there");
                ot.extend_random(&mut channel, &mut choices, &mut t).expect("the sender is there");
                (choices, t)
            },
        );
        assert_correlated(delta, &q, &choices, &t, &format!("{size:?}, seed {seed:#x}"));
        assert_bytes(traffic, size, count as u64, 0);
    }
}

#[test]
fn choices_can_be_chosen() {
    let seed = 0xc405e;
    let counts = [0, 1, 63, 64, 65, TILE_OTS, TILE_OTS + 1, 20_000];
    let total: usize = counts.iter().sum();
    let ((delta, all_q, traffic), results) = run(
        seed,
        SIZE,
        move |mut ot, mut channel| {
            ot.reserve(&mut channel, total).expect("the receiver is there");
            let all = counts.map(|count| {
                let mut q = vec![Block::ZERO; count];
                ot.extend(&mut channel, &mut q).expect("the receiver is there");
                q
            });
            (ot.delta().block().to_bits(), all, channel.traffic())
        },
        |mut ot, mut channel| {
            let mut prg = prg(seed + 1);
            ot.reserve(&mut channel, total).expect("the sender is there");
            counts.map(|count| {
                // Also beyond the last OT, where they must not matter.
                let words = || prg.next_block().to_bits() as u64;
                let choices: Vec<u64> =
                    std::iter::repeat_with(words).take(count.div_ceil(64)).collect();
                let mut t = vec![Block::ZERO; count];
                ot.extend(&mut channel, &choices, &mut t).expect("the sender is there");
                (choices, t)
            })
        },
    );
    for (q, (choices, t)) in all_q.iter().zip(&results) {
        assert_correlated(delta, q, choices, t, &format!("{} OTs, seed {seed:#x}", q.len()));
    }
    let differences = counts.iter().map(|count| count.div_ceil(8) as u64).sum();
    assert_bytes(traffic, SIZE, total as u64, differences);
}

/// The difference that is sent hides the choices: it is as even for constant ones.
#[test]
fn sent_differences_do_not_show_the_choices() {
    let seed = 0xd1ff;
    let count = TILE_OTS;
    let (message, ()) = run(
        seed,
        SIZE,
        move |mut ot, mut channel| {
            ot.reserve(&mut channel, count).expect("the receiver is there");
            let mut message = vec![0u8; count / 8];
            channel.recv(&mut message).expect("the receiver is there");
            message
        },
        |mut ot, mut channel| {
            ot.reserve(&mut channel, count).expect("the sender is there");
            let mut t = vec![Block::ZERO; count];
            ot.extend(&mut channel, &vec![u64::MAX; count / 64], &mut t).expect("it is there");
        },
    );
    let ones: u32 = message.iter().map(|byte| byte.count_ones()).sum();
    assert!(ones.abs_diff(count as u32 / 2) < 200, "{ones} of {count}, seed {seed:#x}");
}

#[test]
#[should_panic(expected = "OTs are reserved before they are made")]
fn what_is_not_reserved_stops_the_process() {
    run(
        0xdead,
        SIZE,
        |_, _| (),
        |mut ot, mut channel| {
            let mut t = [Block::ZERO; 64];
            ot.extend_random(&mut channel, &mut [0], &mut t).expect("this panics");
        },
    );
}

/// The types above take reserved OTs as any others.
#[test]
fn chosen_messages_over_silent_ot() {
    let (seed, count) = (0xc05e, 30_000);
    let mut messages = vec![[Block::ZERO; 2]; count];
    prg(seed).fill_blocks(messages.as_flattened_mut());
    let mut choices = vec![0u64; count.div_ceil(64)];
    choices.iter_mut().zip(0u64..).for_each(|(word, i)| *word = i.wrapping_mul(0x9e37_79b9 << 30));
    let (offered, mine) = (messages.clone(), choices.clone());
    let ((), got) = run(
        seed,
        SIZE,
        move |ot, mut channel| {
            let mut ot = ChosenOtSender::new(ot, &session(seed));
            ot.reserve(&mut channel, count).expect("the receiver is there");
            ot.send(&mut channel, &offered).expect("the receiver is there");
        },
        |ot, mut channel| {
            let mut ot = ChosenOtReceiver::new(ot, &session(seed));
            let mut got = vec![Block::ZERO; count];
            ot.reserve(&mut channel, count).expect("the sender is there");
            ot.receive(&mut channel, &mine, &mut got).expect("the sender is there");
            got
        },
    );
    for (j, (got, pair)) in got.iter().zip(&messages).enumerate() {
        let choice = (choices[j / 64] >> (j % 64) & 1) as usize;
        assert!(got.to_bits() == pair[choice].to_bits(), "OT {j}, seed {seed:#x}");
    }
}

/// A sender that stops in the middle of its trees, and one whose first bytes are no point.
#[test]
fn a_peer_that_fails_gives_an_error() {
    let (closed, error) = run(
        0xc105ed,
        SIZE,
        |ot, mut channel| {
            drop(ot);
            channel.send(&[1; 1000]).expect("the receiver is there");
            channel.flush().is_ok()
        },
        |mut ot, mut channel| ot.reserve(&mut channel, 1).err(),
    );
    assert!(closed && matches!(error, Some(OtError::Channel(_))));

    let (mut a, mut b) = memory_pair();
    a.send(&vec![0xff; 1 << 18]).expect("the pipe is open");
    a.flush().expect("the pipe is open");
    let error = SilentReceiver::setup(&mut b, &mut prg(1), &session(1), SIZE).err();
    assert!(matches!(error, Some(OtError::Misbehaved { during: "base OT" })));
    let (mut a, mut b) = memory_pair();
    a.send(&vec![0xff; 1 << 18]).expect("the pipe is open");
    a.flush().expect("the pipe is open");
    let delta = Delta::random(&mut prg(2));
    let error = SilentSender::setup(&mut b, &mut prg(1), &session(1), SIZE, delta).err();
    assert!(matches!(error, Some(OtError::Misbehaved { during: "base OT" })));
}
