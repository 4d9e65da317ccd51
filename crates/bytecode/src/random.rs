//! Random programs: every operation, every shape, many patterns of lifetimes, from a seed.
//!
//! Planner, engine and protocols are tested against these programs. Shapes and immediates are
//! drawn and then held against the op table (roles and rule), so a new operation is covered as
//! soon as it stands there. Same seed and options, same program.
//!
//! One value is often several operands of an instruction, and values at the boundaries of their types are
//! frequent. Seeds are fresh in each run of a test, and printed where it fails ([`Seeds`]): a fixed seed
//! tests the same programs for ever.

mod generator;
mod rng;
mod seeds;
mod sharings;
mod unbounded;

pub use rng::SeededRng;
pub use seeds::Seeds;
pub use sharings::with_sharings;
pub use unbounded::plan_unbounded;

use crate::description::{Description, InputPort};
use crate::instruction::Instruction;
use crate::limits::{LARGE_VALUE_WIRES_MAX, WIDTH_MAX};
use crate::meaning::Lane;
use crate::ops::{OPS, Op};
use crate::table::Table;
use generator::ProgramGenerator;

/// Bounds on a random program.
#[derive(Clone, Debug)]
pub struct RandomOptions {
    /// Instructions before the last outputs; with those the program is a little longer.
    pub instruction_count: usize,
    /// The widest value.
    pub width_max: u16,
    /// The largest value, in wires; below 1408 the AES operations with round keys cannot occur.
    pub wires_max: u32,
    /// The operations to draw from, or all of them; input and output always occur.
    pub ops: Option<Vec<Op>>,
    /// How many parties bring input; each output goes to one of them or to all.
    pub party_count: u16,
    /// How many values can still be used at any point: small for short lives, large for long ones.
    pub live_max: usize,
}

impl Default for RandomOptions {
    fn default() -> RandomOptions {
        RandomOptions {
            instruction_count: 200,
            width_max: WIDTH_MAX,
            wires_max: 2048,
            ops: None,
            party_count: 2,
            live_max: 48,
        }
    }
}

/// A valid program and its description: the same for the same seed and options.
///
/// Every value is defined before its use, every output cell is written once. Operations that
/// no allowed shape satisfies do not occur (AES and SHA-256 need 128 and 256 bits).
///
/// # Panics
/// If an option is 0 or above its limit.
pub fn random_program(seed: u64, options: &RandomOptions) -> (Vec<Instruction>, Description) {
    assert!((1..=WIDTH_MAX).contains(&options.width_max), "width_max is 1 to 256");
    let wires = 1..=LARGE_VALUE_WIRES_MAX;
    assert!(wires.contains(&options.wires_max), "wires_max is 1 to {}", wires.end());
    assert!(options.live_max > 0 && options.party_count > 0, "some value, some party");
    let ops: Vec<Op> = OPS
        .iter()
        .map(|info| info.op)
        .filter(|&op| !op.is_directive() && !op.is_carrying() && !op.is_about_state())
        .filter(|&op| op != Op::Output && op != Op::Round && op != Op::RequireZero)
        .filter(|op| options.ops.as_ref().is_none_or(|ops| ops.contains(op)))
        .collect();
    let mut maker = ProgramGenerator::new(seed, options);
    while maker.instructions.len() < options.instruction_count {
        if ops.is_empty() || maker.random.one_in(24) {
            maker.output_something();
        } else {
            let op = *maker.random.pick(&ops);
            maker.add_op(op);
        }
    }
    maker.finish(seed)
}

/// One random table for each input port of `description`.
pub fn random_inputs(seed: u64, description: &Description) -> Vec<Table> {
    let mut random = SeededRng::new(seed ^ 0x7461_626c_6573);
    let fill = |port: &InputPort| {
        let mut table = Table::new(port.columns.clone());
        for _ in 0..port.rows {
            let row: Vec<Lane> =
                port.columns.iter().map(|column| random.lane(column.element.width())).collect();
            table.push(&row);
        }
        table
    };
    description.inputs.iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_op_occurs_and_the_seed_decides() {
        let options = RandomOptions { instruction_count: 3000, ..RandomOptions::default() };
        let (program, description) = random_program(1, &options);
        assert_eq!(description.faults(), Vec::<String>::new());
        assert_eq!(random_program(1, &options), (program.clone(), description));
        assert_ne!(random_program(2, &options).0, program);
        let seen: BTreeSet<Op> = program.iter().map(|i| i.op).collect();
        let made = |op: Op| {
            let is_planned = op.is_directive() || matches!(op, Op::Round | Op::RequireZero);
            !is_planned && !op.is_carrying() && !op.is_about_state()
        };
        for info in OPS.iter().filter(|info| made(info.op)) {
            assert!(seen.contains(&info.op), "{} never occurs", info.name);
        }
        let inputs = program.iter().filter(|i| i.op == Op::Input).count();
        assert!(inputs * 2 < program.len(), "{inputs} of {} are inputs", program.len());
    }

    #[test]
    fn one_value_is_often_several_operands() {
        let mut seeds = Seeds::fresh();
        let options = RandomOptions { instruction_count: 10_000, ..RandomOptions::default() };
        let (program, _) = random_program(seeds.draw(), &options);
        let has_twice = |i: &&Instruction| {
            let names = i.operands();
            (1..names.len()).any(|k| names[..k].contains(&names[k]))
        };
        let repeated: BTreeSet<Op> = program.iter().filter(has_twice).map(|i| i.op).collect();
        for op in [Op::Add, Op::Sub, Op::Mul, Op::MatMul, Op::Lt, Op::Min, Op::Mux] {
            assert!(repeated.contains(&op), "{} never has one value twice", op.info().name);
        }
    }

    #[test]
    fn options_hold() {
        let ops = vec![Op::Add, Op::Mux, Op::Lt];
        let options = RandomOptions {
            ops: Some(ops.clone()),
            width_max: 9,
            wires_max: 20,
            party_count: 3,
            live_max: 2,
            instruction_count: 300,
        };
        let (program, description) = random_program(7, &options);
        assert_eq!(description.parties.len(), 3);
        for i in &program {
            assert!(ops.contains(&i.op) || i.op == Op::Input || i.op == Op::Output);
            assert!(i.element.width() <= 9 && i.shape().wires() <= 20);
        }
    }
}
