//! Every kernel against the definition, bit by bit.

use super::*;
use crate::Prg;

/// A random matrix whose rows are `row_bytes` apart, with nothing after its last row.
fn matrix(columns: usize, row_bytes: usize) -> Vec<u8> {
    let mut rows = vec![0; (ROWS - 1) * row_bytes + columns / 8];
    Prg::from_seed(Block::from_bits(columns as u128)).fill_bytes(&mut rows);
    rows
}

#[test]
fn every_kernel_moves_every_bit() {
    for (columns, spare_bytes) in [(0, 0), (128, 0), (128, 5), (256, 0), (512, 3), (1664, 16)] {
        let row_bytes = columns / 8 + spare_bytes;
        let rows = if columns == 0 { Vec::new() } else { matrix(columns, row_bytes) };
        for kernel in Kernel::supported() {
            let mut out = vec![Block::ZERO; columns];
            transpose_with(kernel, &rows, row_bytes, &mut out);
            for (column, block) in out.iter().enumerate() {
                for row in 0..ROWS {
                    let byte = rows[row * row_bytes + column / 8];
                    let expected = byte >> (column % 8) & 1 == 1;
                    let got = block.to_bits() >> row & 1 == 1;
                    assert!(expected == got, "{} ({row}, {column})", kernel.name());
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "groups of 128")]
fn a_ragged_width_is_refused() {
    transpose(&[0; 4096], 32, &mut [Block::ZERO; 129]);
}

#[test]
#[should_panic(expected = "shorter than the output")]
fn overlapping_rows_are_refused() {
    transpose(&[0; 4096], 15, &mut [Block::ZERO; 128]);
}

#[test]
#[should_panic(expected = "matrix is too short")]
fn a_short_matrix_is_refused() {
    transpose(&[0; 2047], 16, &mut [Block::ZERO; 128]);
}
