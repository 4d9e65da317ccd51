//! [`SharedRows`]: rows of which each of two parties has an XOR share, changed at secret indices, and opened under pads.
//!
//! Source: Doerner, shelat, "Scaling ORAM for Secure Computation", CCS 2017, the memory that is written. A function that is
//! 1 at one random leaf of a tree is made ahead, and moved to the index as for lookups. Each party `b` has a node with
//! lowest bit `t_b(l)` and a block `s_b(l)` for each leaf `l`. Both parties' bits and blocks are the same but at the leaf of
//! the index: there the bits differ, and the blocks are as good as random to the other party. To add `v` to the row, the
//! parties open `c = v ^ s`, where `s` is the exclusive or of all blocks of both, and each adds `s_b(l) ^ t_b(l) c` to its
//! share of the row of each leaf.
//!
//! Cost of a change: a function of 7 more bits than the index has, and an opening of the index's bits and the row's, in one
//! round; each party evaluates a leaf for each row. Of hiding: as many bytes from each party as the rows have, in a round.
//! Security: the point is uniform and used once, and so is `s`, which the blocks at the leaf of the point hide: what is
//! opened is uniform. Rows are opened under pads of both parties, whose keys are drawn anew each time.
//! Not protected: malicious parties.

use phineus_bytecode::{Instruction, LookupTable};
use phineus_channels::{Channel, ChannelError};
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_crypto::point_function::{BitRows, PointBits, evaluate_leaves};
use phineus_crypto::{Block, Pads, SecretBit, declassify};
use phineus_engine::packed;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::clock::BOTH_SEND;
use super::driver::MixedDriver;
use super::flight::FlightContext;
use super::look_up::{PublicTables, blocks_of};
use super::openings::Openings;
use crate::ProtocolError;
use crate::shares::values::{Words, blank};
use crate::shares::words::words;

/// Bits of a point inside a leaf, which are not used.
pub(super) const INSIDE_BITS: u16 = 7;

/// The points of functions for changes: a leaf for each number of an index.
pub(super) fn tree_of(index_bits: u16) -> PointBits {
    PointBits::new(index_bits + INSIDE_BITS)
}

/// This party's shares of the rows of a table.
pub(super) struct SharedRows {
    tree: PointBits,
    width: usize,
    rows: usize,
    shares: Zeroizing<Vec<Block>>,
    /// Of the change in flight, of which there is one at most, a block for each leaf; or rows that are being opened.
    blocks: Zeroizing<Vec<Block>>,
    /// Of the change in flight the lowest bits of the nodes.
    bits: Zeroizing<Vec<u64>>,
}

impl SharedRows {
    /// Bytes of memory that such rows take.
    pub(super) fn memory_bytes(table: &LookupTable) -> u64 {
        let leaves = tree_of(table.index_bits()).leaves();
        (2 * leaves * size_of::<Block>() + 8 * leaves.div_ceil(64)) as u64
    }

    /// Rows of zeros.
    pub(super) fn new(table: &LookupTable) -> SharedRows {
        let tree = tree_of(table.index_bits());
        let blocks = || Zeroizing::new(vec![Block::ZERO; tree.leaves()]);
        SharedRows {
            tree,
            width: table.element.width().into(),
            rows: table.rows as usize,
            shares: blocks(),
            blocks: blocks(),
            bits: blank(tree.leaves().div_ceil(64)),
        }
    }

    /// Bytes of all rows in a message.
    pub(super) fn sent_bytes(table: &LookupTable) -> u64 {
        table.rows * u64::from(table.element.width().div_ceil(8))
    }

    /// The bits of a row.
    fn mask(&self) -> u128 {
        u128::MAX >> (128 - self.width)
    }

