//! Every program against its plaintext reference, for sizes that are and are not powers of two.

mod unsorted;

use phineus_bytecode::{
    BlockDirectory, Lane, Op, ProgramReader, Sharing, Table, verify, verify_blocks,
};
use phineus_frontend::{Arguments, Program, arranged, reference, trace_to_file};
use phineus_oblivious::{merge_comparators, sort_comparators};

use super::{all, find};

/// Generates, traces, runs in the clear and compares with the plaintext reference.
pub(crate) fn check(
    program: &dyn Program,
    given: &[(&str, &str)],
    rows: &[(&str, u64)],
    seed: u64,
) {
    checked(program, given, rows, seed);
}

/// As [`check`]; gives the outputs.
fn checked(
    program: &dyn Program,
    given: &[(&str, &str)],
    rows: &[(&str, u64)],
    seed: u64,
) -> Vec<Table> {
    let name = program.name();
    let mut arguments =
        Arguments::new(program, given.iter().copied()).expect("the parameters exist");
    for (port, count) in rows {
        arguments.set_rows(port, *count);
    }
    let generated = program.generate(&arguments, seed).expect("it generates");
    let (file, traced) = trace_to_file(program, &arguments).expect("it traces");
    let violations = match BlockDirectory::read(&file).expect("it was written") {
        Some(blocks) => {
            let open = |block: usize| blocks.open(&file, block);
            verify_blocks::<_, phineus_bytecode::Error>(&blocks, open)
        }
        None => verify(&mut ProgramReader::open(&file).expect("it was written")),
    };
    let violations = violations.expect("it reads");
    assert!(violations.is_empty(), "{name} {given:?}: {violations:?}");
    let ports = traced.description.inputs.iter();
    let inputs: Vec<Table> = ports
        .zip(&generated)
        .map(|(port, table)| arranged(table, &port.order).expect("keys are unique"))
        .collect();
    let outputs = reference::run_file(file, &inputs).expect("it runs");
    let expected = program
        .reference(&arguments, &inputs)
        .expect("it has a reference")
        .expect("the reference runs");
    assert!(
        program.agrees(&outputs, &expected),
        "{name} {given:?} {rows:?} with seed {seed} differs from its reference"
    );
    outputs
}

