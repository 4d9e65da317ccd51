//! What a stranger relies on: the documents name files that exist, crates depend on each other as
//! ARCHITECTURE.md says, and files can be read in one sitting.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Longer files are split. The aim is 400 lines.
const LINES_MAX: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a directory that have one of these extensions.
fn files(directory: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let (mut found, mut directories) = (Vec::new(), vec![root().join(directory)]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("it is part of the project") {
            let path = entry.expect("it is part of the project").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !["target", "corpus", "artifacts"].contains(&name) {
                directories.push(path);
            } else if path.extension().is_some_and(|e| extensions.iter().any(|wanted| e == *wanted))
            {
                found.push(path);
            }
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    let top = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md"];
    let mut all = files("docs", &["md"]);
    all.extend(top.map(|name| root().join(name)));
    all
}

#[test]
fn no_file_is_too_long_to_read() {
    let too_long: Vec<String> = files("crates", &["rs"])
        .into_iter()
        .filter_map(|path| {
            let lines = fs::read_to_string(&path).expect("it is text").lines().count();
            (lines > LINES_MAX).then(|| format!("{}: {lines} lines", path.display()))
        })
        .collect();
    assert!(too_long.is_empty(), "more than {LINES_MAX} lines:\n{}", too_long.join("\n"));
}

/// The table "The crates" of ARCHITECTURE.md: what each depends on.
fn stated_arrows() -> BTreeMap<String, Vec<String>> {
    let text = read("ARCHITECTURE.md");
    let table = text.split("## The crates").nth(1).expect("there is that section");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let named = cells[cells.len() - 1].split(", ").map(str::to_owned);
        (cells[0].trim_matches('`').to_owned(), named.collect())
    })
    .collect()
}

/// Everything that a crate reaches by the table.
fn reachable<'a>(
    name: &'a str,
    stated: &'a BTreeMap<String, Vec<String>>,
    found: &mut BTreeSet<&'a str>,
) {
    for next in &stated[name] {
        match next.as_str() {
            "–" => {}
            "all above" => found.extend(stated.keys().map(String::as_str).filter(|n| *n != name)),
            next => {
                assert!(stated.contains_key(next), "ARCHITECTURE.md names a crate '{next}'");
                if found.insert(next) {
                    reachable(next, stated, found);
                }
            }
        }
    }
}

#[test]
fn crates_depend_on_each_other_as_the_map_says() {
    let stated = stated_arrows();
    for entry in fs::read_dir(root().join("crates")).expect("it is part of the project") {
        let path = entry.expect("it is part of the project").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("plain names").to_owned();
        assert!(stated.contains_key(&name), "ARCHITECTURE.md has no crate '{name}'");
        let mut allowed = BTreeSet::new();
        reachable(&name, &stated, &mut allowed);
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let used = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let used = used.split("\n[").next().unwrap_or_default();
        for line in used.lines().filter_map(|line| line.strip_prefix("phineus-")) {
            let other = line.split(['.', ' ', '=']).next().unwrap_or_default();
            assert!(
                allowed.contains(other),
                "{name} depends on {other}, and the map does not say so"
            );
        }
    }
}

/// The words in backticks of a document, outside its blocks of code.
fn quoted(text: &str) -> Vec<&str> {
    let prose = text.split("\n```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// `a/{b,c}.rs` is two names.
fn expanded(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![name.to_owned()] };
    choices.split(',').map(|choice| format!("{before}{}{after}", choice.trim())).collect()
}

/// Whether this is the name of a file or folder of the project, rather than of something else.
fn is_path(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_-.{}, ".contains(c);
    let is_source = [".rs", ".md", ".py", ".c", ".h", ".s"].iter().any(|end| word.ends_with(end));
    word.contains('/') && is_source && word.chars().all(is_plain) && !word.starts_with(['.', '/'])
}

#[test]
fn documents_name_files_that_exist() {
    let root = root();
    let sources: Vec<String> = ["crates", "docs", "scripts", "benches", "fuzz"]
        .iter()
        .flat_map(|folder| files(folder, &["rs", "md", "py", "c", "h", "s"]))
        .map(|path| path.display().to_string())
        .collect();
    let mut missing = Vec::new();
    // Decisions stay as they were made, also when what they name is gone.
    for document in
        documents().into_iter().filter(|path| !path.starts_with(root.join("docs/decisions")))
    {
        let Ok(text) = fs::read_to_string(&document) else { continue };
        for word in quoted(&text).into_iter().filter(|word| is_path(word)) {
            for name in expanded(word) {
                // Paths may begin at the root, at a crate or at a folder that the text is about.
                let end = format!("/{name}");
                if !root.join(&name).exists() && !sources.iter().any(|path| path.ends_with(&end)) {
                    let document = document.strip_prefix(&root).unwrap_or(&document);
                    missing.push(format!("{}: {name}", document.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "files that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn every_decision_is_in_the_index() {
    let index = read("docs/decisions/README.md");
    for entry in fs::read_dir(root().join("docs/decisions")).expect("it is part of the project") {
        let name = entry.expect("it is part of the project").file_name();
        let name = name.to_string_lossy();
        assert!(
            name == "README.md" || index.contains(&*name),
            "docs/decisions/README.md lacks {name}"
        );
    }
}

#[test]
fn the_changelog_has_the_usual_sections() {
    const SECTIONS: [&str; 5] = ["Security", "Breaking", "Added", "Changed", "Fixed"];
    let text = read("CHANGELOG.md");
    for line in text.lines() {
        if let Some(section) = line.strip_prefix("### ") {
            assert!(SECTIONS.contains(&section), "CHANGELOG.md has a section '{section}'");
        }
    }
}
