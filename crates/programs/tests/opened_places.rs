//! The places that Square-Root ORAM opens, recorded from runs of two parties under garbled circuits, and of two and
//! three on XOR shares: in every period all are different, and they are uniform whatever the indices are.

mod common;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::thread;

use common::shares::{self, Recording, own};
use common::{expanded, expanded_for};
use phineus_bytecode::random::Seeds;
use phineus_bytecode::{
    Description, ElementType, Encoding, Lane, Layout, PortOrder, ProgramReader, Table,
};
use phineus_channels::memory_pair;
use phineus_crypto::{Block, Prg};
use phineus_engine::Driver;
use phineus_frontend::{ClosureProgram, Value, column, program};
use phineus_oblivious::memory::{MemoryShape, accesses_of_a_turn};
use phineus_oblivious::{Memory, MemoryMethod};
use phineus_ot::SessionId;
use phineus_plan::{Lookahead, PlanOptions, plan};
use phineus_protocols::garbled::{EVALUATOR, Evaluator, GARBLER, GarbledCosts, Garbler};

const ROWS: u64 = 8;
const CELL: ElementType = ElementType::unsigned(4);
const PERIODS: usize = 600;
/// On shares an access takes some thirty rounds.
const PERIODS_ON_SHARES: usize = 250;

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
    match method {
        MemoryMethod::Scan => unreachable!("a scan opens nothing"),
        MemoryMethod::Linked => unreachable!("a row is read once"),
        // The square root of 17 switches, or of twice as many.
        MemoryMethod::SquareRoot => 5,
        MemoryMethod::SquareRootTable => 6,
    }
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

/// The program, planned in memory.
fn planned(pattern: Pattern, method: MemoryMethod) -> Vec<u8> {
    let program = accessing(pattern, PERIODS * period(method), 2);
    let mut reader = expanded(&program, method);
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        port_order: PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 200,
        computing: None,
        layout: Layout::wires(16),
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

/// Checks that places are uniform, and that none is opened twice in a period.
fn check(places: &[u64], period: usize, case: &str) {
    let mut pairs: HashMap<(u64, u64), u64> = HashMap::new();
    let mut by_turn = vec![vec![0u64; ROWS as usize]; period];
    for places in places.chunks(period) {
        for (turn, &place) in places.iter().enumerate() {
            assert!(place < ROWS, "{case}: place {place}");
            assert!(!places[..turn].contains(&place), "{case}: {places:?}");
            by_turn[turn][place as usize] += 1;
        }
        *pairs.entry((places[0], places[1])).or_default() += 1;
    }
    let samples = (places.len() / period) as u64;
    for (turn, counts) in by_turn.iter().enumerate() {
        let found = chi_squared(counts.iter().copied(), ROWS, samples);
        assert!(found < bound(7.0), "{case}: turn {turn}: {counts:?}, {found}");
    }
    let found = chi_squared(pairs.values().copied(), ROWS * (ROWS - 1), samples);
    assert!(found < bound(55.0), "{case}: first two places: {found}");
}

#[test]
fn places_are_uniform_and_never_opened_twice() {
    let mut seeds = Seeds::fresh();
    for method in [MemoryMethod::SquareRoot, MemoryMethod::SquareRootTable] {
        for pattern in [Pattern::Same, Pattern::InTurn] {
            let seed = seeds.draw();
            let places = opened(&planned(pattern, method), seed);
            assert_eq!(places.len(), PERIODS * period(method), "seed {seed}");
            let case = format!("{method:?}, {pattern:?}, seed {seed}");
            check(&places, period(method), &case);
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
        check(&runs[0].opened, period, &case);
    }
}
