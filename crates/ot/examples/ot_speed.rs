//! How fast oblivious transfer is on this machine: `ot_speed [log2 of the count] [k ...]`; `k = 0`
//! is silent OT, all sizes.
//!
//! Both parties are threads over an in-process channel; each party is also measured alone, against
//! a channel that swallows or repeats bytes, because extension goes one way only.

use std::thread;
use std::time::Instant;

use phineus_channels::memory_pair;
use phineus_channels::{Channel, ChannelError, MAX_BORROW_BYTES, MemoryChannel, Traffic};
use phineus_crypto::{Block, Delta, Prg};
use phineus_ot::OtError;
use phineus_ot::limits::{BASE_OT_COUNT, BATCH_OTS};
use phineus_ot::{
    AdversaryModel, ChoiceBits, CorrelatedOtReceiver, CorrelatedOtSender, FieldBits, LpnParameters,
    RandomOtReceiver, RandomOtSender, SessionId, SilentReceiver, SilentSender, SoftSpokenReceiver,
    SoftSpokenSender, base, extension_bytes, silent,
};

const REPETITIONS: usize = 7;

fn main() -> Result<(), OtError> {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let count = 1usize << arguments.first().copied().unwrap_or(22);
    let fields = arguments.get(1..).filter(|fields| !fields.is_empty()).unwrap_or(&[2, 4, 8, 0]);

    report("128 base OTs, both parties", &repeat(base_ots)?, |t| format!("{:.2} ms", 1e3 * t));
    for field in fields.iter().filter_map(|&k| FieldBits::new(k)) {
        let bits = 8.0 * extension_bytes(count as u64, field) as f64 / count as f64;
        println!("{field:?}, {count} OTs, {bits} bits per OT");
        let rate = |t: f64| format!("{:.1} M OT/s", 1e-6 * count as f64 / t);
        report("  set-up", &repeat(|| setup(field).map(drop))?, |t| format!("{:.2} ms", 1e3 * t));
        let (mut sender, mut receiver) = setup(field)?;
        report("  correlated, sender alone", &sender_alone(&mut sender, count)?, rate);
        report("  correlated, receiver alone", &receiver_alone(&mut receiver, count)?, rate);
        let (mut sender, mut receiver) = setup(field)?;
        let times = repeat(|| correlated(&mut sender, &mut receiver, count))?;
        report("  correlated, both", &times, rate);
        let mut sender = RandomOtSender::new(sender, &session());
        let mut receiver = RandomOtReceiver::new(receiver, &session());
        let times = repeat(|| random(&mut sender, &mut receiver, count))?;
        report("  random, both", &times, rate);
        let times = repeat(|| random_bits(&mut sender, &mut receiver, count))?;
        report("  random bits, both", &times, rate);
        let (sender, receiver) = setup_for(field, AdversaryModel::Malicious)?;
        let mut sender = RandomOtSender::new(sender, &session());
        let mut receiver = RandomOtReceiver::new(receiver, &session());
        let times = repeat(|| random(&mut sender, &mut receiver, count))?;
        report("  random, malicious, both", &times, rate);
    }
    if fields.contains(&0) {
        let (small, medium) = (LpnParameters::SMALL, LpnParameters::MEDIUM);
        for size in [small, medium, LpnParameters::LARGE, LpnParameters::HUGE] {
            report_silent(size, count)?;
        }
    }
    Ok(())
}

fn report_silent(size: LpnParameters, count: usize) -> Result<(), OtError> {
    let (sent, received) = silent::setup_bytes(size);
    let iterations = silent::iterations(count as u64, size);
    let bytes = sent + received + iterations * size.iteration_bytes();
    println!(
        "silent, {} OTs an iteration, {count} OTs, {:.2} bits per OT with set-up, {:.2} without, \
         {:.1} MB of memory",
        size.output_ots(),
        8.0 * bytes as f64 / count as f64,
        8.0 * size.iteration_bytes() as f64 / size.output_ots() as f64,
        1e-6 * silent::state_bytes(size) as f64,
    );
    report("  set-up", &repeat(|| silent_ots(size, 0))?, |t| format!("{:.2} ms", 1e3 * t));
    let rate = |t: f64| format!("{:.1} M OT/s", 1e-6 * count as f64 / t);
    report("  correlated, set-up included, both", &repeat(|| silent_ots(size, count))?, rate);
    Ok(())
}

/// Set-up and `count` OTs.
fn silent_ots(size: LpnParameters, count: usize) -> Result<(), OtError> {
    both(
        |channel| {
            let mut prg = prg(1);
            let delta = Delta::random(&mut prg);
            let mut sender = SilentSender::setup(channel, &mut prg, &session(), size, delta)?;
            let mut q = vec![Block::ZERO; BATCH_OTS];
            (0..count / BATCH_OTS).try_for_each(|_| {
                sender.reserve(channel, BATCH_OTS)?;
                sender.extend_random(channel, &mut q)
            })
        },
        |channel| {
            let mut receiver = SilentReceiver::setup(channel, &mut prg(2), &session(), size)?;
            let (mut t, mut choices) = (vec![Block::ZERO; BATCH_OTS], vec![0; BATCH_OTS / 64]);
            (0..count / BATCH_OTS).try_for_each(|_| {
                receiver.reserve(channel, BATCH_OTS)?;
                receiver.extend_random(channel, &mut choices, &mut t)
            })
        },
    )?;
    Ok(())
}

fn report(what: &str, times: &[f64], show: impl Fn(f64) -> String) {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    println!("{what}: best {}, median {}", show(times[0]), show(times[times.len() / 2]));
}

