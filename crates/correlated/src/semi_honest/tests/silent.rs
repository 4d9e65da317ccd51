//! Preprocessing over silent OT: the same meanings, through several iterations of it, and the
//! bytes of `costs`.

use phineus_channels::Traffic;
use phineus_crypto::{Block, Prg};
use phineus_ot::{FieldBits, LpnParameters, OtKind, SessionId};

use super::{assert_meaning, everybody};
use crate::semi_honest::costs::{
    PartyPair, demand_costs, demands_costs, kind_costs, ots_of_a_direction, setup_costs,
};
use crate::semi_honest::*;

const OT: OtKind = OtKind::Silent(LpnParameters::SMALL);

/// More bit triples than one iteration has OTs, and all other kinds between them.
fn order(bit_triples: usize) -> Vec<(Kind, usize)> {
    let bits = Kind::BitTriple;
    vec![
        (bits, 65),
        (Kind::RingTriple { width: 64 }, 1024),
        (Kind::SquarePair { width: 32 }, 2001),
        (bits, bit_triples),
        (Kind::SharedBit { width: 13 }, 1001),
        (Kind::KnownTriple { owner: 1, width: 90 }, 30_000),
        (Kind::KnownTriple { owner: 0, width: 3 }, 200),
        (Kind::SquarePair { width: 1 }, 10),
        (bits, 1),
    ]
}

#[test]
fn every_kind_means_what_it_says_and_costs_what_it_says() {
    let iteration = LpnParameters::SMALL.output_ots();
    for (parties, bit_triples, seed) in [(2, iteration + 1, 0x521), (3, 70_000, 0x531)] {
        let results = everybody(parties, move |parties| {
            let prg = Prg::from_seed(Block::from_bits(seed + 1000 * parties.me() as u128));
            let (me, count) = (parties.me(), parties.count());
            let mut generator = Generator::setup(parties, prg, &SessionId::new([5; 32]), OT)
                .expect("all are honest");
            let demand = Demand::of(order(bit_triples));
            let (setup, all) = (setup_costs(OT), demand.clone());
            let mut made = Vec::new();
            let mut batch = Batch::empty();
            for need in Schedule::new(demand, order(bit_triples).into_iter().map(Ok)) {
                let (kind, count) = need.expect("the order has no error");
                generator.make(kind, count, &mut batch).expect("all are honest");
                let columns = batch.columns[..kind.columns()].iter();
                made.push((kind, count, columns.map(|column| column.to_vec()).collect::<Vec<_>>()));
            }
            let traffic = generator.parties().traffic();
            for peer in (0..count).filter(|&peer| peer != me) {
                let Traffic { sent_bytes, received_bytes } = traffic[peer];
                let costs = demand_costs(&all, PartyPair::of(me, peer, count), OT);
                let lower = setup.from_lower_bytes + costs.from_lower_bytes;
                let higher = setup.from_higher_bytes + costs.from_higher_bytes;
                let expected = if me < peer { (lower, higher) } else { (higher, lower) };
                assert_eq!((sent_bytes, received_bytes), expected, "party {me} and {peer}");
            }
            made
        });
        for (i, (kind, count, _)) in results[0].iter().enumerate() {
            let shares: Vec<_> = results.iter().map(|made| &made[i].2).collect();
            let what = format!("{count} {kind:?}, {parties} parties, seed {seed:#x}");
            assert_meaning(*kind, *count, &shares, &what);
        }
    }
}

/// As the blocks of a program demand it: what one leaves of an iteration serves the next.
#[test]
fn what_comes_again_takes_what_was_reserved() {
    let order = || {
        let bits = Kind::BitTriple;
        [
            (bits, 30_001),
            (Kind::RingTriple { width: 32 }, 301),
            (Kind::SquarePair { width: 32 }, 401),
        ]
    };
    let demand = Demand::of(order());
    // A little more than one iteration has.
    let times = 1 + LpnParameters::SMALL.output_ots() as u64 / ots_of_a_direction(&demand);
    everybody(2, move |parties| {
        let prg = Prg::from_seed(Block::from_bits(0x540 + parties.me() as u128));
        let me = parties.me();
        let mut generator =
            Generator::setup(parties, prg, &SessionId::new([7; 32]), OT).expect("all are honest");
        let (demand, mut batch) = (Demand::of(order()), Batch::empty());
        for _ in 0..times {
            for need in Schedule::new(demand.clone(), order().into_iter().map(Ok)) {
                let (kind, count) = need.expect("the order has no error");
                generator.make(kind, count, &mut batch).expect("all are honest");
            }
        }
        let (setup, once) = (setup_costs(OT), demand_costs(&demand, PartyPair::OF_TWO, OT));
        let costs = demands_costs([(&demand, times)].into_iter(), PartyPair::OF_TWO, OT);
        assert_eq!(costs.ots, once.ots * times);
        assert!(costs.from_lower_bytes < once.from_lower_bytes * times, "iterations are shared");
        let Traffic { sent_bytes, .. } = generator.parties().traffic()[1 - me];
        let expected = match me {
            0 => setup.from_lower_bytes + costs.from_lower_bytes,
            _ => setup.from_higher_bytes + costs.from_higher_bytes,
        };
        assert_eq!(sent_bytes, expected, "party {me}");
    });
}

/// The purpose of silent OT: it takes below 1 bit for a triple's OT instead of 31, in small numbers 3.
#[test]
fn silent_ot_sends_a_twentieth() {
    let bytes =
        |ot: OtKind| kind_costs(Kind::BitTriple, 1 << 24, PartyPair::OF_TWO, ot).from_lower_bytes;
    let quiet = bytes(OtKind::Silent(LpnParameters::HUGE));
    assert_eq!(quiet, 4 * 268_800);
    let fitting = OtKind::Silent(LpnParameters::for_ots(1 << 24));
    assert!(20 * bytes(fitting) < bytes(FieldBits::DEFAULT.into()));
    assert!(10 * bytes(OT) < bytes(FieldBits::DEFAULT.into()));
    // Another kind takes OTs of the same iterations.
    let demand = Demand::of([(Kind::BitTriple, 1 << 19), (Kind::SharedBit { width: 9 }, 1000)]);
    assert_eq!(demand_costs(&demand, PartyPair::OF_TWO, OT).rounds, 8 + 2 + 2);
}
