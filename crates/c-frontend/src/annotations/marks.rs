//! `phineus_mark(...)` among tokens, and groups in brackets.

use std::path::Path;

use crate::annotations::AnnotatedParameter;
use crate::annotations::tokens::{SourceLine, Token};
use crate::diagnostic::Diagnostic;

pub(super) fn wrong(path: &Path, line: &SourceLine, word: &str, what: &str) -> Diagnostic {
    let spot = line.spot_of(&path.display().to_string(), word);
    Diagnostic::error(spot, what.to_owned(), "see docs/c.md for the annotations")
}

/// `phineus_mark(a, b, c)` at a token: its arguments and the token behind it.
pub(super) fn mark_at(tokens: &[Token], at: usize) -> Option<(Vec<String>, usize)> {
    if tokens[at].text != "phineus_mark" || tokens.get(at + 1)?.text != "(" {
        return None;
    }
    let mut arguments = vec![String::new()];
    let mut depth = 1;
    for (index, token) in tokens.iter().enumerate().skip(at + 2) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 1 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            return Some((arguments, index + 1));
        }
        let last = arguments.last_mut().expect("there is one");
        if !last.is_empty() && is_word(last) && is_word(&token.text) {
            last.push(' ');
        }
        last.push_str(&token.text);
    }
    None
}

pub(super) fn is_word(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

pub(super) fn apply(marked: &mut AnnotatedParameter, mark: &[String]) {
    match mark[0].as_str() {
        "phineus_in" => marked.input = mark.get(1).cloned(),
        "phineus_out" => marked.outputs.extend(mark[1..].iter().cloned()),
        "phineus_range" if mark.len() == 3 => {
            marked.range = Some((mark[1].clone(), mark[2].clone()))
        }
        _ => {}
    }
}

/// The token behind the group that opens at a token.
pub(super) fn skip_group(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}
