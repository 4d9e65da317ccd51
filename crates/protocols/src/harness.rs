//! What tests of whole runs have in common: programs, plans, memory, inputs, and what is right.

use std::fs::File;
use std::io::Cursor;
use std::thread;

use phineus_bytecode::{
    CostModel, Description, FileKind, Instruction, Layout, ProgramReader, ProgramWriter,
    RoundModel, Table,
};
use phineus_channels::{Channel, MemoryChannel, Traffic, memory_pair_named};
use phineus_crypto::{Block, Prg};
use phineus_engine::{
    ClearDriver, FrameMemory, Inputs, Outputs, RunMemory, Storage, StorageBackend, StorageConfig,
    run,
};
use phineus_plan::{Error, Lookahead, OrderOptions, PlanOptions, check, check_order, order, plan};

use crate::ProtocolError;
use crate::mixed::MixedCosts;
use crate::shares::client::{Client, ClientSharing};

pub(crate) fn scratch() -> File {
    tempfile::tempfile().expect("a temporary file")
}

pub(crate) fn read(bytes: &[u8]) -> ProgramReader<Cursor<Vec<u8>>> {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

pub(crate) fn write(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    writer.finish(description).expect("a valid description").0
}

pub(crate) fn ordering(layout: Layout) -> OrderOptions {
    OrderOptions {
        layout,
        window_units: 10_000,
        window_instructions: 1 << 17,
        held_bytes: 1 << 20,
        planner_memory_bytes: 64 << 20,
    }
}

pub(crate) fn options(
    protocol: &str,
    layout: Layout,
    page_wires: u64,
    frame_count: u64,
) -> PlanOptions {
    PlanOptions {
        protocol: protocol.to_string(),
        port_order: phineus_bytecode::PortOrder::Given,
        memory_limit_bytes: 0,
        frame_count,
        computing: None,
        layout,
        page_wires,
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    }
}

/// `program` in the order of the rounds of `model`, which the checker of orders finds right.
pub(crate) fn ordered(
    program: &[u8],
    layout: Layout,
    model: &mut (impl RoundModel + Send),
) -> Result<Vec<u8>, Error> {
    let options = ordering(layout);
    let ordered = order(&mut read(program), Vec::new(), scratch(), &options, model)?.0;
    let faults = check_order(&mut read(program), &mut read(&ordered), model)?;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(ordered)
}

/// The plan of `ordered`, which the checker of plans finds right.
pub(crate) fn planned(
    ordered: &[u8],
    options: &PlanOptions,
    costs: &mut impl CostModel,
) -> Result<Vec<u8>, Error> {
    let planned = plan(&mut read(ordered), Vec::new(), scratch(), options, costs)?.0;
    let faults = check(&mut read(ordered), &mut read(&planned))?;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(planned)
}

/// Frames and a swap file for a plan.
pub(crate) fn memory(description: &Description) -> RunMemory {
    let plan = description.plan.as_ref().expect("it is planned");
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes,
        slots: plan.spill_slot_count as u32,
        backend: StorageBackend::Threads,
        depth: 8,
    };
    let storage = (config.slots > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    RunMemory { frames, storage }
}

/// The tables that a party brings.
pub(crate) fn own(description: &Description, tables: &[Table], party: usize) -> Inputs {
    Inputs::new(description, tables_of(description, tables, party)).expect("the right shapes")
}

/// The same of a party that may lie about the order of its rows.
pub(crate) fn own_in_any_order(
    description: &Description,
    tables: &[Table],
    party: usize,
) -> Inputs {
    let tables = tables_of(description, tables, party);
    Inputs::in_any_order(description, tables).expect("the right shapes")
}

fn tables_of(description: &Description, tables: &[Table], party: usize) -> Vec<Option<Table>> {
    let ports = description.inputs.iter().zip(tables);
    let own = ports.map(|(port, table)| (usize::from(port.party) == party).then(|| table.clone()));
    own.collect()
}

/// The outputs in the clear, of a program as it was before it got sharings.
pub(crate) fn expected(program: &[u8], tables: &[Table]) -> Vec<Table> {
    let reader = read(program);
    let description = reader.description().clone();
    let options = options("clear", Layout::wires(1), 4096, 1 << 16);
    let mut costs = MixedCosts::new(description.parties.len());
    let planned = plan(&mut read(program), Vec::new(), scratch(), &options, &mut costs);
    let planned = planned.expect("it fits").0;
    let mut reader = read(&planned);
    let inputs = Inputs::new(&description, tables.iter().cloned().map(Some).collect());
    let parties = 0..description.parties.len() as u16;
    let outputs = parties.map(|party| Outputs::new(&description, party)).collect();
    let mut driver = ClearDriver::new(inputs.expect("the right shapes"), outputs);
    let mut memory = memory(reader.description());
    run(&mut reader, &mut driver, &mut memory, &mut |_| true).expect("it runs");
    let mut merged: Vec<Option<Table>> = vec![None; description.outputs.len()];
    for outputs in driver.into_outputs() {
        for (merged, table) in merged.iter_mut().zip(outputs.into_tables()) {
            *merged = merged.take().or(table);
        }
    }
    merged.into_iter().map(|table| table.expect("every port has a learner")).collect()
}

/// Checks that `party` learned the outputs that the program gives it, and no others.
pub(crate) fn assert_learned(
    description: &Description,
    party: usize,
    outputs: Vec<Option<Table>>,
    expected: &[Table],
) {
    for ((port, output), expected) in description.outputs.iter().zip(outputs).zip(expected) {
        assert_eq!(output.is_some(), port.parties.contains(&(party as u16)), "{}", port.name);
        let Some(output) = output else { continue };
        for row in 0..expected.row_count() {
            assert_eq!(output.row(row), expected.row(row), "{} row {row}", port.name);
        }
    }
}

pub(crate) fn sent_bytes(traffic: &[Traffic]) -> u64 {
    traffic.iter().map(|traffic| traffic.sent_bytes).sum()
}

pub(crate) fn received_bytes(traffic: &[Traffic]) -> u64 {
    traffic.iter().map(|traffic| traffic.received_bytes).sum()
}

/// A client's outputs and traffic.
pub(crate) type ClientThread = thread::JoinHandle<(Vec<Option<Table>>, Vec<Traffic>)>;

/// Starts the clients of the parties `0..computing`, with generators from `seed`. Also returns the channels to
/// them, by party.
pub(crate) fn start_clients<O: ClientSharing>(
    ordered: &[u8],
    description: &Description,
    computing: usize,
    seed: u64,
    inputs: &[Table],
) -> (Vec<Vec<MemoryChannel>>, Vec<ClientThread>) {
    let mut links: Vec<Vec<MemoryChannel>> = (0..computing).map(|_| Vec::new()).collect();
    let threads = (computing..description.parties.len()).map(|me| {
        let mut own_links = Vec::new();
        for links in &mut links {
            let (near, far) = memory_pair_named("client", "party");
            own_links.push(near);
            links.push(far);
        }
        let (ordered, description) = (ordered.to_vec(), description.clone());
        let inputs = own(&description, inputs, me);
        thread::spawn(move || {
            let mut prg = Prg::from_seed(Block::from_bits(u128::from(seed) << 8 | me as u128));
            let client =
                Client::<MemoryChannel, O>::new(own_links, &mut prg, &description, me, inputs);
            let mut client = client.expect("the parties are there");
            read(&ordered)
                .for_each::<ProtocolError>(|instruction| Ok(client.step(instruction)?))
                .expect("it runs");
            let (links, outputs) = client.finish().expect("the parties are there");
            (outputs.into_tables(), links.iter().map(Channel::traffic).collect())
        })
    });
    let threads = threads.collect();
    (links, threads)
}
