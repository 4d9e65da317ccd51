//! Liveness of registers: control flow at run time carries only live ones.
//!
//! Source: Aho, Lam, Sethi, Ullman, "Compilers", 2nd edition, section 9.2.5, Figure 9.16.

use crate::ir::IrOperand;
use crate::ir::module::Function;

/// For each block, whether each register is needed once the block's phis have their values.
pub(crate) fn live(function: &Function) -> Vec<Vec<bool>> {
    let registers = function.registers as usize;
    let mut live = vec![vec![false; registers]; function.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..function.blocks.len()).rev() {
            let now = before(function, block, &live);
            if now != live[block] {
                live[block] = now;
                changed = true;
            }
        }
    }
    live
}

fn before(function: &Function, block: usize, live: &[Vec<bool>]) -> Vec<bool> {
    let code = &function.blocks[block];
    let mut needed = vec![false; function.registers as usize];
    for next in code.terminator.successors() {
        let phis = &function.blocks[next as usize].phis;
        let mut own = live[next as usize].clone();
        phis.iter().for_each(|phi| own[phi.result as usize] = false);
        needed.iter_mut().zip(own).for_each(|(all, own)| *all |= own);
        phis.iter().for_each(|phi| mark(&mut needed, phi.from(block as u32)));
    }
    code.terminator.operand().into_iter().for_each(|operand| mark(&mut needed, operand));
    for instruction in code.instructions.iter().rev() {
        if let Some(result) = needed.get_mut(instruction.result as usize) {
            *result = false;
        }
        instruction.kind.operands().into_iter().for_each(|operand| mark(&mut needed, operand));
    }
    needed
}

fn mark(needed: &mut [bool], operand: IrOperand) {
    if let IrOperand::Register(register) = operand {
        needed[register as usize] = true;
    }
}
