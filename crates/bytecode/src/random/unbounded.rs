//! [`plan_unbounded`]: a plan without a planner.

use std::collections::BTreeMap;

use crate::description::{Description, PlanDescription};
use crate::instruction::Instruction;
use crate::limits::VALUE_WIRES_MAX;

/// The plainest plan: each live value has a frame of its own, and nothing is swapped.
///
/// For tests that need some planned program; its figures state no costs.
pub fn plan_unbounded(
    instructions: &[Instruction],
    description: &Description,
) -> (Vec<Instruction>, Description) {
    let page_wires = u64::from(VALUE_WIRES_MAX);
    let mut last_uses = BTreeMap::new();
    for (number, instruction) in instructions.iter().enumerate() {
        let values = instruction.results().iter().chain(instruction.operands());
        last_uses.extend(values.map(|&value| (value, number)));
    }
    let (mut free, mut frame_count) = (Vec::new(), 0);
    let mut frames = BTreeMap::new();
    let mut planned = Vec::with_capacity(instructions.len());
    for (number, instruction) in instructions.iter().enumerate() {
        let mut placed = *instruction;
        for (k, &value) in instruction.results().iter().enumerate() {
            let frame = free.pop().unwrap_or_else(|| {
                frame_count += 1;
                frame_count - 1
            });
            frames.insert(value, frame);
            placed.results[k] = frame * page_wires;
        }
        for (k, value) in instruction.operands().iter().enumerate() {
            placed.operands[k] = frames[value] * page_wires;
        }
        for value in instruction.results().iter().chain(instruction.operands()) {
            if last_uses[value] == number {
                free.extend(frames.remove(value));
            }
        }
        planned.push(placed);
    }
    let plan = PlanDescription {
        page_wires,
        frame_count,
        spill_slot_count: 1,
        unbounded_page_count: frame_count,
        instruction_count: instructions.len() as u64,
        ..PlanDescription::default()
    };
    (planned, Description { plan: Some(plan), ..description.clone() })
}
