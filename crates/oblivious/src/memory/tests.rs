//! Memories against plain arrays, for random accesses of all sizes.

mod reading;
mod sets;

use std::fs::File;
use std::io::Seek;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{
    BlockDirectory, Column, ElementType, Encoding, Flow, Lane, ProgramReader, Sharing, Table,
    verify, verify_blocks,
};
use phineus_frontend::{
    Arguments, ClosureProgram, Value, column, program, reference, trace_to_file,
};

use super::{
    LinkedRows, Memory, MemoryMethod, MemoryTerms, ProgramBlocks, RowSharing, Unrolling, expand,
};

/// The kinds of accesses that tests draw.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    Add,
}

/// The methods that can change rows.
const CHANGING: [MemoryMethod; 5] = [
    MemoryMethod::Scan,
    MemoryMethod::SquareRoot,
    MemoryMethod::SquareRootTable,
    MemoryMethod::Circuit,
    MemoryMethod::Dpf,
];

const CELL: [ElementType; 2] = [ElementType::unsigned(8), ElementType::unsigned(40)];

fn columns() -> Vec<Column> {
    vec![column("small", CELL[0], Encoding::Number), column("large", CELL[1], Encoding::Number)]
}

/// Reads, writes and adds as `accesses` say; outputs what each access found, and all rows at the end.
fn touching(
    rows: u64,
    accesses: Vec<Access>,
    (method, parties): (MemoryMethod, u16),
) -> ClosureProgram {
    let names = ["a", "b", "c", "d", "e"].iter().take(parties.into());
    let program = names.fold(program("touching"), |program, name| program.party(name));
    program.trace(move |t, _| {
        let mut input = t.input("rows", rows).by("a");
        for column in columns() {
            input = input.column(column);
        }
        let mut memory = Memory::new(input.read(), method);
        let count = accesses.len() as u64;
        let index = column("index", ElementType::unsigned(16), Encoding::Number);
        let mut input = t.input("accesses", count).by("b").column(index);
        for column in columns() {
            input = input.column(column);
        }
        let wanted = input.read();
        let mut output = t.output("found", &["a", "b"]).rows(&columns(), count + rows);
        let lane = |column: usize, at: u64| {
            let lanes = u64::from(wanted.chunk_lanes());
            wanted.chunks(column)[(at / lanes) as usize].lane_slice((at % lanes) as u32, 1)
        };
        for (at, access) in (0..).zip(&accesses) {
            let index = lane(0, at);
            let cells = [lane(1, at), lane(2, at)];
            let add = |row: &[Value]| row.iter().zip(&cells).map(|(a, b)| a.add(b)).collect();
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
        for row in 0..rows {
            let row = memory.read(&t.constant(ElementType::unsigned(16), Lane::from(row)));
            output.push(&[&row[0], &row[1]]);
        }
        output.finish();
        Ok(())
    })
}

/// A program whose memories have methods, after these have replaced the accesses. All parties compute.
fn expanded_file(program: &ClosureProgram, arguments: &Arguments, rows: RowSharing) -> File {
    let (file, _) = trace_to_file(program, arguments).expect("it is traced");
    let mut reader = ProgramReader::open(file).expect("it is a program");
    let parties = reader.description().parties.len() as u16;
    let terms = MemoryTerms { parties, rows, outside: Sharing::Any };
    let methods = reader.description().memories.iter().map(|memory| memory.method);
    let methods: Vec<MemoryMethod> = methods.map(|method| method.expect("it has one")).collect();
    let mut expanded = tempfile::tempfile().expect("a file");
    let output = expanded.try_clone().expect("another handle");
    let description = reader.description().clone();
    let blocks = std::slice::from_mut(&mut reader);
    let program = ProgramBlocks { description: &description, flow: Flow::of_one_block(), blocks };
    expand(program, (&methods, terms), Unrolling::Whole, output).expect("it is expanded");
    expanded.rewind().expect("a file");
    let mut reader = ProgramReader::open(&mut expanded).expect("it is a program");
    assert_eq!(verify(&mut reader).expect("it is read"), []);
    reader
        .for_each::<phineus_bytecode::Error>(|instruction| {
            assert!(!instruction.op.is_of_memory(), "an access is left");
            Ok(())
        })
        .expect("it is read");
    drop(reader);
    expanded.rewind().expect("a file");
    expanded
}

fn run_expanded(
    program: &ClosureProgram,
    arguments: &Arguments,
    rows: RowSharing,
    inputs: &[Table],
) -> Vec<Table> {
    reference::run_file(expanded_file(program, arguments, rows), inputs).expect("it runs")
}

fn check(rows: u64, count: u64, method: MemoryMethod, seed: u64) {
    check_among(rows, count, (method, 2), seed);
}

fn check_among(rows: u64, count: u64, (method, parties): (MemoryMethod, u16), seed: u64) {
    let mut random = SeededRng::new(seed);
    let cells = |random: &mut SeededRng| CELL.map(|element| random.lane(element.width()));
    let mut memory: Vec<[Lane; 2]> = (0..rows).map(|_| cells(&mut random)).collect();
    let mut table = Table::new(columns());
    memory.iter().for_each(|row| table.push(row));
    let index = column("index", ElementType::unsigned(16), Encoding::Number);
    let mut wanted = Table::new([vec![index], columns()].concat());
    let mut expected = Table::new(columns());
    let mut accesses = Vec::new();
    for _ in 0..count {
        // Rows that were touched before, and rows that are not there.
        let row = if random.one_in(8) { random.below(1 << 16) } else { random.below(rows) };
        let [small, large] = cells(&mut random);
        wanted.push(&[Lane::from(row), small, large]);
        let access = *random.pick(&[Access::Read, Access::Write, Access::Add]);
        accesses.push(access);
        let mut nothing = [Lane::ZERO; 2];
        let found = memory.get_mut(row as usize).unwrap_or(&mut nothing);
        // Who only writes does not learn what there was.
        match access {
            Access::Read | Access::Add => expected.push(found),
            Access::Write => expected.push(&[small, large]),
        }
        *found = match access {
            Access::Read => *found,
            Access::Write => [small, large],
            Access::Add => {
                let mask = |k: usize| phineus_bytecode::mask_of(CELL[k].width());
                [(found[0] + small) & mask(0), (found[1] + large) & mask(1)]
            }
        };
    }
    memory.iter().for_each(|row| expected.push(row));
    let program = touching(rows, accesses, (method, parties));
    let arguments = Arguments::new(&program, []).expect("no parameters");
    let inputs = [table, wanted];
    // What the accesses mean, and what they become.
    let meant = reference::run(&program, &arguments, &inputs).expect("it runs");
    let rows_are =
        if parties == 2 { RowSharing::Labels } else { RowSharing::Shares { ot_bits: 31 } };
    let mut runs = vec![meant, run_expanded(&program, &arguments, rows_are, &inputs)];
    if matches!(method, MemoryMethod::Scan | MemoryMethod::SquareRoot) {
        // Of which a column takes one or several.
        let rows_are = RowSharing::Elements { bits: *random.pick(&[5, 30, 59]) };
        runs.push(run_expanded(&program, &arguments, rows_are, &inputs));
    }
    for tables in runs {
        for row in 0..expected.row_count() {
            let case = format!(
                "access {row}, {method:?} of {rows} rows of {parties} parties, seed {seed}"
            );
            assert_eq!(tables[0].row(row), expected.row(row), "{case}");
        }
    }
}

#[test]
fn a_memory_is_an_array() {
    let mut seeds = Seeds::fresh();
    for method in CHANGING {
        for (rows, count) in
            [(1, 4), (2, 9), (3, 12), (5, 30), (16, 60), (33, 80), (100, 100), (131, 90)]
        {
            check(rows, count, method, seeds.draw());
        }
    }
}

/// Each of more than two parties moves the rows by a permutation of its own.
#[test]
fn memories_of_many_parties() {
    let mut seeds = Seeds::fresh();
    for parties in 3..=5 {
        for (rows, count) in [(1, 3), (2, 7), (9, 30), (131, 90), (600, 60)] {
            check_among(rows, count, (MemoryMethod::SquareRoot, parties), seeds.draw());
        }
    }
}

/// Numbers of rows that are no power of two, through several shuffles.
#[test]
fn memories_of_any_size() {
    let mut seeds = Seeds::fresh();
    for _ in 0..12 {
        let seed = seeds.draw();
        let rows = SeededRng::new(seed).below(300) + 1;
        CHANGING.into_iter().for_each(|method| check(rows, 40, method, seed));
    }
}

/// Unused rows are found in several words, and rows lie in many chunks.
#[test]
fn memories_of_many_rows() {
    for rows in [1000, 1009, 1024] {
        check(rows, 250, MemoryMethod::SquareRoot, Seeds::fresh().draw());
    }
    for rows in [1024, 1500] {
        check(rows, 400, MemoryMethod::SquareRootTable, Seeds::fresh().draw());
    }
}

/// Numbers of rows are wider than rows, and a column has one bit.
#[test]
fn narrow_rows() {
    for (width, rows) in [(1, 4096), (8, 512), (1, 2)] {
        for method in CHANGING {
            let element = ElementType::unsigned(width);
            let narrow = program("narrow").party("a").party("b").trace(move |t, _| {
                let cell = column("cell", element, Encoding::Number);
                let rows = t.input("rows", rows).by("a").column(cell.clone()).read();
                let mut memory = Memory::new(rows, method);
                let mut output = t.output("found", &["b"]).rows(&[cell], 3);
                for index in [1u64, 0, 1] {
                    let index = t.constant(ElementType::unsigned(12), Lane::from(index));
                    let row = memory.update(&index, |row| vec![row[0].not()]);
                    output.push(&[&row[0]]);
                }
                output.finish();
                Ok(())
            });
            let mut table = Table::new(vec![column("cell", element, Encoding::Number)]);
            (0..rows).for_each(|row| table.push(&[Lane::from(row % 2)]));
            let arguments = Arguments::new(&narrow, []).expect("no parameters");
            let found = run_expanded(&narrow, &arguments, RowSharing::Labels, &[table]);
            let mask = phineus_bytecode::mask_of(width);
            let cells = [Lane::ONE, Lane::ZERO, !Lane::ONE & mask];
            let expected: Vec<Lane> = cells.to_vec();
            let column: Vec<Lane> = (0..3).map(|row| found[0].cell(row, 0)).collect();
            assert_eq!(column, expected, "{method:?} of {rows} rows of {width} bits");
        }
    }
}

/// A loop that changes a row in each iteration, behind one that sets the rows, and accesses before and after.
fn looping(rows: u64, iterations: u64, method: MemoryMethod) -> ClosureProgram {
    program("looping").party("a").party("b").trace(move |t, _| {
        let cell = column("cell", CELL[1], Encoding::Number);
        let input = t.input("start", 2).by("a").column(cell.clone()).read();
        let lane = |at: u32| input.chunks(0)[0].lane_slice(at, 1);
        let mut memory = Memory::zeros(t, "rows", &CELL[1..], rows, method);
        let three = t.constant(CELL[1], Lane::from(3u8));
        let last = t.repeat(rows - 1, lane(0), |value| {
            // Two rows, of which the next iteration sets the second one again.
            memory.set_each_iteration(0, 1, std::slice::from_ref(&value.lane_concat(&lane(1))));
            value.mul(&three)
        });
        let index = |value: &Value| value.bit_slice(3, 12);
        let first = memory.read(&index(&lane(1))).swap_remove(0);
        let state = t.repeat(iterations, (last, lane(1).xor(&first)), |(sum, value)| {
            let found = memory.update(&index(&value), |row| vec![row[0].add(&value)]);
            let sum = sum.xor(&found[0]);
            memory.write(&index(&sum), std::slice::from_ref(&value));
            let next = value.mul(&three).add(&found[0]);
            (sum, next)
        });
        let mut output = t.output("found", &["a", "b"]).rows(&[cell], 2 + rows);
        output.push(&[&state.0]);
        output.push(&[&state.1]);
        for row in 0..rows {
            let row = memory.read(&t.constant(ElementType::unsigned(16), Lane::from(row)));
            output.push(&[&row[0]]);
        }
        output.finish();
        Ok(())
    })
}

/// A loop has the same outputs after unrolling.
#[test]
fn loops_keep_memories() {
    let mut seeds = Seeds::fresh();
    for method in MemoryMethod::ALL {
        for _ in 0..4 {
            let seed = seeds.draw();
            let mut random = SeededRng::new(seed);
            let (rows, iterations) = (2 + random.below(60), 2 + random.below(40));
            check_loop(rows, iterations, method, seed);
        }
    }
}

fn check_loop(rows: u64, iterations: u64, method: MemoryMethod, seed: u64) {
    let mut random = SeededRng::new(seed);
    let mut table = Table::new(vec![column("cell", CELL[1], Encoding::Number)]);
    (0..2).for_each(|_| table.push(&[random.lane(CELL[1].width())]));
    let case = format!("{method:?}, {rows} rows, {iterations} iterations, seed {seed}");
    check_unrolled(&looping(rows, iterations, method), (method, iterations), &[table], &case);
}

/// Checks a program with a loop, all of whose outputs are one column, however it is unrolled.
fn check_unrolled(
    program: &ClosureProgram,
    (method, iterations): (MemoryMethod, u64),
    inputs: &[Table],
    case: &str,
) {
    let mut random = SeededRng::new(iterations);
    let arguments = Arguments::new(program, []).expect("no parameters");
    let meant = reference::run(program, &arguments, inputs).expect("it runs");
    let some: Vec<u64> = (0..8).map(|_| 1 + random.below(iterations + 2)).collect();
    for unrolling in
        [Unrolling::Whole, Unrolling::Iterations(&[1; 8]), Unrolling::Iterations(&some)]
    {
        let found = run_unrolled(program, &arguments, method, unrolling, inputs);
        let rows = |tables: &[Table]| -> Vec<Lane> {
            (0..tables[0].row_count()).map(|row| tables[0].cell(row, 0)).collect()
        };
        assert_eq!(rows(&found), rows(&meant), "{unrolling:?}, {case}");
    }
}

/// A loop that changes rows which are set once, before it.
fn looping_over_rows(rows: u64, iterations: u64, method: MemoryMethod) -> ClosureProgram {
    program("looping").party("a").party("b").trace(move |t, _| {
        let cell = column("cell", CELL[1], Encoding::Number);
        let set = t.input("rows", rows).by("a").column(cell.clone()).read();
        let start = t.input("start", 1).by("b").column(cell.clone()).read();
        let mut memory = Memory::new(set, method);
        let index = |value: &Value| value.bit_slice(3, 12);
        let start = start.chunks(0)[0].clone();
        let sum = t.repeat(iterations, start, |sum| {
            let found = memory.update(&index(&sum), |row| vec![row[0].add(&sum)]).swap_remove(0);
            let again = memory.read(&index(&sum)).swap_remove(0);
            sum.add(&found).xor(&again).rotate_left(7)
        });
        let mut output = t.output("found", &["a", "b"]).rows(&[cell], 1 + rows);
        output.push(&[&sum]);
        for row in 0..rows {
            let row = memory.read(&t.constant(ElementType::unsigned(16), Lane::from(row)));
            output.push(&[&row[0]]);
        }
        output.finish();
        Ok(())
    })
}

/// A block that is repeated hides all rows anew.
#[test]
fn loops_change_shared_rows() {
    let mut seeds = Seeds::fresh();
    for (rows, iterations) in [(1, 3), (2, 9), (40, 70), (63, 200)] {
        let seed = seeds.draw();
        let mut random = SeededRng::new(seed);
        let tables = [rows, 1].map(|count| {
            let mut table = Table::new(vec![column("cell", CELL[1], Encoding::Number)]);
            (0..count).for_each(|_| table.push(&[random.lane(CELL[1].width())]));
            table
        });
        let method = MemoryMethod::Dpf;
        let program = looping_over_rows(rows, iterations, method);
        let case = format!("{rows} rows, {iterations} iterations, seed {seed}");
        check_unrolled(&program, (method, iterations), &tables, &case);
    }
}

fn run_unrolled(
    program: &ClosureProgram,
    arguments: &Arguments,
    method: MemoryMethod,
    unrolling: Unrolling<'_>,
    inputs: &[Table],
) -> Vec<Table> {
    let (mut file, _) = trace_to_file(program, arguments).expect("it is traced");
    let directory =
        BlockDirectory::read(&mut file).expect("it is read").expect("of several blocks");
    let open = |block: usize| directory.open(file.try_clone().expect("a handle"), block);
    let mut blocks: Vec<_> =
        (0..directory.places.len()).map(|block| open(block).expect("a block")).collect();
    let mut expanded = tempfile::tempfile().expect("a file");
    let output = expanded.try_clone().expect("another handle");
    let (description, flow) = (&directory.description, directory.flow.clone());
    let program = ProgramBlocks { description, flow, blocks: &mut blocks };
    expand(program, (&[method], MemoryTerms::LABELS), unrolling, output).expect("it is expanded");
    expanded.rewind().expect("a file");
    if let Some(written) = BlockDirectory::read(&mut expanded).expect("it is read") {
        let open = |block| written.open(expanded.try_clone().expect("a handle"), block);
        assert_eq!(verify_blocks(&written, open).expect("it is read"), []);
    }
    expanded.rewind().expect("a file");
    reference::run_file(expanded, inputs).expect("it runs")
}

/// Of few rows, so that a loop of one iteration sets them where the first access comes.
#[test]
fn loops_keep_small_memories() {
    let mut seeds = Seeds::fresh();
    for method in MemoryMethod::ALL {
        for rows in [2, 2, 2, 3, 3, 4] {
            check_loop(rows, 6, method, seeds.draw());
        }
    }
}

/// Two readers of linked rows take turns as their data say: each reads from a row of its own on.
fn following(rows: u64, iterations: u64, method: MemoryMethod) -> ClosureProgram {
    program("following").party("a").party("b").trace(move |t, _| {
        let cells = columns();
        let mut input = t.input("rows", rows).by("a");
        for column in cells.clone() {
            input = input.column(column);
        }
        let mut linked = LinkedRows::named("rows", input.read(), method);
        let half = rows / 2;
        let state = (linked.link(0), linked.link(half), t.constant(CELL[1], Lane::ONE));
        let (_, _, sum) = t.repeat(iterations, state, |(first, second, sum)| {
            let is_first = sum.bit_slice(3, 1);
            let (row, next) = linked.read(&is_first.select(&first, &second));
            let sum = sum.add(&row[1].xor(&row[0].cast(CELL[1]))).rotate_left(5);
            (is_first.select(&next, &first), is_first.select(&second, &next), sum)
        });
        t.output("sum", &["a"]).chunks(columns().remove(1), vec![sum]).write();
        Ok(())
    })
}

#[test]
fn links_lead_from_row_to_row() {
    let mut seeds = Seeds::fresh();
    for method in MemoryMethod::ALL.into_iter().chain([MemoryMethod::Linked]) {
        for _ in 0..4 {
            let seed = seeds.draw();
            let mut random = SeededRng::new(seed);
            let rows = 4 + random.below(300);
            let program = following(rows, 2 + random.below(rows / 2 - 1), method);
            let arguments = Arguments::new(&program, []).expect("no parameters");
            let mut table = Table::new(columns());
            (0..rows).for_each(|_| table.push(&CELL.map(|cell| random.lane(cell.width()))));
            let inputs = [table];
            let meant = reference::run(&program, &arguments, &inputs).expect("it runs");
            for unrolling in
                [Unrolling::Whole, Unrolling::Iterations(&[1; 8]), Unrolling::Iterations(&[7; 8])]
            {
                let found = run_unrolled(&program, &arguments, method, unrolling, &inputs);
                let case = format!("{method:?}, {unrolling:?}, {rows} rows, seed {seed}");
                assert_eq!(found[0].cell(0, 0), meant[0].cell(0, 0), "{case}");
            }
        }
    }
}
