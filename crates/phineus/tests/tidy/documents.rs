//! What documents name: files, links, commands, options, errors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{documents, files, read, root, shown};

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

/// The name by which a heading is linked to.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// The targets of the links of a document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n```")
        .step_by(2)
        .flat_map(|part| part.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents().into_iter().chain([root().join("CHANGELOG.md")]) {
        let text = fs::read_to_string(&document).expect("it is text");
        for link in links(&text).filter(|link| !link.contains("://")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let folder = document.parent().unwrap_or(Path::new(""));
            let target = if file.is_empty() { document.clone() } else { folder.join(file) };
            let is_there = match fs::read_to_string(&target) {
                Ok(text) => place.is_empty() || anchors(&text).contains(place),
                Err(_) => target.is_dir() && place.is_empty(),
            };
            if !is_there {
                broken.push(format!("{}: {link}", shown(&document)));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

/// Lines of code of a document: its blocks of code, and what stands in backticks.
fn code(text: &str) -> Vec<String> {
    let blocks = text.split("\n```").skip(1).step_by(2);
    // A long command goes on in the next line.
    let lines = blocks.flat_map(|block| {
        let block = block.replace("\\\n", " ");
        block.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let spans = quoted(text).into_iter().map(|span| span.replace('\n', " "));
    lines.chain(spans).collect()
}

fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_phineus"));
    let output = command.args(arguments).arg("--help").output().expect("it runs");
    String::from_utf8(output.stdout).expect("it is text")
}

/// The options that a help text describes.
fn options(help: &str) -> BTreeSet<String> {
    let words = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let words = words.flat_map(|line| line.split_whitespace());
    let options = words.filter(|word| word.starts_with("--"));
    let name = |word: &str| {
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        word[..end.unwrap_or(word.len())].to_owned()
    };
    options.map(name).collect()
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<&str> {
    let list = help.split("Commands:").nth(1).unwrap_or_default();
    let list = list.trim_start_matches('\n').split("\n\n").next().unwrap_or_default();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).collect()
}

/// The commands, each with its options and those of the commands below it.
fn commands() -> BTreeMap<String, BTreeSet<String>> {
    let all = help(&[]);
    let with_options = |name: &&str| {
        let own = help(&[name]);
        let below = listed(&own).into_iter().flat_map(|below| options(&help(&[name, below])));
        ((*name).to_owned(), options(&own).into_iter().chain(below).collect())
    };
    listed(&all).iter().map(with_options).collect()
}

/// Options of other programs that documents name: cargo, clang, and tools that we compare with.
const FOREIGN_OPTIONS: [&str; 2] = ["--cfg", "--features"];

/// What stands after our name and is no command: beginnings of files and of what is hashed.
const NO_COMMANDS: [&str; 4] = ["agreement", "blocks", "program", "session"];

#[test]
fn commands_and_options_in_documents_exist() {
    let commands = commands();
    assert!(
        commands.len() > 8 && commands["run"].len() > 20,
        "help has the form that is read here"
    );
    let all: BTreeSet<&str> = commands.values().flatten().map(String::as_str).collect();
    let mut unknown = Vec::new();
    for document in documents().into_iter().filter(|path| !shown(path).contains("decisions/")) {
        let text = fs::read_to_string(&document).expect("it is text");
        for line in code(&text) {
            let mut fault = |what: &str| unknown.push(format!("{}: {what}", shown(&document)));
            let words: Vec<&str> = line.split_whitespace().collect();
            let command = words.iter().position(|word| *word == "phineus").map(|at| at + 1);
            let command = command.and_then(|at| words.get(at)).filter(|word| {
                word.chars().all(|c| c.is_ascii_lowercase()) && !line.contains("cargo")
            });
            let command = command.filter(|name| !NO_COMMANDS.contains(name));
            if command.is_some_and(|name| !commands.contains_key(*name)) {
                fault(&format!("the command of `{line}`"));
            }
            let of_command = command.and_then(|name| commands.get(*name));
            let is_ours = line.starts_with("--") || command.is_some();
            for option in words.iter().filter(|word| is_ours && word.starts_with("--")) {
                let end = option.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
                let option = &option[..end.unwrap_or(option.len())];
                let known = match of_command {
                    Some(options) => options.contains(option),
                    None => all.contains(option) || FOREIGN_OPTIONS.contains(&option),
                };
                if !known && option.len() > 2 {
                    fault(&format!("the option {option} in `{line}`"));
                }
            }
        }
    }
    assert!(unknown.is_empty(), "not in `--help`:\n{}", unknown.join("\n"));
}

#[test]
fn errors_in_documents_exist() {
    let errors = read("docs/errors.md");
    let mut unknown = Vec::new();
    for document in documents().into_iter().chain([root().join("CHANGELOG.md")]) {
        let text = fs::read_to_string(&document).expect("it is text");
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            let digits = word.strip_prefix('E').unwrap_or_default();
            let is_code = digits.len() == 4 && digits.chars().all(|c| c.is_ascii_digit());
            if is_code && !errors.contains(&format!("**{word}**")) {
                unknown.push(format!("{}: {word}", shown(&document)));
            }
        }
    }
    assert!(unknown.is_empty(), "codes that no error has:\n{}", unknown.join("\n"));
}
