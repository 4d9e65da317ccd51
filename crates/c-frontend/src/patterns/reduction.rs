//! Values that each iteration adds a part to.

use crate::ir::{Binary, IrOperand, OperationKind, Phi};
use crate::patterns::definitions::{Definitions, is, phi_uses, terminator_uses, uses};
use crate::patterns::pattern::Recurrence;

/// The class of operations that may be reordered with each other.
fn class(op: Binary) -> Option<Binary> {
    match op {
        Binary::Sub => Some(Binary::Add),
        Binary::Add
        | Binary::Mul
        | Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::UMin
        | Binary::UMax
        | Binary::SMin
        | Binary::SMax => Some(op),
        _ => None,
    }
}

/// A phi all of whose uses lead through one operation back to itself, and to no other phi of the
/// header: so each iteration adds a part of its own, whatever those before it added.
pub(super) fn reduction(
    definitions: &Definitions<'_>,
    phi: &Phi,
    latch: u32,
) -> Option<Recurrence> {
    let mut chain = vec![phi.result];
    let mut found: Option<(Binary, u16)> = None;
    let mut at = 0;
    while at < chain.len() {
        let member = chain[at];
        at += 1;
        for (block, code) in definitions.function.blocks.iter().enumerate() {
            if !definitions.inside[block] {
                continue;
            }
            for other in code.phis.iter().filter(|other| phi_uses(other, member)) {
                // Another carried value that takes this one's holds what the iteration before had.
                if block == definitions.header as usize && other.result != phi.result {
                    return None;
                }
                if !chain.contains(&other.result) {
                    chain.push(other.result);
                }
            }
            for instruction in &code.instructions {
                if !uses(&instruction.kind, member) {
                    continue;
                }
                match &instruction.kind {
                    OperationKind::Binary(op, width, [a, b])
                        if is(*a, member) != is(*b, member) =>
                    {
                        let own = class(*op)?;
                        if (*op == Binary::Sub && is(*b, member))
                            || found.is_some_and(|known| known != (own, *width))
                        {
                            return None;
                        }
                        found = Some((own, *width));
                    }
                    OperationKind::Select(_, [condition, ..]) if !is(*condition, member) => {}
                    _ => return None,
                }
                if !chain.contains(&instruction.result) {
                    chain.push(instruction.result);
                }
            }
            if terminator_uses(&code.terminator, member) {
                return None;
            }
        }
    }
    // Whatever is chosen between must all come from the phi, and only once.
    let in_chain = |operand: IrOperand| matches!(operand, IrOperand::Register(index) if chain.contains(&index));
    for (block, code) in definitions.function.blocks.iter().enumerate() {
        if !definitions.inside[block] {
            continue;
        }
        for other in code.phis.iter().filter(|other| chain.contains(&other.result)) {
            let inner =
                other.incoming.iter().filter(|(from, _)| definitions.inside[*from as usize]);
            if !inner.clone().all(|(_, operand)| in_chain(*operand)) {
                return None;
            }
        }
        for instruction in code.instructions.iter().filter(|i| chain.contains(&i.result)) {
            match &instruction.kind {
                OperationKind::Select(_, [_, a, b]) if !(in_chain(*a) && in_chain(*b)) => {
                    return None;
                }
                OperationKind::Binary(_, _, [a, b]) if in_chain(*a) && in_chain(*b) => return None,
                _ => {}
            }
        }
    }
    let (op, width) = found?;
    let next = phi.from(latch);
    let is_known = in_chain(next) && !chain.iter().any(|m| definitions.is_used_after(*m, next));
    is_known.then_some(Recurrence::Reduction(op, width))
}
