//! [`OwnRows`]: the rows of an input, read once more to be shown beside results.

use crate::cell::{CellType, TableCell, WholeNumber};
use crate::error::{Error, RefusalKind};
use crate::input::Input;
use crate::sink::OwnColumn;
use crate::source::{RowReader, TableHeader};

/// The rows that an owner brought, as they stand in the table; rows that were left out are passed.
pub struct OwnRows<'a> {
    input: &'a Input,
    reader: Box<dyn RowReader + 'a>,
    /// The columns that are shown, and where they are in the table; none if they have no names, and rows are
    /// shown by their numbers.
    shown: Option<(Vec<OwnColumn>, Vec<usize>)>,
    table_row: u64,
}

impl<'a> OwnRows<'a> {
    /// Opens the table again.
    ///
    /// # Errors
    /// If it cannot be read any more.
    pub fn open(input: &'a Input) -> Result<OwnRows<'a>, Error> {
        let mut reader = input.source.open()?;
        let shown = shown_columns(&*reader);
        let places = shown.as_ref().map_or(&[][..], |(_, places)| places);
        reader.select(places).map_err(|what| changed(input, &what))?;
        Ok(OwnRows { input, reader, shown, table_row: 0 })
    }

    /// The columns that are shown.
    pub fn columns(&self) -> Vec<OwnColumn> {
        let row = || OwnColumn {
            name: "row".to_owned(),
            cell_type: CellType::Integer { width: 64, is_signed: false },
        };
        self.shown.as_ref().map_or_else(|| vec![row()], |(columns, _)| columns.clone())
    }

    /// The names of the columns that cannot be shown.
    pub fn left_out(&self) -> Vec<String> {
        let (TableHeader::Named(names, _), Some((_, shown))) = (self.reader.header(), &self.shown)
        else {
            return Vec::new();
        };
        let left_out = names.iter().zip(0..).filter(|(_, place)| !shown.contains(place));
        left_out.map(|(name, _)| name.clone()).collect()
    }

    /// The next row, a cell for each column that is shown.
    ///
    /// # Errors
    /// If the table changed since it was read.
    pub fn next_row(&mut self) -> Result<Vec<TableCell<'_>>, Error> {
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
            return Ok(match &self.shown {
                Some((_, places)) => places.iter().map(|&place| self.reader.cell(place)).collect(),
                None => vec![TableCell::Integer(WholeNumber::from(row))],
            });
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

/// The columns that can be shown, and where they are in the table; none if they have no names.
pub(crate) fn shown_columns(reader: &dyn RowReader) -> Option<(Vec<OwnColumn>, Vec<usize>)> {
    let TableHeader::Named(names, _) = reader.header() else { return None };
    let shown = names.iter().zip(0..).filter_map(|(name, place)| {
        let cell_type = reader.cell_type(place)?;
        Some((OwnColumn { name: name.clone(), cell_type }, place))
    });
    Some(shown.unzip())
}

fn changed(input: &Input, what: &str) -> Error {
    let what = format!("changed while it was computed on: {what}");
    Error::refused(RefusalKind::Changed, input.source.name(), what)
        .remedy("run again with the file as it was: results are shown beside its rows")
}
