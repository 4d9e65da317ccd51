//! Random programs that read and change rows by distributed point functions, in straight code and in loops, from the command
//! line.

mod common;

use common::{Place, Result};
use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{ElementType, Encoding, Lane, MemoryMethod};
use phineus_frontend::{Program, Value, column, program as traced_program};
use phineus_oblivious::Memory;

const STATE: ElementType = ElementType::unsigned(24);

/// An access of the row whose number is in the state.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    /// Adds the state to the first cell and keeps the others.
    Add,
    /// Changes the row only if a bit of the state is 1.
    AddIf,
}

/// A memory and what is done to it.
#[derive(Clone)]
struct Case {
    rows: u64,
    columns: Vec<ElementType>,
    /// Bits of an index: some number no row.
    index_bits: u16,
    /// Before, in and behind the loop.
    accesses: [Vec<Access>; 3],
    iterations: u64,
    is_brought: bool,
}

impl Case {
    fn random(random: &mut SeededRng) -> Case {
        let rows = 1 + random.below(70);
        let width = 1 + random.below(300) as u16;
        let columns = match width {
            257.. => vec![width - 256, 256],
            2.. if random.one_in(2) => vec![width / 2, width - width / 2],
            _ => vec![width],
        };
        let of_rows = (64 - rows.leading_zeros()) as u16;
        let mut accesses = |least: u64| -> Vec<Access> {
            let count = least + random.below(4);
            let any = [Access::Read, Access::Write, Access::Add, Access::AddIf];
            (0..count).map(|_| *random.pick(&any)).collect()
        };
        Case {
            accesses: [accesses(0), accesses(1), accesses(0)],
            rows,
            columns: columns.into_iter().map(ElementType::unsigned).collect(),
            index_bits: of_rows + random.below(3) as u16,
            iterations: 300 + random.below(100),
            is_brought: random.one_in(2),
        }
    }

    /// The state after an access, which depends on all cells.
    fn access(&self, memory: &mut Memory, access: Access, state: &Value) -> Value {
        let index = state.bit_slice(5, self.index_bits);
        let new: Vec<Value> = self.columns.iter().map(|&column| state.cast(column)).collect();
        let add = |row: &[Value]| {
            let mut row = row.to_vec();
            row[0] = row[0].add(&new[0]);
            row
        };
        let found = match access {
            Access::Read => memory.read(&index),
            Access::Write => {
                memory.write(&index, &new);
                Vec::new()
            }
            Access::Add => memory.update(&index, add),
            Access::AddIf => memory.update(&index, |row| {
                let mut row = row.to_vec();
                row[0] = row[0].add(&state.bit_slice(2, 1).mask(&new[0]));
                row
            }),
        };
        let rotated = state.rotate_left(7).add(&state.tracer().constant(STATE, Lane::from(77u64)));
        found.iter().fold(rotated, |state, cell| {
            let ends = cell.cast(STATE).xor(&cell.bit_slice(cell.width() - 1, 1).cast(STATE));
            state.xor(&ends)
        })
    }

    fn program(&self) -> impl Program {
        let case = self.clone();
        traced_program("changing").party("ann").party("ben").trace(move |t, _| {
            let name = |number| format!("c{number}");
            let columns: Vec<_> = (case.columns.iter().enumerate())
                .map(|(number, &element)| column(&name(number), element, Encoding::Hex))
                .collect();
            let mut memory = if case.is_brought {
                let mut input = t.input("rows", case.rows).by("ann");
                for column in columns {
                    input = input.column(column);
                }
                Memory::named("rows", input.read(), MemoryMethod::Dpf)
            } else {
                Memory::zeros(t, "rows", &case.columns, case.rows, MemoryMethod::Dpf)
            };
            let cell = column("state", STATE, Encoding::Number);
            let start = t.input("start", 1).by("ben").column(cell.clone()).read();
            let [before, inside, after] = &case.accesses;
            let mut all = |accesses: &[Access], state: Value| {
                accesses
                    .iter()
                    .fold(state, |state, &access| case.access(&mut memory, access, &state))
            };
            let state = all(before, start.chunks(0)[0].clone());
            let state = t.repeat(case.iterations, state, |state| {
                let state = all(inside, state);
                // Gates are few, and instructions many, so that the loop is not unrolled.
                (0..400).fold(state.clone(), |value, _| value.rotate_left(5).xor(&state))
            });
            let state = all(after, state);
            let mut output = t.output("last", &["ann", "ben"]).rows(&[cell], 1);
            output.push(&[&state]);
            output.finish();
            Ok(())
        })
    }

