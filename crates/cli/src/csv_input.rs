//! Input files: CSV with a header, read into typed tables; every fault named by its place. Binary
//! ones are known by their first bytes (`npy`).
//!
//! A file is read twice: once to count its rows, which the program's shape depends on, and once
//! for its values, when the program has said which columns of which type it wants. Memory is the
//! packed table alone. Each reading hashes the file, and a file that is another one then is refused.

mod fields;
mod followed;
mod header;
mod kind;
mod rows;
mod source;
mod text;

use std::collections::BTreeMap;

use csv::StringRecord;
use phineus_bytecode::{Column, Table};

use crate::failure::{Failure, codes};
use crate::npy;
use crate::text_key::TextKey;

use followed::{Followed, Follower};
use header::{check_header, places_in};
use text::Tally;

pub(crate) use fields::parse_field;
pub(crate) use followed::ROW_BYTES_MAX;
pub(crate) use header::{check_columns, check_only_column};
pub(crate) use rows::FileRows;
pub(crate) use source::{ContentHash, Source, SourceReader, is_stdin, refuse_pipe};

/// Faults of one file that are reported.
const FAULTS_MAX: usize = 20;

/// Faults found so far.
pub(crate) struct Faults {
    file: String,
    lines: Vec<String>,
    more: u64,
    remedy: Option<String>,
}

impl Faults {
    pub(crate) fn new(source: &Source) -> Faults {
        Faults { file: source.name(), lines: Vec::new(), more: 0, remedy: None }
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

    /// Says what to do; the first advice stands.
    pub(crate) fn advise(&mut self, remedy: impl Into<String>) {
        self.remedy.get_or_insert_with(|| remedy.into());
    }

    /// All of them, if there are any.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        if self.lines.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.lines.push(format!("and {} more", self.more));
        }
        let failure = Failure::new(codes::CELL, self.lines.join("\n"));
        let general = || "correct the file and run again; no value of it was sent".to_owned();
        Err(failure.remedy(self.remedy.take().unwrap_or_else(general)))
    }
}

/// The names of columns in a file, by the names that the program gives them, where they differ.
pub(crate) type Names = BTreeMap<String, String>;

/// A file whose form is right, and how many rows it has.
#[derive(Clone)]
pub(crate) struct Counted {
    pub(crate) source: Source,
    /// Rows that enter the computation.
    pub(crate) rows: u64,
    pub(crate) names: Names,
    /// Rows of the file that are left out because they repeat others: ascending, from 0.
    pub(crate) repeated: Vec<u32>,
    /// What was read when the rows were counted; nothing if they were not counted.
    pub(crate) hash: Option<ContentHash>,
}

impl Counted {
    /// A file of which all rows are brought in, and whose columns have the names that are wanted.
    pub(crate) fn plain(source: Source, rows: u64, hash: Option<ContentHash>) -> Counted {
        Counted { source, rows, names: Names::new(), repeated: Vec::new(), hash }
    }

    /// Returns whether its content is that which was counted: reads all of it.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.hash.is_none_or(|hash| self.source.still_has(&hash))
    }

    /// The file's name of a column.
    pub(crate) fn name_of<'a>(&'a self, wanted: &'a str) -> &'a str {
        self.names.get(wanted).map_or(wanted, String::as_str)
    }

    /// Number of rows in the file.
    pub(crate) fn file_rows(&self) -> u64 {
        self.rows + self.repeated.len() as u64
    }
}

/// The rows of an input, the place of each in its file, and notes for its owner.
pub(crate) struct ReadInput {
    pub(crate) table: Table,
    pub(crate) lines: Vec<u32>,
    pub(crate) notes: Vec<String>,
}

/// Counts the rows, and checks all that can be checked without knowing the types.
pub(crate) fn count_rows(source: Source) -> Result<Counted, Failure> {
    if let Some((rows, hash)) = npy::count_rows(&source)? {
        return Ok(Counted::plain(source, rows, Some(hash)));
    }
    kind::refuse_others(&source)?;
    let mut faults = Faults::new(&source);
    let mut rows = 0;
    let hash = {
        let followed = Followed::new();
        let mut reader = followed.reader(source.reader()?);
        let mut last = None;
        let names = match reader.headers() {
            Ok(header) => check_header(header, &mut faults),
            Err(error) => {
                report(&error, &[], Some(1), &mut faults);
                Vec::new()
            }
        };
        let width = names.len();
        let mut record = StringRecord::new();
        let mut is_whole = false;
        // A header with other separators was reported; its rows would repeat that.
        while !names.is_empty() && faults.lines.len() < FAULTS_MAX {
            match reader.read_record(&mut record) {
                Ok(false) => {
                    is_whole = true;
                    break;
                }
                Ok(true) => {
                    rows += 1;
                    last = record.position().map(csv::Position::line);
                    if record.len() != width {
                        let found = plural(record.len(), "field");
                        faults.add(last, &format!("has {found}, the header has {width}"));
                        match record.len() > width {
                            true if record.get(width) == Some("") => faults.advise(COMMA_AT_END),
                            true if width == 1 => faults.advise(FIRST_LINE),
                            true => faults.advise(COMMA_IN_VALUE),
                            false => {}
                        }
                    }
                }
                Err(error) => {
                    report(&error, &names, Some(reader.position().line()), &mut faults);
                    // The reader can go on after bad UTF-8, but not after a failure to read.
                    if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                        break;
                    }
                }
            }
        }
        if is_whole && followed.ends_in_quotes() {
            // Other faults of that row follow from this one.
            let line = last.unwrap_or(1);
            let place = format!("{}:{line}: ", source.name());
            faults.lines.retain(|fault| !fault.starts_with(&place));
            faults.add(Some(line), "a quote is not closed");
        }
        if let Some(line) = followed.empty_line() {
            faults.add(Some(line), "is empty and rows follow: write what is missing, or remove it");
        }
        faults.check()?;
        reader.into_inner().into_input().finish()?
    };
    Ok(Counted::plain(source, rows, Some(hash)))
}

