//! Looks an item up in a table of the garbler; the evaluator alone learns what is there.
//!
//! The table has `2^k` rows for items of `k` bits. Row `v` belongs to the item whose labels have the select bits `v`, so
//! a position says nothing about an item. It is encrypted by the hash of `K_v = sum of 2^i L_i`, where `L_i` is the
//! label of bit `i` with the select bit `v_i`, and products are those of GF(2^128). The evaluator can compute the key
//! of the row of its labels. Another row's key differs from it by a multiple of the offset that is not 0.
//!
//! Source: point-and-permute garbled tables (Beaver, Micali, Rogaway, STOC 1990) with one row for each value of
//! several bits. Hash: TMMO (Guo, Katz, Wang, Yu, IEEE S&P 2020, ePrint 2019/074), as [`CrHash`] has it, under a key
//! for each lookup: its inputs are correlated by multiples of the offset, as those of gates are by the offset.
//! Rows are numbers of the garbler, which do not depend on the offset.
//!
//! Cost: `ceil(k / 8) 2^k` bytes from garbler to evaluator and a hash a row; the evaluator computes one hash.
//! Not protected: who deviates can put anything into the table.

use phineus_bytecode::Instruction;
use phineus_channels::Channel;
use phineus_crypto::{Block, CrHash, Delta, SecretBit, declassify_value};
use zeroize::Zeroizing;

use crate::ProtocolError;
use crate::garbled::packed_bytes;

/// Rows that are hashed and sent together, as a power of two.
const PIECE_BITS: usize = 12;

/// Keys of lookups have this bit, those of gates have not: they are the start value and a tweak of 64 bits.
const LOOKUP: u128 = 1 << 127;

/// Bytes of the table of a lookup.
pub(super) fn table_bytes(i: &Instruction) -> u64 {
    (packed_bytes(i) as u64) << i.element.width()
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
fn permute_rows(rows: &mut [u32], wires: &[Block]) {
    for (bit, wire) in wires.iter().enumerate() {
        let mask = wire.select_bit().wide_mask() as u32;
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

    /// Sends the table for an item with these labels of *false*; items beyond it are at 0.
    ///
    /// # Security
    /// Time and memory accesses depend on the sizes only.
    pub(super) fn garble(
        &mut self,
        delta: &Delta,
        (i, wires): (&Instruction, &[Block]),
        table: &[u32],
        channel: &mut impl Channel,
    ) -> Result<(), ProtocolError> {
        let (hash, bytes) = (self.next_hash(), packed_bytes(i));
        let mut rows = Zeroizing::new(table.to_vec());
        rows.resize(1 << wires.len(), 0);
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
                    let encrypted = row ^ key.to_bits() as u32;
                    sent.copy_from_slice(&encrypted.to_le_bytes()[..bytes]);
                }
            })?;
        }
        Ok(())
    }

    /// Receives the table and returns what is in the row of the item with these labels.
    pub(super) fn evaluate(
        &mut self,
        (i, wires): (&Instruction, &[Block]),
        channel: &mut impl Channel,
    ) -> Result<u32, ProtocolError> {
        let (hash, bytes) = (self.next_hash(), packed_bytes(i));
        let bits = wires.iter().enumerate();
        let wanted = bits.fold(0, |row, (i, wire)| row | wire.select_u64() << i);
        let wanted = declassify_value(wanted, "uniform, whatever the item is") as usize;
        let mut key = [combined(wires.iter().copied())];
        hash.hash_blocks(wanted as u64, &mut key);
        let (rows, piece) = (1usize << wires.len(), 1 << wires.len().min(PIECE_BITS));
        let mut found = [0; 4];
        for first in (0..rows).step_by(piece) {
            channel.recv_with(piece * bytes, |received| {
                let row = wanted.checked_sub(first).filter(|&row| row < piece);
                if let Some(row) = row {
                    found[..bytes].copy_from_slice(&received[row * bytes..][..bytes]);
                }
            })?;
        }
        let value = u32::from_le_bytes(found) ^ key[0].to_bits() as u32;
        Ok(value & ((1 << wires.len()) - 1))
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_bytecode::{ElementType, Op};
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
            let table: Vec<u32> = (0..items).map(|_| random.below(size) as u32).collect();
            let (delta, start) = (Delta::random(&mut prg), prg.next_block());
            let i = Instruction::new(Op::Locate, ElementType::unsigned(bits), 1);
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
                        garbler.garble(&delta, (&i, &zeros), &table, &mut left).expect("sent");
                        left.flush().expect("sent");
                    });
                    evaluator.evaluate((&i, &active), &mut right).expect("received")
                });
                let expected = table.get(item as usize).copied().unwrap_or(0);
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
