//! Least and largest of two bounds, taken apart again.
//!
//! LLVM makes of `i < n && i < secret` a comparison with the least of both, which it computes before
//! the loop: a secret of which nobody sees that `n` ends the loop. So where something public is
//! compared with the least or largest of something public and a secret, it is compared with each.
//!
//! Cost: a comparison for each secret part, as in the program's own words.

use std::collections::HashMap;

use crate::data::Data;
use crate::interpreter::{Frame, Machine, Stop};
use crate::ir::{Binary, Block, Compare, Kind, Operand};
use crate::vectoriser::pattern::swapped;

/// Registers that are the least or largest of two integers.
pub(crate) type Bounds = HashMap<u32, (Binary, [Operand; 2])>;

/// Those of a function.
pub(crate) fn bounds(blocks: &[Block]) -> Bounds {
    let instructions = blocks.iter().flat_map(|block| &block.instructions);
    let bound = |instruction: &crate::ir::Instruction| match &instruction.kind {
        Kind::Binary(
            op @ (Binary::UMin | Binary::UMax | Binary::SMin | Binary::SMax),
            _,
            sides,
        ) => Some((instruction.result, (*op, *sides))),
        _ => None,
    };
    instructions.filter_map(bound).collect()
}

impl<'m> Machine<'m> {
    /// The comparison of what is public with such a bound, if it is one.
    pub(crate) fn compare_bound(
        &mut self,
        frame: &Frame<'m>,
        op: Compare,
        width: u16,
        [a, b]: [Operand; 2],
    ) -> Result<Option<Data>, Stop> {
        for (op, side, bound) in [(op, a, b), (swapped(op), b, a)] {
            let side = frame.get(side);
            if matches!(side, Data::Public(_)) && has_public_part(frame, op, bound) {
                return self.compare_parts(frame, op, width, &side, bound).map(Some);
            }
        }
        Ok(None)
    }

    fn compare_parts(
        &mut self,
        frame: &Frame<'m>,
        op: Compare,
        width: u16,
        side: &Data,
        bound: Operand,
    ) -> Result<Data, Stop> {
        let Some((both, [a, b])) = apart(frame, op, bound) else {
            return self.compare(op, width, side, &frame.get(bound));
        };
        let a = self.compare_parts(frame, op, width, side, a)?;
        let b = self.compare_parts(frame, op, width, side, b)?;
        // What decides alone does so whatever the other one is, also one that is opened.
        let decides = u128::from(both == Binary::Or);
        match (&a, &b) {
            (Data::Public(bit), other) | (other, Data::Public(bit)) => {
                Ok(if *bit == decides { Data::Public(decides) } else { other.clone() })
            }
            _ => self.binary(both, 1, &a, &b),
        }
    }
}

/// What makes a comparison with a secret bound of those with its parts.
fn apart(frame: &Frame<'_>, op: Compare, bound: Operand) -> Option<(Binary, [Operand; 2])> {
    let Operand::Register(register) = bound else { return None };
    let bound = &frame.registers[register as usize];
    // Of what is opened the most is known (`opened.rs`).
    if !bound.is_secret() || matches!(bound, Data::Opened(_)) {
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
pub(crate) fn has_public_part(frame: &Frame<'_>, op: Compare, bound: Operand) -> bool {
    let is_public = |side: &Operand| {
        matches!(frame.get(*side), Data::Public(_)) || has_public_part(frame, op, *side)
    };
    apart(frame, op, bound).is_some_and(|(_, sides)| sides.iter().any(is_public))
}
