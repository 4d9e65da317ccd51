//! Measures the speed of the loops over elements on this machine, beside their limits.
//!
//! Loops over slices are measured in cache, where the multipliers bound them; a matrix is measured
//! out of cache too, where memory bounds it: `read_limit` is that bound.

use super::{Field, kernels};
use crate::measure::{Rate, rate};
use crate::{Block, Prg, Simd};
use std::hint::black_box;

/// A loop over elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredLoop {
    /// [`Field::add_assign`].
    Add,
    /// [`Field::scale_add`].
    ScaleAdd,
    /// [`Field::mul_slices`].
    Mul,
    /// [`Field::dot`].
    Dot,
    /// [`Field::fill_random`].
    Random,
    /// [`Field::read`].
    Read,
}

impl MeasuredLoop {
    /// All of them.
    pub const ALL: [MeasuredLoop; 6] = [
        MeasuredLoop::Add,
        MeasuredLoop::ScaleAdd,
        MeasuredLoop::Mul,
        MeasuredLoop::Dot,
        MeasuredLoop::Random,
        MeasuredLoop::Read,
    ];
}

/// Elements per second in slices of 1024.
pub fn elements<F: Field>(simd: Simd, what: MeasuredLoop, repetitions: usize) -> Rate {
    const LEN: usize = 1024;
    const TIMES: usize = 256;
    let mut prg = Prg::from_seed(Block::from_bits(4));
    let [mut out, mut x, mut y] = [(); 3].map(|()| vec![F::ZERO; LEN]);
    [&mut out, &mut x, &mut y].into_iter().for_each(|x| F::fill_random(&mut prg, x));
    rate(LEN * TIMES, repetitions, || {
        for _ in 0..TIMES {
            match what {
                MeasuredLoop::Add => kernels::add_assign(simd, &mut out, &x),
                MeasuredLoop::ScaleAdd => kernels::scale_add(simd, &mut out, y[0], &x),
                MeasuredLoop::Mul => kernels::mul_slices(simd, &mut out, &x, &y),
                MeasuredLoop::Dot => out[0] = kernels::dot(simd, &x, &y),
                MeasuredLoop::Random => kernels::fill_random(simd, &mut prg, &mut out),
                MeasuredLoop::Read => assert!(kernels::are_reduced(simd, black_box(&x))),
            }
            black_box(&mut out);
        }
    })
}

/// Elements of a matrix per second that [`Field::mat_vec_add`] multiplies.
pub fn matrix<F: Field>(simd: Simd, rows: usize, cols: usize, repetitions: usize) -> Rate {
    let mut prg = Prg::from_seed(Block::from_bits(5));
    let [mut out, mut matrix, mut vector] = [rows, rows * cols, cols].map(|n| vec![F::ZERO; n]);
    [&mut out, &mut matrix, &mut vector].into_iter().for_each(|x| F::fill_random(&mut prg, x));
    let times = (1usize << 20).div_ceil(rows * cols);
    rate(rows * cols * times, repetitions, || {
        for _ in 0..times {
            F::mat_vec_add_on(simd, 1, &mut out, &matrix, &vector);
            black_box(&mut out);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::{F32, F61, F128};
    use super::*;

    /// Bytes per second that one core reads from `bytes` bytes that lie next to each other.
    fn read_limit(bytes: usize, repetitions: usize) -> Rate {
        let words = vec![1u64; bytes / 8];
        rate(bytes, repetitions, || {
            let mut sums = [0u64; 32];
            for group in words.as_chunks::<32>().0 {
                for (sum, word) in sums.iter_mut().zip(group) {
                    *sum ^= word;
                }
            }
            black_box(sums);
        })
    }

    /// Products per second of this thread's processor time, the best of some repetitions.
    fn rate_of(work: usize, mut run: impl FnMut()) -> f64 {
        let busy_ns = || {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
            text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).expect("a number")
        };
        let times = (1usize << 27).div_ceil(work);
        let repetition = |_| {
            let start = busy_ns();
            (0..times).for_each(|_| run());
            (work * times) as f64 / (busy_ns() - start).max(1) as f64 * 1e9
        };
        (0..5).map(repetition).fold(0.0, f64::max)
    }

    /// Products of elements per second that [`Field::mat_mul_add_on`] makes of a matrix and tuples
    /// of vectors, and that [`Field::mat_vec_add`] makes of one vector after the other.
    fn several<F: Field>(simd: Simd, [rows, cols, width, count]: [usize; 4]) -> [f64; 2] {
        let mut prg = Prg::from_seed(Block::from_bits(5));
        let lens = [rows * width * count, rows * cols, cols * width * count];
        let [mut out, mut matrix, mut vectors] = lens.map(|len| vec![F::ZERO; len]);
        [&mut out, &mut matrix, &mut vectors].into_iter().for_each(|x| F::fill_random(&mut prg, x));
        let work = rows * cols * width * count;
        let together = rate_of(work, || {
            F::mat_mul_add_on(simd, &mut out, (&matrix, cols), (&vectors, width));
            black_box(&mut out);
        });
        let each = rate_of(work, || {
            for (out, vector) in out.chunks_exact_mut(rows).zip(vectors.chunks_exact(cols)) {
                F::mat_vec_add_on(simd, 1, out, &matrix, vector);
            }
            black_box(&mut out);
        });
        [together, each]
    }

    fn print_several<F: Field>() {
        let sizes = [
            [128, 64, 1, 1],
            [512, 512, 1, 512],
            [512, 512, 2, 256],
            [16, 8, 1, 8],
            [16, 8, 2, 8],
            [8, 8, 2, 8],
            [64, 32, 2, 1],
            [2048, 2048, 2, 1],
        ];
        println!("{}: million products per second, and times those of one by one", F::NAME);
        for sizes in sizes {
            for simd in Simd::supported() {
                let [together, each] = several::<F>(simd, sizes);
                let (million, ratio) = (together / 1e6, together / each);
                let [rows, cols, width, count] = sizes;
                let name = simd.name();
                println!("  {rows} x {cols} x {count} x {width}, {name}: {million:.0}, {ratio:.2}");
            }
        }
    }

    #[test]
    #[ignore = "a measurement"]
    fn measure_several() {
        print_several::<F32>();
        print_several::<F61>();
    }

    fn print<F: Field>() {
        let simds: Vec<Simd> = Simd::supported().collect();
        let names: Vec<&str> = simds.iter().map(|simd| simd.name()).collect();
        println!("{}: million elements per second: {}", F::NAME, names.join(", "));
        for what in MeasuredLoop::ALL {
            let rates = simds.iter().map(|&simd| elements::<F>(simd, what, 20).best / 1e6);
            println!("  {what:?}: {:.0?}", rates.collect::<Vec<f64>>());
        }
        for (rows, cols) in [(128, 64), (1024, 1024), (4096, 4096)] {
            let rates = simds.iter().map(|&simd| matrix::<F>(simd, rows, cols, 10).best / 1e6);
            let rates: Vec<f64> = rates.collect();
            let bytes = rates.last().copied().unwrap_or_default() * F::BYTES as f64 / 1e3;
            println!("  {rows} x {cols}: {rates:.0?}, that is {bytes:.1} GB/s");
        }
    }

    #[test]
    #[ignore = "a measurement"]
    fn measure() {
        for bytes in [1 << 15, 1 << 19, 1 << 22, 1 << 26, 1 << 27] {
            println!("reading {bytes} bytes: {:.1} GB/s", read_limit(bytes, 20).best / 1e9);
        }
        print::<F32>();
        print::<F61>();
        print::<F128>();
    }
}
