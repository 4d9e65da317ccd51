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

/// Splits every row of `source`, of `2 * lanes` lanes, as [`split_blocks`] does.
pub(super) fn split_rows(
    even: &mut [u8],
    odd: &mut [u8],
    source: &[u8],
    lanes: usize,
    block: usize,
) {
    let row = lanes.div_ceil(8);
    let is_short = block.is_power_of_two() && block <= 32;
    if is_short && lanes.is_multiple_of(32) {
        // Whole words: rows do not matter.
        let k = block.ilog2() as usize;
        let halves = even.chunks_exact_mut(4).zip(odd.chunks_exact_mut(4));
        for ((even, odd), word) in halves.zip(words(source)) {
            even.copy_from_slice(&(gather(word, k) as u32).to_le_bytes());
            odd.copy_from_slice(&(gather(word >> block, k) as u32).to_le_bytes());
        }
    } else if is_short && lanes == 16 && block <= 16 {
        // Two rows in a word.
        let k = block.ilog2() as usize;
        let halves = even.chunks_exact_mut(2).zip(odd.chunks_exact_mut(2));
        for ((even, odd), word) in halves.zip(source.chunks_exact(4)) {
            let word = u64::from(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
            even.copy_from_slice(&(gather(word, k) as u16).to_le_bytes());
            odd.copy_from_slice(&(gather(word >> block, k) as u16).to_le_bytes());
        }
    } else {
        even.fill(0);
        odd.fill(0);
        let both = even.chunks_exact_mut(row).zip(odd.chunks_exact_mut(row));
        for ((even, odd), source) in both.zip(source.chunks_exact((2 * lanes).div_ceil(8))) {
            split_blocks(even, odd, source, lanes, block);
        }
    }
}

/// Joins all rows of `even` and `odd`, of `lanes` lanes each, as [`join_blocks`] does.
pub(super) fn join_rows(target: &mut [u8], even: &[u8], odd: &[u8], lanes: usize, block: usize) {
    let row = lanes.div_ceil(8);
    let is_short = block.is_power_of_two() && block <= 32;
    if is_short && lanes.is_multiple_of(32) {
        let k = block.ilog2() as usize;
        let halves = even.chunks_exact(4).zip(odd.chunks_exact(4));
        for (target, (even, odd)) in target.chunks_exact_mut(8).zip(halves) {
            let half = |half: &[u8]| u32::from_le_bytes([half[0], half[1], half[2], half[3]]);
            let [even, odd] = [even, odd].map(|bytes| spread(half(bytes).into(), k));
            target.copy_from_slice(&(even | odd << block).to_le_bytes());
        }
    } else if is_short && lanes == 16 && block <= 16 {
        let k = block.ilog2() as usize;
        let halves = even.chunks_exact(2).zip(odd.chunks_exact(2));
        for (target, (even, odd)) in target.chunks_exact_mut(4).zip(halves) {
            let half = |half: &[u8]| u16::from_le_bytes([half[0], half[1]]);
            let [even, odd] = [even, odd].map(|bytes| spread(half(bytes).into(), k));
            target.copy_from_slice(&((even | odd << block) as u32).to_le_bytes());
        }
    } else {
        target.fill(0);
        let both = even.chunks_exact(row).zip(odd.chunks_exact(row));
        for (target, (even, odd)) in target.chunks_exact_mut((2 * lanes).div_ceil(8)).zip(both) {
            join_blocks(target, even, odd, lanes, block);
        }
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")))
}

/// Blocks of `block` bits of `source`, in turn to `even` and `odd`, of `lanes` bits each.
fn split_blocks(even: &mut [u8], odd: &mut [u8], source: &[u8], lanes: usize, block: usize) {
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
fn join_blocks(target: &mut [u8], even: &[u8], odd: &[u8], lanes: usize, block: usize) {
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
