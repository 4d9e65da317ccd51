//! [`Console`]: what goes to stdout and what goes to stderr.

use std::io::{self, Write};

use serde_json::Value;

use crate::failure::{Exit, Failure};
use crate::progress::{Progress, say};

/// Why stdout could not be written.
pub(crate) fn unprinted(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error.into();
    }
    let message = format!("what belongs to stdout cannot be written there: {error}");
    Failure::new(Exit::RunTime, 100, message)
        .remedy("send stdout where there is room, or results to a file with --out, and run again")
}

/// How the user wants to be spoken to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    pub(crate) is_json: bool,
    pub(crate) is_quiet: bool,
    pub(crate) is_verbose: bool,
}

impl Console {
    /// Says something about the work, on stderr; nothing if quiet.
    pub(crate) fn say(&self, text: &str) {
        if !self.is_quiet {
            say(text);
        }
    }

    /// Prints lines of results to stdout.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(unprinted)
    }

    /// Prints the one document of `--json`.
    pub(crate) fn document(&self, value: &Value) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).expect("documents are text and numbers");
        self.print(&text)
    }

    /// How progress is shown.
    pub(crate) fn progress(&self) -> Progress {
        Progress::for_user(self.is_quiet, self.is_verbose)
    }
}
