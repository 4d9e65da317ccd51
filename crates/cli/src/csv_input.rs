//! Input files: CSV with a header, read into typed tables; every fault named by its place. Binary
//! ones are known by their first bytes (`npy`).
//!
//! A file is read twice: once to count its rows, which the program's shape depends on, and once
//! for its values, when the program has said which columns of which type it wants. Memory is the
//! packed table alone.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use csv::{ReaderBuilder, StringRecord};
use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use sha2::{Digest, Sha256};

use crate::decimal;
use crate::failure::{Exit, Failure};
use crate::npy::{self, Header};

/// Faults of one file that are reported.
const FAULTS_MAX: usize = 20;

/// Column names that are shown where one is missing.
const NAMES_MAX: usize = 20;

/// Bytes of a row, which is held whole: as many as 100,000 columns of 20 digits.
const ROW_BYTES_MAX: u64 = 2 << 20;

/// Characters of a wrong value that are shown.
const SHOWN_CHARACTERS: usize = 40;

/// Where the rows of an input come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// A file.
    Path(PathBuf),
    /// What stdin said.
    Bytes(Vec<u8>),
}

impl Source {
    /// The source that an argument names; `-` is stdin, which is read at once.
    pub(crate) fn open(argument: &str) -> Result<Source, Failure> {
        if argument == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(Source::Bytes(bytes));
        }
        Ok(Source::Path(PathBuf::from(argument)))
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Bytes(_) => "stdin".to_owned(),
        }
    }

    pub(crate) fn reader(&self) -> Result<Box<dyn Read + '_>, Failure> {
        match self {
            Source::Path(path) => {
                let open = File::open(path).and_then(|file| {
                    // Opening a directory succeeds, reading it does not.
                    if file.metadata()?.is_dir() {
                        return Err(std::io::Error::other("is a directory, not a file of rows"));
                    }
                    Ok(file)
                });
                let file = open.map_err(|error| {
                    Failure::new(Exit::BadInput, 101, format!("{}: {error}", path.display()))
                })?;
                Ok(Box::new(BufReader::new(file)))
            }
            Source::Bytes(bytes) => Ok(Box::new(bytes.as_slice())),
        }
    }
}

/// Faults found so far.
pub(crate) struct Faults {
    file: String,
    lines: Vec<String>,
    more: u64,
}

impl Faults {
    pub(crate) fn new(source: &Source) -> Faults {
        Faults { file: source.name(), lines: Vec::new(), more: 0 }
    }

    pub(crate) fn add(&mut self, line: Option<u64>, what: &str) {
        if self.lines.len() >= FAULTS_MAX {
            self.more += 1;
            return;
        }
        let file = &self.file;
        self.lines.push(match line {
            Some(line) => format!("{file}:{line}: {what}"),
            None => format!("{file}: {what}"),
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// All of them, if there are any.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        if self.lines.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.lines.push(format!("and {} more", self.more));
        }
        let failure = Failure::new(Exit::BadInput, 110, self.lines.join("\n"));
        Err(failure.remedy("correct the file and run again; nothing was sent"))
    }
}

/// A file whose form is right, and how many rows it has.
#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) source: Source,
    pub(crate) rows: u64,
}

/// Where in a field the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Plain,
    Quoted,
    /// A quote inside quotes: the last one, or the first of two.
    Quote,
}

/// Follows the quotes of what is read: the library takes the end of the file for a closing quote,
/// also where that makes one field of half a table. Refuses rows that are too long to be held.
struct Quotes<'a, R> {
    input: R,
    place: &'a Cell<Place>,
    row_bytes: u64,
}

impl<R: Read> Read for Quotes<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(buffer)?;
        let follow = |place: Place, byte: &u8| match (place, byte) {
            (Place::Quoted, b'"') => Place::Quote,
            (Place::Quoted, _) | (Place::Start | Place::Quote, b'"') => Place::Quoted,
            (_, b',' | b'\r' | b'\n') => Place::Start,
            _ => Place::Plain,
        };
        let mut place = self.place.get();
        for byte in &buffer[..count] {
            place = follow(place, byte);
            let ends = place == Place::Start && *byte != b',';
            self.row_bytes = if ends { 0 } else { self.row_bytes + 1 };
        }
        self.place.set(place);
        if self.row_bytes > ROW_BYTES_MAX {
            let mib = ROW_BYTES_MAX >> 20;
            return Err(std::io::Error::other(format!("a row is longer than {mib} MiB")));
        }
        Ok(count)
    }
}

