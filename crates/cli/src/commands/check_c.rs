//! `check prog.c`: what a C program does that depends on a secret, as a compiler says it.

use std::path::Path;

use phineus_c_frontend::{CProgram, render};
use serde_json::json;

use crate::arguments::ProgramChoice;
use crate::failure::{Failure, codes};
use crate::output::Console;
use crate::resolve::arguments_of;

/// Says all that is wrong with the program, and what in it is costly.
pub(crate) fn check(path: &Path, choice: &ProgramChoice, console: &Console) -> Result<(), Failure> {
    let program = CProgram::open(path)?;
    let arguments = arguments_of(&program, &choice.parameters)?;
    let found = program.check(&arguments)?;
    let errors = found.iter().filter(|diagnostic| diagnostic.is_error).count();
    if console.is_json {
        let all: Vec<_> = found
            .iter()
            .map(|diagnostic| {
                json!({
                    "error": diagnostic.is_error,
                    "file": diagnostic.spot.file,
                    "line": diagnostic.spot.line,
                    "column": diagnostic.spot.column,
                    "message": diagnostic.message,
                    "remedy": diagnostic.remedy,
                })
            })
            .collect();
        console.document(json!({ "right": errors == 0, "diagnostics": all }));
    }
    if errors == 0 {
        if !found.is_empty() {
            console.say(&render(&found));
        }
        console.say("right: nothing that the program does depends on a secret");
        return Ok(());
    }
    let message = format!("{} is refused\n{}", path.display(), render(&found));
    Err(Failure::new(codes::C_REFUSED, message))
}
