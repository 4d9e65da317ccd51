//! Circuits and the clear driver against the meanings in the op table, on random instructions.

use std::io::Cursor;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_inputs, random_program};
use phineus_bytecode::{
    CostModel, Description, FileKind, Instruction, Lanes, OPS, Op, ProgramReader, Shape, Table,
};
use phineus_circuits::{ClearAlgebra, CountingAlgebra};
use phineus_engine::{
    ClearDriver, FrameMemory, Inputs, Outputs, RunMemory, Storage, StorageBackend, StorageConfig,
    bits, from_bits, run, to_bits,
};
use phineus_plan::{Lookahead, PlanOptions, plan};

/// Every operation of the table as a circuit, on random operands of random shapes.
#[test]
fn circuits_compute_what_the_table_says() {
    let mut seeds = Seeds::fresh();
    for info in OPS.iter().filter(|info| info.meaning.is_some()) {
        for width_max in [4, 32, 256].repeat(40) {
            let seed = seeds.draw();
            let options = RandomOptions {
                instruction_count: 12,
                width_max,
                wires_max: 4096,
                ops: Some(vec![Op::Input, info.op]),
                ..RandomOptions::default()
            };
            let (program, _) = random_program(seed, &options);
            let mut random = SeededRng::new(seed);
            for instruction in program.iter().filter(|i| i.op == info.op) {
                check_circuit(instruction, &mut random, seed);
            }
        }
    }
}

fn check_circuit(instruction: &Instruction, random: &mut SeededRng, seed: u64) {
    let info = instruction.op.info();
    let operands: Vec<Lanes> = (0..info.operands.len())
        .map(|k| instruction.operand_shape(k))
        .map(|shape| (0..shape.lanes).map(|_| random.lane(shape.width)).collect())
        .collect();
    let operands = with_repeats(instruction, operands);
    let wires: Vec<Vec<u8>> = (0..operands.len())
        .map(|k| {
            let shape = instruction.operand_shape(k);
            let mut wires = vec![0; shape.wires() as usize];
            to_bits(operands[k].iter().copied(), shape.lanes as usize, &mut wires);
            wires
        })
        .collect();
    let mut results: Vec<Vec<u8>> = (0..info.results.len())
        .map(|k| vec![0; instruction.result_shape(k).wires() as usize])
        .collect();
    let mut scratch = vec![0; bits::scratch_wires(instruction)];
    let operand_slices: Vec<&[u8]> = wires.iter().map(Vec::as_slice).collect();
    let mut result_slices: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    let mut algebra = ClearAlgebra;
    bits::execute(&mut algebra, instruction, &mut result_slices, &operand_slices, &mut scratch);
    let meaning = info.meaning.expect("only computations are drawn");
    for (k, expected) in meaning(instruction, &operands).iter().enumerate() {
        let count = expected.len();
        let found: Lanes = (0..count).map(|lane| from_bits(&results[k], count, lane)).collect();
        assert_eq!(&found, expected, "result {k} of {instruction:?} on {operands:?}, seed {seed}");
    }
    if instruction.op.is_movement() {
        check_has_no_gates(instruction);
    }
}

/// Gives operands that name the same value the same lanes.
fn with_repeats(instruction: &Instruction, mut operands: Vec<Lanes>) -> Vec<Lanes> {
    let names = instruction.operands();
    for k in 1..names.len() {
        if let Some(first) = names[..k].iter().position(|name| *name == names[k]) {
            operands[k] = operands[first].clone();
        }
    }
    operands
}

fn check_has_no_gates(instruction: &Instruction) {
    let info = instruction.op.info();
    let blank = |shape: Shape| vec![(); shape.wires() as usize];
    let operands: Vec<Vec<()>> =
        (0..info.operands.len()).map(|k| blank(instruction.operand_shape(k))).collect();
    let mut results: Vec<Vec<()>> =
        (0..info.results.len()).map(|k| blank(instruction.result_shape(k))).collect();
    let operands: Vec<&[()]> = operands.iter().map(Vec::as_slice).collect();
    let mut results: Vec<&mut [()]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    let mut scratch = vec![(); bits::scratch_wires(instruction)];
    let mut counter = CountingAlgebra::default();
    bits::execute(&mut counter, instruction, &mut results, &operands, &mut scratch);
    assert_eq!(counter, CountingAlgebra::default(), "{instruction:?} moves bits only");
}

