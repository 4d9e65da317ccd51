//! Finds the annotations in a preprocessed program.
//!
//! In this pass `phineus.h` turns each annotation into `phineus_mark(...)`, which stands before the
//! declaration that it belongs to; when the program is compiled they are nothing at all. (As
//! attributes of parameters they would keep LLVM from promoting them to registers, and debug
//! information has forgotten a parameter's first dimension.)

pub(crate) mod tokens;

use std::path::Path;

use crate::annotations::tokens::{Line, Token, tokens};
use crate::diagnostic::{Diagnostic, Spot};

/// `PH_SIZE(name, default)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) name: String,
    pub(crate) default: String,
}

/// What is said of a parameter or of the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marked {
    /// The parameter's name, empty for the result.
    pub(crate) name: String,
    pub(crate) line: Line,
    pub(crate) input: Option<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) range: Option<(String, String)>,
    /// The first dimension, if it is an array.
    pub(crate) rows: Option<String>,
    /// The words of its type, if it is neither a pointer nor an array.
    pub(crate) value_type: Option<String>,
}

/// All that the annotations say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations {
    pub(crate) sizes: Vec<Size>,
    /// The function's name and line.
    pub(crate) main: Option<(String, Line)>,
    pub(crate) result: Marked,
    pub(crate) parameters: Vec<Marked>,
    /// The last function of the file, and its line.
    last_function: Option<(String, Line)>,
    /// Functions with annotations and without `PH_MAIN`, before the computation is known.
    prototypes: Vec<Marking>,
}

impl Annotations {
    /// What is wrong with a file that has no computation: at its last function, which it may be.
    pub(crate) fn no_main(&self, path: &Path) -> Diagnostic {
        let what = "which function is the computation?".to_owned();
        let file = path.display().to_string();
        match &self.last_function {
            Some((name, line)) => {
                let remedy = format!(
                    "write PH_MAIN before it, as in `PH_MAIN void {name}(...)`, and PH_IN(party) \
                     and PH_OUT(party) before its parameters, which phineus.h defines"
                );
                Diagnostic::error(line.spot_of(&file, name), what, &remedy)
            }
            None => {
                let remedy = "include <phineus.h>, and write PH_MAIN before a function";
                Diagnostic::error(Spot { file, ..Spot::default() }, what, remedy)
            }
        }
    }
}

