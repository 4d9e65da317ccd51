//! Merge and sort: the 0-1 principle for small sizes, and random rows for all sizes to 300.
//!
//! A comparator network sorts everything if it sorts all sequences of zeros and ones (Knuth, "The
//! Art of Computer Programming" 3, section 5.3.4, theorem Z); for merging, all that are in order.

mod common;

use std::collections::HashMap;

use common::{Traced, numbers};
use phineus_bytecode::{Instruction, Op, ProgramReader, Shape};
use phineus_frontend::{Arguments, Records, U16, program, trace_to_file};
use phineus_oblivious::{
    SortKey, merge, merge_bitonic, merge_comparators, merge_recorded, sort, sort_comparators,
};

fn rows(keys: &[u64]) -> Vec<Vec<u64>> {
    keys.iter().map(|&key| vec![key]).collect()
}

fn keys(rows: &[Vec<u64>]) -> Vec<u64> {
    rows.iter().map(|row| row[0]).collect()
}

/// Each number of lanes depth first and level by level.
fn orders<const N: usize>(lanes: [u32; N]) -> impl Iterator<Item = (u32, bool)> {
    lanes.into_iter().flat_map(|lanes| [(lanes, false), (lanes, true)])
}

fn sorted(keys: &[u64]) -> Vec<u64> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys
}

#[test]
fn sort_sorts_all_zeros_and_ones() {
    for (lanes, by_levels) in orders([1, 2, 4, 16]) {
        for n in 1..=10 {
            let mut network = Traced::in_order(by_levels, (n, 1, lanes), |_, records| {
                vec![sort(records, &SortKey::column(0))]
            });
            for bits in 0..1u64 << n {
                let keys_in: Vec<u64> = (0..n).map(|i| bits >> i & 1).collect();
                let found = keys(&network.run(&rows(&keys_in))[0]);
                assert_eq!(found, sorted(&keys_in), "{n} rows in chunks of {lanes}");
            }
        }
    }
}

#[test]
fn merge_merges_all_zeros_and_ones() {
    for (lanes, by_levels) in orders([1, 2, 4, 16]) {
        for n in 1..=12u64 {
            let mut network = Traced::in_order(by_levels, (n, 1, lanes), |_, records| {
                vec![merge_bitonic(records, &SortKey::column(0))]
            });
            // Descending, then ascending: ones, zeros, ones.
            for ones in 0..=n {
                for zeros in 0..=n - ones {
                    let keys_in: Vec<u64> =
                        (0..n).map(|i| u64::from(i < ones || i >= ones + zeros)).collect();
                    let found = keys(&network.run(&rows(&keys_in))[0]);
                    assert_eq!(found, sorted(&keys_in), "{n} rows in chunks of {lanes}");
                }
            }
        }
    }
}

#[test]
fn two_ascending_sequences_are_merged() {
    for (first, second) in [(1, 1), (5, 3), (3, 5), (16, 16), (7, 40), (33, 31)] {
        let mut network = Traced::new(first + second, 1, 8, move |_, records| {
            let (a, b) = (records.slice(0, first), records.slice(first, second));
            vec![merge(a, b, &SortKey::column(0))]
        });
        let a = sorted(&numbers(first, 50, first));
        let b = sorted(&numbers(second, 50, second + 100));
        let all = [a, b].concat();
        assert_eq!(keys(&network.run(&rows(&all))[0]), sorted(&all));
    }
}

/// Rows of three columns; the key is the second column, then the low bits of the third.
#[test]
fn rows_move_together() {
    for n in (1..=66).chain([100, 127, 128, 129, 200, 255, 256, 257, 300]) {
        let key = || SortKey::column(1).then(SortKey::bits(2, 0, 3));
        let mut network = Traced::in_order(n % 3 == 0, (n, 3, 16), move |_, records| {
            vec![sort(records.clone(), &key())]
        });
        let columns = [numbers(n, 1000, n), numbers(n, 20, n + 1), numbers(n, 64, n + 2)];
        let given: Vec<Vec<u64>> =
            (0..n as usize).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
        let found = network.run(&given).remove(0);
        let key_of = |row: &Vec<u64>| (row[1], row[2] % 8);
        assert!(found.windows(2).all(|pair| key_of(&pair[0]) <= key_of(&pair[1])));
        let canonical = |mut rows: Vec<Vec<u64>>| {
            rows.sort();
            rows
        };
        assert_eq!(canonical(found), canonical(given));
    }
}

#[test]
fn networks_have_as_many_comparators_as_stated() {
    for (lanes, by_levels) in orders([1, 4, 32]) {
        for n in (1..=70).chain([127, 128, 129, 1000, 1024]) {
            let mut network = Traced::in_order(by_levels, (n, 1, lanes), |_, records| {
                vec![sort(records, &SortKey::column(0))]
            });
            let found = network.lanes_of(Op::CondSwap);
            assert_eq!(found, sort_comparators(n, lanes.into()), "sort {n} by {lanes}");
            assert_eq!(network.lanes_of(Op::Lt), found);
            let mut network = Traced::in_order(by_levels, (n, 1, lanes), |_, records| {
                vec![merge_bitonic(records, &SortKey::column(0))]
            });
            let found = network.lanes_of(Op::CondSwap);
            assert_eq!(found, merge_comparators(n), "merge {n} by {lanes}");
        }
    }
    // Batcher: k (k + 1) 2^(k - 2) to sort and k 2^(k - 1) to merge 2^k.
    for k in 1..=20u64 {
        let n = 1 << k;
        assert_eq!(4 * sort_comparators(n, 32), k * (k + 1) * n);
        assert_eq!(2 * merge_comparators(n), k * n);
    }
}

