//! Garbled circuits against the clear driver, on random programs and real OTs.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};
use std::thread;

use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_bytecode::{
    CostModel, Description, FileKind, Instruction, OPS, Op, ProgramReader, ProgramWriter, Table,
};
use phineus_channels::{Channel, Traffic, memory_pair};
use phineus_crypto::{Block, Prg};
use phineus_engine::{
    ClearDriver, Driver, FrameMemory, Inputs, Outputs, RunMemory, Storage, StorageBackend,
    StorageConfig, run,
};
use phineus_ot::SessionId;
use phineus_plan::{Lookahead, PlanOptions, check, plan};

use crate::garbled::{EVALUATOR, Evaluator, GARBLER, GarbledCosts, Garbler, totals};

type Reader = ProgramReader<BufReader<File>>;

fn open(file: &File) -> Reader {
    let mut file = file.try_clone().expect("a file can be opened twice");
    file.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    ProgramReader::open(BufReader::new(file)).expect("just written")
}

/// A file of its own for each reader, since clones of one handle share a position.
fn copy(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

fn write(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    writer.finish(description).expect("a valid description").0
}

/// Plans `program` for `frame_count` frames of `unit_bytes` for each wire, and checks the plan.
fn planned(program: &[u8], frame_count: u64, unit_bytes: u16) -> Vec<u8> {
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        optimisation: Default::default(),
        port_order: phineus_bytecode::PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count,
        computing: None,
        layout: phineus_bytecode::Layout::wires(unit_bytes),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    };
    let scratch = tempfile::tempfile().expect("a temporary file");
    let mut costs = GarbledCosts::default();
    let mut reader = open(&copy(program));
    let bytes = plan(&mut reader, Vec::new(), scratch, &options, &mut costs).expect("it fits").0;
    let faults = check(&mut reader, &mut open(&copy(&bytes))).expect("readable");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    bytes
}

fn memory(description: &Description) -> RunMemory {
    let plan = description.plan.as_ref().expect("planned");
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes,
        slots: plan.spill_slot_count as u32,
        backend: StorageBackend::Auto,
        depth: 16,
    };
    let storage =
        (plan.spill_slot_count > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    RunMemory::new(frames, storage)
}

fn execute<D: Driver>(bytes: &[u8], driver: &mut D) {
    let mut reader = open(&copy(bytes));
    let mut memory = memory(reader.description());
    run(&mut reader, driver, &mut memory, &mut |_| true).expect("the run succeeds");
}

fn run_clear(program: &[u8], tables: &[Table]) -> Vec<Vec<Option<Table>>> {
    let bytes = planned(program, 40, 1);
    let description = open(&copy(&bytes)).description().clone();
    let inputs = Inputs::new(&description, tables.iter().cloned().map(Some).collect());
    let outputs = (0..2).map(|party| Outputs::new(&description, party)).collect();
    let mut driver = ClearDriver::new(&description, inputs.expect("tables fit"), outputs);
    execute(&bytes, &mut driver);
    driver.into_outputs().into_iter().map(Outputs::into_tables).collect()
}

fn own(description: &Description, tables: &[Table], party: u16) -> Inputs {
    let ports = description.inputs.iter().zip(tables);
    let mine = ports.map(|(port, table)| (port.party == party).then(|| table.clone()));
    Inputs::new(description, mine.collect()).expect("tables fit")
}

/// Outputs, gates and traffic of one party.
type RunResult = (Vec<Option<Table>>, u64, Traffic);

fn run_garbled(bytes: &[u8], tables: &[Table], seed: u128) -> [RunResult; 2] {
    let description = open(&copy(bytes)).description().clone();
    let (left, right) = memory_pair();
    let session = SessionId::new([7; 32]);
    thread::scope(|scope| {
        let garbler = scope.spawn(|| {
            let mut prg = Prg::from_seed(Block::from_bits(seed));
            let inputs = own(&description, tables, GARBLER);
            let driver = Garbler::new(left, &mut prg, &session, &description, inputs);
            let mut driver = driver.expect("the set-up succeeds");
            execute(bytes, &mut driver);
            let gates = driver.and_gates();
            let (channel, outputs) = driver.into_parts();
            (outputs.into_tables(), gates, channel.traffic())
        });
        let mut prg = Prg::from_seed(Block::from_bits(!seed));
        let inputs = own(&description, tables, EVALUATOR);
        let upcoming = Box::new(open(&copy(bytes)).into_inputs());
        let driver = Evaluator::new(right, &mut prg, &session, &description, inputs, upcoming);
        let mut driver = driver.expect("the set-up succeeds");
        execute(bytes, &mut driver);
        let gates = driver.and_gates();
        let (channel, outputs) = driver.into_parts();
        let evaluator = (outputs.into_tables(), gates, channel.traffic());
        [garbler.join().expect("the garbler succeeds"), evaluator]
    })
}

