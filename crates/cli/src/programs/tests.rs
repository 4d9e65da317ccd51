//! Every program against its twin, for sizes that are and are not powers of two.

use phineus_bytecode::Table;
use phineus_frontend::{Arguments, Program, arranged, reference, trace_to_file};

use super::{all, find};

/// Generates, traces, runs in the clear and compares with the twin.
fn check(program: &dyn Program, given: &[(&str, &str)], rows: &[(&str, u64)], seed: u64) {
    let name = program.name();
    let mut arguments =
        Arguments::new(program, given.iter().copied()).expect("the parameters exist");
    for (port, count) in rows {
        arguments.set_rows(port, *count);
    }
    let generated = program.generate(&arguments, seed).expect("it generates");
    let (file, traced) = trace_to_file(program, &arguments).expect("it traces");
    let ports = traced.description.inputs.iter();
    let inputs: Vec<Table> = ports
        .zip(&generated)
        .map(|(port, table)| arranged(table, &port.order).expect("keys are unique"))
        .collect();
    let outputs = reference::run_file(file, &inputs).expect("it runs");
    let expected =
        program.twin(&arguments, &inputs).expect("it has a twin").expect("the twin runs");
    assert!(
        program.agrees(&outputs, &expected),
        "{name} {given:?} {rows:?} with seed {seed} differs from its twin"
    );
}

#[test]
fn every_program_agrees_with_its_twin() {
    for program in all() {
        let sizes: &[&str] = if program.parameters().iter().any(|p| p.name == "n") {
            &["1", "2", "3", "5", "16", "31", "33", "100"]
        } else {
            &[""]
        };
        for (seed, size) in sizes.iter().enumerate() {
            let given = [("n", *size)];
            let given = if size.is_empty() { &[][..] } else { &given[..] };
            check(program.as_ref(), given, &[], seed as u64);
        }
    }
}

#[test]
fn sites_may_differ_in_size() {
    for name in ["password-reuse", "merge", "sort"] {
        let program = find(name).expect("it exists");
        for (a, b) in [(1, 300), (300, 1), (64, 65), (127, 130), (32, 32), (257, 31)] {
            check(program.as_ref(), &[], &[("site_a", a), ("site_b", b)], a * b);
        }
    }
    let matrix = find("mvmul").expect("it exists");
    check(matrix.as_ref(), &[], &[("matrix", 300), ("vector", 7)], 1);
    let layer = find("binfclayer").expect("it exists");
    check(layer.as_ref(), &[("n", "700")], &[("matrix", 21)], 2);
    check(layer.as_ref(), &[("n", "257")], &[], 3);
}

#[test]
fn an_unknown_receiver_is_refused() {
    let program = find("merge").expect("it exists");
    let arguments = Arguments::new(program.as_ref(), [("to", "nobody")]).expect("it is text");
    let error = trace_to_file(program.as_ref(), &arguments).expect_err("there is no such party");
    assert_eq!(error.to_string(), "to=nobody: expected site_a, site_b or both");
}
