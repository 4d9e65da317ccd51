//! Definitions and uses of registers in a loop.

use crate::ir::module::Function;
use crate::ir::{IrOperand, OperationKind, Phi, Terminator};

/// Which instruction or phi defines each register of a loop.
pub(super) struct Definitions<'f> {
    pub(super) function: &'f Function,
    pub(super) inside: &'f [bool],
    pub(super) header: u32,
    /// The exit is at the end of an iteration, after which the header does not run again.
    pub(super) leaves_at_latch: bool,
}

pub(super) enum RegisterDefinition<'f> {
    Instruction(&'f OperationKind),
    Phi,
}

impl<'f> Definitions<'f> {
    pub(super) fn of(&self, operand: IrOperand) -> Option<RegisterDefinition<'f>> {
        let IrOperand::Register(register) = operand else { return None };
        for (block, _) in self.inside.iter().enumerate().filter(|(_, inside)| **inside) {
            let code = &self.function.blocks[block];
            if code.phis.iter().any(|phi| phi.result == register) {
                return Some(RegisterDefinition::Phi);
            }
            if let Some(found) = code.instructions.iter().find(|i| i.result == register) {
                return Some(RegisterDefinition::Instruction(&found.kind));
            }
        }
        None
    }

    pub(super) fn is_outside(&self, operand: IrOperand) -> bool {
        self.of(operand).is_none()
    }

    /// Whether what a register is in the last iteration, which lanes do not know, is used
    /// afterwards; `next` is known: the value that the iteration leaves to the next.
    pub(super) fn is_used_after(&self, register: u32, next: IrOperand) -> bool {
        let blocks = self.function.blocks.iter().zip(self.inside);
        let mut outside = blocks.filter(|(_, inside)| !**inside).map(|(code, _)| code);
        self.leaves_at_latch
            && !is(next, register)
            && outside.any(|code| {
                code.phis.iter().any(|phi| phi_uses(phi, register))
                    || code.instructions.iter().any(|i| uses(&i.kind, register))
                    || terminator_uses(&code.terminator, register)
            })
    }
}

pub(super) fn is(operand: IrOperand, register: u32) -> bool {
    matches!(operand, IrOperand::Register(index) if index == register)
}

pub(super) fn is_same(a: IrOperand, b: IrOperand) -> bool {
    match (a, b) {
        (IrOperand::Register(a), IrOperand::Register(b)) => a == b,
        (IrOperand::Constant(a), IrOperand::Constant(b)) => a == b,
        _ => false,
    }
}

pub(super) fn terminator_uses(terminator: &Terminator, register: u32) -> bool {
    terminator.operand().is_some_and(|operand| is(operand, register))
}

/// Whether the register comes in on one of a phi's edges.
pub(super) fn phi_uses(phi: &Phi, register: u32) -> bool {
    phi.incoming.iter().any(|(_, operand)| is(*operand, register))
}

/// Whether an instruction has the register as an operand.
pub(super) fn uses(kind: &OperationKind, register: u32) -> bool {
    kind.operands().iter().any(|operand| is(*operand, register))
}
