//! Arrows between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, sources};

/// Crates whose modules are looked at, and the modules that import each other in a circle today. No
/// other may join them, and a name that is not in a circle any more goes from here.
const CYCLES: [(&str, &[&str]); 5] =
    [("cli", &[]), ("ot", &[]), ("correlated", &[]), ("protocols", &[]), ("session", &[])];

/// The modules that each module of a crate names, by the first part of their paths.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph(sources: &[Source]) -> Graph {
    let root = sources.iter().find(|source| source.module.is_empty());
    let exported = root.map(|root| exported(&root.code)).unwrap_or_default();
    let modules: BTreeSet<&str> =
        sources.iter().filter_map(|source| Some(source.module.first()?.as_str())).collect();
    let mut graph = Graph::new();
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        let from = &source.module[0];
        let named = graph.entry(from.clone()).or_default();
        for head in heads(&source.code, source.module.len()) {
            let to = exported.get(&head).unwrap_or(&head);
            if to != from && modules.contains(to.as_str()) {
                named.insert(to.clone());
            }
        }
    }
    graph
}

/// What the root of a crate has from its modules, by name: `pub use error::Error` makes `Error` a name
/// of `error`.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for (at, _) in root.match_indices("use ") {
        let statement = root[at + 4..].split(';').next().unwrap_or_default();
        if let Some((module, names)) = statement.split_once("::") {
            for name in names.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                exported.insert(name.to_owned(), module.trim().to_owned());
            }
        }
    }
    exported
}

/// The first names of paths that begin at the root of the crate, in a module so deep.
fn heads(code: &str, depth: usize) -> Vec<String> {
    let mut heads = Vec::new();
    let starts = |prefix: &'static str| code.match_indices(prefix).map(move |(at, _)| at);
    for at in starts("crate::") {
        names(&code[at + "crate::".len()..], &mut heads);
    }
    let above = "super::".repeat(depth);
    for at in starts("super::") {
        let rest = &code[at..];
        if !code[..at].ends_with("super::") && rest.starts_with(&above) {
            names(&rest[above.len()..], &mut heads);
        }
    }
    heads
}

/// The first names of a path, or of the paths in braces.
fn names(path: &str, found: &mut Vec<String>) {
    let Some(group) = path.strip_prefix('{') else {
        let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(path.len());
        return found.push(path[..end].to_owned());
    };
    let (mut depth, mut is_first) = (0, true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_first = true,
            c if is_first && !c.is_whitespace() => {
                names(&group[at..], found);
                is_first = false;
            }
            _ => {}
        }
    }
}

fn reachable<'a>(graph: &'a Graph, from: &str, found: &mut BTreeSet<&'a str>) {
    for to in graph.get(from).into_iter().flatten() {
        if found.insert(to) {
            reachable(graph, to, found);
        }
    }
}

/// The modules that reach themselves.
fn circular(graph: &Graph) -> BTreeSet<&str> {
    let in_circle = |module: &&str| {
        let mut found = BTreeSet::new();
        reachable(graph, module, &mut found);
        found.contains(module)
    };
    graph.keys().map(String::as_str).filter(in_circle).collect()
}

#[test]
fn modules_that_import_each_other_do_not_become_more() {
    let mut faults = Vec::new();
    for (name, allowed) in CYCLES {
        let graph = graph(&sources(name));
        let found = circular(&graph);
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        for module in found.difference(&allowed) {
            let to: Vec<&str> = graph[*module].iter().map(String::as_str).collect();
            let to: Vec<&str> = to.into_iter().filter(|to| found.contains(to)).collect();
            faults.push(format!("{name}: '{module}' is in a circle, by way of {}", to.join(", ")));
        }
        for module in allowed.difference(&found) {
            faults.push(format!("{name}: '{module}' is in no circle: take it from the list"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn circles_are_found() {
    let source = |module: &str, code: &str| Source {
        path: module.into(),
        module: module.split("::").map(str::to_owned).filter(|name| !name.is_empty()).collect(),
        code: code.to_owned(),
        strings: Vec::new(),
    };
    let sources = [
        source("", "pub use c::{Thing, Other as One};"),
        source("a", "use crate::{b::{X, Y}, Thing};"),
        source("b", "fn f() { super::c::g() }"),
        source("c::d", "use super::super::a; use super::e;"),
        source("e", "use crate::a;"),
    ];
    let graph = graph(&sources);
    assert_eq!(graph["a"].iter().collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(circular(&graph).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
}
