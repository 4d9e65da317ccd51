//! Two blocks at a time: VAES and AVX2. Short slices stand for what they hold, zeros after.

use super::{INVERSE_SHIFT_ROT_WORDS, ROTATED_LAST_WORD};
use crate::Block;
use std::arch::x86_64::*;

pub(crate) type V = __m256i;
/// All ones or all zeros in each lane.
pub(crate) type Mask = __m256i;
/// Blocks in a vector.
pub(crate) const WIDTH: usize = 2;

/// The first one or two blocks of `blocks`; a missing one is zero.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn load(blocks: &[Block]) -> V {
    if let Some(pair) = blocks.first_chunk::<WIDTH>() {
        // SAFETY: the array reference is valid for reading 32 bytes; no alignment is needed.
        unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) }
    } else {
        _mm256_zextsi128_si256(super::xmm::load(blocks))
    }
}

/// Writes the one or two blocks for which `blocks` has space.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn store(blocks: &mut [Block], value: V) {
    if let Some(pair) = blocks.first_chunk_mut::<WIDTH>() {
        // SAFETY: the array reference is valid for writing 32 bytes; no alignment is needed.
        unsafe { _mm256_storeu_si256(pair.as_mut_ptr().cast(), value) }
    } else {
        super::xmm::store(blocks, _mm256_castsi256_si128(value));
    }
}

/// The first 32 of `bytes`.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn load_bytes(bytes: &[u8]) -> V {
    let bytes: &[u8; 32] = bytes.first_chunk().expect("the caller passes a whole vector");
    // SAFETY: the array reference is valid for reading 32 bytes; no alignment is needed.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Writes 32 bytes to the front of `bytes`.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn store_bytes(bytes: &mut [u8], value: V) {
    let bytes: &mut [u8; 32] = bytes.first_chunk_mut().expect("the caller passes a whole vector");
    // SAFETY: the array reference is valid for writing 32 bytes; no alignment is needed.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), value) }
}

/// `block` in every lane.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn splat(block: Block) -> V {
    _mm256_broadcastsi128_si256(super::xmm::load(&[block]))
}

/// `low + stride * lane` in the low half of each lane, `high` in its high half.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn counters(high: u64, low: u64, stride: u64) -> V {
    let (high, next) = (high as i64, low.wrapping_add(stride) as i64);
    _mm256_set_epi64x(high, next, high, low as i64)
}

#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn zero() -> V {
    _mm256_setzero_si256()
}

#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn xor(a: V, b: V) -> V {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn xor3(a: V, b: V, c: V) -> V {
    _mm256_xor_si256(_mm256_xor_si256(a, b), c)
}

/// Adds to the low half of each lane.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn add_low(a: V, amount: u64) -> V {
    _mm256_add_epi64(a, _mm256_set_epi64x(0, amount as i64, 0, amount as i64))
}

/// The select bit of each lane, spread over the lane.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn select_mask(label: V) -> Mask {
    let sign = _mm256_slli_epi32::<31>(_mm256_shuffle_epi32::<0>(label));
    _mm256_srai_epi32::<31>(sign)
}

/// `base ^ value` where the mask is set, else `base`.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn xor_if(base: V, mask: Mask, value: V) -> V {
    _mm256_xor_si256(base, _mm256_and_si256(mask, value))
}

/// `value` where the mask is set, else `otherwise`.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn choose(mask: Mask, value: V, otherwise: V) -> V {
    _mm256_blendv_epi8(otherwise, value, mask)
}

/// The orthomorphism `s(l || r) = (l ^ r) || l` of each lane.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn sigma(label: V) -> V {
    xor_sigma(zero(), label)
}

/// `base ^ s(label)`; two instructions deep, whatever `base` is.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn xor_sigma(base: V, label: V) -> V {
    let swapped = _mm256_shuffle_epi32::<0b01_00_11_10>(label);
    let high_half = _mm256_and_si256(label, _mm256_set_epi64x(-1, 0, -1, 0));
    xor(swapped, xor(base, high_half))
}

#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn aesenc(state: V, round_key: V) -> V {
    _mm256_aesenc_epi128(state, round_key)
}

#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn aesenclast(state: V, round_key: V) -> V {
    _mm256_aesenclast_epi128(state, round_key)
}

/// The round key after `key`, in each lane.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn next_round_key(key: V, rcon: i32) -> V {
    let rotated = _mm256_shuffle_epi8(key, _mm256_set1_epi32(ROTATED_LAST_WORD));
    let word = _mm256_aesenclast_epi128(rotated, _mm256_set1_epi32(rcon));
    let key = _mm256_xor_si256(key, _mm256_slli_si256::<4>(key));
    xor3(key, _mm256_slli_si256::<8>(key), word)
}

/// `word` in every dword.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn splat_word(word: i32) -> V {
    _mm256_set1_epi32(word)
}

/// `word(i)` in dword `i`.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn words(word: impl Fn(usize) -> i32) -> V {
    _mm256_set_epi32(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0))
}

/// The sums of the dwords.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn add_words(a: V, b: V) -> V {
    _mm256_add_epi32(a, b)
}

/// `high + 1` where adding `added` made `low` wrap, dword by dword.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn carry_into(high: V, low: V, added: V) -> V {
    // The comparison is of signed numbers: flipping the sign bits orders unsigned ones.
    let sign = _mm256_set1_epi32(i32::MIN);
    let wrapped = _mm256_cmpgt_epi32(xor(added, sign), xor(low, sign));
    _mm256_sub_epi32(high, wrapped)
}

/// In each lane, dwords 0 and 1 of `a` and `b` in turn; then dwords 2 and 3.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn interleave_words(a: V, b: V) -> [V; 2] {
    [_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)]
}

/// In each lane, the low halves of `a` and `b`; then the high halves.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn interleave_halves(a: V, b: V) -> [V; 2] {
    [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)]
}

/// SubWord(RotWord(word)) ^ rcon of every dword.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn substitute_rotated_words(words: V, rcon: V) -> V {
    let [low, high] = INVERSE_SHIFT_ROT_WORDS;
    let control = _mm256_set_epi64x(high, low, high, low);
    _mm256_aesenclast_epi128(_mm256_shuffle_epi8(words, control), rcon)
}

/// Reads rows `garbler || evaluator` of one or two gates.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn load_rows(rows: &[u8]) -> (V, V) {
    let first = load_bytes(rows);
    let second = if rows.len() >= 64 { load_bytes(&rows[32..]) } else { zero() };
    (
        _mm256_permute2x128_si256::<0x20>(first, second),
        _mm256_permute2x128_si256::<0x31>(first, second),
    )
}

/// Writes rows `garbler || evaluator` of the one or two gates for which `rows` has space.
#[inline]
#[target_feature(enable = "vaes,avx2,aes")]
pub(crate) fn store_rows(rows: &mut [u8], garbler_half: V, evaluator_half: V) {
    store_bytes(rows, _mm256_permute2x128_si256::<0x20>(garbler_half, evaluator_half));
    if rows.len() >= 64 {
        let second = _mm256_permute2x128_si256::<0x31>(garbler_half, evaluator_half);
        store_bytes(&mut rows[32..], second);
    }
}
