//! [`BitRows`]: rows of bits, and the sum of those that secret bits select.
//!
//! Bit `c` of all rows of a section is a string, so a section's part of bit `c` of the sum is the parity of two strings'
//! AND. The time is that of reading all rows once, whatever their width.
//!
//! Invariants: constant time in the rows and in the bits that select them.

use zeroize::Zeroizing;

use super::{LEAF_BITS, PointBits, shifted};
use crate::{Block, Simd, Vectorized};

/// Rows whose bits lie side by side: with a kilobyte for a string, the bits that select them stay in the first level of
/// cache.
const SECTION_ROWS: usize = 1 << 13;

/// Words that are added up side by side.
const STEP_WORDS: usize = 8;

/// The fewest rows: a whole step.
const ROWS_MIN: usize = 64 * STEP_WORDS;

/// As many rows of bits as a point function has points, all 0 at the beginning. Wiped on drop.
pub struct BitRows {
    points: PointBits,
    width: usize,
    /// Rows of a section.
    section_rows: usize,
    /// By section, a string for each bit of a row.
    strings: Zeroizing<Vec<u64>>,
    /// The bits that select, for one sum.
    selecting: Zeroizing<Vec<u64>>,
}

impl BitRows {
    /// Rows of `width` bits.
    ///
    /// # Panics
    /// If a row has no bits.
    pub fn new(points: PointBits, width: u16) -> BitRows {
        assert!(width > 0, "a row has bits");
        let width = usize::from(width);
        let rows = (1 << points.get()).max(ROWS_MIN);
        let section_rows = rows.min(SECTION_ROWS);
        BitRows {
            points,
            width,
            section_rows,
            strings: Zeroizing::new(vec![0; rows / 64 * width]),
            selecting: Zeroizing::new(vec![0; rows / 64]),
        }
    }

    /// Bytes of memory that such rows take.
    pub fn memory_bytes(points: PointBits, width: u16) -> u64 {
        let rows = (1 << points.get()).max(ROWS_MIN as u64);
        rows / 8 * (u64::from(width) + 1)
    }

    /// The number of points.
    pub fn points(&self) -> PointBits {
        self.points
    }

    /// Makes `row` the row with this number; its bits beyond the width are 0.
    pub fn set(&mut self, number: usize, row: &[u64]) {
        assert!(number < 1 << self.points.get(), "there is such a row");
        let words = self.section_rows / 64;
        let (section, within) = (number / self.section_rows, number % self.section_rows);
        let first = section * self.width * words + within / 64;
        let strings = self.strings[first..].iter_mut().step_by(words).take(self.width);
        for (bit, word) in strings.enumerate() {
            let value = row[bit / 64] >> (bit % 64) & 1;
            *word = *word & !(1 << (within % 64)) | value << (within % 64);
        }
    }

    /// Sets `sum` to the exclusive or of the rows `i` for which `values` have a 1 at point `i ^ offset`, packed. The offset
    /// is public.
    ///
    /// # Panics
    /// If there are not values for all points, or the offset is none of them.
    pub fn select(&mut self, values: &[Block], offset: u64, sum: &mut [u64]) {
        assert_eq!(values.len(), self.points.leaves(), "128 values to a block");
        assert!(offset >> self.points.get() == 0, "an offset has the bits of a point");
        let (leaf, inside) = ((offset >> LEAF_BITS) as usize, offset as u32 & 127);
        for (number, words) in self.selecting.chunks_exact_mut(2).take(values.len()).enumerate() {
            let bits = shifted(values[number ^ leaf], inside).to_bits();
            (words[0], words[1]) = (bits as u64, (bits >> 64) as u64);
        }
        let mut sums = Zeroizing::new(vec![0; self.width]);
        Simd::selected().run(Products {
            strings: &self.strings,
            selecting: &self.selecting,
            words: self.section_rows / 64,
            sums: &mut sums,
        });
        sum.fill(0);
        for (bit, word) in sums.iter().enumerate() {
            sum[bit / 64] |= u64::from(word.count_ones() & 1) << (bit % 64);
        }
    }
}

/// The products of all sections, added up for each bit of a row.
struct Products<'a> {
    strings: &'a [u64],
    selecting: &'a [u64],
    /// Words of a string.
    words: usize,
    sums: &'a mut [u64],
}

impl Vectorized for Products<'_> {
    #[inline(always)]
    fn run(self) {
        let Products { strings, selecting, words, sums } = self;
        let sections = strings.chunks_exact(words * sums.len());
        for (section, selecting) in sections.zip(selecting.chunks_exact(words)) {
            for (string, sum) in section.chunks_exact(words).zip(sums.iter_mut()) {
                let mut parts = [0; STEP_WORDS];
                let steps = string.chunks_exact(STEP_WORDS).zip(selecting.chunks_exact(STEP_WORDS));
                for (string, selecting) in steps {
                    for (part, (word, bits)) in parts.iter_mut().zip(string.iter().zip(selecting)) {
                        *part ^= word & bits;
                    }
                }
                *sum ^= parts.into_iter().fold(0, |sum, part| sum ^ part);
            }
        }
    }
}
