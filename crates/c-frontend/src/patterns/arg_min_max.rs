//! Arg-min and arg-max: the best value so far by a comparison, with the values that belong to it.

use crate::ir::compare::{negated, swapped};
use crate::ir::{Binary, Compare, IrInstruction, IrOperand, OperationKind, Phi};
use crate::patterns::definitions::{
    Definitions, RegisterDefinition, is, is_same, phi_uses, terminator_uses, uses,
};
use crate::patterns::pattern::{ArgMinMax, Recurrence};

/// Phis that are replaced together where one of them loses a comparison.
pub(super) fn find_arg_min_max(
    definitions: &Definitions<'_>,
    phis: &[Phi],
    latch: u32,
    carried: &[Option<Recurrence>],
    first: usize,
) -> Option<ArgMinMax> {
    let open: Vec<usize> = (0..phis.len()).filter(|at| carried[*at].is_none()).collect();
    let is_open = |operand: IrOperand| open.iter().any(|at| is(operand, phis[*at].result));
    // The comparison: of an open phi with something that depends on none.
    let condition = open.iter().find_map(|at| match definitions.of(phis[*at].from(latch))? {
        RegisterDefinition::Instruction(OperationKind::Select(_, [condition, ..])) => {
            Some(*condition)
        }
        _ => None,
    })?;
    let RegisterDefinition::Instruction(OperationKind::Compare(compare, width, sides)) =
        definitions.of(condition)?
    else {
        return None;
    };
    let (compare, challenger, best) = match (is_open(sides[0]), is_open(sides[1])) {
        (false, true) => (*compare, sides[0], sides[1]),
        (true, false) => (swapped(*compare), sides[1], sides[0]),
        _ => return None,
    };
    let IrOperand::Register(condition_register) = condition else { return None };
    let key = open.iter().copied().find(|at| is(best, phis[*at].result))?;
    let (mut members, mut skipped) = (Vec::new(), vec![condition_register]);
    let mut polarity: Option<bool> = None;
    let mut best_of = None;
    for &at in &open {
        let IrOperand::Register(chosen) = phis[at].from(latch) else { return None };
        let new = match definitions.of(phis[at].from(latch))? {
            RegisterDefinition::Instruction(OperationKind::Select(_, [c, a, b]))
                if is(*c, condition_register) =>
            {
                let (own, new) = match (is(*a, phis[at].result), is(*b, phis[at].result)) {
                    (false, true) => (true, *a),
                    (true, false) => (false, *b),
                    _ => return None,
                };
                if polarity.is_some_and(|known| known != own) {
                    return None;
                }
                polarity = Some(own);
                new
            }
            RegisterDefinition::Instruction(OperationKind::Binary(op, _, [a, b])) if at == key => {
                best_of = Some(*op);
                match (is(*a, phis[at].result), is(*b, phis[at].result)) {
                    (true, false) => *b,
                    (false, true) => *a,
                    _ => return None,
                }
            }
            _ => return None,
        };
        if is_open(new) {
            return None;
        }
        members.push((at, new));
        skipped.push(chosen);
    }
    let compare = if polarity? { compare } else { negated(compare) };
    if matches!(compare, Compare::Eq | Compare::Ne)
        || best_of.is_some_and(|op| !is_best_of(op, compare))
    {
        return None;
    }
    let at_key = members.iter().find(|(at, _)| *at == key)?;
    if !is_same(at_key.1, challenger) || !open.contains(&first) {
        return None;
    }
    is_closed(definitions, phis, latch, &open, &skipped).then_some(ArgMinMax {
        compare,
        width: *width,
        members,
        key,
        skipped,
    })
}

/// Whether nothing else uses what an arg-min or arg-max decides.
fn is_closed(
    definitions: &Definitions<'_>,
    phis: &[Phi],
    latch: u32,
    open: &[usize],
    skipped: &[u32],
) -> bool {
    let members_only = open.iter().all(|at| only_used_by(definitions, phis[*at].result, skipped));
    let unused = skipped.iter().all(|register| {
        let is_next = phis.iter().any(|phi| is(phi.from(latch), *register));
        let allowed: Vec<u32> = if is_next { vec![] } else { skipped.to_vec() };
        only_used_by(definitions, *register, &allowed)
    });
    let is_hidden = |register: u32, next| !definitions.is_used_after(register, next);
    let no_next = IrOperand::Register(u32::MAX);
    let inner = skipped.iter().filter(|r| !phis.iter().any(|phi| is(phi.from(latch), **r)));
    members_only
        && unused
        && open.iter().all(|at| is_hidden(phis[*at].result, phis[*at].from(latch)))
        && inner.copied().all(|register| is_hidden(register, no_next))
}

/// Whether the operation keeps what wins by the comparison (ties apart, which are equal).
fn is_best_of(op: Binary, compare: Compare) -> bool {
    match op {
        Binary::UMin => matches!(compare, Compare::Ult | Compare::Ule),
        Binary::UMax => matches!(compare, Compare::Ugt | Compare::Uge),
        Binary::SMin => matches!(compare, Compare::Slt | Compare::Sle),
        Binary::SMax => matches!(compare, Compare::Sgt | Compare::Sge),
        _ => false,
    }
}

/// Whether a register is used by these instructions only, phis of the loop's own header apart.
fn only_used_by(definitions: &Definitions<'_>, register: u32, users: &[u32]) -> bool {
    for (block, code) in definitions.function.blocks.iter().enumerate() {
        if !definitions.inside[block] {
            continue;
        }
        let used = |i: &&IrInstruction| uses(&i.kind, register);
        if code.instructions.iter().filter(used).any(|i| !users.contains(&i.result))
            || (block != definitions.header as usize
                && code.phis.iter().any(|phi| phi_uses(phi, register)))
            || terminator_uses(&code.terminator, register)
        {
            return false;
        }
    }
    true
}
