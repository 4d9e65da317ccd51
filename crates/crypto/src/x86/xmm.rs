//! One block at a time: AES-NI.

use super::{INVERSE_SHIFT_ROT_WORDS, ROTATED_LAST_WORD};
use crate::Block;
use std::arch::x86_64::*;

pub(crate) type V = __m128i;
/// All ones or all zeros in each lane.
pub(crate) type Mask = __m128i;
/// Blocks in a vector.
pub(crate) const WIDTH: usize = 1;

/// The first block of `blocks`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn load(blocks: &[Block]) -> V {
    let block: &Block = &blocks[0];
    // SAFETY: a reference to a block is valid for reading 16 bytes.
    unsafe { _mm_loadu_si128(std::ptr::from_ref(block).cast()) }
}

/// Writes the block to the front of `blocks`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn store(blocks: &mut [Block], value: V) {
    let block: &mut Block = &mut blocks[0];
    // SAFETY: a unique reference to a block is valid for writing 16 bytes.
    unsafe { _mm_storeu_si128(std::ptr::from_mut(block).cast(), value) }
}

/// The first 16 of `bytes`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn load_bytes(bytes: &[u8]) -> V {
    let bytes: &[u8; 16] = bytes.first_chunk().expect("the caller passes a whole vector");
    // SAFETY: the array reference is valid for reading 16 bytes; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Writes 16 bytes to the front of `bytes`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn store_bytes(bytes: &mut [u8], value: V) {
    let bytes: &mut [u8; 16] = bytes.first_chunk_mut().expect("the caller passes a whole vector");
    // SAFETY: the array reference is valid for writing 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), value) }
}

/// `block` in every lane.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn splat(block: Block) -> V {
    load(&[block])
}

/// `low + stride * lane` in the low half of each lane, `high` in its high half.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn counters(high: u64, low: u64, _stride: u64) -> V {
    _mm_set_epi64x(high as i64, low as i64)
}

#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn zero() -> V {
    _mm_setzero_si128()
}

#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn xor(a: V, b: V) -> V {
    _mm_xor_si128(a, b)
}

#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn xor3(a: V, b: V, c: V) -> V {
    _mm_xor_si128(_mm_xor_si128(a, b), c)
}

/// Adds to the low half of each lane.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn add_low(a: V, amount: u64) -> V {
    _mm_add_epi64(a, _mm_set_epi64x(0, amount as i64))
}

/// The select bit of each lane, spread over the lane.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn select_mask(label: V) -> Mask {
    let sign = _mm_slli_epi32::<31>(_mm_shuffle_epi32::<0>(label));
    _mm_srai_epi32::<31>(sign)
}

/// `base ^ value` where the mask is set, else `base`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn xor_if(base: V, mask: Mask, value: V) -> V {
    _mm_xor_si128(base, _mm_and_si128(mask, value))
}

/// `value` where the mask is set, else `otherwise`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn choose(mask: Mask, value: V, otherwise: V) -> V {
    _mm_blendv_epi8(otherwise, value, mask)
}

/// The orthomorphism `s(l || r) = (l ^ r) || l` of each lane.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn sigma(label: V) -> V {
    xor_sigma(zero(), label)
}

/// `base ^ s(label)`; two instructions deep, whatever `base` is.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn xor_sigma(base: V, label: V) -> V {
    let swapped = _mm_shuffle_epi32::<0b01_00_11_10>(label);
    let high_half = _mm_and_si128(label, _mm_set_epi64x(-1, 0));
    xor(swapped, xor(base, high_half))
}

#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn aesenc(state: V, round_key: V) -> V {
    _mm_aesenc_si128(state, round_key)
}

#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn aesenclast(state: V, round_key: V) -> V {
    _mm_aesenclast_si128(state, round_key)
}

/// The round key after `key`, in each lane.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn next_round_key(key: V, rcon: i32) -> V {
    let rotated = _mm_shuffle_epi8(key, _mm_set1_epi32(ROTATED_LAST_WORD));
    let word = _mm_aesenclast_si128(rotated, _mm_set1_epi32(rcon));
    let key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
    xor3(key, _mm_slli_si128::<8>(key), word)
}

/// `word` in every dword.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn splat_word(word: i32) -> V {
    _mm_set1_epi32(word)
}

/// `word(i)` in dword `i`.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn words(word: impl Fn(usize) -> i32) -> V {
    _mm_set_epi32(word(3), word(2), word(1), word(0))
}

/// The sums of the dwords.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn add_words(a: V, b: V) -> V {
    _mm_add_epi32(a, b)
}

/// `high + 1` where adding `added` made `low` wrap, dword by dword.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn carry_into(high: V, low: V, added: V) -> V {
    // The comparison is of signed numbers: flipping the sign bits orders unsigned ones.
    let sign = _mm_set1_epi32(i32::MIN);
    let wrapped = _mm_cmpgt_epi32(xor(added, sign), xor(low, sign));
    _mm_sub_epi32(high, wrapped)
}

/// In each lane, dwords 0 and 1 of `a` and `b` in turn; then dwords 2 and 3.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn interleave_words(a: V, b: V) -> [V; 2] {
    [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)]
}

/// In each lane, the low halves of `a` and `b`; then the high halves.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn interleave_halves(a: V, b: V) -> [V; 2] {
    [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)]
}

/// SubWord(RotWord(word)) ^ rcon of every dword.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn substitute_rotated_words(words: V, rcon: V) -> V {
    let [low, high] = INVERSE_SHIFT_ROT_WORDS;
    let control = _mm_set_epi64x(high, low);
    _mm_aesenclast_si128(_mm_shuffle_epi8(words, control), rcon)
}

/// Reads rows `garbler || evaluator` of [`WIDTH`] gates.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn load_rows(rows: &[u8]) -> (V, V) {
    (load_bytes(rows), load_bytes(&rows[16..]))
}

/// Writes rows `garbler || evaluator` of [`WIDTH`] gates.
#[inline]
#[target_feature(enable = "aes,ssse3,sse4.1")]
pub(crate) fn store_rows(rows: &mut [u8], garbler_half: V, evaluator_half: V) {
    store_bytes(rows, garbler_half);
    store_bytes(&mut rows[16..], evaluator_half);
}
