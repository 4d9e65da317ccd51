//! Circuits as small as what loops carry and what arrays hold: exact numbers of ANDs of C programs, whose results are
//! those of plain C.
#![cfg(feature = "llvm")]

mod common;

use common::{Place, Result};

/// A program of two parties.
struct Case {
    source: &'static str,
    /// Inputs, with their rows.
    inputs: [(&'static str, u32); 2],
    /// ANDs of a garbled program, with each block once, and of the same as it is written.
    ands: u64,
    written: u64,
    /// Bits of the cells of an array at secret indices.
    cell_bits: Option<u64>,
}

const CASES: [Case; 6] = [
    // A remainder is less than what it is divided by. As each block was narrowed by itself: 683 ANDs.
    Case {
        source: "PH_MAIN void f(PH_IN(ann) const uint8_t x[1], PH_IN(ben) const uint8_t y[1], PH_OUT(ann) uint32_t *g)
            {
                unsigned a = x[0], b = y[0];
                while (ph_reveal(b != 0)) { unsigned t = a % b; a = b; b = t; }
                *g = a;
            }",
        inputs: [("x", 1), ("y", 1)],
        ands: 71,
        written: 683,
        cell_bits: None,
    },
    // 3,006 ANDs.
    Case {
        source: "PH_MAIN void f(PH_IN(ann) const uint8_t x[16], PH_IN(ben) const uint8_t y[16], PH_OUT(ann) uint32_t z[32])
            {
                int a[32];
                for (int i = 0; i < 16; i++) { a[i] = x[i]; a[16 + i] = y[i]; }
                int changed;
                do {
                    changed = 0;
                    for (int i = 0; i + 1 < 32; i++)
                        if (a[i] > a[i + 1]) { int t = a[i]; a[i] = a[i + 1]; a[i + 1] = t; changed = 1; }
                } while (ph_reveal(changed));
                for (int i = 0; i < 32; i++) z[i] = a[i];
            }",
        inputs: [("x", 16), ("y", 16)],
        ands: 774,
        written: 3936,
        cell_bits: None,
    },
    // Shortest paths: a sum replaces what is larger. 4,607 ANDs.
    Case {
        source: "PH_MAIN void f(PH_IN(ann) const uint8_t x[48], PH_IN(ben) const uint8_t y[1], PH_OUT(ann) uint32_t z[16])
            {
                int d[16];
                for (int v = 0; v < 16; v++) d[v] = 1000;
                d[0] = y[0];
                int changed;
                do {
                    changed = 0;
                    for (int e = 0; e < 48; e++) {
                        int u = e % 16, v = (e * 7 + 3) % 16;
                        int c = d[u] + x[e];
                        if (c < d[v]) { d[v] = c; changed = 1; }
                    }
                } while (ph_reveal(changed));
                for (int v = 0; v < 16; v++) z[v] = d[v];
            }",
        inputs: [("x", 48), ("y", 1)],
        ands: 351,
        written: 7600,
        cell_bits: None,
    },
    // Links of 10 bits in an array of `int`. 5,355 ANDs.
    Case {
        source: "PH_MAIN void f(PH_IN(ann) const uint16_t x[1024], PH_IN(ben) const uint16_t y[1], PH_OUT(ben) uint32_t *end)
            {
                int next[1024];
                for (int i = 0; i < 1024; i++) next[i] = x[i] & 1023;
                int at = y[0] & 1023;
                for (int i = 0; i < 64; i++) at = next[at];
                *end = at;
            }",
        inputs: [("x", 1024), ("y", 1)],
        ands: 0,
        written: 5440,
        cell_bits: Some(10),
    },
    // Counters up to the number of elements. 1,120,439 ANDs in 2,283 rounds.
    Case {
        source: "PH_MAIN void f(PH_IN(ann) const uint16_t x[64], PH_IN(ben) const uint16_t y[1], PH_OUT(ben) uint32_t h[1024])
            {
                uint32_t bins[1024] = {0};
                for (int i = 0; i < 64; i++) bins[(x[i] ^ y[0]) & 1023]++;
                for (int i = 0; i < 1024; i++) h[i] = bins[i];
            }",
        inputs: [("x", 64), ("y", 1)],
        ands: 964_360,
        written: 1_134_892,
        cell_bits: Some(7),
    },
    // Differences with a sign. 9,758 ANDs.
    Case {
        source: "PH_MAIN void f(PH_IN(ann) const uint8_t x[512], PH_IN(ben) const uint16_t y[8], PH_OUT(ben) int32_t *sum)
            {
                int d[512], s = 0;
                for (int i = 0; i < 512; i++) d[i] = x[i] - 100;
                for (int i = 0; i < 8; i++) { d[y[i] & 511] -= i; s += d[y[7 - i] & 511]; }
                *sum = s;
            }",
        inputs: [("x", 512), ("y", 8)],
        ands: 7_454,
        written: 23_622,
        cell_bits: Some(9),
    },
];

impl Case {
    /// Writes the program and tables for it.
    fn write(&self, place: &Place) -> Result {
        place.write("case.c", format!("#include <phineus.h>\n{}\n", self.source))?;
        let is_byte = |name: &str| self.source.contains(&format!("uint8_t {name}["));
        for (number, (name, rows)) in (0..).zip(self.inputs) {
            let value = |row: u32| {
                (row * 7919 + number * 31 + 200) % if is_byte(name) { 256 } else { 65_536 }
            };
            let rows: Vec<String> = (0..rows).map(|row| value(row).to_string()).collect();
            place.write(&format!("{name}.csv"), format!("{name}\n{}\n", rows.join("\n")))?;
        }
        Ok(())
    }
}

#[test]
fn circuits_are_as_small_as_what_is_carried() -> Result {
    let place = Place::new()?;
    let mut wrong = Vec::new();
    for case in &CASES {
        case.write(&place)?;
        for (option, wanted) in [("", case.ands), ("--no-optimise", case.written)] {
            let line = format!("explain case.c --protocol garbled --json {option}");
            let told = place.run(&line)?.succeeded()?.document()?;
            let found = &told["plan"]["costs"]["and_gates"];
            if *found != wanted {
                wrong.push(format!("{}\n{option}: {found} ANDs, not {wanted}", case.source));
            }
            let bits = case.cell_bits.map(|bits| if option.is_empty() { bits } else { 32 });
            let found = told["memories"].get(0).map(|memory| memory["row_bits"].clone());
            assert_eq!(found, bits.map(serde_json::Value::from), "{}", case.source);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Results are those of plain C, and plans are proven.
#[test]
fn carried_values_are_those_of_plain_c() -> Result {
    let place = Place::new()?;
    for case in &CASES {
        case.write(&place)?;
        let [(x, _), (y, _)] = case.inputs;
        let all = ["clear", "garbled", "gmw", "rep3 --computing 3", "mixed", "bmr", "arith"];
        // Arrays take most of the time.
        let protocols = if case.cell_bits.is_some() { &all[..4] } else { &all[..] };
        for protocol in protocols {
            let run = format!("run case.c --local --verify --in ann={x}.csv --in ben={y}.csv");
            let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
            done.says("equals the plaintext answer: yes")?;
            let plan = format!("plan case.c --protocol {protocol} --out case.plan");
            place.run(&plan)?.succeeded()?;
            place.run("check case.plan --program case.c")?.succeeded()?.says("right")?;
        }
    }
    Ok(())
}
