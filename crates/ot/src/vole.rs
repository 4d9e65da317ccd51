//! The arithmetic of a small-field VOLE: leaves of pseudorandom bits become columns.
//!
//! Source: Roy, "SoftSpokenOT" (ePrint 2022/192), Section 3.1 for p = 2, q = 2^k. With the leaves
//! `r_x`, the receiver of the extension computes `u = sum of r_x` and `v = sum of r_x * x`, its
//! sender `w = sum of r_x * (x + d)` without needing `r_d`, so that `w = v + u * d`. An element of
//! the field is k bits and `d` multiplies bits only, so a column of bits is all there is.
//! The correction to one common `u` (Section 3.2, repetition code) happens in the same pass.
//!
//! Cost: at most two XORs per leaf. Every node of the tree over the leaves' numbers sums what is
//! below it, and its upper half counts for one bit; the plain sums would take k/2 + 1 XORs.
//! Invariants: constant time; every width of vector gives the same bits.

#[cfg(target_arch = "x86_64")]
use phineus_crypto::InstructionSet;
use phineus_crypto::{Block, Kernel, SecretBit};
use zerocopy::{FromBytes, IntoBytes};

use super::limits::FIELD_BITS_MAX;

/// Sets `columns` (k rows, `stride` blocks from each to the next) to `v` and `u` to `u`, from the
/// 2^k rows of `leaves`.
pub(crate) fn fold_all(
    field_bits: usize,
    leaves: &[Block],
    (columns, stride): (&mut [Block], usize),
    u: &mut [Block],
) {
    let row = check_shape(field_bits, leaves, (columns, stride), u);
    let (leaves, columns, u, stride) =
        (words(leaves), words_mut(columns), words_mut(u), 2 * stride);
    dispatch(Kernel::selected(), field_bits, row, FoldAll { leaves, columns, stride, u });
}

/// Sets `columns`, as [`fold_all`] has them, to `w + correction * delta` from the leaves but number
/// 0, which is zero.
///
/// Bit `b` of `delta` belongs to row `b`.
pub(crate) fn fold_but_one(
    field_bits: usize,
    leaves: &[Block],
    (columns, stride): (&mut [Block], usize),
    correction: &[Block],
    delta: u8,
) {
    let row = check_shape(field_bits, leaves, (columns, stride), correction);
    let (leaves, columns, correction) = (words(leaves), words_mut(columns), words(correction));
    let masks = std::array::from_fn(|b| SecretBit::lowest(u64::from(delta >> b)).mask());
    let pass = FoldButOne { leaves, columns, stride: 2 * stride, correction, masks };
    dispatch(Kernel::selected(), field_bits, row, pass);
}

/// The words of a row.
fn check_shape(
    field_bits: usize,
    leaves: &[Block],
    (columns, stride): (&[Block], usize),
    row: &[Block],
) -> usize {
    assert!((1..=FIELD_BITS_MAX).contains(&field_bits), "a field has 2 to 2^8 elements");
    assert_eq!(leaves.len(), row.len() << field_bits, "one row per leaf");
    assert!(stride >= row.len(), "rows do not overlap");
    let least = (field_bits - 1) * stride + row.len();
    assert!(columns.len() >= least, "one row per bit of a field element");
    row.len() * 2
}

fn words(blocks: &[Block]) -> &[u64] {
    <[u64]>::ref_from_bytes(blocks.as_bytes()).expect("a block is two aligned words")
}

fn words_mut(blocks: &mut [Block]) -> &mut [u64] {
    <[u64]>::mut_from_bytes(blocks.as_mut_bytes()).expect("a block is two aligned words")
}

/// A pass over rows of words.
trait RowPass {
    /// Lengths that are public.
    fn sizes(&self) -> [usize; 4];

    /// Does the words from `at` on that fit `L`, for a field of 2^`K` elements in trees `T`.
    fn step<T: Tree, L: WordVector, const K: usize>(&mut self, row: usize, at: usize);

    #[inline(always)]
    fn run<T: Tree, L: WordVector, const K: usize>(&mut self, row: usize) {
        let wide = row / L::WORDS * L::WORDS;
        for at in (0..wide).step_by(L::WORDS) {
            self.step::<T, L, K>(row, at);
        }
        for at in wide..row {
            self.step::<T, u64, K>(row, at);
        }
    }
}

struct FoldAll<'a> {
    leaves: &'a [u64],
    columns: &'a mut [u64],
    stride: usize,
    u: &'a mut [u64],
}

impl RowPass for FoldAll<'_> {
    fn sizes(&self) -> [usize; 4] {
        [self.leaves.len(), self.columns.len(), self.stride, self.u.len()]
    }

    #[inline(always)]
    fn step<T: Tree, L: WordVector, const K: usize>(&mut self, row: usize, at: usize) {
        let (v, u) = fold::<T, L, K>(self.leaves, row, at);
        for (b, v) in v.into_iter().enumerate() {
            v.store(self.columns, b * self.stride + at);
        }
        u.store(self.u, at);
    }
}

