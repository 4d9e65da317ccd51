//! Tables in CSV with a header: comma-separated values as in RFC 4180, in UTF-8.
//!
//! The survey checks the form of the whole file and reports each fault with its line; reading then
//! finds a file of that form, or one that changed. Memory is one row of at most 2 MiB.

pub(crate) mod followed;
mod header;
pub(crate) mod write;

use csv::StringRecord;

use crate::cell::TableCell;
use crate::content::{Content, ContentHash, ContentReader};
use crate::error::{Error, RowLocation, TableFaults};
use crate::source::{ReadFault, RowReader, Survey, TableHeader, TableSource};
use followed::CsvScanner;
use header::{check_header, clean};

pub(crate) use followed::ROW_BYTES_MAX;

/// A CSV file.
pub(crate) struct CsvFile(Content);

impl CsvFile {
    pub(crate) fn new(content: Content) -> CsvFile {
        CsvFile(content)
    }
}

impl TableSource for CsvFile {
    fn name(&self) -> String {
        self.0.name()
    }

    fn survey(&self) -> Result<Survey, Error> {
        let mut faults = TableFaults::new(self.name());
        let (mut rows, mut last) = (0, None);
        let mut reader = CsvScanner::reader(self.0.reader()?);
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
        while !names.is_empty() && !faults.is_full() {
            match reader.read_record(&mut record) {
                Ok(false) => {
                    is_whole = true;
                    break;
                }
                Ok(true) => {
                    rows += 1;
                    last = record.position().map(csv::Position::line);
                    if record.len() != width {
                        check_width(&record, width, last, &mut faults);
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
        let followed = reader.get_ref();
        if is_whole && followed.ends_in_quotes() {
            // Other faults of that row follow from this one.
            let line = RowLocation::Line(last.unwrap_or(1));
            faults.forget(line);
            faults.add(Some(line), "a quote is not closed");
        }
        if let Some(line) = followed.empty_line() {
            let what = "is empty and rows follow: write what is missing, or remove it";
            faults.add(Some(RowLocation::Line(line)), what);
        }
        // Other programs write a missing value of the only column so.
        if let Some(line) = followed.empty_line_at_end().filter(|_| names.len() == 1) {
            let what = "is empty, so a value may be missing: write it, or remove the line";
            faults.add(Some(RowLocation::Line(line)), what);
        }
        faults.check()?;
        let hash = reader.into_inner().into_input().finish()?;
        Ok(Survey { rows, hash: Some(hash), buffer_bytes: 0 })
    }

    fn open(&self) -> Result<Box<dyn RowReader + '_>, Error> {
        let mut reader = CsvScanner::reader(self.0.reader()?);
        let names = match reader.headers() {
            Ok(header) => header.iter().map(clean).collect(),
            Err(error) => {
                let mut faults = TableFaults::new(self.name());
                report(&error, &[], Some(1), &mut faults);
                faults.check()?;
                Vec::new()
            }
        };
        Ok(Box::new(CsvRows { reader, names, record: StringRecord::new() }))
    }

    fn still_has(&self, hash: &ContentHash) -> bool {
        self.0.still_has(hash)
    }
}

/// Reads the rows of a CSV file.
struct CsvRows<'a> {
    reader: csv::Reader<CsvScanner<ContentReader<'a>>>,
    names: Vec<String>,
    record: StringRecord,
}

impl RowReader for CsvRows<'_> {
    fn header(&self) -> TableHeader<'_> {
        TableHeader::Named(&self.names, Some(1))
    }

    fn advance(&mut self) -> Result<bool, ReadFault> {
        self.reader.read_record(&mut self.record).map_err(|error| {
            let (what, remedy) = explain(&error, &self.names);
            ReadFault {
                place: line_of(&error).map(RowLocation::Line),
                what,
                remedy: remedy.map(str::to_owned),
                can_go_on: !matches!(error.kind(), csv::ErrorKind::Io(_)),
            }
        })
    }

    fn place(&self) -> RowLocation {
        RowLocation::Line(self.record.position().map_or(0, csv::Position::line))
    }

    fn cell(&self, column: usize) -> TableCell<'_> {
        TableCell::Text(self.record.get(column).unwrap_or("").into())
    }

    fn finish(self: Box<Self>) -> Result<Option<ContentHash>, String> {
        let hash = self.reader.into_inner().into_input().finish();
        hash.map(Some).map_err(|error| error.to_string())
    }
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

/// Reports a row with more or fewer fields than the header.
fn check_width(record: &StringRecord, width: usize, line: Option<u64>, faults: &mut TableFaults) {
    let count = record.len();
    let found = format!("{count} field{}", if count == 1 { "" } else { "s" });
    faults.add(line.map(RowLocation::Line), format!("has {found}, the header has {width}"));
    match count > width {
        true if record.iter().skip(width).all(str::is_empty) => faults.advise(COMMA_AT_END),
        true if width == 1 => faults.advise(FIRST_LINE),
        true => faults.advise(COMMA_IN_VALUE),
        false => {}
    }
}

fn line_of(error: &csv::Error) -> Option<u64> {
    error.position().map(csv::Position::line)
}

/// Reports what the reader found; `names` are those of the columns.
fn report(error: &csv::Error, names: &[String], line: Option<u64>, faults: &mut TableFaults) {
    let (what, remedy) = explain(error, names);
    remedy.into_iter().for_each(|remedy| faults.advise(remedy));
    faults.add(line_of(error).or(line).map(RowLocation::Line), what);
}

/// Description of the reader's error, and its remedy.
fn explain(error: &csv::Error, names: &[String]) -> (String, Option<&'static str>) {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => {
            let field = match names.get(err.field()).filter(|name| !name.is_empty()) {
                Some(name) => format!("column '{name}'"),
                None => format!("field {}", err.field() + 1),
            };
            let what = format!("{field} is not UTF-8 text, but perhaps Latin-1 or Windows-1252");
            (what, Some(UTF_8))
        }
        csv::ErrorKind::Io(error) => (error.to_string(), None),
        _ => (error.to_string(), None),
    }
}
