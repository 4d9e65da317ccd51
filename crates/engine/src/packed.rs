//! Local operations on packed rows, as protocols on XOR shares hold their values.
//!
//! A value of `w` bits and `n` lanes is `w` rows of `ceil(n / 8)` bytes, lowest bit first; bit `j`
//! of a row, that is bit `j % 8` of byte `j / 8`, is lane `j`. The padding after the last lane is
//! always 0, and every function here relies on it and keeps it.
//!
//! These operations are linear, so each party applies them to its share alone. Only one party adds
//! constants: `adds_constants` says whether this one does.
//!
//! Time and places depend on shapes only, never on the bits, which are secret.
//!
//! Cost: rows move by bytes where lanes do by eights, else by 56 bits at a time, blocks of 1, 2 and
//! 4 lanes by shuffles of words. Nothing is allocated.

use phineus_bytecode::{Instruction, Op};

mod bits;

use bits::{copy_bits, copy_bits_within, fill_bits, join_rows, read_bits, split_rows, write_bits};

/// Bytes of a row.
pub fn row_bytes(lanes: usize) -> usize {
    lanes.div_ceil(8)
}

/// 64-bit words of a row.
pub fn row_words(lanes: usize) -> usize {
    lanes.div_ceil(64)
}

/// The bits of a row's last byte that are lanes.
fn last_mask(lanes: usize) -> u8 {
    0xff >> (8 * row_bytes(lanes) - lanes)
}

/// Executes an instruction that needs no other party; `false`, and nothing done, if it does.
///
/// `results` and `operands` are rows. All operations on lanes and bit positions are local, XOR,
/// complement and constants are, and sums modulo 2: parity and `lane_xor`.
///
/// # Panics
/// If a slice has not the size of its shape.
pub fn execute(
    instruction: &Instruction,
    results: &mut [&mut [u8]],
    operands: &[&[u8]],
    adds_constants: bool,
) -> bool {
    let Some((out, more)) = results.split_first_mut() else {
        return false;
    };
    let n = instruction.lanes as usize;
    let a = operands.first().copied().unwrap_or_default();
    let b = operands.get(1).copied().unwrap_or_default();
    match instruction.op {
        Op::Constant => constant(out, &instruction.immediates, n, adds_constants),
        Op::Xor => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a ^ b),
        Op::Not => not(out, a, n, adds_constants),
        Op::Abs if !instruction.element.is_signed() => out.copy_from_slice(a),
        Op::Parity => {
            out.fill(0);
            a.chunks_exact(row_bytes(n)).for_each(|row| xor_assign(out, row));
        }
        Op::LaneXor => {
            let rows = a.chunks_exact(row_bytes(instruction.immediates[0] as usize));
            for (out, row) in out.iter_mut().zip(rows) {
                *out = (row.iter().fold(0, |sum, byte| sum ^ byte).count_ones() % 2) as u8;
            }
        }
        op if (60..90).contains(&(op as u8)) => return move_bits(instruction, out, a, b),
        op if (90..110).contains(&(op as u8)) => {
            return move_lanes(instruction, out, more, a, b);
        }
        _ => return false,
    }
    true
}

/// Whether [`execute`] does this instruction.
pub fn is_local(instruction: &Instruction) -> bool {
    match instruction.op {
        Op::Constant | Op::Xor | Op::Not | Op::Parity | Op::LaneXor => true,
        Op::ShiftLeft | Op::ShiftRight | Op::RotateLeft => true,
        Op::Cast | Op::BitSlice | Op::BitConcat | Op::Reshape | Op::ReversePieces => true,
        Op::LaneSlice | Op::LaneConcat | Op::LaneReverse | Op::LaneTile | Op::LaneRepeat => true,
        Op::LaneDeinterleave | Op::LaneInterleave => true,
        Op::Abs => !instruction.element.is_signed(),
        _ => false,
    }
}

/// Makes the padding of rows 0.
pub fn clear_padding(rows: &mut [u8], lanes: usize) {
    for row in rows.chunks_exact_mut(row_bytes(lanes)) {
        if let Some(last) = row.last_mut() {
            *last &= last_mask(lanes);
        }
    }
}

