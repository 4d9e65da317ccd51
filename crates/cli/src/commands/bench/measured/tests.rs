//! Every measured program against its plaintext reference.

use phineus_bytecode::{Op, ProgramReader, verify};
use phineus_frontend::{Arguments, Program, reference, trace_to_file};

use super::accesses::MemoryAccesses;
use super::beside::DeepBesideWide;
use super::operations::{Ands, IntegerOperation};

/// Generates inputs, traces, runs in the clear and compares with the reference.
fn check(program: &dyn Program, given: &[(&str, &str)], rows: &[(&str, u64)], seed: u64) {
    let name = program.name();
    let given = given.iter().copied();
    let mut arguments = Arguments::new(program, given.clone()).expect("the parameters exist");
    for (port, count) in rows {
        arguments.set_rows(port, *count);
    }
    let inputs = program.generate(&arguments, seed).expect("it generates");
    let (file, _) = trace_to_file(program, &arguments).expect("it traces");
    let mut reader = ProgramReader::open(&file).expect("it was written");
    let violations = verify(&mut reader).expect("it reads");
    assert!(violations.is_empty(), "{name}: {violations:?}");
    let outputs = reference::run_file(file, &inputs).expect("it runs");
    let expected = program.reference(&arguments, &inputs).expect("it has a reference");
    let expected = expected.expect("the reference runs");
    let given: Vec<_> = given.collect();
    assert!(program.agrees(&outputs, &expected), "{name} {given:?} {rows:?} with seed {seed}");
}

#[test]
fn sizes_that_are_and_are_not_powers_of_two() {
    for n in ["1", "2", "3", "5", "16", "31", "33", "100"] {
        check(&Ands, &[("n", n)], &[], 1);
        check(&DeepBesideWide, &[("n", n)], &[], 2);
        check(&IntegerOperation, &[("lanes", n)], &[], 3);
    }
}

#[test]
fn accesses_of_all_sizes() {
    for (rows, accesses) in [(1, 0), (1, 3), (2, 1), (5, 0), (33, 7), (300, 40)] {
        for width in ["1", "32", "128", "300"] {
            check(
                &MemoryAccesses,
                &[("width", width)],
                &[("table", rows), ("indices", accesses + 1)],
                16,
            );
            let stated = rows.to_string();
            let zeros = [("width", width), ("contents", "zeros"), ("rows", stated.as_str())];
            check(&MemoryAccesses, &zeros, &[("indices", accesses + 1)], 17);
        }
    }
}

#[test]
fn tables_may_have_no_rows() {
    for count in [0, 3] {
        let rows = [("site_a", count), ("site_b", count)];
        let ands = if count == 0 { "0" } else { "130" };
        check(&Ands, &[("n", ands)], &rows, 4);
        check(&DeepBesideWide, &[], &rows, 5);
        check(&IntegerOperation, &[], &rows, 6);
    }
}

fn and_lanes(n: &str) -> u64 {
    let arguments = Arguments::new(&Ands, [("n", n)]).expect("the parameter exists");
    let (file, _) = trace_to_file(&Ands, &arguments).expect("it traces");
    let mut lanes = 0;
    ProgramReader::open(file)
        .expect("it was written")
        .for_each::<phineus_bytecode::Error>(|instruction| {
            lanes += if instruction.op == Op::And { u64::from(instruction.lanes) } else { 0 };
            Ok(())
        })
        .expect("it reads");
    lanes
}

#[test]
fn every_integer_operation() {
    let program = IntegerOperation;
    for op in ["add", "sub", "mul", "div", "gt", "eq"] {
        for width in ["8", "16", "32", "64", "17"] {
            for sharing in ["any", "gmw", "bmr", "arith"] {
                let given = [("op", op), ("width", width), ("lanes", "150"), ("sharing", sharing)];
                if sharing == "arith" && !["add", "sub", "mul"].contains(&op) {
                    let arguments = Arguments::new(&program, given).expect("known");
                    let error = trace_to_file(&program, &arguments).expect_err("no circuit");
                    let expected =
                        format!("op={op}: expected add, sub or mul, where sharing=arith");
                    assert_eq!(error.to_string(), expected);
                    continue;
                }
                check(&program, &given, &[], 11);
            }
        }
    }
    check(&program, &[("parties", "4")], &[("site_a", 3), ("site_b", 3)], 12);
    for op in ["xor", "a2b", "a2y", "b2a", "y2a"] {
        check(&program, &[("op", op), ("width", "17"), ("lanes", "150")], &[], 14);
    }
    let given = [("op", "y2a"), ("sharing", "gmw")];
    let arguments = Arguments::new(&program, given).expect("known");
    let error = trace_to_file(&program, &arguments).expect_err("it says the sharings");
    assert_eq!(error.to_string(), "sharing=gmw: expected any, as the operation says the sharings");
}

/// The products of the deep part wait for each other, those of the wide one do not.
#[test]
fn a_deep_part_beside_a_wide_one() {
    let program = DeepBesideWide;
    for part in ["both", "deep", "wide"] {
        for n in ["1", "128", "300"] {
            check(&program, &[("part", part), ("n", n), ("parties", "3")], &[], 15);
        }
    }
}

#[test]
fn as_many_ands_as_stated() {
    let program = Ands;
    for n in ["1", "63", "64", "65", "4095", "4096", "4097", "9000"] {
        check(&program, &[("n", n), ("sharing", "gmw"), ("parties", "3")], &[], 13);
        let (lanes, whole): (u64, u64) = (and_lanes(n), n.parse().expect("number"));
        assert_eq!(lanes, whole.div_ceil(64), "{n}");
    }
}
