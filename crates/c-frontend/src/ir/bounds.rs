//! Registers that are the least or largest of two integers.

use std::collections::HashMap;

use crate::ir::{Binary, Block, Instruction, Kind, Operand};

/// Registers that are the least or largest of two integers.
pub(crate) type Bounds = HashMap<u32, (Binary, [Operand; 2])>;

/// Those of a function.
pub(crate) fn bounds(blocks: &[Block]) -> Bounds {
    let instructions = blocks.iter().flat_map(|block| &block.instructions);
    let bound = |instruction: &Instruction| match &instruction.kind {
        Kind::Binary(
            op @ (Binary::UMin | Binary::UMax | Binary::SMin | Binary::SMax),
            _,
            sides,
        ) => Some((instruction.result, (*op, *sides))),
        _ => None,
    };
    instructions.filter_map(bound).collect()
}
