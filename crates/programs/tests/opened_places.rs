//! The places that Square-Root ORAM opens, recorded from runs of two parties under garbled circuits, and of two and
//! three on XOR shares and in a field: in every period all are different, and they are uniform whatever the indices are.
//! And the leaves that Circuit ORAM opens: these are uniform and independent of each other.

mod common;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::thread;

use common::shares::{self, Recording, own};
use common::{beside_rows, expanded, expanded_for, field};
use phineus_bytecode::random::Seeds;
use phineus_bytecode::{Description, ElementType, Encoding, Lane, PortOrder, ProgramReader, Table};
use phineus_channels::memory_pair;
use phineus_crypto::{Block, Prg};
use phineus_engine::Driver;
use phineus_frontend::{ClosureProgram, Value, column, program};
use phineus_oblivious::memory::{MemoryShape, MemoryTerms, accesses_of_a_turn};
use phineus_oblivious::{Memory, MemoryMethod};
use phineus_ot::SessionId;
use phineus_plan::{Lookahead, PlanOptions, plan};
use phineus_protocols::garbled::{
    EVALUATOR, Evaluator, GARBLER, GarbledCosts, Garbler, layout_beside_rows,
};

const ROWS: u64 = 8;
const CELL: ElementType = ElementType::unsigned(4);
const PERIODS: usize = 600;
/// On shares an access takes some thirty rounds.
const PERIODS_ON_SHARES: usize = 250;

/// Accesses of Circuit ORAM whose leaves are compared.
const LEAVES: usize = 2000;
const LEAVES_ON_SHARES: usize = 150;

/// How the indices of accesses follow each other.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// The same row again and again.
    Same,
    /// All rows in turn.
    InTurn,
}

/// Accesses between two shuffles, and places that an access opens.
fn period(method: MemoryMethod) -> usize {
    let (name, columns) = (String::new(), vec![CELL]);
    let shape = MemoryShape { name, columns, rows: ROWS, method: None, is_linked: false };
    accesses_of_a_turn(&shape, method, MemoryTerms::LABELS) as usize
}

fn accessing(pattern: Pattern, accesses: usize, parties: usize) -> ClosureProgram {
    let names = ["a", "b", "c", "d"].iter().take(parties);
    let program = names.fold(program("accessing"), |program, name| program.party(name));
    program.trace(move |t, _| {
        let cell = column("cell", CELL, Encoding::Number);
        let rows = t.input("rows", ROWS).by("a").column(cell.clone()).read();
        let index = column("index", ElementType::unsigned(3), Encoding::Number);
        let indices = t.input("indices", 1).by("b").column(index).read();
        let mut index = indices.chunks(0)[0].clone();
        let mut memory = Memory::new(rows, None);
        let one = t.constant(ElementType::unsigned(3), Lane::ONE);
        let mut sum: Option<Value> = None;
        for _ in 0..accesses {
            let found = memory.read(&index).swap_remove(0);
            sum = Some(sum.map_or(found.clone(), |sum| sum.xor(&found)));
            index = match pattern {
                Pattern::Same => index,
                Pattern::InTurn => index.add(&one),
            };
        }
        let mut output = t.output("sum", &["a"]).rows(&[cell], 1);
        output.push(&[&sum.expect("there are accesses")]);
        output.finish();
        Ok(())
    })
}

fn open(bytes: &[u8]) -> ProgramReader<BufReader<File>> {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    ProgramReader::open(BufReader::new(file)).expect("just written")
}

