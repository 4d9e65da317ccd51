//! [`Registry`]: the programs that users can run by name.

use std::path::Path;

use phineus_frontend::{Program, ProgramError};

use crate::failure::Failure;

/// The programs that a command line knows by name.
pub struct Registry {
    programs: Vec<Box<dyn Program>>,
    /// How many of them, at the beginning, are the user's own.
    own: usize,
    /// Programs that can be run by name and are not listed.
    unlisted: Vec<Box<dyn Program>>,
    /// Reader of C programs; `None` leaves them to a process of `phineus-c`.
    pub c: Option<CLanguage>,
}

/// Functions on C programs. They are behind pointers, so that an executable without them is linked
/// without LLVM, whose libraries take 48 MiB of a process from its start on.
#[derive(Clone, Copy)]
pub struct CLanguage {
    pub open: fn(&Path) -> Result<Box<dyn Program>, ProgramError>,
    /// Finds what depends on a secret; the parameters are name and value.
    pub check: CheckC,
}

/// The findings in one C program.
#[derive(Clone, Debug)]
pub struct CheckedC {
    /// All findings, errors and notes.
    pub diagnostics: Vec<CDiagnostic>,
    /// The message as text, with the lines of the source.
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
    /// Remedy, or a note about costs.
    pub remedy: String,
}

/// Checks a C program.
pub type CheckC = fn(&Path, &[(String, String)]) -> Result<CheckedC, Failure>;

impl Registry {
    /// The built-in programs.
    pub fn built_in() -> Registry {
        let programs = phineus_programs::all();
        Registry { programs, own: 0, unlisted: Vec::new(), c: None }
    }

    /// Returns the registry with a reader of C programs.
    #[cfg(feature = "llvm")]
    pub(crate) fn with_language(self, c: CLanguage) -> Registry {
        Registry { c: Some(c), ..self }
    }

    /// Adds a program of the user, which takes precedence over a built-in one of the same name.
    pub fn with(mut self, program: impl Program + 'static) -> Registry {
        self.programs.insert(self.own, Box::new(program));
        self.own += 1;
        self
    }

    /// Adds programs that users can run by name but that are not listed.
    pub fn with_unlisted(mut self, programs: Vec<Box<dyn Program>>) -> Registry {
        self.unlisted.extend(programs);
        self
    }

    /// All programs that are listed, the user's first.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Program> {
        self.programs.iter().map(AsRef::as_ref)
    }

    /// The user's program, if there is exactly one; it runs if no name is stated.
    pub fn own(&self) -> Option<&dyn Program> {
        (self.own == 1).then(|| self.programs[0].as_ref())
    }

    pub fn find(&self, name: &str) -> Option<&dyn Program> {
        let unlisted = self.unlisted.iter().map(AsRef::as_ref);
        self.iter().chain(unlisted).find(|program| program.name() == name)
    }

    /// The name nearest to a mistyped one.
    pub fn closest(&self, name: &str) -> Option<&str> {
        let near = |program: &dyn Program| distance(program.name(), name);
        let closest = self.programs.iter().min_by_key(|program| near(program.as_ref()))?;
        (near(closest.as_ref()) <= 1 + name.len() / 4).then(|| closest.name())
    }
}

/// Insertions, deletions and replacements between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_found() {
        let registry = Registry::built_in();
        assert_eq!(registry.closest("pasword-reuse"), Some("password-reuse"));
        assert_eq!(registry.closest("ssort"), Some("sort"));
        assert_eq!(registry.closest("frobnicate"), None);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("", "abc"), 3);
    }
}
