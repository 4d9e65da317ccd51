//! Bit-matrix transposition for OT extension: 128 rows of `n` bits become `n` blocks.
//!
//! Bit `j` of row `i` becomes bit `i` of block `j`; bits are little-endian in bytes, as in
//! [`Block`]. Cost: each bit is read and written once; no allocation. Constant time.

#[cfg(target_arch = "x86_64")]
mod gfni;
#[cfg(target_arch = "x86_64")]
mod movemask;
mod portable;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::InstructionSet;
use crate::{Block, Kernel};

/// Rows of the matrix: the bits of a [`Block`]. Also the columns that are done at a time.
pub(crate) const ROWS: usize = 128;

/// Bytes of each row in a square tile of 128 columns.
pub(crate) const TILE_ROW_BYTES: usize = ROWS / 8;

/// Transposes 128 rows of `out.len()` bits, row `i` at `rows[i * row_bytes..]`.
///
/// Every row holds at least `out.len() / 8` bytes, so a tile of a wider matrix can be transposed
/// where it lies; for a compact matrix `row_bytes = out.len() / 8`.
///
/// # Panics
/// If `out.len()` is no multiple of 128, or a row would reach beyond its `row_bytes` or `rows`.
pub fn transpose(rows: &[u8], row_bytes: usize, out: &mut [Block]) {
    transpose_with(Kernel::selected(), rows, row_bytes, out);
}

/// As [`transpose`], on a given kernel.
///
/// # Panics
/// As [`transpose`].
pub fn transpose_with(kernel: Kernel, rows: &[u8], row_bytes: usize, out: &mut [Block]) {
    assert!(out.len().is_multiple_of(ROWS), "the columns come in groups of 128");
    let used_bytes = out.len() / 8;
    assert!(used_bytes <= row_bytes, "a row is shorter than the output asks for");
    if out.is_empty() {
        return;
    }
    assert!(rows.len() >= (ROWS - 1) * row_bytes + used_bytes, "the matrix is too short");
    let (tiles, _) = out.as_chunks_mut::<ROWS>();
    for (tile, out) in tiles.iter_mut().enumerate() {
        let rows = &rows[tile * TILE_ROW_BYTES..];
        match kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes512 => unsafe { gfni::transpose_tile(rows, row_bytes, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes256 => unsafe {
                movemask::avx2::transpose_tile(rows, row_bytes, out)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AesNi => unsafe {
                movemask::sse2::transpose_tile(rows, row_bytes, out)
            },
            _ => portable::transpose_tile(rows, row_bytes, out),
        }
    }
}
