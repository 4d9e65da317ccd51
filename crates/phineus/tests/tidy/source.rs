//! Source files without their tests and comments.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{files, root, shown};

/// A source file of a crate, as it is compiled without tests.
pub struct Source {
    pub path: PathBuf,
    /// `["a", "b"]` for `src/a/b.rs`, nothing for `src/lib.rs`.
    pub module: Vec<String>,
    /// Without comments, and with nothing between the quotes of strings.
    pub code: String,
    /// The strings, as they are typed.
    pub strings: Vec<String>,
}

/// The sources of a crate, without modules that are compiled for tests alone.
pub fn sources(name: &str) -> Vec<Source> {
    let folder = root().join("crates").join(name).join("src");
    let found = files(&format!("crates/{name}/src"), &["rs"]);
    let mut tests = BTreeSet::new();
    let mut sources = Vec::new();
    for path in found {
        let text = fs::read_to_string(&path).expect("it is text");
        let (whole, _) = lexed(&text);
        let module = module_of(path.strip_prefix(&folder).expect("it is below"));
        for declared in test_modules(&whole) {
            tests.insert([&module[..], &[declared]].concat());
        }
        // Strings are cut by their quotes, so the tests are cut from the text itself.
        let (code, strings) = lexed(without_tests(&text, &whole));
        sources.push(Source { path, module, code, strings });
    }
    let is_test = |module: &[String]| (1..=module.len()).any(|end| tests.contains(&module[..end]));
    sources.retain(|source| !is_test(&source.module));
    sources
}

fn module_of(path: &Path) -> Vec<String> {
    let path = path.with_extension("");
    let mut names: Vec<String> =
        path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

const TEST: &str = "#[cfg(test)]";

/// The names of modules in other files that are compiled for tests alone.
fn test_modules(code: &str) -> Vec<String> {
    let declared = code.match_indices(TEST).filter_map(|(at, _)| {
        let line = code[at + TEST.len()..].trim_start();
        let line = line.trim_start_matches("pub(crate) ").strip_prefix("mod ")?;
        let (name, _) = line.split_once(';')?;
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| name.to_owned())
    });
    declared.collect()
}

/// The text up to a module of tests in it, which stands at the end of a file.
fn without_tests<'a>(text: &'a str, code: &str) -> &'a str {
    let has_tests = code.contains("#[cfg(test)]\nmod tests {");
    match text.find("#[cfg(test)]\nmod tests {") {
        Some(at) if has_tests => &text[..at],
        _ => text,
    }
}

/// The code without comments and with empty strings, and the strings.
fn lexed(text: &str) -> (String, Vec<String>) {
    let (mut code, mut strings, mut rest) = (String::new(), Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((length, string)) = string_at(rest, &code) {
            strings.push(string);
            code.push_str("\"\"");
            length
        } else if first == '\'' {
            let length = character_at(rest);
            code.push_str(if length == 1 { "'" } else { "' '" });
            length
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    (code, strings)
}

/// The length of a string and what is in it, if one begins here.
fn string_at(rest: &str, before: &str) -> Option<(usize, String)> {
    if let Some(text) = rest.strip_prefix('"') {
        let mut is_escaped = false;
        let end = text.char_indices().find(|&(_, c)| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        let end = 1 + end.map_or(rest.len() - 1, |(at, _)| at);
        return Some(((end + 1).min(rest.len()), rest[1..end].to_owned()));
    }
    let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let raw = rest.strip_prefix('r').filter(|_| !is_word || before.ends_with('b'))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let inner = raw[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close)?;
    Some((2 + hashes + end + close.len(), inner[..end].to_owned()))
}

/// The length of a character, or of the mark of a lifetime.
fn character_at(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((at, _))) => {
            let after = at + rest[at..].chars().next().map_or(0, char::len_utf8);
            after + rest[after..].find('\'').map_or(0, |end| end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// Modules of tests whose names do not say so.
const OTHER_NAMES: [(&str, &[&str]); 2] =
    [("correlated", &["lies"]), ("protocols", &["corrupted", "harness", "runs", "unsorted"])];

/// A reader of `run.rs` and `runs.rs` takes the second for code.
#[test]
fn modules_of_tests_have_names_of_tests() {
    let mut faults = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("it is part of the project") {
        let name = entry.expect("it is part of the project").file_name();
        let name = name.to_string_lossy();
        let allowed = OTHER_NAMES.iter().find(|(known, _)| *known == name);
        let allowed = allowed.map_or(&[][..], |(_, modules)| modules);
        for path in files(&format!("crates/{name}/src"), &["rs"]) {
            let text = fs::read_to_string(&path).expect("it is text");
            for module in test_modules(&lexed(&text).0) {
                let says_so = module == "tests" || module.ends_with("_tests");
                if !says_so && !allowed.contains(&module.as_str()) {
                    faults.push(format!("{}: mod {module}", shown(&path)));
                }
            }
        }
    }
    assert!(faults.is_empty(), "name these tests, or *_tests:\n{}", faults.join("\n"));
}

#[test]
fn comments_strings_and_tests_are_left_out() {
    let text = "fn a<'b>() { x('\"', '\\'', r#\"y \"z\"#, \"// \\\" c\"); } // d\n/* e */ f";
    let (code, strings) = lexed(text);
    assert_eq!(code, "fn a<'b>() { x(' ', ' ', \"\", \"\"); } \n f");
    assert_eq!(strings, ["y \"z", "// \\\" c"]);
    assert_eq!(test_modules("#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod x { }"), ["tests"]);
    assert_eq!(module_of(Path::new("a/b.rs")), ["a", "b"]);
    assert_eq!(module_of(Path::new("a/mod.rs")), ["a"]);
}
