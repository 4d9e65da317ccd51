//! Programs and plans in memory, for the tests of plans.
#![allow(dead_code, reason = "not each test needs all")]

use std::collections::BTreeMap;
use std::io::Cursor;

use phineus_bytecode::{
    CostModel, Description, FileKind, Instruction, PlanDescription, PortOrder, ProgramReader,
    ProgramWriter,
};
use phineus_plan::{Error, Lookahead, PlanOptions, plan};

pub type File = Cursor<Vec<u8>>;

/// A cost model that takes `duration_ns` for every instruction.
pub struct Uniform(pub u64);

impl CostModel for Uniform {
    fn duration_ns(&mut self, _: &Instruction) -> u64 {
        self.0
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

pub fn write(kind: FileKind, instructions: &[Instruction], description: &Description) -> File {
    let mut writer = ProgramWriter::new(Vec::new(), kind).expect("memory does not fail");
    for instruction in instructions {
        writer.push(instruction).expect("memory does not fail");
    }
    let (bytes, _) = writer.finish(description).expect("the description is valid");
    Cursor::new(bytes)
}

pub fn read(file: &File) -> ProgramReader<File> {
    ProgramReader::open(file.clone()).expect("just written")
}

pub fn instructions(file: &File) -> Vec<Instruction> {
    let mut all = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        all.push(*i);
        Ok(())
    };
    read(file).for_each(visit).expect("just written");
    all
}

pub fn options(frame_count: u64, lookahead_frames: u64, lookahead_ns: u64) -> PlanOptions {
    PlanOptions {
        protocol: "test".to_string(),
        optimisation: Default::default(),
        port_order: PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count,
        computing: None,
        layout: phineus_bytecode::Layout::wires(1),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: lookahead_ns, frames: lookahead_frames },
        planner_memory_bytes: 256 << 20,
    }
}

pub fn make_plan(program: &File, options: &PlanOptions) -> Result<(File, PlanDescription), Error> {
    let scratch = tempfile::tempfile().expect("a temporary file");
    let mut costs = Uniform(100);
    let planned = plan(&mut read(program), Vec::new(), scratch, options, &mut costs)?;
    Ok((Cursor::new(planned.0), planned.1))
}