    /// Makes the lanes the rows from one on.
    pub(super) fn set(&mut self, i: &Instruction, share: &[u8]) {
        let (lanes, first) = (i.lanes as usize, i.immediates[1] as usize);
        let mut strings = blank(self.width * words(lanes));
        packed::rows_to_words(&mut strings, share, lanes);
        for lane in 0..lanes {
            let strings = strings.chunks_exact(words(lanes)).enumerate();
            let bits = strings
                .map(|(bit, string)| u128::from(string[lane / 64] >> (lane % 64) & 1) << bit);
            self.shares[first + lane] = Block::from_bits(bits.sum());
        }
    }

    /// Begins a change; returns the sum of this party's blocks, of as many bits as a row. `nodes` has space for half of
    /// the leaves.
    fn begin(&mut self, key: &[Block], nodes: &mut [Block]) -> Block {
        let leaves = (&mut self.bits[..], &mut self.blocks[..]);
        let sum = evaluate_leaves(self.tree, key, nodes, leaves);
        Block::from_bits(sum.to_bits() & self.mask())
    }

    /// Adds the blocks of the change in flight, corrected, to the rows: that of leaf `l` to row `l ^ offset`.
    fn change(&mut self, offset: usize, correction: Block) {
        let mask = self.mask();
        let (high, low) = (offset & !63, offset & 63);
        for (word, (blocks, &bits)) in self.blocks.chunks(64).zip(&*self.bits).enumerate() {
            let shares = &mut self.shares[(64 * word) ^ high..][..blocks.len()];
            for (at, &block) in blocks.iter().enumerate() {
                let bit = SecretBit::lowest(bits >> at);
                let added = (block ^ correction.and_bit(bit)).to_bits() & mask;
                shares[at ^ low] ^= Block::from_bits(added);
            }
        }
    }

    /// This party's part of the hidden rows, as it is sent.
    fn hidden(&mut self, pads: &Pads) -> &mut [u8] {
        let (bytes, mask) = (self.width.div_ceil(8), self.mask());
        pads.fill(0, &mut self.blocks[..self.rows]);
        for row in 0..self.rows {
            let hidden = (self.blocks[row] ^ self.shares[row]).to_bits() & mask;
            // Rows that are not there yet lie behind it.
            let place = &mut self.blocks.as_mut_bytes()[row * bytes..][..bytes];
            place.copy_from_slice(&hidden.to_le_bytes()[..bytes]);
        }
        &mut self.blocks.as_mut_bytes()[..self.rows * bytes]
    }

    /// Makes what was opened the rows of a table that all know.
    fn publish(&self, to: &mut BitRows) {
        let bytes = self.width.div_ceil(8);
        for (number, row) in self.blocks.as_bytes().chunks_exact(bytes).take(self.rows).enumerate()
        {
            let mut words = [0u64; 2];
            words.as_mut_bytes()[..bytes].copy_from_slice(row);
            to.set(number, &words);
        }
    }
}

impl PublicTables {
    /// The shares of a table's rows.
    fn shared(&mut self, table: usize) -> &mut SharedRows {
        self.shared[table].as_mut().expect("the verifier has seen that it is shared")
    }

    /// Sets rows of a shared table.
    pub(super) fn set_shared(&mut self, i: &Instruction, share: &[u8]) {
        self.shared(i.immediates[0] as usize).set(i, share);
    }

    /// Makes what was opened the rows that are looked up.
    fn publish(&mut self, table: usize) {
        let shared = self.shared[table].as_ref().expect("it was opened");
        shared.publish(&mut self.tables[table]);
    }

    fn begin_change(&mut self, table: usize, key: &[u64]) -> Block {
        let key = blocks_of(key);
        let shared = self.shared[table].as_mut().expect("the verifier has seen that it is shared");
        shared.begin(&key, &mut self.values[..shared.tree.leaves() / 2])
    }
}

/// A change whose index and row are being opened.
pub(super) struct AddFlight {
    table: usize,
    index_bits: usize,
    width: usize,
    /// Where the index XOR the point will be, and behind it the correction.
    at: usize,
}

impl AddFlight {
    /// Bytes that it holds.
    pub(super) fn held_bytes(instruction: &Instruction) -> u64 {
        let tree = tree_of(instruction.immediates[1] as u16);
        let (index, row) = (tree.get(), usize::from(instruction.element.width()));
        8 * (4 * tree.key_blocks() + 2 * index + row) as u64
    }

