//! [`Destinations`]: destinations of a program's results.
//!
//! Files are checked before the parties meet, so that no result is lost for want of a place, and
//! appear whole or not at all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use phineus_bytecode::{Description, OutputPort, Table};
use phineus_tables::{Format, sink, write_table};

use crate::failure::{Failure, Remedy, codes};
use crate::inputs::InputTable;
use crate::leftovers::Leftovers;
use crate::output_file::{check_room, write_atomically};
use crate::output_table::{OutputTable, TableTo};
use crate::own_rows::ResultRows;
use crate::ports::Files;
use crate::report::OutputReport;
use crate::settings::Run;

/// Where each output goes, by output port; the caller has the others as tables.
#[derive(Clone, Debug, Default)]
pub struct Destinations {
    tables: BTreeMap<String, TableTo>,
    leftovers: Leftovers,
}

impl Destinations {
    /// Finds the port of each output of `run`; `party` learns the outputs in question, or all parties if
    /// none.
    ///
    /// # Errors
    /// An output that does not exist, a file that cannot be written, and one that something else would
    /// be lost in: an input, or another output.
    pub fn new(
        run: &Run,
        description: &Description,
        party: Option<u16>,
    ) -> Result<Destinations, Failure> {
        let learned = |port: &&OutputPort| party.is_none_or(|party| port.parties.contains(&party));
        let ports: Vec<&OutputPort> = description.outputs.iter().filter(learned).collect();
        let leftovers = run.resources.leftovers.clone();
        let mut destinations = Destinations { tables: BTreeMap::new(), leftovers };
        for OutputTable { output, to } in &run.outputs {
            let targets: Vec<(&OutputPort, TableTo)> = match output {
                Some(name) => {
                    let port = description.outputs.iter().find(|port| port.name == *name);
                    vec![(port.ok_or_else(|| unknown(name, &ports))?, to.clone())]
                }
                None => match (ports.as_slice(), to) {
                    ([port], to) => vec![(port, to.clone())],
                    (several, TableTo::File(path)) => {
                        let beside = |port: &OutputPort| TableTo::File(beside(path, &port.name));
                        several.iter().map(|port| (*port, beside(port))).collect()
                    }
                    (_, TableTo::Sink(_)) => {
                        let message = "a sink takes one output: say which";
                        return Err(Failure::new(codes::NO_SUCH_OUTPUT, message));
                    }
                },
            };
            for (port, to) in targets {
                destinations.add(port, to, &run.inputs)?;
            }
        }
        Ok(destinations)
    }

    fn add(
        &mut self,
        port: &OutputPort,
        to: TableTo,
        inputs: &[InputTable],
    ) -> Result<(), Failure> {
        self.check_apart(&port.name, &to, inputs)?;
        if let TableTo::File(path) = &to {
            check_format(port, path)?;
            check_room(path, Format::of(path).longest_bytes(&port.columns, port.rows))?;
        }
        self.tables.insert(port.name.clone(), to);
        Ok(())
    }

    /// Refuses a second place for an output, and a file that already has a use.
    fn check_apart(&self, port: &str, to: &TableTo, inputs: &[InputTable]) -> Result<(), Failure> {
        let TableTo::File(path) = to else {
            return match self.tables.contains_key(port) {
                true => Err(Failure::usage(format!("output '{port}' has two places"))),
                false => Ok(()),
            };
        };
        let shown = path.display();
        match self.tables.get(port) {
            Some(TableTo::File(first)) => {
                let message =
                    format!("output '{port}' has two files, {} and {shown}", first.display());
                return Err(Failure::usage(message));
            }
            Some(TableTo::Sink(_)) => {
                return Err(Failure::usage(format!("output '{port}' has two places")));
            }
            None => {}
        }
        let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let used = self.tables.iter().filter_map(|(port, to)| match to {
            TableTo::File(used) => Some((port, used)),
            TableTo::Sink(_) => None,
        });
        if let Some((other, _)) = used.into_iter().find(|(_, used)| place(used) == place(path)) {
            let message = format!("outputs '{other}' and '{port}' cannot both go to {shown}");
            return Err(Failure::usage(message).remedy("give each output a file of its own"));
        }
        let mut inputs = inputs.iter().filter_map(|input| input.from.file());
        if inputs.any(|input| place(Path::new(input)) == place(path)) {
            let message = format!("{shown} is an input: output '{port}' would overwrite it");
            return Err(Failure::usage(message).remedy("name another file"));
        }
        Ok(())
    }

    /// Returns whether all results stay with the caller.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns whether a result leaves through a file or sink.
    pub fn contains(&self, port: &str) -> bool {
        self.tables.contains_key(port)
    }

