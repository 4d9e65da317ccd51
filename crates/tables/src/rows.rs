//! [`OwnRows`]: the rows of an input as text, read once more to be shown beside results.

use crate::cell::TableCell;
use crate::error::{Error, RefusalKind};
use crate::input::Input;
use crate::source::{RowReader, TableHeader};

/// The rows that an owner brought, as they stand in the table; rows that were left out are passed.
pub struct OwnRows<'a> {
    input: &'a Input,
    reader: Box<dyn RowReader + 'a>,
    /// The names of the columns; none if they have none, and rows are shown by their numbers.
    names: Option<Vec<String>>,
    table_row: u64,
}

impl<'a> OwnRows<'a> {
    /// Opens the table again.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn open(input: &'a Input) -> Result<OwnRows<'a>, Error> {
        let mut reader = input.source.open()?;
        let names = match reader.header() {
            TableHeader::Named(names, _) => Some(names.to_vec()),
            TableHeader::Numbered(_) => None,
        };
        let all: Vec<usize> = (0..names.as_ref().map_or(0, Vec::len)).collect();
        reader.select(&all).map_err(|what| changed(input, &what))?;
        Ok(OwnRows { input, reader, names, table_row: 0 })
    }

    /// The names of the columns.
    pub fn header(&self) -> Vec<String> {
        self.names.clone().unwrap_or_else(|| vec!["row".to_owned()])
    }

    /// The next row, as many fields as the header has.
    ///
    /// # Errors
    /// If the table changed since it was read.
    pub fn next_row(&mut self) -> Result<Vec<String>, Error> {
        loop {
            let row = self.table_row;
            self.table_row += 1;
            match self.reader.advance() {
                Ok(true) => {}
                Ok(false) => return Err(changed(self.input, "it has fewer rows")),
                Err(fault) => return Err(changed(self.input, &fault.what)),
            }
            let is_left_out =
                u32::try_from(row).is_ok_and(|row| self.input.repeated.binary_search(&row).is_ok());
            if is_left_out {
                continue;
            }
            let Some(names) = &self.names else { return Ok(vec![row.to_string()]) };
            let shown = |column| match self.reader.unsupported(column) {
                Some(_) => String::new(),
                None => match self.reader.cell(column) {
                    TableCell::Text(text) => text.into_owned(),
                    cell => cell.shown(),
                },
            };
            return Ok((0..names.len()).map(shown).collect());
        }
    }

    /// Makes sure, after the last row, that all were those of the table that was counted.
    ///
    /// # Errors
    /// If the table changed since then.
    pub fn finish(self) -> Result<(), Error> {
        let Some(hash) = self.input.hash else { return Ok(()) };
        match self.reader.finish() {
            Ok(None) => Ok(()),
            Ok(Some(read)) if read == hash => Ok(()),
            Ok(Some(_)) => Err(changed(self.input, "it has other rows")),
            Err(error) => Err(changed(self.input, &error)),
        }
    }
}

fn changed(input: &Input, what: &str) -> Error {
    let what = format!("changed while it was computed on: {what}");
    Error::refused(RefusalKind::Changed, input.source.name(), what)
        .remedy("run again with the file as it was: results are shown beside its rows")
}