/// Counts how often chunks come back from storage when `memory` of them fit, the least recently
/// used going first and dead ones at once.
fn chunk_reads(n: u64, lanes: u32, memory: usize) -> usize {
    let instructions = merge_instructions(n, lanes);
    // Only whole chunks count; parts of chunks live and die between two of them.
    let chunks_of = |instruction: &Instruction| -> (Vec<u64>, Vec<u64>) {
        let whole = |shape: Shape| shape.width == 16 && shape.lanes == lanes;
        let operands = instruction.operands().iter().enumerate();
        let operands = operands.filter(|(i, _)| whole(instruction.operand_shape(*i)));
        let results = instruction.results().iter().enumerate();
        let results = results.filter(|(i, _)| whole(instruction.result_shape(*i)));
        let names = |pair: (usize, &u64)| *pair.1;
        (operands.map(names).collect(), results.map(names).collect())
    };
    let mut last_use = HashMap::new();
    for (index, instruction) in instructions.iter().enumerate() {
        for operand in chunks_of(instruction).0 {
            last_use.insert(operand, index);
        }
    }
    let mut recent: Vec<u64> = Vec::new();
    let mut reads = 0;
    for (index, instruction) in instructions.iter().enumerate() {
        let (operands, results) = chunks_of(instruction);
        for &name in operands.iter().chain(&results) {
            match recent.iter().position(|&other| other == name) {
                Some(at) => {
                    recent.remove(at);
                }
                None => reads += usize::from(operands.contains(&name)),
            }
            recent.push(name);
        }
        recent.retain(|name| last_use.get(name).is_some_and(|&last| last > index));
        let surplus = recent.len().saturating_sub(memory);
        recent.drain(..surplus);
    }
    reads
}

/// The instructions of a merge of `n` rows in chunks of `lanes`.
fn merge_instructions(n: u64, lanes: u32) -> Vec<Instruction> {
    let program = program("test").party("a").trace(move |t, _| {
        let records = t.input("a", n).number::<U16>("x").lanes(lanes).read();
        let merged = merge_bitonic(records, &SortKey::column(0));
        t.output("y", &["a"]).vector("y", merged.column::<U16>(0)).write();
        Ok(())
    });
    let (file, _) = trace_to_file(&program, &Arguments::default()).expect("it traces");
    let mut reader = ProgramReader::open(file).expect("it was written");
    let mut instructions = Vec::new();
    reader
        .for_each::<phineus_bytecode::Error>(|instruction| {
            instructions.push(*instruction);
            Ok(())
        })
        .expect("it reads");
    instructions
}

/// A merge of 1024 chunks has 10 levels. With room for 40 chunks the upper 5 are one pass and the
/// lower 5 another, and the output is a third; level by level there would be 11.
#[test]
fn a_merge_touches_storage_log_n_over_log_m_times() {
    let chunks = 1024;
    let reads = chunk_reads(4 * chunks as u64, 4, 40);
    assert!(reads <= 3 * chunks, "{reads} reads of {chunks} chunks");
    let reads = chunk_reads(4 * chunks as u64, 4, 10);
    assert!(reads <= 6 * chunks, "{reads} reads of {chunks} chunks");
    assert!(chunk_reads(4 * chunks as u64, 4, 2 * chunks) == 0);
}

/// A merge that is undone brings what stands beside each row back to where the row came from.
#[test]
fn merges_are_undone() {
    let sizes = [(1, 1), (1, 2), (2, 1), (5, 3), (3, 5), (16, 16), (7, 40), (33, 31), (64, 65)];
    let cases = orders([1, 4, 8, 32]).flat_map(|order| sizes.map(|size| (order, size)));
    for ((lanes, by_levels), (first, second)) in cases {
        let size = (first + second, 2, lanes);
        let mut network = Traced::in_order(by_levels, size, move |_, records| {
            let (a, b) = (records.slice(0, first), records.slice(first, second));
            let (merged, record) = merge_recorded(a, b, &SortKey::column(0));
            let (a, b) = record.undo(merged.clone());
            // Other columns than those that were merged, too.
            let beside = Records::from_vector(merged.column::<U16>(1));
            let (c, d) = record.undo(beside);
            vec![merged, a.concat(b), c.concat(d)]
        });
        // Two columns there, two back, and one of them back again.
        assert_eq!(network.lanes_of(Op::CondSwap), 5 * merge_comparators(first + second));
        assert_eq!(network.lanes_of(Op::Lt), merge_comparators(first + second));
        let keys_in =
            [sorted(&numbers(first, 9, first)), sorted(&numbers(second, 9, second + 9))].concat();
        let given: Vec<Vec<u64>> =
            keys_in.iter().zip(0..).map(|(&key, row)| vec![key, row]).collect();
        let found = network.run(&given);
        assert_eq!(keys(&found[0]), sorted(&keys_in));
        assert_eq!(found[1], given, "{first} and {second} rows in chunks of {lanes}");
        assert_eq!(keys(&found[2]), (0..first + second).collect::<Vec<u64>>());
    }
}
