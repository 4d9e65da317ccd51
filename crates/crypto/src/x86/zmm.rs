//! Four blocks at a time: VAES and AVX-512. Short slices stand for what they hold, zeros after.

use super::ROTATED_LAST_WORD;
use crate::Block;
use std::arch::x86_64::*;

pub(crate) type V = __m512i;
/// Two bits for each lane, one per 64-bit half.
pub(crate) type Mask = __mmask8;
/// Blocks in a vector.
pub(crate) const WIDTH: usize = 4;

/// Truth table of `a ^ b ^ c` for VPTERNLOG.
const XOR3: i32 = 0x96;
/// Truth table of `a ^ (b & c)` for VPTERNLOG.
const XOR_AND: i32 = 0x78;

/// The 64-bit halves that the first `blocks` blocks of a vector occupy.
#[inline]
fn halves(blocks: usize) -> __mmask8 {
    debug_assert!(blocks <= WIDTH);
    ((1u32 << (2 * blocks)) - 1) as __mmask8
}

/// The first four blocks of `blocks`; missing ones are zero.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn load(blocks: &[Block]) -> V {
    if let Some(whole) = blocks.first_chunk::<WIDTH>() {
        // SAFETY: the array reference is valid for reading 64 bytes; no alignment is needed.
        unsafe { _mm512_loadu_si512(whole.as_ptr().cast()) }
    } else {
        // SAFETY: the mask admits only the bytes of `blocks`, and the rest is not touched.
        unsafe { _mm512_maskz_loadu_epi64(halves(blocks.len()), blocks.as_ptr().cast()) }
    }
}

/// Writes the blocks for which `blocks` has space, at most four.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn store(blocks: &mut [Block], value: V) {
    if let Some(whole) = blocks.first_chunk_mut::<WIDTH>() {
        // SAFETY: the array reference is valid for writing 64 bytes; no alignment is needed.
        unsafe { _mm512_storeu_si512(whole.as_mut_ptr().cast(), value) }
    } else {
        let mask = halves(blocks.len());
        // SAFETY: the mask admits only the bytes of `blocks`, and the rest is not touched.
        unsafe { _mm512_mask_storeu_epi64(blocks.as_mut_ptr().cast(), mask, value) }
    }
}

/// The first 64 of `bytes`; missing blocks are zero.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn load_bytes(bytes: &[u8]) -> V {
    if let Some(whole) = bytes.first_chunk::<64>() {
        // SAFETY: the array reference is valid for reading 64 bytes; no alignment is needed.
        unsafe { _mm512_loadu_si512(whole.as_ptr().cast()) }
    } else {
        // SAFETY: the mask admits only whole blocks within `bytes`.
        unsafe { _mm512_maskz_loadu_epi64(halves(bytes.len() / 16), bytes.as_ptr().cast()) }
    }
}

/// Writes the whole blocks for which `bytes` has space, at most four.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn store_bytes(bytes: &mut [u8], value: V) {
    if let Some(whole) = bytes.first_chunk_mut::<64>() {
        // SAFETY: the array reference is valid for writing 64 bytes; no alignment is needed.
        unsafe { _mm512_storeu_si512(whole.as_mut_ptr().cast(), value) }
    } else {
        let mask = halves(bytes.len() / 16);
        // SAFETY: the mask admits only whole blocks within `bytes`.
        unsafe { _mm512_mask_storeu_epi64(bytes.as_mut_ptr().cast(), mask, value) }
    }
}

/// `block` in every lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn splat(block: Block) -> V {
    _mm512_broadcast_i32x4(super::xmm::load(&[block]))
}

/// `low + stride * lane` in the low half of each lane, `high` in its high half.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn counters(high: u64, low: u64, stride: u64) -> V {
    let start = _mm512_broadcast_i32x4(super::xmm::counters(high, low, stride));
    let s = stride as i64;
    _mm512_add_epi64(start, _mm512_set_epi64(0, 3 * s, 0, 2 * s, 0, s, 0, 0))
}

#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn zero() -> V {
    _mm512_setzero_si512()
}

#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn xor(a: V, b: V) -> V {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn xor3(a: V, b: V, c: V) -> V {
    _mm512_ternarylogic_epi64::<XOR3>(a, b, c)
}

/// Adds to the low half of each lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn add_low(a: V, amount: u64) -> V {
    _mm512_add_epi64(a, _mm512_maskz_set1_epi64(0b01_01_01_01, amount as i64))
}

/// The select bit of each lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn select_mask(label: V) -> Mask {
    let low_halves = _mm512_shuffle_epi32::<0b01_00_01_00>(label);
    _mm512_test_epi64_mask(low_halves, _mm512_set1_epi64(1))
}

/// `base ^ value` where the mask is set, else `base`.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn xor_if(base: V, mask: Mask, value: V) -> V {
    _mm512_mask_xor_epi64(base, mask, base, value)
}

/// `value` where the mask is set, else `otherwise`.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn choose(mask: Mask, value: V, otherwise: V) -> V {
    _mm512_mask_blend_epi64(mask, otherwise, value)
}

/// The orthomorphism `s(l || r) = (l ^ r) || l` of each lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn sigma(label: V) -> V {
    xor_sigma(zero(), label)
}

/// `base ^ s(label)`; two instructions deep, whatever `base` is.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn xor_sigma(base: V, label: V) -> V {
    let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(label);
    let high_halves = _mm512_set_epi64(-1, 0, -1, 0, -1, 0, -1, 0);
    _mm512_xor_si512(swapped, _mm512_ternarylogic_epi64::<XOR_AND>(base, label, high_halves))
}

#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn aesenc(state: V, round_key: V) -> V {
    _mm512_aesenc_epi128(state, round_key)
}

#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn aesenclast(state: V, round_key: V) -> V {
    _mm512_aesenclast_epi128(state, round_key)
}

/// The round key after `key`, in each lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn next_round_key(key: V, rcon: i32) -> V {
    let rotated = _mm512_shuffle_epi8(key, _mm512_set1_epi32(ROTATED_LAST_WORD));
    let word = _mm512_aesenclast_epi128(rotated, _mm512_set1_epi32(rcon));
    let key = _mm512_xor_si512(key, _mm512_bslli_epi128::<4>(key));
    xor3(key, _mm512_bslli_epi128::<8>(key), word)
}

/// Reads rows `garbler || evaluator` of one to four gates.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn load_rows(rows: &[u8]) -> (V, V) {
    let first = load_bytes(rows);
    let second = rows.get(64..).map_or(zero(), |rows| load_bytes(rows));
    let garbler = _mm512_set_epi64(13, 12, 9, 8, 5, 4, 1, 0);
    let evaluator = _mm512_set_epi64(15, 14, 11, 10, 7, 6, 3, 2);
    (
        _mm512_permutex2var_epi64(first, garbler, second),
        _mm512_permutex2var_epi64(first, evaluator, second),
    )
}

/// Writes rows `garbler || evaluator` of the gates for which `rows` has space, at most four.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(crate) fn store_rows(rows: &mut [u8], garbler_half: V, evaluator_half: V) {
    let first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    let second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    store_bytes(rows, _mm512_permutex2var_epi64(garbler_half, first, evaluator_half));
    if let Some(rows) = rows.get_mut(64..) {
        store_bytes(rows, _mm512_permutex2var_epi64(garbler_half, second, evaluator_half));
    }
}
