//! Memories on XOR shares between two to four parties, against plain arrays.

mod common;

use common::{expanded_for, shares};
use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{ClosureProgram, Value, column, program};
use phineus_oblivious::{Memory, MemoryMethod};

/// Of which one takes two triples for a row.
const CELL: [ElementType; 2] = [ElementType::unsigned(9), ElementType::unsigned(150)];
const INDEX: ElementType = ElementType::unsigned(10);

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    /// Replaces the row by its sum with another one.
    Add,
}

fn columns() -> Vec<Column> {
    vec![column("small", CELL[0], Encoding::Number), column("large", CELL[1], Encoding::Number)]
}

/// Accesses rows of the first party at indices of the second one, and outputs to all what was found.
fn accessing(rows: u64, accesses: Vec<Access>, parties: usize) -> ClosureProgram {
    let names = ["a", "b", "c", "d"].iter().take(parties);
    let program = names.clone().fold(program("accessing"), |program, name| program.party(name));
    let learners: Vec<&str> = names.copied().collect();
    program.trace(move |t, _| {
        let mut input = t.input("rows", rows).by("a");
        for column in columns() {
            input = input.column(column);
        }
        let mut memory = Memory::new(input.read(), None);
        let count = accesses.len() as u64;
        let mut input =
            t.input("accesses", count).by("b").column(column("index", INDEX, Encoding::Number));
        for column in columns() {
            input = input.column(column);
        }
        let wanted = input.lanes(1).read();
        let mut output = t.output("found", &learners).rows(&columns(), count);
        for (at, access) in accesses.iter().enumerate() {
            let index = wanted.chunks(0)[at].clone();
            let cells = [wanted.chunks(1)[at].clone(), wanted.chunks(2)[at].clone()];
            let add = |row: &[Value]| row.iter().zip(&cells).map(|(a, b)| a.xor(b)).collect();
            let found = match access {
                Access::Read => memory.read(&index),
                Access::Write => {
                    memory.write(&index, &cells);
                    cells.to_vec()
                }
                Access::Add => memory.update(&index, add),
            };
            output.push(&[&found[0], &found[1]]);
        }
        output.finish();
        Ok(())
    })
}

fn check(parties: usize, rows: u64, count: usize, seed: u64) {
    let mut random = SeededRng::new(seed);
    let cells = |random: &mut SeededRng| CELL.map(|element| random.lane(element.width()));
    let mut memory: Vec<[Lane; 2]> = (0..rows).map(|_| cells(&mut random)).collect();
    let mut table = Table::new(columns());
    memory.iter().for_each(|row| table.push(row));
    let index = column("index", INDEX, Encoding::Number);
    let mut wanted = Table::new([vec![index], columns()].concat());
    let mut expected: Vec<[Lane; 2]> = Vec::new();
    let mut accesses = Vec::new();
    for _ in 0..count {
        // Also rows that are not there.
        let row = if random.one_in(9) { random.below(1 << 10) } else { random.below(rows) };
        let [small, large] = cells(&mut random);
        wanted.push(&[Lane::from(row), small, large]);
        let access = *random.pick(&[Access::Read, Access::Write, Access::Add]);
        accesses.push(access);
        let mut nothing = [Lane::ZERO; 2];
        let found = memory.get_mut(row as usize).unwrap_or(&mut nothing);
        let before = *found;
        *found = match access {
            Access::Read => before,
            Access::Write => [small, large],
            Access::Add => [before[0] ^ small, before[1] ^ large],
        };
        expected.push(if matches!(access, Access::Write) { *found } else { before });
    }
    let program = accessing(rows, accesses, parties);
    let mut expanded = expanded_for(&program, MemoryMethod::SquareRoot, shares::terms(parties));
    let planned = shares::planned(&mut expanded, parties);
    for (party, run) in shares::run_all(&planned, &[table, wanted], seed).iter().enumerate() {
        let found = run.outputs[0].as_ref().expect("all parties learn it");
        for (at, row) in expected.iter().enumerate() {
            let case =
                format!("access {at} of party {party} of {parties}, {rows} rows, seed {seed}");
            assert_eq!(found.row(at as u64), row, "{case}");
        }
    }
}

#[test]
fn random_accesses_equal_those_to_an_array() {
    let mut seeds = Seeds::fresh();
    for parties in [2, 3, 4] {
        for (rows, count) in [(1, 3), (2, 5), (13, 12), (64, 40), (300, 70)] {
            check(parties, rows, count, seeds.draw());
        }
    }
}
