//! How fast three parties compute on replicated shares: `rep3_speed [aes|compare|multiply|matrix] [count]`.
//!
//! All parties are threads over an in-process mesh; everything is included: keys, inputs, rounds, outputs.
//! `aes` encrypts as many blocks under as many keys, in values of 32 lanes; `compare` and `multiply` take as many
//! pairs of 32-bit integers, in values of 128 lanes; `matrix` multiplies square matrices with as many rows, at
//! most 1024, of 64-bit integers, in values of 16 rows or columns.

use std::fs::File;
use std::io::Cursor;
use std::thread;
use std::time::Instant;

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op, OutputPort,
    ProgramReader, ProgramWriter, RowOrder, Sharing, Table,
};
use phineus_channels::MemoryChannel;
use phineus_channels::{Parties, memory_mesh};
use phineus_crypto::Prg;
use phineus_engine::{FrameMemory, Inputs, RunMemory, StorageError, peak_resident_bytes, run};
use phineus_plan::{Lookahead, OrderOptions, PlanOptions, order, plan};
use phineus_protocols::mixed::totals;
use phineus_protocols::rep3::{PARTIES, Rep3Costs, Rep3Driver, Rep3Rounds, layout};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Rows and columns of a product of matrices that is one instruction.
const SIDE: u64 = 16;

/// Bytes that instructions in flight may hold.
const HELD_BYTES: u64 = 64 << 20;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let what = arguments.first().map_or("aes", String::as_str);
    let default = if what == "matrix" { 1000 } else { 10_000 };
    let count = arguments.get(1).map_or(Ok(default), |text| text.parse())?;
    let (program, unit, units) = match what {
        "aes" => (pairs(Op::Aes128, 128, count, Sharing::Boolean)?, "AND", 0),
        "compare" => (pairs(Op::Lt, 32, count, Sharing::Boolean)?, "comparison", count),
        "multiply" => (pairs(Op::Mul, 32, count, Sharing::Arithmetic)?, "product", count),
        "matrix" => (matrices(count)?, "multiplication", count * count * count),
        _ => return Err("aes, compare, multiply or matrix".into()),
    };
    let program = planned(&program)?;
    let costs = open(&program)?.description().plan.clone().ok_or("it is planned")?.costs;
    let units = if units == 0 { costs[totals::AND_GATES] } else { units };
    for _ in 0..3 {
        let start = Instant::now();
        let threads = memory_mesh(PARTIES).into_iter().map(|parties| {
            let program = program.clone();
            thread::spawn(move || party(parties, &program))
        });
        let threads: Vec<_> = threads.collect();
        let mut running_s: f64 = 0.0;
        for thread in threads {
            running_s = running_s.max(thread.join().expect("no party panics")?);
        }
        println!(
            "{what} {count}: {:.3} s in all, {running_s:.3} s from the keys on, {:.1} M {unit}s a \
             second, {} rounds, {:.1} MiB sent by party 0, {:.0} MiB of memory at most",
            start.elapsed().as_secs_f64(),
            units as f64 / running_s / 1e6,
            costs[totals::ROUNDS],
            costs[&totals::sent_bytes(0)] as f64 / 1048576.0,
            peak_resident_bytes().unwrap_or(0) as f64 / 1048576.0,
        );
    }
    Ok(())
}

/// One party; returns the seconds of its run.
fn party(parties: Parties<MemoryChannel>, program: &[u8]) -> Result<f64, Failure> {
    let me = parties.me();
    let mut reader = open(program)?;
    let description = reader.description().clone();
    let ports = description.inputs.iter();
    let table = |port: &InputPort| Table::zeros(port.columns.clone(), port.rows);
    let inputs = ports.map(|port| (usize::from(port.party) == me).then(|| table(port)));
    let inputs = Inputs::new(&description, inputs.collect())?;
    let mut memory = memory(program)?;
    let start = Instant::now();
    let mut driver = Rep3Driver::new(parties, &mut Prg::from_os()?, &description, inputs)?;
    run(&mut reader, &mut driver, &mut memory, &mut |_| true)?;
    Ok(start.elapsed().as_secs_f64())
}

fn open(bytes: &[u8]) -> Result<ProgramReader<Cursor<Vec<u8>>>, phineus_bytecode::Error> {
    ProgramReader::open(Cursor::new(bytes.to_vec()))
}

fn memory(planned: &[u8]) -> Result<RunMemory, StorageError> {
    let reader = open(planned).expect("just planned");
    let plan = reader.description().plan.as_ref().expect("just planned");
    let page_bytes = (plan.page_wires * u64::from(plan.layout.unit_bytes)) as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes)?;
    Ok(RunMemory::new(frames, None))
}

