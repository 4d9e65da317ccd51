//! Circuits as small as the values: exact numbers of ANDs of C programs, and the option that leaves programs as
//! they are.
#![cfg(feature = "llvm")]

mod common;

use std::time::Duration;

use common::{Place, Result, wait};

/// A function of two secret integers.
struct Case {
    /// The types of the parameters, with ranges, and of the result.
    types: [&'static str; 3],
    result: &'static str,
    /// ANDs of the garbled program, and of the same as it is written.
    ands: u64,
    written: u64,
}

const CASES: &[Case] = &[
    Case {
        types: ["uint8_t", "uint8_t", "uint64_t"],
        result: "(uint64_t)a * b",
        ands: 79,
        written: 2143,
    },
    Case {
        types: ["PH_RANGE(0, 15) uint32_t", "PH_RANGE(0, 15) uint32_t", "uint32_t"],
        result: "a * b",
        ands: 23,
        written: 559,
    },
    Case {
        types: ["uint8_t", "uint8_t", "int"],
        result: "(a - b) * (a - b)",
        ands: 52,
        written: 286,
    },
    Case {
        types: ["uint32_t", "uint32_t", "uint64_t"],
        result: "(uint64_t)a * b",
        ands: 1034,
        written: 2143,
    },
    Case {
        types: ["uint8_t", "uint32_t", "uint64_t"],
        result: "(uint64_t)a * b",
        ands: 361,
        written: 2143,
    },
    Case { types: ["uint8_t", "uint8_t", "int"], result: "a / (b + 1)", ands: 64, written: 620 },
    Case { types: ["uint8_t", "uint8_t", "int"], result: "a + b", ands: 8, written: 31 },
    Case { types: ["uint16_t", "uint8_t", "int"], result: "a + (b << 8)", ands: 8, written: 31 },
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "(a ^ b) * (a ^ b)",
        ands: 255,
        written: 255,
    },
    // A division, and the sum of quotient and remainder.
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "a / b + a % b",
        ands: 683,
        written: 1272,
    },
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "(a ^ b) / 10",
        ands: 349,
        written: 589,
    },
    Case {
        types: ["int32_t", "int32_t", "int32_t"],
        result: "(a ^ b) % 100",
        ands: 427,
        written: 745,
    },
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "(a & b) | (a & (b << 1)) | (b & (b << 1))",
        ands: 32,
        written: 128,
    },
    // Below the lowest 1 of a constant no AND is taken, and there neither.
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "(a ^ b) + 0x428a2f99",
        ands: 30,
        written: 31,
    },
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "(a ^ b) + 12",
        ands: 28,
        written: 29,
    },
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "1000 - (a ^ b)",
        ands: 30,
        written: 31,
    },
    // A rectifier.
    Case {
        types: ["int32_t", "int32_t", "int32_t"],
        result: "(a ^ b) > 0 ? a ^ b : 0",
        ands: 31,
        written: 64,
    },
    // Compared once.
    Case {
        types: ["uint32_t", "uint32_t", "uint32_t"],
        result: "(a < b ? a : b) ^ (a < b)",
        ands: 64,
        written: 96,
    },
    Case {
        types: ["uint32_t", "uint32_t", "int"],
        result: "(a ^ b) < 1000",
        ands: 29,
        written: 32,
    },
];

/// Hamming distances of 160 bits, written in three ways: the number of ones of `n` bits takes `n` ANDs less the ones of `n`.
const HAMMING_DISTANCES: [(&str, &str, &str); 3] = [
    ("uint32_t", "5", "d += __builtin_popcount(a[i] ^ b[i]);"),
    ("uint32_t", "5", "for (int k = 0; k < 32; k++) d += (a[i] ^ b[i]) >> k & 1;"),
    ("bool", "160", "if (a[i] != b[i]) d++;"),
];

#[test]
fn bits_are_counted_at_once() -> Result {
    let place = Place::new()?;
    for &(element, count, body) in &HAMMING_DISTANCES {
        let source = format!(
            "#include <phineus.h>\n#include <stdbool.h>\nPH_SIZE(N, {count})\n\
             PH_MAIN PH_OUT(ann) uint32_t f(PH_IN(ann) const {element} a[N], PH_IN(ben) const {element} b[N])\n\
             {{\n    uint32_t d = 0;\n    for (int i = 0; i < N; i++) {{\n        {body}\n    }}\n    return d;\n}}\n"
        );
        place.write("distance.c", source)?;
        let line = "explain distance.c --protocol garbled --json";
        let told = place.run(line)?.succeeded()?.document()?;
        assert_eq!(told["plan"]["costs"]["and_gates"], 158, "{body}");
        let rows: usize = count.parse()?;
        let column = |name: &str, step: usize| {
            let value =
                |row: usize| if element == "bool" { row / step % 2 } else { row * step * 77 };
            let values: Vec<String> = (0..rows).map(|row| value(row).to_string()).collect();
            format!("{name}\n{}\n", values.join("\n"))
        };
        place.write("a.csv", column("a", 1))?;
        place.write("b.csv", column("b", 3))?;
        for protocol in ["clear", "garbled", "gmw", "mixed"] {
            let run = "run distance.c --local --verify --in ann=a.csv --in ben=b.csv";
            let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
            done.says("equals the plaintext answer: yes")?;
        }
    }
    Ok(())
}

