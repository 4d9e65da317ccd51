//! Seeded random inputs, the same on every machine. Not for secrets.

use phineus_bytecode::{Column, Lane, Table};

/// A generator: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
/// OOPSLA 2014, figure 16).
pub struct SeededRng(u64);

impl SeededRng {
    /// The generator that `seed` starts.
    pub fn new(seed: u64) -> SeededRng {
        SeededRng(seed)
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of `width` bits.
    pub fn bits(&mut self, width: u16) -> Lane {
        let all = Lane::from_limbs([self.word(), self.word(), self.word(), self.word()]);
        all >> (256 - usize::from(width))
    }
}

/// A table of random cells.
pub fn random_table(columns: Vec<Column>, rows: u64, random: &mut SeededRng) -> Table {
    let mut table = Table::new(columns.clone());
    for _ in 0..rows {
        let row: Vec<Lane> =
            columns.iter().map(|column| random.bits(column.element.width())).collect();
        table.push(&row);
    }
    table
}
