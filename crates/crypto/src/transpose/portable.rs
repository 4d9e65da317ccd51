//! Transposition in plain Rust, 8 x 8 bits at a time within 64-bit words.

use super::{ROWS, TILE_ROW_BYTES};
use crate::Block;
use zerocopy::IntoBytes;

/// Transposes a square tile; the lengths were checked by the caller.
pub(super) fn transpose_tile(rows: &[u8], row_bytes: usize, out: &mut [Block; ROWS]) {
    let out = out.as_mut_bytes();
    for group in 0..ROWS / 8 {
        let rows = &rows[8 * group * row_bytes..];
        for byte in 0..TILE_ROW_BYTES {
            let word = u64::from_le_bytes(std::array::from_fn(|row| rows[row * row_bytes + byte]));
            for (column, bits) in transpose_8x8(word).to_le_bytes().into_iter().enumerate() {
                out[(8 * byte + column) * size_of::<Block>() + group] = bits;
            }
        }
    }
}

/// Swaps bit `8 * i + j` with bit `8 * j + i`, by swapping blocks of 1, 2 and 4 bits
/// (Warren, "Hacker's Delight", section 7-3).
fn transpose_8x8(mut word: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let swapped = (word ^ (word >> shift)) & mask;
        word ^= swapped ^ (swapped << shift);
    }
    word
}
