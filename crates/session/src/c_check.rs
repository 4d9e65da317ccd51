//! C programs by LLVM, in a build that has it: how they are opened, and what of them depends on a secret,
//! as a compiler says it.

use std::path::Path;

use phineus_frontend::{Program, ProgramError};

use crate::failure::Failure;
use crate::registry::{CDiagnostic, CLanguage, CheckedC, Registry};
use crate::resolve::arguments_of;

impl Registry {
    /// Returns the registry with C programs read by LLVM in this process.
    pub fn with_c(self) -> Registry {
        self.with_language(CLanguage { open, check })
    }
}

fn open(path: &Path) -> Result<Box<dyn Program>, ProgramError> {
    Ok(Box::new(phineus_c_frontend::CProgram::open(path)?))
}

/// Checks the program at `path` with these parameters.
fn check(path: &Path, parameters: &[(String, String)]) -> Result<CheckedC, Failure> {
    let program = phineus_c_frontend::CProgram::open(path)?;
    let arguments = arguments_of(&program, parameters)?;
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
