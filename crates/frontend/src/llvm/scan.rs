//! Finds the annotations in a preprocessed program.
//!
//! In this pass `phineus.h` turns each annotation into `phineus_mark(...)`, which stands before the
//! declaration that it belongs to; when the program is compiled they are nothing at all. (As
//! attributes of parameters they would keep LLVM from promoting them to registers, and debug
//! information has forgotten a parameter's first dimension.)

use std::path::Path;

use super::diagnostic::{Diagnostic, Spot};

/// A word, number, string or sign, and its place.
#[derive(Clone, Debug)]
struct Token {
    text: String,
    line: u32,
    in_program: bool,
    /// Whether it is in the file itself, not in one that it includes.
    is_own: bool,
}

/// `PH_SIZE(name, default)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) name: String,
    pub(super) default: String,
}

/// What is said of a parameter or of the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Marked {
    /// The parameter's name, empty for the result.
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) input: Option<String>,
    pub(super) outputs: Vec<String>,
    pub(super) range: Option<(String, String)>,
    /// The first dimension, if it is an array.
    pub(super) rows: Option<String>,
    /// The words of its type, if it is neither a pointer nor an array.
    pub(super) value_type: Option<String>,
}

/// All that the annotations say.
#[derive(Clone, Debug, Default)]
pub(super) struct Annotations {
    pub(super) sizes: Vec<Size>,
    /// The function's name and line.
    pub(super) main: Option<(String, u32)>,
    pub(super) result: Marked,
    pub(super) parameters: Vec<Marked>,
    /// The last function of the file, and its line.
    last_function: Option<(String, u32)>,
}

impl Annotations {
    /// What is wrong with a file that has no computation: at its last function, which it may be.
    pub(super) fn no_main(&self, path: &Path) -> Diagnostic {
        let what = "which function is the computation?".to_owned();
        let file = path.display().to_string();
        match &self.last_function {
            Some((name, line)) => {
                let remedy = format!(
                    "write PH_MAIN before it, as in `PH_MAIN void {name}(...)`, and PH_IN(party) \
                     and PH_OUT(party) before its parameters, which phineus.h defines"
                );
                Diagnostic::error(Spot::of_word(&file, *line, name), what, &remedy)
            }
            None => {
                let remedy = "include <phineus.h>, and write PH_MAIN before a function";
                Diagnostic::error(Spot { file, ..Spot::default() }, what, remedy)
            }
        }
    }
}

/// Reads the annotations of the program at `path` from what the preprocessor made of it.
pub(super) fn scan(path: &Path, preprocessed: &str) -> Result<Annotations, Diagnostic> {
    let tokens = tokens(preprocessed);
    let mut annotations = Annotations::default();
    let (mut at, mut depth) = (0, 0);
    while at < tokens.len() {
        let Some((mark, next)) = mark_at(&tokens, at) else {
            if depth == 0 && is_definition(&tokens, at) {
                annotations.last_function = Some((tokens[at].text.clone(), tokens[at].line));
            }
            match tokens[at].text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            at += 1;
            continue;
        };
        match mark.first().map(String::as_str) {
            Some("phineus_size") if mark.len() == 3 => {
                let size = Size { name: mark[1].clone(), default: mark[2].clone() };
                annotations.sizes.push(size);
                at = next;
            }
            _ => at = function(path, &tokens, at, &mut annotations)?,
        }
    }
    Ok(annotations)
}

fn wrong(path: &Path, line: u32, word: &str, what: &str) -> Diagnostic {
    let spot = Spot::of_word(&path.display().to_string(), line, word);
    Diagnostic::error(spot, what.to_owned(), "see docs/c.md for the annotations")
}

