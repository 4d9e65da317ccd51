//! Functions that are 1 at one point: what both parties' keys give at all points, and what making them sends.

use phineus_channels::{Altering, MessagePosition, memory_mesh};
use phineus_crypto::point_function::{PointBits, evaluate};
use phineus_crypto::{Block, Prg};
use phineus_ot::{LpnParameters, OtKind, SessionId};

use super::*;

/// Keys and points of both parties are shares of functions that are 1 at the points; no two keys are alike.
fn assert_functions(bits: u16, count: usize, shares: &[&[Vec<u64>]], what: &str) {
    let points = PointBits::new(bits);
    let mut seen = std::collections::BTreeSet::new();
    let mut points_seen = std::collections::BTreeSet::new();
    for number in 0..count {
        let words = count.div_ceil(64);
        let bit_of = |party: &[Vec<u64>], at: usize| {
            bit(&party[0][at * words..(at + 1) * words], number) << at
        };
        let point_of =
            |party: &[Vec<u64>]| (0..points.get()).map(|at| bit_of(party, at)).sum::<u64>();
        let point = point_of(shares[0]) ^ point_of(shares[1]);
        points_seen.insert(point);
        let values = |party: &[Vec<u64>]| {
            let words = &party[1][2 * points.key_blocks() * number..][..2 * points.key_blocks()];
            let block =
                |half: &[u64]| Block::from_bits(u128::from(half[0]) | u128::from(half[1]) << 64);
            let key: Vec<Block> = words.chunks_exact(2).map(block).collect();
            let mut values = vec![Block::ZERO; points.leaves()];
            evaluate(points, &key, &mut values, &mut vec![Block::ZERO; points.leaves()]);
            (words.to_vec(), values)
        };
        let [(key, first), (_, second)] = [values(shares[0]), values(shares[1])];
        for (leaf, (first, second)) in first.iter().zip(&second).enumerate() {
            let here = point as usize >> 7 == leaf;
            let expected = if here { 1 << (point & 127) } else { 0 };
            let found = first.to_bits() ^ second.to_bits();
            assert!(found == expected, "function {number}, point {point}, leaf {leaf}, {what}");
        }
        assert!(bits < 6 || seen.insert(key), "function {number} is there twice, {what}");
    }
    assert!(bits < 12 || count < 10 || points_seen.len() > count / 2, "points repeat, {what}");
    let beyond = count % 64;
    for words in shares.iter().flat_map(|party| party[0].chunks(count.div_ceil(64))) {
        assert!(beyond == 0 || words[count / 64] & !mask(beyond as u32) == 0, "{what}");
    }
}

fn ots() -> [OtKind; 2] {
    [FIELD.into(), OtKind::Silent(LpnParameters::SMALL)]
}

#[test]
fn two_parties_make_what_they_say_at_the_stated_cost() {
    let seed = Prg::from_os().expect("there is randomness").next_block().to_bits() >> 64;
    for ot in ots() {
        let order: Vec<(Kind, usize)> = [
            (1, 3),
            (2, 65),
            (6, 64),
            (7, 130),
            (8, 100),
            (9, 1),
            (12, 70),
            (13, 33),
            (14, 200),
            (16, 150),
            // Two whole batches, and a smaller one.
            (22, 65),
        ]
        .map(|(bits, count)| (Kind::PointFunction { bits }, count))
        .into();
        let all = order.clone();
        let results = everybody(2, move |parties| {
            let prg = Prg::from_seed(Block::from_bits(seed + 1000 * parties.me() as u128));
            let session = SessionId::new([seed as u8; 32]);
            let mut generator =
                Generator::setup(parties, prg, &session, ot).expect("all are honest");
            let demand = Demand::of(order.clone());
            let (mut made, mut batch) = (Vec::new(), Batch::empty());
            for need in Schedule::new(demand.clone(), order.iter().copied().map(Ok)) {
                let (kind, count) = need.expect("the order has no error");
                generator.make(kind, count, &mut batch).expect("all are honest");
                let columns = batch.columns[..kind.columns()].iter();
                made.push((kind, count, columns.map(|column| column.to_vec()).collect::<Vec<_>>()));
            }
            let costs = demand_costs(&demand, PartyPair::OF_TWO, ot);
            assert_eq!(generator.ots(), costs.ots, "every OT is counted");
            let (setup, me) = (setup_costs(ot), generator.parties().me());
            let Traffic { sent_bytes, received_bytes } = generator.parties().traffic()[1 - me];
            let lower = setup.from_lower_bytes + costs.from_lower_bytes;
            let higher = setup.from_higher_bytes + costs.from_higher_bytes;
            let expected = if me == 0 { (lower, higher) } else { (higher, lower) };
            assert_eq!((sent_bytes, received_bytes), expected, "party {me}, {ot:?}");
            made
        });
        assert!(results[0].len() > all.len(), "some take several batches");
        for (i, (kind, count, _)) in results[0].iter().enumerate() {
            let Kind::PointFunction { bits } = *kind else { panic!("there are no others") };
            let shares: Vec<&[Vec<u64>]> = results.iter().map(|made| &made[i].2[..]).collect();
            let what = format!("{count} of 2^{bits} points, {ot:?}, seed {seed}");
            assert_functions(bits, *count, &shares, &what);
        }
    }
}