fn repeat(mut run: impl FnMut() -> Result<(), OtError>) -> Result<Vec<f64>, OtError> {
    (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            run()?;
            Ok(start.elapsed().as_secs_f64())
        })
        .collect()
}

fn prg(seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed))
}

fn session() -> SessionId {
    SessionId::new([7; 32])
}

/// Runs the two parties as two threads.
fn both<A: Send, B: Send>(
    sender: impl FnOnce(&mut MemoryChannel) -> Result<A, OtError> + Send,
    receiver: impl FnOnce(&mut MemoryChannel) -> Result<B, OtError> + Send,
) -> Result<(A, B), OtError> {
    let (mut a, mut b) = memory_pair();
    thread::scope(|scope| {
        let sender = scope.spawn(move || sender(&mut a));
        let received = receiver(&mut b)?;
        Ok((sender.join().expect("the sender does not panic")?, received))
    })
}

fn base_ots() -> Result<(), OtError> {
    let choices = [0x0123_4567_89ab_cdef; BASE_OT_COUNT / 64];
    both(
        |channel| {
            let mut pads = vec![[Block::ZERO; 2]; BASE_OT_COUNT];
            base::send(channel, &mut prg(1), &session(), &mut pads)
        },
        |channel| {
            let mut pads = vec![Block::ZERO; BASE_OT_COUNT];
            base::receive(channel, &mut prg(2), &session(), &choices, &mut pads)
        },
    )?;
    Ok(())
}

fn setup(field: FieldBits) -> Result<(SoftSpokenSender, SoftSpokenReceiver), OtError> {
    setup_for(field, AdversaryModel::SemiHonest)
}

fn setup_for(
    field: FieldBits,
    security: AdversaryModel,
) -> Result<(SoftSpokenSender, SoftSpokenReceiver), OtError> {
    both(
        |channel| {
            let mut prg = prg(1);
            let delta = Delta::random(&mut prg);
            SoftSpokenSender::setup_for(channel, &mut prg, &session(), field, security, delta)
        },
        |channel| SoftSpokenReceiver::setup_for(channel, &mut prg(2), &session(), field, security),
    )
}

fn sender_alone(sender: &mut SoftSpokenSender, count: usize) -> Result<Vec<f64>, OtError> {
    let mut channel = OneParty(vec![0x5a; MAX_BORROW_BYTES]);
    let mut q = vec![Block::ZERO; BATCH_OTS];
    repeat(|| (0..count / BATCH_OTS).try_for_each(|_| sender.extend(&mut channel, &mut q)))
}

fn receiver_alone(receiver: &mut SoftSpokenReceiver, count: usize) -> Result<Vec<f64>, OtError> {
    let mut channel = OneParty(vec![0; MAX_BORROW_BYTES]);
    let choices = vec![0x0123_4567_89ab_cdef; BATCH_OTS / 64];
    let mut t = vec![Block::ZERO; BATCH_OTS];
    repeat(|| {
        (0..count / BATCH_OTS).try_for_each(|_| receiver.extend(&mut channel, &choices, &mut t))
    })
}

fn correlated(
    sender: &mut SoftSpokenSender,
    receiver: &mut SoftSpokenReceiver,
    count: usize,
) -> Result<(), OtError> {
    let choices = vec![0x0123_4567_89ab_cdef; BATCH_OTS / 64];
    both(
        |channel| {
            let mut q = vec![Block::ZERO; BATCH_OTS];
            (0..count / BATCH_OTS).try_for_each(|_| sender.extend(channel, &mut q))
        },
        |channel| {
            let mut t = vec![Block::ZERO; BATCH_OTS];
            (0..count / BATCH_OTS).try_for_each(|_| receiver.extend(channel, &choices, &mut t))
        },
    )?;
    Ok(())
}

fn random(
    sender: &mut RandomOtSender<SoftSpokenSender>,
    receiver: &mut RandomOtReceiver<SoftSpokenReceiver>,
    count: usize,
) -> Result<(), OtError> {
    let mut choices = vec![0; BATCH_OTS / 64];
    both(
        |channel| {
            let mut messages = vec![[Block::ZERO; 2]; BATCH_OTS];
            (0..count / BATCH_OTS).try_for_each(|_| sender.extend_random(channel, &mut messages))
        },
        |channel| {
            let mut messages = vec![Block::ZERO; BATCH_OTS];
            (0..count / BATCH_OTS)
                .try_for_each(|_| receiver.extend_random(channel, &mut choices, &mut messages))
        },
    )?;
    Ok(())
}

fn random_bits(
    sender: &mut RandomOtSender<SoftSpokenSender>,
    receiver: &mut RandomOtReceiver<SoftSpokenReceiver>,
    count: usize,
) -> Result<(), OtError> {
    let words = || vec![0; BATCH_OTS / 64];
    both(
        |channel| {
            let (mut zero, mut one) = (words(), words());
            (0..count / BATCH_OTS).try_for_each(|_| {
                sender.extend_random_bits(channel, BATCH_OTS, &mut zero, &mut one)
            })
        },
        |channel| {
            let (mut choices, mut bits) = (words(), words());
            (0..count / BATCH_OTS).try_for_each(|_| {
                let choices = ChoiceBits::Random(&mut choices);
                receiver.extend_bits(channel, choices, BATCH_OTS, &mut bits)
            })
        },
    )?;
    Ok(())
}

/// A channel with one end: what is sent is lost, what is received is always the same.
struct OneParty(Vec<u8>);

impl Channel for OneParty {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        Ok(fill(&mut self.0[..len]))
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        Ok(read(&self.0[..len]))
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }
}
