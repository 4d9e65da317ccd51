//! Looks an item up in a table of the garbler; the evaluator alone learns what is there.
//!
//! The table has `2^k` rows of `b` bits for items of `k` bits. Row `v` belongs to the item whose labels have the select bits `v`, so
//! a position says nothing about an item. It is encrypted by the hash of `K_v = sum of 2^i L_i`, where `L_i` is the
//! label of bit `i` with the select bit `v_i`, and products are those of GF(2^128). The evaluator can compute the key
//! of the row of its labels. Another row's key differs from it by a multiple of the offset that is not 0.
//!
//! Source: point-and-permute garbled tables (Beaver, Micali, Rogaway, STOC 1990) with one row for each value of
//! several bits. Hash: TMMO (Guo, Katz, Wang, Yu, IEEE S&P 2020, ePrint 2019/074), as [`CrHash`] has it, under a key
//! for each lookup: its inputs are correlated by multiples of the offset, as those of gates are by the offset.
//! Rows are numbers of the garbler, which do not depend on the offset.
//!
//! Cost: `ceil(b / 8) 2^k` bytes from garbler to evaluator and a hash a row; the evaluator computes one hash.
//! Not protected: who deviates can put anything into the table.

use std::ops::{BitAnd, BitXor};

use phineus_channels::Channel;
use phineus_crypto::{Block, CrHash, Delta, SecretBit, declassify_value};
use zeroize::{Zeroize, Zeroizing};

use crate::ProtocolError;

/// Rows that are hashed and sent together, as a power of two.
const PIECE_BITS: usize = 12;

/// Keys of lookups have this bit, those of gates have not: they are the start value and a tweak of 64 bits.
const LOOKUP: u128 = 1 << 127;

/// Bytes of a table for items of `index_bits` bits, with rows of `row_bits` bits.
pub(super) fn table_bytes(index_bits: u16, row_bits: u16) -> u64 {
    u64::from(row_bits.div_ceil(8)) << index_bits
}

/// A row of a table.
pub(super) trait TableRow:
    Copy + Default + Zeroize + BitAnd<Output = Self> + BitXor<Output = Self>
{
    /// The lowest bits of a block.
    fn low(bits: u128) -> Self;
    /// The row as a number.
    fn bits(self) -> u128;
}

impl TableRow for u32 {
    fn low(bits: u128) -> u32 {
        bits as u32
    }

    fn bits(self) -> u128 {
        self.into()
    }
}

impl TableRow for u128 {
    fn low(bits: u128) -> u128 {
        bits
    }

    fn bits(self) -> u128 {
        self
    }
}

/// Numbers lookups; none has the hash of another.
pub(super) struct Lookups {
    start: Block,
    next: u64,
}

/// `2 x` in GF(2^128) modulo `X^128 + X^7 + X^2 + X + 1`.
fn double(x: Block) -> Block {
    let bits = x.to_bits();
    Block::from_bits((bits << 1) ^ ((bits >> 127) * 0x87))
}

/// The sum of `2^i` times label `i`.
fn combined(labels: impl DoubleEndedIterator<Item = Block>) -> Block {
    labels.rev().fold(Block::ZERO, |sum, label| double(sum) ^ label)
}

/// Replaces row `v` by row `v ^ mask`, where bit `i` of the mask is the select bit of wire `i`.
fn permute_rows<R: TableRow>(rows: &mut [R], wires: &[Block]) {
    for (bit, wire) in wires.iter().enumerate() {
        let mask = R::low(wire.select_bit().wide_mask());
        for pair in rows.chunks_exact_mut(2 << bit) {
            let (low, high) = pair.split_at_mut(1 << bit);
            for (low, high) in low.iter_mut().zip(high) {
                let difference = (*low ^ *high) & mask;
                (*low, *high) = (*low ^ difference, *high ^ difference);
            }
        }
    }
}

impl Lookups {
    /// Lookups of a session with this start value.
    pub(super) fn new(start: Block) -> Lookups {
        Lookups { start, next: 0 }
    }

    fn next_hash(&mut self) -> CrHash {
        self.next += 1;
        CrHash::new(self.start ^ Block::from_bits(LOOKUP | u128::from(self.next)))
    }

    /// Sends the table for an item with these labels of *false*: `mask` and rows of `row_bits` bits, 0 beyond the last one.
    ///
    /// # Security
    /// Time and memory accesses depend on the sizes only.
    pub(super) fn garble<R: TableRow>(
        &mut self,
        delta: &Delta,
        wires: &[Block],
        (table, row_bits, mask): (&[R], u16, R),
        channel: &mut impl Channel,
    ) -> Result<(), ProtocolError> {
        let (hash, bytes) = (self.next_hash(), usize::from(row_bits.div_ceil(8)));
        // All of it at once: what grew would leave a copy behind.
        let mut rows = Zeroizing::new(vec![R::default(); 1 << wires.len()]);
        rows[..table.len()].copy_from_slice(table);
        permute_rows(&mut rows, wires);
        let zeros = wires.iter().map(|&wire| wire ^ delta.block().and_bit(wire.select_bit()));
        let base = combined(zeros);
        // Multiples of the offset: row v has the key base + v delta.
        let multiple = |v: u64| {
            combined((0..wires.len()).map(|i| delta.block().and_bit(SecretBit::lowest(v >> i))))
        };
        let piece = 1 << wires.len().min(PIECE_BITS);
        let below: Vec<Block> = (0..piece).map(multiple).collect();
        let below = Zeroizing::new(below);
        let mut keys = Zeroizing::new(Vec::new());
        for (first, rows) in (0..).step_by(piece as usize).zip(rows.chunks(piece as usize)) {
            let start = base ^ multiple(first);
            keys.clear();
            keys.extend(below.iter().map(|&below| start ^ below));
            hash.hash_blocks(first, &mut keys);
            channel.send_with(rows.len() * bytes, |sent| {
                for ((sent, row), key) in sent.chunks_exact_mut(bytes).zip(rows).zip(keys.iter()) {
                    let encrypted = (*row ^ mask).bits() ^ key.to_bits();
                    sent.copy_from_slice(&encrypted.to_le_bytes()[..bytes]);
                }
            })?;
        }
        Ok(())
    }

