//! Half gates on the `aes` crate: the form that every other kernel is tested against.

use super::{AndIndex, Delta, GarbledGate};
use crate::Block;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use zerocopy::{FromBytes, IntoBytes};

/// Garbles; lengths and indices were checked by the caller. Names follow the paper's Figure 2.
pub(super) fn garble(
    start: Block,
    delta: &Delta,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    out: &mut [Block],
    rows: &mut [u8],
) {
    let gates = a.iter().zip(b.iter().cycle()).zip(out).zip(rows.chunks_exact_mut(32));
    for (gate, (((&a0, &b0), out), row)) in gates.enumerate() {
        let (garbler_tweak, evaluator_tweak) = first_index.advance(gate).tweaks();
        let [ha0, ha1] = hash(start, garbler_tweak, [a0, a0 ^ delta.block()]);
        let [hb0, hb1] = hash(start, evaluator_tweak, [b0, b0 ^ delta.block()]);
        let (pa, pb) = (a0.select_bit(), b0.select_bit());

        let garbler_half = ha0 ^ ha1 ^ delta.block().and_bit(pb);
        let evaluator_half = hb0 ^ hb1 ^ a0;

        let wg0 = ha0 ^ garbler_half.and_bit(pa);
        let we0 = hb0 ^ (evaluator_half ^ a0).and_bit(pb);
        *out = wg0 ^ we0;
        row.copy_from_slice(GarbledGate { garbler_half, evaluator_half }.as_bytes());
    }
}

/// Evaluates; lengths and indices were checked by the caller. Names follow the paper's Figure 2.
pub(super) fn evaluate(
    start: Block,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    out: &mut [Block],
    rows: &[u8],
) {
    let gates = a.iter().zip(b.iter().cycle()).zip(out).zip(rows.chunks_exact(32));
    for (gate, (((&a, &b), out), row)) in gates.enumerate() {
        let (garbler_tweak, evaluator_tweak) = first_index.advance(gate).tweaks();
        let row = GarbledGate::read_from_bytes(row).expect("chunks are of the row's size");
        let [ha] = hash(start, garbler_tweak, [a]);
        let [hb] = hash(start, evaluator_tweak, [b]);

        let wg = ha ^ row.garbler_half.and_bit(a.select_bit());
        let we = hb ^ (row.evaluator_half ^ a).and_bit(b.select_bit());
        *out = wg ^ we;
    }
}

/// The hashes of that many gates and nothing else; see [`super::hashes_alone`].
pub(super) fn hashes_alone(start: Block, garbling: bool, gates: usize) -> Block {
    let mut sum = start;
    for tweak in 0..2 * gates as u64 {
        if garbling {
            let [first, second] = hash(start, tweak, [start; 2]);
            sum = sum ^ first ^ second;
        } else {
            sum ^= hash(start, tweak, [start])[0];
        }
    }
    sum
}

/// `H(x, tweak) = E(start ^ tweak, s(x)) ^ s(x)` of several labels under one tweak.
fn hash<const N: usize>(start: Block, tweak: u64, labels: [Block; N]) -> [Block; N] {
    let key = start ^ Block::from_bits(u128::from(tweak));
    let aes = Aes128::new(&key.to_bits().to_le_bytes().into());
    labels.map(|label| {
        let input = sigma(label);
        let mut state = input.to_bits().to_le_bytes().into();
        aes.encrypt_block(&mut state);
        input ^ Block::from_bits(u128::from_le_bytes(state.into()))
    })
}

/// The linear orthomorphism `s(l || r) = (l ^ r) || l`.
fn sigma(label: Block) -> Block {
    let bits = label.to_bits();
    let (high, low) = (bits >> 64, bits & u128::from(u64::MAX));
    Block::from_bits(((high ^ low) << 64) | high)
}
