//! Tables in NumPy's format (`.npy`): numbers in binary, for inputs and outputs that are large.
//!
//! Source: NumPy's `numpy.lib.format` (NEP 1), versions 1.0, 2.0 and 3.0. Of it are taken: integers of
//! 8 to 64 bits, booleans, and floating-point numbers of 16 to 64 bits, little-endian, in C order, of one
//! dimension (a column) or two (rows and columns). Columns have no names: they are those of the input, in its order, and must be as many,
//! unless `--column` gives their numbers.
//!
//! Cost: one pass, row by row, through a buffer of [`BUFFER_BYTES`]; memory is the packed table,
//! and 4 bytes for each row that is read.
//! Invariants: a value that its column cannot hold is refused with its row and column; so is a file
//! that is longer or shorter than its header says. `header` reads foreign bytes and never panics.

mod header;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use phineus_bytecode::float::{bits_of, number_of};
use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane};
use zeroize::Zeroizing;

pub(crate) use header::MAGIC;
use header::{NpyHeader, NumberKind, Numbers};

use crate::cell::{TableCell, WholeNumber};
use crate::content::{Content, ContentHash, ContentReader};
use crate::csv::ROW_BYTES_MAX;
use crate::error::{Error, RefusalKind, RowLocation, TableFaults};
use crate::sink::{ResultHeader, TableSink};
use crate::source::{self, ReadFault, RowReader, Survey, TableSource};

/// Bytes that are read or written at once: a long row, or many short ones.
const BUFFER_BYTES: usize = 64 * 1024;

/// A file in NumPy's format.
pub(crate) struct NumpyFile(Content);

impl NumpyFile {
    pub(crate) fn new(content: Content) -> NumpyFile {
        NumpyFile(content)
    }

    /// The header, and the bytes behind it.
    fn header(&self) -> Result<(NpyHeader, ContentReader<'_>), Error> {
        let mut input = self.0.reader()?;
        let refused = |what: String| {
            Error::refused(RefusalKind::Malformed, self.0.name(), what)
                .remedy("write it with numpy.save, as an array of numbers in C order")
        };
        let mut magic = [0; MAGIC.len()];
        if input.read_exact(&mut magic).is_err() || magic != MAGIC {
            return Err(refused("is no .npy file any more".to_owned()));
        }
        let header = NpyHeader::read(&mut input).map_err(refused)?;
        Ok((header, input))
    }
}

impl TableSource for NumpyFile {
    fn name(&self) -> String {
        self.0.name()
    }

    /// Refuses a file that is shorter than its rows: a program is traced for so many before they are read.
    fn survey(&self) -> Result<Survey, Error> {
        let (header, input) = self.header()?;
        let bytes = header.rows * header.columns * header.numbers.bytes as u64;
        if self.0.length_bytes().is_some_and(|length| length < bytes) {
            let mut faults = TableFaults::new(self.name());
            faults.add(None, ends_before(header.rows));
            faults.check()?;
        }
        Ok(Survey { rows: header.rows, hash: Some(input.finish()?), buffer_bytes: 0 })
    }

    fn open(&self) -> Result<Box<dyn RowReader + '_>, Error> {
        let (header, input) = self.header()?;
        let (buffer, next) = (Zeroizing::default(), 0);
        Ok(Box::new(NumpyRows { header, input, buffer, position: 0, next }))
    }

    fn still_has(&self, hash: &ContentHash) -> bool {
        self.0.still_has(hash)
    }
}

fn ends_before(rows: u64) -> String {
    format!("ends before its {rows} rows do")
}

/// Reads the rows of such a file.
struct NumpyRows<'a> {
    header: NpyHeader,
    input: ContentReader<'a>,
    /// Whole rows.
    buffer: Zeroizing<Vec<u8>>,
    /// Where in the buffer the row begins.
    position: usize,
    /// Number of the next row.
    next: u64,
}

impl NumpyRows<'_> {
    fn row_bytes(&self) -> u64 {
        self.header.columns.saturating_mul(self.header.numbers.bytes as u64)
    }
}

impl RowReader for NumpyRows<'_> {
    fn header(&self) -> source::TableHeader<'_> {
        source::TableHeader::Numbered(self.header.columns)
    }

    fn select(&mut self, columns: &[usize]) -> Result<(), String> {
        let wanted = (columns.len() * self.header.numbers.bytes) as u64;
        match self.row_bytes() > ROW_BYTES_MAX.max(wanted) {
            true => Err(format!(
                "has {} columns, and a row may be {} MiB",
                self.header.columns,
                ROW_BYTES_MAX >> 20
            )),
            false => Ok(()),
        }
    }

    fn advance(&mut self) -> Result<bool, ReadFault> {
        if self.next == self.header.rows {
            return Ok(false);
        }
        let row_bytes = self.row_bytes() as usize;
        self.position += row_bytes;
        if self.position >= self.buffer.len() {
            let at_once = (BUFFER_BYTES / row_bytes).max(1) as u64;
            let count = at_once.min(self.header.rows - self.next) as usize;
            self.buffer.resize(count * row_bytes, 0);
            self.position = 0;
            let read = self.input.read_exact(&mut self.buffer);
            read.map_err(|_| ReadFault::last(ends_before(self.header.rows)))?;
        }
        self.next += 1;
        Ok(true)
    }

    fn place(&self) -> RowLocation {
        RowLocation::Row(self.next)
    }

    fn cell(&self, column: usize) -> TableCell<'_> {
        let size = self.header.numbers.bytes;
        let bytes = &self.buffer[self.position + column * size..][..size];
        number(bytes, self.header.numbers)
    }

    fn finish(mut self: Box<Self>) -> Result<Option<ContentHash>, String> {
        if self.next == self.header.rows && !matches!(self.input.read(&mut [0]), Ok(0)) {
            let rows = self.header.rows;
            return Err(format!("has data after the {rows} rows that its header declares"));
        }
        self.input.finish().map(Some).map_err(|error| error.to_string())
    }
}

