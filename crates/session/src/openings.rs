//! What a program opens while it runs, for whoever reads it before they give data to it.

use phineus_bytecode::{Description, Op};

use crate::failure::Failure;
use crate::planned::PlannedFile;
use crate::program_file::ProgramFile;
use crate::traced::TracedFile;

/// A sentence for each kind of values that a program opens inside, besides its outputs and the ports that are opened.
fn openings(description: &Description, files: &[&ProgramFile]) -> Result<Vec<String>, Failure> {
    let mut sentences = Vec::new();
    if description.registers > 0 {
        sentences.push(
            "values inside the program to all, such as places of memory (a file may open anything)"
                .to_owned(),
        );
    }
    let name = |party: u16| &description.parties[usize::from(party)];
    let told = description.permutations.iter().find(|known| known.kind.is_told());
    if let Some(told) = told {
        let party = name(told.party);
        sentences.push(format!("to {party}: orders of rows under the permutation of another"));
    }
    if let Some(party) = description.tables.iter().find_map(|table| table.known_to) {
        let party = name(party);
        sentences.push(format!(
            "to {party}: rows of tables that follow from its inputs (a file may tell it anything)"
        ));
    }
    if opens_tables(description, files)? {
        sentences.push(
            "rows of tables to all, hidden by pads of those who do not know them (a file may open \
             anything)"
                .to_owned(),
        );
    }
    Ok(sentences)
}

/// Returns whether any instruction opens rows of tables.
fn opens_tables(description: &Description, files: &[&ProgramFile]) -> Result<bool, Failure> {
    let mut opens = false;
    if description.tables.iter().all(|table| table.known_to.is_some()) {
        return Ok(opens);
    }
    for file in files {
        file.reader()?.for_each::<Failure>(|instruction| {
            // Those who hide rows get their keys as values, and may open them.
            opens |= matches!(instruction.op, Op::TableOpen | Op::SharedHide);
            Ok(())
        })?;
    }
    Ok(opens)
}

impl TracedFile {
    /// As `openings`, of a program whose memories have no methods yet.
    pub fn openings(&self) -> Result<Vec<String>, Failure> {
        let files = match &self.blocks {
            None => vec![&self.file],
            Some(blocks) => blocks.parts.iter().map(|part| &part.file).collect(),
        };
        openings(&self.description, &files)
    }
}

impl PlannedFile {
    /// As `openings`, of all that is planned.
    pub fn openings(&self) -> Result<Vec<String>, Failure> {
        let files = match &self.blocks {
            None => vec![&self.file],
            Some(blocks) => blocks.parts.iter().map(|part| &part.file).collect(),
        };
        openings(&self.description, &files)
    }
}
