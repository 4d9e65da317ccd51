//! [`CostModel`]: costs of a protocol's operations, for the planner.

use std::collections::BTreeMap;

use crate::description::Description;
use crate::instruction::Instruction;
use crate::settings::Settings;

/// Costs of the operations of a protocol.
///
/// The planner does not depend on protocols; the crate of a protocol implements this trait.
pub trait CostModel {
    /// Predicted nanoseconds of computation for `instruction`.
    fn duration_ns(&mut self, instruction: &Instruction) -> u64;

    /// Adds `instruction` to the exact totals.
    fn count(&mut self, instruction: &Instruction, description: &Description);

    /// Adds `instruction` to the exact totals and returns its predicted duration, for models that
    /// compute both together.
    fn count_and_predict(&mut self, instruction: &Instruction, description: &Description) -> u64 {
        self.count(instruction, description);
        self.duration_ns(instruction)
    }

    /// The exact totals, by name: `and_gates`, `sent_bytes_0`, and so on.
    fn totals(&self, description: &Description) -> BTreeMap<String, u64>;

    /// Settings of the plan that a run must follow (`PlanDescription::settings`); empty if the
    /// protocol has none.
    fn settings(&self) -> Settings {
        Settings::default()
    }
}

impl<M: CostModel + ?Sized> CostModel for Box<M> {
    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        (**self).duration_ns(instruction)
    }

    fn count(&mut self, instruction: &Instruction, description: &Description) {
        (**self).count(instruction, description);
    }

    fn count_and_predict(&mut self, instruction: &Instruction, description: &Description) -> u64 {
        (**self).count_and_predict(instruction, description)
    }

    fn totals(&self, description: &Description) -> BTreeMap<String, u64> {
        (**self).totals(description)
    }

    fn settings(&self) -> Settings {
        (**self).settings()
    }
}

/// A cost model whose protocol runs programs of several blocks.
pub trait BlockCosts: CostModel + Sized {
    /// Adds the end of a block.
    fn end_block(&mut self);

    /// Adds the counts of another model for a block, `times` times. Costs that arise once in a run
    /// are in neither.
    fn add_block(&mut self, block: &Self, times: u64);
}
