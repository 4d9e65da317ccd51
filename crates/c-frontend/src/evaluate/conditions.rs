//! The parts of a loop's condition: the least of two bounds, conjunctions, addresses.
//!
//! LLVM makes of `i < n && i < secret` a comparison with the least of both, which it computes
//! before the loop: a secret of which nobody sees that `n` ends the loop. So where something public
//! is compared with the least or largest of something public and a secret, it is compared with
//! each.
//!
//! Cost: a comparison for each secret part, as in the program's own words.

use crate::data::{CellValue, is_address};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::ir::compare::swapped;
use crate::ir::module::Function;
use crate::ir::{Binary, Compare, IrOperand, OperationKind, Terminator, Unary};

impl OperationEvaluator {
    /// The comparison of what is public with such a bound, if it is one.
    pub(crate) fn compare_bound(
        &mut self,
        frame: &Frame<'_>,
        op: Compare,
        width: u16,
        [a, b]: [IrOperand; 2],
    ) -> Result<Option<CellValue>, ExecutionStop> {
        for (op, side, bound) in [(op, a, b), (swapped(op), b, a)] {
            let side = frame.get(side);
            if matches!(side, CellValue::Public(_)) && has_public_part(frame, op, bound) {
                return self.compare_parts(frame, op, width, &side, bound).map(Some);
            }
        }
        Ok(None)
    }

    fn compare_parts(
        &mut self,
        frame: &Frame<'_>,
        op: Compare,
        width: u16,
        side: &CellValue,
        bound: IrOperand,
    ) -> Result<CellValue, ExecutionStop> {
        let Some((both, [a, b])) = apart(frame, op, bound) else {
            return self.compare(op, width, side, &frame.get(bound));
        };
        let a = self.compare_parts(frame, op, width, side, a)?;
        let b = self.compare_parts(frame, op, width, side, b)?;
        // What decides alone does so whatever the other one is, also one that is opened.
        let decides = u128::from(both == Binary::Or);
        match (&a, &b) {
            (CellValue::Public(bit), other) | (other, CellValue::Public(bit)) => {
                Ok(if *bit == decides { CellValue::Public(decides) } else { other.clone() })
            }
            _ => self.binary(both, 1, &a, &b),
        }
    }

    /// Whether a branch is by `i < n && secret`, which clang has as one condition: what is public
    /// in it, and changes in the loop, ends the loop some time.
    pub(crate) fn is_partly_public(&self, frame: &Frame<'_>, block: u32, inner: u32) -> bool {
        let inside = &frame.function.shape.loops[inner as usize].contains;
        let changes = |operand: &IrOperand| match operand {
            IrOperand::Register(register) => defined_in(frame.function, *register, inside),
            IrOperand::Constant(_) => false,
        };
        let is_public = |operand| matches!(frame.get(operand), CellValue::Public(_));
        // Whether the loop is left when a bit is another one: in `first || secret` it stays.
        let leaves = |bit| match (frame.get(bit), &frame.function.blocks[block as usize].terminator)
        {
            (CellValue::Public(bit), Terminator::Branch(_, yes, no)) => {
                !inside[if bit == 0 { *yes } else { *no } as usize]
            }
            _ => false,
        };
        self.has_part(frame, block, |whole, kind| match kind {
            Some(&OperationKind::Compare(op, _, [a, b])) => {
                let is_known = is_public(whole)
                    || self.emit.has_most(&frame.get(a), &frame.get(b))
                    || has_public_part(frame, op, b)
                    || has_public_part(frame, swapped(op), a);
                is_known && [a, b].iter().any(changes)
            }
            // Of few iterations LLVM makes a bit of the index, or carries whether there is another
            // one.
            Some(OperationKind::Unary(Unary::Truncate, _, 1, of)) => changes(of) && leaves(whole),
            Some(_) => false,
            None => changes(&whole) && leaves(whole),
        })
    }

