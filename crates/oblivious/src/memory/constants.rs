//! [`Constants`]: values of a block that follow from its constants alone.

use std::collections::HashMap;

use phineus_bytecode::{Instruction, Lanes, Op};

/// Returns whether the results of an operation are constants if its operands are: it moves bits, or has no operands.
pub(super) fn keeps_constants(op: Op) -> bool {
    matches!(op, Op::Constant | Op::Convert) || op.is_movement()
}

/// The lanes of such values, by name.
#[derive(Default)]
pub(super) struct Constants(HashMap<u64, Lanes>);

impl Constants {
    /// Takes note of the results of an instruction.
    pub(super) fn step(&mut self, instruction: &Instruction) {
        if !keeps_constants(instruction.op) {
            return;
        }
        let operands = instruction.operands().iter().map(|name| self.0.get(name).cloned());
        let Some(operands) = operands.collect::<Option<Vec<Lanes>>>() else { return };
        let meaning = instruction.op.info().meaning.expect("what moves bits has a meaning");
        let names = instruction.results().iter().copied();
        self.0.extend(names.zip(meaning(instruction, &operands)));
    }

    /// The lanes of a value, if it is a constant.
    pub(super) fn lanes(&self, name: u64) -> Option<&Lanes> {
        self.0.get(&name)
    }

    /// Forgets all of a block.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