    /// Bits that it opens.
    pub(super) fn opened_bits(instruction: &Instruction) -> usize {
        instruction.immediates[1] as usize + usize::from(instruction.element.width())
    }

    pub(super) fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        instruction: &Instruction,
        operands: &[&[u8]],
    ) -> Result<AddFlight, ProtocolError> {
        let [table, index_bits, ..] = instruction.immediates.map(|word| word as usize);
        let width = usize::from(instruction.element.width());
        let tree = tree_of(index_bits as u16);
        let (mut points, mut index) = (blank(tree.get()), blank(index_bits));
        let mut key = blank(2 * tree.key_blocks());
        context.correlated.point_functions(tree.get() as u16, 1, &mut points, &mut key)?;
        packed::rows_to_words(&mut index, operands[0], 1);
        let leaf = &points[usize::from(INSIDE_BITS)..];
        let offset = leaf.iter().zip(&*index).enumerate();
        let offset = offset.fold(0, |all, (bit, (a, b))| all | ((a ^ b) & 1) << bit);
        let at = context.openings.push_bits(&[offset], index_bits);
        let mut row: Words = blank(width);
        packed::rows_to_words(&mut row, operands[1], 1);
        let row = row.iter().enumerate().map(|(bit, word)| u128::from(word & 1) << bit);
        let row = row.sum::<u128>();
        let masked = row ^ context.tables.begin_change(table, &key).to_bits();
        let masked = [masked as u64, (masked >> 64) as u64];
        context.openings.push_bits(&masked[..words(width)], width);
        Ok(AddFlight { table, index_bits, width, at })
    }

    /// Takes what was opened.
    pub(super) fn take(&self, openings: &Openings, tables: &mut PublicTables) {
        let (mut offset, mut correction) = ([0u64], [0u64; 2]);
        openings.bits(self.at, &mut offset, self.index_bits);
        let at = self.at + self.index_bits;
        openings.bits(at, &mut correction[..words(self.width)], self.width);
        let [low, high] = correction.map(u128::from);
        tables.shared(self.table).change(offset[0] as usize, Block::from_bits(high << 64 | low));
    }
}

impl<C: Channel, P: CorrelatedRandomness> MixedDriver<C, P> {
    /// Opens all rows of a shared table under pads of both parties; writes the share of the keys.
    pub(super) fn hide_now(
        &mut self,
        i: &Instruction,
        share: &mut [u8],
    ) -> Result<(), ProtocolError> {
        self.flush_tables()?;
        let (table, me) = (i.immediates[0] as usize, self.parties.me());
        let draws = self.draws.as_mut().expect("a program with tables draws keys");
        let pads = Pads::new(draws.next_block());
        let mut rows = self.tables.shared(table).hidden(&pads);
        let peers = 0..self.parties.count();
        let length = |peer| if peer == me { (0, 0) } else { (rows.len(), rows.len()) };
        let lengths: Vec<(usize, usize)> = peers.map(length).collect();
        let fill = |rows: &&mut [u8], _: usize, at: usize, buffer: &mut [u8]| {
            buffer.copy_from_slice(&rows[at..at + buffer.len()]);
        };
        let take = |rows: &mut &mut [u8], _: usize, at: usize, theirs: &[u8]| {
            rows[at..].iter_mut().zip(theirs).for_each(|(own, their)| *own ^= their);
            Ok::<_, ChannelError>(())
        };
        self.parties.exchange_in_pieces(&lengths, &mut rows, fill, take)?;
        declassify(&rows[..], "rows under pads of both parties");
        self.clock.round(1, BOTH_SEND);
        self.tables.publish(table);
        share.fill(0);
        let bits = share.chunks_exact_mut(packed::row_bytes(2)).take(128);
        for (bit, lanes) in bits.enumerate() {
            lanes[0] |= ((pads.key().to_bits() >> bit & 1) as u8) << me;
        }
        Ok(())
    }
}
