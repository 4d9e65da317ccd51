//! [`SharingCosts`]: costs of a protocol's operations in each sharing, for the choice of sharings.

use crate::instruction::Instruction;

/// Costs of an instruction in the sharing of its element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// Rounds until it is done.
    pub rounds: u32,
    /// Picoseconds to compute it and to send what it sends, preprocessing included.
    pub work_ps: u64,
}

/// Costs of instructions in each sharing, as a protocol has them on a network. The same for all parties: whole numbers.
pub trait SharingCosts {
    /// The costs of an instruction that has a sharing and can be computed in it. Conversions and inputs are instructions,
    /// too.
    fn cost(&mut self, instruction: &Instruction) -> StepCost;

    /// Picoseconds that a round takes.
    fn round_ps(&self) -> u64;
}
