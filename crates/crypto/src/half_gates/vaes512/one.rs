//! One gate: its four hashes (garbler) or two (evaluator) are the lanes of one vector.
//!
//! This is what gates run on that come alone. Everything that does not need the hashes is done
//! beside them.

use crate::Block;
use crate::half_gates::{AndIndex, Delta, GarbledGate};
use crate::x86::{RCON, xmm, ymm, zmm};
use std::arch::x86_64::*;

/// Garbles one gate.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn garble(
    start: Block,
    delta: &Delta,
    index: AndIndex,
    a: Block,
    b: Block,
    out: &mut Block,
    rows: &mut [u8; GarbledGate::BYTES],
) {
    let (start, delta) = (zmm::splat(start), zmm::splat(delta.block()));
    let output = garble_lanes(start, delta, index, four_lanes(a, b), rows);
    xmm::store(std::slice::from_mut(out), _mm512_castsi512_si128(output));
}

/// Evaluates one gate.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn evaluate(
    start: Block,
    index: AndIndex,
    a: Block,
    b: Block,
    out: &mut Block,
    rows: &[u8; GarbledGate::BYTES],
) {
    let output = evaluate_lanes(ymm::splat(start), index, two_lanes(a, b), rows);
    xmm::store(std::slice::from_mut(out), _mm256_castsi256_si128(output));
}

/// Lanes `a, a, b, b`.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn four_lanes(a: Block, b: Block) -> zmm::V {
    _mm512_mask_broadcast_i32x4(zmm::splat(a), 0xFF00, xmm::load(&[b]))
}

/// Lanes `a, b`.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn two_lanes(a: Block, b: Block) -> ymm::V {
    let (a, b) = (xmm::load(&[a]), xmm::load(&[b]));
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b)
}

/// Garbles one gate whose labels are the lanes `a, a, b, b`; the output label comes in every lane.
/// `start` and `delta` fill every lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn garble_lanes(
    start: zmm::V,
    delta: zmm::V,
    index: AndIndex,
    labels: zmm::V,
    rows: &mut [u8; GarbledGate::BYTES],
) -> zmm::V {
    // Hashed are a, a ^ delta, b, b ^ delta; the upper two under the evaluator's tweak.
    let tweaks = _mm512_set_epi64(0, 1, 0, 1, 0, 0, 0, 0);
    let first_tweak = zmm::splat(Block::from_bits(u128::from(index.tweaks().0)));
    let key = zmm::xor3(start, first_tweak, tweaks);
    let difference = _mm512_maskz_mov_epi64(0b1100_1100, zmm::sigma(delta));

    let select = zmm::select_mask(labels);
    let (pa, pb) = (spread(select & 1), spread(select >> 4 & 1));
    // The garbler's half is XORed with delta if b's select bit is set, the evaluator's with a.
    let halves_with =
        _mm512_mask_mov_epi64(_mm512_maskz_mov_epi64(pb, delta), 0xF0, rotate(labels));
    let added = _mm512_maskz_mov_epi64(pa & pb, delta);
    // The hash of the label whose select bit is zero lies in lane pa, and in lane 2 + pb.
    let lane_0 = _mm512_set_epi64(1, 0, 1, 0, 1, 0, 1, 0);
    let lane_2 = _mm512_set_epi64(5, 4, 5, 4, 5, 4, 5, 4);
    let two = _mm512_set1_epi64(2);
    let lane_a = _mm512_mask_add_epi64(lane_0, pa, lane_0, two);
    let lane_b = _mm512_mask_add_epi64(lane_2, pb, lane_2, two);

    let hash = hash_four(key, labels, difference);

    let other = _mm512_shuffle_i64x2::<0b10_11_00_01>(hash, hash);
    let halves = zmm::xor3(hash, other, halves_with);
    let row = _mm512_permutexvar_epi64(_mm512_set_epi64(0, 0, 0, 0, 5, 4, 1, 0), halves);
    ymm::store_bytes(rows, _mm512_castsi512_si256(row));

    let chosen_a = _mm512_permutexvar_epi64(lane_a, hash);
    let chosen_b = _mm512_permutexvar_epi64(lane_b, hash);
    zmm::xor3(chosen_a, chosen_b, added)
}

/// Evaluates one gate whose labels are the lanes `a, b`; the output label comes in both lanes.
/// `start` fills both lanes.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn evaluate_lanes(
    start: ymm::V,
    index: AndIndex,
    labels: ymm::V,
    rows: &[u8; GarbledGate::BYTES],
) -> ymm::V {
    let first_tweak = ymm::splat(Block::from_bits(u128::from(index.tweaks().0)));
    let key = ymm::xor3(start, first_tweak, _mm256_set_epi64x(0, 1, 0, 0));

    // What the rows add: the garbler's half if a's bit is set, the evaluator's ^ a if b's is.
    let a_for_b = _mm256_permute2x128_si256::<0x08>(labels, labels);
    let halves = ymm::xor(ymm::load_bytes(rows), a_for_b);
    let known = ymm::xor_if(ymm::zero(), ymm::select_mask(labels), halves);

    let sum = hash_two(key, labels, known);
    ymm::xor(sum, _mm256_permute2x128_si256::<0x01>(sum, sum))
}

/// All ones if `bit` is one.
#[inline]
fn spread(bit: __mmask8) -> __mmask8 {
    bit.wrapping_neg()
}

/// The two halves of the vector, exchanged.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn rotate(lanes: zmm::V) -> zmm::V {
    _mm512_shuffle_i64x2::<0b01_00_11_10>(lanes, lanes)
}

/// `E(key, x) ^ x` for `x = s(label) ^ difference` in each of four lanes.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn hash_four(key: zmm::V, label: zmm::V, difference: zmm::V) -> zmm::V {
    let first = zmm::xor_sigma(zmm::xor(key, difference), label);
    let (mut state, mut round_key) = (first, key);
    for &rcon in &RCON[..9] {
        round_key = zmm::next_round_key(round_key, rcon);
        state = zmm::aesenc(state, round_key);
    }
    let last_key = zmm::next_round_key(round_key, RCON[9]);
    zmm::aesenclast(state, zmm::xor3(last_key, first, key))
}

/// `E(key, x) ^ x ^ added` for `x = s(label)` in each of two lanes.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn hash_two(key: ymm::V, label: ymm::V, added: ymm::V) -> ymm::V {
    let first = ymm::xor(ymm::sigma(label), key);
    let (mut state, mut round_key) = (first, key);
    for &rcon in &RCON[..9] {
        round_key = ymm::next_round_key(round_key, rcon);
        state = ymm::aesenc(state, round_key);
    }
    let last_key = ymm::next_round_key(round_key, RCON[9]);
    ymm::aesenclast(state, ymm::xor3(ymm::xor(last_key, first), key, added))
}
