//! Input and result tables.
//!
//! Owners bring a [`TableSource`]: a CSV file, a NumPy array, a [`MemoryTable`], or anything else that
//! gives rows of [`TableCell`]s. [`Input::count`] counts its rows. [`Input::read`] reads the
//! columns that a program wants into a packed [`Table`](phineus_bytecode::Table); each cell is
//! converted exactly to the type that the program states, or refused with its row and column.
//! [`row_order`] sorts the rows as the program wants them. Results leave through a [`TableSink`].
//!
//! A source is read twice, and its content is hashed each time: a table that changed is refused.
//! Memory is the packed table, 4 bytes for each row, and a bounded part of the source.

#[cfg(feature = "arrow")]
mod arrow;
mod cell;
mod content;
mod csv;
pub mod decimal;
mod error;
mod float;
mod format;
mod header;
mod input;
mod memory;
mod npy;
#[cfg(feature = "arrow")]
mod parquet;
pub mod quantity;
pub mod repeats;
pub mod row_order;
mod rows;
mod sink;
mod source;
mod text;
mod text_key;

pub use cell::{CellType, TableCell, WholeNumber, format_value, parse_text};
pub use content::{Content, ContentHash, is_stdin, refuse_pipe};
pub use error::{Error, RefusalKind, RowLocation, TableFault, TableRefusal};
pub use format::open;
pub use header::{check_columns, check_only_column};
pub use input::{Input, Names, ReadInput};
pub use memory::{MemoryTable, Values};
pub use rows::OwnRows;
pub use sink::{Format, OwnColumn, ResultHeader, TableSink, sink, write_table};
pub use source::{ReadFault, RowReader, Survey, TableHeader, TableSource};
pub use text_key::TextKey;

/// Returns whether this thread is decoding a file with a library that may panic on a damaged one. Such
/// a panic becomes an [`Error`]; a panic hook need not report it.
pub fn is_reading_foreign() -> bool {
    #[cfg(feature = "arrow")]
    return arrow::is_reading_foreign();
    #[cfg(not(feature = "arrow"))]
    false
}
