//! How fast correlated randomness is made on this machine: `preprocessing_speed [parties] [k]`;
//! `k = 0` is silent OT.
//!
//! All parties are threads over an in-process mesh. Rates are those of one party, which is what a
//! protocol consumes; bytes are those that one party of two sends for each,
//! the one that sends more.

use std::thread;
use std::time::Instant;

use phineus_channels::memory_mesh;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::semi_honest::costs::{PartyPair, kind_costs};
use phineus_correlated::semi_honest::{Batch, Generator, Kind};
use phineus_crypto::{Block, Prg};
use phineus_ot::{FieldBits, LpnParameters, OtKind, SessionId};

const BATCHES: usize = 8;

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let parties = arguments.first().copied().unwrap_or(2);
    let ot = match arguments.get(1) {
        Some(0) => OtKind::Silent(LpnParameters::MEDIUM),
        Some(&k) => FieldBits::new(k).unwrap_or(FieldBits::DEFAULT).into(),
        None => FieldBits::DEFAULT.into(),
    };
    let start = Instant::now();
    let mut generators: Vec<_> = on_threads(memory_mesh(parties), move |parties| {
        let prg = Prg::from_seed(Block::from_bits(parties.me() as u128));
        Generator::setup(parties, prg, &SessionId::new([3; 32]), ot).expect("all are honest")
    });
    println!("{parties} parties, {ot:?}, set-up {:.1} ms", 1e3 * start.elapsed().as_secs_f64());
    let mut kinds = vec![Kind::BitTriple];
    for width in [8, 32, 64] {
        kinds.push(Kind::RingTriple { width });
        kinds.push(Kind::SquarePair { width });
        kinds.push(Kind::SharedBit { width });
    }
    kinds.extend([16, 128].map(|width| Kind::KnownTriple { owner: 1, width }));
    for kind in kinds {
        let count = kind.batch_elements(BatchScale::FULL);
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let start = Instant::now();
            generators = on_threads(generators, move |mut generator| {
                let mut batch = Batch::empty();
                for _ in 0..BATCHES {
                    generator.make(kind, count, &mut batch).expect("all are honest");
                }
                generator
            });
            best = best.min(start.elapsed().as_secs_f64());
        }
        let costs = kind_costs(kind, count * BATCHES, PartyPair::of(0, 1, parties), ot);
        let made = (count * BATCHES) as f64;
        let sent_bytes = costs.from_lower_bytes.max(costs.from_higher_bytes);
        let (ots, bytes) = (costs.ots as f64 / made, sent_bytes as f64 / made);
        println!(
            "{kind:?}: {:.3} M/s, {:.1} M OT/s between each two, {bytes:.2} bytes each way at the most",
            1e-6 * made / best,
            1e-6 * made * ots / best,
        );
    }
}

/// Runs a function for each on a thread of its own, and gives the results in order.
fn on_threads<A: Send + 'static, B: Send + 'static>(
    inputs: Vec<A>,
    run: impl Fn(A) -> B + Send + Clone + 'static,
) -> Vec<B> {
    let threads = inputs.into_iter().map(|input| {
        let run = run.clone();
        thread::spawn(move || run(input))
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().map(|thread| thread.join().expect("no party panics")).collect()
}
