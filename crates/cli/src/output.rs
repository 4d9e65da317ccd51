//! [`Console`]: output to stdout and stderr.
//!
//! With `--json` exactly one document goes to stdout, whatever happens: a command gives its
//! document to [`Console::document`], which holds it back, and [`print_document`] prints it where
//! the process ends, with the error if there is one. Three places end the process: `main`, the
//! thread that watches for Ctrl-C, and the panic hook. The first of them prints.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use phineus_session::failure::{Failure, codes};
use serde_json::{Map, Value, json};

use crate::display::{Display, say};
use crate::words::worded;

/// The longest time that an ending process waits for another thread to print the document.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval at which it checks whether that thread has finished.
const PAUSE: Duration = Duration::from_millis(10);

/// The document of `--json`.
enum Document {
    /// The command has given none yet.
    Missing,
    Held(Value),
    Printed,
}

static DOCUMENT: Mutex<Document> = Mutex::new(Document::Missing);

/// Why stdout could not be written.
pub(crate) fn unprinted(error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error.into();
    }
    let message = format!("cannot write to stdout: {error}");
    Failure::new(codes::STDOUT, message)
        .remedy("send stdout where there is space, or results to a file with --out, and run again")
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
    ///
    /// # Panics
    /// With `--json`, where stdout takes one document and nothing else.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        assert!(!self.is_json, "with --json stdout takes the document alone");
        write(text).map_err(unprinted)
    }

    /// Holds back the document of `--json` until the command ends.
    ///
    /// # Panics
    /// If the command has given one before.
    pub(crate) fn document(&self, value: Value) {
        let mut document = DOCUMENT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        assert!(matches!(*document, Document::Missing), "a command has one document");
        *document = Document::Held(value);
    }

    /// How progress is shown.
    pub(crate) fn display(&self) -> Display {
        Display::for_user(self.is_quiet, self.is_verbose)
    }
}

/// Prints the document of `--json` with the failure that ends the command, if one does; returns
/// whether this call printed it.
///
/// Only the first call prints. A later one waits until that is done.
///
/// # Errors
/// If stdout cannot be written.
pub(crate) fn print_document(failure: Option<&Failure>) -> Result<bool, Failure> {
    let Some(mut document) = lock_soon() else { return Ok(false) };
    let value = match std::mem::replace(&mut *document, Document::Printed) {
        Document::Printed => return Ok(false),
        Document::Held(value) => ended(value, failure),
        Document::Missing => ended(Value::Object(Map::new()), failure),
    };
    let text = serde_json::to_string_pretty(&value).expect("documents are text and numbers");
    write(&text).map_err(unprinted).map(|()| true)
}

/// `document` with the failure as its member `error`; a list becomes the member `results`.
fn ended(document: Value, failure: Option<&Failure>) -> Value {
    let Some(failure) = failure else { return document };
    let mut document = match document {
        Value::Object(_) => document,
        list => json!({ "results": list }),
    };
    document["error"] = worded(failure).to_json();
    document
}

/// The document, unless another thread keeps it for too long: its reader may have stopped reading.
fn lock_soon() -> Option<MutexGuard<'static, Document>> {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        match DOCUMENT.try_lock() {
            Ok(document) => return Some(document),
            Err(TryLockError::Poisoned(document)) => return Some(document.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
    None
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_joins_the_document_it_ends() {
        let failure = Failure::usage("what").remedy("do");
        let error = failure.to_json();
        for (document, expected) in [
            (json!({}), json!({ "error": error })),
            (json!({ "outputs": [1] }), json!({ "outputs": [1], "error": error })),
            (json!([1, 2]), json!({ "results": [1, 2], "error": error })),
        ] {
            assert_eq!(ended(document.clone(), None), document);
            assert_eq!(ended(document, Some(&failure)), expected);
        }
    }
}