struct FoldButOne<'a> {
    leaves: &'a [u64],
    columns: &'a mut [u64],
    stride: usize,
    correction: &'a [u64],
    /// The bits of delta, 64 times each.
    masks: [u64; FIELD_BITS_MAX],
}

impl RowPass for FoldButOne<'_> {
    fn sizes(&self) -> [usize; 4] {
        [self.leaves.len(), self.columns.len(), self.stride, self.correction.len()]
    }

    #[inline(always)]
    fn step<T: Tree, L: WordVector, const K: usize>(&mut self, row: usize, at: usize) {
        let (w, _) = fold::<T, L, K>(self.leaves, row, at);
        let correction = L::load(self.correction, at);
        for (b, (w, mask)) in w.into_iter().zip(self.masks).enumerate() {
            w.xor(correction.and(L::splat(mask))).store(self.columns, b * self.stride + at);
        }
    }
}

/// At word `at` of every row: for each bit the sum of the leaves whose number has it, and the sum
/// of all leaves.
#[inline(always)]
fn fold<T: Tree, L: WordVector, const K: usize>(
    leaves: &[u64],
    row: usize,
    at: usize,
) -> ([L; K], L) {
    let (mut bits, mut total) = ([L::splat(0); K], L::splat(0));
    for group in 0..1 << (K - T::LEVELS) {
        let sum = T::sum(leaves, row, at, group << T::LEVELS, &mut bits);
        total = total.xor(sum);
        for b in (T::LEVELS..K).filter(|b| group >> (b - T::LEVELS) & 1 == 1) {
            bits[b] = bits[b].xor(sum);
        }
    }
    (bits, total)
}

/// A tree of `2^LEVELS` leaves, unrolled at compile time so that its sums stay in registers.
trait Tree {
    const LEVELS: usize;

    /// Gives the sum of the leaves from number `first` on, and adds to each of the lowest
    /// `LEVELS` of `bits` the sum of those whose number has that bit.
    fn sum<L: WordVector>(leaves: &[u64], row: usize, at: usize, first: usize, bits: &mut [L])
    -> L;
}

struct Leaf;

impl Tree for Leaf {
    const LEVELS: usize = 0;

    #[inline(always)]
    fn sum<L: WordVector>(leaves: &[u64], row: usize, at: usize, first: usize, _: &mut [L]) -> L {
        L::load(leaves, first * row + at)
    }
}

/// Two subtrees; the upper one has bit `LEVELS - 1` set.
struct SubtreePair<T>(std::marker::PhantomData<T>);

impl<T: Tree> Tree for SubtreePair<T> {
    const LEVELS: usize = T::LEVELS + 1;

    #[inline(always)]
    fn sum<L: WordVector>(
        leaves: &[u64],
        row: usize,
        at: usize,
        first: usize,
        bits: &mut [L],
    ) -> L {
        let lower = T::sum(leaves, row, at, first, bits);
        let upper = T::sum(leaves, row, at, first + (1 << T::LEVELS), bits);
        bits[T::LEVELS] = bits[T::LEVELS].xor(upper);
        lower.xor(upper)
    }
}

type Tree2 = SubtreePair<Leaf>;
type Tree4 = SubtreePair<Tree2>;
type Tree8 = SubtreePair<Tree4>;
/// The largest that is unrolled: its 4 + 1 sums and what is pending fit the vector registers.
type Tree16 = SubtreePair<Tree8>;

/// As many words as are handled at once.
trait WordVector: Copy {
    const WORDS: usize;
    fn splat(word: u64) -> Self;
    /// The words from number `at` on.
    fn load(words: &[u64], at: usize) -> Self;
    fn store(self, words: &mut [u64], at: usize);
    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
}

impl WordVector for u64 {
    const WORDS: usize = 1;

    #[inline(always)]
    fn splat(word: u64) -> u64 {
        word
    }

    #[inline(always)]
    fn load(words: &[u64], at: usize) -> u64 {
        words[at]
    }

    #[inline(always)]
    fn store(self, words: &mut [u64], at: usize) {
        words[at] = self;
    }

    #[inline(always)]
    fn xor(self, other: u64) -> u64 {
        self ^ other
    }

    #[inline(always)]
    fn and(self, other: u64) -> u64 {
        self & other
    }
}