struct Free;

impl CostModel for Free {
    fn duration_ns(&mut self, _: &Instruction) -> u64 {
        100
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> std::collections::BTreeMap<String, u64> {
        Default::default()
    }
}

/// Runs a program value by value, with nothing between the table and the result.
fn interpret(program: &[Instruction], description: &Description, inputs: &[Table]) -> Vec<Table> {
    let empty = |port: &phineus_bytecode::OutputPort| Table::zeros(port.columns.clone(), port.rows);
    let mut outputs: Vec<Table> = description.outputs.iter().map(empty).collect();
    let mut values: Vec<Lanes> = Vec::new();
    for instruction in program {
        let [port, column, row, _] = instruction.immediates;
        let rows = row..row.saturating_add(u64::from(instruction.lanes));
        match instruction.op {
            Op::Input => values
                .push(rows.map(|row| inputs[port as usize].cell(row, column as usize)).collect()),
            Op::Output => {
                for (row, &value) in rows.zip(&values[instruction.operands[0] as usize]) {
                    outputs[port as usize].set_cell(row, column as usize, value);
                }
            }
            op => {
                let operands: Vec<Lanes> =
                    instruction.operands().iter().map(|&k| values[k as usize].clone()).collect();
                let meaning = op.info().meaning.expect("a program has no directives");
                values.extend(meaning(instruction, &operands));
            }
        }
    }
    outputs
}

/// The clear driver on a plan that swaps, through both kinds of storage.
#[test]
fn the_engine_computes_what_the_program_says() {
    let mut seeds = Seeds::fresh();
    for frames_more in 0..30 {
        let seed = seeds.draw();
        let options =
            RandomOptions { instruction_count: 400, live_max: 80, ..RandomOptions::default() };
        let (program, description) = random_program(seed, &options);
        let inputs = random_inputs(seed, &description);
        let expected = interpret(&program, &description, &inputs);
        let bytes = to_bytes(FileKind::Program, &program, &description).expect("a valid program");
        let options = PlanOptions {
            protocol: "clear".to_string(),
            optimisation: Default::default(),
            port_order: phineus_bytecode::PortOrder::Near,
            memory_limit_bytes: 0,
            region_frames: 0,
            frame_count: 8 + frames_more,
            computing: None,
            layout: phineus_bytecode::Layout::wires(1),
            page_wires: 4096,
            lookahead: Lookahead { time_ns: 5000, frames: 3 },
            planner_memory_bytes: 1 << 30,
        };
        let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
        let scratch = tempfile::tempfile().expect("a temporary file");
        let planned = plan(&mut reader, Vec::new(), scratch, &options, &mut Free).expect("it fits");
        for backend in [StorageBackend::Auto, StorageBackend::Threads] {
            let outputs = execute(&planned.0, &inputs, backend);
            for (port, (found, expected)) in outputs.iter().zip(&expected).enumerate() {
                for row in 0..expected.row_count() {
                    assert_eq!(found.row(row), expected.row(row), "seed {seed}, port {port}");
                }
            }
        }
    }
}

fn execute(planned: &[u8], inputs: &[Table], backend: StorageBackend) -> Vec<Table> {
    let mut reader = ProgramReader::open(Cursor::new(planned)).expect("just written");
    let description = reader.description().clone();
    let plan = description.plan.as_ref().expect("it is planned");
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, 4096).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes: 4096,
        slots: plan.spill_slot_count as u32,
        backend,
        depth: 4,
    };
    let storage =
        (plan.spill_slot_count > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    let tables = inputs.iter().cloned().map(Some).collect();
    let inputs = Inputs::new(&description, tables).expect("the tables fit");
    let outputs = (0..2).map(|party| Outputs::new(&description, party)).collect();
    let mut driver = ClearDriver::new(&description, inputs, outputs);
    let mut memory = RunMemory::new(frames, storage);
    run(&mut reader, &mut driver, &mut memory, &mut |_| true).expect("the run succeeds");
    let [first, second]: [Vec<Option<Table>>; 2] = driver
        .into_outputs()
        .into_iter()
        .map(Outputs::into_tables)
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|_| panic!("two parties"));
    let either = |(first, second): (Option<Table>, Option<Table>)| first.or(second);
    first.into_iter().zip(second).map(|pair| either(pair).expect("someone learns it")).collect()
}