/// Accesses some rows of a memory of many, which are 0 and change.
fn changing(rows: u64, pattern: Pattern, accesses: usize, parties: usize) -> ClosureProgram {
    let names = ["a", "b", "c", "d"].iter().take(parties);
    let program = names.fold(program("changing"), |program, name| program.party(name));
    program.trace(move |t, _| {
        let cell = column("cell", CELL, Encoding::Number);
        t.input("rows", ROWS).by("a").column(cell.clone()).read();
        let index = column("index", ElementType::unsigned(3), Encoding::Number);
        let indices = t.input("indices", 1).by("b").column(index).read();
        let mut index = indices.chunks(0)[0].clone();
        let mut memory = Memory::zeros(t, "rows", &[CELL], rows, None);
        let one = t.constant(ElementType::unsigned(3), Lane::ONE);
        let mut found = None;
        for _ in 0..accesses {
            found = Some(memory.update(&index, |row| vec![row[0].not()]).swap_remove(0));
            index = match pattern {
                Pattern::Same => index,
                Pattern::InTurn => index.add(&one),
            };
        }
        let mut output = t.output("found", &["a"]).rows(&[cell], 1);
        output.push(&[&found.expect("there are accesses")]);
        output.finish();
        Ok(())
    })
}

/// The program, planned in memory.
fn planned(program: &ClosureProgram, method: MemoryMethod) -> Vec<u8> {
    let mut reader = beside_rows(expanded(program, method));
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        optimisation: Default::default(),
        port_order: PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 200,
        computing: None,
        layout: layout_beside_rows(),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: 0, frames: 0 },
        planner_memory_bytes: 64 << 20,
    };
    let scratch = tempfile::tempfile().expect("a temporary file");
    let costs = &mut GarbledCosts::default();
    plan(&mut reader, Vec::new(), scratch, &options, costs).expect("it fits").0
}

fn execute<D: Driver>(bytes: &[u8], driver: D) -> Vec<u64> {
    let mut recording = Recording { driver, places: Vec::new() };
    shares::execute(&mut open(bytes), &mut recording);
    recording.places
}

/// Rows, and the index of the first access.
fn tables(description: &Description, seed: u64) -> Vec<Table> {
    let mut tables: Vec<Table> =
        description.inputs.iter().map(|port| Table::new(port.columns.clone())).collect();
    (0..ROWS).for_each(|row| tables[0].push(&[Lane::from(row)]));
    tables[1].push(&[Lane::from(seed % ROWS)]);
    tables
}

/// The places that both parties saw.
fn opened(bytes: &[u8], seed: u64) -> Vec<u64> {
    let description = open(bytes).description().clone();
    let tables = tables(&description, seed);
    let (left, right) = memory_pair();
    let session = SessionId::new([7; 32]);
    let [first, second] = thread::scope(|scope| {
        let garbler = scope.spawn(|| {
            let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
            let inputs = own(&description, &tables, GARBLER);
            let driver = Garbler::new(left, &mut prg, &session, &description, inputs);
            execute(bytes, driver.expect("the set-up succeeds"))
        });
        let mut prg = Prg::from_seed(Block::from_bits(!u128::from(seed)));
        let inputs = own(&description, &tables, EVALUATOR);
        let upcoming = Box::new(open(bytes).into_inputs());
        let driver = Evaluator::new(right, &mut prg, &session, &description, inputs, upcoming);
        let evaluator = execute(bytes, driver.expect("the set-up succeeds"));
        [garbler.join().expect("the garbler succeeds"), evaluator]
    });
    assert_eq!(first, second, "both parties see the same places");
    first
}

/// Pearson's statistic of counts that should all be equal.
fn chi_squared(counts: impl Iterator<Item = u64>, cells: u64, samples: u64) -> f64 {
    let expected = samples as f64 / cells as f64;
    let (mut sum, mut seen) = (0.0, 0);
    for count in counts {
        sum += (count as f64 - expected).powi(2) / expected;
        seen += 1;
    }
    // Cells that nothing fell into.
    sum + (cells - seen) as f64 * expected
}

/// A bound that a statistic of so many degrees of freedom exceeds with probability 2^-40 or so: six standard deviations
/// and more, by the cube root of Wilson and Hilferty.
fn bound(degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + 7.2 * part.sqrt()).powi(3)
}

