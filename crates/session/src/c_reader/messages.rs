//! Questions and answers between the process that computes and the one that reads C programs.
//!
//! Both are of one version, which [`ProgramInfo`] says first: there is no other compatibility.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Result, Write};

use phineus_bytecode::{Column, Description, Lane, Table};
use phineus_frontend::{
    Arguments, ColumnRange, LineRun, Program, ProgramError, ProgramFault, ProgramFaults,
    SourceLine, SourceMap,
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Version that shows, as far as possible, that both executables were built from the same sources.
pub(super) fn version() -> String {
    format!("{} reading C, 3", env!("CARGO_PKG_VERSION"))
}

/// Sizes for which a program is traced.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TraceSizes {
    values: BTreeMap<String, String>,
    rows: BTreeMap<String, u64>,
    /// Whether the source line of each instruction is asked for.
    with_sources: bool,
}

impl TraceSizes {
    pub(super) fn of(arguments: &Arguments) -> TraceSizes {
        TraceSizes {
            values: arguments.values().clone(),
            rows: arguments.all_stated_rows().clone(),
            with_sources: arguments.asks_for_sources(),
        }
    }

    /// The arguments again.
    pub(super) fn arguments(
        &self,
        program: &dyn Program,
    ) -> std::result::Result<Arguments, ProgramError> {
        let values = self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut arguments = Arguments::new(program, values)?;
        self.rows.iter().for_each(|(port, rows)| arguments.set_rows(port, *rows));
        if self.with_sources {
            arguments.ask_for_sources();
        }
        Ok(arguments)
    }
}

/// A question; the tables of a plaintext reference's inputs follow the line.
#[derive(Serialize, Deserialize)]
pub(super) enum Question {
    Trace(TraceSizes),
    Ranges(TraceSizes),
    PrepareReference(TraceSizes),
    Reference(TraceSizes, Vec<TableMessage>),
    Generate(TraceSizes, u64),
}

/// Description of a program.
#[derive(Serialize, Deserialize)]
pub(super) struct ProgramInfo {
    pub(super) version: String,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) parties: Vec<String>,
    /// Name, default and help.
    pub(super) parameters: Vec<(String, Option<String>, String)>,
}

/// An answer; the traced program or the tables follow the line.
#[derive(Serialize, Deserialize)]
pub(super) enum Reply {
    Opened(ProgramInfo),
    Traced {
        description: Box<Description>,
        hash: [u8; 32],
        instruction_count: u64,
        file_bytes: u64,
        ranges: Vec<RangeMessage>,
        sources: Option<SourceMessage>,
    },
    Ranges(Vec<RangeMessage>),
    Tables(Vec<TableMessage>),
    Nothing,
    Refused(ErrorMessage),
}

/// A [`ColumnRange`], of which JSON has no integers wide enough.
#[derive(Serialize, Deserialize)]
pub(super) struct RangeMessage {
    input: String,
    column: usize,
    low: [u64; 2],
    high: [u64; 2],
}

impl RangeMessage {
    pub(super) fn of(range: &ColumnRange) -> RangeMessage {
        let halves = |value: i128| [value as u64, (value >> 64) as u64];
        let (low, high) = (halves(range.low), halves(range.high));
        RangeMessage { input: range.input.clone(), column: range.column, low, high }
    }

    pub(super) fn range(&self) -> ColumnRange {
        let whole = |[low, high]: [u64; 2]| (u128::from(high) << 64 | u128::from(low)) as i128;
        let (low, high) = (whole(self.low), whole(self.high));
        ColumnRange { input: self.input.clone(), column: self.column, low, high }
    }
}

/// A [`SourceMap`].
#[derive(Serialize, Deserialize)]
pub(super) struct SourceMessage {
    lines: Vec<(String, u32)>,
    blocks: Vec<Vec<(u32, u64)>>,
}

impl SourceMessage {
    pub(super) fn of(map: &SourceMap) -> SourceMessage {
        let run = |run: &LineRun| (run.line, run.count);
        SourceMessage {
            lines: map.lines.iter().map(|line| (line.file.clone(), line.line)).collect(),
            blocks: map.blocks.iter().map(|runs| runs.iter().map(run).collect()).collect(),
        }
    }

