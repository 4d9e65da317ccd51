//! All parties in one process: every opening is correct, costs are as stated, and a deviating party
//! is caught.

mod cheating;
mod drawing;
mod lies;
mod stored;

use std::thread;

use phineus_channels::{Channel, Parties, memory_mesh, memory_mesh_ahead};
use phineus_crypto::field::{F32, F61, F128, Field};
use phineus_crypto::{Block, Prg};
use phineus_ot::base::{BaseOts, EndemicOts};
use phineus_ot::{FieldBits, SessionId};

use super::costs::{batch_costs, setup_costs};
use super::*;
use crate::CorrelatedError;
use crate::authenticated::{BOUNDED_BITS, MatrixSize, Share};
use crate::demand::BatchScale;
use crate::semi_honest::costs::{PairCosts, PartyPair};

fn prg(party: usize, seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed << 8 | party as u128))
}

fn generator<F: Field, C: Channel>(
    parties: Parties<C>,
    seed: u128,
) -> Result<Generator<F, C>, CorrelatedError> {
    generator_over::<EndemicOts, F, C>(parties, seed)
}

fn generator_over<B: BaseOts, F: Field, C: Channel>(
    parties: Parties<C>,
    seed: u128,
) -> Result<Generator<F, C>, CorrelatedError> {
    let prg = prg(parties.me(), seed);
    let session = SessionId::new([seed as u8; 32]);
    Generator::setup_over::<B>(parties, prg, &session, FieldBits::DEFAULT)
}

/// One party's batch and key share.
struct PartyBatch<F: Field> {
    key: F,
    batch: Batch<F>,
}

fn make_honestly<F: Field>(
    parties: usize,
    kinds: &[(Kind, usize)],
    seed: u128,
) -> Vec<Vec<PartyBatch<F>>> {
    make_scaled(parties, kinds, (seed, BatchScale::FULL))
}

