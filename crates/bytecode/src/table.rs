//! [`Table`]: values in the clear, by column: inputs and outputs of a computation.

use zeroize::Zeroizing;

use crate::description::Column;
use crate::meaning::Lane;

/// Rows of typed columns, packed: a column of width `w` takes `ceil(w / 8)` bytes a row.
///
/// Has no `Debug` and is wiped when dropped: it holds a party's secrets.
#[derive(Clone)]
pub struct Table {
    columns: Vec<Column>,
    cells: Vec<Zeroizing<Vec<u8>>>,
    row_count: u64,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Table {
        Table { cells: vec![Zeroizing::default(); columns.len()], columns, row_count: 0 }
    }

    /// A table of `rows` rows of zeros.
    pub fn zeros(columns: Vec<Column>, rows: u64) -> Table {
        let mut table = Table::new(columns);
        for (column, cells) in table.columns.iter().zip(&mut table.cells) {
            cells.resize(cell_bytes(column) * rows as usize, 0);
        }
        table.row_count = rows;
        table
    }

    /// The columns' names and types.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// How many rows there are.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Bytes that the cells take in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.cells.iter().map(|cells| cells.capacity() as u64).sum()
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If `row` has not one value for each column.
    pub fn push(&mut self, row: &[Lane]) {
        assert_eq!(row.len(), self.columns.len(), "a row has a value for each column");
        for ((value, column), cells) in row.iter().zip(&self.columns).zip(&mut self.cells) {
            let bytes: [u8; 32] = value.to_le_bytes();
            cells.extend_from_slice(&bytes[..cell_bytes(column)]);
        }
        self.row_count += 1;
    }

    /// Returns the table with zeros in all columns of the rows in which column `found` is zero.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn zeroed_unless(mut self, found: usize) -> Table {
        for row in 0..self.row_count {
            if self.cell(row, found).is_zero() {
                (0..self.columns.len()).for_each(|column| self.set_cell(row, column, Lane::ZERO));
            }
        }
        self
    }

    /// The value in `column` of `row`.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn cell(&self, row: u64, column: usize) -> Lane {
        let size = cell_bytes(&self.columns[column]);
        let start = row as usize * size;
        let mut bytes = [0u8; 32];
        bytes[..size].copy_from_slice(&self.cells[column][start..start + size]);
        Lane::from_le_bytes(bytes)
    }

    /// The cells of some rows of `column`, little-endian, and how many bytes each has.
    ///
    /// # Panics
    /// If there are no such cells.
    pub fn cells(&self, rows: std::ops::Range<u64>, column: usize) -> (&[u8], usize) {
        let size = cell_bytes(&self.columns[column]);
        (&self.cells[column][rows.start as usize * size..rows.end as usize * size], size)
    }

    /// Replaces the value in `column` of `row`.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn set_cell(&mut self, row: u64, column: usize, value: Lane) {
        let size = cell_bytes(&self.columns[column]);
        let start = row as usize * size;
        let bytes: [u8; 32] = value.to_le_bytes();
        self.cells[column][start..start + size].copy_from_slice(&bytes[..size]);
    }

    /// The values of one row.
    pub fn row(&self, row: u64) -> Vec<Lane> {
        (0..self.columns.len()).map(|column| self.cell(row, column)).collect()
    }
}

fn cell_bytes(column: &Column) -> usize {
    usize::from(column.element.width()).div_ceil(8)
}
