//! Declarations of functions with annotations, and their parameters.

use std::path::Path;

use crate::annotations::marks::{apply, is_word, mark_at, skip_group, wrong};
use crate::annotations::tokens::{SourceLine, Token};
use crate::annotations::{AnnotatedDeclaration, AnnotatedParameter};
use crate::diagnostic::Diagnostic;

/// The function whose declaration begins at a token and has its first annotation in a line; also
/// the token behind its parameters.
pub(super) fn function(
    path: &Path,
    tokens: &[Token],
    begin: usize,
    line: &SourceLine,
) -> Result<(AnnotatedDeclaration, usize), Diagnostic> {
    let (mut result, mut is_main, mut words) = (AnnotatedParameter::default(), false, Vec::new());
    let mut at = begin;
    loop {
        let Some(token) = tokens.get(at) else {
            return Err(wrong(path, line, "PH_OUT", "an annotation before nothing"));
        };
        if let Some((mark, next)) = mark_at(tokens, at) {
            is_main |= mark[0] == "phineus_main";
            apply(&mut result, &mark);
            at = next;
            continue;
        }
        match token.text.as_str() {
            "__attribute__" => at = skip_group(tokens, at + 1),
            "(" => break,
            ";" | "{" | "}" => {
                return Err(wrong(path, line, "PH_IN", "an annotation that is before no function"));
            }
            word => {
                words.push(word);
                at += 1;
            }
        }
    }
    let name = words.pop().unwrap_or_default().to_owned();
    result.value_type = value_type(&words);
    let end = skip_group(tokens, at);
    let mut parameters = Vec::new();
    let mut start = at + 1;
    let mut depth = 0;
    for index in at + 1..end {
        match tokens[index].text.as_str() {
            "(" | "[" | "{" => depth += 1,
            "," if depth == 0 => {
                parameters.extend(parameter(&tokens[start..index]));
                start = index + 1;
            }
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    parameters.extend(parameter(&tokens[start..end - 1]));
    check_definition(path, tokens.get(end), (&name, line), &parameters)?;
    let (line, result) = (line.clone(), AnnotatedParameter { line: line.clone(), ..result });
    Ok((AnnotatedDeclaration { name, line, is_main, result, parameters }, end))
}

/// Refuses forms of definitions that are C and say nothing of the parameters where annotations are.
fn check_definition(
    path: &Path,
    behind: Option<&Token>,
    (name, line): (&str, &SourceLine),
    parameters: &[AnnotatedParameter],
) -> Result<(), Diagnostic> {
    let behind = behind.map_or("", |token| &token.text);
    let is_addition = behind.starts_with("__") || behind == "asm";
    if is_word(behind) && !is_addition {
        let what = format!("the parameters of '{name}' are declared behind its parentheses");
        let remedy = format!("declare them within: `{name}(PH_IN(party) int x, ...)`");
        return Err(Diagnostic { remedy, ..wrong(path, line, name, &what) });
    }
    let nameless = parameters.iter().find(|parameter| parameter.name.is_empty());
    match nameless.filter(|_| behind == "{") {
        Some(parameter) => {
            let what = format!("a parameter of '{name}' without a type or without a name");
            let remedy = "write both, for each parameter, and no `...`".to_owned();
            Err(Diagnostic { remedy, ..wrong(path, &parameter.line, name, &what) })
        }
        None => Ok(()),
    }
}

const QUALIFIERS: [&str; 6] = ["const", "restrict", "volatile", "static", "__restrict", "register"];

/// Words before a function that are no part of its type.
const SPECIFIERS: [&str; 5] = ["extern", "inline", "__inline", "__inline__", "_Noreturn"];

/// The words of a type as text; `None` if it is a pointer, or not made of words only.
fn value_type(words: &[&str]) -> Option<String> {
    let dropped = |word: &&&str| !QUALIFIERS.contains(*word) && !SPECIFIERS.contains(*word);
    let words: Vec<&str> = words.iter().filter(dropped).copied().collect();
    (!words.is_empty() && words.iter().all(|word| is_word(word))).then(|| words.join(" "))
}

fn parameter(tokens: &[Token]) -> Option<AnnotatedParameter> {
    let mut marked =
        AnnotatedParameter { line: tokens.first()?.line.clone(), ..AnnotatedParameter::default() };
    let mut at = 0;
    let (mut brackets, mut words) = (Vec::<String>::new(), Vec::new());
    while at < tokens.len() {
        if let Some((mark, next)) = mark_at(tokens, at) {
            apply(&mut marked, &mark);
            at = next;
            continue;
        }
        let text = tokens[at].text.as_str();
        if text != "__attribute__" {
            words.push(text);
        }
        match text {
            "__attribute__" => {
                at = skip_group(tokens, at + 1);
                continue;
            }
            "[" => {
                let mut inside = String::new();
                let mut depth = 1;
                at += 1;
                while at < tokens.len() {
                    match tokens[at].text.as_str() {
                        "[" => depth += 1,
                        "]" => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    if !QUALIFIERS.contains(&tokens[at].text.as_str()) {
                        inside.push_str(&tokens[at].text);
                    }
                    at += 1;
                }
                brackets.push(inside);
            }
            // In `T (*name)[D]` the brackets are no first dimension.
            ")" if brackets.is_empty() && !marked.name.is_empty() => brackets.push(String::new()),
            word if brackets.is_empty() && is_word(word) && !QUALIFIERS.contains(&word) => {
                marked.name = word.to_owned();
            }
            _ => {}
        }
        at += 1;
    }
    let names = words.iter().filter(|word| !QUALIFIERS.contains(*word)).count();
    if names == 1 && marked.name != "void" {
        marked.name.clear();
    }
    marked.rows = brackets.first().filter(|rows| !rows.is_empty()).cloned();
    let last = words.iter().rposition(|word| *word == marked.name);
    marked.value_type = last.and_then(|at| {
        let behind = words.drain(at..).count();
        if behind == 1 { value_type(&words) } else { None }
    });
    (marked.name != "void").then_some(marked)
}
