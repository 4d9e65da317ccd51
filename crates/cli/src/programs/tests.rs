//! Every program against its twin, for sizes that are and are not powers of two.

use phineus_bytecode::{Lane, Op, ProgramReader, Table, verify};
use phineus_frontend::{Arguments, Program, arranged, reference, trace_to_file};
use phineus_oblivious::{merge_comparators, sort_comparators};

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
    let mut reader = ProgramReader::open(&file).expect("it was written");
    let violations = verify(&mut reader).expect("it reads");
    assert!(violations.is_empty(), "{name} {given:?}: {violations:?}");
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

/// The hexadecimal integer.
fn hex(text: &str) -> Lane {
    Lane::from_str_radix(text, 16).expect("it is hexadecimal")
}

/// Runs a program of one output cell on one row for each input.
fn only_cell(name: &str, inputs: &[&[&str]]) -> Lane {
    let program = find(name).expect("it exists");
    let arguments = Arguments::new(program.as_ref(), [("n", "1")]).expect("it has n");
    let (_, traced) = trace_to_file(program.as_ref(), &arguments).expect("it traces");
    let ports = traced.description.inputs.iter();
    let tables: Vec<Table> = ports
        .zip(inputs)
        .map(|(port, cells)| {
            let mut table = Table::new(port.columns.clone());
            table.push(&cells.iter().map(|cell| hex(cell)).collect::<Vec<_>>());
            table
        })
        .collect();
    let outputs = reference::run(program.as_ref(), &arguments, &tables).expect("it runs");
    outputs[0].cell(0, 0)
}

/// FIPS-197, appendix C.1.
#[test]
fn aes128_reads_hexadecimal_text_as_the_standard_does() {
    let (key, block) = ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff");
    let found = only_cell("aes128", &[&[key], &[block]]);
    assert_eq!(found, hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
}

/// FIPS 180-4's example: SHA-256 of "abc", padded.
#[test]
fn sha256_reads_hexadecimal_text_as_the_standard_does() {
    let first = format!("61626380{}", "0".repeat(56));
    let second = format!("{}18", "0".repeat(62));
    let found = only_cell("sha256", &[&[&first, &second]]);
    assert_eq!(found, hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
}

/// Lanes of results that `op` has in all.
fn lanes_of(name: &str, n: &str, op: Op) -> u64 {
    let program = find(name).expect("it exists");
    let arguments = Arguments::new(program.as_ref(), [("n", n)]).expect("it has n");
    let (file, _) = trace_to_file(program.as_ref(), &arguments).expect("it traces");
    let mut reader = ProgramReader::open(file).expect("it was written");
    let mut lanes = 0;
    reader
        .for_each::<phineus_bytecode::Error>(|instruction| {
            lanes += if instruction.op == op { u64::from(instruction.lanes) } else { 0 };
            Ok(())
        })
        .expect("it reads");
    lanes
}

/// Costs are exact: `n` records a site make `2 n` to merge or sort, and `n^2` pairs.
#[test]
fn programs_compare_as_often_as_stated() {
    for n in [100u64, 1000, 1024] {
        let text = n.to_string();
        let merged = merge_comparators(2 * n);
        assert_eq!(lanes_of("merge", &text, Op::CondSwap), merged);
        assert_eq!(lanes_of("sort", &text, Op::CondSwap), sort_comparators(2 * n, 32));
        // Two columns of 64 bits.
        assert_eq!(lanes_of("password-reuse", &text, Op::CondSwap), 2 * merged);
        assert_eq!(lanes_of("password-reuse", &text, Op::Eq), 2 * (2 * n - 1));
    }
    assert_eq!(lanes_of("ljoin", "100", Op::Lt), 100 * 100);
    assert_eq!(lanes_of("mvmul", "100", Op::MulFull), 100 * 100);
}
