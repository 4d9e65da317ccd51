//! Transposition in plain Rust, 8 x 8 bits at a time within 64-bit words.

use super::ROWS;
use crate::Block;
use zerocopy::IntoBytes;

/// Transposes; the lengths were checked by the caller.
pub(super) fn transpose(rows: &[u8], row_bytes: usize, out: &mut [Block]) {
    for (byte_index, columns) in out.chunks_exact_mut(8).enumerate() {
        let columns = columns.as_mut_bytes();
        for group in 0..ROWS / 8 {
            let word = u64::from_le_bytes(std::array::from_fn(|row| {
                rows[(8 * group + row) * row_bytes + byte_index]
            }));
            for (column, byte) in transpose_8x8(word).to_le_bytes().into_iter().enumerate() {
                columns[column * size_of::<Block>() + group] = byte;
            }
        }
    }
}

/// Swaps bit `8 * i + j` with bit `8 * j + i`, by swapping blocks of 1, 2 and 4 bits
/// (Warren, "Hacker's Delight", section 7-3).
fn transpose_8x8(mut word: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00AA_00AA_00AA_00AA),
        (14, 0x0000_CCCC_0000_CCCC),
        (28, 0x0000_0000_F0F0_F0F0),
    ] {
        let swapped = (word ^ (word >> shift)) & mask;
        word ^= swapped ^ (swapped << shift);
    }
    word
}
