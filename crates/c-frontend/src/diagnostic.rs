//! [`Diagnostic`]: an error, warning or note about a C program.

use std::collections::HashMap;
use std::fmt::Write;

/// A place in a source file; line 0 is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLocation {
    /// The file, as the compiler calls it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

/// One thing to say about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the program is refused for it; if not, it is a note.
    pub is_error: bool,
    /// Where.
    pub spot: SourceLocation,
    /// The message.
    pub message: String,
    /// Remedy, or a note about costs.
    pub remedy: String,
}

impl SourceLocation {
    /// Where a word is in a line of a file; the line alone if it is not there.
    pub(crate) fn of_word(file: &str, line: u32, word: &str) -> SourceLocation {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let source = line.checked_sub(1).and_then(|line| text.lines().nth(line as usize));
        let source = source.unwrap_or_default();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let is_whole = |at: &usize| {
            let (before, behind) = (&source[..*at], &source[at + word.len()..]);
            !before.ends_with(is_part) && !behind.starts_with(is_part)
        };
        let found = source.match_indices(word).map(|(at, _)| at).find(is_whole);
        let column = found.map_or(0, |at| source[..at].chars().count() as u32 + 1);
        SourceLocation { file: file.to_owned(), line, column }
    }
}

impl Diagnostic {
    pub(crate) fn error(spot: SourceLocation, message: String, remedy: &str) -> Diagnostic {
        Diagnostic { is_error: true, spot, message, remedy: remedy.to_owned() }
    }
}

/// All of them with the lines that they are about.
pub fn render(diagnostics: &[Diagnostic]) -> String {
    let mut files: HashMap<String, Vec<String>> = HashMap::new();
    let mut out = String::new();
    for diagnostic in diagnostics {
        let SourceLocation { file, line, column } = &diagnostic.spot;
        let kind = if diagnostic.is_error { "error" } else { "note" };
        let place = match (*line, *column) {
            (0, _) => file.clone(),
            (line, 0) => format!("{file}:{line}"),
            (line, column) => format!("{file}:{line}:{column}"),
        };
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = write!(out, "{place}: {kind}: {}", diagnostic.message);
        let lines = files.entry(file.clone()).or_insert_with(|| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        if let Some(source) = line.checked_sub(1).and_then(|line| lines.get(line as usize)) {
            let shown: String = source.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
            let _ = write!(out, "\n{line:>5} | {}", shown.trim_end());
            if *column > 0 {
                let _ = write!(out, "\n      | {}^", " ".repeat(*column as usize - 1));
            }
        }
        if !diagnostic.remedy.is_empty() {
            let _ = write!(out, "\n      = {}", diagnostic.remedy);
        }
    }
    out
}
