//! [`Input`]: a table whose rows are counted, and the values that a program needs from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use phineus_bytecode::{Column, Table};

use crate::cell::{self, TableCell};
use crate::content::ContentHash;
use crate::error::{Error, RowLocation, TableFaults};
use crate::header::places_in;
use crate::rows::shown_columns;
use crate::source::{RowReader, TableHeader, TableSource};
use crate::text::TextCounts;
use crate::text_key::TextKey;

/// The names of columns in a table, by the names that the program gives them, where they differ.
pub type Names = BTreeMap<String, String>;

/// A table whose form is right, and how many rows it has.
#[derive(Clone)]
pub struct Input {
    /// The table.
    pub source: Arc<dyn TableSource>,
    /// Rows that enter the computation.
    pub rows: u64,
    /// Columns that have other names in the table.
    pub names: Names,
    /// Rows of the table that are left out because they repeat others: ascending, from 0.
    pub repeated: Vec<u32>,
    /// Hash of the content when the rows were counted; `None` if they were not counted.
    pub hash: Option<ContentHash>,
    /// Bytes of memory that reading takes beyond a few hundred KiB.
    pub buffer_bytes: u64,
}

/// The rows of an input, the place of each in its table, and notes for its owner.
pub struct ReadInput {
    /// The values.
    pub table: Table,
    /// The line or the number of each row, from 1 on.
    pub lines: Vec<u32>,
    /// Notes for the owner about unusual text.
    pub notes: Vec<String>,
}

/// The fault of a table whose rows are not those that were counted.
const CHANGED: &str = "changed while it was being read";

impl Input {
    /// The place of row `row` of those that were read, whose numbers are in `lines`.
    pub(crate) fn place(&self, row: u32, lines: &[u32]) -> RowLocation {
        let number = lines.get(row as usize).copied().unwrap_or(row + 1).into();
        let reader = self.source.open();
        match reader.is_ok_and(|reader| matches!(reader.header(), TableHeader::Named(_, Some(_)))) {
            true => RowLocation::Line(number),
            false => RowLocation::Row(number),
        }
    }

    /// Counts the rows of a table, and checks all that can be checked without knowing the types.
    ///
    /// # Errors
    /// The faults of its form.
    pub fn count(source: Arc<dyn TableSource>) -> Result<Input, Error> {
        let survey = source.survey()?;
        let (rows, hash) = (survey.rows, survey.hash);
        Ok(Input { buffer_bytes: survey.buffer_bytes, hash, ..Input::of(source, rows) })
    }

    /// A table that is known to have `rows` rows.
    pub fn of(source: Arc<dyn TableSource>, rows: u64) -> Input {
        let (names, repeated) = (Names::new(), Vec::new());
        Input { source, rows, names, repeated, hash: None, buffer_bytes: 0 }
    }

    /// Returns whether its content is the one whose rows were counted: reads all of it.
    pub fn is_unchanged(&self) -> bool {
        self.hash.is_none_or(|hash| self.source.still_has(&hash))
    }

    /// The table's name of a column.
    pub fn name_of<'a>(&'a self, wanted: &'a str) -> &'a str {
        self.names.get(wanted).map_or(wanted, String::as_str)
    }

    /// Number of rows in the table, those that are left out included.
    pub fn table_rows(&self) -> u64 {
        self.rows + self.repeated.len() as u64
    }

    /// Reads `columns`; others in the table are ignored. Texts are hashed under `text_key`. `stated` are
    /// the values that a program states for a column: they are named if a number is too large for it.
    ///
    /// # Errors
    /// Columns that are missing, and the first cells that a column cannot hold, with their rows; a table
    /// that changed after it was counted.
    pub fn read(
        &self,
        columns: &[Column],
        stated: &[Option<String>],
        text_key: &TextKey,
    ) -> Result<ReadInput, Error> {
        self.read_with((columns, stated), &[], text_key)
    }

    /// As [`Input::read`], for a table whose rows are shown beside results: columns that are only shown are
    /// decoded in the same pass, so that one that cannot be is found before anything is computed.
    ///
    /// # Errors
    /// As [`Input::read`], and columns that cannot be decoded.
    pub fn read_shown(
        &self,
        columns: &[Column],
        stated: &[Option<String>],
        text_key: &TextKey,
    ) -> Result<ReadInput, Error> {
        let shown = shown_columns(&*self.source.open()?).map_or(Vec::new(), |(_, places)| places);
        self.read_with((columns, stated), &shown, text_key)
    }

