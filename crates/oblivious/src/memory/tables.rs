//! [`TableRows`]: rows that all parties know, or the first one, looked up in tables: by distributed point functions on
//! shares, and by garbled tables.
//!
//! Cost: no AND for an index of as many bits as number the rows; one lookup for each 128 bits of a row.

use std::ops::Range;

use phineus_bytecode::limits::TABLE_ROW_BITS_MAX;
use phineus_bytecode::{ElementType, Lane, Lanes};
use phineus_frontend::{LookupTable, Records, Tracer, Value, lanes_for};

use super::{in_range, index_bits};

/// Bits of a row in one table.
const PIECE_BITS: usize = TABLE_ROW_BITS_MAX as usize;

/// The row of an access, in pieces.
pub(super) struct LookedUpRow {
    pub(super) pieces: Vec<Value>,
    /// Whether the index is that of a row; nothing if it always is.
    pub(super) valid: Option<Value>,
}

/// Rows that never change.
pub(super) struct TableRows {
    tracer: Tracer,
    elements: Vec<ElementType>,
    rows: u64,
    /// By piece, the table and its rows; none if the first party was told them.
    pieces: Vec<(LookupTable, Vec<u128>)>,
    is_told: bool,
    /// Whether rows were set that are not in the tables, and whether any are there.
    is_new: bool,
    is_written: bool,
}

impl TableRows {
    pub(super) fn new(tracer: &Tracer, elements: &[ElementType], rows: u64) -> TableRows {
        let pieces = piece_elements(elements).map(|element| {
            let table = tracer.public_table(element, rows);
            (table, vec![0; rows as usize])
        });
        TableRows {
            tracer: tracer.clone(),
            elements: elements.to_vec(),
            rows,
            pieces: pieces.collect(),
            is_told: false,
            is_new: false,
            is_written: false,
        }
    }

    /// Tells the first party the rows, which follow from its inputs alone.
    #[track_caller]
    pub(super) fn told(records: Records) -> TableRows {
        let (tracer, elements) = (records.tracer().clone(), records.elements().to_vec());
        let mut told = TableRows::new(&tracer, &[], records.rows());
        let records = records.rechunked(piece_lanes(&elements));
        for (number, element) in piece_elements(&elements).enumerate() {
            let table = tracer.table_of_party(element, told.rows, 0);
            let mut row = 0;
            for chunk in 0..records.chunk_count() {
                let rows = piece_of(&elements, &records.chunk(chunk), number);
                table.tell(row, &rows);
                row += u64::from(rows.lanes());
            }
            told.pieces.push((table, Vec::new()));
        }
        (told.elements, told.is_told) = (elements, true);
        told
    }

    /// Makes lanes the cells of a column from a row on.
    pub(super) fn set(&mut self, column: usize, row: u64, cells: &Lanes) {
        self.is_new = true;
        let bits = bits_of(&self.elements, column);
        for (number, (_, rows)) in self.pieces.iter_mut().enumerate() {
            let Some(part) = overlap(&bits, number) else { continue };
            let shift = part.start - number * PIECE_BITS;
            let mask = u128::MAX >> (PIECE_BITS - part.len());
            for (row, cell) in rows[row as usize..].iter_mut().zip(cells) {
                let [low, high, ..] = *(*cell >> (part.start - bits.start)).as_limbs();
                let value = (u128::from(high) << 64 | u128::from(low)) & mask;
                *row = *row & !(mask << shift) | value << shift;
            }
        }
    }

    /// Sets the rows of the tables: of equal ones behind each other in one instruction.
    pub(super) fn write(&mut self) {
        if !std::mem::take(&mut self.is_new) {
            return;
        }
        for (table, rows) in &self.pieces {
            let most = lanes_for(TABLE_ROW_BITS_MAX) as usize;
            let mut first = 0;
            while let Some(&value) = rows.get(first) {
                let equal = rows[first..].iter().take(most).take_while(|row| **row == value);
                let count = equal.count();
                if self.is_written || value != 0 {
                    table.set(first as u64, count as u32, Lane::from(value));
                }
                first += count;
            }
        }
        self.is_written = true;
    }

