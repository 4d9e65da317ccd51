//! Words that only people of this project would understand (docs/glossary.md has the right ones).

use std::collections::BTreeSet;
use std::fs;

use super::source::sources;
use super::{documents, root, shown};

/// A word that is not used, what is written instead, and phrases in which it is right.
struct Avoided {
    words: &'static [&'static str],
    instead: &'static str,
    right: &'static [&'static str],
}

const fn avoided(words: &'static [&'static str], instead: &'static str) -> Avoided {
    Avoided { words, instead, right: &[] }
}

const AVOIDED: [Avoided; 16] = [
    Avoided {
        right: &[
            "under way",
            "in this way",
            "in the same way",
            "this way",
            "either way",
            "no way",
            "in a way",
            "in any way",
            "ways of",
        ],
        ..avoided(&["way", "ways"], "branch or path")
    },
    Avoided { right: &["in turn", "turn an ", "turn a "], ..avoided(&["turn"], "iteration") },
    avoided(&["contest", "contests"], "arg-min or arg-max"),
    avoided(&["rehearsal", "rehearsals", "rehearse"], "dry run"),
    avoided(&["twin", "twins"], "plaintext reference"),
    Avoided {
        right: &["preprocessed material"],
        ..avoided(&["material"], "correlated randomness, or which: triples, bits, masks")
    },
    avoided(&["maker", "makers", "supplier", "suppliers"], "source or dealer"),
    Avoided { right: &["supply chain"], ..avoided(&["supply", "supplies"], "preprocessing") },
    avoided(&["kept"], "stored"),
    avoided(&["dealt"], "from a trusted dealer"),
    avoided(&["manner"], "handshake"),
    avoided(&["gathering"], "connection set-up"),
    avoided(&["casting"], "role assignment"),
    avoided(&["walk", "walks", "road", "roads"], "pass, path"),
    avoided(&["room"], "memory or space"),
    avoided(&["pace", "mended"], "rate; fixed"),
];

/// The prose of a document: without code, headings' marks and line ends.
fn prose(text: &str) -> String {
    let outside = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    let outside = outside.split('`').step_by(2).collect::<Vec<_>>().join("``");
    outside.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What is wrong with a text in lower case.
fn faults(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for Avoided { words, instead, right } in &AVOIDED {
        for word in *words {
            for (at, _) in text.match_indices(word) {
                let end = at + word.len();
                let is_whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
                    && !text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
                let is_right = right.iter().any(|phrase| {
                    let offset = phrase.find(word).unwrap_or(0);
                    at >= offset && text[at - offset..].starts_with(phrase)
                });
                if is_whole && !is_right {
                    let begin = text[..at].rfind(['.', '|']).map_or(0, |begin| begin + 1);
                    let sentence = text[begin..].trim_start().chars().take(100);
                    let sentence: String = sentence.collect();
                    faults.push(format!("'{word}' ({instead}): {sentence}"));
                }
            }
        }
    }
    faults
}

#[test]
fn documents_are_in_the_words_of_the_field() {
    let mut found = Vec::new();
    for document in documents().into_iter().filter(|path| !shown(path).contains("decisions/")) {
        let text = fs::read_to_string(&document).expect("it is text");
        found.extend(faults(&prose(&text)).iter().map(|f| format!("{}: {f}", shown(&document))));
    }
    let text = fs::read_to_string(root().join("CHANGELOG.md")).expect("it is text");
    found.extend(faults(&prose(&text)).iter().map(|fault| format!("CHANGELOG.md: {fault}")));
    assert!(found.is_empty(), "words of our own:\n{}", found.join("\n"));
}

/// Crates whose strings users read.
const SPEAKING: [&str; 9] = [
    "bytecode",
    "c-frontend",
    "channels",
    "cli",
    "frontend",
    "overlay",
    "programs",
    "session",
    "tables",
];

#[test]
fn texts_that_users_read_are_in_the_words_of_the_field() {
    let mut found = Vec::new();
    for source in SPEAKING.iter().flat_map(|name| sources(name)) {
        let places = source.code.match_indices("\"\"").map(|(at, _)| &source.code[..at]);
        // Nobody reads why something cannot fail.
        let read = places.zip(&source.strings).filter(|(before, _)| !before.ends_with("expect("));
        for (_, string) in read.filter(|(_, string)| string.contains(' ')) {
            let text = prose(&string.replace("\\\n", " "));
            found.extend(faults(&text).iter().map(|f| format!("{}: {f}", shown(&source.path))));
        }
    }
    assert!(found.is_empty(), "words of our own:\n{}", found.join("\n"));
}

/// Words of our own that are in no name of the code, and what is written instead.
const AVOIDED_IN_NAMES: [(&str, &str); 5] = [
    ("twin", "reference"),
    ("wish", "proposal"),
    ("wishes", "proposals"),
    ("ways", "variants or methods"),
    ("brings", "has_inputs or is_input"),
];

/// The words of the names in a piece of code, in lower case.
fn words_of_names(code: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for name in code.split(|c: char| !c.is_alphanumeric()) {
        let mut word = String::new();
        for c in name.chars() {
            if c.is_uppercase() && word.ends_with(char::is_lowercase) {
                words.insert(std::mem::take(&mut word).to_lowercase());
            }
            word.push(c);
        }
        words.insert(word.to_lowercase());
    }
    words
}

#[test]
fn names_are_in_the_words_of_the_field() {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("there are crates") {
        let name = entry.expect("it can be read").file_name();
        for source in sources(&name.to_string_lossy()) {
            let words = words_of_names(&source.code);
            for (word, instead) in AVOIDED_IN_NAMES.iter().filter(|(word, _)| words.contains(*word))
            {
                found.push(format!("{}: '{word}' ({instead})", shown(&source.path)));
            }
        }
    }
    assert!(found.is_empty(), "words of our own in names:\n{}", found.join("\n"));
}

#[test]
fn names_are_taken_apart() {
    let words = words_of_names("fn exchange_wishes(a: PeerWish) -> [u8; N_MAX]");
    for word in ["exchange", "wishes", "peer", "wish", "u8", "max"] {
        assert!(words.contains(word), "{word}: {words:?}");
    }
    assert!(!words.contains("peerwish"));
}

#[test]
fn words_are_found_unless_they_are_right() {
    let count = |text: &str| faults(&prose(text)).len();
    assert_eq!(count("A walk. `walk` is under\nway."), 1);
    assert_eq!(count("One way, another way, always. In turn, turn."), 3);
    assert_eq!(count("```\nwalk\n```\nsidewalk"), 0);
}
