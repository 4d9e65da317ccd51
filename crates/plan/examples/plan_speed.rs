//! How fast planning is, and how much memory it takes: one-lane additions over a working set that
//! does not fit into memory.
//!
//! `cargo run --release -p phineus-plan --example plan_speed [instructions] [live values]`

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::time::Instant;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{
    CostModel, Description, ElementType, FileKind, Instruction, Op, ProgramReader, ProgramWriter,
};
use phineus_plan::{Lookahead, PlanOptions, plan};

struct Additions;

impl CostModel for Additions {
    fn duration_ns(&mut self, _: &Instruction) -> u64 {
        1000
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

/// A program of `count` additions of 32 bits, each of two of the last `live` values.
fn trace(file: File, count: u64, live: u64) -> Result<(), phineus_bytecode::Error> {
    let mut writer = ProgramWriter::new(BufWriter::new(file), FileKind::Program)?;
    let element = ElementType::unsigned(32);
    for value in 0..live {
        let mut constant = Instruction::new(Op::Constant, element, 1);
        constant.results[0] = value;
        writer.push(&constant)?;
    }
    let mut random = SeededRng::new(1);
    for value in live..count {
        let mut add = Instruction::new(Op::Add, element, 1);
        add.results[0] = value;
        // The oldest living value and, mostly, a young one: a pass over an array.
        let far = random.one_in(64);
        let back = if far { 1 + random.below(live) } else { 1 + random.below(64) };
        add.operands = [value - live, value - back, 0];
        writer.push(&add)?;
    }
    let description = Description { parties: vec!["a".to_string()], ..Description::default() };
    writer.finish(&description).map(|_| ())
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or("unknown".to_string(), |line| line[6..].trim().to_string())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let count = arguments.next().transpose()?.unwrap_or(5_000_000);
    let live = arguments.next().transpose()?.unwrap_or(100_000);
    let file = tempfile::tempfile()?;
    let start = Instant::now();
    trace(file.try_clone()?, count, live)?;
    let traced = start.elapsed();
    let mut program = ProgramReader::open(BufReader::new(file.try_clone()?))?;
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        optimisation: Default::default(),
        port_order: phineus_bytecode::PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        // An eighth of the pages that the living values need: 128 of 32 wires in each.
        frame_count: (live / 128 / 8).max(16),
        computing: None,
        layout: phineus_bytecode::Layout::wires(16),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: 1_000_000, frames: 32 },
        planner_memory_bytes: 256 << 20,
    };
    let output = BufWriter::new(tempfile::tempfile()?);
    let start = Instant::now();
    let (_, figures, written) =
        plan(&mut program, output, tempfile::tempfile()?, &options, &mut Additions)?;
    let planned = start.elapsed();
    let per = |bytes: u64| bytes as f64 / count as f64;
    println!("instructions          {count}, {live} values alive");
    println!(
        "trace                 {:.2} M instructions/s",
        count as f64 / traced.as_secs_f64() / 1e6
    );
    println!(
        "plan                  {:.2} M instructions/s",
        count as f64 / planned.as_secs_f64() / 1e6
    );
    println!("program               {:.1} bytes per instruction", per(file.metadata()?.len()));
    println!("plan                  {:.1} bytes per instruction", per(written.file_bytes));
    println!("swap-ins, swap-outs   {}, {}", figures.swap_in_count, figures.swap_out_count);
    println!("peak memory           {}", peak_memory());
    Ok(())
}
