//! What a stranger relies on: crates and modules depend on each other in one direction, files can be
//! read in one sitting, and documents name only what exists, in plain words.

mod changelog;
mod crates;
mod documents;
mod hooks;
mod modules;
mod source;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// Longer files are split. The aim is 400 lines.
const LINES_MAX: usize = 800;

/// A path as it is from the root of the project.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a directory that have one of these extensions, in order.
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
    found.sort();
    found
}

/// All documents but the changelog.
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
