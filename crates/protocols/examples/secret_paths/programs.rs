//! Programs with every operation, plans for them, and secret tables.

use std::fs::File;
use std::io::Cursor;

use phineus_bytecode::random::{RandomOptions, random_inputs};
use phineus_bytecode::{
    CostModel, Description, FileKind, Instruction, Lane, Layout, PortOrder, ProgramReader,
    ProgramWriter, Table,
};
use phineus_crypto::secret::{classify, declassify};
use phineus_engine::{FrameMemory, Inputs, RunMemory, Storage, StorageBackend, StorageConfig};
use phineus_plan::{Assignment, Lookahead, OrderOptions, PlanOptions, assign, plan};

use crate::watch;

/// A program in the clear: what protocols are compared with.
pub struct Program {
    pub instructions: Vec<Instruction>,
    pub description: Description,
    /// The tables that all parties bring.
    pub tables: Vec<Table>,
}

/// A random program of 60 instructions; `sizes` are the widest value, and the wires of all values.
pub fn random(seed: u64, party_count: u16, sizes: (u16, u32)) -> Program {
    random_of(seed, party_count, sizes, 60)
}

/// As [`random`], with the number of instructions given.
pub fn random_of(
    seed: u64,
    party_count: u16,
    (width_max, wires_max): (u16, u32),
    instruction_count: usize,
) -> Program {
    let options = RandomOptions {
        instruction_count,
        width_max,
        wires_max,
        party_count,
        ..RandomOptions::default()
    };
    let (instructions, description) = watch::program(seed, &options);
    let tables = random_inputs(seed, &description);
    Program { instructions, description, tables }
}

pub fn scratch() -> File {
    tempfile::tempfile().expect("a temporary file")
}

pub fn read(bytes: &[u8]) -> ProgramReader<Cursor<Vec<u8>>> {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

pub fn write(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|instruction| writer.push(instruction).expect("memory"));
    writer.finish(description).expect("a valid description").0
}

pub fn ordering(layout: Layout) -> OrderOptions {
    OrderOptions {
        layout,
        window_units: 10_000,
        window_instructions: 1 << 17,
        held_bytes: 1 << 20,
        planner_memory_bytes: 64 << 20,
    }
}

/// The same program with sharings.
pub fn assigned(program: &[u8], assignment: Assignment) -> Vec<u8> {
    let assigned = assign(&mut read(program), Vec::new(), scratch(), assignment, 64 << 20);
    assigned.expect("a valid program").0
}

/// A plan with so few frames that pages move to and from storage.
pub fn planned(
    program: &[u8],
    protocol: &str,
    layout: Layout,
    page_wires: u64,
    frame_count: u64,
    costs: &mut impl CostModel,
) -> Vec<u8> {
    let options = PlanOptions {
        protocol: protocol.to_string(),
        optimisation: Default::default(),
        port_order: PortOrder::Given,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count,
        computing: None,
        layout,
        page_wires,
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    };
    let plan = plan(&mut read(program), Vec::new(), scratch(), &options, costs);
    let plan = plan.expect("it fits").0;
    watch::planned(&plan);
    plan
}

/// Frames and a swap file for a plan.
pub fn memory(description: &Description) -> RunMemory {
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
    RunMemory::new(frames, storage)
}

/// The tables that a party brings, as secrets.
pub fn secret_inputs(description: &Description, tables: &[Table], party: usize) -> Inputs {
    let ports = description.inputs.iter().zip(tables);
    let own = ports.map(|(port, table)| {
        (usize::from(port.party) == party).then(|| {
            let mut table = table.clone();
            for row in 0..table.row_count() {
                for column in 0..table.columns().len() {
                    let mut bytes: [u8; 32] = table.cell(row, column).to_le_bytes();
                    classify(&mut bytes);
                    table.set_cell(row, column, Lane::from_le_bytes(bytes));
                }
            }
            table
        })
    });
    Inputs::new(description, own.collect()).expect("the right shapes")
}

/// Asserts that a party learned the right outputs, which are public from here on.
pub fn assert_learned(
    description: &Description,
    party: usize,
    outputs: Vec<Option<Table>>,
    expected: &[Table],
) {
    for ((port, output), expected) in description.outputs.iter().zip(outputs).zip(expected) {
        assert_eq!(output.is_some(), port.parties.contains(&(party as u16)));
        let Some(output) = output else { continue };
        for row in 0..expected.row_count() {
            for column in 0..expected.columns().len() {
                let found = output.cells(row..row + 1, column).0.to_vec();
                declassify(&found[..], "compared with what is right");
                let expected = expected.cells(row..row + 1, column).0;
                assert!(found == expected, "{}, row {row}", port.name);
            }
        }
    }
}
