//! Mistakes and notes, and where the program is.

use phineus_frontend::FAULTS_MAX;

use crate::data::CellValue;
use crate::diagnostic::{Diagnostic, SourceLocation};
use crate::ir::InstructionLocation;

/// Why execution does not go on.
pub(crate) enum ExecutionStop {
    /// A mistake after which nothing sensible can be found out.
    Fatal,
    /// A dry run found that lanes cannot run together.
    Abandon,
    /// An opened value decides at run time which code is next (`opened/`).
    Pause,
    /// More was found out about a loop of the run time: the program is to be tried anew.
    Restart,
}

/// Notes of one program.
const NOTES_MAX: usize = 200;

/// Errors and notes of the program so far.
pub(crate) struct Report {
    files: Vec<String>,
    /// The instruction that is being run.
    pub(crate) place: InstructionLocation,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub(crate) fn new(files: &[String]) -> Report {
        Report {
            files: files.to_vec(),
            place: InstructionLocation::default(),
            diagnostics: Vec::new(),
        }
    }

    /// The name of the file of a place.
    pub(crate) fn file(&self, place: InstructionLocation) -> &str {
        self.files.get(usize::from(place.file)).map_or("", String::as_str)
    }

    /// The current place for people.
    pub(crate) fn spot(&self) -> SourceLocation {
        self.place.spot(&self.files)
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.is_error)
    }

    pub(super) fn error(
        &mut self,
        message: String,
        remedy: &str,
    ) -> Result<CellValue, ExecutionStop> {
        let diagnostic = Diagnostic::error(self.spot(), message, remedy);
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        let errors = self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error).count();
        if errors >= FAULTS_MAX { Err(ExecutionStop::Fatal) } else { Ok(CellValue::Poison) }
    }

    pub(super) fn note(&mut self, message: String, remedy: &str) {
        let note =
            Diagnostic { is_error: false, ..Diagnostic::error(self.spot(), message, remedy) };
        // `a[i]++` reads and writes at one place.
        let kind = |message: &str| message.split(' ').nth(1).map(str::to_owned);
        let is_known = |known: &Diagnostic| {
            known.spot == note.spot
                && !known.is_error
                && kind(&known.message) == kind(&note.message)
        };
        if !self.diagnostics.iter().any(is_known) && self.diagnostics.len() < NOTES_MAX {
            self.diagnostics.push(note);
        }
    }
}
