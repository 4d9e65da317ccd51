//! The form of CHANGELOG.md.

use super::read;

/// In this order, each at most once in a version.
const SECTIONS: [&str; 5] = ["Security", "Breaking", "Added", "Changed", "Fixed"];

const ENTRY_LINES_MAX: usize = 2;

#[test]
fn the_changelog_has_the_usual_sections() {
    let text = read("CHANGELOG.md");
    let mut last = None;
    for line in text.lines() {
        if line.starts_with("## ") {
            last = None;
        }
        if let Some(section) = line.strip_prefix("### ") {
            let place = SECTIONS.iter().position(|known| *known == section);
            assert!(place.is_some(), "CHANGELOG.md has a section '{section}'");
            assert!(place > last, "the section '{section}' of CHANGELOG.md stands too late");
            last = place;
        }
    }
}

/// The entries of the changelog, each with its lines.
fn entries(text: &str) -> Vec<Vec<&str>> {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        match line.starts_with("* ") {
            true => entries.push(vec![line]),
            false if is_open && line.starts_with("  ") => {
                entries.last_mut().expect("one is open").push(line);
            }
            false => {
                is_open = false;
                continue;
            }
        }
        is_open = true;
    }
    entries
}

#[test]
fn entries_of_the_changelog_are_short() {
    let text = read("CHANGELOG.md");
    let entries = entries(&text);
    let long: Vec<&str> = entries
        .iter()
        .filter(|lines| lines.len() > ENTRY_LINES_MAX)
        .map(|lines| lines[0])
        .collect();
    assert!(
        long.is_empty(),
        "entries of CHANGELOG.md that have more than {ENTRY_LINES_MAX} lines:\n{}",
        long.join("\n")
    );
}