fn source(case: &Case) -> String {
    let [a, b, result] = case.types;
    format!(
        "#include <phineus.h>\nPH_MAIN PH_OUT(ann) {result} f(PH_IN(ann) {a} a, PH_IN(ben) {b} b)\n\
         {{\n    return {};\n}}\n",
        case.result
    )
}

#[test]
fn circuits_are_as_small_as_the_values() -> Result {
    let place = Place::new()?;
    let mut wrong = Vec::new();
    for case in CASES {
        place.write("case.c", source(case))?;
        for (option, wanted) in [("", case.ands), ("--no-optimise", case.written)] {
            let line = format!("explain case.c --protocol garbled --json {option}");
            let told = place.run(&line)?.succeeded()?.document()?;
            let found = &told["plan"]["costs"]["and_gates"];
            if *found != wanted {
                wrong.push(format!("{} {option}: {found} ANDs, not {wanted}", case.result));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn narrowed_programs_give_what_plain_c_gives() -> Result {
    let place = Place::new()?;
    for (number, case) in CASES.iter().enumerate() {
        place.write("case.c", source(case))?;
        let [a, b] = [[255, 254], [0, 1], [1, 3]][number % 3];
        let is_small = case.types[0].contains("RANGE");
        let [a, b] = if is_small { [a & 15, b & 15] } else { [a, b] };
        place.write("a.csv", format!("a\n{a}\n"))?;
        place.write("b.csv", format!("b\n{b}\n"))?;
        for protocol in ["clear", "garbled", "gmw", "bmr", "arith", "rep3 --computing 3"] {
            let run = "run case.c --local --verify --in ann=a.csv --in ben=b.csv";
            let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
            done.says("equals the plaintext answer: yes")?;
        }
    }
    Ok(())
}

/// Bits beside elements of a ring are narrowed, and the plan is proven.
#[test]
fn bits_beside_arithmetic_shares_are_narrowed() -> Result {
    let place = Place::new()?;
    let source = "#include <phineus.h>
        PH_MAIN PH_OUT(ann) int f(PH_IN(ann) const uint8_t a[16], PH_IN(ben) const uint8_t b[16]) {
            int d = 0;
            for (int i = 0; i < 16; i++)
                for (int k = 0; k < 8; k++) d += (a[i] ^ b[i]) >> k & 1;
            return d * d;
        }";
    place.write("distance.c", source)?;
    let explain = "explain distance.c --json --protocol rep3 --computing 3";
    let [now, before] = ["", " --no-optimise"].map(|option| -> Result<u64> {
        let explained = place.run(&format!("{explain}{option}"))?.succeeded()?.document()?;
        let ands = &explained["plan"]["costs"]["and_gates"];
        Ok(ands.as_u64().ok_or("ANDs are a number")?)
    });
    assert!(now? * 20 < before?);
    for protocol in ["arith", "rep3 --computing 3"] {
        let plan = format!("plan distance.c --protocol {protocol} --out distance.plan");
        place.run(&plan)?.succeeded()?;
        place.run("check distance.plan --program distance.c")?.succeeded()?;
    }
    Ok(())
}

#[test]
fn plans_state_whether_programs_were_optimised() -> Result {
    let place = Place::new()?;
    place.write("case.c", source(&CASES[0]))?;
    for protocol in ["garbled", "gmw", "bmr", "mixed"] {
        for option in ["", "--no-optimise"] {
            place
                .run(&format!("plan case.c --protocol {protocol} --out x.plan {option}"))?
                .succeeded()?;
            place.run("check x.plan --program case.c")?.succeeded()?.says("right")?;
            let shown = place.run("show x.plan")?.succeeded()?;
            let is_stated = shown.stdout.contains("plan optimisation \"off\"");
            assert_eq!(is_stated, !option.is_empty(), "{protocol} {option}");
        }
    }
    Ok(())
}

/// Parties that plan other programs must not begin a run.
#[test]
fn all_parties_optimise_or_none_does() -> Result {
    let place = Place::new()?;
    place.write("case.c", source(&CASES[0]))?;
    place.write("a.csv", "a\n200\n")?;
    place.write("b.csv", "b\n77\n")?;
    place.parties(&["ann", "ben"])?;
    let start = |name: &str, file: &str, more: &str| {
        let who = format!("--as {name} --id-dir id_{name} --in {file}.csv --report none");
        place.start(&format!("run case.c --protocol garbled {who} {more}"))
    };
    let children = [start("ann", "a", "")?, start("ben", "b", "--no-optimise")?];
    for child in children {
        wait(child, Duration::from_secs(60))?.failed_with(7)?.says("--no-optimise is")?;
    }
    Ok(())
}

const LINES: &str = "\
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN PH_OUT(ann) uint32_t f(PH_IN(ann) const uint8_t a[N], PH_IN(ben) const uint8_t b[N])
{
    uint32_t all = 0;
    for (int i = 0; i < N; i++) {
        uint32_t product = a[i] * b[i];
        uint32_t rest = product % (b[i] + 1u);
        all += rest > 3 ? product : rest;
    }
    return all;
}
";

/// The ANDs of all lines are those of the run, under the lines that they come from.
#[test]
fn the_costliest_lines_are_told() -> Result {
    let place = Place::new()?;
    place.write("lines.c", LINES)?;
    for protocol in ["garbled", "gmw", "bmr", "mixed"] {
        for option in ["", "--no-optimise"] {
            let line = format!("explain lines.c --protocol {protocol} --why {option}");
            let told = place.run(&format!("{line} --json"))?.succeeded()?.document()?;
            let lines = told["lines"].as_array().ok_or("there are lines")?;
            let ands = |line: &serde_json::Value| line["and_gates"].as_u64().unwrap_or(0);
            let numbers: Vec<u64> =
                lines.iter().map(|line| line["line"].as_u64().unwrap_or(0)).collect();
            assert_eq!(numbers.first(), Some(&8), "{protocol}: {lines:?}");
            assert!(numbers.iter().all(|line| (5..=11).contains(line)), "{numbers:?}");
            if protocol == "garbled" {
                let all: u64 = lines.iter().map(ands).sum();
                assert_eq!(told["plan"]["costs"]["and_gates"], all, "{option}");
            }
            let said = place.run(&line)?.succeeded()?.stdout;
            for part in ["lines.c:8: 8 rem of", "a division by a constant takes less"] {
                assert!(said.contains(part), "{said}");
            }
        }
    }
    place.run("explain lines.c --why --protocol spdz")?.failed_with(3)?.says("compute on bits")?;
    let sort = "explain sort --param n=16 --why --protocol garbled";
    assert!(place.run(sort)?.succeeded()?.stdout.contains("ANDs in"));
    Ok(())
}

/// The S-box of AES, FIPS 197 section 5.1.1.
fn s_box() -> Vec<u8> {
    let double = |x: u8| x << 1 ^ if x >> 7 == 1 { 0x1b } else { 0 };
    let times = |x: u8, y: u8| {
        let (mut product, mut x) = (0, x);
        for bit in 0..8 {
            product ^= if y >> bit & 1 == 1 { x } else { 0 };
            x = double(x);
        }
        product
    };
    let inverse = |x: u8| (0..254).fold(1, |power, _| times(power, x));
    let affine = |x: u8| (0..5).fold(0x63, |sum, by| sum ^ x.rotate_left(by));
    (0..=255).map(|x| affine(inverse(x))).collect()
}

#[test]
fn tables_of_constants_are_circuits() -> Result {
    let place = Place::new()?;
    let table = |rows: &[u8]| rows.iter().map(|row| format!("{row},")).collect::<String>();
    let mut state = 1u32;
    let mut next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let random: Vec<u8> = (0..256).map(&mut next).collect();
    // Once, and in a loop that runs in lanes.
    let one = "PH_MAIN PH_OUT(ann) uint8_t f(PH_IN(ann) uint8_t a, PH_IN(ben) uint8_t b) \
        { return t[a ^ b]; }";
    let many = "PH_MAIN void f(PH_IN(ann) const uint8_t a[16], PH_IN(ben) const uint8_t b[16], \
        PH_OUT(ann) uint8_t c[16]) { for (int i = 0; i < 16; i++) c[i] = t[a[i] ^ b[i]]; }";
    for (rows, ands) in [(s_box(), 32), (random, 80)] {
        for (function, count) in [(one, 1), (many, 16)] {
            let size = rows.len();
            let table = table(&rows);
            let text = format!(
                "#include <phineus.h>\nstatic const uint8_t t[{size}] = {{{table}}};\n{function}\n"
            );
            place.write("case.c", text)?;
            for (protocol, gates) in [("garbled", "and_gates"), ("gmw", "and_gates")] {
                let line = format!("explain case.c --protocol {protocol} --json");
                let told = place.run(&line)?.succeeded()?.document()?;
                assert_eq!(told["plan"]["costs"][gates], ands * count, "{protocol}");
            }
        }
    }
    Ok(())
}
