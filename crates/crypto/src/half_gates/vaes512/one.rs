//! One gate: its four hashes (garbler) or two (evaluator) are the lanes of one vector.
//!
//! This is what a chain of dependent gates runs on, so everything that does not need the hashes
//! is done beside them, and five instructions remain between the last AES round and the output.

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
    let (a, b) = (xmm::load(&[a]), xmm::load(&[b]));
    let output = garble_labels(start, delta, index, a, b, rows);
    xmm::store(std::slice::from_mut(out), output);
}

/// Garbles the carries of an adder, each from the one before: `carry ^ ((a ^ carry) & (b ^ carry))`.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(in crate::half_gates) fn garble_carries(
    start: Block,
    delta: &Delta,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    carry: Block,
    carries: &mut [Block],
    rows: &mut [u8],
) {
    let (start, delta) = (zmm::splat(start), zmm::splat(delta.block()));
    let mut carry = xmm::load(&[carry]);
    let (rows, _) = rows.as_chunks_mut();
    let mut index = first_index;
    for (((a, b), out), rows) in a.iter().zip(b).zip(carries).zip(rows) {
        let a = xmm::xor(xmm::load(&[*a]), carry);
        let b = xmm::xor(xmm::load(&[*b]), carry);
        carry = xmm::xor(carry, garble_labels(start, delta, index, a, b, rows));
        xmm::store(std::slice::from_mut(out), carry);
        index = AndIndex(index.0 + 1);
    }
}

/// Garbles one gate on labels in registers; `start` and `delta` fill every lane.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn garble_labels(
    start: zmm::V,
    delta: zmm::V,
    index: AndIndex,
    a: xmm::V,
    b: xmm::V,
    rows: &mut [u8; GarbledGate::BYTES],
) -> xmm::V {
    // Lanes: a, a ^ delta, b, b ^ delta; the upper two are hashed under the evaluator's tweak.
    let tweaks = _mm512_set_epi64(0, 1, 0, 1, 0, 0, 0, 0);
    let first_tweak = zmm::splat(Block::from_bits(u128::from(index.tweaks().0)));
    let key = zmm::xor3(start, first_tweak, tweaks);
    let (a, b) = (_mm512_broadcast_i32x4(a), _mm512_broadcast_i32x4(b));
    let labels = _mm512_mask_mov_epi64(a, 0b1111_0000, b);
    let difference = _mm512_maskz_mov_epi64(0b1100_1100, zmm::sigma(delta));

    // What the hashes are XORed with: delta for the garbler's half if b's select bit is set.
    let (pa, pb) = (zmm::select_mask(a), zmm::select_mask(b));
    let delta_if_pb = _mm512_maskz_mov_epi64(pb, delta);
    let garbled_with = _mm512_mask_mov_epi64(delta_if_pb, 0b1111_0000, a);
    let delta_if_both = _mm512_maskz_mov_epi64(pa & pb, delta);
    // Where the hash of the label whose select bit is zero lies: lane pa, and lane 2 + pb.
    let two = _mm_set1_epi64x(2);
    let lane_0 = _mm_set_epi64x(1, 0);
    let lane_2 = _mm_set_epi64x(5, 4);
    let lane_a = _mm_mask_add_epi64(lane_0, pa & 3, lane_0, two);
    let lane_b = _mm_mask_add_epi64(lane_2, pb & 3, lane_2, two);

    let hash = hash_lanes(key, labels, difference);

    let other = _mm512_shuffle_i64x2::<0b10_11_00_01>(hash, hash);
    let halves = zmm::xor3(hash, other, garbled_with);
    let row = _mm512_permutexvar_epi64(_mm512_set_epi64(0, 0, 0, 0, 5, 4, 1, 0), halves);
    ymm::store_bytes(rows, _mm512_castsi512_si256(row));

    let chosen_a = _mm512_permutexvar_epi64(_mm512_castsi128_si512(lane_a), hash);
    let chosen_b = _mm512_permutexvar_epi64(_mm512_castsi128_si512(lane_b), hash);
    _mm512_castsi512_si128(zmm::xor3(chosen_a, chosen_b, delta_if_both))
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
    let (a, b) = (xmm::load(&[a]), xmm::load(&[b]));
    let output = evaluate_labels(ymm::splat(start), index, a, b, rows);
    xmm::store(std::slice::from_mut(out), output);
}

/// Evaluates the carries of an adder, as [`garble_carries`].
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(in crate::half_gates) fn evaluate_carries(
    start: Block,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    carry: Block,
    carries: &mut [Block],
    rows: &[u8],
) {
    let start = ymm::splat(start);
    let mut carry = xmm::load(&[carry]);
    let (rows, _) = rows.as_chunks();
    let mut index = first_index;
    for (((a, b), out), rows) in a.iter().zip(b).zip(carries).zip(rows) {
        let a = xmm::xor(xmm::load(&[*a]), carry);
        let b = xmm::xor(xmm::load(&[*b]), carry);
        carry = xmm::xor(carry, evaluate_labels(start, index, a, b, rows));
        xmm::store(std::slice::from_mut(out), carry);
        index = AndIndex(index.0 + 1);
    }
}

/// Evaluates one gate on labels in registers; `start` fills both lanes.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn evaluate_labels(
    start: ymm::V,
    index: AndIndex,
    a: xmm::V,
    b: xmm::V,
    rows: &[u8; GarbledGate::BYTES],
) -> xmm::V {
    let first_tweak = ymm::splat(Block::from_bits(u128::from(index.tweaks().0)));
    let key = ymm::xor3(start, first_tweak, _mm256_set_epi64x(0, 1, 0, 0));
    let labels = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);

    // What the rows add: the garbler's half if a's bit is set, the evaluator's ^ a if b's is.
    let a_for_b = _mm256_permute2x128_si256::<0x08>(labels, labels);
    let added = ymm::xor(ymm::load_bytes(rows), a_for_b);
    let known = ymm::xor_if(ymm::zero(), ymm::select_mask(labels), added);

    let sum = hash_lanes_of_two(key, labels, known);
    _mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum))
}

/// `E(key, x) ^ x` for `x = s(label) ^ difference` in each of four lanes.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn hash_lanes(key: zmm::V, label: zmm::V, difference: zmm::V) -> zmm::V {
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
fn hash_lanes_of_two(key: ymm::V, label: ymm::V, added: ymm::V) -> ymm::V {
    let first = ymm::xor(ymm::sigma(label), key);
    let (mut state, mut round_key) = (first, key);
    for &rcon in &RCON[..9] {
        round_key = ymm::next_round_key(round_key, rcon);
        state = ymm::aesenc(state, round_key);
    }
    let last_key = ymm::xor(ymm::next_round_key(round_key, RCON[9]), ymm::xor(key, added));
    ymm::aesenclast(state, ymm::xor(last_key, first))
}