    fn place(&self, random: &mut SeededRng) -> Result<Place> {
        let place = Place::new()?;
        place.write_program("p.phn", &self.program())?;
        place.write("start.csv", format!("state\n{}\n", random.below(1 << 24)))?;
        let mut rows: String =
            (0..self.columns.len()).map(|number| format!("c{number},")).collect();
        for _ in 0..self.rows {
            rows = rows.trim_end_matches(',').to_owned() + "\n";
            for column in &self.columns {
                rows += &format!("{:x},", random.lane(column.width()));
            }
        }
        place.write("rows.csv", rows.trim_end_matches(','))?;
        Ok(place)
    }
}

/// Checks that each party has all the costs that its plan states.
fn agrees(place: &Place, case: &str) -> Result {
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("parties")? {
        assert_eq!(party["deviations"].as_array().map(Vec::len), Some(0), "{case}: {party}");
        // Of what is stored, no transfer is made in the run.
        if party["preprocessing"] != "stored" {
            assert_eq!(party["predicted"], party["measured"], "{case}: {party}");
        }
    }
    Ok(())
}

#[test]
fn rows_that_change_in_loops_equal_plain_memory() -> Result {
    let (mut seeds, mut are_loops) = (Seeds::fresh(), 0);
    for choices in [&["gmw", "bmr"][..], &["arith"], &["mixed", "gmw --ot silent"], &["stored"]] {
        let seed = seeds.draw();
        let mut random = SeededRng::new(seed);
        let mut case = Case::random(&mut random);
        if choices == ["stored"] {
            // Only programs of one block have stored preprocessing.
            case.iterations = 1;
        }
        let place = case.place(&mut random)?;
        let rows = if case.is_brought { "--in rows=rows.csv" } else { "" };
        let line = format!("run p.phn --local --verify --in start=start.csv {rows}");
        for &choice in choices {
            let what = format!("{choice}, seed {seed}");
            let choice = if choice == "stored" {
                let make = "preprocess p.phn --local --protocol gmw --out kept";
                place.run(make)?.succeeded()?;
                "gmw --preprocessing stored=kept"
            } else {
                choice
            };
            let done = place.run(&format!("{line} --protocol {choice}"))?;
            assert_eq!(done.code, Some(0), "{what}: {}", done.stderr);
            done.says("equals the answer computed in the clear: yes")?;
            agrees(&place, &what)?;
        }
        let explained = place.run("explain p.phn --protocol gmw")?.succeeded()?;
        are_loops += usize::from(explained.stdout.contains(" times"));
    }
    println!("{are_loops} of 3 loops were kept");
    Ok(())
}

/// A plan stated the bytes of silent OTs for one iteration, and the run made them for all.
#[test]
fn silent_ots_of_loops_are_as_large_as_stated() -> Result {
    let case = Case {
        rows: 24,
        columns: vec![ElementType::unsigned(67)],
        index_bits: 5,
        accesses: [vec![], [Access::Read, Access::Add, Access::Write].repeat(2), vec![]],
        iterations: 300,
        is_brought: true,
    };
    let mut random = SeededRng::new(Seeds::fresh().draw());
    let place = case.place(&mut random)?;
    let line = "run p.phn --local --verify --in start=start.csv --in rows=rows.csv --protocol gmw";
    let done = place.run(&format!("{line} --ot silent"))?.succeeded()?;
    done.says("equals the answer computed in the clear: yes")?;
    agrees(&place, "silent")
}