/// `out ^= a`
pub fn xor_assign(out: &mut [u8], a: &[u8]) {
    assert_eq!(out.len(), a.len(), "lengths agree");
    out.iter_mut().zip(a).for_each(|(out, a)| *out ^= a);
}

fn constant(out: &mut [u8], limbs: &[u64; 4], lanes: usize, adds_constants: bool) {
    for (bit, row) in out.chunks_exact_mut(row_bytes(lanes)).enumerate() {
        let is_one = adds_constants && limbs[bit / 64] >> (bit % 64) & 1 == 1;
        fill_row(row, lanes, is_one);
    }
}

fn fill_row(row: &mut [u8], lanes: usize, value: bool) {
    row.fill(if value { 0xff } else { 0 });
    if let Some(last) = row.last_mut() {
        *last &= last_mask(lanes);
    }
}

fn not(out: &mut [u8], a: &[u8], lanes: usize, adds_constants: bool) {
    out.copy_from_slice(a);
    if !adds_constants {
        return;
    }
    for row in out.chunks_exact_mut(row_bytes(lanes)) {
        row.iter_mut().for_each(|byte| *byte = !*byte);
        if let Some(last) = row.last_mut() {
            *last &= last_mask(lanes);
        }
    }
}

/// Operations that move or repeat whole rows, and `reshape`.
fn move_bits(instruction: &Instruction, out: &mut [u8], a: &[u8], b: &[u8]) -> bool {
    let row = row_bytes(instruction.lanes as usize);
    let width = usize::from(instruction.element.width());
    let signed = instruction.element.is_signed();
    let [first, second, ..] = instruction.immediates;
    let moved = first.min(width as u64) as usize * row;
    match instruction.op {
        Op::ShiftLeft => {
            out[..moved].fill(0);
            out[moved..].copy_from_slice(&a[..a.len() - moved]);
        }
        Op::ShiftRight => extend(out, &a[moved..], &a[a.len() - row..], signed),
        Op::RotateLeft => {
            let moved = (first % width as u64) as usize * row;
            out[..moved].copy_from_slice(&a[a.len() - moved..]);
            out[moved..].copy_from_slice(&a[..a.len() - moved]);
        }
        Op::Cast => extend(out, &a[..a.len().min(out.len())], &a[a.len() - row..], second == 1),
        Op::BitSlice => out.copy_from_slice(&a[first as usize * row..][..width * row]),
        Op::BitConcat => {
            out[..a.len()].copy_from_slice(a);
            out[a.len()..].copy_from_slice(b);
        }
        Op::ReversePieces => reverse_pieces(out, a, first as usize * row),
        Op::Reshape => {
            let lanes = instruction.lanes as usize;
            reshape(out, a, lanes, lanes * width / first as usize);
        }
        _ => return false,
    }
    true
}

/// The pieces of `a` of so many bytes or wires in reverse order.
pub(crate) fn reverse_pieces<T: Copy>(out: &mut [T], a: &[T], piece: usize) {
    let pieces = a.chunks_exact(piece).rev();
    out.chunks_exact_mut(piece).zip(pieces).for_each(|(out, piece)| out.copy_from_slice(piece));
}

/// `a`, then rows of `sign` if `signed`, else zeros.
fn extend(out: &mut [u8], a: &[u8], sign: &[u8], signed: bool) {
    let (low, high) = out.split_at_mut(a.len());
    low.copy_from_slice(a);
    if signed {
        high.chunks_exact_mut(sign.len()).for_each(|row| row.copy_from_slice(sign));
    } else {
        high.fill(0);
    }
}

/// Regroups the wires into rows of another length, in the same order.
fn reshape(out: &mut [u8], a: &[u8], lanes: usize, from_lanes: usize) {
    if lanes.is_multiple_of(8) && from_lanes.is_multiple_of(8) || lanes == from_lanes {
        return out.copy_from_slice(a);
    }
    out.fill(0);
    let mut rows = a.chunks_exact(row_bytes(from_lanes));
    let (mut source, mut taken) = (rows.next().unwrap_or_default(), 0);
    for target in out.chunks_exact_mut(row_bytes(lanes)) {
        let mut filled = 0;
        while filled < lanes {
            if taken == from_lanes {
                (source, taken) = (rows.next().expect("as many wires as before"), 0);
            }
            let count = (lanes - filled).min(from_lanes - taken);
            copy_bits(target, filled, source, taken, count);
            filled += count;
            taken += count;
        }
    }
}

