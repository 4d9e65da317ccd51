//! [`InputTable`]: a table that a party brings, from a file or from the caller.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use phineus_tables::{Content, Error, TableSource, open};

/// A table for an input of the program.
#[derive(Clone, Debug)]
pub struct InputTable {
    /// The name of the input, or of the party whose only input it is; `None` for the first input
    /// without a table.
    pub input: Option<String>,
    /// Source of its rows.
    pub from: TableFrom,
}

/// Source of the rows of an input.
#[derive(Clone)]
pub enum TableFrom {
    /// A file of any format that is read; `-` is stdin.
    File(String),
    /// A source of the caller. Types come from the program, as for files: a source gives each cell
    /// as it has it.
    Source(Arc<dyn TableSource>),
}

impl InputTable {
    /// Takes a file for the input `name`.
    pub fn file(name: impl Into<String>, file: impl Into<String>) -> InputTable {
        InputTable { input: Some(name.into()), from: TableFrom::File(file.into()) }
    }

    /// Takes the caller's table for the input `name`.
    pub fn source(name: impl Into<String>, source: impl TableSource + 'static) -> InputTable {
        InputTable { input: Some(name.into()), from: TableFrom::Source(Arc::new(source)) }
    }

    /// Reads `[NAME=]FILE`; a file whose name has an equals sign is still a file.
    pub fn parse(argument: &str) -> InputTable {
        let (input, file) = split_name(argument);
        InputTable { input: input.map(str::to_owned), from: TableFrom::File(file.to_owned()) }
    }
}

impl TableFrom {
    /// The name of the file, if it is one.
    pub fn file(&self) -> Option<&str> {
        match self {
            TableFrom::File(file) => Some(file),
            TableFrom::Source(_) => None,
        }
    }

    /// Returns whether it is stdin, which can be read only once.
    pub fn is_stdin(&self) -> bool {
        self.file() == Some("-")
    }

    /// Opens the table.
    ///
    /// # Errors
    /// If it is a file that cannot be read, or of a format that is not read.
    pub fn open(&self) -> Result<Arc<dyn TableSource>, Error> {
        match self {
            TableFrom::File(file) => open(Content::open(file)?),
            TableFrom::Source(source) => Ok(source.clone()),
        }
    }
}

impl fmt::Display for TableFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableFrom::File(file) => f.write_str(file),
            TableFrom::Source(source) => f.write_str(&source.name()),
        }
    }
}

impl fmt::Debug for TableFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableFrom::File(file) => f.debug_tuple("File").field(file).finish(),
            TableFrom::Source(source) => f.debug_tuple("Source").field(&source.name()).finish(),
        }
    }
}

/// Splits `NAME=FILE`; a file whose name has an equals sign is still a file.
pub(crate) fn split_name(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((name, file)) if !name.contains('/') && !Path::new(argument).exists() => {
            (Some(name), file)
        }
        _ => (None, argument),
    }
}
