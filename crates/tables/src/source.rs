//! [`TableSource`]: a table of an owner, in any format.

use crate::cell::{CellType, TableCell};
use crate::content::ContentHash;
use crate::error::{Error, RowLocation};

/// A table that an owner brings.
///
/// It is read at least twice: once to count its rows, on which the program depends, and once for
/// its values, when the program has stated the columns and types that it needs. Types come from the
/// program, never from the data: a source gives each cell as it is, and [`TableCell::value`]
/// converts it exactly or refuses it. A source holds a bounded part of its table in memory.
///
/// Implement this for a format or a database of your own; `Input::count` takes it.
pub trait TableSource: Send + Sync {
    /// Name for messages.
    fn name(&self) -> String;

    /// Checks the table as far as possible without types, and counts its rows.
    ///
    /// # Errors
    /// If it is no table of this form.
    fn survey(&self) -> Result<Survey, Error>;

    /// Begins to read.
    ///
    /// # Errors
    /// If it is no table of this form.
    fn open(&self) -> Result<Box<dyn RowReader + '_>, Error>;

    /// Returns whether the content is still the one with this hash.
    fn still_has(&self, hash: &ContentHash) -> bool;
}

/// Facts about a table that do not depend on its types.
#[derive(Clone, Copy, Debug)]
pub struct Survey {
    /// Number of rows.
    pub rows: u64,
    /// The hash of the content; none if nothing can change it.
    pub hash: Option<ContentHash>,
    /// Bytes of memory that reading takes, beyond a few hundred KiB: those of the largest part that is
    /// held at once.
    pub buffer_bytes: u64,
}

/// The columns of a table.
pub enum TableHeader<'a> {
    /// Names of the columns, and the line of a text file in which they stand.
    Named(&'a [String], Option<u64>),
    /// The columns have no names; they are numbered from 0 to this number, exclusive.
    Numbered(u64),
}

/// Reads a table row by row.
pub trait RowReader {
    /// The columns.
    fn header(&self) -> TableHeader<'_>;

    /// States, before the first row, the columns whose cells will be read.
    ///
    /// # Errors
    /// If cells of so many columns cannot be held.
    fn select(&mut self, columns: &[usize]) -> Result<(), String> {
        let _ = columns;
        Ok(())
    }

    /// Description of the column's values, if no value of a program can hold them; a few words such
    /// as "a list".
    fn unsupported(&self, column: usize) -> Option<String> {
        let _ = column;
        None
    }

    /// The type of the column's cells, with which they are shown beside results; none if they cannot be shown.
    fn cell_type(&self, column: usize) -> Option<CellType> {
        let _ = column;
        Some(CellType::Text)
    }

    /// Advances to the next row; returns `false` at the end.
    ///
    /// # Errors
    /// If the row cannot be read; the error has its place, if it is known.
    fn advance(&mut self) -> Result<bool, ReadFault>;

    /// Place of the current row.
    fn place(&self) -> RowLocation;

    /// A cell of the current row, in a selected column.
    fn cell(&self, column: usize) -> TableCell<'_>;

    /// Ends reading; returns the hash of the content, if it has one.
    ///
    /// # Errors
    /// If there is more than the rows that were counted, or the rest cannot be read.
    fn finish(self: Box<Self>) -> Result<Option<ContentHash>, String>;
}

/// Error of a row that cannot be read.
pub struct ReadFault {
    /// The row.
    pub place: Option<RowLocation>,
    /// Description of the fault.
    pub what: String,
    /// The remedy.
    pub remedy: Option<String>,
    /// Whether later rows can still be read.
    pub can_go_on: bool,
}

impl ReadFault {
    /// A fault after which nothing can be read.
    pub fn last(what: impl Into<String>) -> ReadFault {
        ReadFault { place: None, what: what.into(), remedy: None, can_go_on: false }
    }
}