    /// Reads `columns`, and decodes those at the places `shown`.
    fn read_with(
        &self,
        (columns, stated): (&[Column], &[Option<String>]),
        shown: &[usize],
        text_key: &TextKey,
    ) -> Result<ReadInput, Error> {
        let mut faults = TableFaults::new(self.source.name());
        let mut reader = self.source.open()?;
        let places = places_in(&reader.header(), self, columns, &mut faults);
        for (column, &place) in columns.iter().zip(&places) {
            if let Some(is) = reader.unsupported(place) {
                faults.add_cell(None, self.name_of(&column.name), format!("holds {is}"));
            }
        }
        if !places.is_empty()
            && let Err(what) = reader.select(&[&places, shown].concat())
        {
            faults.add(None, what);
        }
        faults.check()?;
        let mut rows = InputRows {
            input: self,
            columns,
            stated,
            text_key,
            // Made at its size, so that it takes no more than that.
            table: Table::zeros(columns.to_vec(), self.rows),
            lines: Vec::with_capacity(self.rows.min(1 << 32) as usize),
            tally: TextCounts::new(columns),
        };
        if !places.is_empty() {
            rows.read_all(&mut *reader, &places, &mut faults);
        }
        let InputRows { table, lines, tally, .. } = rows;
        // A table without columns has no places, and no rows to read.
        let is_short = lines.len() as u64 != self.rows && !columns.is_empty();
        if faults.is_empty() && !places.is_empty() {
            match reader.finish() {
                // Other rows than were counted, or others in the places of those that are left out.
                Ok(hash) if is_short || self.hash.is_some_and(|counted| hash != Some(counted)) => {
                    faults.add(None, CHANGED);
                }
                Ok(_) => {}
                Err(what) => faults.add(None, what),
            }
        }
        faults.check()?;
        let names: Vec<&str> = columns.iter().map(|column| self.name_of(&column.name)).collect();
        let notes = tally.notes(&self.source.name(), &names);
        Ok(ReadInput { table, lines, notes })
    }
}

/// The rows of an input as they are read.
struct InputRows<'a> {
    input: &'a Input,
    columns: &'a [Column],
    stated: &'a [Option<String>],
    text_key: &'a TextKey,
    table: Table,
    lines: Vec<u32>,
    tally: TextCounts<'a>,
}

impl InputRows<'_> {
    /// Reads all rows; `places` are where the columns stand.
    fn read_all(&mut self, reader: &mut dyn RowReader, places: &[usize], faults: &mut TableFaults) {
        let mut repeated = self.input.repeated.iter().map(|row| u64::from(*row)).peekable();
        let mut row_in_table = 0;
        loop {
            match reader.advance() {
                Ok(false) => return,
                Ok(true) => {}
                Err(fault) => {
                    faults.add(fault.place, fault.what);
                    fault.remedy.into_iter().for_each(|remedy| faults.advise(remedy));
                    match fault.can_go_on {
                        true => continue,
                        false => return,
                    }
                }
            }
            if row_in_table == self.input.table_rows() {
                faults.add(Some(reader.place()), "is a row more than there were a moment ago");
                return;
            }
            row_in_table += 1;
            if repeated.next_if_eq(&(row_in_table - 1)).is_none() {
                self.read_row(reader, places, faults);
            }
        }
    }

    /// Converts the cells of a row.
    fn read_row(&mut self, reader: &dyn RowReader, places: &[usize], faults: &mut TableFaults) {
        let (row, place) = (self.lines.len() as u64, reader.place());
        for (index, (column, &position)) in self.columns.iter().zip(places).enumerate() {
            let cell = reader.cell(position);
            if let TableCell::Text(text) = &cell {
                self.tally.add(index, text, place);
            }
            match cell.value(column, self.text_key) {
                Ok(value) => self.table.set_cell(row, index, value),
                Err(what) => {
                    let stated = self.stated.get(index).and_then(Option::as_ref);
                    let what = cell::outside(&cell, column, stated).unwrap_or(what);
                    faults.add_cell(Some(place), self.input.name_of(&column.name), what);
                }
            }
        }
        self.lines.push(place.number().min(u64::from(u32::MAX)) as u32);
    }
}

#[cfg(test)]
mod tests;
