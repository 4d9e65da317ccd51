//! [`RowSwaps`]: exchanges rows of XOR shares by bits that one party knows.
//!
//! Under a permutation of one party rows are XOR shares, which are the select bits of labels. For each switch the parties
//! have a correlated OT: the party that knows the bit `c` has `t = q + c D`, the other one `q` and the offset `D`. To
//! multiply `c` with the row `x` of the other party, that one sends `y = H(q) + H(q + D) + x` and has the share `H(q)`;
//! the one that knows `c` has `c y + H(t)`. It multiplies its own share of the row by itself.
//!
//! Source: C-XOR OTs (Asharov, Lindell, Schneider, Zohner, CCS 2013), of whole rows. The networks are those of Zahur et al.,
//! IEEE S&P 2016, section V. Hash: TMMO (Guo, Katz, Wang, Yu, IEEE S&P 2020) under a key of its own, a tweak for each
//! switch and 128 bits of a row.
//!
//! Cost: a bit for each bit of a row, from the party that does not know the switches; two hashes a switch and 128 bits there,
//! and one at the other party. Constant time: all depends on sizes only.
//! Not protected: who deviates can send any row.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Instruction, Shape};
use phineus_crypto::{Block, CrHash, transpose};
use phineus_engine::packed::row_bytes;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use crate::garbled::share_labels::{rows, rows_mut};

/// Lanes, and bits of a row, that are hashed at a time.
const TILE: usize = 128;

/// Keys of these hashes have this bit alone above the tweaks of gates.
const SWAP: u128 = 1 << 126;

/// Pads of switches: none is used twice.
pub(super) struct RowSwaps {
    hash: CrHash,
    next: u64,
    pads: [Zeroizing<Vec<Block>>; 2],
    /// The same as rows: bit `i` of row `j` is bit `j` of pad `i`.
    rows: [Zeroizing<Vec<Block>>; 2],
}

/// A value whose lanes are exchanged with another one's, and what became of both.
pub(super) struct Swapped<'a> {
    /// Blocks of the correlated OTs, one a lane.
    switches: &'a [Block],
    operands: [&'a [u8]; 2],
    results: [&'a mut [u8]; 2],
}

impl<'a> Swapped<'a> {
    /// Operands and results of an exchange, as rows.
    pub(super) fn of(
        i: &Instruction,
        results: &'a mut [&mut [Block]],
        operands: &[&'a [Block]],
    ) -> Swapped<'a> {
        let ([first, second], [switches, a, b]) = (results, operands) else {
            unreachable!("an exchange has two results and three operands")
        };
        let shape = shape_of(i);
        let results = [rows_mut(first, shape), rows_mut(second, shape)];
        Swapped { switches, operands: [rows(a, shape), rows(b, shape)], results }
    }
}

/// Shape of the rows of an exchange.
fn shape_of(i: &Instruction) -> Shape {
    i.result_shape(0)
}

/// Bytes that an exchange takes.
pub(super) fn swap_bytes(i: &Instruction) -> usize {
    share_bytes(shape_of(i))
}

impl RowSwaps {
    /// Those of a session with this start value.
    pub(super) fn new(start: Block) -> RowSwaps {
        let blank = || Zeroizing::new(vec![Block::ZERO; TILE]);
        RowSwaps {
            hash: CrHash::new(start ^ Block::from_bits(SWAP)),
            next: 0,
            pads: [blank(), blank()],
            rows: [blank(), blank()],
        }
    }

    /// Hashes the blocks of up to 128 lanes, and also their sums with `offset`, if there is one: then the second rows are
    /// the sums of both hashes.
    fn hash(&mut self, switches: &[Block], offset: Option<Block>) {
        let count = switches.len();
        let [zeros, ones] = &mut self.pads;
        zeros[..count].copy_from_slice(switches);
        zeros[count..].fill(Block::ZERO);
        self.hash.hash_blocks(self.next, &mut zeros[..count]);
        transpose(zeros.as_bytes(), TILE / 8, &mut self.rows[0]);
        if let Some(offset) = offset {
            ones.iter_mut().zip(switches).for_each(|(one, &block)| *one = block ^ offset);
            ones[count..].fill(Block::ZERO);
            self.hash.hash_blocks(self.next, &mut ones[..count]);
            ones.iter_mut().zip(zeros.iter()).for_each(|(one, &zero)| *one ^= zero);
            transpose(ones.as_bytes(), TILE / 8, &mut self.rows[1]);
        }
        self.next += count as u64;
    }

    /// The part of the party that does not know the switches: writes what it sends.
    pub(super) fn offer(
        &mut self,
        i: &Instruction,
        offset: Block,
        swapped: &mut Swapped<'_>,
        sent: &mut [u8],
    ) {
        let Swapped { switches, operands: [a, b], results: [first, second] } = swapped;
        for tile in tiles(shape_of(i)) {
            self.hash(&switches[tile.lanes.clone()], Some(offset));
            let [shares, sums] = self.rows.each_ref().map(|rows| rows.as_bytes());
            for (shares, sums, at) in
                tile.rows().map(|(pad, at)| (&shares[pad..], &sums[pad..], at))
            {
                let old = a[at.clone()].iter().zip(&b[at.clone()]);
                let new = first[at.clone()].iter_mut().zip(&mut second[at.clone()]);
                let pads = shares.iter().zip(sums).zip(&mut sent[at]);
                for (((a, b), (first, second)), ((share, sum), sent)) in old.zip(new).zip(pads) {
                    *sent = sum ^ a ^ b;
                    (*first, *second) = (a ^ share, b ^ share);
                }
            }
        }
    }

    /// The part of the party that knows the switches, which are the select bits of their blocks.
    pub(super) fn accept(&mut self, i: &Instruction, swapped: &mut Swapped<'_>, received: &[u8]) {
        let Swapped { switches, operands: [a, b], results: [first, second] } = swapped;
        for tile in tiles(shape_of(i)) {
            self.hash(&switches[tile.lanes.clone()], None);
            let mut chosen = Zeroizing::new([0; TILE / 8]);
            for (lane, block) in switches[tile.lanes.clone()].iter().enumerate() {
                chosen[lane / 8] |= (block.select_u64() as u8) << (lane % 8);
            }
            let pads = self.rows[0].as_bytes();
            for (pads, at) in tile.rows().map(|(pad, at)| (&pads[pad..], at)) {
                let old = a[at.clone()].iter().zip(&b[at.clone()]);
                let new = first[at.clone()].iter_mut().zip(&mut second[at.clone()]);
                let pads = pads.iter().zip(&received[at]).zip(chosen.iter());
                for (((a, b), (first, second)), ((pad, received), chosen)) in old.zip(new).zip(pads)
                {
                    let share = pad ^ ((received ^ a ^ b) & chosen);
                    (*first, *second) = (a ^ share, b ^ share);
                }
            }
        }
    }
}

/// Up to 128 lanes of up to 128 bits of all rows.
struct Tile {
    lanes: std::ops::Range<usize>,
    bits: std::ops::Range<usize>,
    row_bytes: usize,
}

impl Tile {
    /// Each bit: where its bytes are among the rows of pads, and in the value.
    fn rows(&self) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let (first, length) = (self.lanes.start / 8, self.lanes.len().div_ceil(8));
        let row_bytes = self.row_bytes;
        self.bits.clone().enumerate().map(move |(row, bit)| {
            let at = bit * row_bytes + first;
            (row * TILE / 8, at..at + length)
        })
    }
}

