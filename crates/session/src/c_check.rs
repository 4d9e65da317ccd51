//! Checks of C programs: what depends on a secret, as a compiler says it.

#[cfg(feature = "llvm")]
use std::path::Path;

#[cfg(feature = "llvm")]
use crate::failure::Failure;

/// The findings in one C program.
#[derive(Clone, Debug)]
pub struct CheckedC {
    /// All findings, errors and notes.
    pub diagnostics: Vec<CDiagnostic>,
    /// The same as text, with the lines of the source.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct CDiagnostic {
    /// Whether the program is refused for it; if not, it is a note.
    pub is_error: bool,
    /// The source file.
    pub file: String,
    /// The line, counted from 1; 0 is unknown.
    pub line: u32,
    /// The column, counted from 1; 0 is unknown.
    pub column: u32,
    /// The fault.
    pub message: String,
    /// What to write instead, or what it costs.
    pub remedy: String,
}

/// Checks the program at `path` with these parameters.
#[cfg(feature = "llvm")]
pub(crate) fn check(path: &Path, parameters: &[(String, String)]) -> Result<CheckedC, Failure> {
    let program = phineus_c_frontend::CProgram::open(path)?;
    let arguments = crate::resolve::arguments_of(&program, parameters)?;
    let found = program.check(&arguments)?;
    let text = phineus_c_frontend::render(&found);
    let diagnostic = |found: phineus_c_frontend::Diagnostic| CDiagnostic {
        is_error: found.is_error,
        file: found.spot.file,
        line: found.spot.line,
        column: found.spot.column,
        message: found.message,
        remedy: found.remedy,
    };
    Ok(CheckedC { diagnostics: found.into_iter().map(diagnostic).collect(), text })
}
