//! AES-128 encryption (FIPS 197).
//!
//! S-box: Boyar, Peralta, "A new combinational logic minimization technique with applications to
//! cryptology", SEA 2010 (ePrint 2009/191), the circuit of 115 gates, 32 of them AND, as in its
//! straight-line program; names `x`, `y`, `t`, `z`, `s` follow it. Everything else is linear.
//! The S-boxes of a round are computed together: a *plane* is one bit of many bytes, and the 32
//! ANDs of an S-box take six batches of 9, 1, 2, 1, 1 and 18 planes.
//!
//! ANDs: 32 per S-box; 160 S-boxes = 5,120 to encrypt, 40 S-boxes = 1,280 for the key schedule,
//! 6,400 with both. AND depth 6 per round.
//!
//! Bit `i` of a 128-bit value is bit `i % 8` of byte `i / 8` of FIPS 197's byte string.

use crate::BitAlgebra;
use crate::rows::{copy_row, row, take};
use crate::sbox::{self, Planes};

/// Bits of a block, a key and a round key.
pub const BLOCK_BITS: usize = 128;

/// Round keys of AES-128: one before the first and one after each of 10 rounds.
pub const ROUND_KEYS: usize = 11;

pub(crate) const BYTES: usize = BLOCK_BITS / 8;

/// Wires of a plane. 61 planes of 64 labels of 16 bytes are about 61 KiB, and a batch is 64 gates
/// at least when there is enough to do: enough to fill the pipelines of a garbling kernel.
const PLANE_WIRES_MAX: usize = 64;

/// `round constant` of FIPS 197 section 5.2: powers of x in GF(2^8).
pub(crate) const ROUND_CONSTANTS: [u8; 10] =
    [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36];

/// Byte of the state that ShiftRows brings to each place.
pub(crate) const SHIFTED_ROWS: [u8; BYTES] = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11];

/// Bytes of a round key that RotWord brings to each place of its last word.
pub(crate) const ROTATED_WORD: [u8; 4] = [13, 14, 15, 12];

/// Scratch wires that any function of this module needs at most.
pub const fn scratch_wires(lanes: usize) -> usize {
    // State and round key; then the planes, or the four bytes of SubWord besides, and a row.
    let plane = if PLANE_WIRES_MAX < BYTES * lanes { PLANE_WIRES_MAX } else { BYTES * lanes };
    (2 * BLOCK_BITS + 4 * 8 + 1) * lanes + sbox::PLANES * plane
}

/// `out` = the encryption of `block` under `key`, both 128 bits: 6,400 ANDs.
pub fn aes128<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    key: &[A::Wire],
    block: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (round_key, rest) = take(scratch, BLOCK_BITS * lanes);
    round_key.copy_from_slice(key);
    alg.xor(out, block, round_key);
    for round in 1..ROUND_KEYS {
        advance_round_key(alg, round_key, round, lanes, rest);
        encrypt_round(alg, out, round_key, round, lanes, rest);
    }
}

/// `out` = the encryption of `block` under expanded `round_keys` (of [`aes128_key_schedule`]):
/// 5,120 ANDs.
pub fn aes128_encrypt_with_round_keys<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    round_keys: &[A::Wire],
    block: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(round_keys.len(), ROUND_KEYS * BLOCK_BITS * lanes, "eleven round keys");
    let mut round_keys = round_keys.chunks_exact(BLOCK_BITS * lanes);
    let first = round_keys.next().expect("there are eleven");
    alg.xor(out, block, first);
    for (round, round_key) in (1..).zip(round_keys) {
        encrypt_round(alg, out, round_key, round, lanes, scratch);
    }
}

/// `round_keys` = the eleven round keys of `key`, one 128-bit value after the other: 1,280 ANDs.
pub fn aes128_key_schedule<A: BitAlgebra>(
    alg: &mut A,
    round_keys: &mut [A::Wire],
    key: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let wires = BLOCK_BITS * lanes;
    assert_eq!(round_keys.len(), ROUND_KEYS * wires, "eleven round keys");
    round_keys[..wires].copy_from_slice(key);
    for round in 1..ROUND_KEYS {
        let (before, now) = round_keys.split_at_mut(round * wires);
        now[..wires].copy_from_slice(&before[(round - 1) * wires..]);
        advance_round_key(alg, &mut now[..wires], round, lanes, scratch);
    }
}