#[test]
fn every_program_agrees_with_its_reference() {
    for program in all() {
        let sizes: &[&str] = match program.name() {
            "scrypt" => &["2", "8"],
            "gale-shapley" => &["1", "2", "3", "5", "8"],
            _ if program.parameters().iter().any(|p| p.name == "n") => {
                &["1", "2", "3", "5", "16", "31", "33", "100"]
            }
            _ => &[""],
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

/// A table without rows is a table: of one party, or of all.
#[test]
fn tables_may_have_no_rows() {
    for program in all() {
        let name = program.name();
        if ["millionaires", "gcd", "cnn", "gale-shapley"].contains(&name) {
            continue;
        }
        let arguments = Arguments::new(program.as_ref(), []).expect("defaults");
        let (_, traced) = trace_to_file(program.as_ref(), &arguments).expect("it traces");
        let ports: Vec<&str> =
            traced.description.inputs.iter().map(|port| port.name.as_str()).collect();
        // Of these inputs the others say how large they are, or they are one row.
        let fixed = |port: &&str| match name {
            "aes128" => *port == "key",
            "biometric" => *port == "site_a",
            "binfclayer" | "mvmul" | "linear-layer" => *port == "vector",
            _ => false,
        };
        let free: Vec<&str> = ports.iter().copied().filter(|port| !fixed(port)).collect();
        assert!(!free.is_empty(), "{name}");
        for empty in 0..1u32 << free.len() {
            let rows: Vec<(&str, u64)> = free
                .iter()
                .enumerate()
                .map(|(place, port)| (*port, if empty >> place & 1 == 1 { 0 } else { 3 }))
                .collect();
            if name == "linear-layer" && rows[0].1 != rows[1].1 {
                continue;
            }
            let vector = ["mvmul", "linear-layer"].contains(&name).then_some(("vector", 2));
            let rows: Vec<(&str, u64)> = rows.into_iter().chain(vector).collect();
            let given: &[(&str, &str)] =
                if name == "psi" { &[("result", "elements")] } else { &[] };
            check(program.as_ref(), given, &rows, u64::from(empty));
            if name == "psi" {
                check(program.as_ref(), &[], &rows, u64::from(empty));
            }
        }
    }
    let three = find("psi").expect("it exists");
    for rows in [[0, 0, 0], [0, 2, 3], [2, 3, 0], [3, 0, 2]] {
        let rows: Vec<(&str, u64)> = ["site_a", "site_b", "site_c"].into_iter().zip(rows).collect();
        for result in ["count", "elements"] {
            check(three.as_ref(), &[("parties", "3"), ("result", result)], &rows, 5);
        }
    }
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
    lanes_in(name, &[("n", n)], op)
}

fn lanes_in(name: &str, given: &[(&str, &str)], op: Op) -> u64 {
    let program = find(name).expect("it exists");
    let arguments =
        Arguments::new(program.as_ref(), given.iter().copied()).expect("the parameters exist");
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

#[test]
fn any_number_of_parties() {
    for parties in ["2", "3", "5"] {
        for name in ["aes128", "sha256"] {
            let program = find(name).expect("it exists");
            for inputs in ["owners", "shared"] {
                let given = [("parties", parties), ("inputs", inputs), ("n", "35"), ("to", "all")];
                check(program.as_ref(), &given, &[], 1);
            }
        }
        let program = find("biometric").expect("it exists");
        for n in ["5", "128", "129", "300", "513"] {
            check(program.as_ref(), &[("parties", parties), ("n", n)], &[], 7);
            let given = [("parties", parties), ("n", n), ("index", "false"), ("minimum", "bmr")];
            check(program.as_ref(), &given, &[], 8);
        }
        let program = find("psi").expect("it exists");
        for result in ["count", "elements"] {
            for (n, overlap) in [("1", "100"), ("20", "50"), ("70", "0"), ("64", "100")] {
                let given =
                    [("parties", parties), ("n", n), ("result", result), ("overlap", overlap)];
                check(program.as_ref(), &given, &[], 3);
            }
        }
    }
    let names = |given: &[(&str, &str)]| {
        let program = find("psi").expect("it exists");
        let arguments = Arguments::new(program.as_ref(), given.iter().copied()).expect("known");
        trace_to_file(program.as_ref(), &arguments).map(|(_, traced)| traced.description.parties)
    };
    let three = names(&[("parties", "3"), ("n", "4")]).expect("it traces");
    assert_eq!(three, ["site_a", "site_b", "site_c"]);
    for (parties, count) in [("16", 16), ("2", 2)] {
        assert_eq!(names(&[("parties", parties), ("n", "1")]).expect("it traces").len(), count);
    }
    for wrong in ["1", "0", "17", "x"] {
        let error = names(&[("parties", wrong)]).expect_err("it is no possible number");
        assert_eq!(error.to_string(), format!("parties={wrong}: expected 2 to 16"));
    }
}

#[test]
fn sets_and_databases_may_differ_in_size() {
    let program = find("psi").expect("it exists");
    for (a, b, c) in [(1, 50, 7), (64, 1, 65), (100, 100, 3)] {
        let rows = [("site_a", a), ("site_b", b), ("site_c", c)];
        check(program.as_ref(), &[("parties", "3"), ("result", "elements")], &rows, a + b);
    }
    let program = find("biometric").expect("it exists");
    let given = [("parties", "3"), ("d", "1")];
    check(program.as_ref(), &given, &[("site_b", 200), ("site_c", 3)], 4);
    check(program.as_ref(), &given, &[("site_b", 1), ("site_c", 130)], 5);
    for width in ["8", "16", "33", "64"] {
        check(program.as_ref(), &[("n", "77"), ("d", "17"), ("width", width)], &[], 6);
    }
}

/// Squares modulo 2^8 have 44 values: most minima are of several rows, in all chunks.
#[test]
fn of_rows_that_are_equally_near_the_first_wins() {
    let program = find("biometric").expect("it exists");
    for n in ["3", "4", "7", "100", "511", "513", "600", "1024", "1025", "1700"] {
        for seed in 0..4 {
            check(program.as_ref(), &[("n", n), ("d", "1"), ("width", "8")], &[], seed);
        }
    }
}

/// Distances take a square for each coordinate, and comparisons are one fewer than rows.
#[test]
fn biometric_matching_squares_on_arithmetic_shares() {
    let program = find("biometric").expect("it exists");
    let given = [("n", "500"), ("d", "3"), ("minimum", "bmr")];
    let arguments = Arguments::new(program.as_ref(), given).expect("known");
    let (file, _) = trace_to_file(program.as_ref(), &arguments).expect("it traces");
    let (mut squares, mut comparisons) = (0, 0);
    ProgramReader::open(file)
        .expect("it was written")
        .for_each::<phineus_bytecode::Error>(|i| {
            match (i.op, i.element.sharing()) {
                (Op::Mul, Sharing::Arithmetic) => {
                    assert_eq!(i.operands[0], i.operands[1]);
                    squares += i.lanes;
                }
                (Op::Lt, Sharing::Garbled) => comparisons += i.lanes,
                (Op::Mul | Op::Lt, _) => panic!("in another sharing: {i:?}"),
                (Op::Input, sharing) => assert_eq!(sharing, Sharing::Arithmetic),
                _ => {}
            }
            Ok(())
        })
        .expect("it reads");
    assert_eq!((squares, comparisons), (3 * 500, 499));
}

#[test]
fn networks_of_any_shape() {
    let program = find("cnn").expect("it exists");
    let shapes = [
        [("size", "8"), ("pad", "1"), ("kernel", "3"), ("stride", "2"), ("kernels", "2")],
        [("size", "7"), ("pad", "0"), ("kernel", "2"), ("stride", "1"), ("kernels", "3")],
        [("size", "5"), ("pad", "4"), ("kernel", "4"), ("stride", "2"), ("kernels", "1")],
        [("size", "1"), ("pad", "0"), ("kernel", "1"), ("stride", "1"), ("kernels", "1")],
        [("size", "26"), ("pad", "1"), ("kernel", "5"), ("stride", "2"), ("kernels", "1")],
    ];
    for (seed, shape) in shapes.iter().enumerate() {
        for (relu, result) in [("gmw", "scores"), ("bmr", "class")] {
            let more = [("hidden", "7"), ("classes", "5"), ("relu", relu), ("result", result)];
            let given: Vec<(&str, &str)> = shape.iter().chain(&more).copied().collect();
            check(program.as_ref(), &given, &[], seed as u64);
        }
    }
    let refused = [("kernel", "40"), ("stride", "3"), ("shift", "32"), ("relu", "arith")];
    for (name, value) in refused {
        let arguments = Arguments::new(program.as_ref(), [(name, value)]).expect("known");
        let error = trace_to_file(program.as_ref(), &arguments).expect_err("it is refused");
        assert!(error.to_string().starts_with(&format!("{name}={value}: expected")), "{error}");
    }
}

/// CryptoNets' sizes: 5 maps of 13 x 13 after the convolution, 100 and 10 values after that.
#[test]
fn the_default_network_has_the_published_sizes() {
    let products = 845 * 25 + 845 * 100 + 100 * 10;
    assert_eq!(lanes_in("cnn", &[], Op::Mul), products);
    let outputs = checked(find("cnn").expect("it exists").as_ref(), &[], &[], 1);
    assert_eq!(outputs[0].row_count(), 10);
}

/// Joins of all kinds against the plain answer, on fresh random tables.
#[test]
fn joins_agree_with_their_reference() {
    let program = find("join").expect("it exists");
    let seed = std::env::var("PHINEUS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos() as u64
    });
    println!("PHINEUS_SEED={seed}");
    let two = ("key", "name:text,birth:u16");
    let small = ("key", "id:u5");
    let cases: &[&[(&str, &str)]] = &[
        &[],
        &[("left", "a:i16,b:bit"), ("right", "c:u40")],
        &[("left", "a:i16"), ("right", ""), ("how", "left")],
        &[("to", "site_a"), ("right", "c:fixed16,d:i7")],
        &[("to", "site_b"), ("left", "a:u7"), two],
        &[("right", ""), two],
        &[("repeats", "2"), ("left", "a:u9"), ("right", "c:u12,d:i3"), small],
        &[("repeats", "5"), ("left", "a:u9"), ("right", "c:u12"), ("how", "left"), small],
        &[("repeats", "3"), ("to", "site_b"), ("left", "a:u9"), small],
        &[("repeats", "2"), ("key", "name:text"), ("left", "a:u9")],
        &[("repeats", "2"), ("key", "id:u64")],
        &[("repeats", "64"), ("key", "id:u8")],
        &[("repeats", "3"), ("key", "a:u64,b:u64"), ("right", "")],
        &[("result", "count"), small],
        &[("result", "count"), ("repeats", "4"), small],
        &[("result", "count,sum,mean"), ("value", "value"), small],
        &[("result", "sum"), ("left", "v:i33"), ("value", "v"), ("to", "site_a"), small],
        &[
            ("result", "count,sum,mean"),
            ("left", "kind:u3,w:i64"),
            ("value", "w"),
            ("by", "kind"),
            ("categories", "5"),
            ("repeats", "3"),
            small,
        ],
        &[
            ("result", "mean"),
            ("left", "kind:u3"),
            ("right", "x:fixed20,kind:u2"),
            ("value", "x"),
            ("by", "site_b.kind"),
            ("categories", "3"),
            small,
        ],
    ];
    for (case, given) in (0..).zip(cases) {
        for (a, b) in [(1, 1), (1, 9), (8, 1), (7, 12), (20, 31)] {
            let rows = [("site_a", a), ("site_b", b)];
            check(program.as_ref(), given, &rows, seed.wrapping_add(64 * case + a));
        }
    }
    check(program.as_ref(), &[("left", "a:u60")], &[("site_a", 300), ("site_b", 170)], seed);
}

/// Compares the cost of a join with a merge of as many rows of the same width.
#[test]
fn a_join_costs_little_more_than_a_merge() {
    for n in [1_000u64, 4_096, 20_000] {
        let rows = 2 * n;
        let (key, payload) = (32, 48);
        let comparators = merge_comparators(rows);
        // Keys are compared and moved, payloads go there and come back with a bit.
        let join = comparators * (2 * key + payload + payload + 1) + rows * (key + payload);
        let merge = comparators * (key + key + 2 * payload);
        assert!(10 * join <= 11 * merge, "{n}: {join} ANDs for {merge}");
    }
}
