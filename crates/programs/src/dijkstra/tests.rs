use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{Arguments, Program, column, program, reference, trace_to_file};
use phineus_oblivious::MemoryMethod;

use super::Dijkstra;
use super::tournament::Tournament;
use crate::tests::check;

/// The result for these edges of the two sites, as text.
fn distances(vertices: &str, source: &str, edges: [&[[u64; 3]]; 2], method: &str) -> String {
    let given = [("vertices", vertices), ("source", source), ("memory", method)];
    let mut arguments = Arguments::new(&Dijkstra, given).expect("known");
    for (site, edges) in ["site_a", "site_b"].iter().zip(edges) {
        arguments.set_rows(site, edges.len() as u64);
    }
    let (_, traced) = trace_to_file(&Dijkstra, &arguments).expect("it traces");
    let ports = traced.description.inputs.iter();
    let tables: Vec<Table> = ports
        .zip(edges)
        .map(|(port, edges)| {
            let mut table = Table::new(port.columns.clone());
            edges.iter().for_each(|edge| table.push(&edge.map(Lane::from)));
            table
        })
        .collect();
    let outputs = reference::run(&Dijkstra, &arguments, &tables).expect("it runs");
    let reference = Dijkstra.reference(&arguments, &tables).expect("it has one").expect("it runs");
    assert!(Dijkstra.agrees(&outputs, &reference));
    let cell = |row: u64| match outputs[0].cell(row, 1).is_zero() {
        true => "-".to_owned(),
        false => outputs[0].cell(row, 2).to_string(),
    };
    (0..outputs[0].row_count()).map(cell).collect::<Vec<_>>().join(" ")
}

#[test]
fn distances_of_small_graphs() {
    for method in ["scan", "square-root"] {
        // The edge is dearer than the path, edges may cost nothing, and the cheapest of equal ends counts.
        let detour: [&[_]; 2] = [&[[0, 1, 10], [0, 2, 3], [2, 1, 4]], &[[1, 3, 0], [2, 1, 5]]];
        assert_eq!(distances("5", "0", detour, method), "0 7 3 7 -");
        // The largest distance that there can be.
        let path: [&[_]; 2] = [&[[0, 1, 65535], [2, 3, 65535]], &[[1, 2, 65535]]];
        assert_eq!(distances("4", "0", path, method), "0 65535 131070 196605");
        assert_eq!(distances("1", "0", [&[[0, 0, 1]], &[]], method), "0");
        assert_eq!(distances("3", "2", [&[], &[]], method), "- - 0");
    }
}

#[test]
fn random_graphs_agree_with_the_plaintext() {
    let mut seeds = Seeds::fresh();
    for (vertices, [a, b]) in
        [(1, [2, 3]), (2, [2, 1]), (7, [9, 6]), (16, [20, 30]), (33, [60, 41])]
    {
        let vertices = vertices.to_string();
        for (method, width) in [("scan", "16"), ("scan", "3"), ("square-root", "1"), ("scan", "32")]
        {
            let given = [("vertices", vertices.as_str()), ("memory", method), ("width", width)];
            check(&Dijkstra, &given, &[("site_a", a), ("site_b", b)], seeds.draw());
        }
    }
}

/// Outputs the least key, and a number that has it, after each of random updates.
fn check_tournament(count: u64, method: MemoryMethod, seed: u64) {
    let mut random = SeededRng::new(seed);
    let updates = 3 * count + 10;
    let named = |name: &str, bits| column(name, ElementType::unsigned(bits), Encoding::Number);
    let number_bits = super::bits_below(count);
    let given: Vec<Column> =
        vec![named("number", number_bits), named("key", 5), named("enable", 1)];
    let given_columns = given.clone();
    let playing = program("playing").party("a").party("b").trace(move |t, _| {
        let mut input = t.input("updates", updates).by("a").lanes(1);
        for column in given_columns.clone() {
            input = input.column(column);
        }
        let input = input.read();
        let mut tournament = Tournament::new(t, ElementType::unsigned(5), count, Some(method));
        let columns = [named("key", 5), named("number", number_bits)];
        let mut output = t.output("least", &["b"]).rows(&columns, updates);
        for row in 0..updates as usize {
            let cells = input.chunk(row);
            tournament.update(&cells[0], &cells[1], &cells[2]);
            let (key, number) = tournament.least();
            output.push(&[&key, &number]);
        }
        output.finish();
        Ok(())
    });
    let mut table = Table::new(given);
    let mut keys = vec![31; count as usize];
    let mut expected = Vec::new();
    for row in 0..updates {
        let (number, key) = (random.below(count), random.below(32));
        let enable = row > 2 && !random.one_in(4);
        table.push(&[Lane::from(number), Lane::from(key), Lane::from(enable)]);
        if enable {
            keys[number as usize] = key;
        }
        let least = (0..count).min_by_key(|&number| keys[number as usize]).expect("there are some");
        expected.push((keys[least as usize], least));
    }
    let arguments = Arguments::new(&playing, []).expect("no parameters");
    let found = reference::run(&playing, &arguments, &[table]).expect("it runs");
    for (row, (key, number)) in (0..).zip(expected) {
        let case = format!("update {row} of {count} numbers, {method:?}, seed {seed}");
        assert_eq!(found[0].cell(row, 0), Lane::from(key), "{case}");
        assert_eq!(found[0].cell(row, 1), Lane::from(number), "{case}");
    }
}

#[test]
fn a_tournament_has_the_least_key() {
    let mut seeds = Seeds::fresh();
    for count in [1, 2, 3, 5, 8, 21, 130] {
        for method in [MemoryMethod::Scan, MemoryMethod::SquareRoot] {
            check_tournament(count, method, seeds.draw());
        }
    }
}

/// Sizes where numbers become a bit wider: chunks of lanes are cut for the widest of several numbers.
#[test]
fn numbers_of_all_widths_fit_their_chunks() {
    for vertices in ["127", "128", "129", "255", "256", "257", "600"] {
        for edges in ["1", "300"] {
            let given = [("vertices", vertices), ("edges", edges), ("memory", "square-root")];
            let arguments = Arguments::new(&Dijkstra, given).expect("known");
            let traced = trace_to_file(&Dijkstra, &arguments);
            assert!(traced.is_ok(), "{vertices} vertices: {:?}", traced.err());
        }
    }
}

#[test]
fn wrong_parameters_are_refused() {
    let error = |given: &[(&str, &str)]| {
        let arguments = Arguments::new(&Dijkstra, given.iter().copied()).expect("known");
        let traced = trace_to_file(&Dijkstra, &arguments);
        traced.map(|_| ()).expect_err("it is refused").to_string()
    };
    assert_eq!(error(&[("width", "33")]), "width=33: expected 1 to 32");
    assert_eq!(error(&[("source", "10")]), "source=10: expected a vertex, 0 to 9");
    let found = error(&[("vertices", "10000"), ("edges", "400000")]);
    assert!(found.contains("use fewer vertices or edges"), "{found}");
}