/// One step of the key schedule (FIPS 197 section 5.2) in place: 4 S-boxes.
fn advance_round_key<A: BitAlgebra>(
    alg: &mut A,
    round_key: &mut [A::Wire],
    round: usize,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let word_wires = 32 * lanes;
    let (substituted, rest) = take(scratch, word_wires);
    sub_bytes(alg, substituted, round_key, &ROTATED_WORD, lanes, rest);
    alg.xor_assign(&mut round_key[..word_wires], substituted);
    let (complement, _) = take(rest, lanes);
    for bit in 0..8 {
        if ROUND_CONSTANTS[round - 1] >> bit & 1 == 1 {
            let wires = &mut round_key[row(bit, lanes)];
            alg.not(complement, wires);
            wires.copy_from_slice(complement);
        }
    }
    for word in 1..4 {
        let (before, now) = round_key.split_at_mut(word * word_wires);
        alg.xor_assign(&mut now[..word_wires], &before[(word - 1) * word_wires..]);
    }
}

/// One round (FIPS 197 section 5.1) in place; the last has no MixColumns: 16 S-boxes.
fn encrypt_round<A: BitAlgebra>(
    alg: &mut A,
    state: &mut [A::Wire],
    round_key: &[A::Wire],
    round: usize,
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let (substituted, rest) = take(scratch, BLOCK_BITS * lanes);
    sub_bytes(alg, substituted, state, &SHIFTED_ROWS, lanes, rest);
    if round + 1 < ROUND_KEYS {
        mix_columns(alg, state, substituted, lanes, rest);
        alg.xor_assign(state, round_key);
    } else {
        alg.xor(state, substituted, round_key);
    }
}

/// MixColumns (FIPS 197 section 5.1.3): with `d = a[i] ^ a[i + 1]` in a column, byte `i` becomes
/// `a[i] ^ (a[0] ^ a[1] ^ a[2] ^ a[3]) ^ x d`.
fn mix_columns<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    state: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let byte = 8 * lanes;
    let (differences, rest) = take(scratch, 4 * byte);
    let (sum, _) = take(rest, byte);
    for (out, column) in out.chunks_exact_mut(4 * byte).zip(state.chunks_exact(4 * byte)) {
        alg.xor(&mut differences[..3 * byte], &column[..3 * byte], &column[byte..]);
        alg.xor(&mut differences[3 * byte..], &column[3 * byte..], &column[..byte]);
        alg.xor(sum, &differences[..byte], &differences[2 * byte..3 * byte]);
        let bytes = out.chunks_exact_mut(byte).zip(column.chunks_exact(byte));
        for ((out, a), d) in bytes.zip(differences.chunks_exact(byte)) {
            alg.xor(out, a, sum);
            // Times x: one place up, the top bit into the places of x^4 + x^3 + x + 1.
            alg.xor_assign(&mut out[lanes..], &d[..7 * lanes]);
            for bit in [0, 1, 3, 4] {
                alg.xor_assign(&mut out[row(bit, lanes)], &d[7 * lanes..]);
            }
        }
    }
}

/// Byte `k` of `out` = the S-box of byte `source[k]` of `input`: 32 ANDs per byte.
fn sub_bytes<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    input: &[A::Wire],
    source: &[u8],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    let chunk_lanes = lanes.min(PLANE_WIRES_MAX);
    let chunk_bytes = (PLANE_WIRES_MAX / chunk_lanes).min(source.len());
    for first in (0..lanes).step_by(chunk_lanes) {
        let count = chunk_lanes.min(lanes - first);
        for (chunk, source) in source.chunks(chunk_bytes).enumerate() {
            let mut planes = Planes::new(scratch, source.len() * count);
            let place = |byte: usize, bit: usize| {
                let start = (8 * byte + bit) * lanes + first;
                start..start + count
            };
            for bit in 0..8 {
                let plane = planes.input(bit).chunks_exact_mut(count);
                for (wires, &byte) in plane.zip(source) {
                    copy_row(wires, &input[place(usize::from(byte), bit)]);
                }
            }
            planes.substitute(alg);
            for bit in 0..8 {
                let plane = planes.output(bit).chunks_exact(count);
                for (k, wires) in plane.enumerate() {
                    copy_row(&mut out[place(chunk * chunk_bytes + k, bit)], wires);
                }
            }
        }
    }
}
