//! Where results go: stdout, files named by the user, or a parent process's directory.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use phineus_bytecode::{Column, Description, Lane, OutputPort, Table};
use phineus_session::binding::{Files, split_name};
use phineus_session::failure::{Failure, codes};
use phineus_session::output_file::{check_room, write_atomically};
use phineus_session::own_rows::Shown;
use phineus_session::report::OutputReport;
use phineus_tables::{Error, Format, Head, TableSink, format_value, sink, write_table};
use serde_json::{Value, json};

use crate::output::unprinted;

/// Where each output goes.
pub(crate) enum Destination {
    /// All to stdout, one after the other.
    Stdout,
    /// To files, by output port; ports without one go to stdout.
    Files(BTreeMap<String, PathBuf>),
    /// To `N.csv` in a directory, `N` the index of the port.
    Directory(PathBuf),
}

/// The file of output number `index` in a child's directory.
pub(crate) fn child_file(directory: &Path, index: usize) -> PathBuf {
    directory.join(format!("{index}.csv"))
}

/// Understands `--out` beside `--in`; `party` learns the outputs in question, or all parties if none.
///
/// # Errors
/// An output that does not exist, a file that cannot be written, and one that something else would be
/// lost in: an input, or another output.
pub(crate) fn destination(
    arguments: &[String],
    inputs: &[String],
    description: &Description,
    party: Option<u16>,
) -> Result<Destination, Failure> {
    if arguments.is_empty() {
        return Ok(Destination::Stdout);
    }
    let learned = |port: &&OutputPort| party.is_none_or(|party| port.parties.contains(&party));
    let ports: Vec<&OutputPort> = description.outputs.iter().filter(learned).collect();
    let mut files = BTreeMap::new();
    let needed = |name: &str, path: &Path| {
        let port = description.outputs.iter().find(|port| port.name == name);
        port.map_or(0, |port| Format::of(path).longest_bytes(&port.columns, port.rows))
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
            check_apart(&port, &path, &files, inputs)?;
            check_format(&port, &path, description)?;
            check_room(&path, needed(&port, &path))?;
            files.insert(port, path);
        }
    }
    Ok(Destination::Files(files))
}

/// Refuses a second file for an output, and a file that already has a use.
fn check_apart(
    port: &str,
    path: &Path,
    files: &BTreeMap<String, PathBuf>,
    inputs: &[String],
) -> Result<(), Failure> {
    let shown = path.display();
    if let Some(first) = files.get(port) {
        let message = format!("output '{port}' has two files, {} and {shown}", first.display());
        return Err(Failure::usage(message));
    }
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some((other, _)) = files.iter().find(|(_, used)| place(used) == place(path)) {
        let message = format!("outputs '{other}' and '{port}' cannot both go to {shown}");
        return Err(Failure::usage(message).remedy("give each output a file of its own"));
    }
    if inputs.iter().any(|input| place(Path::new(split_name(input).1)) == place(path)) {
        let message = format!("{shown} is an input: output '{port}' would overwrite it");
        return Err(Failure::usage(message).remedy("name another file"));
    }
    Ok(())
}

/// Endings of names that promise a format which results are not written in. A file of any other name,
/// such as `result.txt`, `result.v2` or `result`, is CSV.
const OTHER_FORMATS: [&str; 42] = [
    "xlsx", "xls", "xlsm", "xlsb", "ods", "numbers", "parquet", "feather", "arrow", "arrows",
    "orc", "avro", "json", "jsonl", "ndjson", "xml", "html", "htm", "yaml", "tsv", "tab", "npz",
    "mat", "h5", "hdf5", "pkl", "pickle", "sav", "dta", "rds", "rdata", "sas7bdat", "db", "sqlite",
    "pdf", "gz", "zip", "bz2", "xz", "zst", "doc", "docx",
];

/// Refuses names of other formats, and results that a file of this name cannot hold.
fn check_format(port: &str, path: &Path, description: &Description) -> Result<(), Failure> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_csv = Format::of(path) == Format::Csv;
    if is_csv && OTHER_FORMATS.contains(&extension.as_str()) {
        let names: Vec<String> = Format::ALL.iter().map(|(name, _)| format!(".{name}")).collect();
        let (shown, known) = (path.display(), names.join(", "));
        let message = format!("{shown}: results are written as {known}, not as .{extension}");
        let remedy = match extension.as_str() {
            "json" | "jsonl" | "ndjson" => {
                "name a .csv file; `--json` prints results as JSON to stdout"
            }
            "parquet" | "feather" | "arrow" | "arrows" => {
                "name a .csv file, or install Phineus with `--features parquet`"
            }
            _ => "name a .csv file, which other programs can open",
        };
        return Err(Failure::new(codes::OUTPUT_FORMAT, message).remedy(remedy));
    }
    let port = description.outputs.iter().find(|output| output.name == port);
    let Some(port) = port else { return Ok(()) };
    Format::of(path).check(&port.columns).map_err(|what| {
        let message = format!("{}: output '{}': {what}", path.display(), port.name);
        Failure::new(codes::OUTPUT_FORMAT, message).remedy("name a .csv file")
    })
}

fn unknown(name: &str, ports: &[&OutputPort]) -> Failure {
    let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    let message = format!("there is no output '{name}'; there are: {}", known.join(", "));
    Failure::new(codes::NO_SUCH_OUTPUT, message)
}

/// `result.csv` becomes `result.NAME.csv`.
fn beside(path: &Path, name: &str) -> PathBuf {
    let safe: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let extension = path.extension().map_or("csv".into(), |e| e.to_string_lossy().into_owned());
    path.with_extension(format!("{safe}.{extension}"))
}

