//! What tests of whole runs have in common: programs, plans, memory, inputs, and what is right.

use std::fs::File;
use std::io::Cursor;

use phineus_bytecode::random::Random;
use phineus_bytecode::{
    Description, ElementType, InputPort, Instruction, Kind, Layout, Op, ProgramReader,
    ProgramWriter, Sharing, Table,
};
use phineus_engine::{
    ClearDriver, FrameMemory, Inputs, Memory, Outputs, Storage, StorageBackend, StorageConfig, run,
};
use phineus_plan::{Lookahead, OrderOptions, PlanOptions, plan};

use crate::mixed::MixedCosts;

pub(crate) fn scratch() -> File {
    tempfile::tempfile().expect("a temporary file")
}

pub(crate) fn read(bytes: &[u8]) -> ProgramReader<Cursor<Vec<u8>>> {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

pub(crate) fn write(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), Kind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    writer.finish(description).expect("a valid description").0
}

/// Gives every value the sharing that `pick` says, with conversions where uses differ.
pub(crate) fn assigned(
    program: &[Instruction],
    mut pick: impl FnMut(&Instruction) -> Sharing,
) -> Vec<Instruction> {
    let mut made: Vec<Instruction> = Vec::new();
    // New name and sharing of each old value.
    let mut values: Vec<(u64, Sharing)> = Vec::new();
    let mut next = 0;
    for instruction in program {
        let sharing = pick(instruction);
        let mut instruction = *instruction;
        instruction.element = instruction.element.shared(sharing);
        if instruction.op == Op::Convert {
            // Its operand is brought to the same sharing below.
            instruction.immediates[0] = sharing as u64;
        }
        for k in 0..instruction.operands().len() {
            let (name, from) = values[instruction.operands[k] as usize];
            instruction.operands[k] = name;
            if from != sharing {
                let shape = instruction.operand_shape(k);
                let element = ElementType::unsigned(shape.width).shared(sharing);
                let mut convert = Instruction::new(Op::Convert, element, shape.lanes);
                convert.immediates[0] = from as u64;
                convert.operands[0] = name;
                convert.results[0] = next;
                made.push(convert);
                instruction.operands[k] = next;
                next += 1;
            }
        }
        for k in 0..instruction.results().len() {
            instruction.results[k] = next;
            values.push((next, sharing));
            next += 1;
        }
        made.push(instruction);
    }
    made
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

/// Frames and a swap file for a plan.
pub(crate) fn memory(description: &Description) -> Memory {
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
    Memory { frames, storage }
}

pub(crate) fn random_inputs(description: &Description, random: &mut Random) -> Vec<Table> {
    let table = |port: &InputPort| {
        let mut table = Table::zeros(port.columns.clone(), port.rows);
        for row in 0..port.rows {
            for (k, column) in port.columns.iter().enumerate() {
                table.set_cell(row, k, random.lane(column.element.width()));
            }
        }
        table
    };
    description.inputs.iter().map(table).collect()
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
