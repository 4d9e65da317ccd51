//! Annotations among the tokens of a preprocessed program.

use std::path::Path;

use crate::annotations::declaration::function;
use crate::annotations::marks::{is_word, mark_at, skip_group, wrong};
use crate::annotations::tokens::{Token, tokens};
use crate::annotations::{AnnotatedDeclaration, Annotations, Size};
use crate::diagnostic::Diagnostic;

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

/// Whether a token is the name of a function whose body follows its parameters.
fn is_definition(tokens: &[Token], at: usize) -> bool {
    let is_sign = |at: usize, sign: &str| tokens.get(at).is_some_and(|token| token.text == sign);
    is_word(&tokens[at].text)
        && is_sign(at + 1, "(")
        && is_sign(skip_group(tokens, at + 1), "{")
        && tokens[at].line.file.is_none()
}

impl Annotations {
    /// Takes what a declaration says of the computation; of others until it is known which is it.
    fn add(&mut self, path: &Path, marking: AnnotatedDeclaration) -> Result<(), Diagnostic> {
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

    /// Adds a declaration of the computation; its annotations override earlier ones.
    fn merge(&mut self, marking: AnnotatedDeclaration) {
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

fn no_computation(
    path: &Path,
    AnnotatedDeclaration { name, line, .. }: &AnnotatedDeclaration,
) -> Diagnostic {
    let what = format!("annotations on '{name}', which is not the computation");
    let remedy = "write PH_MAIN before it".to_owned();
    Diagnostic { remedy, ..wrong(path, line, name, &what) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotations::Size;
    use crate::annotations::tokens::SourceLine;

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
        assert_eq!(
            found.main,
            Some(("f".to_owned(), SourceLine { number: 4, ..SourceLine::default() }))
        );
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