/// Counts the rows, and checks all that can be checked without knowing the types.
pub(crate) fn count_rows(source: Source) -> Result<Counted, Failure> {
    let binary_rows = npy::open(&source)?.map(|(Header { rows, .. }, _)| rows);
    if let Some(rows) = binary_rows {
        return Ok(Counted { source, rows });
    }
    let mut faults = Faults::new(&source);
    let mut rows = 0;
    {
        let place = Cell::new(Place::Start);
        let input = Quotes { input: source.reader()?, place: &place, row_bytes: 0 };
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(input);
        let mut last = None;
        let width = match reader.headers() {
            Ok(header) => check_header(header, &mut faults),
            Err(error) => {
                faults.add(line_of(&error).or(Some(1)), &sentence(&error));
                0
            }
        };
        let mut record = StringRecord::new();
        while faults.lines.is_empty() || faults.lines.len() < FAULTS_MAX {
            match reader.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {
                    rows += 1;
                    last = record.position().map(csv::Position::line);
                    if record.len() != width && width > 0 {
                        let line = record.position().map(csv::Position::line);
                        let found = plural(record.len(), "field");
                        faults.add(line, &format!("has {found}, the header has {width}"));
                    }
                }
                Err(error) => {
                    let line = line_of(&error).or(Some(reader.position().line()));
                    faults.add(line, &sentence(&error));
                    // The reader can go on after bad UTF-8, but not after a failure to read.
                    if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                        break;
                    }
                }
            }
        }
        if place.get() == Place::Quoted && faults.lines.is_empty() {
            faults.add(last, "a quote is not closed");
        }
        if rows == 0 && faults.lines.is_empty() {
            faults.add(None, "has a header and no rows");
        }
    }
    faults.check()?;
    Ok(Counted { source, rows })
}

fn check_header(header: &StringRecord, faults: &mut Faults) -> usize {
    let names: Vec<String> = header.iter().map(clean).collect();
    if names.is_empty() || names.iter().all(String::is_empty) {
        faults.add(None, "is empty; the first line must name the columns");
        return 0;
    }
    let mut known = HashSet::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            faults.add(Some(1), &format!("column {} has no name", i + 1));
        } else if !known.insert(name) {
            faults.add(Some(1), &format!("two columns are called '{name}'"));
        }
    }
    names.len()
}

/// A column's name without the mark that some programs put before a UTF-8 file, and spaces.
fn clean(name: &str) -> String {
    name.trim_start_matches('\u{feff}').trim().to_owned()
}

fn line_of(error: &csv::Error) -> Option<u64> {
    error.position().map(csv::Position::line)
}

fn sentence(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => {
            format!("field {} is not UTF-8 text", err.field() + 1)
        }
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Refuses a file with more columns of a number than are wanted: a matrix of another size, of which
/// the first columns would be computed on. Columns of other names are nobody's business.
fn check_numbered(header: &StringRecord, columns: &[Column], faults: &mut Faults) {
    let Some([.., before, last]) = columns.last_chunk::<2>().map(|chunk| chunk.each_ref()) else {
        return;
    };
    let numbered = |column: &Column| -> Option<(String, u64)> {
        let prefix = column.name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((prefix.to_owned(), column.name[prefix.len()..].parse().ok()?))
    };
    let (Some((first, a)), Some((prefix, b))) = (numbered(before), numbered(last)) else { return };
    let next = format!("{prefix}{}", b.saturating_add(1));
    if first == prefix && a.checked_add(1) == Some(b) && header.iter().any(|n| clean(n) == next) {
        let (count, last) = (columns.len(), &last.name);
        let what =
            format!("has a column '{next}', and what is computed has {count}, up to '{last}'");
        faults.add(Some(1), &what);
    }
}

/// Reads the columns that an input wants; others in the file are ignored. With each row, its line.
pub(crate) fn read_table(
    counted: &Counted,
    columns: &[Column],
) -> Result<(Table, Vec<u32>), Failure> {
    let source = &counted.source;
    if let Some(file) = npy::open(source)? {
        return npy::read_table(source, file, counted.rows, columns);
    }
    let mut faults = Faults::new(source);
    // Made at its size, so that it takes no more than that.
    let mut table = Table::zeros(columns.to_vec(), counted.rows);
    let mut lines = Vec::with_capacity(counted.rows.min(1 << 32) as usize);
    {
        let place = Cell::new(Place::Start);
        let input = Quotes { input: source.reader()?, place: &place, row_bytes: 0 };
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(input);
        let places = match reader.headers() {
            Ok(header) => {
                check_numbered(header, columns, &mut faults);
                place_columns(header, columns, &mut faults)
            }
            Err(error) => {
                faults.add(line_of(&error), &sentence(&error));
                Vec::new()
            }
        };
        let mut record = StringRecord::new();
        while !places.is_empty() {
            match reader.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    let row = lines.len() as u64;
                    if row == counted.rows {
                        faults.add(Some(line), "is a row more than there were a moment ago");
                        break;
                    }
                    for (index, (column, &place)) in columns.iter().zip(&places).enumerate() {
                        let field = record.get(place).unwrap_or("");
                        match parse_field(field, column.element, column.encoding) {
                            Ok(value) => table.set_cell(row, index, value),
                            Err(what) => {
                                let name = &column.name;
                                faults.add(Some(line), &format!("column '{name}': {what}"));
                            }
                        }
                    }
                    lines.push(line.min(u64::from(u32::MAX)) as u32);
                }
                Err(error) => {
                    faults.add(line_of(&error), &sentence(&error));
                    if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                        break;
                    }
                }
            }
        }
    }
    if faults.lines.is_empty() && lines.len() as u64 != counted.rows {
        faults.add(None, "changed while it was being read");
    }
    faults.check()?;
    Ok((table, lines))
}