fn tiles(shape: Shape) -> impl Iterator<Item = Tile> {
    let (width, lanes) = (usize::from(shape.width), shape.lanes as usize);
    (0..width).step_by(TILE).flat_map(move |bit| {
        let bits = bit..width.min(bit + TILE);
        (0..lanes).step_by(TILE).map(move |lane| Tile {
            lanes: lane..lanes.min(lane + TILE),
            bits: bits.clone(),
            row_bytes: row_bytes(lanes),
        })
    })
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_bytecode::{ElementType, Op, Sharing};
    use phineus_crypto::{Delta, Prg, SecretBit};

    use super::*;

    /// Shares of rows of any shape are exchanged as the bits say, and nothing is left beyond the last lane.
    #[test]
    fn rows_are_exchanged() {
        let mut seeds = Seeds::fresh();
        for (width, lanes) in [(1, 1), (3, 5), (10, 32), (127, 9), (128, 32), (129, 31), (300, 13)]
            .into_iter()
            .chain([(1, 4096), (2, 1000), (20, 200)])
        {
            let seed = seeds.draw();
            let (mut random, mut prg) =
                (SeededRng::new(seed), Prg::from_seed(Block::from_bits(seed.into())));
            let element = ElementType::unsigned(width).shared(Sharing::Boolean);
            let swap = Instruction::new(Op::SwapKnown, element, lanes);
            let shape = swap.result_shape(0);
            let mut value = || {
                let mut bytes = vec![0; share_bytes(shape)];
                bytes.fill_with(|| random.next_u64() as u8);
                phineus_engine::packed::clear_padding(&mut bytes, lanes as usize);
                bytes
            };
            let [a, b, c, d] = [(); 4].map(|()| value());
            let (delta, start) = (Delta::random(&mut prg), prg.next_block());
            let bits: Vec<bool> = (0..lanes).map(|_| random.below(2) == 1).collect();
            let q: Vec<Block> = bits
                .iter()
                .map(|_| prg.next_block().with_select_bit(SecretBit::public(false)))
                .collect();
            let t = q.iter().zip(&bits);
            let t: Vec<Block> =
                t.map(|(&q, &bit)| q ^ delta.block().and_bit(SecretBit::public(bit))).collect();
            let blank = || vec![0u8; share_bytes(shape)];
            let (mut offered, mut accepted) = ([blank(), blank()], [blank(), blank()]);
            let mut sent = blank();
            assert_eq!(sent.len(), swap_bytes(&swap));
            let (mut offers, mut accepts) = (RowSwaps::new(start), RowSwaps::new(start));
            for _ in 0..2 {
                let results = offered.each_mut().map(|bytes| &mut bytes[..]);
                let mut swapped = Swapped { switches: &q, operands: [&a, &b], results };
                offers.offer(&swap, delta.block(), &mut swapped, &mut sent);
                let results = accepted.each_mut().map(|bytes| &mut bytes[..]);
                let mut swapped = Swapped { switches: &t, operands: [&c, &d], results };
                accepts.accept(&swap, &mut swapped, &sent);
            }
            let row = row_bytes(lanes as usize);
            for at in 0..a.len() {
                let chosen = (0..8).fold(0, |byte, k| {
                    let lane = at % row * 8 + k;
                    byte | u8::from(bits.get(lane).copied().unwrap_or(false)) << k
                });
                let (x, y) = (a[at] ^ c[at], b[at] ^ d[at]);
                let moved = (x ^ y) & chosen;
                let found = [0, 1].map(|k| offered[k][at] ^ accepted[k][at]);
                assert_eq!(found, [x ^ moved, y ^ moved], "{width} x {lanes}, seed {seed}");
            }
            assert_eq!(offers.next, accepts.next);
        }
    }
}
