//! Rows that are set several times, by all methods of memories: the last instruction counts.

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{Arguments, ClosureProgram, column, program, reference};

use super::run_unrolled;
use crate::memory::{MemoryMethod, Unrolling};

const CELL: ElementType = ElementType::unsigned(40);

fn cell() -> Column {
    column("cell", CELL, Encoding::Number)
}

/// Rows that an iteration sets: the first one, how much further it is in each iteration, and how many.
#[derive(Clone, Copy, Debug)]
struct Set {
    row: u64,
    stride: u64,
    lanes: u32,
}

/// A loop that sets rows of a memory with two columns, of which later iterations set some again.
fn setting(
    rows: u64,
    iterations: u64,
    sets: Vec<(usize, Set)>,
    method: MemoryMethod,
) -> ClosureProgram {
    program("setting").party("a").party("b").trace(move |t, _| {
        let input = t.input("start", 2).by("a").column(cell()).read();
        let lane = |at: u32| input.chunks(0)[0].lane_slice(at, 1);
        let memory = t.secret_memory(phineus_bytecode::Memory {
            name: "rows".to_owned(),
            columns: vec![CELL; 2],
            rows,
            method: Some(method),
            is_linked: false,
        });
        let three = t.constant(CELL, Lane::from(3u8));
        t.repeat(iterations, lane(0), |value| {
            let mut value = value;
            for &(column, Set { row, stride, lanes }) in &sets {
                memory.set_each_iteration(column, row, stride, &value.tile(lanes));
                value = value.mul(&three).add(&lane(1));
            }
            value
        });
        let mut output = t.output("found", &["a", "b"]).rows(&[cell(), cell()], rows);
        for row in 0..rows {
            memory.open(&t.constant(ElementType::unsigned(16), Lane::from(row)));
            let row = memory.cells();
            output.push(&[&row[0], &row[1]]);
        }
        output.finish();
        Ok(())
    })
}

/// Circuit ORAM once set the rows of an iteration in the order of their numbers, whatever the order of the program
/// was: where two instructions meet in a row after some iterations, the wrong one won.
#[test]
fn the_last_of_two_sets_counts() {
    let mut seeds = Seeds::fresh();
    for method in MemoryMethod::ALL {
        for _ in 0..6 {
            let seed = seeds.draw();
            let mut random = SeededRng::new(seed);
            let iterations = 2 + random.below(6);
            let rows = 4 + 3 * iterations + random.below(10);
            let mut sets: Vec<(usize, Set)> = Vec::new();
            for _ in 0..2 + random.below(6) {
                let (column, stride) = (random.below(2) as usize, random.below(3));
                let lanes = 1 + random.below(2) as u32;
                let most = rows - stride * (iterations - 1) - u64::from(lanes);
                // Where another one is in the last iteration, or anywhere.
                let meeting = sets.iter().filter_map(|(_, set)| {
                    (set.row + set.stride * (iterations - 1)).checked_sub(stride * (iterations - 1))
                });
                let meeting: Vec<u64> = meeting.filter(|row| *row <= most).collect();
                let row = match meeting.is_empty() || random.one_in(4) {
                    true => random.below(most + 1),
                    false => *random.pick(&meeting),
                };
                // In one iteration no two instructions of a program may set a cell, as the first one has it.
                let is_free = |&(other, set): &(usize, Set)| {
                    other != column
                        || row + u64::from(lanes) <= set.row
                        || set.row + u64::from(set.lanes) <= row
                };
                if sets.iter().all(is_free) {
                    sets.push((column, Set { row, stride, lanes }));
                }
            }
            let mut table = Table::new(vec![cell()]);
            (0..2).for_each(|_| table.push(&[random.lane(CELL.width())]));
            let program = setting(rows, iterations, sets.clone(), method);
            let arguments = Arguments::new(&program, []).expect("no parameters");
            let meant = reference::run(&program, &arguments, std::slice::from_ref(&table));
            let meant = meant.expect("it runs").swap_remove(0);
            let copies: Vec<u64> = (0..8).map(|_| 1 + random.below(iterations + 2)).collect();
            for unrolling in
                [Unrolling::Whole, Unrolling::Iterations(&[1; 8]), Unrolling::Iterations(&copies)]
            {
                let inputs = std::slice::from_ref(&table);
                let found = run_unrolled(&program, &arguments, method, unrolling, inputs);
                let found = &found[0];
                for row in 0..meant.row_count() {
                    let case = format!(
                        "row {row} of {rows}, {method:?}, {unrolling:?}, {iterations} iterations of {sets:?}, \
                         seed {seed}"
                    );
                    assert_eq!(found.row(row), meant.row(row), "{case}");
                }
            }
        }
    }
}