fn planned(program: &[u8]) -> Result<Vec<u8>, Failure> {
    let is_large = open(program)?.description().value_wires_max.is_some();
    let order_options = OrderOptions {
        layout: layout(),
        window_units: 1 << 22,
        window_instructions: 1 << 17,
        held_bytes: HELD_BYTES,
        planner_memory_bytes: 512 << 20,
    };
    let mut model = Rep3Rounds::default();
    let ordered = order(&mut open(program)?, Vec::new(), scratch()?, &order_options, &mut model)?;
    let options = PlanOptions {
        protocol: "rep3".to_string(),
        optimisation: Default::default(),
        port_order: phineus_bytecode::PortOrder::Given,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: if is_large { 1 << 8 } else { 1 << 14 },
        layout: layout(),
        page_wires: if is_large { 1 << 14 } else { 4096 },
        computing: None,
        lookahead: Lookahead { time_ns: 0, frames: 2 },
        planner_memory_bytes: 512 << 20,
    };
    let mut costs = Rep3Costs::default();
    Ok(plan(&mut open(&ordered.0)?, Vec::new(), scratch()?, &options, &mut costs)?.0)
}

fn scratch() -> Result<File, Failure> {
    Ok(tempfile::tempfile()?)
}

/// A program that writes its instructions as it is made.
struct Builder {
    writer: ProgramWriter<Vec<u8>>,
    values: u64,
}

impl Builder {
    fn new() -> Result<Builder, Failure> {
        Ok(Builder { writer: ProgramWriter::new(Vec::new(), FileKind::Program)?, values: 0 })
    }

    fn push(&mut self, mut instruction: Instruction) -> Result<u64, Failure> {
        instruction.results[0] = self.values;
        self.values += instruction.result_count() as u64;
        self.writer.push(&instruction)?;
        Ok(self.values - 1)
    }

    /// An input or an output of `value`.
    fn port(
        &mut self,
        op: Op,
        (element, lanes): (ElementType, u32),
        (port, row): (u64, u64),
        value: u64,
    ) -> Result<u64, Failure> {
        let mut instruction = Instruction::new(op, element, lanes);
        instruction.immediates = [port, 0, row, 0];
        instruction.operands[0] = value;
        self.push(instruction)
    }

    /// With inputs of the first two parties, and an output of this width to all.
    fn finish(self, width: u16, rows: u64, result_width: u16) -> Result<Vec<u8>, Failure> {
        let columns = |width| {
            let (name, element) = ("value".to_owned(), ElementType::unsigned(width));
            vec![Column { name, element, encoding: Encoding::Hex }]
        };
        let input = |name: &str, party| InputPort {
            name: name.to_owned(),
            party,
            rows,
            columns: columns(width),
            order: RowOrder::Given,
        };
        let description = Description {
            name: "speed".to_owned(),
            parties: (0..PARTIES).map(|party| format!("party_{party}")).collect(),
            inputs: vec![input("x", 0), input("y", 1)].into(),
            outputs: vec![OutputPort {
                name: "result".to_owned(),
                parties: (0..PARTIES as u16).collect(),
                rows,
                columns: columns(result_width),
                rows_of: None,
            }]
            .into(),
            value_wires_max: (width == 64).then_some(1 << 20),
            ..Description::default()
        };
        Ok(self.writer.finish(&description)?.0)
    }
}

/// `op` of pairs of integers.
fn pairs(op: Op, width: u16, count: u64, sharing: Sharing) -> Result<Vec<u8>, Failure> {
    let element = ElementType::unsigned(width).shared(sharing);
    let lanes = 4096 / u64::from(width);
    let count = count.next_multiple_of(lanes);
    let result_width = Instruction::new(op, element, lanes as u32).result_shape(0).width;
    let result = ElementType::unsigned(result_width).shared(sharing);
    let mut builder = Builder::new()?;
    for row in (0..count).step_by(lanes as usize) {
        let x = builder.port(Op::Input, (element, lanes as u32), (0, row), 0)?;
        let y = builder.port(Op::Input, (element, lanes as u32), (1, row), 0)?;
        let operands = [x, y, 0];
        let z = builder
            .push(Instruction { operands, ..Instruction::new(op, element, lanes as u32) })?;
        builder.port(Op::Output, (result, lanes as u32), (0, row), z)?;
    }
    builder.finish(width, count, result_width)
}

/// A product of square matrices of 64-bit integers: 16 rows of the first times 16 columns of the second, with
/// all of their entries, so that each result is sent once.
fn matrices(count: u64) -> Result<Vec<u8>, Failure> {
    let count = count.next_multiple_of(SIDE);
    let element = ElementType::unsigned(64).shared(Sharing::Arithmetic);
    let mut builder = Builder::new()?;
    let (entries, results) = ((SIDE * count) as u32, (SIDE * SIDE) as u32);
    let mut inputs = [Vec::new(), Vec::new()];
    for (port, values) in (0..).zip(&mut inputs) {
        for row in (0..count * count).step_by(entries as usize) {
            values.push(builder.port(Op::Input, (element, entries), (port, row), 0)?);
        }
    }
    let pairs = inputs[0].iter().flat_map(|x| inputs[1].iter().map(move |y| [*x, *y, 0]));
    for (operands, row) in pairs.zip((0..).step_by(results as usize)) {
        let mut product = Instruction::new(Op::MatMul, element, results);
        (product.immediates, product.operands) = ([count, SIDE, 0, 0], operands);
        let product = builder.push(product)?;
        builder.port(Op::Output, (element, results), (0, row), product)?;
    }
    builder.finish(64, count * count, 64)
}
