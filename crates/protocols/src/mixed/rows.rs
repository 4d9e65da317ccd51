//! Rows of XOR shares: between packed values in memory, and words that circuits run on.

use phineus_bytecode::Instruction;
use phineus_bytecode::layout::share_bytes;
use phineus_circuits::record::{And, LocalGate};
use phineus_crypto::SecretBit;
use phineus_engine::packed;

use super::flight::CircuitFlight;
use crate::shares::words::{get, last_mask, put, words};

/// Makes each bit of packed rows of `from_lanes` bits a row of its own, of `lanes` equal bits.
pub(super) fn load_repeated(rows: &mut [u64], bytes: &[u8], from_lanes: usize, lanes: usize) {
    let (n, last) = (words(lanes), last_mask(lanes));
    let values = rows.chunks_exact_mut(from_lanes * n);
    for (rows, bytes) in values.zip(bytes.chunks_exact(from_lanes.div_ceil(8))) {
        for (j, row) in rows.chunks_exact_mut(n).enumerate() {
            row.fill(SecretBit::lowest(u64::from(bytes[j / 8] >> (j % 8))).mask());
            row[n - 1] &= last;
        }
    }
}

/// Runs gates without communication on rows of `lanes` bits. Only the `first` party complements
/// and has constants, since the XOR of all shares is the value.
pub(super) fn run(rows: &mut [u64], gates: &[LocalGate], lanes: usize, first: bool) {
    let n = words(lanes);
    let last = last_mask(lanes);
    for &gate in gates {
        match gate {
            LocalGate::Xor { out, a, b } if n == 1 => {
                rows[out as usize] = rows[a as usize] ^ rows[b as usize];
            }
            LocalGate::Xor { out, a, b } => {
                let (out, a, b) = (out as usize * n, a as usize * n, b as usize * n);
                for k in 0..n {
                    rows[out + k] = rows[a + k] ^ rows[b + k];
                }
            }
            LocalGate::Not { out, a } => {
                let (out, a) = (out as usize * n, a as usize * n);
                let flip = if first { u64::MAX } else { 0 };
                for k in 0..n {
                    rows[out + k] = rows[a + k] ^ flip;
                }
                rows[out + n - 1] &= last;
            }
            LocalGate::Constant { out, value } => {
                let row = &mut rows[out as usize * n..][..n];
                row.fill(if first && value { u64::MAX } else { 0 });
                row[n - 1] &= last;
            }
        }
    }
}

/// Packs one operand of each of `ands` next to each other.
pub(super) fn gather(
    packed: &mut [u64],
    rows: &[u64],
    ands: &[And],
    lanes: usize,
    operand: impl Fn(&And) -> u32,
) {
    let n = words(lanes);
    packed.fill(0);
    if lanes == 1 {
        for (k, and) in ands.iter().enumerate() {
            packed[k / 64] |= rows[operand(and) as usize] << (k % 64);
        }
        return;
    }
    for (k, and) in ands.iter().enumerate() {
        put(packed, k * lanes, &rows[operand(and) as usize * n..][..n], lanes);
    }
}

/// The inverse of [`gather`], for the results.
pub(super) fn scatter(rows: &mut [u64], packed: &[u64], ands: &[And], lanes: usize) {
    let n = words(lanes);
    if lanes == 1 {
        for (k, and) in ands.iter().enumerate() {
            rows[and.out as usize] = packed[k / 64] >> (k % 64) & 1;
        }
        return;
    }
    for (k, and) in ands.iter().enumerate() {
        get(packed, k * lanes, &mut rows[and.out as usize * n..][..n], lanes);
    }
}

/// Writes the results of a circuit that is done.
pub(super) fn write_circuit(
    instruction: &Instruction,
    circuit: &CircuitFlight,
    results: &mut [&mut [u8]],
) {
    let n = words(circuit.lanes);
    let mut outputs = circuit.template.outputs.iter();
    for (k, bytes) in results.iter_mut().enumerate() {
        let shape = instruction.result_shape(k);
        let lanes = shape.lanes as usize;
        let row_bytes = lanes.div_ceil(8);
        bytes.fill(0);
        for row in bytes[..share_bytes(shape)].chunks_exact_mut(row_bytes) {
            if circuit.lanes == lanes {
                let slot = *outputs.next().expect("a template has all outputs") as usize;
                packed::words_to_rows(row, &circuit.rows[slot * n..(slot + 1) * n], lanes);
                continue;
            }
            for j in 0..lanes {
                let slot = *outputs.next().expect("a template has all outputs") as usize;
                row[j / 8] |= (circuit.rows[slot] as u8 & 1) << (j % 8);
            }
        }
    }
}
