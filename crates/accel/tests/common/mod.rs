//! Products on a device against the processor, for tests on a real device and on the emulated one.

use phineus_accel::{DeviceElement, Error, Gpu};
use phineus_crypto::field::{F32, F61, MatrixProduct, ProductTerm};
use phineus_crypto::{Block, Prg};

/// What lies in slices, for messages.
pub fn differs<E: DeviceElement>(x: &[E], y: &[E]) -> Option<usize> {
    assert_eq!(x.len(), y.len());
    x.iter().zip(y).position(|(x, y)| x != y)
}

/// Elements at which carries and reductions begin and end, or random ones.
pub trait Samples: DeviceElement {
    /// Reduced.
    fn of(word: u64) -> Self;
    /// The largest.
    const LARGEST: u64;
}

impl Samples for u32 {
    fn of(word: u64) -> u32 {
        word as u32
    }
    const LARGEST: u64 = u32::MAX as u64;
}

impl Samples for u64 {
    fn of(word: u64) -> u64 {
        word
    }
    const LARGEST: u64 = u64::MAX;
}

impl Samples for F32 {
    fn of(word: u64) -> F32 {
        phineus_crypto::field::Field::new(u128::from(word))
    }
    const LARGEST: u64 = u32::MAX as u64 - 5;
}

impl Samples for F61 {
    fn of(word: u64) -> F61 {
        phineus_crypto::field::Field::new(u128::from(word))
    }
    const LARGEST: u64 = (1 << 61) - 2;
}

/// How elements are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    Random,
    /// The largest number everywhere: the largest sums.
    Largest,
    /// Random ones among edges.
    Edges,
    /// Sums that are a multiple of the modulus, or results that are one with what was there.
    Vanishing,
}

fn draw<E: Samples>(prg: &mut Prg, how: Draw, len: usize) -> Vec<E> {
    let edges = [0, 1, 2, E::LARGEST, E::LARGEST - 1, 1 << 31, (1 << 32) - 1, E::LARGEST / 2];
    (0..len)
        .map(|_| {
            let bits = prg.next_block().to_bits();
            match how {
                Draw::Largest => E::of(E::LARGEST),
                Draw::Edges if bits >> 64 & 1 == 1 => E::of(edges[bits as usize % edges.len()]),
                _ => E::of(bits as u64),
            }
        })
        .collect()
}

/// Makes columns `a`, `-a`, `a` and so on times ones, and results `-a`: of an even number of
/// columns the sum is zero, of an odd one the result, with one term.
fn vanish<E: Samples, const TERMS: usize>(
    out: &mut [E],
    data: &mut [(Vec<E>, Vec<E>); TERMS],
    widths: [usize; TERMS],
) {
    let entry = |row: usize| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % E::LARGEST;
    let negated = |row| E::of((E::LARGEST - entry(row)).wrapping_add(1));
    for ((matrix, vectors), width) in data.iter_mut().zip(widths) {
        let rows = (out.len() / width).max(1);
        for (i, x) in matrix.iter_mut().enumerate() {
            let (column, row) = (i / rows, i % rows);
            *x = if column % 2 == 0 { E::of(entry(row)) } else { negated(row) };
        }
        vectors.fill(E::of(1));
    }
    for (i, x) in out.iter_mut().enumerate() {
        *x = negated(i / widths[0]);
    }
}

/// A batch: shapes of products, and the vectors of each term.
#[derive(Clone, Debug)]
pub struct Case<const TERMS: usize> {
    /// Units of rows (a term of `width` vectors has `units * lcm / width` rows) and columns.
    pub shapes: Vec<(usize, usize)>,
    pub widths: [usize; TERMS],
    /// Tuples of vectors.
    pub count: usize,
    pub how: Draw,
}

