//! Where results go: stdout, files named by the user, or a parent process's directory.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use phineus_bytecode::{Description, OutputPort, Table};
use serde_json::{Value, json};

use crate::binding::split_name;
use crate::csv_output::{check_room, format_value, longest_bytes, write_atomically, write_table};
use crate::failure::{Exit, Failure};
use crate::report::OutputReport;

/// Where each output goes.
pub(crate) enum Destination {
    /// All to stdout, one after the other.
    Stdout,
    /// To files, by output port; ports without one are not written.
    Files(BTreeMap<String, PathBuf>),
    /// To `N.csv` in a directory, `N` the index of the port.
    Directory(PathBuf),
}

/// The file of output number `index` in a child's directory.
pub(crate) fn child_file(directory: &Path, index: usize) -> PathBuf {
    directory.join(format!("{index}.csv"))
}

/// Understands `--out`; `party` learns the outputs in question, or all parties if none.
///
/// # Errors
/// An output that does not exist, or a file that cannot be written.
pub(crate) fn destination(
    arguments: &[String],
    description: &Description,
    party: Option<u16>,
) -> Result<Destination, Failure> {
    if arguments.is_empty() {
        return Ok(Destination::Stdout);
    }
    let learned = |port: &&OutputPort| party.is_none_or(|party| port.parties.contains(&party));
    let ports: Vec<&OutputPort> = description.outputs.iter().filter(learned).collect();
    let mut files = BTreeMap::new();
    let needed = |name: &str| {
        let port = description.outputs.iter().find(|port| port.name == name);
        port.map_or(0, |port| longest_bytes(&port.columns, port.rows))
    };
    for argument in arguments {
        let (name, file) = match split_name(argument) {
            (Some(name), file) if description.outputs.iter().any(|port| port.name == name) => {
                (Some(name), file)
            }
            (Some(name), _) => return Err(unknown(name, &ports)),
            (None, file) => (None, file),
        };
        let path = PathBuf::from(file);
        let targets: Vec<(String, PathBuf)> = match (name, ports.as_slice()) {
            (Some(name), _) => vec![(name.to_owned(), path)],
            (None, [port]) => vec![(port.name.clone(), path)],
            (None, several) => {
                several.iter().map(|port| (port.name.clone(), beside(&path, &port.name))).collect()
            }
        };
        for (port, path) in targets {
            check_room(&path, needed(&port))?;
            files.insert(port, path);
        }
    }
    Ok(Destination::Files(files))
}

fn unknown(name: &str, ports: &[&OutputPort]) -> Failure {
    let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    let message = format!("there is no output '{name}'; there are: {}", known.join(", "));
    Failure::new(Exit::Usage, 125, message)
}

/// `result.csv` becomes `result.NAME.csv`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let safe: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let extension = path.extension().map_or("csv".into(), |e| e.to_string_lossy().into_owned());
    path.with_extension(format!("{safe}.{extension}"))
}

/// Writes the outputs that there are; notes in `reports` where they went.
pub(crate) fn write(
    description: &Description,
    outputs: &[Option<Table>],
    destination: &Destination,
    reports: &mut [OutputReport],
    is_json: bool,
) -> Result<(), Failure> {
    let learned = || {
        let ports = description.outputs.iter().zip(outputs).enumerate();
        ports.filter_map(|(index, (port, table))| Some((index, port, table.as_ref()?)))
    };
    match destination {
        // With --json the caller prints everything as one document.
        Destination::Stdout if is_json => {}
        Destination::Stdout => {
            let mut stdout = std::io::stdout().lock();
            let is_several = learned().count() > 1;
            for (_, port, table) in learned() {
                if is_several {
                    writeln!(stdout, "# {}", port.name)?;
                }
                write_table(table, &mut stdout)?;
            }
            stdout.flush()?;
        }
        Destination::Files(files) => {
            for (index, port, table) in learned() {
                let Some(path) = files.get(&port.name) else { continue };
                write_atomically(path, |file| write_table(table, file))?;
                if let Some(report) = reports.get_mut(index) {
                    report.file = Some(path.display().to_string());
                }
            }
        }
        Destination::Directory(directory) => {
            for (index, _, table) in learned() {
                let path = child_file(directory, index);
                write_atomically(&path, |file| write_table(table, file))?;
            }
        }
    }
    Ok(())
}

/// The outputs as an object of JSON, by name; values as the text that CSV would have.
pub(crate) fn to_json(description: &Description, outputs: &[Option<Table>]) -> Value {
    let mut object = serde_json::Map::new();
    for (port, table) in description.outputs.iter().zip(outputs) {
        let Some(table) = table else { continue };
        let names: Vec<&str> = port.columns.iter().map(|column| column.name.as_str()).collect();
        let row = |row: u64| -> Vec<String> {
            let columns = port.columns.iter().enumerate();
            columns.map(|(place, column)| format_value(table.cell(row, place), column)).collect()
        };
        let rows: Vec<Vec<String>> = (0..table.row_count()).map(row).collect();
        object.insert(port.name.clone(), json!({ "columns": names, "rows": rows }));
    }
    Value::Object(object)
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
    use super::*;

    #[test]
    fn several_outputs_get_files_beside_each_other() {
        assert_eq!(beside(Path::new("a/r.csv"), "x y"), Path::new("a/r.x_y.csv"));
        assert_eq!(beside(Path::new("r"), "x"), Path::new("r.x.csv"));
    }

    #[test]
    fn an_unknown_output_is_named() {
        let port = |name: &str, parties: &[u16]| OutputPort {
            name: name.to_owned(),
            parties: parties.to_vec(),
            rows: 1,
            columns: Vec::new(),
        };
        let description = Description {
            parties: vec!["a".to_owned(), "b".to_owned()],
            outputs: vec![port("sum", &[0]), port("all", &[0, 1])],
            ..Description::default()
        };
        let failure = destination(&["x=y.csv".to_owned()], &description, Some(0)).err();
        let message = failure.expect("there is no x").message;
        assert_eq!(message, "there is no output 'x'; there are: sum, all");
        assert_eq!(withheld(&description, 1).as_deref(), Some("'sum' (1 rows) went to a only"));
        assert_eq!(withheld(&description, 0), None);
    }
}
