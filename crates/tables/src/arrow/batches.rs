//! [`BatchRows`]: the rows of record batches.

use std::cell::Cell as Flag;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use super::cells;
use crate::cell::{CellType, TableCell};
use crate::content::{Content, ContentHash};
use crate::error::{Error, RowLocation, TableFaults};
use crate::source::{ReadFault, RowReader, TableHeader};

/// Record batches, one after the other.
pub(crate) type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + 'a>;

/// Opens the record batches of a table, with the columns whose numbers it is given, ascending.
type Open<'a> = Box<dyn Fn(&[usize]) -> Result<Batches<'a>, String> + 'a>;

/// A table of record batches.
pub(crate) struct RecordBatchTable<'a> {
    pub(crate) schema: SchemaRef,
    pub(crate) open: Open<'a>,
}

impl RecordBatchTable<'_> {
    /// The names of the columns.
    pub(crate) fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().trim().to_owned()).collect()
    }
}

/// Refuses a table two of whose columns have the same name.
pub(crate) fn check_names(table: &str, names: &[String]) -> Result<(), Error> {
    let mut faults = TableFaults::new(table.to_owned());
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            faults.add(None, format!("two columns are called '{name}'"));
            faults.advise("give each column a name of its own, or remove one, and run again");
        }
    }
    faults.check()
}

thread_local! {
    static IS_READING_FOREIGN: Flag<bool> = const { Flag::new(false) };
}

pub(crate) fn is_reading_foreign() -> bool {
    IS_READING_FOREIGN.get()
}

/// Decodes foreign bytes: a panic of the library becomes an error.
pub(crate) fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    let before = IS_READING_FOREIGN.replace(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    IS_READING_FOREIGN.set(before);
    result.map_err(|_| "it is damaged, or has a type that is not known".to_owned())
}

/// Reads the rows of record batches.
pub(crate) struct BatchRows<'a> {
    source: RecordBatchTable<'a>,
    content: &'a Content,
    names: Vec<String>,
    batches: Option<Batches<'a>>,
    /// By column of the table, where it is in a batch.
    positions: Vec<Option<usize>>,
    batch: Option<RecordBatch>,
    row_in_batch: usize,
    /// Number of the row, from 1 on.
    row: u64,
}

impl<'a> BatchRows<'a> {
    pub(crate) fn new(source: RecordBatchTable<'a>, content: &'a Content) -> BatchRows<'a> {
        let names = source.names();
        let positions = vec![None; names.len()];
        let (batches, batch) = (None, None);
        BatchRows { source, content, names, batches, positions, batch, row_in_batch: 0, row: 0 }
    }
}

impl RowReader for BatchRows<'_> {
    fn header(&self) -> TableHeader<'_> {
        TableHeader::Named(&self.names, None)
    }

    fn select(&mut self, columns: &[usize]) -> Result<(), String> {
        let mut wanted = columns.to_vec();
        wanted.retain(|&column| self.cell_type(column).is_some());
        wanted.sort_unstable();
        wanted.dedup();
        for (position, &column) in wanted.iter().enumerate() {
            self.positions[column] = Some(position);
        }
        self.batches = Some((self.source.open)(&wanted)?);
        Ok(())
    }

    fn unsupported(&self, column: usize) -> Option<String> {
        cells::unsupported(self.source.schema.field(column).data_type())
    }

    fn cell_type(&self, column: usize) -> Option<CellType> {
        cells::cell_type(self.source.schema.field(column).data_type())
    }

    fn advance(&mut self) -> Result<bool, ReadFault> {
        self.row_in_batch += 1;
        while self.batch.as_ref().is_none_or(|batch| self.row_in_batch >= batch.num_rows()) {
            let batches = self.batches.as_mut().expect("columns are selected first");
            // What was read is given back before more is.
            self.batch = None;
            let next = guarded(|| batches.next()).map_err(ReadFault::last)?;
            match next {
                None => return Ok(false),
                Some(Err(error)) => return Err(ReadFault::last(error.to_string())),
                Some(Ok(batch)) => (self.batch, self.row_in_batch) = (Some(batch), 0),
            }
        }
        self.row += 1;
        Ok(true)
    }

    fn place(&self) -> RowLocation {
        RowLocation::Row(self.row)
    }

    fn cell(&self, column: usize) -> TableCell<'_> {
        let batch = self.batch.as_ref().expect("it went to a row");
        let position = self.positions[column].expect("the column is selected");
        cells::cell(&**batch.column(position), self.row_in_batch)
    }

    fn finish(self: Box<Self>) -> Result<Option<ContentHash>, String> {
        let reader = self.content.reader().map_err(|error| error.to_string())?;
        reader.finish().map(Some).map_err(|error| error.to_string())
    }
}
