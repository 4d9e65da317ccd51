//! The words of a preprocessed program, each with its place.

use std::sync::Arc;

use crate::diagnostic::SourceLocation;

/// A line of the program's file, or of another that it includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) number: u32,
    /// The file, if it is not the program's own.
    pub(crate) file: Option<Arc<str>>,
}

impl SourceLine {
    /// Where a word is in it; `program` is the program's file.
    pub(crate) fn spot_of(&self, program: &str, word: &str) -> SourceLocation {
        SourceLocation::of_word(self.file.as_deref().unwrap_or(program), self.number, word)
    }
}

/// A word, number, string or sign, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: SourceLine,
    in_program: bool,
}

/// The words of what the preprocessor made of a program, without those of `phineus.h`.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let (mut found, mut number, mut in_program) = (Vec::new(), 1u32, true);
    let (mut own, mut included) = (None, None);
    for source in text.lines() {
        if let Some(marker) = source.strip_prefix("# ") {
            let mut words = marker.splitn(2, ' ');
            number = words.next().and_then(|w| w.parse().ok()).unwrap_or(number);
            let file = words.next().unwrap_or_default();
            in_program = !file.contains("phineus.h");
            let name = file.split('"').nth(1).unwrap_or_default().to_owned();
            let is_own = own.get_or_insert_with(|| name.clone()) == &name;
            included = (!is_own).then(|| Arc::from(name));
            continue;
        }
        let mut rest = source.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '"' | '\'' => literal(rest, first),
                c if c.is_alphanumeric() || c == '_' => {
                    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
                }
                c => c.len_utf8(),
            };
            let line = SourceLine { number, file: included.clone() };
            found.push(Token { text: rest[..length].to_owned(), line, in_program });
            rest = rest[length..].trim_start();
        }
        number += 1;
    }
    found.retain(|token| token.in_program);
    found
}

fn literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return index + 1,
            _ => {}
        }
    }
    rest.len()
}
