//! Results as CSV.

use std::io::Write;

use phineus_bytecode::{Column, Encoding, Lane};

use crate::cell::{TableCell, format_value};
use crate::error::Error;
use crate::sink::{ResultHeader, TableSink};

/// Writes CSV with a header: numbers in decimal, text in hexadecimal.
pub(crate) struct CsvSink<W: Write> {
    writer: csv::Writer<W>,
    columns: Vec<Column>,
}

impl<W: Write> CsvSink<W> {
    pub(crate) fn new(output: W) -> CsvSink<W> {
        let writer = csv::WriterBuilder::new().from_writer(output);
        CsvSink { writer, columns: Vec::new() }
    }
}

fn failed(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => unreachable!("rows have the header's length and are text: {other:?}"),
    }
}

impl<W: Write> TableSink for CsvSink<W> {
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error> {
        self.columns = head.columns.to_vec();
        self.writer.write_record(head.names()).map_err(failed)
    }

    fn row(&mut self, own: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error> {
        for cell in own {
            match cell {
                TableCell::Text(text) => self.writer.write_field(text.as_bytes()),
                other => self.writer.write_field(other.shown()),
            }
            .map_err(failed)?;
        }
        for (value, column) in values.iter().zip(&self.columns) {
            let text = value.map_or(String::new(), |value| format_value(value, column));
            self.writer.write_field(text).map_err(failed)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(failed)
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(self.writer.flush()?)
    }
}

/// Bytes of the longest CSV that rows of these columns can give, the header left out.
pub(crate) fn longest_bytes(columns: &[Column], rows: u64) -> u64 {
    let longest = |column: &Column| match column.encoding {
        // A sign, a digit for each 3.3 bits, a separator.
        Encoding::Number => u64::from(column.element.width()) * 31 / 100 + 3,
        Encoding::Hex | Encoding::Text => u64::from(column.element.width()).div_ceil(4) + 1,
        // Besides these a point, and a digit before it and one more behind.
        Encoding::Fixed(fraction) => {
            let (width, fraction) = (column.element.width(), u16::from(fraction));
            u64::from(width.max(fraction)) * 31 / 100 + 7
        }
        Encoding::Float => crate::float::TEXT_BYTES_MAX + 1,
    };
    columns.iter().map(longest).sum::<u64>().saturating_mul(rows)
}
