//! `check prog.c`: reports where a C program depends on a secret, as a compiler would.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use phineus_session::failure::{Failure, codes};
use phineus_session::registry::CheckedC;
use phineus_session::registry::Registry;
use phineus_session::resolve::c_executable;
use serde_json::json;

use crate::arguments::ProgramArguments;
use crate::output::Console;

/// Prints all faults of the program, and what in it is costly.
pub(crate) fn check(
    registry: &Registry,
    path: &Path,
    choice: &ProgramArguments,
    console: &Console,
) -> Result<(), Failure> {
    let Some(c) = registry.c else { return Err(hand_over(path)) };
    let CheckedC { diagnostics, text } = (c.check)(path, &choice.parameters)?;
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error).count();
    if console.is_json {
        let all: Vec<_> = diagnostics
            .iter()
            .map(|diagnostic| {
                json!({
                    "error": diagnostic.is_error,
                    "file": diagnostic.file,
                    "line": diagnostic.line,
                    "column": diagnostic.column,
                    "message": diagnostic.message,
                    "remedy": diagnostic.remedy,
                })
            })
            .collect();
        console.document(json!({ "right": errors == 0, "diagnostics": all }));
    }
    if errors == 0 {
        if !diagnostics.is_empty() {
            console.say(&text);
        }
        console.say("right: nothing that the program does depends on a secret");
        return Ok(());
    }
    let message = format!("{} is refused\n{text}", path.display());
    Err(Failure::new(codes::C_REFUSED, message))
}

/// Becomes the executable that reads C programs; returns only if that fails.
fn hand_over(path: &Path) -> Failure {
    match c_executable(path) {
        Ok(other) => {
            // Nothing is lost with this process: no file is open, nothing was printed.
            let error = Command::new(&other).args(std::env::args_os().skip(1)).exec();
            Failure::file(&other, &error)
        }
        Err(failure) => failure,
    }
}