    pub(super) fn map(self) -> SourceMap {
        let run = |(line, count)| LineRun { line, count };
        let lines = self.lines.into_iter().map(|(file, line)| SourceLine { file, line });
        let blocks = self.blocks.into_iter().map(|runs| runs.into_iter().map(run).collect());
        SourceMap { lines: lines.collect(), blocks: blocks.collect() }
    }
}

/// A [`ProgramError`].
#[derive(Serialize, Deserialize)]
pub(super) enum ErrorMessage {
    Faults(Vec<(String, u32, String)>),
    BadParameter { name: String, value: String, expected: String },
    MissingRows { input: String },
    WrongRows { input: String, found: u64, expected: u64 },
    Rows(String),
    Refused(String),
    Reference(String),
    Failed(String),
}

impl ErrorMessage {
    pub(super) fn of(error: ProgramError) -> ErrorMessage {
        match error {
            ProgramError::Faults(faults) => {
                let parts = |fault: ProgramFault| (fault.file, fault.line, fault.what);
                ErrorMessage::Faults(faults.0.into_iter().map(parts).collect())
            }
            ProgramError::BadParameter { name, value, expected } => {
                ErrorMessage::BadParameter { name, value, expected }
            }
            ProgramError::MissingRows { input } => ErrorMessage::MissingRows { input },
            ProgramError::WrongRows { input, found, expected } => {
                ErrorMessage::WrongRows { input, found, expected }
            }
            ProgramError::Rows(what) => ErrorMessage::Rows(what),
            ProgramError::Reference(what) => ErrorMessage::Reference(what),
            ProgramError::Bytecode(_) | ProgramError::Io(_) => {
                ErrorMessage::Failed(error.to_string())
            }
            error => ErrorMessage::Refused(error.to_string()),
        }
    }

    pub(super) fn error(self) -> ProgramError {
        match self {
            ErrorMessage::Faults(faults) => {
                let whole = |(file, line, what)| ProgramFault { file, line, what };
                ProgramError::Faults(ProgramFaults(faults.into_iter().map(whole).collect()))
            }
            ErrorMessage::BadParameter { name, value, expected } => {
                ProgramError::BadParameter { name, value, expected }
            }
            ErrorMessage::MissingRows { input } => ProgramError::MissingRows { input },
            ErrorMessage::WrongRows { input, found, expected } => {
                ProgramError::WrongRows { input, found, expected }
            }
            ErrorMessage::Rows(what) => ProgramError::Rows(what),
            ErrorMessage::Refused(what) => ProgramError::Refused(what),
            ErrorMessage::Reference(what) => ProgramError::Reference(what),
            ErrorMessage::Failed(what) => Error::other(what).into(),
        }
    }
}

/// Description of a table; its cells follow, column by column.
#[derive(Serialize, Deserialize)]
pub(super) struct TableMessage {
    columns: Vec<Column>,
    rows: u64,
}

impl TableMessage {
    pub(super) fn of(table: &Table) -> TableMessage {
        TableMessage { columns: table.columns().to_vec(), rows: table.row_count() }
    }
}

/// One message: a line.
pub(super) fn write_line(output: &mut impl Write, message: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *output, message)?;
    output.write_all(b"\n")
}

pub(super) fn write_tables(output: &mut impl Write, tables: &[Table]) -> Result<()> {
    for table in tables {
        for column in 0..table.columns().len() {
            output.write_all(table.cells(0..table.row_count(), column).0)?;
        }
    }
    Ok(())
}

pub(super) fn read_tables(input: &mut impl Read, heads: &[TableMessage]) -> Result<Vec<Table>> {
    heads.iter().map(|head| read_table(input, head)).collect()
}

fn read_table(input: &mut impl Read, head: &TableMessage) -> Result<Table> {
    let mut table = Table::zeros(head.columns.clone(), head.rows);
    for (column, described) in head.columns.iter().enumerate() {
        let size = usize::from(described.element.width()).div_ceil(8);
        let mut cell = Zeroizing::new([0u8; 32]);
        for row in 0..head.rows {
            input.read_exact(cell.get_mut(..size).ok_or(ErrorKind::InvalidData)?)?;
            table.set_cell(row, column, Lane::from_le_bytes(*cell));
        }
    }
    Ok(table)
}
