//! Input files: CSV with a header, read into typed tables; every fault named by its place. Binary
//! ones are known by their first bytes (`npy`).
//!
//! A file is read twice: once to count its rows, which the program's shape depends on, and once
//! for its values, when the program has said which columns of which type it wants. Memory is the
//! packed table alone.

mod fields;
mod followed;

use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use phineus_bytecode::{Column, Table};

use crate::failure::{Exit, Failure};
use crate::npy;

use followed::Followed;

pub(crate) use fields::parse_field;

/// Faults of one file that are reported.
const FAULTS_MAX: usize = 20;

/// Column names that are shown where one is missing.
const NAMES_MAX: usize = 20;

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
        refuse_pipe(argument)?;
        Ok(Source::Path(PathBuf::from(argument)))
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Bytes(_) => "stdin".to_owned(),
        }
    }

    /// How long it is, where that is known before it is read.
    pub(crate) fn length_bytes(&self) -> Option<u64> {
        match self {
            Source::Path(path) => {
                path.metadata().ok().filter(|data| data.is_file()).map(|d| d.len())
            }
            Source::Bytes(bytes) => Some(bytes.len() as u64),
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

/// Refuses a file that can be read once only, before it is opened: to open one may take for ever.
pub(crate) fn refuse_pipe(argument: &str) -> Result<(), Failure> {
    // What is not there is told by who reads it.
    let Ok(data) = Path::new(argument).metadata() else { return Ok(()) };
    let kind = match data.file_type() {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        // A terminal, or one without an end.
        kind if kind.is_char_device() => "a device",
        _ => return Ok(()),
    };
    let message = format!("{argument}: is {kind}, and an input is read twice: give a file");
    Err(Failure::new(Exit::BadInput, 104, message)
        .remedy("write it to a file and name that; one input may be `-`, which is stdin"))
}

/// Whether it is stdin, by whatever name: `-`, or that of a file which was redirected to it.
pub(crate) fn is_stdin(argument: &str) -> bool {
    let identity = |path: &str| Path::new(path).metadata().ok();
    let same = |a: Metadata, b: Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    argument == "-"
        || identity(argument).zip(identity("/dev/stdin")).is_some_and(|(a, b)| same(a, b))
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

/// Counts the rows, and checks all that can be checked without knowing the types.
pub(crate) fn count_rows(source: Source) -> Result<Counted, Failure> {
    if let Some(rows) = npy::count_rows(&source)? {
        return Ok(Counted { source, rows });
    }
    let mut faults = Faults::new(&source);
    let mut rows = 0;
    {
        let followed = Followed::new();
        let mut reader = followed.reader(source.reader()?);
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
        if followed.ends_in_quotes() && faults.lines.is_empty() {
            faults.add(last, "a quote is not closed");
        }
        if let Some(line) = followed.empty_line() {
            faults.add(Some(line), "is empty and rows follow: write what is missing, or remove it");
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
    read_table_within(counted, columns, &[])
}

/// The same where a program states the values of some columns, by column: what is said of a number
/// that has no place in the column's type.
pub(crate) fn read_table_within(
    counted: &Counted,
    columns: &[Column],
    stated: &[Option<String>],
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
        let followed = Followed::new();
        let mut reader = followed.reader(source.reader()?);
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
                                let stated = stated.get(index).and_then(Option::as_ref);
                                let what = fields::outside(field, column, stated).unwrap_or(what);
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

#[cfg(test)]
mod tests;
