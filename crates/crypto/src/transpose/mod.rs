//! Bit-matrix transposition for OT extension: 128 rows of `n` bits become `n` blocks.
//!
//! Bit `j` of row `i` becomes bit `i` of block `j`; bits are little-endian in bytes, as in
//! [`Block`]. Cost: each bit is read and written once; no allocation.

mod portable;

use crate::{Block, Kernel};

/// Rows of the matrix: the bits of a [`Block`].
pub(crate) const ROWS: usize = 128;

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
pub fn transpose_with(kernel: Kernel, rows: &[u8], row_bytes: usize, out: &mut [Block]) {
    assert!(out.len().is_multiple_of(ROWS), "the columns come in groups of 128");
    let used_bytes = out.len() / 8;
    assert!(used_bytes <= row_bytes, "a row is shorter than the output asks for");
    if out.is_empty() {
        return;
    }
    assert!(rows.len() >= (ROWS - 1) * row_bytes + used_bytes, "the matrix is too short");
    let _ = kernel;
    portable::transpose(rows, row_bytes, out);
}