    /// The row at `index`.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value) -> LookedUpRow {
        self.write();
        if let Some(index) = index.public().filter(|_| !self.is_told) {
            let row = usize::try_from(index).ok();
            let piece = |(table, rows): &(LookupTable, Vec<u128>)| {
                let value = row.and_then(|row| rows.get(row)).copied().unwrap_or(0);
                self.tracer.constant(table.element(), Lane::from(value))
            };
            return LookedUpRow { pieces: self.pieces.iter().map(piece).collect(), valid: None };
        }
        // Rows of the tables beyond the last one are zeros.
        let (index, valid) = in_range(index, index_bits(self.rows), self.rows.next_power_of_two());
        let pieces = self.pieces.iter().map(|(table, _)| table.look_up(&index)).collect();
        LookedUpRow { pieces, valid }
    }

    /// The cell of a column in a row.
    #[track_caller]
    pub(super) fn cell(&self, row: &LookedUpRow, column: usize) -> Value {
        cell(&self.elements, row, column)
    }
}

/// The types of the pieces of a row with these columns.
pub(super) fn piece_elements(
    elements: &[ElementType],
) -> impl Iterator<Item = ElementType> + use<> {
    let bits = bits_of_row(elements);
    let width = move |from| PIECE_BITS.min(bits - from) as u16;
    (0..bits).step_by(PIECE_BITS).map(move |from| ElementType::unsigned(width(from)))
}

/// Rows of which each piece fits into one value, and each column.
pub(super) fn piece_lanes(elements: &[ElementType]) -> u32 {
    let piece = PIECE_BITS.min(bits_of_row(elements)) as u16;
    let widest = elements.iter().map(|element| element.width()).max();
    lanes_for(piece.max(widest.unwrap_or(0)))
}

/// The piece with this number of some rows, whose columns have these types and cells.
#[track_caller]
pub(super) fn piece_of(elements: &[ElementType], cells: &[Value], number: usize) -> Value {
    let parts = cells.iter().enumerate().filter_map(|(column, cell)| {
        let bits = bits_of(elements, column);
        let part = overlap(&bits, number)?;
        let from = (part.start - bits.start) as u16;
        Some(cell.with_sign(false).bit_slice(from, part.len() as u16))
    });
    parts.reduce(|low, high| low.bit_concat(&high)).expect("a piece has bits")
}

fn bits_of_row(elements: &[ElementType]) -> usize {
    elements.iter().map(|element| usize::from(element.width())).sum()
}

/// Bits of a row that are a column.
fn bits_of(elements: &[ElementType], column: usize) -> Range<usize> {
    let from = bits_of_row(&elements[..column]);
    from..from + usize::from(elements[column].width())
}

/// The cell of a column in a row.
#[track_caller]
pub(super) fn cell(elements: &[ElementType], row: &LookedUpRow, column: usize) -> Value {
    let bits = bits_of(elements, column);
    let parts = row.pieces.iter().enumerate().filter_map(|(number, piece)| {
        let part = overlap(&bits, number)?;
        let from = part.start - number * PIECE_BITS;
        Some(piece.bit_slice(from as u16, part.len() as u16))
    });
    let cell = parts.reduce(|low, high| low.bit_concat(&high)).expect("a column has bits");
    let cell = cell.cast(elements[column]);
    match &row.valid {
        Some(valid) => valid.mask(&cell),
        None => cell,
    }
}

/// The part of some bits of a row that lies in a piece.
fn overlap(bits: &Range<usize>, piece: usize) -> Option<Range<usize>> {
    let from = bits.start.max(piece * PIECE_BITS);
    let to = bits.end.min((piece + 1) * PIECE_BITS);
    (from < to).then_some(from..to)
}
