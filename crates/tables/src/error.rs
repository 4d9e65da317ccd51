//! [`Error`]: errors of reading and writing tables.

use std::fmt;

/// Faults of one table that are reported.
pub(crate) const FAULTS_MAX: usize = 20;

/// Why a table cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The table is refused.
    Refused(TableRefusal),
    /// Reading or writing failed.
    Io(std::io::Error),
}

/// The reason for refusing a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// There is no such file, or it cannot be opened.
    Unreadable,
    /// A pipe, socket or device: it can be read once only.
    NotAFile,
    /// The file has a format that is not read.
    OtherFormat,
    /// The binary file is damaged, or has a form of its format that is not read.
    Malformed,
    /// Rows, columns or cells are not what the program wants.
    Cell,
    /// Two rows have the same key and differ otherwise.
    RowsDiffer,
    /// Two rows have the same key, and keys must be unique.
    KeyRepeated,
    /// More rows have the same key than the program allows.
    TooManyOfAKey,
    /// There are 2^32 rows or more.
    TooLong,
    /// The table changed after its rows were counted.
    Changed,
    /// The output format cannot hold these columns.
    NotWritable,
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLocation {
    /// A line of a text file, from 1 on.
    Line(u64),
    /// A row, from 1 on.
    Row(u64),
}

impl RowLocation {
    /// The number of the line or row.
    pub fn number(self) -> u64 {
        match self {
            RowLocation::Line(number) | RowLocation::Row(number) => number,
        }
    }
}

/// As in a sentence: `line 2`.
impl fmt::Display for RowLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowLocation::Line(line) => write!(f, "line {line}"),
            RowLocation::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// One fault of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFault {
    /// The name of the table.
    pub table: String,
    /// The row, if the fault is one of a row.
    pub place: Option<RowLocation>,
    /// The table's name of the column, if the fault is one of a cell.
    pub column: Option<String>,
    /// Description of the fault; it never contains the value of another cell.
    pub what: String,
}

/// A fault in a table, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRefusal {
    /// The reason.
    pub kind: RefusalKind,
    /// The first faults, at most 20.
    pub faults: Vec<TableFault>,
    /// Number of further faults.
    pub more: u64,
    /// The remedy.
    pub remedy: Option<String>,
}

impl Error {
    /// A refusal of a whole table.
    pub fn refused(kind: RefusalKind, table: impl Into<String>, what: impl Into<String>) -> Error {
        let (table, what) = (table.into(), what.into());
        let faults = vec![TableFault { table, place: None, column: None, what }];
        Error::Refused(TableRefusal { kind, faults, more: 0, remedy: None })
    }

    /// A refusal because of one row.
    pub(crate) fn refused_row(
        kind: RefusalKind,
        table: String,
        place: RowLocation,
        what: String,
    ) -> Error {
        let faults = vec![TableFault { table, place: Some(place), column: None, what }];
        Error::Refused(TableRefusal { kind, faults, more: 0, remedy: None })
    }

    /// Adds what to do.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Error {
        if let Error::Refused(refusal) = &mut self {
            refusal.remedy = Some(remedy.into());
        }
        self
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::Io(error)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::Io(error) => error.fmt(f),
        }
    }
}

/// A line for each fault.
impl fmt::Display for TableRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            let end = if index > 0 { "\n" } else { "" };
            write!(f, "{end}{fault}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.table)?;
        match (&self.place, &self.column) {
            (None, None) => {}
            (None, Some(column)) => write!(f, ": column '{column}'")?,
            (Some(RowLocation::Line(line)), None) => write!(f, ":{line}")?,
            (Some(RowLocation::Line(line)), Some(column)) => {
                write!(f, ":{line}: column '{column}'")?
            }
            (Some(RowLocation::Row(row)), None) => write!(f, ": row {row}")?,
            (Some(RowLocation::Row(row)), Some(column)) => {
                write!(f, ": row {row}, column '{column}'")?
            }
        }
        write!(f, ": {}", self.what)
    }
}

/// Faults of one table as they are found.
pub(crate) struct TableFaults {
    table: String,
    found: Vec<TableFault>,
    more: u64,
    remedy: Option<String>,
}

impl TableFaults {
    pub(crate) fn new(table: String) -> TableFaults {
        TableFaults { table, found: Vec::new(), more: 0, remedy: None }
    }

    pub(crate) fn add(&mut self, place: Option<RowLocation>, what: impl Into<String>) {
        self.add_to(place, None, what.into());
    }

    pub(crate) fn add_cell(
        &mut self,
        place: Option<RowLocation>,
        column: &str,
        what: impl Into<String>,
    ) {
        self.add_to(place, Some(column.to_owned()), what.into());
    }

    fn add_to(&mut self, place: Option<RowLocation>, column: Option<String>, what: String) {
        if self.is_full() {
            self.more += 1;
            return;
        }
        self.found.push(TableFault { table: self.table.clone(), place, column, what });
    }

    /// Forgets what was found in a row.
    pub(crate) fn forget(&mut self, place: RowLocation) {
        self.found.retain(|fault| fault.place != Some(place));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns whether further faults are only counted.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= FAULTS_MAX
    }

    /// States what to do; the first advice stays.
    pub(crate) fn advise(&mut self, remedy: impl Into<String>) {
        self.remedy.get_or_insert_with(|| remedy.into());
    }

    /// All of them, if there are any.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        if self.found.is_empty() {
            return Ok(());
        }
        let general = || "correct the file and run again; no value of it was sent".to_owned();
        Err(Error::Refused(TableRefusal {
            kind: RefusalKind::Cell,
            faults: std::mem::take(&mut self.found),
            more: self.more,
            remedy: Some(self.remedy.take().unwrap_or_else(general)),
        }))
    }
}