/// A number as it lies in a file.
fn number(bytes: &[u8], numbers: Numbers) -> TableCell<'static> {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let pattern = u64::from_le_bytes(wide);
    let width = 8 * bytes.len() as u16;
    let unused = 64 - width;
    match (numbers.kind, width) {
        (NumberKind::Signed, _) => TableCell::Integer(WholeNumber::from(i128::from(
            ((pattern << unused) as i64) >> unused,
        ))),
        (NumberKind::Unsigned, _) => TableCell::Integer(WholeNumber::from(pattern)),
        (NumberKind::Float, 16) => TableCell::Half(number_of(pattern, width) as f32),
        (NumberKind::Float, 32) => TableCell::Single(number_of(pattern, width) as f32),
        (NumberKind::Float, _) => TableCell::Double(number_of(pattern, width)),
    }
}

/// The type in which a table of these columns is written, or why there is none.
pub(crate) fn numbers_of(columns: &[Column]) -> Result<Numbers, String> {
    if let Some(column) = columns.iter().find(|c| matches!(c.encoding, Encoding::Fixed(_))) {
        let name = &column.name;
        return Err(format!(
            "column '{name}' has a fraction, and .npy is written of integers or floating-point numbers"
        ));
    }
    let widths = columns.iter().map(|column| (column, column.element.width()));
    if let Some((column, width)) = widths.clone().find(|(_, width)| *width > 64) {
        return Err(format!("column '{}' has {width} bits, and .npy at most 64", column.name));
    }
    let is_float = |column: &Column| column.encoding == Encoding::Float;
    if columns.iter().any(is_float) {
        if let Some(column) = columns.iter().find(|column| !is_float(column)) {
            let name = &column.name;
            return Err(format!("column '{name}' is of integers beside floating-point numbers"));
        }
        let bits = widths.map(|(_, width)| width).max().unwrap_or(64);
        return Ok(Numbers { bytes: usize::from(bits / 8), kind: NumberKind::Float });
    }
    let signed = columns.iter().any(is_signed);
    // An unsigned value beside signed ones needs a bit more.
    let bits = widths.map(|(column, width)| width + u16::from(signed && !is_signed(column)));
    let bits = bits.max().unwrap_or(1);
    let kind = if signed { NumberKind::Signed } else { NumberKind::Unsigned };
    match [8u16, 16, 32, 64].into_iter().find(|&size| bits <= size) {
        Some(size) => Ok(Numbers { bytes: usize::from(size / 8), kind }),
        None => Err("has signed columns and unsigned ones of 64 bits".to_owned()),
    }
}

fn is_signed(column: &Column) -> bool {
    column.encoding == Encoding::Number && column.element.is_signed()
}

/// Bytes of the file that such a table makes, all columns being as wide as the widest one; of one
/// that makes none, nothing.
pub(crate) fn file_bytes(columns: &[Column], rows: u64) -> u64 {
    let Ok(numbers) = numbers_of(columns) else { return 0 };
    let header = NpyHeader { numbers, rows, columns: columns.len() as u64 };
    let cells = rows.saturating_mul(columns.len() as u64);
    cells.saturating_mul(numbers.bytes as u64).saturating_add(header.bytes().len() as u64)
}

/// Writes an array of the rows; of one column, one of one dimension.
pub(crate) struct NumpySink<W: Write> {
    output: W,
    columns: Vec<Column>,
    value_bytes: usize,
    buffer: Zeroizing<Vec<u8>>,
}

impl<W: Write> NumpySink<W> {
    pub(crate) fn new(output: W) -> NumpySink<W> {
        let buffer = Zeroizing::new(Vec::with_capacity(BUFFER_BYTES + 8));
        NumpySink { output, columns: Vec::new(), value_bytes: 0, buffer }
    }
}

impl<W: Write> TableSink for NumpySink<W> {
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error> {
        assert!(head.own.is_empty(), "an array of numbers has no text");
        let refused = |what: String| {
            Error::refused(RefusalKind::NotWritable, "the result", what).remedy("write it as .csv")
        };
        let numbers = numbers_of(head.columns).map_err(refused)?;
        let header = NpyHeader { numbers, rows: head.rows, columns: head.columns.len() as u64 };
        (self.columns, self.value_bytes) = (head.columns.to_vec(), numbers.bytes);
        Ok(self.output.write_all(&header.bytes())?)
    }

    /// A row without a result is zeros.
    fn row(&mut self, _: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error> {
        for (value, column) in values.iter().zip(&self.columns) {
            let value = value.unwrap_or_default();
            let bytes: [u8; 32] = match column.encoding {
                Encoding::Float => {
                    let number = number_of(value.as_limbs()[0], column.element.width());
                    Lane::from(bits_of(number, 8 * self.value_bytes as u16)).to_le_bytes()
                }
                Encoding::Number | Encoding::Hex | Encoding::Text | Encoding::Fixed(_) => {
                    extended(value, column).to_le_bytes()
                }
            };
            self.buffer.extend_from_slice(&bytes[..self.value_bytes]);
            if self.buffer.len() >= BUFFER_BYTES {
                self.output.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(self.output.flush()?)
    }
}

/// The value with its sign in all bits.
fn extended(value: Lane, column: &Column) -> Lane {
    let ElementType::Bits { width, .. } = column.element else {
        unreachable!("tables hold bits only");
    };
    match is_signed(column) && value.bit(usize::from(width) - 1) {
        true => value | !mask_of(width),
        false => value,
    }
}
