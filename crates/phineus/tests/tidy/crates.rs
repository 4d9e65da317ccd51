//! Arrows between crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{read, root};

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

#[test]
fn no_crate_depends_on_itself() {
    let stated = stated_arrows();
    for name in stated.keys() {
        let mut found = BTreeSet::new();
        reachable(name, &stated, &mut found);
        assert!(!found.contains(name.as_str()), "by ARCHITECTURE.md {name} depends on itself");
    }
}
