//! Tables in NumPy's format (`.npy`): integers in binary, for inputs and outputs that are large.
//!
//! Source: NumPy's `numpy.lib.format` (NEP 1), versions 1.0, 2.0 and 3.0. Of it are taken: integers of
//! 8 to 64 bits and booleans, little-endian, in C order, of one dimension (a column) or two (rows and
//! columns). Columns have no names: they are those of the input, in its order, and must be as many,
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
use std::path::Path;

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use zeroize::Zeroizing;

pub(crate) use header::{Header, Numbers};

use crate::csv_input::{
    CHANGED, ContentHash, Counted, Faults, ROW_BYTES_MAX, ReadInput, Source, SourceReader,
};
use crate::failure::{Failure, codes};

/// Bytes that are read or written at once: a long row, or many short ones.
const BUFFER_BYTES: usize = 64 * 1024;

/// Whether a file of this name is to be written in this format.
pub(crate) fn is_named(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

/// A header, and the bytes behind it.
type Opened<'a> = (Header, SourceReader<'a>);

/// The header, if this is such a file by its first bytes, and the bytes behind it.
pub(crate) fn open(source: &Source) -> Result<Option<Opened<'_>>, Failure> {
    let mut input = source.reader()?;
    let mut magic = [0; header::MAGIC.len()];
    let mut filled = 0;
    while filled < magic.len() {
        match input.read(&mut magic[filled..])? {
            0 => return Ok(None),
            count => filled += count,
        }
    }
    if magic != header::MAGIC {
        return Ok(None);
    }
    let refused = |what: String| {
        let message = format!("{}: {what}", source.name());
        Failure::new(codes::NUMPY, message)
            .remedy("write it with numpy.save, as an array of integers in C order")
    };
    let header = Header::read(&mut input).map_err(refused)?;
    Ok(Some((header, input)))
}

/// The rows that the header says, if this is such a file and is as long as they are: a program is traced
/// for so many before they are read. With them, the hash of the file.
pub(crate) fn count_rows(source: &Source) -> Result<Option<(u64, ContentHash)>, Failure> {
    let Some((header, input)) = open(source)? else { return Ok(None) };
    let bytes = header.rows * header.columns * header.numbers.bytes as u64;
    if source.length_bytes().is_some_and(|length| length < bytes) {
        let mut faults = Faults::new(source);
        faults.add(None, &ends_before(header.rows));
        faults.check()?;
    }
    Ok(Some((header.rows, input.finish()?)))
}

fn ends_before(rows: u64) -> String {
    format!("ends before its {rows} rows do")
}

/// Reads the columns that an input wants. With each row, its number, from 1 on.
pub(crate) fn read_table(
    counted: &Counted,
    (header, mut input): Opened<'_>,
    columns: &[Column],
) -> Result<ReadInput, Failure> {
    let mut faults = Faults::new(&counted.source);
    let rows = counted.file_rows();
    if let Some((column, kind)) = columns.iter().find_map(|c| Some((c, no_integer(c)?))) {
        let what = format!("column '{}' is {kind}, and such a file holds integers", column.name);
        faults.add(None, &what);
    }
    let places = places(counted, &header, columns, &mut faults);
    if header.rows != rows {
        faults.add(None, CHANGED);
    }
    faults.check()?;
    let mut table = Table::zeros(columns.to_vec(), counted.rows);
    let size = header.numbers.bytes;
    let row_bytes = size * header.columns as usize;
    let at_once = (BUFFER_BYTES / row_bytes).max(1);
    let mut buffer = Zeroizing::new(vec![0; at_once * row_bytes]);
    let mut repeated = counted.repeated.iter().map(|row| u64::from(*row)).peekable();
    let mut lines = Vec::with_capacity(counted.rows as usize);
    for first in (0..rows).step_by(at_once) {
        let count = (rows - first).min(at_once as u64) as usize;
        let bytes = &mut buffer[..count * row_bytes];
        if input.read_exact(bytes).is_err() {
            faults.add(None, &ends_before(rows));
            break;
        }
        for (row, bytes) in (first..).zip(bytes.chunks_exact(row_bytes)) {
            if repeated.next_if_eq(&row).is_some() {
                continue;
            }
            let target = lines.len() as u64;
            for (index, (column, &place)) in columns.iter().zip(&places).enumerate() {
                let bytes = &bytes[place * size..][..size];
                match value(bytes, header.numbers, column) {
                    Some(value) => table.set_cell(target, index, value),
                    None => faults.add(None, &misfit(bytes, header.numbers, row, column)),
                }
            }
            lines.push((row + 1).min(u64::from(u32::MAX)) as u32);
        }
    }
    if faults.is_empty() && !matches!(input.read(&mut [0]), Ok(0)) {
        faults.add(None, &format!("has data after the {rows} rows that its header declares"));
    }
    let is_counted = |hash| input.finish().is_ok_and(|read| read == hash);
    if faults.is_empty() && !counted.hash.is_none_or(is_counted) {
        faults.add(None, CHANGED);
    }
    faults.check()?;
    Ok(ReadInput { table, lines, notes: Vec::new() })
}

