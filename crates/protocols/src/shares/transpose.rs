//! Between integers, one in a word, and packed rows of their bits.

use super::words::last_mask;

/// Transposes 64 rows of 64 bits (Warren, "Hacker's Delight", section 7-3).
pub(super) fn transpose_64(rows: &mut [u64; 64]) {
    let mut mask = 0x0000_0000_ffff_ffff_u64;
    let mut half = 32;
    while half > 0 {
        for block in (0..64).step_by(2 * half) {
            for k in block..block + half {
                let exchanged = (rows[k] >> half ^ rows[k + half]) & mask;
                rows[k] ^= exchanged << half;
                rows[k + half] ^= exchanged;
            }
        }
        half /= 2;
        mask ^= mask << half;
    }
}

/// The low bits of `integers` as packed rows, lowest bit first, as many rows as fit `rows`.
pub(crate) fn to_rows(integers: &[u64], rows: &mut [u8]) {
    let row_bytes = integers.len().div_ceil(8);
    for (k, integers) in integers.chunks(64).enumerate() {
        let mut square = [0; 64];
        square[..integers.len()].copy_from_slice(integers);
        transpose_64(&mut square);
        for (row, word) in rows.chunks_exact_mut(row_bytes).zip(&square) {
            let row = &mut row[8 * k..];
            let length = row.len().min(8);
            row[..length].copy_from_slice(&word.to_le_bytes()[..length]);
        }
    }
}

/// The inverse of [`to_rows`]: integers of as many bits as there are rows.
pub(crate) fn to_integers(rows: &[u8], integers: &mut [u64]) {
    let row_bytes = integers.len().div_ceil(8);
    for (k, integers) in integers.chunks_mut(64).enumerate() {
        let mut square = [0; 64];
        for (word, row) in square.iter_mut().zip(rows.chunks_exact(row_bytes)) {
            let mut bytes = [0; 8];
            let row = &row[8 * k..];
            let length = row.len().min(8);
            bytes[..length].copy_from_slice(&row[..length]);
            *word = u64::from_le_bytes(bytes) & last_mask(integers.len());
        }
        transpose_64(&mut square);
        integers.copy_from_slice(&square[..integers.len()]);
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::SeededRng;

    use super::*;

    #[test]
    fn rows_have_the_bits_of_integers() {
        let mut random = SeededRng::new(5);
        for lanes in [1_usize, 7, 8, 63, 64, 65, 129] {
            for width in [1, 3, 31, 64] {
                let integers: Vec<u64> =
                    (0..lanes).map(|_| random.next_u64() & last_mask(width)).collect();
                let mut rows = vec![0xff; width * lanes.div_ceil(8)];
                to_rows(&integers, &mut rows);
                for (j, &integer) in integers.iter().enumerate() {
                    for (bit, row) in rows.chunks_exact(lanes.div_ceil(8)).enumerate() {
                        assert_eq!(u64::from(row[j / 8] >> (j % 8) & 1), integer >> bit & 1);
                    }
                }
                let mut back = vec![u64::MAX; lanes];
                to_integers(&rows, &mut back);
                assert_eq!(back, integers);
            }
        }
    }
}