    /// Receives the table and returns what is in the row of the item with these labels.
    pub(super) fn evaluate(
        &mut self,
        wires: &[Block],
        row_bits: u16,
        channel: &mut impl Channel,
    ) -> Result<u128, ProtocolError> {
        let (hash, bytes) = (self.next_hash(), usize::from(row_bits.div_ceil(8)));
        let bits = wires.iter().enumerate();
        let wanted = bits.fold(0, |row, (i, wire)| row | wire.select_u64() << i);
        let wanted = declassify_value(wanted, "uniform, whatever the item is") as usize;
        let mut key = [combined(wires.iter().copied())];
        hash.hash_blocks(wanted as u64, &mut key);
        let (rows, piece) = (1usize << wires.len(), 1 << wires.len().min(PIECE_BITS));
        let mut found = [0; 16];
        for first in (0..rows).step_by(piece) {
            channel.recv_with(piece * bytes, |received| {
                let row = wanted.checked_sub(first).filter(|&row| row < piece);
                if let Some(row) = row {
                    found[..bytes].copy_from_slice(&received[row * bytes..][..bytes]);
                }
            })?;
        }
        let value = u128::from_le_bytes(found) ^ key[0].to_bits();
        Ok(value & (u128::MAX >> (128 - row_bits)))
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_channels::memory_pair;
    use phineus_crypto::{Block, Prg};

    use super::*;

    fn product(a: u128, mut b: u128) -> u128 {
        let (mut sum, mut power) = (0, Block::from_bits(a));
        while b > 0 {
            sum ^= (b & 1) * power.to_bits();
            (power, b) = (double(power), b >> 1);
        }
        sum
    }

    /// `x^(2^128) = x` for all elements of a field of `2^128`, and for few polynomials modulo a wrong one.
    #[test]
    fn doubling_is_that_of_a_field() {
        let mut random = Seeds::fresh();
        for _ in 0..3 {
            let x = u128::from(random.draw()) << 64 | u128::from(random.draw());
            let last = (0..128).fold(x, |power, _| product(power, power));
            assert_eq!(last, x);
        }
    }

    /// Every item of tables of all small sizes, and of some that are sent in pieces; items beyond the end are at 0.
    #[test]
    fn the_evaluator_finds_what_is_at_an_item() {
        for (bits, stride) in
            [(1, 1), (2, 1), (3, 1), (5, 1), (8, 3), (9, 31), (13, 997), (14, 5003)]
        {
            let seed = Seeds::fresh().draw();
            let (mut random, mut prg) =
                (SeededRng::new(seed), Prg::from_seed(Block::from_bits(seed.into())));
            let size = 1u64 << bits;
            let items = size / 2 + 1 + random.below(size / 2);
            let row_bits = 1 + random.below(128) as u16;
            let low = u128::MAX >> (128 - row_bits);
            let table: Vec<u128> = (0..items).map(|_| prg.next_block().to_bits() & low).collect();
            let mask = prg.next_block().to_bits() & low;
            let (delta, start) = (Delta::random(&mut prg), prg.next_block());
            let (mut garbler, mut evaluator) = (Lookups::new(start), Lookups::new(start));
            let (mut left, mut right) = memory_pair();
            for item in (0..size).step_by(stride) {
                let zeros: Vec<Block> = (0..bits).map(|_| prg.next_block()).collect();
                let active = zeros.iter().enumerate().map(|(bit, &zero)| {
                    zero ^ delta.block().and_bit(SecretBit::lowest(item >> bit))
                });
                let active: Vec<Block> = active.collect();
                let found = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let table = (&table[..], row_bits, mask);
                        garbler.garble(&delta, &zeros, table, &mut left).expect("sent");
                        left.flush().expect("sent");
                    });
                    evaluator.evaluate(&active, row_bits, &mut right).expect("received")
                });
                let expected = table.get(item as usize).copied().unwrap_or(0) ^ mask;
                assert_eq!(found, expected, "item {item} of {items}, seed {seed}");
            }
        }
    }

    /// Row `v` is that of the item whose labels have the select bits `v`.
    #[test]
    fn rows_are_permuted_by_select_bits() {
        let mut seeds = Seeds::fresh();
        for bits in 1..9 {
            let wires: Vec<Block> =
                (0..bits).map(|_| Block::from_bits(seeds.draw().into())).collect();
            let mask = wires.iter().rev().fold(0, |mask, wire| mask << 1 | wire.select_u64());
            let mut rows: Vec<u32> = (0..1 << bits).collect();
            permute_rows(&mut rows, &wires);
            assert!((0..).zip(&rows).all(|(v, &row)| u64::from(row) == v ^ mask), "{rows:?}");
        }
    }
}