/// Which columns of the file are wanted: all, in the order of the input, or with `--column` those
/// with the numbers that it gives, from 0 on. Those that it does not give have their own place.
fn places(
    counted: &Counted,
    header: &Header,
    columns: &[Column],
    faults: &mut Faults,
) -> Vec<usize> {
    let (found, wanted) = (header.columns, columns.len());
    if counted.names.is_empty() && found != wanted as u64 {
        let what = format!("has {found} columns, and what is computed has {wanted}");
        faults.add(None, &what);
        faults
            .advise("give as many columns, or say with --column NAME=NUMBER which ones, from 0 on");
        return Vec::new();
    }
    let row_bytes = found.saturating_mul(header.numbers.bytes as u64);
    if row_bytes > ROW_BYTES_MAX.max((wanted * header.numbers.bytes) as u64) {
        faults.add(
            None,
            &format!("has {found} columns, and a row may be {} MiB", ROW_BYTES_MAX >> 20),
        );
        return Vec::new();
    }
    let mut places = Vec::with_capacity(wanted);
    for (own, column) in columns.iter().enumerate() {
        let place = match counted.names.get(&column.name) {
            None => Some(own),
            Some(text) => text.parse().ok(),
        };
        match place.filter(|place| (*place as u64) < found) {
            Some(place) => places.push(place),
            None => {
                let name = &column.name;
                let number = counted.names.get(name).cloned().unwrap_or_else(|| own.to_string());
                let what = format!(
                    "has no column '{number}' for '{name}': columns of .npy files have numbers, here \
                     0 to {}",
                    found.saturating_sub(1)
                );
                faults.add(None, &what);
                faults.advise(format!("give the number with --column {name}=NUMBER"));
            }
        }
    }
    places
}

/// What a column is whose values are no integers, and would be mistaken for them.
fn no_integer(column: &Column) -> Option<&'static str> {
    match column.encoding {
        Encoding::Text => Some("text"),
        Encoding::Fixed(_) => Some("a number with a fraction"),
        Encoding::Number | Encoding::Hex => None,
    }
}

/// A number as it lies in a file: its magnitude, and whether it is negative.
fn number(bytes: &[u8], numbers: Numbers) -> (u64, bool) {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let pattern = u64::from_le_bytes(wide);
    let unused = 64 - 8 * bytes.len() as u32;
    let signed = ((pattern << unused) as i64) >> unused;
    match numbers.signed && signed < 0 {
        true => (signed.unsigned_abs(), true),
        false => (pattern, false),
    }
}

/// The value, if the column can hold it.
fn value(bytes: &[u8], numbers: Numbers, column: &Column) -> Option<Lane> {
    let (magnitude, negative) = number(bytes, numbers);
    let (width, is_signed) = (u32::from(column.element.width()), column.element.is_signed());
    // A pattern of bits may fill a signed type.
    let sign_bits = u32::from(is_signed && column.encoding != Encoding::Hex);
    let bits = width - sign_bits;
    if negative {
        let fits = sign_bits == 1 && (bits >= 64 || magnitude <= 1 << bits);
        return fits.then(|| Lane::from(magnitude).wrapping_neg() & mask_of(width as u16));
    }
    (bits >= 64 || magnitude >> bits == 0).then(|| Lane::from(magnitude))
}

fn misfit(bytes: &[u8], numbers: Numbers, row: u64, column: &Column) -> String {
    let (magnitude, negative) = number(bytes, numbers);
    let sign = if negative { "-" } else { "" };
    let (name, element) = (&column.name, column.element);
    format!("row {}, column '{name}': {sign}{magnitude} does not fit into {element}", row + 1)
}

/// The type in which a table of these columns is written, or why there is none.
pub(crate) fn numbers_of(columns: &[Column]) -> Result<Numbers, String> {
    if let Some(column) = columns.iter().find(|c| matches!(c.encoding, Encoding::Fixed(_))) {
        let name = &column.name;
        return Err(format!("column '{name}' has a fraction, and .npy is written of integers"));
    }
    let widths = columns.iter().map(|column| (column, column.element.width()));
    if let Some((column, width)) = widths.clone().find(|(_, width)| *width > 64) {
        return Err(format!("column '{}' has {width} bits, and .npy at most 64", column.name));
    }
    let signed = columns.iter().any(is_signed);
    // An unsigned value beside signed ones needs a bit more.
    let bits = widths.map(|(column, width)| width + u16::from(signed && !is_signed(column)));
    let bits = bits.max().unwrap_or(1);
    match [8u16, 16, 32, 64].into_iter().find(|&size| bits <= size) {
        Some(size) => Ok(Numbers { bytes: usize::from(size / 8), signed }),
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
    let header = Header { numbers, rows, columns: columns.len() as u64 };
    let cells = rows.saturating_mul(columns.len() as u64);
    cells.saturating_mul(numbers.bytes as u64).saturating_add(header.bytes().len() as u64)
}

/// Writes `table` as an array of its rows; of one column, as one of one dimension.
pub(crate) fn write_table(table: &Table, mut output: impl Write) -> Result<(), Failure> {
    let columns = table.columns();
    let refused = |what| Failure::new(codes::OUTPUT_FORMAT, what).remedy("write it as .csv");
    let numbers = numbers_of(columns).map_err(refused)?;
    let header = Header { numbers, rows: table.row_count(), columns: columns.len() as u64 };
    output.write_all(&header.bytes())?;
    let mut buffer = Zeroizing::new(Vec::with_capacity(BUFFER_BYTES + 8));
    for row in 0..table.row_count() {
        for (place, column) in columns.iter().enumerate() {
            let bytes: [u8; 32] = extended(table.cell(row, place), column).to_le_bytes();
            buffer.extend_from_slice(&bytes[..numbers.bytes]);
            if buffer.len() >= BUFFER_BYTES {
                output.write_all(&buffer)?;
                buffer.clear();
            }
        }
    }
    Ok(output.write_all(&buffer)?)
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