fn place_columns(header: &StringRecord, columns: &[Column], faults: &mut Faults) -> Vec<usize> {
    let names: Vec<String> = header.iter().map(clean).collect();
    let known: HashMap<&str, usize> = names.iter().map(String::as_str).zip(0..).collect();
    let mut places = Vec::with_capacity(columns.len());
    for column in columns {
        match known.get(column.name.as_str()) {
            Some(&place) => places.push(place),
            None => {
                let (wanted, count) = (&column.name, names.len());
                let found = names[..count.min(NAMES_MAX)].join(", ");
                let more = if count > NAMES_MAX { ", ..." } else { "" };
                let what = format!("there is no column '{wanted}'; the header has {found}{more}");
                faults.add(Some(1), &what);
            }
        }
    }
    if places.len() < columns.len() {
        places.clear();
    }
    places
}

/// The value of one field, or what is wrong with it.
pub(crate) fn parse_field(
    field: &str,
    element: ElementType,
    encoding: Encoding,
) -> Result<Lane, String> {
    match encoding {
        Encoding::Number => parse_number(field.trim(), element),
        Encoding::Hex => {
            let digits = field.trim();
            let digits = digits.strip_prefix("0x").unwrap_or(digits);
            parse_digits(digits, 16, field, element)
        }
        Encoding::Text => Ok(hash_text(field, element.width())),
        Encoding::Fixed(fraction) => decimal::parse(field.trim(), element, fraction),
    }
}

/// Any text, hashed to `width` bits with SHA-256: the first of its bits, lowest byte first.
pub(crate) fn hash_text(text: &str, width: u16) -> Lane {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    Lane::from_le_bytes(digest) & mask_of(width)
}

fn parse_number(text: &str, element: ElementType) -> Result<Lane, String> {
    if element == ElementType::BIT {
        match text {
            "true" | "True" | "TRUE" => return Ok(Lane::ONE),
            "false" | "False" | "FALSE" => return Ok(Lane::ZERO),
            _ => {}
        }
    }
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (radix, digits) = match magnitude.get(..2) {
        Some("0x") => (16, &magnitude[2..]),
        Some("0b") => (2, &magnitude[2..]),
        _ => (10, magnitude),
    };
    // A pattern of bits, such as 0xff, may fill a signed type.
    let is_pattern = radix != 10;
    if !negative && (is_pattern || !element.is_signed()) {
        return parse_digits(digits, radix, text, element);
    }
    let value = digits_value(digits, radix, text)?;
    let width = usize::from(element.width());
    // The most negative value has a magnitude of 2^(width - 1), the largest is one less.
    let bound = Lane::ONE << (width - 1);
    let fits = match (element.is_signed(), negative) {
        (true, true) => value.is_some_and(|value| value <= bound),
        (true, false) => value.is_some_and(|value| value < bound),
        (false, _) => value.is_some_and(|value| value.is_zero()),
    };
    match value {
        Some(value) if fits && negative => Ok(value.wrapping_neg() & mask_of(element.width())),
        Some(value) if fits => Ok(value),
        _ => Err(misfit(text, element)),
    }
}

/// Reads digits of a value without a sign.
fn parse_digits(
    digits: &str,
    radix: u64,
    field: &str,
    element: ElementType,
) -> Result<Lane, String> {
    match digits_value(digits, radix, field)? {
        Some(value) if value.bit_len() <= usize::from(element.width()) => Ok(value),
        _ if radix == 10 => Err(misfit(field, element)),
        _ => Err(format!("'{}' has more than {} bits", shown(field), element.width())),
    }
}

/// The value of digits; `None` if it has more than 256 bits.
fn digits_value(digits: &str, radix: u64, field: &str) -> Result<Option<Lane>, String> {
    let known = |c: char| c.is_digit(radix as u32);
    if digits.is_empty() || !digits.chars().all(known) {
        let what = match radix {
            2 => "a binary number",
            16 => "a hexadecimal number",
            _ => "a whole number",
        };
        return Err(match field.trim() {
            "" => format!("it is empty and should be {what}"),
            field => format!("'{}' is not {what}", shown(field)),
        });
    }
    Ok(Lane::from_str_radix(digits, radix).ok())
}

fn misfit(text: &str, element: ElementType) -> String {
    let width = usize::from(element.width());
    let range = match (element.is_signed(), width) {
        (_, 129..) => String::new(),
        (false, _) => format!(" (0 to {})", mask_of(element.width())),
        (true, _) => {
            let bound = Lane::ONE << (width - 1);
            format!(" (-{bound} to {})", bound - Lane::ONE)
        }
    };
    format!("'{}' does not fit {element}{range}", shown(text))
}

fn shown(text: &str) -> String {
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text.to_owned();
    }
    text.chars().take(SHOWN_CHARACTERS).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests;
