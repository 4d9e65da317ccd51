//! Results on stdout, in a JSON document, and in the directory of a parent process.

use std::io::Write;
use std::path::{Path, PathBuf};

use phineus_bytecode::{Column, Description, Lane, Table};
use phineus_session::failure::Failure;
use phineus_session::outputs::{Destinations, write_file};
use phineus_session::own_rows::ResultRows;
use phineus_session::ports::Files;
use phineus_session::report::OutputReport;
use phineus_tables::{Error, Format, ResultHeader, TableCell, TableSink, format_value, sink};
use serde_json::{Value, json};

use crate::leftovers::leftovers;
use crate::output::unprinted;

/// The file of output number `index` in a child's directory.
pub(crate) fn child_file(directory: &Path, index: usize) -> PathBuf {
    directory.join(format!("{index}.csv"))
}

/// Prints the outputs that there are and that do not go to `destinations`; nothing with `--json`, of
/// which they are a part. Notes in `reports` how many rows are shown.
pub(crate) fn print(
    description: &Description,
    outputs: &[Option<Table>],
    (destinations, files): (&Destinations, &Files),
    reports: &mut [OutputReport],
    is_json: bool,
) -> Result<(), Failure> {
    let mut shown = Vec::new();
    for (index, (port, table)) in description.outputs.iter().zip(outputs).enumerate() {
        let Some(table) = table.as_ref().filter(|_| !destinations.contains(&port.name)) else {
            continue;
        };
        let result = ResultRows::new(description, port, table, files);
        if let Some(report) = reports.get_mut(index) {
            report.rows = result.row_count();
        }
        shown.push((port.name.as_str(), result));
    }
    match is_json {
        true => Ok(()),
        false => print_all(&shown, shown.len() > 1 || !destinations.is_empty()),
    }
}

/// Leaves the outputs that there are to the parent of this process, which shows them.
pub(crate) fn leave(directory: &Path, outputs: &[Option<Table>]) -> Result<(), Failure> {
    let outputs = outputs.iter().enumerate();
    let mut learned = outputs.filter_map(|(index, table)| Some((index, table.as_ref()?)));
    learned.try_for_each(|(index, table)| {
        write_file(&child_file(directory, index), table, leftovers())
    })
}

/// Prints results, with their names where it must be told which is which.
fn print_all(results: &[(&str, ResultRows)], with_names: bool) -> Result<(), Failure> {
    let mut stdout = std::io::stdout();
    for (name, shown) in results {
        if with_names {
            writeln!(stdout, "# {name}").map_err(unprinted)?;
        }
        shown.write(&mut *sink(Format::Csv, &mut stdout)).map_err(|error| match error {
            Error::Io(error) => unprinted(error),
            error => error.into(),
        })?;
    }
    stdout.flush().map_err(unprinted)
}

/// The rows of a result as text.
#[derive(Default)]
struct TextRows {
    columns: Vec<Column>,
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TableSink for TextRows {
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error> {
        (self.columns, self.names) = (head.columns.to_vec(), head.names());
        Ok(())
    }

    fn row(&mut self, own: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error> {
        let text = |(value, column): (&Option<Lane>, &Column)| {
            value.map_or(String::new(), |value| format_value(value, column))
        };
        let values = values.iter().zip(&self.columns).map(text);
        self.rows.push(own.iter().map(TableCell::shown).chain(values).collect());
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The outputs as an object of JSON, by name; values as the text that CSV would have.
///
/// # Errors
/// If a file beside whose rows a result is shown cannot be read any more.
pub(crate) fn to_json(
    description: &Description,
    outputs: &[Option<Table>],
    files: &Files,
) -> Result<Value, Failure> {
    let mut object = serde_json::Map::new();
    for (port, table) in description.outputs.iter().zip(outputs) {
        let Some(table) = table else { continue };
        let mut text = TextRows::default();
        ResultRows::new(description, port, table, files).write(&mut text)?;
        object.insert(port.name.clone(), json!({ "columns": text.names, "rows": text.rows }));
    }
    Ok(Value::Object(object))
}

/// One line about outputs that `party` does not learn, if there are any.
pub(crate) fn withheld(description: &Description, party: u16) -> Option<String> {
    let ports: Vec<String> = description
        .outputs
        .iter()
        .filter(|port| !port.parties.contains(&party))
        .map(|port| {
            let name = |&party: &u16| description.parties[usize::from(party)].as_str();
            let parties: Vec<&str> = port.parties.iter().map(name).collect();
            format!("'{}' ({} rows) went to {} only", port.name, port.rows, parties.join(" and "))
        })
        .collect();
    (!ports.is_empty()).then(|| ports.join("; "))
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::OutputPort;

    use super::*;

    #[test]
    fn outputs_of_others_are_named() {
        let port = |name: &str, parties: &[u16]| OutputPort {
            name: name.to_owned(),
            parties: parties.to_vec(),
            rows: 1,
            columns: Vec::new(),
            rows_of: None,
        };
        let description = Description {
            parties: vec!["a".to_owned(), "b".to_owned()],
            outputs: vec![port("sum", &[0]), port("all", &[0, 1])].into(),
            ..Description::default()
        };
        assert_eq!(withheld(&description, 1).as_deref(), Some("'sum' (1 rows) went to a only"));
        assert_eq!(withheld(&description, 0), None);
    }
}
