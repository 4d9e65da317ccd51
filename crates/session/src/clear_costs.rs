//! What computing in the clear costs: nothing is sent, and time is a guess.

use std::collections::BTreeMap;

use phineus_bytecode::{BlockCosts, CostModel, Description, Instruction};

/// Nanoseconds per wire of an instruction: the clear driver unpacks and packs every bit.
const NS_PER_WIRE: u64 = 4;

/// The cost model of the clear driver.
pub struct ClearCosts;

impl CostModel for ClearCosts {
    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        u64::from(instruction.shape().wires()) * NS_PER_WIRE
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

impl BlockCosts for ClearCosts {
    fn end_block(&mut self) {}

    fn add_block(&mut self, _: &ClearCosts, _: u64) {}
}
