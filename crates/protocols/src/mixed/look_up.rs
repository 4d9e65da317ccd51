//! [`LookUpFlight`]: rows, which both parties know, at secret indices.
//!
//! Source: Doerner, shelat, "Scaling ORAM for Secure Computation", CCS 2017, reading with a function that is 1 at one
//! point. The point is random, made ahead, and the function is moved to the index: the parties open the index XOR the
//! point, and party by party the exclusive or of all rows for which its share is 1 is its share of the row.
//!
//! Cost: a point function and an opening of the index's bits for each lane, in one round; both parties read all rows of
//! the table once for each lane.
//! Security: the point is uniform and used once, so what is opened is uniform and independent of the index.
//! Not protected: malicious parties.

use phineus_bytecode::{Description, Instruction, LookupTable};
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_crypto::Block;
use phineus_crypto::point_function::{BitRows, PointBits, evaluate};
use phineus_engine::packed;
use zeroize::Zeroizing;

use super::flight::FlightContext;
use super::openings::Openings;
use super::shared_rows::{SharedRows, tree_of};
use crate::ProtocolError;
use crate::shares::values::{Words, blank};
use crate::shares::words::words;

/// The tables of a program, and space for the values of a function.
pub(super) struct PublicTables {
    pub(super) tables: Vec<BitRows>,
    /// Of those that are shared, this party's shares.
    pub(super) shared: Vec<Option<SharedRows>>,
    pub(super) values: Zeroizing<Vec<Block>>,
    hashes: Zeroizing<Vec<Block>>,
}

/// The points of functions for a table.
fn points_of(table: &LookupTable) -> PointBits {
    PointBits::new(table.index_bits())
}

/// Leaves of the largest function that looks rows of a program up, and nodes above the leaves of one that changes any.
fn most_leaves(description: &Description) -> [usize; 2] {
    let tables = description.tables.iter();
    let most = tables.clone().map(|table| points_of(table).leaves()).max().unwrap_or(0);
    let shared = tables.filter(|table| table.is_shared);
    [most, shared.map(|table| tree_of(table.index_bits()).leaves() / 2).max().unwrap_or(0)]
}

/// Bytes of memory that a party holds for the tables of a program.
pub fn table_bytes(description: &Description) -> u64 {
    let rows = |table: &LookupTable| {
        let shared = if table.is_shared { SharedRows::memory_bytes(table) } else { 0 };
        BitRows::memory_bytes(points_of(table), table.element.width()) + shared
    };
    let [looking_up, changing] = most_leaves(description);
    let evaluating = (looking_up.max(changing) + looking_up) * size_of::<Block>();
    description.tables.iter().map(rows).sum::<u64>() + evaluating as u64
}

/// A key in blocks.
pub(super) fn blocks_of(key: &[u64]) -> Zeroizing<Vec<Block>> {
    let block = |words: &[u64]| Block::from_bits(u128::from(words[0]) | u128::from(words[1]) << 64);
    Zeroizing::new(key.chunks_exact(2).map(block).collect())
}

impl PublicTables {
    pub(super) fn new(description: &Description) -> PublicTables {
        let tables = &description.tables;
        let [looking_up, changing] = most_leaves(description);
        let rows = |table: &LookupTable| BitRows::new(points_of(table), table.element.width());
        let blocks = |leaves| Zeroizing::new(vec![Block::ZERO; leaves]);
        let shared = |table: &LookupTable| table.is_shared.then(|| SharedRows::new(table));
        PublicTables {
            tables: tables.iter().map(rows).collect(),
            shared: tables.iter().map(shared).collect(),
            values: blocks(looking_up.max(changing)),
            hashes: blocks(looking_up),
        }
    }

    /// Sets rows of a table.
    pub(super) fn set(&mut self, i: &Instruction) {
        let [table, row, value @ ..] = i.immediates;
        for row in row..row + u64::from(i.lanes) {
            self.tables[table as usize].set(row as usize, &value);
        }
    }

    /// The sum of the rows `i` of a table for which a function is 1 at `i ^ offset`.
    fn select(&mut self, table: usize, key: &[u64], offset: u64, sum: &mut [u64]) {
        let table = &mut self.tables[table];
        let (points, key) = (table.points(), blocks_of(key));
        let leaves = points.leaves();
        let (values, hashes) = (&mut self.values[..leaves], &mut self.hashes[..leaves]);
        evaluate(points, &key, values, hashes);
        table.select(values, offset, sum);
    }
}

