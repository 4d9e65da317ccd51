//! Loads that are only stored again, and choices.

use std::collections::HashMap;

use crate::ir::{IrBlock, IrInstruction, IrOperand, OperationKind, Type};

/// Which registers are loads that are only stored again, in the block of the load: how clang copies
/// small structures.
pub(super) fn moved(blocks: &[IrBlock], registers: usize) -> Vec<bool> {
    let (mut loaded, mut used) = (vec![None; registers], vec![false; registers]);
    let operand = |used: &mut Vec<bool>, operand: &IrOperand| {
        if let IrOperand::Register(register) = operand {
            used[*register as usize] = true;
        }
    };
    for (block, code) in blocks.iter().enumerate() {
        let phis = code.phis.iter().flat_map(|phi| &phi.incoming);
        phis.for_each(|(_, incoming)| operand(&mut used, incoming));
        code.terminator.operand().iter().for_each(|condition| operand(&mut used, condition));
        for instruction in &code.instructions {
            match &instruction.kind {
                OperationKind::Store(_, [IrOperand::Register(data), place])
                    if loaded[*data as usize] == Some(block) =>
                {
                    operand(&mut used, place);
                }
                kind => kind.operands().iter().for_each(|one| operand(&mut used, one)),
            }
            if let OperationKind::Load(Type::Integer(_), _) = &instruction.kind {
                loaded[instruction.result as usize] = Some(block);
            }
        }
    }
    loaded.iter().zip(used).map(|(loaded, used)| loaded.is_some() && !used).collect()
}

/// The choices between integers, by register.
pub(super) fn choices(blocks: &[IrBlock]) -> HashMap<u32, [IrOperand; 3]> {
    let all = blocks.iter().flat_map(|block| &block.instructions);
    let choice = |instruction: &IrInstruction| match &instruction.kind {
        OperationKind::Select(_, operands) => Some((instruction.result, *operands)),
        _ => None,
    };
    all.filter_map(choice).collect()
}
