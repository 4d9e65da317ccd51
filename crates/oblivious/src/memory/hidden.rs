//! [`HiddenRows`]: secret rows that never change, opened once under pads of those who do not know them, and read by
//! distributed point functions.
//!
//! Source: Doerner, shelat, "Scaling ORAM for Secure Computation", CCS 2017, the memory that is read. Row `j` becomes
//! `row ^ AES_a(j) ^ AES_b(j)` for a key of each party, which both parties then know. After a lookup both pads are computed
//! on shares and removed. If one party knows all rows, its pads alone hide them from the other.
//!
//! Cost of an access: for each 128 bits of a row a lookup, and an AES circuit for each pad; a comparison, if not all
//! numbers of the index are rows. Once: an opening of all rows, and a key schedule for each key in each block.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{LookupTable, PartyKey, Records, Tracer, Value};

use super::tables::{LookedUpRow, cell, piece_elements, piece_lanes, piece_of};
use super::{in_range, index_bits};

/// A block of AES.
const BLOCK: ElementType = ElementType::unsigned(128);

/// Rows that are hidden.
pub(super) struct HiddenRows {
    tracer: Tracer,
    elements: Vec<ElementType>,
    rows: u64,
    tables: Vec<LookupTable>,
    keys: Vec<PartyKey>,
    /// Round keys of all of these in the block at hand.
    round_keys: Vec<Value>,
}

impl HiddenRows {
    /// Opens the rows under pads of so many parties, the first ones.
    #[track_caller]
    pub(super) fn opened(records: Records, parties: u16) -> HiddenRows {
        let (tracer, elements) = (records.tracer().clone(), records.elements().to_vec());
        let rows = records.rows();
        let tables = piece_elements(&elements).map(|element| tracer.public_table(element, rows));
        let tables: Vec<LookupTable> = tables.collect();
        // A table belongs to one memory, and so do its keys.
        let number = tables[0].number();
        let keys: Vec<PartyKey> = (0..parties).map(|party| PartyKey::new(party, number)).collect();
        let records = records.rechunked(piece_lanes(&elements));
        let mut first = 0;
        for chunk in 0..records.chunk_count() {
            let cells = records.chunk(chunk);
            let lanes = cells[0].lanes();
            for (piece, table) in tables.iter().enumerate() {
                let row = piece_of(&elements, &cells, piece);
                let (shape, at) = ((table.element(), lanes), [first, piece as u64]);
                let pads = keys.iter().map(|key| key.pads(&tracer, shape, at));
                table.open(first, &pads.fold(row, |hidden, pad| hidden.xor(&pad)));
            }
            first += u64::from(lanes);
        }
        HiddenRows { tracer, elements, rows, tables, keys, round_keys: Vec::new() }
    }

    /// Forgets values of the block at hand.
    pub(super) fn rest(&mut self) {
        self.round_keys.clear();
    }

    /// The row at `index`.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value) -> LookedUpRow {
        if self.round_keys.is_empty() {
            let keys = self.keys.iter().map(|key| key.value(&self.tracer).aes128_key_schedule());
            self.round_keys = keys.collect();
        }
        let (index, valid) = in_range(index, index_bits(self.rows), self.rows);
        let number = index.cast(BLOCK);
        let pieces = self.tables.iter().enumerate().map(|(piece, table)| {
            let piece = self.tracer.constant(BLOCK, Lane::from(piece as u64) << 64);
            let (block, width) = (number.xor(&piece), table.element().width());
            let pads = self.round_keys.iter().map(|keys| block.aes128_round_keys(keys));
            pads.fold(table.look_up(&index), |row, pad| row.xor(&pad.bit_slice(0, width)))
        });
        LookedUpRow { pieces: pieces.collect(), valid }
    }

    /// The cell of a column in a row.
    #[track_caller]
    pub(super) fn cell(&self, row: &LookedUpRow, column: usize) -> Value {
        cell(&self.elements, row, column)
    }
}
