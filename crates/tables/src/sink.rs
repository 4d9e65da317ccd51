//! [`TableSink`]: destination of a result, in any format.

use std::io::Write;
use std::path::Path;

use phineus_bytecode::{Column, Lane, Table};

#[cfg(feature = "arrow")]
use crate::arrow::write as arrow;
use crate::cell::{CellType, TableCell};
use crate::csv::write as csv;
use crate::error::Error;
use crate::npy;

/// Receives a result row by row.
///
/// Implement this for a format or a database of your own.
pub trait TableSink {
    /// Receives the header, before the first row.
    ///
    /// # Errors
    /// If the form cannot hold these columns, or writing fails.
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error>;

    /// Receives a row: the owner's cells, then a value for each column of the result, or `None` if the row
    /// has no result. A value is the bits of its column's type, of signed ones in two's complement;
    /// [`format_value`](crate::format_value) writes it as text.
    ///
    /// # Errors
    /// If a cell is not of its column's type, or writing fails.
    fn row(&mut self, own: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error>;

    /// Finishes, after the last row.
    ///
    /// # Errors
    /// If writing fails.
    fn end(&mut self) -> Result<(), Error>;
}

/// The columns of a result.
pub struct ResultHeader<'a> {
    /// The owner's columns, if the result stands beside the owner's rows.
    pub own: &'a [OwnColumn],
    /// The columns of the result.
    pub columns: &'a [Column],
    /// Number of rows.
    pub rows: u64,
}

/// A column of the owner's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnColumn {
    /// As the owner's table has it, without spaces around it.
    pub name: String,
    /// The type of all its cells that are not null.
    pub cell_type: CellType,
}

impl ResultHeader<'_> {
    /// All names, in order. A column of the result whose name the owner has already used begins with
    /// `result.`.
    pub fn names(&self) -> Vec<String> {
        let own = self.own.iter().map(|own| own.name.clone());
        let result = self.columns.iter().map(|Column { name, .. }| {
            match self.own.iter().any(|own| own.name == *name) {
                true => format!("result.{name}"),
                false => name.clone(),
            }
        });
        own.chain(result).collect()
    }
}

/// The format of a result's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// An array of numbers as NumPy has it.
    Npy,
    /// A Parquet file.
    #[cfg(feature = "arrow")]
    Parquet,
    /// A file of Arrow's record batches (Feather 2).
    #[cfg(feature = "arrow")]
    ArrowFile,
    /// A stream of Arrow's record batches.
    #[cfg(feature = "arrow")]
    ArrowStream,
}

impl Format {
    /// The format with this extension.
    pub fn named(extension: &str) -> Option<Format> {
        Format::ALL.iter().find(|(name, _)| *name == extension).map(|(_, format)| *format)
    }

    /// The format of a file with this name, by its extension; CSV if the extension is not known.
    pub fn of(path: &Path) -> Format {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let extension = if extension == "feather" { "arrow" } else { &extension };
        Format::named(extension).unwrap_or(Format::Csv)
    }

    /// All formats, by the extension of their files.
    pub const ALL: &'static [(&'static str, Format)] = &[
        ("csv", Format::Csv),
        ("npy", Format::Npy),
        #[cfg(feature = "arrow")]
        ("parquet", Format::Parquet),
        #[cfg(feature = "arrow")]
        ("arrow", Format::ArrowFile),
        #[cfg(feature = "arrow")]
        ("arrows", Format::ArrowStream),
    ];

    /// Returns whether it can show the owner's rows beside the results, and rows without a result.
    pub fn shows_own_rows(self) -> bool {
        match self {
            Format::Csv => true,
            Format::Npy => false,
            #[cfg(feature = "arrow")]
            Format::Parquet | Format::ArrowFile | Format::ArrowStream => true,
        }
    }

    /// Checks that it can hold these columns.
    ///
    /// # Errors
    /// The column that the format cannot hold.
    pub fn check(self, columns: &[Column]) -> Result<(), String> {
        match self {
            Format::Csv => Ok(()),
            Format::Npy => npy::numbers_of(columns).map(drop),
            #[cfg(feature = "arrow")]
            Format::Parquet | Format::ArrowFile | Format::ArrowStream => {
                columns.iter().try_for_each(|column| arrow::type_of(column).map(drop))
            }
        }
    }

    /// Bytes of the longest file that such a result can give, without the text of the owner's rows.
    pub fn longest_bytes(self, columns: &[Column], rows: u64) -> u64 {
        match self {
            Format::Csv => csv::longest_bytes(columns, rows),
            Format::Npy => npy::file_bytes(columns, rows),
            #[cfg(feature = "arrow")]
            Format::Parquet | Format::ArrowFile | Format::ArrowStream => {
                arrow::longest_bytes(columns, rows)
            }
        }
    }
}

/// A sink that writes `format`.
pub fn sink<'a>(format: Format, output: &'a mut (dyn Write + Send)) -> Box<dyn TableSink + 'a> {
    match format {
        Format::Csv => Box::new(csv::CsvSink::new(output)),
        Format::Npy => Box::new(npy::NumpySink::new(output)),
        #[cfg(feature = "arrow")]
        Format::Parquet => Box::new(crate::parquet::ParquetSink::new(output)),
        #[cfg(feature = "arrow")]
        Format::ArrowFile => Box::new(arrow::ArrowSink::new(output, false)),
        #[cfg(feature = "arrow")]
        Format::ArrowStream => Box::new(arrow::ArrowSink::new(output, true)),
    }
}

/// Writes a whole table, without an owner's rows.
///
/// # Errors
/// If the sink cannot hold its columns, or writing fails.
pub fn write_table(table: &Table, sink: &mut dyn TableSink) -> Result<(), Error> {
    let columns = table.columns();
    sink.begin(&ResultHeader { own: &[], columns, rows: table.row_count() })?;
    let mut values = vec![None; columns.len()];
    for row in 0..table.row_count() {
        for (place, value) in values.iter_mut().enumerate() {
            *value = Some(table.cell(row, place));
        }
        sink.row(&[], &values)?;
    }
    sink.end()
}

#[cfg(test)]
mod tests;
