//! [`ChunkStep`]: the gates of a level on the lanes of one chunk.

use phineus_circuits::record::{And, Level, LocalGate};
use phineus_crypto::Vectorized;

use crate::shares::repeated::RepeatedChunk;
use crate::shares::words::{get, last_mask, put, words};

/// Words of a chunk of so many lanes.
pub(super) fn chunk_words(lanes: usize) -> usize {
    words(lanes).next_power_of_two()
}

/// What one chunk of a group does between two rounds.
pub(super) struct ChunkStep<'a> {
    pub(super) lanes: usize,
    /// The ANDs of the last level, and what they gave: the own component and the other one.
    pub(super) taken: &'a [And],
    pub(super) results: [&'a [u64]; 2],
    pub(super) level: &'a Level,
    /// Added to each component by a complement.
    pub(super) flips: [u64; 2],
    pub(super) rows: &'a mut [u64],
    pub(super) repeated: RepeatedChunk<'a>,
    /// The masks of the products.
    pub(super) z: &'a mut [u64],
}

impl Vectorized for ChunkStep<'_> {
    #[inline(always)]
    fn run(self) {
        match chunk_words(self.lanes) {
            8 => self.run_in::<16, 8>(),
            4 => self.run_in::<8, 4>(),
            2 => self.run_in::<4, 2>(),
            _ => self.run_in::<2, 1>(),
        }
    }
}

impl ChunkStep<'_> {
    /// `SLOT` words of a slot, of which `WORDS` are the first component's.
    #[inline(always)]
    fn run_in<const SLOT: usize, const WORDS: usize>(self) {
        const { assert!(SLOT == 2 * WORDS) };
        let (lanes, is_full, z) = (self.lanes, self.lanes == 64 * WORDS, self.z);
        let (rows, _) = self.rows.as_chunks_mut::<SLOT>();
        for (k, and) in self.taken.iter().enumerate() {
            let row = rows[and.out as usize].as_chunks_mut::<WORDS>().0;
            for (row, bits) in row.iter_mut().zip(self.results) {
                match is_full {
                    true => *row = bits.as_chunks().0[k],
                    false => get(bits, k * lanes, row, lanes),
                }
            }
        }
        let read = |rows: &[[u64; SLOT]], slot: u32| match rows.get(slot as usize) {
            Some(row) => *row,
            None => self.repeated.row::<SLOT, WORDS>(slot as usize - rows.len()),
        };
        for &gate in &self.level.local {
            match gate {
                LocalGate::Xor { out, a, b } => {
                    let (a, b) = (read(rows, a), read(rows, b));
                    rows[out as usize] = std::array::from_fn(|k| a[k] ^ b[k]);
                }
                LocalGate::Not { out, a } => {
                    let a = read(rows, a);
                    rows[out as usize] = std::array::from_fn(|k| a[k] ^ self.flips[k / WORDS]);
                }
                LocalGate::Constant { out, value } => {
                    let value = u64::from(value).wrapping_neg();
                    rows[out as usize] = std::array::from_fn(|k| value & self.flips[k / WORDS]);
                }
            }
        }
        for (k, and) in self.level.ands.iter().enumerate() {
            let (x, y) = (read(rows, and.a), read(rows, and.b));
            let mut product: [u64; WORDS] = std::array::from_fn(|k| {
                let (x0, x1, y0, y1) = (x[k], x[WORDS + k], y[k], y[WORDS + k]);
                x0 & (y0 ^ y1) ^ x1 & y0
            });
            if is_full {
                let z = &mut z.as_chunks_mut::<WORDS>().0[k];
                z.iter_mut().zip(product).for_each(|(z, product)| *z ^= product);
            } else {
                product[words(lanes) - 1] &= last_mask(lanes);
                put(z, k * lanes, &product, lanes);
            }
        }
    }
}