    /// Writes the outputs that there are and that have a place; notes in `reports` where they went and
    /// how many rows were written. Results about rows of `files` are shown beside them.
    ///
    /// # Errors
    /// If a file or sink fails, or a file beside whose rows a result is shown has changed.
    pub fn write(
        &self,
        description: &Description,
        outputs: &[Option<Table>],
        files: &Files,
        reports: &mut [OutputReport],
    ) -> Result<(), Failure> {
        let ports = description.outputs.iter().zip(outputs).enumerate();
        for (index, (port, table)) in ports {
            let (Some(to), Some(table)) = (self.tables.get(&port.name), table) else { continue };
            let shown = ResultRows::new(description, port, table, files);
            let mut rows = table.row_count();
            match to {
                TableTo::File(path) => {
                    let format = Format::of(path);
                    // Who reads numbers in a program counts on a row for each row of its file.
                    match format.shows_own_rows() {
                        true => {
                            rows = shown.row_count();
                            write_atomically(path, &self.leftovers, |file| {
                                Ok(shown.write(&mut *sink(format, file))?)
                            })?
                        }
                        false => write_file(path, table, &self.leftovers)?,
                    }
                }
                TableTo::Sink(sink) => {
                    rows = shown.row_count();
                    let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
                    shown.write(&mut *sink)?;
                }
            }
            if let Some(report) = reports.get_mut(index) {
                report.rows = rows;
                report.file = match to {
                    TableTo::File(path) => Some(path.display().to_string()),
                    TableTo::Sink(_) => None,
                };
            }
        }
        Ok(())
    }
}

/// Writes a table to a file, in the format of its name.
///
/// # Errors
/// If the format cannot hold its columns, or writing fails.
pub fn write_file(path: &Path, table: &Table, leftovers: &Leftovers) -> Result<(), Failure> {
    let format = Format::of(path);
    write_atomically(path, leftovers, |file| Ok(write_table(table, &mut *sink(format, file))?))
}

/// Endings of names that promise a format which results are not written in. A file of any other name,
/// such as `result.txt`, `result.v2` or `result`, is CSV.
const OTHER_FORMATS: [&str; 45] = [
    "xlsx", "xls", "xlsm", "xlsb", "ods", "numbers", "parquet", "pq", "parq", "ipc", "feather",
    "arrow", "arrows", "orc", "avro", "json", "jsonl", "ndjson", "xml", "html", "htm", "yaml",
    "tsv", "tab", "npz", "mat", "h5", "hdf5", "pkl", "pickle", "sav", "dta", "rds", "rdata",
    "sas7bdat", "db", "sqlite", "pdf", "gz", "zip", "bz2", "xz", "zst", "doc", "docx",
];

/// Refuses names of other formats, and results that a file of this name cannot hold.
fn check_format(port: &OutputPort, path: &Path) -> Result<(), Failure> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_csv = Format::of(path) == Format::Csv;
    if is_csv && OTHER_FORMATS.contains(&extension.as_str()) {
        let names: Vec<String> = Format::ALL.iter().map(|(name, _)| format!(".{name}")).collect();
        let (shown, known) = (path.display(), names.join(", "));
        let message = format!("{shown}: results are written as {known}, not as .{extension}");
        let remedy = match extension.as_str() {
            "json" | "jsonl" | "ndjson" => Remedy::new("name a .csv file")
                .at_command_line("; `--json` prints results as JSON to stdout"),
            "parquet" | "feather" | "arrow" | "arrows" => {
                Remedy::new("name a .csv file, or install Phineus with `--features parquet`")
            }
            _ => Remedy::new("name a .csv file, which other programs can open"),
        };
        return Err(Failure::new(codes::OUTPUT_FORMAT, message).remedy(remedy));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_outputs_get_files_beside_each_other() {
        assert_eq!(beside(Path::new("a/r.csv"), "x y"), Path::new("a/r.x_y.csv"));
        assert_eq!(beside(Path::new("r"), "x"), Path::new("r.x.csv"));
    }

    fn description(names: &[(&str, &[u16])]) -> Description {
        let port = |(name, parties): &(&str, &[u16])| OutputPort {
            name: (*name).to_owned(),
            parties: parties.to_vec(),
            rows: 1,
            columns: Vec::new(),
            rows_of: None,
        };
        let outputs: Vec<OutputPort> = names.iter().map(port).collect();
        let parties = vec!["a".to_owned(), "b".to_owned()];
        Description { parties, outputs: outputs.into(), ..Description::default() }
    }

    #[test]
    fn no_result_takes_the_place_of_another_table() {
        let description = description(&[("sum", &[0]), ("all", &[0])]);
        let refused = |arguments: &[&str]| {
            let outputs: Vec<OutputTable> =
                arguments.iter().map(|a| OutputTable::parse(a)).collect();
            let inputs = [InputTable::parse("x=in.csv")];
            let run = Run { outputs, inputs: inputs.into(), ..Run::default() };
            Destinations::new(&run, &description, None).err().map(|f| f.message())
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
        let description = description(&[("sum", &[0]), ("all", &[0, 1])]);
        let run = Run { outputs: vec![OutputTable::parse("x=y.csv")], ..Run::default() };
        let failure = Destinations::new(&run, &description, Some(0)).err();
        let message = failure.expect("there is no x").message();
        assert_eq!(message, "there is no output 'x'; there are: sum, all");
    }
}
