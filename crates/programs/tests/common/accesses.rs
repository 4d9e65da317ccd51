//! Random accesses to a memory, as a program and as what a plain array gives.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table, mask_of};
use phineus_frontend::{ClosureProgram, Value, column, program};
use phineus_oblivious::Memory;

use super::shares::PartyRun;

/// Of which one takes two triples for a row on XOR shares, and three elements in a field.
pub const CELL: [ElementType; 2] = [ElementType::unsigned(9), ElementType::unsigned(150)];
pub const INDEX: ElementType = ElementType::unsigned(10);

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    /// Replaces the first cell by its sum with another one, and the second by the exclusive or.
    Add,
}

pub fn columns() -> Vec<Column> {
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
            let add = |row: &[Value]| vec![row[0].add(&cells[0]), row[1].xor(&cells[1])];
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

/// A program, its inputs, and what its output is.
pub struct RandomAccesses {
    pub program: ClosureProgram,
    pub tables: [Table; 2],
    pub expected: Vec<[Lane; 2]>,
}

impl RandomAccesses {
    /// So many accesses to so many rows.
    pub fn new(parties: usize, rows: u64, count: usize, seed: u64) -> RandomAccesses {
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
                Access::Add => {
                    let sum = before[0].wrapping_add(small) & mask_of(CELL[0].width());
                    [sum, before[1] ^ large]
                }
            };
            expected.push(if matches!(access, Access::Write) { *found } else { before });
        }
        let program = accessing(rows, accesses, parties);
        RandomAccesses { program, tables: [table, wanted], expected }
    }

    /// Checks what every party learned.
    pub fn check(&self, runs: &[PartyRun], case: &str) {
        for (party, run) in runs.iter().enumerate() {
            let found = run.outputs[0].as_ref().expect("all parties learn it");
            for (at, row) in self.expected.iter().enumerate() {
                assert_eq!(found.row(at as u64), row, "access {at} of party {party}, {case}");
            }
        }
    }
}