/// Rows that are being opened.
pub(super) struct OpenedRows {
    table: usize,
    first: usize,
    width: usize,
    lanes: usize,
    /// Where they will be: a string for each bit.
    at: usize,
}

impl OpenedRows {
    pub(super) fn issue(openings: &mut Openings, i: &Instruction, rows: &[u8]) -> OpenedRows {
        let (width, lanes) = (usize::from(i.element.width()), i.lanes as usize);
        let mut shares = blank(width * words(lanes));
        packed::rows_to_words(&mut shares, rows, lanes);
        let strings = shares.chunks_exact(words(lanes));
        let at = strings.map(|string| openings.push_bits(string, lanes)).min();
        let (table, first) = (i.immediates[0] as usize, i.immediates[1] as usize);
        OpenedRows { table, first, width, lanes, at: at.expect("a row has bits") }
    }

    /// Sets what was opened.
    pub(super) fn take(&self, openings: &Openings, tables: &mut PublicTables) {
        let mut opened = vec![0; words(self.width * self.lanes)];
        openings.bits(self.at, &mut opened, self.width * self.lanes);
        for lane in 0..self.lanes {
            let mut row = [0; 2];
            for bit in 0..self.width {
                let at = bit * self.lanes + lane;
                row[bit / 64] |= (opened[at / 64] >> (at % 64) & 1) << (bit % 64);
            }
            tables.tables[self.table].set(self.first + lane, &row);
        }
    }
}

/// Lookups whose indices are being opened.
pub(super) struct LookUpFlight {
    table: usize,
    points: PointBits,
    lanes: usize,
    keys: Words,
    /// Where the indices XOR the points will be: a string for each bit.
    at: usize,
    /// This party's share of the rows.
    rows: Words,
}

/// Words of all keys of a lookup.
fn key_words(points: PointBits, lanes: usize) -> usize {
    2 * points.key_blocks() * lanes
}

impl LookUpFlight {
    /// Bytes that it holds.
    pub(super) fn held_bytes(instruction: &Instruction) -> u64 {
        let points = PointBits::new(instruction.immediates[1] as u16);
        let (lanes, width) = (instruction.lanes as usize, usize::from(instruction.element.width()));
        let strings = words(lanes) * (width + 2 * points.get());
        8 * (key_words(points, lanes) + strings) as u64
    }

    pub(super) fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        instruction: &Instruction,
        index: &[u8],
    ) -> Result<LookUpFlight, ProtocolError> {
        let [table, bits, ..] = instruction.immediates;
        let (points, lanes) = (PointBits::new(bits as u16), instruction.lanes as usize);
        let n = words(lanes);
        let (mut masks, mut indices) = (blank(points.get() * n), blank(points.get() * n));
        let mut keys = blank(key_words(points, lanes));
        context.correlated.point_functions(bits as u16, lanes, &mut masks, &mut keys)?;
        packed::rows_to_words(&mut indices, index, lanes);
        masks.iter_mut().zip(&*indices).for_each(|(mask, index)| *mask ^= index);
        let strings = masks.chunks_exact(n);
        let at = strings.map(|string| context.openings.push_bits(string, lanes));
        let at = at.min().expect("an index has bits");
        let rows = blank(usize::from(instruction.element.width()) * n);
        Ok(LookUpFlight { table: table as usize, points, lanes, keys, at, rows })
    }

    /// Takes what was opened.
    pub(super) fn take(&mut self, openings: &Openings, tables: &mut PublicTables) {
        let (bits, n) = (self.points.get(), words(self.lanes));
        let mut offsets = vec![0; words(bits * self.lanes)];
        openings.bits(self.at, &mut offsets, bits * self.lanes);
        let width = self.rows.len() / n;
        let mut sum = blank(words(width));
        let keys = self.keys.chunks_exact(2 * self.points.key_blocks());
        for (lane, key) in keys.enumerate() {
            let bit = |bit: usize| {
                let at = bit * self.lanes + lane;
                (offsets[at / 64] >> (at % 64) & 1) << bit
            };
            let offset = (0..bits).map(bit).sum();
            tables.select(self.table, key, offset, &mut sum);
            for (bit, string) in self.rows.chunks_exact_mut(n).enumerate() {
                string[lane / 64] |= (sum[bit / 64] >> (bit % 64) & 1) << (lane % 64);
            }
        }
    }

    /// Writes the rows.
    pub(super) fn write(&self, result: &mut [u8]) {
        packed::words_to_rows(result, &self.rows, self.lanes);
    }
}
