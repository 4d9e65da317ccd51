//! Measures the speed of the kernels on this machine; `phineus bench` and `examples/kernels.rs`
//! print it.
//!
//! A [`Rate`] comes from several repetitions of about a millisecond each: the best says what the
//! code can do, the median what this machine gave it.

use crate::{AndIndex, Block, Delta, GarbledGate, HalfGates, Kernel, PageCipher, Prg};
use std::hint::black_box;
use std::time::Instant;
use zerocopy::IntoBytes;

/// Units of work per second.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// The fastest repetition.
    pub best: f64,
    /// The median repetition.
    pub median: f64,
}

/// Runs `work`, which does `units` of work, once to warm up and then `repetitions` times.
///
/// # Panics
/// If `repetitions` is zero.
pub fn rate(units: usize, repetitions: usize, mut work: impl FnMut()) -> Rate {
    assert!(repetitions > 0, "a rate needs at least one repetition");
    work();
    let mut seconds: Vec<f64> = (0..repetitions)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64().max(1e-9)
        })
        .collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let units = units as f64;
    Rate { best: units / seconds[0], median: units / seconds[repetitions / 2] }
}

/// Gates of one repetition: about a millisecond at 10^8 gates a second.
const GATES: usize = 1 << 16;

/// Which of the two roles is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GarblingRole {
    /// The garbler, who hashes four labels per gate.
    Garble,
    /// The evaluator, who hashes two.
    Evaluate,
}

/// Labels and rows for `batch` gates, and who works on them.
struct KernelBench {
    gates: HalfGates,
    delta: Delta,
    a: Vec<Block>,
    b: Vec<Block>,
    out: Vec<Block>,
    rows: Vec<u8>,
    index: AndIndex,
}

impl KernelBench {
    fn new(kernel: Kernel, batch: usize, period: usize) -> KernelBench {
        let mut prg = Prg::with_kernel(kernel, Block::from_bits(batch as u128));
        let (mut a, mut b) = (vec![Block::ZERO; batch], vec![Block::ZERO; period]);
        prg.fill_blocks(&mut a);
        prg.fill_blocks(&mut b);
        KernelBench {
            gates: HalfGates::with_kernel(kernel, prg.next_block()),
            delta: Delta::random(&mut prg),
            a,
            b,
            out: vec![Block::ZERO; batch],
            rows: vec![0; batch * GarbledGate::BYTES],
            index: AndIndex(0),
        }
    }

    #[inline]
    fn run(&mut self, side: GarblingRole) {
        let KernelBench { gates, delta, a, b, out, rows, index } = self;
        match side {
            GarblingRole::Garble => gates.garble(delta, *index, a, b, out, rows),
            GarblingRole::Evaluate => gates.evaluate(*index, a, b, out, rows),
        }
        *index = index.advance(out.len());
    }
}

/// AND gates per second in batches of `batch` independent gates, with `b` of `period` labels.
///
/// # Panics
/// If `period` does not divide `batch`.
pub fn independent_gates(
    kernel: Kernel,
    side: GarblingRole,
    batch: usize,
    period: usize,
    repetitions: usize,
) -> Rate {
    let mut bench = KernelBench::new(kernel, batch, period);
    let batches = GATES.div_ceil(batch);
    rate(batches * batch, repetitions, || {
        for _ in 0..batches {
            bench.run(side);
            black_box(&mut bench);
        }
    })
}

/// AND gates per second in a chain: `batch` gates at a time, each of whose `a` is the output of
/// the batch before.
pub fn dependent_gates(
    kernel: Kernel,
    side: GarblingRole,
    batch: usize,
    repetitions: usize,
) -> Rate {
    let mut bench = KernelBench::new(kernel, batch, batch);
    let batches = GATES.div_ceil(batch);
    rate(batches * batch, repetitions, || {
        for _ in 0..batches {
            bench.run(side);
            std::mem::swap(&mut bench.a, &mut bench.out);
        }
        black_box(&mut bench);
    })
}

/// AND gates per second in the chain of a ripple adder of 32 bits, row after row of `lanes` lanes.
pub fn chained_gates(kernel: Kernel, side: GarblingRole, lanes: usize, repetitions: usize) -> Rate {
    const WIDTH: usize = 32;
    let mut bench = KernelBench::new(kernel, WIDTH * lanes, lanes);
    let mut x = vec![Block::ZERO; (WIDTH + 1) * lanes];
    let chains = GATES.div_ceil(WIDTH * lanes);
    rate(chains * WIDTH * lanes, repetitions, || {
        for _ in 0..chains {
            let KernelBench { gates, delta, a, b, rows, index, .. } = &mut bench;
            x.copy_within(WIDTH * lanes.., 0);
            match side {
                GarblingRole::Garble => gates.garble_chain(delta, *index, a, &mut x, b, rows),
                GarblingRole::Evaluate => gates.evaluate_chain(*index, a, &mut x, b, rows),
            }
            *index = index.advance(WIDTH * lanes);
            black_box((&mut bench, &mut x));
        }
    })
}

/// Gates per second whose hashes alone (re-keyed AES in registers, no labels read, no rows
/// written) this kernel computes: what [`independent_gates`] could reach at most.
pub fn hash_limit(kernel: Kernel, side: GarblingRole, repetitions: usize) -> Rate {
    let start = Block::from_bits(3);
    rate(GATES, repetitions, || {
        let garbling = side == GarblingRole::Garble;
        black_box(crate::half_gates::hashes_alone(kernel, black_box(start), garbling, GATES));
    })
}

/// Bytes of pseudorandomness per second, in buffers of 16 KiB.
pub fn generator(kernel: Kernel, repetitions: usize) -> Rate {
    let mut prg = Prg::with_kernel(kernel, Block::from_bits(1));
    let mut blocks = vec![Block::ZERO; 1024];
    rate(64 * blocks.len() * size_of::<Block>(), repetitions, || {
        for _ in 0..64 {
            prg.fill_blocks(&mut blocks);
            black_box(&mut blocks);
        }
    })
}

/// Bytes sealed per second, in pages of 64 KiB.
pub fn page_sealing(kernel: Kernel, repetitions: usize) -> Rate {
    let cipher = PageCipher::with_kernel(kernel, Block::from_bits(2));
    let mut page = vec![Block::ZERO; 4096];
    let mut nonce = 0;
    rate(16 * page.len() * size_of::<Block>(), repetitions, || {
        for _ in 0..16 {
            nonce += 1;
            black_box(cipher.seal(nonce, page.as_mut_bytes()));
        }
    })
}

/// Bytes transposed per second, 128 rows of 8192 bits at a time.
pub fn transposition(kernel: Kernel, repetitions: usize) -> Rate {
    let rows = vec![0xA5; 128 * 1024];
    let mut out = vec![Block::ZERO; 8192];
    rate(8 * rows.len(), repetitions, || {
        for _ in 0..8 {
            crate::transpose_with(kernel, black_box(&rows), 1024, &mut out);
            black_box(&mut out);
        }
    })
}