/// Checks that places of so many rows are uniform, and that none is opened twice in a period.
fn check(places: &[u64], period: usize, rows: u64, case: &str) {
    let mut pairs: HashMap<(u64, u64), u64> = HashMap::new();
    let mut by_turn = vec![vec![0u64; rows as usize]; period];
    for places in places.chunks(period) {
        for (turn, &place) in places.iter().enumerate() {
            assert!(place < rows, "{case}: place {place}");
            assert!(!places[..turn].contains(&place), "{case}: {places:?}");
            by_turn[turn][place as usize] += 1;
        }
        *pairs.entry((places[0], places[1])).or_default() += 1;
    }
    let samples = (places.len() / period) as u64;
    for (turn, counts) in by_turn.iter().enumerate() {
        let found = chi_squared(counts.iter().copied(), rows, samples);
        assert!(found < bound((rows - 1) as f64), "{case}: turn {turn}: {counts:?}, {found}");
    }
    let cells = rows * (rows - 1);
    let found = chi_squared(pairs.values().copied(), cells, samples);
    assert!(found < bound((cells - 1) as f64), "{case}: first two places: {found}");
}

#[test]
fn places_are_uniform_and_never_opened_twice() {
    let mut seeds = Seeds::fresh();
    for method in [MemoryMethod::SquareRoot, MemoryMethod::SquareRootTable] {
        for pattern in [Pattern::Same, Pattern::InTurn] {
            let seed = seeds.draw();
            let program = accessing(pattern, PERIODS * period(method), 2);
            let places = opened(&planned(&program, method), seed);
            assert_eq!(places.len(), PERIODS * period(method), "seed {seed}");
            let case = format!("{method:?}, {pattern:?}, seed {seed}");
            check(&places, period(method), ROWS, &case);
        }
    }
}

#[test]
fn places_on_shares_are_uniform_and_never_opened_twice() {
    let (mut seeds, method) = (Seeds::fresh(), MemoryMethod::SquareRoot);
    for (parties, pattern) in [(2, Pattern::InTurn), (3, Pattern::Same)] {
        let seed = seeds.draw();
        let terms = shares::terms(parties);
        let name = String::new();
        let shape =
            MemoryShape { name, columns: vec![CELL], rows: ROWS, method: None, is_linked: false };
        let period = accesses_of_a_turn(&shape, method, terms) as usize;
        let program = accessing(pattern, PERIODS_ON_SHARES * period, parties);
        let planned = shares::planned(&mut expanded_for(&program, method, terms), parties);
        let description = shares::read(&planned).description().clone();
        let runs = shares::run_all(&planned, &tables(&description, seed), seed);
        let case = format!("{parties} parties, {pattern:?}, seed {seed}");
        assert!(runs.iter().all(|run| run.opened == runs[0].opened), "{case}: all see the same");
        assert_eq!(runs[0].opened.len(), PERIODS_ON_SHARES * period, "{case}");
        check(&runs[0].opened, period, ROWS, &case);
    }
}

/// In a field the numbers of the rows are opened to all, in an order that all have hidden, before the places of a period.
#[test]
fn places_in_a_field_are_uniform_and_never_opened_twice() {
    let (mut seeds, method) = (Seeds::fresh(), MemoryMethod::SquareRoot);
    for (parties, pattern) in [(2, Pattern::Same), (3, Pattern::InTurn)] {
        let seed = seeds.draw();
        let terms = field::terms(parties);
        let name = String::new();
        let shape =
            MemoryShape { name, columns: vec![CELL], rows: ROWS, method: None, is_linked: false };
        let period = accesses_of_a_turn(&shape, method, terms) as usize;
        let items = ROWS as usize + period;
        let program = accessing(pattern, PERIODS_ON_SHARES * period, parties);
        let planned = field::planned(&mut expanded_for(&program, method, terms), parties);
        let description = shares::read(&planned).description().clone();
        let runs = field::run_all(&planned, &tables(&description, seed), seed);
        let case = format!("{parties} parties, {pattern:?}, seed {seed}");
        assert!(runs.iter().all(|run| run.opened == runs[0].opened), "{case}: all see the same");
        assert_eq!(runs[0].opened.len(), PERIODS_ON_SHARES * (items + period), "{case}");
        let (mut lists, mut places) = (Vec::new(), Vec::new());
        for opened in runs[0].opened.chunks(items + period) {
            lists.extend_from_slice(&opened[..items]);
            places.extend_from_slice(&opened[items..]);
        }
        check(&lists, items, items as u64, &format!("{case}, lists"));
        check(&places, period, items as u64, &case);
    }
}