/// Reads the annotations of the program at `path` from what the preprocessor made of it.
pub(crate) fn scan(path: &Path, preprocessed: &str) -> Result<Annotations, Diagnostic> {
    let tokens = tokens(preprocessed);
    let mut annotations = Annotations::default();
    let (mut at, mut depth) = (0, 0);
    // Where the declaration begins that a token is in.
    let mut begin = 0;
    while at < tokens.len() {
        let Some((mark, next)) = mark_at(&tokens, at) else {
            if depth == 0 && is_definition(&tokens, at) {
                annotations.last_function =
                    Some((tokens[at].text.clone(), tokens[at].line.clone()));
            }
            match tokens[at].text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if matches!(tokens[at].text.as_str(), ";" | "{" | "}") {
                begin = at + 1;
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
            _ => {
                let (marking, next) = function(path, &tokens, begin, &tokens[at].line)?;
                annotations.add(path, marking)?;
                at = next;
            }
        }
        begin = at;
    }
    annotations.complete(path)
}

fn wrong(path: &Path, line: &Line, word: &str, what: &str) -> Diagnostic {
    let spot = line.spot_of(&path.display().to_string(), word);
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
        && tokens[at].line.file.is_none()
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

/// A declaration of a function with annotations.
#[derive(Clone, Debug)]
struct Marking {
    name: String,
    line: Line,
    is_main: bool,
    result: Marked,
    parameters: Vec<Marked>,
}

impl Annotations {
    /// Takes what a declaration says of the computation; of others until it is known which is it.
    fn add(&mut self, path: &Path, marking: Marking) -> Result<(), Diagnostic> {
        let known = self.main.as_ref().map(|(name, _)| name);
        if known == Some(&marking.name) || known.is_none() && marking.is_main {
            let before = std::mem::take(&mut self.prototypes);
            if let Some(other) = before.iter().find(|before| before.name != marking.name) {
                return Err(no_computation(path, other));
            }
            before.into_iter().chain([marking]).for_each(|marking| self.merge(marking));
        } else if marking.is_main {
            return Err(wrong(path, &marking.line, "PH_MAIN", "a second PH_MAIN"));
        } else if known.is_none() {
            self.prototypes.push(marking);
        } else {
            return Err(no_computation(path, &marking));
        }
        Ok(())
    }

    /// What a declaration of the computation says goes before what was said.
    fn merge(&mut self, marking: Marking) {
        let before = std::mem::take(&mut self.parameters);
        let together = marking.parameters.into_iter().enumerate();
        let known = |at: usize| before.get(at).cloned().unwrap_or_default();
        self.parameters = together.map(|(at, new)| new.or(known(at))).collect();
        self.main = Some((marking.name, marking.line));
        self.result = marking.result.or(std::mem::take(&mut self.result));
    }

    /// Without annotations of functions of which none is the computation.
    fn complete(self, path: &Path) -> Result<Annotations, Diagnostic> {
        match self.prototypes.first() {
            Some(marking) => Err(no_computation(path, marking)),
            None => Ok(self),
        }
    }
}

fn no_computation(path: &Path, Marking { name, line, .. }: &Marking) -> Diagnostic {
    let what = format!("annotations on '{name}', which is not the computation");
    let remedy = "write PH_MAIN before it".to_owned();
    Diagnostic { remedy, ..wrong(path, line, name, &what) }
}

/// The function whose declaration begins at a token and has its first annotation in a line; also
/// the token behind its parameters.
fn function(
    path: &Path,
    tokens: &[Token],
    begin: usize,
    line: &Line,
) -> Result<(Marking, usize), Diagnostic> {
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
    let (line, result) = (line.clone(), Marked { line: line.clone(), ..result });
    Ok((Marking { name, line, is_main, result, parameters }, end))
}

/// Refuses forms of definitions that are C and say nothing of the parameters where annotations are.
fn check_definition(
    path: &Path,
    behind: Option<&Token>,
    (name, line): (&str, &Line),
    parameters: &[Marked],
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
    let mut marked = Marked { line: tokens.first()?.line.clone(), ..Marked::default() };
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
        assert_eq!(found.main, Some(("f".to_owned(), Line { number: 4, ..Line::default() })));
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

    #[test]
    fn definitions_without_types_in_the_parentheses_are_refused() {
        let main = "phineus_mark(phineus_main) phineus_mark(phineus_out, a) int f";
        let behind = "the parameters of 'f' are declared behind its parentheses";
        let nameless = "a parameter of 'f' without a type or without a name";
        for (text, what) in [
            ("(x, y) phineus_mark(phineus_in, a) int x; int y; { return x; }", behind),
            ("(x) int x; { return x; }", behind),
            ("(phineus_mark(phineus_in, a) x) { return 1; }", nameless),
            ("(phineus_mark(phineus_in, a) const int) { return 1; }", nameless),
            ("(phineus_mark(phineus_in, a) int x, ...) { return x; }", nameless),
        ] {
            let refused = scan(Path::new("p.c"), &format!("{main}{text}")).expect_err(text);
            assert_eq!(refused.message, what, "{text}");
        }
        for text in [
            "(phineus_mark(phineus_in, a) int); int f(int x) { return x; }",
            "(phineus_mark(phineus_in, a) int x) __attribute__((pure)); int f(int x) { return x; }",
            "(void) { return 1; }",
            "() { return 1; }",
        ] {
            assert!(scan(Path::new("p.c"), &format!("{main}{text}")).is_ok(), "{text}");
        }
    }
}
