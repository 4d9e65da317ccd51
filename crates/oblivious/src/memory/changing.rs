//! [`ChangingRows`]: rows that change, read and changed by distributed point functions.
//!
//! Source: Doerner, shelat, "Scaling ORAM for Secure Computation", CCS 2017. The rows exist twice. The parties have shares of
//! them as they are, which each change adds to, by a point function. And both know them hidden by pads, as they were when
//! they were hidden last; there a row is looked up, and its pads are removed on shares, as in `hidden`. What was changed since
//! lies in a stash, each change with the number of its row; a read adds those with its number. After so many changes all
//! rows are hidden anew, under fresh keys, and the stash is empty.
//!
//! Deviation: the stash has differences, where Doerner and shelat have rows, of which the newest counts: so all are added up,
//! whatever their order is. And a change does not wait until all are hidden anew.
//!
//! Cost of an access: for each 128 bits of a row a lookup and two AES circuits, and for each change in the stash a comparison
//! of two numbers and a product of a bit and a row. Of a change besides, for each 128 bits: a point function with a leaf for
//! each row, and an opening. Of hiding: all rows from each party, and two key schedules for each 128 bits.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Records, SharedTable, Tracer, Value, lanes_for};

use super::period::MemoryTerms;
use super::tables::{LookedUpRow, cell, piece_elements, piece_lanes, piece_of};
use super::{in_range, index_bits, selected};

/// A block of AES.
const BLOCK: ElementType = ElementType::unsigned(128);

/// A row that may be changed.
pub(super) struct FoundRow {
    index: Value,
    row: LookedUpRow,
}

/// Rows that change.
pub(super) struct ChangingRows {
    tracer: Tracer,
    elements: Vec<ElementType>,
    rows: u64,
    /// By piece.
    tables: Vec<SharedTable>,
    /// By piece, the round keys of both parties in the block at hand; nothing before rows are hidden in it.
    round_keys: Vec<[Value; 2]>,
    /// Numbers of rows that were changed since then, and by piece what was added to them, in chunks of `lanes`.
    numbers: Vec<Value>,
    changes: Vec<Vec<Value>>,
    lanes: u32,
    count: u64,
    period: u64,
}

impl ChangingRows {
    /// Rows of zeros.
    pub(super) fn zeros(
        tracer: &Tracer,
        (elements, rows): (&[ElementType], u64),
        terms: MemoryTerms,
    ) -> ChangingRows {
        let tables = piece_elements(elements).map(|element| tracer.shared_table(element, rows));
        let tables: Vec<SharedTable> = tables.collect();
        let lanes = piece_lanes(elements).min(lanes_for(index_bits(rows)));
        ChangingRows {
            tracer: tracer.clone(),
            changes: vec![Vec::new(); tables.len()],
            tables,
            elements: elements.to_vec(),
            rows,
            round_keys: Vec::new(),
            numbers: Vec::new(),
            lanes,
            count: 0,
            period: terms.hiding_period(elements, rows),
        }
    }

    /// These rows.
    #[track_caller]
    pub(super) fn set(records: Records, terms: MemoryTerms) -> ChangingRows {
        let elements = records.elements().to_vec();
        let shape = (&elements[..], records.rows());
        let made = ChangingRows::zeros(records.tracer(), shape, terms);
        let records = records.rechunked(piece_lanes(&elements));
        let mut first = 0;
        for chunk in 0..records.chunk_count() {
            let cells = records.chunk(chunk);
            for (number, table) in made.tables.iter().enumerate() {
                table.set(first, &piece_of(&elements, &cells, number));
            }
            first += u64::from(cells[0].lanes());
        }
        made
    }

    /// Forgets values of the block at hand. Shares of the rows have all changes.
    pub(super) fn rest(&mut self) {
        self.round_keys.clear();
        self.empty_stash();
    }

    fn empty_stash(&mut self) {
        self.numbers.clear();
        self.changes.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    #[track_caller]
    fn hide(&mut self) {
        let schedules = |table: &SharedTable| table.hide().map(|key| key.aes128_key_schedule());
        self.round_keys = self.tables.iter().map(schedules).collect();
        self.empty_stash();
    }

    /// The row at `index`.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value) -> FoundRow {
        if self.round_keys.is_empty() || self.count == self.period {
            self.hide();
        }
        let (index, valid) = in_range(index, index_bits(self.rows), self.rows);
        let block = index.cast(BLOCK);
        let equal = |numbers: &Value| numbers.eq(&index.tile(numbers.lanes()));
        let equal: Vec<Value> = self.numbers.iter().map(equal).collect();
        let pieces = self.tables.iter().enumerate().map(|(piece, table)| {
            let width = table.element().width();
            let pads = self.round_keys[piece].iter().map(|keys| block.aes128_round_keys(keys));
            let row =
                pads.fold(table.look_up(&index), |row, pad| row.xor(&pad.bit_slice(0, width)));
            let changed = selected(&equal, &self.changes[piece]);
            changed.map_or(row.clone(), |changed| row.xor(&changed))
        });
        let row = LookedUpRow { pieces: pieces.collect(), valid };
        FoundRow { index, row }
    }

    /// The cell of a column in a row.
    #[track_caller]
    pub(super) fn cell(&self, found: &FoundRow, column: usize) -> Value {
        cell(&self.elements, &found.row, column)
    }

    /// Replaces the cells of a row where there is a new one.
    #[track_caller]
    pub(super) fn close(&mut self, found: FoundRow, new: &[Option<Value>]) {
        if new.iter().all(Option::is_none) {
            return;
        }
        let FoundRow { index, row: LookedUpRow { pieces, valid } } = found;
        let old = LookedUpRow { pieces, valid: None };
        let differences = new.iter().enumerate().map(|(column, new)| match new {
            Some(new) => new.xor(&cell(&self.elements, &old, column)),
            None => self.tracer.constant(self.elements[column], Lane::ZERO),
        });
        let differences: Vec<Value> = differences.collect();
        append(&mut self.numbers, &index, self.lanes);
        for (piece, (table, changes)) in self.tables.iter().zip(&mut self.changes).enumerate() {
            let difference = piece_of(&self.elements, &differences, piece);
            let difference = valid.as_ref().map_or(difference.clone(), |v| v.mask(&difference));
            table.add(&index, &difference);
            append(changes, &difference, self.lanes);
        }
        self.count += 1;
    }
}

/// Puts one lane behind those in chunks of at most `lanes`.
#[track_caller]
fn append(chunks: &mut Vec<Value>, lane: &Value, lanes: u32) {
    match chunks.last_mut().filter(|last| last.lanes() < lanes) {
        Some(last) => *last = last.lane_concat(lane),
        None => chunks.push(lane.clone()),
    }
}
