//! A narrowed program never takes more ANDs than the program.

use std::io::Cursor;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_program};
use phineus_bytecode::{FileKind, Instruction, OPS, Op, ProgramReader};
use phineus_engine::bits::{record, template_lanes};
use phineus_plan::{NarrowOptions, Scratch, narrow};

use super::family;

const PROGRAMS: u64 = 1000;

fn instructions(bytes: &[u8]) -> Vec<Instruction> {
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let mut all = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        all.push(*i);
        Ok(())
    };
    reader.for_each(visit).expect("just written");
    all
}

fn and_gates(program: &[Instruction], has_rounds: bool) -> u64 {
    let computed = program.iter().filter(|i| i.op.info().meaning.is_some());
    let ands = |i: &Instruction| {
        let template = record(i, family(has_rounds));
        template.and_count() as u64 * u64::from(template_lanes(i))
    };
    computed.map(ands).sum()
}

#[test]
fn narrowing_adds_no_ands() {
    let mut seeds = Seeds::fresh();
    let all = OPS.iter().map(|info| info.op).filter(|&op| (op as u8) < Op::Aes128 as u8);
    let ops: Vec<Op> = all.filter(|op| !op.is_lane_movement()).collect();
    for number in 0..PROGRAMS {
        let random = &mut SeededRng::new(seeds.draw());
        let options = RandomOptions {
            instruction_count: 40,
            width_max: *random.pick(&[4, 9, 16, 33]),
            wires_max: 64,
            ops: Some(ops.clone()),
            ..RandomOptions::default()
        };
        let (program, description) = random_program(random.next_u64(), &options);
        let bytes = to_bytes(FileKind::Program, &program, &description).expect("in memory");
        for has_rounds in [false, true] {
            let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
            let cost = |i: &Instruction| record(i, family(has_rounds)).and_count() as u64;
            let options = NarrowOptions {
                and_gates: &cost,
                has_rounds,
                gathers_sums: true,
                planner_memory_bytes: 64 << 20,
                state: None,
                written_after_each: &|_| (),
            };
            let mut reader = ProgramReader::open(Cursor::new(&bytes)).expect("just written");
            let made = narrow(&mut reader, Vec::new(), &scratch, options, |_| {});
            let made = made.expect("it can be narrowed").output;
            let after = and_gates(&instructions(&made), has_rounds);
            let before = and_gates(&program, has_rounds);
            assert!(after <= before, "program {number}: {after} ANDs, and {before} before");
        }
    }
}
