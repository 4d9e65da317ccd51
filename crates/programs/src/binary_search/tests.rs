use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Lane, Table};
use phineus_frontend::{Arguments, Program, reference, trace_to_file};

use super::{BinarySearch, LAYOUTS};

/// Looks for all `keys` in a table of `rows` keys.
fn check(rows: &[u64], keys: &[u64], layout: &str, method: &str) {
    let (n, searches) = (rows.len().to_string(), keys.len().to_string());
    let arguments =
        [("n", &n[..]), ("searches", &searches), ("layout", layout), ("memory", method)];
    let arguments = Arguments::new(&BinarySearch, arguments).expect("known");
    let (_, traced) = trace_to_file(&BinarySearch, &arguments).expect("it traces");
    let mut tables: Vec<Table> =
        traced.description.inputs.iter().map(|port| Table::new(port.columns.clone())).collect();
    rows.iter().for_each(|&key| tables[0].push(&[Lane::from(key), Lane::from(key + 7)]));
    keys.iter().for_each(|&key| tables[1].push(&[Lane::from(key)]));
    let outputs = reference::run(&BinarySearch, &arguments, &tables).expect("it runs");
    let expected = BinarySearch.reference(&arguments, &tables).expect("it has one");
    let case = format!("{keys:?} in {rows:?}, {layout}, {method}");
    assert!(BinarySearch.agrees(&outputs, &expected.expect("it runs")), "{case}");
}

/// Tables of all small sizes, with and without the key 0 and the largest one.
#[test]
fn keys_are_found_and_missed_in_tables_of_all_sizes() {
    let mut seeds = Seeds::fresh();
    for n in (1..=34).chain([63, 64, 65, 150]) {
        let mut random = SeededRng::new(seeds.draw());
        let first = random.below(2);
        let mut rows: Vec<u64> = (0..n).map(|row| first + 3 * row + random.below(2)).collect();
        if random.one_in(3) {
            rows[n as usize - 1] = u32::MAX.into();
        }
        let last = u64::from(u32::MAX);
        let mut keys = vec![0, 1, rows[0], rows[n as usize / 2], rows[n as usize - 1], last];
        keys.extend((0..10).map(|_| random.below(3 * n + 3)));
        for layout in LAYOUTS {
            check(&rows, &keys, layout, "scan");
        }
        check(&rows, &keys[..4], LAYOUTS[0], "square-root");
    }
}

#[test]
fn a_wrong_layout_is_refused() {
    let arguments = Arguments::new(&BinarySearch, [("layout", "tree")]).expect("known");
    let error = trace_to_file(&BinarySearch, &arguments).map(|_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("levels, array"), "{error}");
}
