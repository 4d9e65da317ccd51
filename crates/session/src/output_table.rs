//! [`OutputTable`]: destination of a result.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use phineus_tables::TableSink;

use crate::inputs::split_name;

/// Destination of a result.
#[derive(Clone, Debug)]
pub struct OutputTable {
    /// The name of the output; `None` for all outputs. A single output takes the file or sink
    /// itself; several take files beside it, with the names of the outputs in their names.
    pub output: Option<String>,
    /// Destination of its rows.
    pub to: TableTo,
}

/// Destination of the rows of a result.
#[derive(Clone)]
pub enum TableTo {
    /// A file, in the format of its name.
    File(PathBuf),
    /// The caller, who keeps another reference to the sink.
    Sink(Arc<Mutex<dyn TableSink + Send>>),
}

impl OutputTable {
    /// A file for the output `name`.
    pub fn file(name: impl Into<String>, file: impl Into<PathBuf>) -> OutputTable {
        OutputTable { output: Some(name.into()), to: TableTo::File(file.into()) }
    }

    /// A sink of the caller's for the output `name`.
    pub fn sink<S: TableSink + Send + 'static>(
        name: impl Into<String>,
        sink: &Arc<Mutex<S>>,
    ) -> OutputTable {
        OutputTable { output: Some(name.into()), to: TableTo::Sink(sink.clone()) }
    }

    /// Reads `[NAME=]FILE`; a file whose name has an equals sign is still a file.
    pub fn parse(argument: &str) -> OutputTable {
        let (output, file) = split_name(argument);
        let to = TableTo::File(PathBuf::from(file));
        OutputTable { output: output.map(str::to_owned), to }
    }
}

impl fmt::Debug for TableTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableTo::File(path) => f.debug_tuple("File").field(path).finish(),
            TableTo::Sink(_) => f.write_str("Sink"),
        }
    }
}
