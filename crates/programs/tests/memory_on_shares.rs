//! Memories on XOR shares between two to four parties, against plain arrays.

mod common;

use common::accesses::RandomAccesses;
use common::{expanded_for, shares};
use phineus_bytecode::random::Seeds;
use phineus_oblivious::MemoryMethod;

fn check(method: MemoryMethod, parties: usize, (rows, count): (u64, usize), seed: u64) {
    let accesses = RandomAccesses::new(parties, rows, count, seed);
    let terms = shares::terms(parties);
    let mut expanded = expanded_for(&accesses.program, method, terms);
    let planned = shares::planned(&mut expanded, parties);
    let runs = shares::run_all(&planned, &accesses.tables, seed);
    accesses.check(&runs, &format!("{method:?}, {parties} parties, {rows} rows, seed {seed}"));
}

#[test]
fn random_accesses_equal_those_to_an_array() {
    let mut seeds = Seeds::fresh();
    for parties in [2, 3, 4] {
        for (rows, count) in [(1, 3), (2, 5), (13, 12), (64, 40), (300, 70)] {
            check(MemoryMethod::SquareRoot, parties, (rows, count), seeds.draw());
        }
    }
}

#[test]
fn accesses_by_circuits_equal_those_to_an_array() {
    let mut seeds = Seeds::fresh();
    for (parties, rows, count) in [(2, 1, 3), (3, 2, 4), (2, 13, 12), (4, 10, 8), (2, 300, 9)] {
        check(MemoryMethod::Circuit, parties, (rows, count), seeds.draw());
    }
}

/// Rows of awkward counts, whose stash is full several times.
#[test]
fn accesses_by_point_functions_equal_those_to_an_array() {
    let mut seeds = Seeds::fresh();
    for (rows, count) in [(1, 5), (2, 9), (3, 6), (13, 120), (127, 12), (129, 20), (1023, 70)] {
        check(MemoryMethod::Dpf, 2, (rows, count), seeds.draw());
    }
}