/// The device's results and the processor's; what `add` says.
pub fn compare<E: Samples, const TERMS: usize>(
    gpu: &mut Gpu,
    case: &Case<TERMS>,
    seed: u128,
) -> Result<(), Error> {
    let mut prg = Prg::from_seed(Block::from_bits(seed));
    // All widths divide the results of a unit.
    let count = case.count;
    let unit: usize = count * case.widths.iter().product::<usize>();
    let size = |&(units, columns): &(usize, usize)| (units * unit, columns);
    let sizes: Vec<(usize, usize)> = case.shapes.iter().map(size).collect();
    let mut drawn = |len| draw::<E>(&mut prg, case.how, len);
    let mut outs: Vec<Vec<E>> = sizes.iter().map(|&(len, _)| drawn(len)).collect();
    let mut data: Vec<[(Vec<E>, Vec<E>); TERMS]> = sizes
        .iter()
        .map(|&(len, columns)| {
            let all = case.widths.map(|width| width * count);
            all.map(|all| (drawn(len / all * columns), drawn(columns * all)))
        })
        .collect();
    if case.how == Draw::Vanishing {
        assert_eq!(count, 1, "results are laid out for one tuple");
        outs.iter_mut().zip(&mut data).for_each(|(out, data)| vanish(out, data, case.widths));
    }
    let term = |(matrix, vectors), width| ProductTerm { matrix, vectors, width, count };
    let mut expected = outs.clone();
    for (out, data) in expected.iter_mut().zip(&data) {
        for ((matrix, vectors), width) in data.iter().zip(case.widths) {
            E::add_term(out, &term((&matrix[..], &vectors[..]), width));
        }
    }
    let mut products: Vec<MatrixProduct<'_, E, TERMS>> = outs
        .iter_mut()
        .zip(&data)
        .map(|(out, data)| {
            let terms =
                std::array::from_fn(|i| term((&data[i].0[..], &data[i].1[..]), case.widths[i]));
            MatrixProduct { out, terms }
        })
        .collect();
    let said = gpu.add(&mut products);
    for (i, (out, expected)) in outs.iter().zip(&expected).enumerate() {
        let place = differs(out, expected);
        assert_eq!(place, None, "product {i} of {case:?}, {} seed {seed}", E::PREFIX);
    }
    said
}

/// Batches of all kinds of shapes.
pub fn all_shapes<E: Samples>(gpu: &mut Gpu) {
    let ragged = vec![
        (1, 1),
        (1, 2),
        (2, 1),
        (31, 3),
        (32, 33),
        (63, 64),
        (64, 64),
        (64, 64),
        (65, 5),
        (150, 100),
        (1, 3000),
        (3, 1000),
        (1, 1),
        (0, 7),
        (5, 0),
        (500, 33),
    ];
    let tiles = vec![(64, 1); 300];
    let mut seed = 0;
    for how in [Draw::Random, Draw::Largest, Draw::Edges, Draw::Vanishing] {
        for shapes in [vec![], vec![(64, 1)], ragged.clone(), tiles.clone()] {
            seed += 1;
            let shapes = || shapes.clone();
            compare::<E, 2>(gpu, &Case { shapes: shapes(), widths: [1, 2], count: 1, how }, seed)
                .expect("the device works");
            for width in [1, 2, 3, 4, 7] {
                let case = Case { shapes: shapes(), widths: [width], count: 1, how };
                compare::<E, 1>(gpu, &case, seed).expect("the device works");
            }
            for count in [2, 8] {
                if how != Draw::Vanishing {
                    let case = Case { shapes: shapes(), widths: [1, 2], count, how };
                    compare::<E, 2>(gpu, &case, seed).expect("the device works");
                }
            }
        }
    }
}

/// Products that do not fit into a buffer, at all or together.
pub fn large<E: Samples>(gpu: &mut Gpu) {
    let wide =
        Case { shapes: vec![(2, 150_000), (700, 900)], widths: [1, 2], count: 1, how: Draw::Edges };
    compare::<E, 2>(gpu, &wide, 77).expect("the device works");
    let several = Case { shapes: vec![(1, 150_000), (90, 900)], count: 3, ..wide };
    compare::<E, 2>(gpu, &several, 79).expect("the device works");
    let tall = Case { shapes: vec![(600_000, 2)], widths: [2], count: 1, how: Draw::Random };
    compare::<E, 1>(gpu, &tall, 78).expect("the device works");
}

/// Everything, for every ring.
pub fn everything(gpu: &mut Gpu) {
    all_shapes::<u32>(gpu);
    all_shapes::<u64>(gpu);
    all_shapes::<F32>(gpu);
    all_shapes::<F61>(gpu);
    large::<u32>(gpu);
    large::<u64>(gpu);
    large::<F32>(gpu);
    large::<F61>(gpu);
}
