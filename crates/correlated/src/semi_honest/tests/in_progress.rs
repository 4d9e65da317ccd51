//! Several batches in progress at once: the same meanings and bytes as one after another, in fewer rounds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use phineus_channels::{Channel, ClockedChannel, Parties, clocked_mesh};
use phineus_crypto::{Block, Prg};
use phineus_ot::{LpnParameters, OtKind, SessionId};

use super::{FIELD, assert_meaning, everybody_scaled, take};
use crate::demand::BatchScale;
use crate::generator::BatchGenerator;
use crate::semi_honest::costs::{PartyPair, batch_costs, demand_costs, setup_costs};
use crate::semi_honest::*;

/// Batches are begun before those before them are finished, also where channels take as little as can
/// be and where kinds alternate: nobody waits for ever, and nothing else is made or sent.
#[test]
fn batches_that_are_begun_before_others_are_finished_are_the_same() {
    for scale in BatchScale::ALL {
        let results = everybody_scaled(2, scale, move |parties| {
            let batches = |kind: Kind, count: usize| (kind, count * kind.batch_elements(scale) + 7);
            let order = [
                batches(Kind::BitTriple, 9),
                batches(Kind::RingTriple { width: 64 }, 6),
                batches(Kind::SquarePair { width: 32 }, 5),
                batches(Kind::BitTriple, 1),
                batches(Kind::KnownTriple { owner: 1, width: 90 }, 5),
                batches(Kind::SharedBit { width: 64 }, 4),
                (Kind::PointFunction { bits: 8 }, 3),
                batches(Kind::RingTriple { width: 8 }, 2),
                (Kind::SquarePair { width: 1 }, 70),
                (Kind::KnownTriple { owner: 0, width: 3 }, 70),
                batches(Kind::SharedBit { width: 2 }, 3),
                (Kind::RingTriple { width: 64 }, 70),
                (Kind::SharedBit { width: 1 }, 70),
            ];
            let mut demand = Demand::scaled(scale);
            order.iter().for_each(|&(kind, count)| demand.add(kind, count));
            let costs = demand_costs(&demand, PartyPair::OF_TWO, FIELD);
            let setup = setup_costs(FIELD).from_lower_bytes;
            let prg = Prg::from_seed(Block::from_bits(0xbe + parties.me() as u128));
            let (session, kind) = (SessionId::new([0xbe; 32]), (FIELD.into(), scale));
            let generator = Generator::setup_scaled(parties, prg, &session, kind);
            let generator = generator.expect("all honest");
            assert!(takes_four(&generator, Kind::BitTriple, scale), "all that a channel takes");
            let is_four = takes_four(&generator, Kind::RingTriple { width: 32 }, scale);
            assert_eq!(is_four, scale == BatchScale::FULL, "where memory is plenty");
            let mut live =
                Live::start(generator, demand, order.into_iter().map(Ok)).expect("a thread");
            let mut made = Vec::new();
            for (kind, count) in order {
                let words = |column| vec![0; kind.column_words(column, count)];
                let mut columns: Vec<_> = (0..kind.columns()).map(words).collect();
                take(&mut live, kind, count, &mut columns).expect("all honest");
                made.push(columns);
            }
            let mut generator = live.finish().expect("the thread does not fail");
            let parties = generator.parties();
            let sent = parties.traffic()[1 - parties.me()].sent_bytes;
            let expected = [costs.from_lower_bytes, costs.from_higher_bytes][parties.me()];
            assert_eq!(sent, setup + expected, "party {}", parties.me());
            (order, made)
        });
        // Point functions have tests of their own.
        let is_checked = |kind| !matches!(kind, Kind::PointFunction { .. });
        for (i, (kind, count)) in results[0].0.into_iter().enumerate() {
            if !is_checked(kind) {
                continue;
            }
            let shares: Vec<_> = results.iter().map(|(_, made)| &made[i]).collect();
            assert_meaning(kind, count, &shares, &format!("{kind:?}, {scale:?}"));
        }
    }
}

/// Whether four batches of a kind can be in progress, and five cannot.
fn takes_four<C: Channel>(generator: &Generator<C>, kind: Kind, scale: BatchScale) -> bool {
    let mut begun = VecDeque::new();
    let count = kind.batch_elements(scale);
    while generator.can_begin(&begun, kind, count) {
        let mut batch = Batch::empty();
        batch.reset(kind, count);
        begun.push_back(batch);
    }
    begun.len() == 4
}

/// Silent OTs are reserved by batch, so no batch begins before others are finished, though choices take no bytes.
#[test]
fn batches_of_silent_ots_are_made_one_after_another() {
    everybody_scaled(2, BatchScale::FULL, |parties| {
        let prg = Prg::from_seed(Block::from_bits(0xad + parties.me() as u128));
        let kind = (OtKind::Silent(LpnParameters::SMALL), BatchScale::FULL);
        let generator = Generator::setup_scaled(parties, prg, &SessionId::new([0xad; 32]), kind);
        let generator = generator.expect("all honest");
        for kind in [Kind::BitTriple, Kind::KnownTriple { owner: 0, width: 8 }] {
            assert!(!generator.can_begin(&VecDeque::new(), kind, 64), "{kind:?}");
        }
    });
}

/// Rounds of a party with this clock for 12 batches of a kind, without those of set-up.
fn rounds_of_twelve(parties: Parties<ClockedChannel>, clock: &AtomicU64, kind: Kind) -> u64 {
    let prg = Prg::from_seed(Block::from_bits(0x12 + parties.me() as u128));
    let session = SessionId::new([0x12; 32]);
    let generator = Generator::setup(parties, prg, &session, FIELD).expect("all honest");
    let before = clock.load(Ordering::Relaxed);
    let batch = kind.batch_elements(BatchScale::FULL);
    let need = (kind, 12 * batch);
    let live = Live::start(generator, Demand::of([need]), [Ok(need)].into_iter());
    let mut live = live.expect("a thread");
    for _ in 0..12 {
        let words = |column| vec![0; kind.column_words(column, batch)];
        let mut columns: Vec<_> = (0..kind.columns()).map(words).collect();
        take(&mut live, kind, batch, &mut columns).expect("all honest");
    }
    live.finish().expect("the thread does not fail");
    clock.load(Ordering::Relaxed) - before
}

/// Triples of 32 bits waited for a round trip in each batch of 2,048, so that making and sending added up: a program of
/// many products took twice the predicted time at 40 ms.
#[test]
fn batches_in_progress_share_their_rounds() {
    let kinds = [
        (Kind::BitTriple, 3),
        (Kind::RingTriple { width: 32 }, 6),
        (Kind::SquarePair { width: 32 }, 6),
        (Kind::SharedBit { width: 32 }, 6),
        // Their answers are longer: three at once.
        (Kind::RingTriple { width: 64 }, 8),
    ];
    for (kind, expected) in kinds {
        let (mesh, clocks) = clocked_mesh(2);
        let threads = mesh
            .into_iter()
            .zip(clocks)
            .map(|(parties, clock)| thread::spawn(move || rounds_of_twelve(parties, &clock, kind)));
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            let rounds = thread.join().expect("no party panics");
            assert_eq!(rounds, expected, "{kind:?}");
        }
        // As predictions have it.
        let stated = 12 * batch_costs(kind, 1, PartyPair::OF_TWO, FIELD).rounds;
        let demand = Demand::of([(kind, 12 * kind.batch_elements(BatchScale::FULL))]);
        assert_eq!(stated - demand.overlapped_rounds(), expected, "{kind:?}");
    }
}