/// Writes the outputs that there are; notes in `reports` where they went and how many rows were written.
/// Results about rows of `files` are shown beside them.
pub(crate) fn write(
    description: &Description,
    outputs: &[Option<Table>],
    (destination, files): (&Destination, &Files),
    reports: &mut [OutputReport],
    is_json: bool,
) -> Result<(), Failure> {
    let learned = || {
        let ports = description.outputs.iter().zip(outputs).enumerate();
        ports.filter_map(|(index, (port, table))| Some((index, port, table.as_ref()?)))
    };
    let shown = |port, table| Shown::new(description, port, table, files);
    for (index, port, table) in learned() {
        // Who reads numbers in a program counts on a row for each row of its file.
        let is_whole = match destination {
            Destination::Stdout => false,
            Destination::Files(paths) => {
                paths.get(&port.name).is_some_and(|path| !Format::of(path).shows_own_rows())
            }
            Destination::Directory(_) => true,
        };
        if let Some(report) = reports.get_mut(index).filter(|_| !is_whole) {
            report.rows = shown(port, table).row_count();
        }
    }
    match destination {
        // With --json the caller prints everything as one document.
        Destination::Stdout if is_json => {}
        Destination::Stdout => {
            let all: Vec<(&str, Shown)> = learned()
                .map(|(_, port, table)| (port.name.as_str(), shown(port, table)))
                .collect();
            print(&all, all.len() > 1)?;
        }
        Destination::Files(paths) => {
            let mut others = Vec::new();
            for (index, port, table) in learned() {
                let Some(path) = paths.get(&port.name) else {
                    others.push((port.name.as_str(), shown(port, table)));
                    continue;
                };
                let format = Format::of(path);
                match format.shows_own_rows() {
                    true => write_atomically(path, |file| {
                        Ok(shown(port, table).write(&mut *sink(format, file))?)
                    })?,
                    false => write_file(path, table)?,
                }
                if let Some(report) = reports.get_mut(index) {
                    report.file = Some(path.display().to_string());
                }
            }
            if !is_json {
                print(&others, true)?;
            }
        }
        Destination::Directory(directory) => {
            // For the parent process, which shows them.
            for (index, _, table) in learned() {
                let path = child_file(directory, index);
                write_file(&path, table)?;
            }
        }
    }
    Ok(())
}

/// Writes a table to a file, in the format of its name.
pub(crate) fn write_file(path: &Path, table: &Table) -> Result<(), Failure> {
    let format = Format::of(path);
    write_atomically(path, |file| Ok(write_table(table, &mut *sink(format, file))?))
}

/// Prints results, with their names where it must be told which is which.
fn print(results: &[(&str, Shown)], with_names: bool) -> Result<(), Failure> {
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
    fn begin(&mut self, head: &Head<'_>) -> Result<(), Error> {
        (self.columns, self.names) = (head.columns.to_vec(), head.names());
        Ok(())
    }

    fn row(&mut self, own: &[String], values: &[Option<Lane>]) -> Result<(), Error> {
        let text = |(value, column): (&Option<Lane>, &Column)| {
            value.map_or(String::new(), |value| format_value(value, column))
        };
        let values = values.iter().zip(&self.columns).map(text);
        self.rows.push(own.iter().cloned().chain(values).collect());
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
        Shown::new(description, port, table, files).write(&mut text)?;
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
    use super::*;

    #[test]
    fn several_outputs_get_files_beside_each_other() {
        assert_eq!(beside(Path::new("a/r.csv"), "x y"), Path::new("a/r.x_y.csv"));
        assert_eq!(beside(Path::new("r"), "x"), Path::new("r.x.csv"));
    }

    #[test]
    fn no_result_takes_the_place_of_another_table() {
        let port = |name: &str| OutputPort {
            name: name.to_owned(),
            parties: vec![0],
            rows: 1,
            columns: Vec::new(),
            rows_of: None,
        };
        let outputs = vec![port("sum"), port("all")];
        let parties = vec!["a".to_owned()];
        let description =
            Description { parties, outputs: outputs.into(), ..Description::default() };
        let refused = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&a| a.to_owned()).collect();
            let inputs = ["x=in.csv".to_owned()];
            destination(&arguments, &inputs, &description, None).err().map(|f| f.message)
        };
        let said = |arguments: &[&str], part: &str| {
            let message = refused(arguments).expect("a mistake");
            assert!(message.contains(part), "{message}");
        };
        said(&["sum=a.csv", "sum=b.csv"], "output 'sum' has two files, a.csv and b.csv");
        said(&["sum=a.csv", "all=a.csv"], "cannot both go to a.csv");
        said(&["sum=in.csv"], "in.csv is an input");
        said(&["sum=a.xlsx"], "a.xlsx: results are written as .csv, .npy");
        said(&["sum=a.xlsx"], ", not as .xlsx");
        said(&["a.HDF5"], "a.sum.HDF5: results are written as .csv, .npy");
        said(&["sum=a.csv.gz"], "not as .gz");
        assert_eq!(refused(&["sum=a.txt", "all=a.v2"]), None);
        assert_eq!(refused(&["sum=a"]), None);
        assert_eq!(refused(&["sum=a.csv", "all=b.csv"]), None);
        assert_eq!(refused(&["sum=a.csv"]), None);
    }

    #[test]
    fn an_unknown_output_is_named() {
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
        let failure = destination(&["x=y.csv".to_owned()], &[], &description, Some(0)).err();
        let message = failure.expect("there is no x").message;
        assert_eq!(message, "there is no output 'x'; there are: sum, all");
        assert_eq!(withheld(&description, 1).as_deref(), Some("'sum' (1 rows) went to a only"));
        assert_eq!(withheld(&description, 0), None);
    }
}
