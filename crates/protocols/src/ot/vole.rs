//! The arithmetic of a small-field VOLE: leaves of pseudorandom bits become columns.
//!
//! Source: Roy, "SoftSpokenOT" (ePrint 2022/192), Section 3.1 for p = 2, q = 2^k. With the leaves
//! `r_x`, the receiver of the extension computes `u = sum of r_x` and `v = sum of r_x * x`, its
//! sender `w = sum of r_x * (x + d)` without needing `r_d`, so that `w = v + u * d`. An element of
//! the field is k bits and `d` multiplies bits only, so a column of bits is all there is.
//! The correction to one common `u` (Section 3.2, repetition code) happens in the same pass.
//!
//! Cost: `2^(k+1) - k - 2` XORs for `2^k` leaves: each round folds the upper half onto the lower
//! one and sums it, where the plain sums would take `k * 2^(k-1)`.
//! Invariants: constant time; every shape of vector unit gives the same bits.

use phineus_crypto::Block;
use zerocopy::{FromBytes, IntoBytes};

use super::limits::FIELD_BITS_MAX;

/// 64-bit words handled at once: one 512-bit register, two of 256 bits, four of 128.
const LANE_WORDS: usize = 8;

type Lane<const W: usize> = [u64; W];

/// Sets `columns` (k rows) to `v` and `u` to `u`, from the 2^k rows of `leaves`.
pub(super) fn fold_all(field_bits: usize, leaves: &[Block], columns: &mut [Block], u: &mut [Block]) {
    let row = check_shape(field_bits, leaves, columns, u);
    let (leaves, columns, u) = (words(leaves), words_mut(columns), words_mut(u));
    let (rounds, rest) = (row / LANE_WORDS, row % LANE_WORDS);
    dispatch(field_bits, FoldAll { leaves, columns, u, row, rounds, rest });
}

/// Sets `columns` (k rows) to `w + correction * delta` from the leaves but number 0, which is zero.
///
/// Bit `b` of `delta` belongs to row `b`.
pub(super) fn fold_but_one(
    field_bits: usize,
    leaves: &[Block],
    columns: &mut [Block],
    correction: &[Block],
    delta: u8,
) {
    let row = check_shape(field_bits, leaves, columns, correction);
    let (leaves, columns, correction) = (words(leaves), words_mut(columns), words(correction));
    let (rounds, rest) = (row / LANE_WORDS, row % LANE_WORDS);
    dispatch(field_bits, FoldButOne { leaves, columns, correction, delta, row, rounds, rest });
}

/// The words of a row.
fn check_shape(field_bits: usize, leaves: &[Block], columns: &[Block], row: &[Block]) -> usize {
    assert!((1..=FIELD_BITS_MAX).contains(&field_bits), "a field has 2 to 2^8 elements");
    assert_eq!(leaves.len(), row.len() << field_bits, "one row per leaf");
    assert_eq!(columns.len(), row.len() * field_bits, "one row per bit of a field element");
    row.len() * 2
}

fn words(blocks: &[Block]) -> &[u64] {
    <[u64]>::ref_from_bytes(blocks.as_bytes()).expect("a block is two aligned words")
}

fn words_mut(blocks: &mut [Block]) -> &mut [u64] {
    <[u64]>::mut_from_bytes(blocks.as_mut_bytes()).expect("a block is two aligned words")
}

/// A pass over rows, generic over the size of the field (`N` = 2^`K` leaves).
trait Pass {
    fn run<const K: usize, const N: usize>(self);
}

struct FoldAll<'a> {
    leaves: &'a [u64],
    columns: &'a mut [u64],
    u: &'a mut [u64],
    row: usize,
    rounds: usize,
    rest: usize,
}

impl FoldAll<'_> {
    #[inline(always)]
    fn step<const K: usize, const N: usize, const W: usize>(&mut self, at: usize) {
        let (v, u) = fold::<K, N, W>(self.leaves, self.row, at);
        for (b, v) in v.iter().enumerate() {
            self.columns[b * self.row + at..][..W].copy_from_slice(v);
        }
        self.u[at..][..W].copy_from_slice(&u);
    }
}

impl Pass for FoldAll<'_> {
    #[inline(always)]
    fn run<const K: usize, const N: usize>(mut self) {
        for round in 0..self.rounds {
            self.step::<K, N, LANE_WORDS>(round * LANE_WORDS);
        }
        for at in self.row - self.rest..self.row {
            self.step::<K, N, 1>(at);
        }
    }
}

struct FoldButOne<'a> {
    leaves: &'a [u64],
    columns: &'a mut [u64],
    correction: &'a [u64],
    delta: u8,
    row: usize,
    rounds: usize,
    rest: usize,
}

impl FoldButOne<'_> {
    #[inline(always)]
    fn step<const K: usize, const N: usize, const W: usize>(&mut self, at: usize) {
        let (w, _) = fold::<K, N, W>(self.leaves, self.row, at);
        let correction: &Lane<W> = self.correction[at..].first_chunk().expect("inside the row");
        for (b, w) in w.iter().enumerate() {
            let mask = u64::from(self.delta >> b & 1).wrapping_neg();
            let column = &mut self.columns[b * self.row + at..][..W];
            for i in 0..W {
                column[i] = w[i] ^ correction[i] & mask;
            }
        }
    }
}

