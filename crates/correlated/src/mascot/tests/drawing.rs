//! Correlated randomness in pieces, from every source.

use super::lies::{Liar, Lie};
use super::*;
use crate::authenticated::AuthenticatedRandomness;
use crate::semi_honest::costs::PartyPair;

pub(super) const ORDER: [(Kind, usize); 13] = [
    (Kind::Triple, 5),
    (Kind::Mask { owner: 0 }, 7),
    (Kind::Triple, 40),
    (Kind::Bit, 3),
    (Kind::Matrix(MatrixSize { rows: 2, cols: 3, vectors: 1 }), 2),
    (Kind::Matrix(MatrixSize { rows: 2, cols: 3, vectors: 2 }), 3),
    (Kind::Square, 9),
    (Kind::Mask { owner: 1 }, 1),
    (Kind::BitMask { owner: 1 }, 65),
    (Kind::Bounded, 4),
    (Kind::BitMask { owner: 0 }, 2),
    (Kind::Bit, 2),
    (Kind::Triple, 2),
];

/// Takes everything in the order in which it is needed, as batches to check.
pub(super) fn take_all<F: Field>(
    correlated: &mut impl AuthenticatedRandomness<F>,
    me: usize,
) -> Vec<PartyBatch<F>> {
    let take = |&(kind, count): &(Kind, usize)| {
        let mut batch = Batch::empty();
        batch.reset(kind, count);
        let [a, b, c] = &mut batch.columns;
        let taken = match kind {
            Kind::Triple => correlated.triples(a, b, c),
            Kind::Square => correlated.squares(a, b),
            Kind::Bit => correlated.bits(a),
            Kind::Bounded => correlated.bounded(a),
            Kind::Mask { owner } | Kind::BitMask { owner } => {
                let is_owner = usize::from(owner) == me;
                batch.values.resize(if is_owner { count } else { 0 }, F::ZERO);
                let values = is_owner.then_some(batch.values.as_mut_slice());
                match kind {
                    Kind::Mask { .. } => correlated.masks(owner.into(), a, values),
                    _ => correlated.bit_masks(owner.into(), a, values),
                }
            }
            Kind::Matrix(size) => correlated.matrix_triples(size, a, b, c),
        };
        taken.expect("all are honest");
        PartyBatch { key: correlated.delta(), batch }
    };
    ORDER.iter().map(take).collect()
}

fn all_parties<F: Field>(
    take: impl Fn(Generator<F, phineus_channels::MemoryChannel>, usize) -> Vec<PartyBatch<F>>
    + Clone
    + Send
    + 'static,
) {
    let handles: Vec<_> = memory_mesh(2)
        .into_iter()
        .map(|parties| {
            let (me, take) = (parties.me(), take.clone());
            thread::spawn(move || take(generator(parties, 31).expect("all are honest"), me))
        })
        .collect();
    let made: Vec<Vec<PartyBatch<F>>> =
        handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
    for i in 0..ORDER.len() {
        check(&made.iter().map(|made| &made[i]).collect::<Vec<_>>());
    }
}

#[test]
fn made_before_and_just_ahead() {
    all_parties::<F61>(|mut generator, me| {
        let before = (sent(&mut generator), generator.ots());
        let demand = Demand::of(ORDER);
        let correlated = Sequential::make(
            &mut generator,
            demand.clone(),
            ORDER.into_iter().map(Ok),
            u64::MAX,
            &std::env::temp_dir(),
        );
        let mut correlated = correlated.expect("all are honest");
        assert_costs(&mut generator, before, |lower, higher| {
            costs::demand_costs::<F61>(
                &demand,
                FieldBits::DEFAULT,
                PartyPair { lower, higher, parties: 2 },
            )
        });
        let made = take_all(&mut correlated, me);
        assert!(correlated.is_used_up());
        made
    });
    all_parties::<F128>(|generator, me| {
        let live = Live::start(generator, Demand::of(ORDER), ORDER.into_iter().map(Ok));
        let mut correlated = live.expect("there are threads");
        let made = take_all(&mut correlated, me);
        correlated.finish().expect("all are honest");
        made
    });
}

#[test]
fn made_on_demand() {
    let handles: Vec<_> = memory_mesh(2)
        .into_iter()
        .map(|parties| {
            thread::spawn(move || {
                let (me, session) = (parties.me(), SessionId::new([41; 32]));
                let prg = prg(me, 41);
                let mut mascot = OnDemand::<F32, _>::setup(parties, prg, &session, FieldBits::LAN)
                    .expect("all are honest");
                take_all(&mut mascot, me)
            })
        })
        .collect();
    let made: Vec<Vec<PartyBatch<F32>>> =
        handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
    for i in 0..ORDER.len() {
        check(&made.iter().map(|made| &made[i]).collect::<Vec<_>>());
    }
}

/// Who lies in a check of correlated randomness learns the key: earlier correlated randomness is
/// worth nothing any more.
#[test]
fn a_lie_in_later_material_ends_the_use_of_earlier_material() {
    let (masks, triples) = ((Kind::Mask { owner: 0 }, 10), (Kind::Triple, 2000));
    let handles: Vec<_> = memory_mesh(2)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            thread::spawn(move || {
                let generator = generator::<F61, _>(parties, 91).expect("all are honest");
                // Masks are made first.
                let (about, times_before) = (DeviationPoint::Mac, 1);
                let lie = Lie { about, times_before, element: 5000 };
                let generator = generator.deviating(Liar((me == 1).then_some(lie)));
                let order = [masks, triples];
                let mut live = Live::start(generator, Demand::of(order), order.into_iter().map(Ok))
                    .expect("there are threads");
                let mut shares = [Share::ZERO; 4];
                let mut values = [F61::ZERO; 4];
                let known = (me == 0).then_some(&mut values[..]);
                live.masks(0, &mut shares, known).expect("these are right");
                let start = std::time::Instant::now();
                while live.settle().is_ok() {
                    assert!(start.elapsed().as_secs() < 500, "the lie is never noticed");
                    thread::yield_now();
                }
                assert!(live.settle().is_err(), "trust stays lost");
                live.triples(&mut [shares[0]], &mut [shares[0]], &mut [shares[0]]).is_err()
            })
        })
        .collect();
    for handle in handles {
        assert!(handle.join().expect("no party panics"));
    }
}
