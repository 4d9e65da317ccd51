//! Registers that are the least or largest of two integers.

use std::collections::HashMap;

use crate::ir::{Binary, IrBlock, IrInstruction, IrOperand, OperationKind};

/// Registers that are the least or largest of two integers.
pub(crate) type Bounds = HashMap<u32, (Binary, [IrOperand; 2])>;

/// Those of a function.
pub(crate) fn bounds(blocks: &[IrBlock]) -> Bounds {
    let instructions = blocks.iter().flat_map(|block| &block.instructions);
    let bound = |instruction: &IrInstruction| match &instruction.kind {
        OperationKind::Binary(
            op @ (Binary::UMin | Binary::UMax | Binary::SMin | Binary::SMax),
            _,
            sides,
        ) => Some((instruction.result, (*op, *sides))),
        _ => None,
    };
    instructions.filter_map(bound).collect()
}
