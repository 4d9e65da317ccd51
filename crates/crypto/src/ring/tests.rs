//! Every width and number of threads against the clear meaning.

use super::*;
use crate::measure::rate;
use crate::{Block, Prg};
use zerocopy::{FromBytes, IntoBytes};

const SIZES: [(usize, usize); 9] =
    [(0, 3), (3, 0), (1, 1), (70, 9), (17, 64), (65, 4), (513, 6), (1500, 3), (19, 259)];

fn random<E: Copy + Default + FromBytes + IntoBytes>(count: usize, seed: u128) -> Vec<E>
where
    [E]: IntoBytes + FromBytes,
{
    let mut x = vec![E::default(); count];
    Prg::from_seed(Block::from_bits(seed)).fill_bytes(x.as_mut_bytes());
    x
}

macro_rules! means_the_same {
    ($test:ident, $run:ident, $several:ident, $word:ty) => {
        #[test]
        fn $test() {
            for (rows, cols) in SIZES.into_iter().chain((0..70).map(|i| (i, 7))) {
                let mut matrix = random::<$word>(rows * cols, 1);
                matrix.iter_mut().step_by(5).for_each(|x| *x = <$word>::MAX);
                let (vector, start) = (random::<$word>(cols, 2), random::<$word>(rows, 3));
                let row = |i: usize| {
                    (0..cols).fold(start[i], |sum, j| {
                        sum.wrapping_add(matrix[j * rows + i].wrapping_mul(vector[j]))
                    })
                };
                let expected: Vec<$word> = (0..rows).map(row).collect();
                for (width, count) in [(1, 5), (2, 1), (2, 4), (3, 3)] {
                    let (all, entries) = (width * count, cols * width);
                    let vectors = random::<$word>(entries * count, 4);
                    let start = random::<$word>(rows * all, 5);
                    let mut expected = start.clone();
                    for t in 0..count {
                        for k in 0..width {
                            let vector: Vec<$word> =
                                (0..cols).map(|c| vectors[t * entries + c * width + k]).collect();
                            let places = (t * rows * width + k..).step_by(width);
                            let places: Vec<usize> = places.take(rows).collect();
                            let mut own: Vec<$word> = places.iter().map(|&at| start[at]).collect();
                            let portable = Simd::supported().next().expect("there is one");
                            $run(portable, 1, &mut own, &matrix, &vector);
                            places.iter().zip(own).for_each(|(&at, own)| expected[at] = own);
                        }
                    }
                    for simd in Simd::supported() {
                        let mut out = start.clone();
                        $several(simd, &mut out, (&matrix, cols), (&vectors, width));
                        let expected = if cols == 0 { &start } else { &expected };
                        let what = (rows, cols, width, count, simd.name());
                        assert_eq!(&out, expected, "{what:?}");
                    }
                }
                for (simd, threads) in Simd::supported().zip([1, 3, 2]) {
                    let mut out = start.clone();
                    $run(simd, threads, &mut out, &matrix, &vector);
                    assert_eq!(out, expected, "{rows} by {cols}, {}", simd.name());
                }
            }
        }
    };
}

means_the_same!(matrices_modulo_2_to_32, mat_vec_add_32, mat_mul_add_32, u32);
means_the_same!(matrices_modulo_2_to_64, mat_vec_add_64, mat_mul_add_64, u64);

#[test]
#[ignore = "a measurement"]
fn measure() {
    for size in [1024, 4096] {
        for simd in Simd::supported() {
            let (matrix, vector) = (random::<u32>(size * size, 1), random::<u32>(size, 2));
            let mut out = vec![0; size];
            let rate = rate(4 * size * size, 10, || {
                mat_vec_add_32(simd, 1, &mut out, &matrix, &vector);
            });
            println!("{size}, {}, 32 bits: {:.1} GB/s", simd.name(), rate.best / 1e9);
        }
        for simd in Simd::supported() {
            let (matrix, vector) = (random::<u64>(size * size, 1), random::<u64>(size, 2));
            let mut out = vec![0; size];
            let rate = crate::measure::rate(8 * size * size, 10, || {
                mat_vec_add_64(simd, 1, &mut out, &matrix, &vector);
            });
            println!("{size}, {}, 64 bits: {:.1} GB/s", simd.name(), rate.best / 1e9);
        }
    }
}
