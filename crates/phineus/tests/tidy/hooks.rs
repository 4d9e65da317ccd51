//! Protocol code is the same in tests and in programs.

use std::fs;

use super::{files, shown};

const PROTOCOL_CRATES: [&str; 3] = ["correlated", "ot", "protocols"];

/// The numbers of lines that compile a part of an item for tests alone: the attribute is indented.
fn hooks(text: &str) -> Vec<usize> {
    let is_hook = |line: &str| {
        let attribute = line.trim_start();
        line.len() > attribute.len()
            && (attribute.starts_with("#[cfg(test)]")
                || attribute.starts_with("#[cfg(any(test")
                || attribute.starts_with("#[cfg(not(test)"))
    };
    (1..).zip(text.lines()).filter(|(_, line)| is_hook(line)).map(|(number, _)| number).collect()
}

/// What a test changes in a protocol comes through a type parameter, whose default changes nothing
/// (`ot/src/deviation.rs`).
#[test]
fn protocols_have_no_hooks_for_tests() {
    let mut faults = Vec::new();
    for name in PROTOCOL_CRATES {
        for path in files(&format!("crates/{name}/src"), &["rs"]) {
            let text = fs::read_to_string(&path).expect("it is text");
            faults.extend(hooks(&text).iter().map(|line| format!("{}:{line}", shown(&path))));
        }
    }
    assert!(faults.is_empty(), "code for tests inside protocols:\n{}", faults.join("\n"));
}

#[test]
fn hooks_are_found() {
    let text = "fn f() {\n    #[cfg(test)]\n    g();\n}\n\n#[cfg(test)]\nmod tests;\n";
    assert_eq!(hooks(text), [2]);
}
