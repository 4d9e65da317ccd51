//! Moving bits within rows: bit `j` of a row is bit `j % 8` of byte `j / 8`.
//!
//! Targets hold zeros where bits are written: writing is OR.

/// Bits that fit a word at any offset from a byte.
const STEP: usize = 56;

/// At most 64 - 7 bits from bit `start` on; the rest of the word is 0.
pub(super) fn read_bits(row: &[u8], start: usize, count: usize) -> u64 {
    debug_assert!(count > 0 && count <= STEP + 1);
    let mut bytes = [0; 8];
    let from = &row[start / 8..];
    let length = from.len().min(8);
    bytes[..length].copy_from_slice(&from[..length]);
    u64::from_le_bytes(bytes) >> (start % 8) & (u64::MAX >> (64 - count))
}

/// Writes the ones of `value`, of at most 64 - 7 bits, from bit `start` on.
pub(super) fn write_bits(row: &mut [u8], start: usize, value: u64) {
    let bytes = (value << (start % 8)).to_le_bytes();
    for (target, byte) in row[start / 8..].iter_mut().zip(bytes) {
        *target |= byte;
    }
}

/// Copies `count` bits of `source` from bit `from` on to bit `to` of `target`.
pub(super) fn copy_bits(target: &mut [u8], to: usize, source: &[u8], from: usize, count: usize) {
    let mut done = 0;
    if to.is_multiple_of(8) && from.is_multiple_of(8) {
        done = count / 8 * 8;
        target[to / 8..][..count / 8].copy_from_slice(&source[from / 8..][..count / 8]);
    }
    while done < count {
        let step = STEP.min(count - done);
        write_bits(target, to + done, read_bits(source, from + done, step));
        done += step;
    }
}

/// Copies the first `count` bits to bit `to`, which is not before bit `count`.
pub(super) fn copy_bits_within(row: &mut [u8], to: usize, count: usize) {
    debug_assert!(to >= count);
    let mut done = 0;
    if to.is_multiple_of(8) {
        done = count / 8 * 8;
        row.copy_within(..count / 8, to / 8);
    }
    while done < count {
        let step = STEP.min(count - done);
        let bits = read_bits(row, done, step);
        write_bits(row, to + done, bits);
        done += step;
    }
}

/// Sets `count` bits from bit `start` on if `value` is 0xff, none if it is 0; without a branch.
pub(super) fn fill_bits(row: &mut [u8], start: usize, count: usize, value: u8) {
    let mut done = 0;
    while done < count {
        let place = start + done;
        if place.is_multiple_of(8) && count - done >= 8 {
            let bytes = (count - done) / 8;
            row[place / 8..][..bytes].fill(value);
            done += 8 * bytes;
        } else {
            let step = (8 - place % 8).min(count - done);
            row[place / 8] |= (value >> (8 - step)) << (place % 8);
            done += step;
        }
    }
}

/// The lower half of each pair of blocks of `1 << k` bits.
const LOWER: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

/// Moves the even blocks of `1 << k` bits together to the low 32 bits (Warren, "Hacker's Delight",
/// section 7-2: one half of an unshuffle).
fn gather(word: u64, k: usize) -> u64 {
    (k..5).fold(word & LOWER[k], |word, k| (word | word >> (1 << k)) & LOWER[k + 1])
}

/// The inverse of [`gather`].
fn spread(word: u64, k: usize) -> u64 {
    (k..5).rev().fold(word, |word, k| (word | word << (1 << k)) & LOWER[k])
}

/// Blocks of `block` bits of `source`, in turn to `even` and `odd`, of `lanes` bits each.
pub(super) fn split_blocks(
    even: &mut [u8],
    odd: &mut [u8],
    source: &[u8],
    lanes: usize,
    block: usize,
) {
    if !block.is_power_of_two() || block > 4 {
        for start in (0..lanes).step_by(block) {
            copy_bits(even, start, source, 2 * start, block);
            copy_bits(odd, start, source, 2 * start + block, block);
        }
        return;
    }
    let k = block.ilog2() as usize;
    // 24 lanes at a time: 48 bits of the source, and whole blocks of any of these sizes.
    for start in (0..lanes).step_by(24) {
        let count = 24.min(lanes - start);
        let word = read_bits(source, 2 * start, 2 * count);
        write_bits(even, start, gather(word, k));
        write_bits(odd, start, gather(word >> block, k));
    }
}

/// Blocks of `block` bits in turn from `even` and `odd`, which have `lanes` bits each.
pub(super) fn join_blocks(target: &mut [u8], even: &[u8], odd: &[u8], lanes: usize, block: usize) {
    if !block.is_power_of_two() || block > 4 {
        for start in (0..lanes).step_by(block) {
            copy_bits(target, 2 * start, even, start, block);
            copy_bits(target, 2 * start + block, odd, start, block);
        }
        return;
    }
    let k = block.ilog2() as usize;
    for start in (0..lanes).step_by(24) {
        let count = 24.min(lanes - start);
        let [even, odd] = [even, odd].map(|row| spread(read_bits(row, start, count), k));
        write_bits(target, 2 * start, even | odd << block);
    }
}
