//! Results about a party's own rows, shown beside them in the order of its file.
//!
//! An output may say that its rows are about those of an input ([`RowsOf`]). They leave the
//! computation in the sorted order in which the rows came in. Here they go back to the
//! order of the file, and the file is read once more, so that its owner sees its own text.

use phineus_bytecode::{Column, Description, OutputPort, RowsOf, Table};
use phineus_tables::{Error, Input, OwnRows, ResultHeader, TableSink, write_table};

use crate::ports::Files;

/// Rows of a file as they were arranged: by input, which row of the table that was read is the
/// `i`-th that came in. Only of inputs that an output is about.
#[derive(Default)]
pub struct RowOrders(Vec<Option<Vec<u32>>>);

impl RowOrders {
    pub fn new(by_input: Vec<Option<Vec<u32>>>) -> RowOrders {
        RowOrders(by_input)
    }

    fn of(&self, port: &OutputPort) -> Option<&[u32]> {
        let rows_of = port.rows_of?;
        self.0.get(rows_of.input as usize)?.as_deref()
    }

    /// The outputs with rows about inputs in the order of the file.
    pub fn in_file_order(
        &self,
        description: &Description,
        outputs: Vec<Option<Table>>,
    ) -> Vec<Option<Table>> {
        self.each(description, outputs, |port, table, rows| {
            let table = match rows {
                Some(rows) => moved(&table, (0..).zip(rows.iter().map(|&row| row.into()))),
                None => table,
            };
            without_meaningless(port, table)
        })
    }

    /// Such outputs as they left the computation.
    pub fn as_computed(
        &self,
        description: &Description,
        outputs: Vec<Option<Table>>,
    ) -> Vec<Option<Table>> {
        self.each(description, outputs, |_, table, rows| match rows {
            Some(rows) => moved(&table, rows.iter().map(|&row| row.into()).zip(0..)),
            None => table,
        })
    }

    /// Changes each output that is there, which may have rows that were arranged.
    fn each(
        &self,
        description: &Description,
        outputs: Vec<Option<Table>>,
        change: impl Fn(&OutputPort, Table, Option<&[u32]>) -> Table,
    ) -> Vec<Option<Table>> {
        let ports = description.outputs.iter().zip(outputs);
        ports.map(|(port, table)| table.map(|table| change(port, table, self.of(port)))).collect()
    }
}

/// The table with its rows moved, `(from, to)`.
fn moved(table: &Table, moves: impl Iterator<Item = (u64, u64)>) -> Table {
    let mut result = Table::zeros(table.columns().to_vec(), table.row_count());
    for (from, to) in moves {
        for column in 0..table.columns().len() {
            result.set_cell(to, column, table.cell(from, column));
        }
    }
    result
}

/// Number of rows with a result in an output about rows; `None` for other outputs.
pub fn found_rows(port: &OutputPort, table: &Table) -> Option<u64> {
    Some(rows_with(table, port.rows_of?.found?))
}

/// Number of rows with a result; column `found` states which have one.
fn rows_with(table: &Table, found: u16) -> u64 {
    let found = usize::from(found);
    (0..table.row_count()).filter(|&row| !table.cell(row, found).is_zero()).count() as u64
}

/// Notes about results that cannot be shown beside their owner's rows, or not beside all columns.
pub fn notes(description: &Description, outputs: &[Option<Table>], files: &Files) -> Vec<String> {
    let note = |(port, table): (&OutputPort, &Option<Table>)| {
        let input = description.inputs.get(port.rows_of?.input as usize)?;
        let name = &port.name;
        let why = match ResultRows::new(description, port, table.as_ref()?, files).beside {
            Some((_, input)) => return note_of_columns(name, input),
            None => match files.get(&input.name) {
                Some(counted) => format!("{} changed during the run", counted.source.name()),
                None => format!("input '{}' came from stdin", input.name),
            },
        };
        Some(format!(
            "note: {why}: '{name}' has a row for each row that was read, in that order, without it"
        ))
    };
    description.outputs.iter().zip(outputs).filter_map(note).collect()
}

/// The note of columns that no format can show beside the result `name`, if there are any.
fn note_of_columns(name: &str, input: &Input) -> Option<String> {
    // A file that cannot be read any more is an error of the result.
    let left_out = OwnRows::open(input).ok()?.left_out();
    let file = input.source.name();
    let what = match &left_out[..] {
        [] => return None,
        [one] => format!("column '{one}' of {file} is"),
        several => format!("columns '{}' of {file} are", several.join("', '")),
    };
    Some(format!(
        "note: {what} not beside '{name}': lists, parts and lengths of time are not shown"
    ))
}

/// Zeros in place of what means nothing: the values of rows without a result.
pub fn without_meaningless(port: &OutputPort, table: Table) -> Table {
    match port.rows_of.and_then(|rows_of| rows_of.found) {
        Some(found) => table.zeroed_unless(found.into()),
        None => table,
    }
}

/// A result ready to be written: a header and rows of text.
pub struct ResultRows<'a> {
    table: &'a Table,
    beside: Option<(RowsOf, &'a Input)>,
}

impl<'a> ResultRows<'a> {
    /// Prepares `table`, the result of `port`, for the party that has `files`.
    pub fn new(
        description: &Description,
        port: &OutputPort,
        table: &'a Table,
        files: &'a Files,
    ) -> ResultRows<'a> {
        let counted = |rows_of: RowsOf| {
            let input = description.inputs.get(rows_of.input as usize)?;
            let counted = files.get(&input.name)?;
            let is_same = counted.rows == table.row_count() && counted.is_unchanged();
            is_same.then_some((rows_of, counted))
        };
        ResultRows { table, beside: port.rows_of.and_then(counted) }
    }

    /// Number of rows that [`ResultRows::write`] gives below the header.
    pub fn row_count(&self) -> u64 {
        let found = self.beside.and_then(|(rows_of, _)| rows_of.found.filter(|_| !rows_of.all));
        found.map_or(self.table.row_count(), |found| rows_with(self.table, found))
    }

    /// Gives all rows to `sink`.
    ///
    /// # Errors
    /// Errors of the sink, and a file that can no longer be read.
    pub fn write(&self, sink: &mut dyn TableSink) -> Result<(), Error> {
        let Some((rows_of, input)) = self.beside else { return write_table(self.table, sink) };
        let found = rows_of.found.map(usize::from);
        let is_shown = |place: &usize| rows_of.all || found != Some(*place);
        let places: Vec<usize> = (0..self.table.columns().len()).filter(is_shown).collect();
        let columns: Vec<Column> =
            places.iter().map(|&place| self.table.columns()[place].clone()).collect();
        let mut own = OwnRows::open(input)?;
        sink.begin(&ResultHeader {
            own: &own.columns(),
            columns: &columns,
            rows: self.row_count(),
        })?;
        for row in 0..self.table.row_count() {
            let cells = own.next_row()?;
            let has_result = found.is_none_or(|place| !self.table.cell(row, place).is_zero());
            if !has_result && !rows_of.all {
                continue;
            }
            let value = |&place: &usize| {
                let found = rows_of.found_for(place, self.table.columns().len());
                let is_there =
                    |found: usize| place == found || !self.table.cell(row, found).is_zero();
                found.is_none_or(is_there).then(|| self.table.cell(row, place))
            };
            sink.row(&cells, &places.iter().map(value).collect::<Vec<_>>())?;
        }
        sink.end()?;
        own.finish()
    }
}