/// Makes a vector type a [`WordVector`]. Its methods are inlined into a function compiled for it.
#[cfg(target_arch = "x86_64")]
macro_rules! vector_lane {
    ($vector:ty, $splat:ident, $load:ident, $store:ident, $xor:ident, $and:ident) => {
        impl WordVector for $vector {
            const WORDS: usize = size_of::<$vector>() / size_of::<u64>();

            #[inline(always)]
            fn splat(word: u64) -> $vector {
                // SAFETY: used only where `dispatch` has made sure that there are such vectors.
                unsafe { $splat(word as i64) }
            }

            #[inline(always)]
            fn load(words: &[u64], at: usize) -> $vector {
                let words = &words[at..][..Self::WORDS];
                // SAFETY: as in `splat`; the slice is as long as the vector, at any alignment.
                unsafe { $load(words.as_ptr().cast()) }
            }

            #[inline(always)]
            fn store(self, words: &mut [u64], at: usize) {
                let words = &mut words[at..][..Self::WORDS];
                // SAFETY: as in `splat`; the slice is as long as the vector, at any alignment.
                unsafe { $store(words.as_mut_ptr().cast(), self) }
            }

            #[inline(always)]
            fn xor(self, other: $vector) -> $vector {
                // SAFETY: as in `splat`.
                unsafe { $xor(self, other) }
            }

            #[inline(always)]
            fn and(self, other: $vector) -> $vector {
                // SAFETY: as in `splat`.
                unsafe { $and(self, other) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{RowPass, WordVector, run};
    use std::arch::x86_64::*;

    vector_lane!(
        __m512i,
        _mm512_set1_epi64,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_xor_si512,
        _mm512_and_si512
    );
    vector_lane!(
        __m256i,
        _mm256_set1_epi64x,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_xor_si256,
        _mm256_and_si256
    );

    #[target_feature(enable = "avx512f")]
    pub(crate) fn run_avx512(field_bits: usize, row: usize, pass: impl RowPass) {
        phineus_crypto::public([field_bits, row]);
        phineus_crypto::public(pass.sizes());
        run::<__m512i>(field_bits, row, pass);
    }

    #[target_feature(enable = "avx2")]
    pub(crate) fn run_avx2(field_bits: usize, row: usize, pass: impl RowPass) {
        phineus_crypto::public([field_bits, row]);
        phineus_crypto::public(pass.sizes());
        run::<__m256i>(field_bits, row, pass);
    }
}

/// Runs a pass on the vectors that go with `kernel`.
fn dispatch(kernel: Kernel, field_bits: usize, row: usize, pass: impl RowPass) {
    #[cfg(target_arch = "x86_64")]
    match kernel.variant() {
        // SAFETY: there is such a kernel only on a processor with AVX-512F.
        InstructionSet::Vaes512 => return unsafe { x86::run_avx512(field_bits, row, pass) },
        // SAFETY: there is such a kernel only on a processor with AVX2.
        InstructionSet::Vaes256 => return unsafe { x86::run_avx2(field_bits, row, pass) },
        InstructionSet::AesNi | InstructionSet::Portable => {}
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = kernel;
    run::<u64>(field_bits, row, pass);
}

#[inline(always)]
fn run<L: WordVector>(field_bits: usize, row: usize, mut pass: impl RowPass) {
    match field_bits {
        1 => pass.run::<Tree2, L, 1>(row),
        2 => pass.run::<Tree4, L, 2>(row),
        3 => pass.run::<Tree8, L, 3>(row),
        4 => pass.run::<Tree16, L, 4>(row),
        5 => pass.run::<Tree16, L, 5>(row),
        6 => pass.run::<Tree16, L, 6>(row),
        7 => pass.run::<Tree16, L, 7>(row),
        8 => pass.run::<Tree16, L, 8>(row),
        _ => unreachable!("the shape has been checked"),
    }
}

#[cfg(test)]
mod tests {
    use phineus_crypto::Prg;

    use super::*;

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
                let (v, total) = plain(field_bits, words(&leaves), row);
                let (mut columns, mut sum) = (vec![0; field_bits * row], vec![0; row]);
                for kernel in Kernel::supported() {
                    columns.fill(0);
                    sum.fill(0);
                    let (columns, u) = (&mut columns[..], &mut sum[..]);
                    let leaves = words(&leaves);
                    let pass = FoldAll { leaves, columns, stride: row, u };
                    dispatch(kernel, field_bits, row, pass);
                    let name = kernel.name();
                    assert!(columns == v && u == total, "{name}, k {field_bits}, seed {seed:#x}");
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
            fold_all(field_bits, &leaves, (&mut v, row), &mut u);
            let mut correction = vec![Block::ZERO; row];
            prg.fill_blocks(&mut correction);
            let delta = prg.next_block().to_bits() as usize % (1 << field_bits);
            let mut some = vec![Block::ZERO; row << field_bits];
            for y in 1..1 << field_bits {
                some[y * row..][..row].copy_from_slice(&leaves[(y ^ delta) * row..][..row]);
            }
            let (stride, mut w) = (row + 2, vec![Block::ZERO; (row + 2) * field_bits]);
            fold_but_one(field_bits, &some, (&mut w, stride), &correction, delta as u8);
            let w = w.chunks_exact(stride).flat_map(|w| &w[..row]);
            for (i, (w, v)) in w.zip(&v).enumerate() {
                let bit = delta >> (i / row) & 1 == 1;
                let expected =
                    *v ^ (u[i % row] ^ correction[i % row]).and_bit(SecretBit::public(bit));
                assert_eq!(w.to_bits(), expected.to_bits(), "k {field_bits}, seed {seed:#x}");
            }
        }
    }
}
