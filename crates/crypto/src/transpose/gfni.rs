//! Transposition with AVX-512 and GFNI, in three steps on a square tile.
//!
//! 1. For every group of 8 rows, one two-source byte permutation per 8 columns of bytes makes
//!    words of 8 bytes: one column of bytes, one byte from each row.
//! 2. GF2P8AFFINEQB transposes each word: it multiplies a constant by a matrix, here the identity
//!    by the word, which gives the word's columns (and wants the rows in reverse).
//! 3. Byte `g` of an output block comes from group `g`: four rounds of unpacking transpose the
//!    16 groups, after a byte permutation that makes consecutive blocks come out side by side.

use super::{ROWS, TILE_ROW_BYTES};
use crate::Block;
use std::arch::x86_64::*;

const GROUPS: usize = ROWS / 8;

/// For step 1: byte `8 * word + 7 - row` comes from row `row` of the group, column of bytes
/// `word` (or `word + 8`); rows 0 to 3 are the lanes of the first source, 4 to 7 of the second.
const fn word_order(first_column: usize) -> [u8; 64] {
    let mut order = [0; 64];
    let mut i = 0;
    while i < 64 {
        let (word, row) = (i / 8, 7 - i % 8);
        order[i] = (16 * row + first_column + word) as u8;
        i += 1;
    }
    order
}

/// For step 3: byte `i` of lane `lane` comes from column `4 * i + lane`, so that vector `i` of the
/// transposed ones holds columns `4 * i..4 * i + 4`.
const fn column_order() -> [u8; 64] {
    let mut order = [0; 64];
    let mut i = 0;
    while i < 64 {
        order[i] = (4 * (i % 16) + i / 16) as u8;
        i += 1;
    }
    order
}

static WORD_ORDER: [[u8; 64]; 2] = [word_order(0), word_order(8)];
static COLUMN_ORDER: [u8; 64] = column_order();

/// The 8 x 8 identity as the byte operand of GF2P8AFFINEQB: byte `i` is bit `i`.
const IDENTITY: i64 = 0x8040_2010_0804_0201_u64 as i64;

/// Transposes a square tile; the lengths were checked by the caller.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(super) fn transpose_tile(rows: &[u8], row_bytes: usize, out: &mut [Block; ROWS]) {
    crate::public([rows.len(), row_bytes]);
    let orders = [load(&WORD_ORDER[0]), load(&WORD_ORDER[1])];
    let column_order = load(&COLUMN_ORDER);
    let identity = _mm512_set1_epi64(IDENTITY);

    let mut halves = [[identity; GROUPS]; 2];
    for group in 0..GROUPS {
        let rows = &rows[8 * group * row_bytes..];
        let low = load_rows(rows, row_bytes);
        let high = load_rows(&rows[4 * row_bytes..], row_bytes);
        for (half, order) in halves.iter_mut().zip(orders) {
            let words = _mm512_permutex2var_epi8(low, order, high);
            let columns = _mm512_gf2p8affine_epi64_epi8::<0>(identity, words);
            half[group] = _mm512_permutexvar_epi8(column_order, columns);
        }
    }
    for (half, out) in halves.into_iter().zip(out.as_chunks_mut::<64>().0) {
        for (blocks, out) in transpose_bytes(half).into_iter().zip(out.as_chunks_mut::<4>().0) {
            // SAFETY: the array reference is valid for writing 64 bytes; no alignment is needed.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), blocks) };
        }
    }
}

/// Transposes 16 x 16 bytes in each lane: four rounds that interleave the first half of the
/// vectors with the second, after which vector `i` holds byte `i` of each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn transpose_bytes(mut vectors: [__m512i; GROUPS]) -> [__m512i; GROUPS] {
    for _ in 0..4 {
        let previous = vectors;
        for i in 0..GROUPS / 2 {
            vectors[2 * i] = _mm512_unpacklo_epi8(previous[i], previous[i + GROUPS / 2]);
            vectors[2 * i + 1] = _mm512_unpackhi_epi8(previous[i], previous[i + GROUPS / 2]);
        }
    }
    vectors
}

/// Sixteen bytes of each of four rows, one row in each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn load_rows(rows: &[u8], row_bytes: usize) -> __m512i {
    let row = |index: usize| {
        let bytes: &[u8; TILE_ROW_BYTES] = rows[index * row_bytes..]
            .first_chunk()
            .expect("the caller checked that every row has the tile's bytes");
        // SAFETY: the array reference is valid for reading 16 bytes; no alignment is needed.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    };
    let vector = _mm512_castsi128_si512(row(0));
    let vector = _mm512_mask_broadcast_i32x4(vector, 0x00F0, row(1));
    let vector = _mm512_mask_broadcast_i32x4(vector, 0x0F00, row(2));
    _mm512_mask_broadcast_i32x4(vector, 0xF000, row(3))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array reference is valid for reading 64 bytes; no alignment is needed.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}
