//! Rows that never change, of any columns: looked up in tables of constants, in tables that the first party is told, and
//! hidden by pads, against plain arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use phineus_bytecode::random::{SeededRng, Seeds, random_inputs};
use phineus_bytecode::{
    Column, ElementType, Encoding, Instruction, Lane, Op, ProgramReader, Table,
};
use phineus_frontend::{
    Arguments, ClosureProgram, Tracer, Value, column, lanes_for, program, reference, trace_to_file,
};

use super::{expanded_file, run_unrolled};
use crate::memory::{Memory, MemoryMethod, RowSharing, Unrolling, index_bits};

/// Where cells come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CellSource {
    /// They stay zeros.
    Unset,
    Constant,
    FirstParty,
    SecondParty,
    Computed,
}

use CellSource::{Computed, Constant, FirstParty, SecondParty, Unset};

/// What the parties know of the rows of a program.
const KNOWN: [&[CellSource]; 4] = [
    &[Unset],
    &[Unset, Constant],
    &[Unset, Constant, FirstParty],
    &[Constant, SecondParty, Computed],
];

/// Types on both sides of where a row takes another table.
fn columns(random: &mut SeededRng) -> Vec<ElementType> {
    let widths = [1, 2, 17, 64, 65, 127, 128, 129, 200, 255, 256];
    let width = |random: &mut SeededRng| *random.pick(&widths);
    let count = 1 + random.below(3);
    (0..count).map(|_| ElementType::integer(width(random), random.one_in(4))).collect()
}

/// Lanes from somewhere.
fn cells(
    t: &Tracer,
    random: &mut SeededRng,
    (element, lanes): (ElementType, u32),
    source: CellSource,
    ports: &mut u64,
) -> Value {
    let mut input = |party: &str| {
        *ports += 1;
        let column = column("cell", element, Encoding::Number);
        let input = t.input(&format!("cells {ports}"), lanes.into()).by(party).column(column);
        input.lanes(lanes).read().into_columns().swap_remove(0).swap_remove(0)
    };
    match source {
        Constant => {
            let lane = |_| t.constant(element, random.lane(element.width()));
            Value::joined((0..lanes).map(lane).collect()).expect("there are lanes")
        }
        FirstParty => input("a"),
        SecondParty => input("b"),
        Computed => input("a").add(&input("a")),
        Unset => unreachable!("it is set by nobody"),
    }
}

/// A memory whose cells come from `sources`, in pieces of any length.
fn memory(
    t: &Tracer,
    random: &mut SeededRng,
    (method, sources): (MemoryMethod, &[CellSource]),
    ports: &mut u64,
) -> Memory {
    let (columns, rows) = (columns(random), 1 + random.below(40));
    let name = format!("memory {}", t.memory_count() + 1);
    let memory = Memory::zeros(t, &name, &columns, rows, method);
    for (at, &element) in columns.iter().enumerate() {
        let mut row = 0;
        while row < rows {
            let most = (rows - row).min(lanes_for(element.width()).into());
            let lanes = 1 + random.below(most) as u32;
            let source = *random.pick(sources);
            if source != Unset {
                memory.memory.set(at, row, &cells(t, random, (element, lanes), source, ports));
            }
            row += u64::from(lanes);
        }
    }
    memory
}

/// An output for each row that was found.
fn output(t: &Tracer, number: u64, cells: &[Value]) {
    let columns = cells.iter().enumerate();
    let columns =
        columns.map(|(at, cell)| column(&format!("c{at}"), cell.integer(), Encoding::Number));
    let columns: Vec<Column> = columns.collect();
    let mut output = t.output(&format!("found {number}"), &["a", "b"]).rows(&columns, 1);
    output.push(&cells.iter().collect::<Vec<_>>());
    output.finish();
}

