//! Reads the files that the process of a party leaves for its parent: its report, its results and their description.

use std::io::Write;
use std::path::{Path, PathBuf};

use phineus_bytecode::{Description, Encoding, Table};
use phineus_session::failure::{Failure, codes};
use phineus_session::ports::Files;
use phineus_session::report::RunReport;
use phineus_tables::{Content, Input, TextKey, open};

use super::children::REPORT;
use super::{ChildProcesses, LocalRun};
use crate::results::child_file;

/// Reads reports and outputs of children that succeeded.
pub(super) fn collect(parties: &ChildProcesses, files: Files) -> Result<LocalRun, Failure> {
    let read = |path: PathBuf| std::fs::read(&path).map_err(|error| Failure::file(&path, &error));
    let first = &parties.0[0].directory;
    let description: Description = read_json(&first.join("out/description.json"))?;
    let reports = parties
        .0
        .iter()
        .map(|party| read_json(&party.directory.join(REPORT)))
        .collect::<Result<Vec<RunReport>, Failure>>()?;
    let mut outputs = Vec::new();
    for (index, port) in description.outputs.iter().enumerate() {
        let files: Vec<PathBuf> = port
            .parties
            .iter()
            .map(|&party| child_file(&parties.0[usize::from(party)].directory.join("out"), index))
            .collect();
        let contents =
            files.iter().map(|file| read(file.clone())).collect::<Result<Vec<_>, _>>()?;
        if contents.windows(2).any(|pair| pair[0] != pair[1]) {
            let message = format!("the parties got different results for '{}'", port.name);
            return Err(Failure::new(codes::PARTIES_DIFFER, message)
                .remedy("this is a bug in Phineus, please report it"));
        }
        // Results of text columns are written as the hashes that they are.
        let mut columns = port.columns.clone();
        for column in columns.iter_mut().filter(|column| column.encoding == Encoding::Text) {
            column.encoding = Encoding::Hex;
        }
        let input = Input::of(open(Content::Path(files[0].clone()))?, port.rows);
        let table = input.read(&columns, &[], &TextKey::within_a_file())?.table;
        outputs.push(Some(restored(table, port)));
    }
    Ok(LocalRun { description, reports, outputs, files })
}

/// Reads what a child has written for its parent.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    serde_json::from_slice(&text).map_err(|what| {
        Failure::new(
            codes::UNREADABLE_REPORT,
            format!("a report of our own is not readable: {what}"),
        )
    })
}

/// Where a child of `preprocess` leaves its report, seen from its directory for results.
pub(crate) fn report_beside(directory: &Path) -> PathBuf {
    directory.with_file_name(REPORT)
}

/// The table with the columns that the port states.
fn restored(table: Table, port: &phineus_bytecode::OutputPort) -> Table {
    let mut restored = Table::zeros(port.columns.clone(), table.row_count());
    for row in 0..table.row_count() {
        for column in 0..port.columns.len() {
            restored.set_cell(row, column, table.cell(row, column));
        }
    }
    restored
}

/// Writes what the parent needs to understand a child's results.
pub(crate) fn write_description(
    directory: &Path,
    description: &Description,
) -> Result<(), Failure> {
    let path = directory.join("description.json");
    let mut file = std::fs::File::create(&path).map_err(|error| Failure::file(&path, &error))?;
    let text = serde_json::to_vec(description).expect("a description is text and numbers");
    Ok(file.write_all(&text)?)
}
