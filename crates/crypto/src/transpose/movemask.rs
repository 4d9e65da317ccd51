//! Transposition with SSE2 or AVX2: bytes are transposed by unpacking, then PMOVMSKB takes one
//! bit of each.
//!
//! A lane holds the bytes of sixteen rows in one column of bytes; the move-mask of it is the
//! sixteen bits of one column, the highest first, and doubling every byte brings up the next.

/// Defines `transpose_tile` for vectors of `$lanes` lanes of sixteen rows.
macro_rules! movemask_kernel {
    ($features:literal, $vector:ty, $lanes:literal, $bits:ty, $load:item,
     $unpack_low:ident, $unpack_high:ident, $add:ident, $movemask:ident) => {
        use super::super::{ROWS, TILE_ROW_BYTES};
        use crate::Block;
        use std::arch::x86_64::*;
        use zerocopy::IntoBytes;

        /// Rows that one vector covers.
        const GROUP_ROWS: usize = 16 * $lanes;

        $load

        /// Transposes a square tile; the lengths were checked by the caller.
        #[target_feature(enable = $features)]
        pub(in crate::transpose) fn transpose_tile(
            rows: &[u8],
            row_bytes: usize,
            out: &mut [Block; ROWS],
        ) {
            crate::public([rows.len(), row_bytes]);
            let out = out.as_mut_bytes();
            for group in 0..ROWS / GROUP_ROWS {
                let rows = &rows[group * GROUP_ROWS * row_bytes..];
                let vectors: [$vector; 16] = std::array::from_fn(|row| load(rows, row_bytes, row));
                let columns = transpose_bytes(vectors);
                for (byte, mut bits) in columns.into_iter().enumerate() {
                    for bit in (0..8).rev() {
                        let mask = $movemask(bits) as $bits;
                        let at = (8 * byte + bit) * size_of::<Block>() + group * 2 * $lanes;
                        out[at..at + 2 * $lanes].copy_from_slice(&mask.to_le_bytes());
                        bits = $add(bits, bits);
                    }
                }
            }
        }

        /// Transposes 16 x 16 bytes in each lane: four rounds that interleave the first half of
        /// the vectors with the second, after which vector `i` holds byte `i` of each.
        #[inline]
        #[target_feature(enable = $features)]
        fn transpose_bytes(mut vectors: [$vector; 16]) -> [$vector; 16] {
            for _ in 0..4 {
                let previous = vectors;
                for i in 0..8 {
                    vectors[2 * i] = $unpack_low(previous[i], previous[i + 8]);
                    vectors[2 * i + 1] = $unpack_high(previous[i], previous[i + 8]);
                }
            }
            vectors
        }

        /// Sixteen bytes of row `row`.
        #[inline]
        #[target_feature(enable = $features)]
        fn load_row(rows: &[u8], row_bytes: usize, row: usize) -> __m128i {
            let bytes: &[u8; TILE_ROW_BYTES] = rows[row * row_bytes..]
                .first_chunk()
                .expect("the caller checked that every row has the tile's bytes");
            // SAFETY: the array reference is valid for reading 16 bytes; no alignment is needed.
            unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
        }
    };
}

/// Sixteen rows at a time.
pub(super) mod sse2 {
    movemask_kernel!(
        "sse2",
        __m128i,
        1,
        u16,
        /// Row `row`.
        #[inline]
        #[target_feature(enable = "sse2")]
        fn load(rows: &[u8], row_bytes: usize, row: usize) -> __m128i {
            load_row(rows, row_bytes, row)
        },
        _mm_unpacklo_epi8,
        _mm_unpackhi_epi8,
        _mm_add_epi8,
        _mm_movemask_epi8
    );
}

/// Thirty-two rows at a time.
pub(super) mod avx2 {
    movemask_kernel!(
        "avx2",
        __m256i,
        2,
        u32,
        /// Row `row` in the low lane and row `row + 16` in the high one.
        #[inline]
        #[target_feature(enable = "avx2")]
        fn load(rows: &[u8], row_bytes: usize, row: usize) -> __m256i {
            let low = load_row(rows, row_bytes, row);
            let high = load_row(rows, row_bytes, row + 16);
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        },
        _mm256_unpacklo_epi8,
        _mm256_unpackhi_epi8,
        _mm256_add_epi8,
        _mm256_movemask_epi8
    );
}