/// `phineus_mark(a, b, c)` at a token: its arguments and the token behind it.
fn mark_at(tokens: &[Token], at: usize) -> Option<(Vec<String>, usize)> {
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

fn is_word(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        && text.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Whether a token is the name of a function whose body follows its parameters.
fn is_definition(tokens: &[Token], at: usize) -> bool {
    let is_sign = |at: usize, sign: &str| tokens.get(at).is_some_and(|token| token.text == sign);
    is_word(&tokens[at].text)
        && is_sign(at + 1, "(")
        && is_sign(skip_group(tokens, at + 1), "{")
        && tokens[at].is_own
}

fn apply(marked: &mut Marked, mark: &[String]) {
    match mark[0].as_str() {
        "phineus_in" => marked.input = mark.get(1).cloned(),
        "phineus_out" => marked.outputs.extend(mark[1..].iter().cloned()),
        "phineus_range" if mark.len() == 3 => {
            marked.range = Some((mark[1].clone(), mark[2].clone()))
        }
        _ => {}
    }
}

/// The function whose annotations begin at a token; returns the token behind its parameters.
fn function(
    path: &Path,
    tokens: &[Token],
    begin: usize,
    annotations: &mut Annotations,
) -> Result<usize, Diagnostic> {
    let line = tokens[begin].line;
    let (mut result, mut is_main, mut words) = (Marked::default(), false, Vec::new());
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
    // A prototype and the definition may both be annotated.
    let is_known = annotations.main.as_ref().is_some_and(|(known, _)| *known == name);
    if is_main && annotations.main.is_some() && !is_known {
        return Err(wrong(path, line, "PH_MAIN", "a second PH_MAIN"));
    }
    if !is_main && !is_known {
        let what = format!("annotations on '{name}', which is not the computation");
        return Err(Diagnostic {
            remedy: "write PH_MAIN before it".to_owned(),
            ..wrong(path, line, &name, &what)
        });
    }
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
    let before = std::mem::take(&mut annotations.parameters);
    let together = parameters.into_iter().enumerate();
    let together = together.map(|(at, new)| new.or(before.get(at).cloned().unwrap_or_default()));
    annotations.parameters = together.collect();
    annotations.main = Some((name, line));
    annotations.result = Marked { line, ..result }.or(std::mem::take(&mut annotations.result));
    Ok(end)
}

impl Marked {
    /// What is said here, and otherwise what was said before.
    fn or(self, before: Marked) -> Marked {
        Marked {
            input: self.input.or(before.input),
            outputs: if self.outputs.is_empty() { before.outputs } else { self.outputs },
            range: self.range.or(before.range),
            rows: self.rows.or(before.rows),
            ..self
        }
    }
}

/// The token behind the group that opens at a token.
fn skip_group(tokens: &[Token], at: usize) -> usize {
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

const QUALIFIERS: [&str; 6] = ["const", "restrict", "volatile", "static", "__restrict", "register"];
/// Words before a function that are no part of its type.
const SPECIFIERS: [&str; 5] = ["extern", "inline", "__inline", "__inline__", "_Noreturn"];

/// The words of a type as text; `None` if it is a pointer, or not made of words only.
fn value_type(words: &[&str]) -> Option<String> {
    let dropped = |word: &&&str| !QUALIFIERS.contains(*word) && !SPECIFIERS.contains(*word);
    let words: Vec<&str> = words.iter().filter(dropped).copied().collect();
    (!words.is_empty() && words.iter().all(|word| is_word(word))).then(|| words.join(" "))
}

fn parameter(tokens: &[Token]) -> Option<Marked> {
    let mut marked = Marked { line: tokens.first()?.line, ..Marked::default() };
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
    marked.rows = brackets.first().filter(|rows| !rows.is_empty()).cloned();
    let last = words.iter().rposition(|word| *word == marked.name);
    marked.value_type = last.and_then(|at| {
        let behind = words.drain(at..).count();
        if behind == 1 { value_type(&words) } else { None }
    });
    (marked.name != "void").then_some(marked)
}

fn tokens(text: &str) -> Vec<Token> {
    let (mut found, mut line, mut in_program) = (Vec::new(), 1u32, true);
    let (mut own, mut is_own) = (None, true);
    for source in text.lines() {
        if let Some(marker) = source.strip_prefix("# ") {
            let mut words = marker.splitn(2, ' ');
            line = words.next().and_then(|w| w.parse().ok()).unwrap_or(line);
            let file = words.next().unwrap_or_default();
            in_program = !file.contains("phineus.h");
            let name = file.split('"').nth(1).unwrap_or_default().to_owned();
            is_own = own.get_or_insert_with(|| name.clone()) == &name;
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
            found.push(Token { text: rest[..length].to_owned(), line, in_program, is_own });
            rest = rest[length..].trim_start();
        }
        line += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found_with_their_dimensions() {
        let text = "# 3 \"p.c\"\nphineus_mark(phineus_size, N, 2 * 16);\n\
            phineus_mark(phineus_main) phineus_mark(phineus_out, a, b) unsigned long f(\n\
            phineus_mark(phineus_in, a) phineus_mark(phineus_range, -1, 5)\
            const int x[static N][4],\n\
            phineus_mark(phineus_out, b) int (*y)[3],\
            phineus_mark(phineus_in, b) int z) { int q[3]; }";
        let found = scan(Path::new("p.c"), text).expect("well formed");
        assert_eq!(found.sizes, [Size { name: "N".to_owned(), default: "2*16".to_owned() }]);
        assert_eq!(found.main, Some(("f".to_owned(), 4)));
        assert_eq!(found.result.outputs, ["a", "b"]);
        let rows: Vec<_> =
            found.parameters.iter().map(|p| (p.name.as_str(), p.rows.as_deref())).collect();
        assert_eq!(rows, [("x", Some("N")), ("y", None), ("z", None)]);
        assert_eq!(found.parameters[0].range, Some(("-1".to_owned(), "5".to_owned())));
        assert_eq!(found.parameters[1].outputs, ["b"]);
        let types: Vec<_> = found.parameters.iter().map(|p| p.value_type.as_deref()).collect();
        assert_eq!(types, [None, None, Some("int")]);
        assert_eq!(found.result.value_type.as_deref(), Some("unsigned long"));
    }

    #[test]
    fn annotations_in_the_wrong_place_are_refused() {
        for text in
            ["phineus_mark(phineus_in, a) int x;", "phineus_mark(phineus_out, a) int f(void) { }"]
        {
            assert!(scan(Path::new("p.c"), text).is_err());
        }
    }
}
