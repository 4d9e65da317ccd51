//! Carry-less multiplication of 1, 2 or 4 blocks per instruction: written once, made three times.

use std::arch::x86_64::*;
use std::convert::identity;

use super::STEP_BLOCKS;
use crate::Block;
use crate::x86::xmm;

/// Coefficients 64 to 127 of `x^128 + x^127 + x^126 + x^121 + 1`, as a number.
const MODULUS_HIGH: i64 = 0xC2 << 56;

/// `H^STEP_BLOCKS` first, `H` last.
#[target_feature(enable = "pclmulqdq,aes,ssse3,sse4.1")]
pub(super) fn powers(key: Block) -> [Block; STEP_BLOCKS] {
    let mut powers = [key; STEP_BLOCKS];
    let key = xmm::load(&[key]);
    let mut power = key;
    for out in powers[..STEP_BLOCKS - 1].chunks_mut(1).rev() {
        power = reduce(
            _mm_clmulepi64_si128::<0x00>(power, key),
            xmm::xor(
                _mm_clmulepi64_si128::<0x01>(power, key),
                _mm_clmulepi64_si128::<0x10>(power, key),
            ),
            _mm_clmulepi64_si128::<0x11>(power, key),
        );
        xmm::store(out, power);
    }
    powers
}

/// `(low + middle * x^64 + high * x^128) * x^-128` modulo the polynomial.
///
/// The modulus is 1 in its low half, so adding its multiple by the low 64 bits of a number clears
/// those: half of the 128 bits to be cleared, twice.
#[inline]
#[target_feature(enable = "pclmulqdq,aes,ssse3,sse4.1")]
fn reduce(low: __m128i, middle: __m128i, high: __m128i) -> __m128i {
    let modulus = _mm_set_epi64x(0, MODULUS_HIGH);
    let mut low = xmm::xor(low, _mm_slli_si128::<8>(middle));
    let high = xmm::xor(high, _mm_srli_si128::<8>(middle));
    for _ in 0..2 {
        let multiple = _mm_clmulepi64_si128::<0x00>(low, modulus);
        low = xmm::xor(_mm_shuffle_epi32::<0b01_00_11_10>(low), multiple);
    }
    xmm::xor(low, high)
}

/// Defines the hash over the vectors of `crate::x86::$ops`.
macro_rules! polyval_kernels {
    (
        $ops:ident, $features:literal, $clmul:ident, $swap:ident, $in_first:ident,
        $sum_of_lanes:ident
    ) => {
        use super::*;
        use crate::x86::$ops as ops;

        /// The sum of the halves, in both.
        #[inline]
        #[target_feature(enable = $features)]
        fn added_halves(v: ops::V) -> ops::V {
            ops::xor(v, $swap::<0b01_00_11_10>(v))
        }

        /// See [`crate::polyval::absorb`].
        #[target_feature(enable = $features)]
        pub(in crate::polyval) fn absorb(
            powers: &[Block; STEP_BLOCKS],
            sum: Block,
            steps: &[u8],
        ) -> Block {
            crate::public([steps.len()]);
            const VECTOR_BYTES: usize = ops::WIDTH * size_of::<Block>();
            let mut sum = xmm::load(&[sum]);
            for step in steps.chunks_exact(STEP_BLOCKS * size_of::<Block>()) {
                let (mut low, mut both, mut high) = (ops::zero(), ops::zero(), ops::zero());
                let mut carried = $in_first(sum);
                let powers = powers.chunks_exact(ops::WIDTH);
                for (vector, powers) in step.chunks_exact(VECTOR_BYTES).zip(powers) {
                    let x = ops::xor(ops::load_bytes(vector), carried);
                    carried = ops::zero();
                    let power = ops::load(powers);
                    low = ops::xor(low, $clmul::<0x00>(x, power));
                    high = ops::xor(high, $clmul::<0x11>(x, power));
                    // Karatsuba: the product of the sums of the halves has all four products.
                    let (x, power) = (added_halves(x), added_halves(power));
                    both = ops::xor(both, $clmul::<0x00>(x, power));
                }
                let middle = ops::xor3(both, low, high);
                sum = reduce($sum_of_lanes(low), $sum_of_lanes(middle), $sum_of_lanes(high));
            }
            let mut out = Block::ZERO;
            xmm::store(std::slice::from_mut(&mut out), sum);
            out
        }
    };
}

/// PCLMULQDQ.
pub(super) mod aesni {
    polyval_kernels!(
        xmm,
        "pclmulqdq,aes,ssse3,sse4.1",
        _mm_clmulepi64_si128,
        _mm_shuffle_epi32,
        identity,
        identity
    );
}

/// VPCLMULQDQ on 256-bit registers.
pub(super) mod vaes256 {
    polyval_kernels!(
        ymm,
        "vpclmulqdq,pclmulqdq,vaes,avx2,aes",
        _mm256_clmulepi64_epi128,
        _mm256_shuffle_epi32,
        _mm256_zextsi128_si256,
        sum_of_lanes
    );

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_of_lanes(v: ops::V) -> __m128i {
        _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v))
    }
}

/// VPCLMULQDQ on 512-bit registers.
pub(super) mod vaes512 {
    polyval_kernels!(
        zmm,
        "vpclmulqdq,pclmulqdq,vaes,avx512f,avx512bw,avx512vl,gfni,aes",
        _mm512_clmulepi64_epi128,
        _mm512_shuffle_epi32,
        _mm512_zextsi128_si512,
        sum_of_lanes
    );

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sum_of_lanes(v: ops::V) -> __m128i {
        let half = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v));
        _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half))
    }
}