    /// Whether a branch is by whether an address is another one, such as null.
    pub(crate) fn follows_addresses(&self, frame: &Frame<'_>, block: u32) -> bool {
        self.has_part(frame, block, |_, kind| match kind {
            Some(OperationKind::Compare(Compare::Eq | Compare::Ne, _, sides)) => {
                sides.iter().any(|side| is_address(&frame.get(*side)))
            }
            _ => false,
        })
    }

    /// Whether the condition of a branch has a part in it that `is_it`, given what it is and what
    /// computes it in that block, if anything does.
    fn has_part(
        &self,
        frame: &Frame<'_>,
        block: u32,
        is_it: impl Fn(IrOperand, Option<&OperationKind>) -> bool,
    ) -> bool {
        let code = &frame.function.blocks[block as usize].instructions;
        let Some(condition) = frame.function.blocks[block as usize].terminator.operand() else {
            return false;
        };
        let mut open = vec![condition];
        while let Some(operand) = open.pop() {
            let IrOperand::Register(register) = operand else { continue };
            let found = code.iter().find(|i| i.result == register).map(|i| &i.kind);
            match found {
                Some(OperationKind::Binary(Binary::And | Binary::Or, 1, sides)) => {
                    open.extend(sides)
                }
                // A `!`; of two conditions the secret one would decide all the same.
                Some(OperationKind::Binary(Binary::Xor, 1, sides))
                    if sides.iter().any(|side| matches!(side, IrOperand::Constant(_))) =>
                {
                    open.extend(sides);
                }
                Some(OperationKind::Freeze(side)) => open.push(*side),
                Some(OperationKind::Select(1, all)) => open.extend(all),
                kind if is_it(operand, kind) => return true,
                _ => {}
            }
        }
        false
    }
}

/// The operation that joins comparisons with the parts of a secret bound to one with the bound.
fn apart(frame: &Frame<'_>, op: Compare, bound: IrOperand) -> Option<(Binary, [IrOperand; 2])> {
    let IrOperand::Register(register) = bound else { return None };
    let bound = &frame.registers[register as usize];
    // Of what is opened the most is known (`emit/opened.rs`).
    if !bound.is_secret() || matches!(bound, CellValue::Opened(_)) {
        return None;
    }
    let (which, sides) = frame.function.bounds.get(&register)?;
    let is_least = matches!(which, Binary::UMin | Binary::SMin);
    let of_signed = matches!(which, Binary::SMin | Binary::SMax);
    let (is_below, is_signed) = match op {
        Compare::Ult | Compare::Ule => (true, false),
        Compare::Ugt | Compare::Uge => (false, false),
        Compare::Slt | Compare::Sle => (true, true),
        Compare::Sgt | Compare::Sge => (false, true),
        Compare::Eq | Compare::Ne => return None,
    };
    let both = if is_least == is_below { Binary::And } else { Binary::Or };
    (of_signed == is_signed).then_some((both, *sides))
}

/// Whether a part of a secret bound is public.
pub(crate) fn has_public_part(frame: &Frame<'_>, op: Compare, bound: IrOperand) -> bool {
    let is_public = |side: &IrOperand| {
        matches!(frame.get(*side), CellValue::Public(_)) || has_public_part(frame, op, *side)
    };
    apart(frame, op, bound).is_some_and(|(_, sides)| sides.iter().any(is_public))
}

/// Whether a register is computed in one of these blocks: what is only loaded may never change.
fn defined_in(function: &Function, register: u32, blocks: &[bool]) -> bool {
    let inside = function.blocks.iter().zip(blocks).filter(|(_, inside)| **inside);
    let mut sets = inside.map(|(code, _)| {
        let phis = code.phis.iter().map(|phi| phi.result);
        let computed =
            code.instructions.iter().filter(|i| !matches!(i.kind, OperationKind::Load(..)));
        phis.chain(computed.map(|i| i.result)).any(|result| result == register)
    });
    sets.any(|sets| sets)
}