fn rows(tables: &[Option<Table>]) -> Vec<Option<Vec<Vec<phineus_bytecode::Lane>>>> {
    let all = |table: &Table| (0..table.row_count()).map(|row| table.row(row)).collect();
    tables.iter().map(|table| table.as_ref().map(all)).collect()
}

fn compare(seed: u64, options: &RandomOptions, frame_count: u64) {
    let (instructions, description) = random_program(seed, options);
    let program = write(&instructions, &description);
    let tables = random_inputs(seed, &description);
    let clear = run_clear(&program, &tables);
    let bytes = planned(&program, frame_count, 16);
    let garbled = run_garbled(&bytes, &tables, u128::from(seed));
    let planned_description = open(&copy(&bytes)).description().clone();
    let total = |name| totals::value(&planned_description, name);
    for (party, (tables, gates, traffic)) in garbled.iter().enumerate() {
        assert!(rows(tables) == rows(&clear[party]), "seed {seed}: party {party} is wrong");
        assert_eq!(*gates, total(totals::AND_GATES), "seed {seed}");
        let sent = [totals::GARBLER_SENT_BYTES, totals::EVALUATOR_SENT_BYTES][party];
        assert_eq!(traffic.sent_bytes, total(sent), "seed {seed}: party {party} sent");
    }
}

#[test]
fn random_programs_give_what_the_clear_driver_gives() {
    let mut seeds = Seeds::fresh();
    for frames in [8, 10, 16, 1000].repeat(3) {
        compare(seeds.draw(), &RandomOptions { live_max: 60, ..RandomOptions::default() }, frames);
    }
}

#[test]
fn every_operation_gives_what_the_clear_driver_gives() {
    let mut seeds = Seeds::fresh();
    for info in OPS.iter().filter(|info| info.meaning.is_some()) {
        // Another width in each run.
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 24,
            width_max: [4, 64, 256][seed as usize % 3],
            wires_max: 4096,
            ops: Some(vec![Op::Input, Op::Constant, info.op]),
            ..RandomOptions::default()
        };
        compare(seed, &options, 12);
    }
}

#[test]
fn a_program_without_evaluator_inputs_needs_no_transfers() {
    let options = RandomOptions { party_count: 1, ..RandomOptions::default() };
    let (instructions, mut description) = random_program(3, &options);
    description.parties = vec!["a".to_string(), "b".to_string()];
    let bytes = planned(&write(&instructions, &description), 100, 16);
    let tables = random_inputs(3, &description);
    let [_, (_, _, traffic)] = run_garbled(&bytes, &tables, 1);
    let planned_description = open(&copy(&bytes)).description().clone();
    assert_eq!(totals::value(&planned_description, totals::EVALUATOR_INPUT_BITS), 0);
    let sent = totals::value(&planned_description, totals::EVALUATOR_SENT_BYTES);
    assert_eq!(traffic.sent_bytes, sent);
}

#[test]
fn costs_of_the_basic_operations_are_exact() {
    use phineus_bytecode::ElementType;
    let expect = |op, width: u16, lanes: u32, gates: u64| {
        let instruction = Instruction::new(op, ElementType::unsigned(width), lanes);
        let mut costs = GarbledCosts::default();
        costs.count(&instruction, &Description::default());
        let total = costs.totals(&Description::default())[totals::AND_GATES];
        assert_eq!(total, gates, "{op:?} of {width} bits and {lanes} lanes");
    };
    expect(Op::Add, 32, 10, 31 * 10);
    expect(Op::Lt, 32, 3, 32 * 3);
    expect(Op::Eq, 64, 5, 63 * 5);
    expect(Op::CondSwap, 128, 32, 128 * 32);
    expect(Op::Mux, 17, 7, 17 * 7);
    expect(Op::Xor, 256, 16, 0);
    expect(Op::Aes128, 128, 4, 6400 * 4);
}