/// Sets `memories` memories and reads them at indices of any width: secret and public ones, of rows and beyond the last
/// row; and of the first memory in a loop as well, if it has `iterations`.
fn reading(
    (memories, iterations): (usize, u64),
    method: (MemoryMethod, &'static [CellSource]),
    seed: u64,
) -> ClosureProgram {
    program("reading").party("a").party("b").trace(move |t, _| {
        let (mut random, mut ports) = (SeededRng::new(seed), 0);
        let mut memories: Vec<Memory> =
            (0..memories).map(|_| memory(t, &mut random, method, &mut ports)).collect();
        let word = ElementType::unsigned(64);
        let start = cells(t, &mut random, (word, 1), SecondParty, &mut ports);
        let factor = t.constant(word, Lane::from(0x9e37_79b9_7f4a_7c15_u64));
        let bits = index_bits(memories[0].rows()) + random.below(2) as u16;
        let state = t.repeat(iterations, (start.clone(), start), |(index, sum)| {
            let found = memories[0].read(&index.bit_slice(5, bits));
            let found = found.iter().map(|cell| cell.with_sign(false).cast(word));
            let sum = found.fold(sum, |sum, cell| sum.xor(&cell).mul(&factor));
            (sum.rotate_left(9), sum)
        });
        output(t, 0, &[state.1]);
        for access in 1..8 {
            let number = random.below(memories.len() as u64) as usize;
            let memory = &mut memories[number];
            let most = index_bits(memory.rows());
            let width = *random.pick(&[1, most, most, most + 1, 20, 64]);
            let element = ElementType::unsigned(width);
            let index = match random.one_in(4) {
                true => t.constant(element, Lane::from(random.below(1 << most.min(width)))),
                false => state.0.rotate_left(access).bit_slice(0, width),
            };
            let found = memory.read(&index);
            output(t, access, &found);
        }
        Ok(())
    })
}

/// The inputs of a program, drawn from `seed`.
fn inputs(program: &ClosureProgram, arguments: &Arguments, seed: u64) -> Vec<Table> {
    let (mut file, _) = trace_to_file(program, arguments).expect("it is traced");
    let blocks = phineus_bytecode::BlockDirectory::read(&mut file).expect("it is read");
    match blocks {
        Some(blocks) => random_inputs(seed, &blocks.description),
        None => {
            file.rewind().expect("a file");
            random_inputs(seed, ProgramReader::open(file).expect("a program").description())
        }
    }
}

fn assert_same(found: &[Table], meant: &[Table], case: &str) {
    assert_eq!(found.len(), meant.len(), "{case}");
    for (number, (found, meant)) in found.iter().zip(meant).enumerate() {
        assert_eq!(found.row(0), meant.row(0), "row {number} that was found, {case}");
    }
}

/// The methods that can read such rows.
fn methods(sources: &[CellSource]) -> Vec<MemoryMethod> {
    let is_told = sources.iter().all(|&source| source <= FirstParty);
    MemoryMethod::IN_TABLES
        .into_iter()
        .filter(|&method| is_told || method != MemoryMethod::GarbledTable)
        .collect()
}

#[test]
fn rows_that_never_change_are_found() {
    let mut seeds = Seeds::fresh();
    for sources in KNOWN {
        for method in methods(sources) {
            for _ in 0..12 {
                let seed = seeds.draw();
                let program = reading((2, 1), (method, sources), seed);
                let arguments = Arguments::new(&program, []).expect("no parameters");
                let inputs = inputs(&program, &arguments, seed);
                let meant = reference::run(&program, &arguments, &inputs).expect("it runs");
                let file = expanded_file(&program, &arguments, RowSharing::Labels);
                let found = reference::run_file(file, &inputs).expect("it runs");
                assert_same(&found, &meant, &format!("{method:?}, {sources:?}, seed {seed}"));
            }
        }
    }
}

/// Tables are set in one block, and looked up in others.
#[test]
fn rows_that_never_change_are_found_in_loops() {
    let mut seeds = Seeds::fresh();
    for sources in KNOWN {
        for method in methods(sources) {
            for _ in 0..6 {
                let seed = seeds.draw();
                let iterations = 2 + seed % 20;
                let program = reading((1, iterations), (method, sources), seed);
                let arguments = Arguments::new(&program, []).expect("no parameters");
                let inputs = inputs(&program, &arguments, seed);
                let meant = reference::run(&program, &arguments, &inputs).expect("it runs");
                for unrolling in [
                    Unrolling::Whole,
                    Unrolling::Iterations(&[1; 8]),
                    Unrolling::Iterations(&[3; 8]),
                ] {
                    let found = run_unrolled(&program, &arguments, method, unrolling, &inputs);
                    let case = format!("{method:?}, {sources:?}, {unrolling:?}, seed {seed}");
                    assert_same(&found, &meant, &case);
                }
            }
        }
    }
}

/// The pads of a program by party and key, and by table the parties whose pads hide its rows.
#[derive(Default)]
struct HidingPads {
    /// Numbers of blocks; none may come twice.
    pads: BTreeMap<(u64, u64), BTreeSet<u128>>,
    of_table: BTreeMap<u64, BTreeSet<u64>>,
}

impl HidingPads {
    fn of(program: &mut ProgramReader<impl Read + Seek>, case: &str) -> HidingPads {
        let mut all = HidingPads::default();
        // The parties whose pads are in a value, and its lanes.
        let mut hiding: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        let step = |i: &Instruction| {
            let [party, key, block, piece] = i.immediates;
            match i.op {
                Op::PartyPad => {
                    let numbers = all.pads.entry((party, key)).or_default();
                    for lane in 0..u64::from(i.lanes) {
                        let number = u128::from(piece) << 64 | u128::from(block + lane);
                        assert!(numbers.insert(number), "a pad hides two rows, {case}");
                    }
                    hiding.insert(i.results[0], BTreeSet::from([party]));
                }
                Op::Xor => {
                    let parties = i.operands().iter().filter_map(|name| hiding.get(name));
                    let parties: BTreeSet<u64> = parties.flatten().copied().collect();
                    hiding.insert(i.results[0], parties);
                }
                Op::TableOpen => {
                    let parties = hiding.remove(&i.operands[0]).unwrap_or_default();
                    let known = all.of_table.entry(i.immediates[0]).or_insert(parties.clone());
                    assert_eq!(*known, parties, "all rows are hidden alike, {case}");
                }
                _ => {}
            }
            Ok::<_, phineus_bytecode::Error>(())
        };
        program.for_each(step).expect("it is read");
        all
    }
}

/// No pad hides two rows, whatever memories a program has. Only the rows of the first party have its pads alone.
#[test]
fn each_row_is_hidden_by_pads_of_its_own() {
    let mut seeds = Seeds::fresh();
    for (sources, parties) in [(&[FirstParty][..], vec![0]), (&[SecondParty, Computed], vec![0, 1])]
    {
        for _ in 0..10 {
            let seed = seeds.draw();
            let program = reading((3, 1), (MemoryMethod::Dpf, sources), seed);
            let arguments = Arguments::new(&program, []).expect("no parameters");
            let file = expanded_file(&program, &arguments, RowSharing::Shares { ot_bits: 31 });
            let case = format!("{sources:?}, seed {seed}");
            let mut reader = ProgramReader::open(file).expect("it is a program");
            let found = HidingPads::of(&mut reader, &case);
            let expected: BTreeSet<u64> = parties.iter().copied().collect();
            assert!(found.of_table.values().all(|hiding| *hiding == expected), "{case}");
            let rows: u64 = reader.description().tables.iter().map(|table| table.rows).sum();
            let pads: usize = found.pads.values().map(BTreeSet::len).sum();
            assert_eq!(pads as u64, rows * parties.len() as u64, "{case}");
        }
    }
}