/// Operations that do the same to every row.
fn move_lanes(
    instruction: &Instruction,
    out: &mut [u8],
    more: &mut [&mut [u8]],
    a: &[u8],
    b: &[u8],
) -> bool {
    let n = instruction.lanes as usize;
    let [first, second, ..] = instruction.immediates.map(|word| word as usize);
    match instruction.op {
        Op::LaneDeinterleave => {
            split_rows(out, &mut *more[0], a, n, first);
            return true;
        }
        Op::LaneInterleave => {
            join_rows(out, a, b, n / 2, first);
            return true;
        }
        _ => out.fill(0),
    }
    let targets = out.chunks_exact_mut(row_bytes(n));
    match instruction.op {
        Op::LaneSlice => {
            for (out, a) in targets.zip(a.chunks_exact(row_bytes(second))) {
                copy_bits(out, 0, a, first, n);
            }
        }
        Op::LaneConcat => {
            let operands =
                a.chunks_exact(row_bytes(first)).zip(b.chunks_exact(row_bytes(n - first)));
            for (out, (a, b)) in targets.zip(operands) {
                copy_bits(out, 0, a, 0, first);
                copy_bits(out, first, b, 0, n - first);
            }
        }
        Op::LaneReverse => {
            targets.zip(a.chunks_exact(row_bytes(n))).for_each(|(out, a)| reverse(out, a, n));
        }
        Op::LaneTile => {
            for (out, a) in targets.zip(a.chunks_exact(row_bytes(first))) {
                tile(out, a, n, first);
            }
        }
        Op::LaneRepeat => {
            for (out, a) in targets.zip(a.chunks_exact(row_bytes(first))) {
                let each = n / first;
                for lane in 0..first {
                    let bit = a[lane / 8] >> (lane % 8) & 1;
                    fill_bits(out, lane * each, each, bit.wrapping_neg());
                }
            }
        }
        _ => return false,
    }
    true
}

/// The lanes in reverse order.
fn reverse(out: &mut [u8], a: &[u8], lanes: usize) {
    const STEP: usize = 56;
    for start in (0..lanes).step_by(STEP) {
        let count = STEP.min(lanes - start);
        let reversed = read_bits(a, start, count).reverse_bits() >> (64 - count);
        write_bits(out, lanes - start - count, reversed);
    }
}

/// The `from` lanes of `a` over and over, by doubling.
fn tile(out: &mut [u8], a: &[u8], lanes: usize, from: usize) {
    copy_bits(out, 0, a, 0, from);
    let mut filled = from;
    while filled < lanes {
        let count = filled.min(lanes - filled);
        copy_bits_within(out, filled, count);
        filled += count;
    }
}

/// Rows of bytes as rows of words.
///
/// # Panics
/// If `words` has not the size of the rows.
pub fn rows_to_words(words: &mut [u64], rows: &[u8], lanes: usize) {
    let (bytes, per_row) = (row_bytes(lanes), row_words(lanes));
    assert_eq!(rows.len() / bytes, words.len() / per_row, "as many rows");
    for (words, row) in words.chunks_exact_mut(per_row).zip(rows.chunks_exact(bytes)) {
        for (word, bytes) in words.iter_mut().zip(row.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded);
        }
    }
}

/// The inverse of [`rows_to_words`]; bits beyond the last lane are dropped.
///
/// # Panics
/// If `words` has not the size of the rows.
pub fn words_to_rows(rows: &mut [u8], words: &[u64], lanes: usize) {
    let (bytes, per_row) = (row_bytes(lanes), row_words(lanes));
    assert_eq!(rows.len() / bytes, words.len() / per_row, "as many rows");
    for (row, words) in rows.chunks_exact_mut(bytes).zip(words.chunks_exact(per_row)) {
        for (bytes, word) in row.chunks_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        if let Some(last) = row.last_mut() {
            *last &= last_mask(lanes);
        }
    }
}

#[cfg(test)]
mod tests;