/// Remedy for a row with more fields than the header.
const COMMA_IN_VALUE: &str = "put values with a comma in them in quotes (\"Doe, Jane\"), and \
                              write numbers without (1234); no value of it was sent";

/// Remedy for commas at the ends of rows, but not of the header.
const COMMA_AT_END: &str = "remove the commas at the ends of the lines; no value of it was sent";

/// Remedy for a header of one column above rows of several.
const FIRST_LINE: &str = "let the first line name all columns; nothing may stand before it";

/// Remedy for text in another encoding.
const UTF_8: &str = "save it as UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW`";

/// The fault of a file whose rows are not those that were counted.
pub(crate) const CHANGED: &str = "changed while it was being read";

/// Reads what is left; returns whether all has this hash.
fn ends_as(reader: csv::Reader<Follower<'_, SourceReader<'_>>>, hash: ContentHash) -> bool {
    reader.into_inner().into_input().finish().is_ok_and(|read| read == hash)
}

fn line_of(error: &csv::Error) -> Option<u64> {
    error.position().map(csv::Position::line)
}

/// Reports what the reader found; `names` are those of the columns.
fn report(error: &csv::Error, names: &[String], line: Option<u64>, faults: &mut Faults) {
    let what = match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => {
            faults.advise(UTF_8);
            let field = match names.get(err.field()).filter(|name| !name.is_empty()) {
                Some(name) => format!("column '{name}'"),
                None => format!("field {}", err.field() + 1),
            };
            format!("{field} is not UTF-8 text, but perhaps Latin-1 or Windows-1252")
        }
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    };
    faults.add(line_of(error).or(line), &what);
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Reads the columns that an input wants; others in the file are ignored. With each row, its line.
pub(crate) fn read_table(
    counted: &Counted,
    columns: &[Column],
) -> Result<(Table, Vec<u32>), Failure> {
    let key = TextKey::within_a_file();
    read_table_within(counted, columns, &[], &key).map(|read| (read.table, read.lines))
}

/// The same where a program states the values of some columns, by column: what is said of a number
/// that has no place in the column's type.
pub(crate) fn read_table_within(
    counted: &Counted,
    columns: &[Column],
    stated: &[Option<String>],
    text_key: &TextKey,
) -> Result<ReadInput, Failure> {
    let source = &counted.source;
    if let Some(file) = npy::open(source)? {
        return npy::read_table(counted, file, columns);
    }
    let mut faults = Faults::new(source);
    // Made at its size, so that it takes no more than that.
    let mut table = Table::zeros(columns.to_vec(), counted.rows);
    let mut lines = Vec::with_capacity(counted.rows.min(1 << 32) as usize);
    let mut tally = Tally::new(columns);
    {
        let followed = Followed::new();
        let mut reader = followed.reader(source.reader()?);
        let places = match reader.headers() {
            Ok(header) => places_in(header, counted, columns, &mut faults),
            Err(error) => {
                report(&error, &[], None, &mut faults);
                Vec::new()
            }
        };
        let mut record = StringRecord::new();
        let mut repeated = counted.repeated.iter().map(|row| u64::from(*row)).peekable();
        let mut file_row = 0;
        while !places.is_empty() {
            match reader.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {
                    let line = record.position().map_or(0, csv::Position::line);
                    if file_row == counted.file_rows() {
                        faults.add(Some(line), "is a row more than there were a moment ago");
                        break;
                    }
                    file_row += 1;
                    if repeated.next_if_eq(&(file_row - 1)).is_some() {
                        continue;
                    }
                    let row = lines.len() as u64;
                    for (index, (column, &place)) in columns.iter().zip(&places).enumerate() {
                        let field = record.get(place).unwrap_or("");
                        tally.add(index, field, line);
                        match parse_field(field, column.element, column.encoding, text_key) {
                            Ok(value) => table.set_cell(row, index, value),
                            Err(what) => {
                                let name = counted.name_of(&column.name);
                                let stated = stated.get(index).and_then(Option::as_ref);
                                let what = fields::outside(field, column, stated).unwrap_or(what);
                                faults.add(Some(line), &format!("column '{name}': {what}"));
                            }
                        }
                    }
                    lines.push(line.min(u64::from(u32::MAX)) as u32);
                }
                Err(error) => {
                    report(&error, &[], None, &mut faults);
                    if matches!(error.kind(), csv::ErrorKind::Io(_)) {
                        break;
                    }
                }
            }
        }
        // Other rows than were counted, or others in the places of those that are left out.
        if faults.is_empty() && counted.hash.is_some_and(|hash| !ends_as(reader, hash)) {
            faults.add(None, CHANGED);
        }
    }
    // A table without columns has no places, and no rows to read.
    if faults.lines.is_empty() && lines.len() as u64 != counted.rows && !columns.is_empty() {
        faults.add(None, CHANGED);
    }
    faults.check()?;
    let names: Vec<&str> = columns.iter().map(|column| counted.name_of(&column.name)).collect();
    let notes = tally.notes(&source.name(), &names);
    Ok(ReadInput { table, lines, notes })
}

#[cfg(test)]
mod tests;