/// Checks that leaves of so many bits are uniform, and each independent of those that were opened shortly before.
fn check_leaves(leaves: &[u64], bits: u32, case: &str) {
    assert!(leaves.iter().all(|leaf| leaf >> bits == 0), "{case}: {leaves:?}");
    let low = |leaf: u64| leaf & 7.min((1 << bits) - 1);
    let cells = 1 << bits.min(3);
    // Leaves of the same row, in either pattern.
    for distance in [1, ROWS as usize] {
        let mut pairs: HashMap<(u64, u64), u64> = HashMap::new();
        for (&before, &leaf) in leaves.iter().zip(&leaves[distance..]) {
            *pairs.entry((low(before), low(leaf))).or_default() += 1;
        }
        let samples = (leaves.len() - distance) as u64;
        let found = chi_squared(pairs.values().copied(), cells * cells, samples);
        let degrees = (cells * cells - 1) as f64;
        assert!(found < bound(degrees), "{case}: pairs {distance} apart: {found}");
    }
    let high = |leaf: u64| leaf >> bits.saturating_sub(3);
    let mut counts = vec![0u64; cells as usize];
    leaves.iter().for_each(|&leaf| counts[high(leaf) as usize] += 1);
    let found = chi_squared(counts.iter().copied(), cells, leaves.len() as u64);
    assert!(found < bound((cells - 1) as f64), "{case}: {counts:?}, {found}");
}

/// Rows whose leaves are scanned, and rows whose leaves lie in a tree: leaves of both are opened.
#[test]
fn leaves_are_uniform_and_independent() {
    let (mut seeds, method) = (Seeds::fresh(), MemoryMethod::Circuit);
    for (rows, accesses, levels) in [(8, LEAVES, &[2][..]), (1 << 12, LEAVES / 4, &[8, 11])] {
        for pattern in [Pattern::Same, Pattern::InTurn] {
            let seed = seeds.draw();
            let program = changing(rows, pattern, accesses, 2);
            let opened = opened(&planned(&program, method), seed);
            let case = format!("{rows} rows, {pattern:?}, seed {seed}");
            assert_eq!(opened.len(), accesses * levels.len(), "{case}");
            for (tree, &bits) in levels.iter().enumerate() {
                let leaves: Vec<u64> =
                    opened.iter().skip(tree).step_by(levels.len()).copied().collect();
                check_leaves(&leaves, bits, &format!("{case}, tree {tree}"));
            }
        }
    }
}

#[test]
fn leaves_on_shares_are_uniform_and_independent() {
    let mut seeds = Seeds::fresh();
    for (parties, pattern) in [(2, Pattern::InTurn), (3, Pattern::Same)] {
        let (seed, terms) = (seeds.draw(), shares::terms(parties));
        let program = changing(ROWS, pattern, LEAVES_ON_SHARES, parties);
        let mut expanded = expanded_for(&program, MemoryMethod::Circuit, terms);
        let planned = shares::planned(&mut expanded, parties);
        let description = shares::read(&planned).description().clone();
        let runs = shares::run_all(&planned, &tables(&description, seed), seed);
        let case = format!("{parties} parties, {pattern:?}, seed {seed}");
        assert!(runs.iter().all(|run| run.opened == runs[0].opened), "{case}: all see the same");
        assert_eq!(runs[0].opened.len(), LEAVES_ON_SHARES, "{case}");
        check_leaves(&runs[0].opened, 2, &case);
    }
}