/// Makes batches over channels whose buffers follow the batch size.
fn make_scaled<F: Field>(
    parties: usize,
    kinds: &[(Kind, usize)],
    (seed, scale): (u128, BatchScale),
) -> Vec<Vec<PartyBatch<F>>> {
    let handles: Vec<_> = memory_mesh_ahead(parties, scale.ahead_bytes())
        .into_iter()
        .map(|parties| {
            let kinds = kinds.to_vec();
            let parties_count = parties.count();
            thread::spawn(move || {
                let mut generator = generator::<F, _>(parties, seed).expect("all are honest");
                assert_costs(&mut generator, (0, 0), |_, _| setup_costs::<F>(FieldBits::DEFAULT));
                kinds
                    .iter()
                    .map(|&(kind, count)| {
                        let mut batch = Batch::empty();
                        let before = (sent(&mut generator), generator.ots());
                        generator.make(kind, count, &mut batch).expect("all are honest");
                        assert_costs(&mut generator, before, |lower, higher| {
                            batch_costs::<F>(
                                kind,
                                count,
                                (FieldBits::DEFAULT, scale),
                                PartyPair { lower, higher, parties: parties_count },
                            )
                        });
                        PartyBatch { key: generator.delta(), batch }
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect()
}

/// Bytes to all peers so far.
fn sent<F: Field, C: Channel>(generator: &mut Generator<F, C>) -> u64 {
    generator.parties().traffic().iter().map(|traffic| traffic.sent_bytes).sum()
}

/// Asserts what was sent to all peers, and the OTs that were made with them, since `before`.
fn assert_costs<F: Field, C: Channel>(
    generator: &mut Generator<F, C>,
    (sent_before, ots_before): (u64, u64),
    costs: impl Fn(usize, usize) -> PairCosts,
) {
    let me = generator.parties().me();
    let to = |peer: usize| match me < peer {
        true => costs(me, peer).from_lower_bytes,
        false => costs(peer, me).from_higher_bytes,
    };
    let expected: u64 = generator.parties().peers().map(to).sum();
    assert_eq!(sent(generator) - sent_before, expected, "bytes that are sent");
    let with = |peer: usize| costs(me.min(peer), me.max(peer)).ots;
    let expected: u64 = generator.parties().peers().map(with).sum();
    assert_eq!(generator.ots() - ots_before, expected, "OTs that are made");
}

/// Opens a column from all parties' shares; `None` if the MACs do not hold.
fn try_opened<F: Field>(made: &[&PartyBatch<F>], column: usize) -> Option<Vec<F>> {
    let key = made.iter().fold(F::ZERO, |sum, made| sum.add(made.key));
    let columns: Vec<&[Share<F>]> = made.iter().map(|made| made.batch.column(column)).collect();
    (0..columns[0].len())
        .map(|i| {
            let sum = columns.iter().fold(Share::ZERO, |sum: Share<F>, column| sum.add(column[i]));
            (sum.mac == sum.value.mul(key)).then_some(sum.value)
        })
        .collect()
}

fn opened<F: Field>(made: &[&PartyBatch<F>], column: usize) -> Vec<F> {
    try_opened(made, column).expect("the MACs hold")
}

/// Whether the correlated randomness of all parties is what its kind says.
fn check<F: Field>(made: &[&PartyBatch<F>]) {
    let kind = made[0].batch.kind();
    let column = |column| opened(made, column);
    match kind {
        Kind::Triple => {
            let (a, b, c) = (column(0), column(1), column(2));
            assert!(a.iter().zip(&b).zip(&c).all(|((a, b), &c)| a.mul(*b) == c), "{kind:?}");
            assert!(a.windows(2).all(|pair| pair[0] != pair[1]), "random");
            assert!(b.windows(2).all(|pair| pair[0] != pair[1]), "random");
        }
        Kind::Square => {
            let (a, c) = (column(0), column(1));
            assert!(a.iter().zip(&c).all(|(a, &c)| a.mul(*a) == c), "{kind:?}");
            assert!(a.windows(2).all(|pair| pair[0] != pair[1]), "random");
        }
        Kind::Bit => assert_bits(&column(0)),
        Kind::Bounded => {
            let bound = (made.len() as u128) << BOUNDED_BITS;
            let (sums, half) = (column(0), bound / 2);
            assert!(sums.iter().all(|sum| sum.value() < bound), "{kind:?}");
            assert!(sums.windows(2).all(|pair| pair[0] != pair[1]), "random");
            let above = sums.iter().filter(|sum| sum.value() >= half).count();
            let expected = sums.len() / 2;
            assert!(sums.len() < 60 || above.abs_diff(expected) <= 4 * sums.len().isqrt());
        }
        Kind::Mask { owner } | Kind::BitMask { owner } => {
            let values = made[usize::from(owner)].batch.values();
            assert!(column(0) == values, "{kind:?}");
            match kind {
                Kind::BitMask { .. } => assert_bits(values),
                _ => assert!(values.windows(2).all(|pair| pair[0] != pair[1]), "random"),
            }
            let of_others = made.iter().filter(|made| !made.batch.values().is_empty()).count();
            assert_eq!(of_others, 1, "only the owner knows them");
        }
        Kind::Matrix(size) => {
            let [rows, cols, vectors] =
                [size.rows, size.cols, size.vectors].map(|side| side as usize);
            let (a, b, c) = (column(0), column(1), column(2));
            let each = a.chunks(rows * cols).flat_map(|a| std::iter::repeat_n(a, vectors));
            for ((a, b), c) in each.zip(b.chunks(cols)).zip(c.chunks(rows)) {
                let mut product = vec![F::ZERO; rows];
                F::mat_vec_add(&mut product, a, b);
                assert!(product == c, "{kind:?}");
            }
            for column in [a, b, c] {
                assert!(column.windows(2).all(|pair| pair[0] != pair[1]), "random");
            }
        }
    }
}

fn assert_bits<F: Field>(bits: &[F]) {
    let ones = bits.iter().filter(|&&bit| bit == F::ONE).count();
    assert!(bits.iter().all(|&bit| bit == F::ONE || bit == F::ZERO), "bits");
    // 2^-30 of all runs fall outside.
    let expected = bits.len() / 2;
    assert!(bits.len() < 60 || ones.abs_diff(expected) <= 4 * bits.len().isqrt());
}

/// Products of matrices of `rows` by `cols` with `vectors` columns.
fn product(rows: u32, cols: u32, vectors: u32) -> Kind {
    Kind::Matrix(MatrixSize { rows, cols, vectors })
}

fn all_kinds<F: Field>(parties: usize, kinds: &[(Kind, usize)], seed: u128) {
    let made = make_honestly::<F>(parties, kinds, seed);
    for i in 0..kinds.len() {
        check(&made.iter().map(|made| &made[i]).collect::<Vec<_>>());
    }
}

#[test]
fn triples_and_squares_are_right() {
    let kinds = [(Kind::Triple, 100), (Kind::Square, 65), (Kind::Triple, 1), (Kind::Square, 1)];
    all_kinds::<F61>(2, &kinds, 1);
    all_kinds::<F32>(3, &kinds, 2);
    all_kinds::<F128>(2, &kinds, 3);
}

#[test]
fn bits_and_masks_are_right() {
    let masks = |owner: u16, count: usize| (Kind::Mask { owner }, count);
    let kinds = [(Kind::Bit, 200), masks(1, 130), masks(0, 1), (Kind::Bit, 1), masks(1, 5)];
    all_kinds::<F61>(2, &kinds, 11);
    all_kinds::<F128>(2, &kinds, 12);
    all_kinds::<F32>(3, &kinds, 13);
    all_kinds::<F61>(3, &[masks(2, 10), masks(0, 3)], 14);
}

#[test]
fn what_is_proven_to_be_small_is_right() {
    let bits = |owner: u16, count: usize| (Kind::BitMask { owner }, count);
    let kinds = [bits(1, 130), (Kind::Bounded, 300), bits(0, 1), (Kind::Bounded, 1), bits(1, 600)];
    all_kinds::<F61>(2, &kinds, 15);
    all_kinds::<F128>(2, &kinds, 16);
    all_kinds::<F61>(3, &[bits(2, 10), (Kind::Bounded, 70), bits(0, 3)], 17);
    all_kinds::<F32>(3, &[bits(2, 100), bits(0, 3)], 18);
}

#[test]
fn matrix_triples_are_right() {
    let matrix = |rows: u32, cols: u32, count: usize| (product(rows, cols, 1), count);
    let kinds = [matrix(3, 5, 2), matrix(1, 1, 3), matrix(70, 2, 1), (product(4, 3, 2), 2)];
    all_kinds::<F61>(2, &kinds, 21);
    all_kinds::<F128>(2, &[matrix(2, 3, 1), matrix(3, 1, 2), (product(1, 2, 3), 3)], 22);
    all_kinds::<F32>(3, &kinds, 23);
    // More columns than are done at a time, and columns longer than a row of other messages.
    all_kinds::<F32>(2, &[matrix(2, 130, 2), (product(2, 10, 30), 1)], 24);
    all_kinds::<F61>(2, &[matrix(9000, 1, 1)], 25);
}

/// Parties that are ahead of each other by less make the same, and nobody waits for ever.
#[test]
fn small_batches_over_small_channels() {
    fn make<F: Field>(parties: usize, scale: BatchScale, seed: u128) {
        let full = |kind: Kind| (kind, kind.batch_items(scale));
        let kinds = [
            full(Kind::Triple),
            (Kind::Bit, 70),
            full(Kind::Mask { owner: 1 }),
            full(Kind::BitMask { owner: 0 }),
            full(product(30, 7, 1)),
            full(product(8, 6, 16)),
            (product(8191, 1, 1), 1),
        ];
        let made = make_scaled::<F>(parties, &kinds, (seed, scale));
        for kind in 0..kinds.len() {
            check(&made.iter().map(|party| &party[kind]).collect::<Vec<_>>());
        }
    }
    let [_, half, quarter, eighth] = BatchScale::ALL;
    make::<F32>(2, half, 31);
    make::<F61>(3, quarter, 32);
    make::<F128>(2, quarter, 33);
    make::<F128>(2, eighth, 34);
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    fn measure<F: Field>(kind: Kind, items: usize) {
        let handles: Vec<_> = memory_mesh(2)
            .into_iter()
            .map(|parties| {
                thread::spawn(move || {
                    let mut generator = generator::<F, _>(parties, 7).expect("all are honest");
                    let mut batch = Batch::empty();
                    let count = kind.batch_items(BatchScale::FULL);
                    generator.make(kind, count, &mut batch).expect("all are honest");
                    let (bytes, before, start) =
                        (sent(&mut generator), cpu_seconds(), std::time::Instant::now());
                    for _ in 0..4 {
                        generator.make(kind, count, &mut batch).expect("all are honest");
                    }
                    let made = (4 * count * items) as f64;
                    let seconds = start.elapsed().as_secs_f64();
                    let busy = 1e6 * (cpu_seconds() - before) / made;
                    let bytes = (sent(&mut generator) - bytes) as f64 / made;
                    println!(
                        "{} {kind:?}: {:.0}/s, {busy:.2} us of a core, {bytes:.0} bytes sent",
                        F::NAME,
                        made / seconds,
                    );
                })
            })
            .collect();
        handles.into_iter().for_each(|handle| handle.join().expect("no party panics"));
    }
    fn all<F: Field>() {
        let masks = [Kind::Mask { owner: 0 }, Kind::BitMask { owner: 0 }];
        for kind in [Kind::Triple, Kind::Square, Kind::Bit].into_iter().chain(masks) {
            measure::<F>(kind, 1);
        }
        if F::BITS > BOUNDED_BITS {
            measure::<F>(Kind::Bounded, 1);
        }
        // For each element of the matrix.
        measure::<F>(product(256, 256, 1), 1 << 16);
        // For each product of elements.
        measure::<F>(product(16, 8, 16), 1 << 11);
    }
    all::<F32>();
    all::<F61>();
    all::<F128>();
}

/// Time that this thread has been running.
fn cpu_seconds() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("on Linux");
    let busy = statistics.split(' ').next().and_then(|ns| ns.parse::<u64>().ok());
    1e-9 * busy.expect("a number of nanoseconds") as f64
}
