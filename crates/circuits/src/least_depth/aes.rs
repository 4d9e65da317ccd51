//! AES-128 (FIPS 197) with an S-box of AND depth 4: depth 40 for ten rounds.
//!
//! The S-box is the shallow one of `sbox`: 34 ANDs. The key schedule runs beside the rounds and is
//! never behind them. ANDs: 160 S-boxes = 5,440 to encrypt, 40 = 1,360 for the key schedule.

use crate::aes::{BYTES, ROTATED_WORD, ROUND_CONSTANTS, ROUND_KEYS, SHIFTED_ROWS};
use crate::record::{Recorder, Wire};
use crate::sbox::{PLANES, Planes};

/// The encryption of `block` under `key`.
pub fn aes128(r: &mut Recorder, key: &[Wire], block: &[Wire]) -> Vec<Wire> {
    let keys = key_schedule(r, key);
    encrypt_with_round_keys(r, &keys, block)
}

/// The eleven round keys of `key`.
pub fn key_schedule(r: &mut Recorder, key: &[Wire]) -> Vec<Vec<Wire>> {
    let mut keys = vec![key.to_vec()];
    for round_constant in ROUND_CONSTANTS {
        let last = keys.last().expect("there is a key").clone();
        // FIPS 197, section 5.2; bytes are numbered along the key.
        let mut word = ROTATED_WORD.map(|byte| sub_byte(r, byte_of(&last, byte)));
        for (bit, wire) in word[0].iter_mut().enumerate() {
            *wire = if round_constant >> bit & 1 == 1 { !*wire } else { *wire };
        }
        let mut next = Vec::with_capacity(last.len());
        for (i, &wire) in last.iter().enumerate() {
            let left = if i < 32 { word[i / 8][i % 8] } else { next[i - 32] };
            next.push(r.xor2(wire, left));
        }
        keys.push(next);
    }
    keys
}

/// The encryption of `block` under eleven round keys (FIPS 197, section 5.1).
pub fn encrypt_with_round_keys(r: &mut Recorder, keys: &[Vec<Wire>], block: &[Wire]) -> Vec<Wire> {
    assert_eq!(keys.len(), ROUND_KEYS, "eleven round keys");
    let mut state = xor(r, block, &keys[0]);
    for (round, key) in keys.iter().enumerate().skip(1) {
        let bytes = SHIFTED_ROWS.map(|byte| sub_byte(r, byte_of(&state, byte)));
        let mixed = if round + 1 < ROUND_KEYS { mix_columns(r, &bytes) } else { bytes };
        state = xor(r, &mixed.concat(), key);
    }
    state
}

fn xor(r: &mut Recorder, a: &[Wire], b: &[Wire]) -> Vec<Wire> {
    a.iter().zip(b).map(|(&a, &b)| r.xor2(a, b)).collect()
}

fn byte_of(value: &[Wire], byte: u8) -> &[Wire] {
    &value[8 * usize::from(byte)..][..8]
}

fn sub_byte(r: &mut Recorder, byte: &[Wire]) -> [Wire; 8] {
    let mut wires = [Wire::ZERO; PLANES];
    let mut planes = Planes::new(&mut wires, 1);
    for (bit, &wire) in byte.iter().enumerate() {
        planes.input(bit)[0] = wire;
    }
    planes.substitute_shallow(r);
    std::array::from_fn(|bit| planes.output(bit)[0])
}

/// MixColumns (FIPS 197, section 5.1.3): byte `i` of a column becomes
/// `a[i] ^ (a[0] ^ a[1] ^ a[2] ^ a[3]) ^ x (a[i] ^ a[i + 1])`.
fn mix_columns(r: &mut Recorder, bytes: &[[Wire; 8]; BYTES]) -> [[Wire; 8]; BYTES] {
    let mut add = |a: [Wire; 8], b: [Wire; 8]| -> [Wire; 8] {
        std::array::from_fn(|bit| r.xor2(a[bit], b[bit]))
    };
    let mut out = *bytes;
    for (out, column) in out.chunks_exact_mut(4).zip(bytes.chunks_exact(4)) {
        let pairs = [add(column[0], column[1]), add(column[2], column[3])];
        let sum = add(pairs[0], pairs[1]);
        for i in 0..4 {
            let difference = add(column[i], column[(i + 1) % 4]);
            // x^8 = x^4 + x^3 + x + 1
            let top = difference[7];
            let mut product: [Wire; 8] =
                std::array::from_fn(|bit| if bit == 0 { top } else { difference[bit - 1] });
            let reduction = [1, 3, 4].map(|bit| (bit, top));
            let mut correction = [Wire::ZERO; 8];
            reduction.into_iter().for_each(|(bit, wire)| correction[bit] = wire);
            product = add(product, correction);
            let rest = add(column[i], sum);
            out[i] = add(rest, product);
        }
    }
    out
}
