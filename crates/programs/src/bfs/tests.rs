use phineus_bytecode::random::Seeds;
use phineus_bytecode::{Lane, Table};
use phineus_frontend::{Arguments, Program, reference, trace_to_file};

use super::BreadthFirstSearch;
use crate::tests::check;

/// The result for these edges of the two sites, as text.
fn distances(vertices: &str, source: &str, edges: [&[[u64; 2]]; 2], method: &str) -> String {
    let given = [("vertices", vertices), ("source", source), ("memory", method)];
    let mut arguments = Arguments::new(&BreadthFirstSearch, given).expect("known");
    for (site, edges) in ["site_a", "site_b"].iter().zip(edges) {
        arguments.set_rows(site, edges.len() as u64);
    }
    let (_, traced) = trace_to_file(&BreadthFirstSearch, &arguments).expect("it traces");
    let ports = traced.description.inputs.iter();
    let tables: Vec<Table> = ports
        .zip(edges)
        .map(|(port, edges)| {
            let mut table = Table::new(port.columns.clone());
            edges.iter().for_each(|edge| table.push(&edge.map(Lane::from)));
            table
        })
        .collect();
    let outputs = reference::run(&BreadthFirstSearch, &arguments, &tables).expect("it runs");
    let reference =
        BreadthFirstSearch.reference(&arguments, &tables).expect("it has one").expect("it runs");
    assert!(BreadthFirstSearch.agrees(&outputs, &reference));
    let cell = |row: u64| match outputs[0].cell(row, 1).is_zero() {
        true => "-".to_owned(),
        false => outputs[0].cell(row, 2).to_string(),
    };
    (0..outputs[0].row_count()).map(cell).collect::<Vec<_>>().join(" ")
}

#[test]
fn distances_of_small_graphs() {
    for method in ["scan", "square-root"] {
        let path: [&[_]; 2] = [&[[0, 1], [2, 3]], &[[1, 2], [3, 4]]];
        assert_eq!(distances("5", "0", path, method), "0 1 2 3 4");
        assert_eq!(distances("5", "3", path, method), "- - - 0 1");
        // Edges that are there twice, loops, a cycle, and a short cut that comes later.
        let cycle: [&[_]; 2] = [&[[0, 0], [0, 1], [0, 1], [1, 2], [2, 0]], &[[0, 3], [3, 2]]];
        assert_eq!(distances("6", "0", cycle, method), "0 1 2 1 - -");
        assert_eq!(distances("1", "0", [&[], &[[0, 0]]], method), "0");
        assert_eq!(distances("3", "1", [&[], &[]], method), "- 0 -");
        // All edges of one vertex, the last one.
        let star: [&[_]; 2] = [&[[3, 0], [3, 1], [3, 2]], &[]];
        assert_eq!(distances("4", "3", star, method), "1 1 1 0");
    }
}

#[test]
fn random_graphs_agree_with_the_plaintext() {
    let mut seeds = Seeds::fresh();
    for (vertices, [a, b]) in
        [(1, [2, 3]), (2, [1, 1]), (7, [9, 0]), (16, [20, 30]), (33, [40, 11])]
    {
        let vertices = vertices.to_string();
        for method in ["scan", "square-root"] {
            let given = [("vertices", vertices.as_str()), ("memory", method)];
            check(&BreadthFirstSearch, &given, &[("site_a", a), ("site_b", b)], seeds.draw());
        }
    }
}

/// Sizes where numbers become a bit wider: chunks of lanes are cut for the widest of several numbers.
#[test]
fn numbers_of_all_widths_fit_their_chunks() {
    for vertices in ["127", "128", "129", "255", "256", "257", "600"] {
        for edges in ["1", "300"] {
            let given = [("vertices", vertices), ("edges", edges), ("memory", "square-root")];
            let arguments = Arguments::new(&BreadthFirstSearch, given).expect("known");
            let traced = trace_to_file(&BreadthFirstSearch, &arguments);
            assert!(traced.is_ok(), "{vertices} vertices: {:?}", traced.err());
        }
    }
}

#[test]
fn wrong_parameters_are_refused() {
    let error = |given: &[(&str, &str)]| {
        let arguments = Arguments::new(&BreadthFirstSearch, given.iter().copied()).expect("known");
        let traced = trace_to_file(&BreadthFirstSearch, &arguments);
        traced.map(|_| ()).expect_err("it is refused").to_string()
    };
    assert_eq!(error(&[("vertices", "0")]), "vertices=0: expected 1 to 1048576");
    let found = error(&[("vertices", "5"), ("source", "5")]);
    assert_eq!(found, "source=5: expected a vertex, 0 to 4");
    let found = error(&[("vertices", "100000"), ("edges", "400000")]);
    assert!(found.contains("use fewer vertices or edges"), "{found}");
    let found = error(&[("edges", "4000000")]);
    assert!(found.contains("at most 1048576 edges"), "{found}");
}