impl Pass for FoldButOne<'_> {
    #[inline(always)]
    fn run<const K: usize, const N: usize>(mut self) {
        for round in 0..self.rounds {
            self.step::<K, N, LANE_WORDS>(round * LANE_WORDS);
        }
        for at in self.row - self.rest..self.row {
            self.step::<K, N, 1>(at);
        }
    }
}

/// At word `at` of every row: for each bit the sum of the leaves whose number has it, and the sum
/// of all leaves.
#[inline(always)]
fn fold<const K: usize, const N: usize, const W: usize>(
    leaves: &[u64],
    row: usize,
    at: usize,
) -> ([Lane<W>; K], Lane<W>) {
    let mut sums: [Lane<W>; N] =
        std::array::from_fn(|x| *leaves[x * row + at..].first_chunk().expect("inside the row"));
    let mut bits = [[0; W]; K];
    for b in (0..K).rev() {
        for x in 0..1 << b {
            let upper = sums[x + (1 << b)];
            bits[b] = xor(bits[b], upper);
            sums[x] = xor(sums[x], upper);
        }
    }
    (bits, sums[0])
}

#[inline(always)]
fn xor<const W: usize>(a: Lane<W>, b: Lane<W>) -> Lane<W> {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// Runs a pass on the widest vector unit there is.
fn dispatch(field_bits: usize, pass: impl Pass) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions that `run_avx512` is compiled for.
            return unsafe { run_avx512(field_bits, pass) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the instructions that `run_avx2` is compiled for.
            return unsafe { run_avx2(field_bits, pass) };
        }
    }
    run_portable(field_bits, pass);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn run_avx512(field_bits: usize, pass: impl Pass) {
    run_portable(field_bits, pass);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2(field_bits: usize, pass: impl Pass) {
    run_portable(field_bits, pass);
}

#[inline(always)]
fn run_portable(field_bits: usize, pass: impl Pass) {
    match field_bits {
        1 => pass.run::<1, 2>(),
        2 => pass.run::<2, 4>(),
        3 => pass.run::<3, 8>(),
        4 => pass.run::<4, 16>(),
        5 => pass.run::<5, 32>(),
        6 => pass.run::<6, 64>(),
        7 => pass.run::<7, 128>(),
        8 => pass.run::<8, 256>(),
        _ => unreachable!("the shape has been checked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_crypto::Prg;

    /// The sums of Section 3.1, word by word, as they stand there.
    fn plain(field_bits: usize, leaves: &[u64], row: usize) -> (Vec<u64>, Vec<u64>) {
        let (mut v, mut u) = (vec![0; field_bits * row], vec![0; row]);
        for x in 0..1 << field_bits {
            for at in 0..row {
                u[at] ^= leaves[x * row + at];
                for b in (0..field_bits).filter(|b| x >> b & 1 == 1) {
                    v[b * row + at] ^= leaves[x * row + at];
                }
            }
        }
        (v, u)
    }

    #[test]
    fn folding_equals_the_plain_sums_on_every_vector_unit() {
        let seed = 0xf01d;
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        for field_bits in 1..=FIELD_BITS_MAX {
            for row_blocks in [0, 1, 3, 4, 9] {
                let mut leaves = vec![Block::ZERO; row_blocks << field_bits];
                prg.fill_blocks(&mut leaves);
                let row = 2 * row_blocks;
                let (v, u) = plain(field_bits, words(&leaves), row);
                let (mut columns, mut sum) = (vec![0; field_bits * row], vec![0; row]);
                for narrow in [false, true] {
                    let pass = FoldAll {
                        leaves: words(&leaves),
                        columns: &mut columns,
                        u: &mut sum,
                        row,
                        rounds: row / LANE_WORDS,
                        rest: row % LANE_WORDS,
                    };
                    match narrow {
                        true => run_portable(field_bits, pass),
                        false => dispatch(field_bits, pass),
                    }
                    assert!(columns == v && sum == u, "k {field_bits}, seed {seed:#x}");
                }
            }
        }
    }

    #[test]
    fn the_two_folds_agree_up_to_the_offset() {
        let seed = 0xde17a;
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        let row = 5;
        for field_bits in 1..=FIELD_BITS_MAX {
            let mut leaves = vec![Block::ZERO; row << field_bits];
            prg.fill_blocks(&mut leaves);
            let (mut v, mut u) = (vec![Block::ZERO; row * field_bits], vec![Block::ZERO; row]);
            fold_all(field_bits, &leaves, &mut v, &mut u);
            let mut correction = vec![Block::ZERO; row];
            prg.fill_blocks(&mut correction);
            let delta = prg.next_block().to_bits() as usize % (1 << field_bits);
            let mut some = vec![Block::ZERO; row << field_bits];
            for y in 1..1 << field_bits {
                some[y * row..][..row].copy_from_slice(&leaves[(y ^ delta) * row..][..row]);
            }
            let mut w = vec![Block::ZERO; row * field_bits];
            fold_but_one(field_bits, &some, &mut w, &correction, delta as u8);
            for (i, (w, v)) in w.iter().zip(&v).enumerate() {
                let bit = delta >> (i / row) & 1 == 1;
                let expected = *v ^ (u[i % row] ^ correction[i % row]).and_bit(bit);
                assert_eq!(w.to_bits(), expected.to_bits(), "k {field_bits}, seed {seed:#x}");
            }
        }
    }
}
