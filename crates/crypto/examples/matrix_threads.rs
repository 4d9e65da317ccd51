//! How a party's own work of a linear layer (what it computes on opened tiles, while its peers compute
//! nothing) grows from one thread to two, beside what both can read at all. Run it with `--release` on a
//! machine that does nothing else.
//!
//! A tile is 64 x 32: as `spdz` takes them together. `E (b + f) + A f` reads an opened entry and a share
//! of two elements for each entry of the matrix: 24 bytes in a field of 8.

use std::time::Instant;

use phineus_crypto::field::{F32, F61, Field, MatrixProduct, MatrixProducts, OnCpu, ProductTerm};
use phineus_crypto::{Block, Prg};

const ROWS: usize = 64;
const COLUMNS: usize = 32;
const ENTRIES: usize = ROWS * COLUMNS;
/// The least time that a measurement takes, in tiles.
const TILES: usize = 16_384;
const REPETITIONS: usize = 7;

/// What one thread works on.
struct Part<F> {
    opened: Vec<F>,
    shares: Vec<F>,
    factors: Vec<F>,
    vectors: Vec<F>,
    out: Vec<F>,
}

impl<F: Field> Part<F> {
    fn new(tiles: usize, seed: u128) -> Part<F> {
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        let mut random = |len: usize| {
            let mut elements = vec![F::ZERO; len];
            F::fill_random(&mut prg, &mut elements);
            elements
        };
        Part {
            opened: random(tiles * ENTRIES),
            shares: random(2 * tiles * ENTRIES),
            factors: random(tiles * COLUMNS),
            vectors: random(2 * tiles * COLUMNS),
            out: random(2 * tiles * ROWS),
        }
    }

    /// Makes all products once.
    fn multiply(&mut self) {
        let operands = self.opened.chunks_exact(ENTRIES).zip(self.shares.chunks_exact(2 * ENTRIES));
        let vectors =
            self.factors.chunks_exact(COLUMNS).zip(self.vectors.chunks_exact(2 * COLUMNS));
        let all = self.out.chunks_exact_mut(2 * ROWS).zip(operands.zip(vectors));
        for (out, ((e, a), (f, b))) in all {
            let terms = [
                ProductTerm { matrix: a, vectors: f, width: 1, count: 1 },
                ProductTerm { matrix: e, vectors: b, width: 2, count: 1 },
            ];
            OnCpu.add(&mut [MatrixProduct { out, terms }]);
        }
    }

    /// Reads what [`Part::multiply`] reads, and does no more with it than must be done.
    fn read(&self) -> u64 {
        let words = |elements: &[F]| {
            let bytes = zerocopy_bytes(elements);
            let (chunks, _) = bytes.as_chunks::<8>();
            chunks.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
        };
        words(&self.opened).wrapping_add(words(&self.shares))
    }
}

fn zerocopy_bytes<F: Field>(elements: &[F]) -> &[u8] {
    zerocopy::IntoBytes::as_bytes(elements)
}

/// Nanoseconds a tile, the least of some repetitions, with a part for each thread.
fn measure<F: Field>(
    tiles: usize,
    threads: usize,
    work: impl Fn(&mut Part<F>) -> u64 + Sync,
) -> f64 {
    let mut parts: Vec<Part<F>> =
        (0..threads).map(|thread| Part::new(tiles / threads, thread as u128)).collect();
    let turns = TILES.div_ceil(tiles);
    let mut best = f64::MAX;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for part in &mut parts {
                let work = &work;
                scope.spawn(move || (0..turns).fold(0, |sum: u64, _| sum.wrapping_add(work(part))));
            }
        });
        let ns = start.elapsed().as_nanos() as f64;
        best = best.min(ns / (turns * tiles) as f64);
    }
    best
}

fn print<F: Field>(tiles: usize) {
    let bytes = 3 * ENTRIES * size_of::<F>();
    let multiply = |part: &mut Part<F>| {
        part.multiply();
        0
    };
    let [one, two] = [1, 2].map(|threads| measure::<F>(tiles, threads, multiply));
    let [read, both] = [1, 2].map(|threads| measure::<F>(tiles, threads, |part| part.read()));
    println!(
        "{}, {:7.2} MB in {tiles} tiles: products {one:6.0} -> {two:6.0} ns a tile ({:.2}x), \
         {:.1} -> {:.1} GB/s; reading alone {:.1} -> {:.1} GB/s ({:.2}x)",
        F::NAME,
        (bytes * tiles) as f64 / 1e6,
        one / two,
        bytes as f64 / one,
        bytes as f64 / two,
        bytes as f64 / read,
        bytes as f64 / both,
        read / both,
    );
}

fn main() {
    println!("one thread -> two, the best of {REPETITIONS}");
    for tiles in [8, 64, 512, 8192] {
        print::<F61>(tiles);
        print::<F32>(tiles);
    }
}