/// Takes `count` functions in pieces of 64.
fn taken(source: &mut impl CorrelatedRandomness, bits: u16, count: usize) -> Vec<Vec<u64>> {
    let kind = Kind::PointFunction { bits };
    let (mut shares, mut keys) = (vec![Vec::new(); usize::from(bits)], Vec::new());
    for first in (0..count).step_by(64) {
        let piece = 64.min(count - first);
        let mut points = vec![!0; kind.column_words(0, piece)];
        let mut piece_keys = vec![!0; kind.column_words(1, piece)];
        let taken = source.point_functions(bits, piece, &mut points, &mut piece_keys);
        taken.expect("all are honest");
        let strings = shares.iter_mut().zip(points.chunks(piece.div_ceil(64)));
        strings.for_each(|(share, string)| share.extend(string));
        keys.extend(piece_keys);
    }
    vec![shares.concat(), keys]
}

#[test]
fn every_source_gives_them() {
    let seed = 0x90f;
    let (bits, count) = (11, 700);
    let order = vec![(Kind::PointFunction { bits }, count), (Kind::BitTriple, 64)];
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let path = directory.path().to_owned();
    let needs = order.clone();
    let results = everybody(2, move |parties| {
        let (me, demand) = (parties.me(), Demand::of(needs.clone()));
        let order = || needs.clone().into_iter().map(Ok);
        let mut all = Vec::new();
        let generator = generator(parties, seed);
        let mut live = Live::start(generator, demand.clone(), order()).expect("a thread");
        all.push(taken(&mut live, bits, count));
        take(&mut live, Kind::BitTriple, 64, &mut vec![vec![0; 1]; 3]).expect("all are honest");
        let mut generator = live.finish().expect("the thread does not fail");
        let made = Sequential::make(&mut generator, demand.clone(), order(), 1000, &path);
        all.push(taken(&mut made.expect("all are honest"), bits, count));
        let mut prg = Prg::from_seed(Block::from_bits(seed + 7));
        let key = StoredKey::create(&path.join(format!("{me}.key")), &mut prg).expect("a key");
        let file = path.join(format!("{me}.prep"));
        let unfinished = UnfinishedFile::create(&file).expect("it is new");
        let binding = Binding { protocol: "gmw".to_owned(), program: [3; 32], demand };
        let stored = Stored::make(unfinished, &key, &mut generator, (&binding, None), order());
        stored.expect("all are honest");
        let stored = Stored::open(&file, &key, &binding, me, 2).expect("the file is good");
        let stored = Stored::consume(stored, generator.parties());
        all.push(taken(&mut stored.expect("they belong together"), bits, count));
        let mut dealer = Dealer::insecure(Block::from_bits(seed), me, 2);
        all.push(taken(&mut dealer, bits, count));
        all
    });
    for source in 0..4 {
        let shares: Vec<&[Vec<u64>]> = results.iter().map(|made| &made[source][..]).collect();
        assert_functions(bits, count, &shares, &format!("source {source}, seed {seed:#x}"));
    }
}

/// A party that leaves, or sends other bytes, in whichever message: the other one ends with an error of its channel, or
/// with keys of something else.
#[test]
fn wrong_messages_end_in_errors_or_in_wrong_keys() {
    let kind = Kind::PointFunction { bits: 10 };
    for message in 0..40 {
        let threads: Vec<_> = memory_mesh(2)
            .into_iter()
            .map(|parties| {
                std::thread::spawn(move || {
                    let me = parties.me();
                    let channels = parties.into_channels().into_iter().map(|channel| {
                        channel.map(|channel| {
                            Altering::new(
                                channel,
                                move |place: MessagePosition, bytes: &mut [u8]| {
                                    if me == 1 && place.message == message {
                                        bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
                                    }
                                },
                            )
                        })
                    });
                    let parties = Parties::new(me, channels.collect());
                    let prg = Prg::from_seed(Block::from_bits(5 + me as u128));
                    let made = Generator::setup(parties, prg, &SessionId::new([8; 32]), FIELD);
                    let Ok(mut generator) = made else { return false };
                    let mut batch = Batch::empty();
                    let made = generator.make(kind, 20, &mut batch).is_ok();
                    // What it leaves behind is not there for the other one.
                    let left = me == 1 || generator.make(kind, 20, &mut batch).is_err();
                    assert!(left, "nobody makes them alone");
                    made
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no party panics");
        }
    }
}
