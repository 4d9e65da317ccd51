//! Loops whose form allows them to run in lanes: their numbers of iterations, and the values that
//! one iteration passes to the next.
//!
//! A value that a loop carries is a counter (a public start and step), a reduction (every use leads
//! through one associative operation back to it), or an arg-min or arg-max: the best so far by a
//! comparison, with what belongs to it (the least distance and its index). Anything else goes in
//! order.

pub(crate) mod arg_min_max;
pub(crate) mod definitions;
pub(crate) mod pattern;
pub(crate) mod reduction;

use std::collections::HashMap;
use std::rc::Rc;

use crate::ir::module::Function;
use crate::ir::{Binary, IrOperand, OperationKind, Phi, Terminator};
use crate::patterns::arg_min_max::find_arg_min_max;
use crate::patterns::definitions::{Definitions, RegisterDefinition, is};
use crate::patterns::pattern::{IterationStep, LoopCondition, Pattern, Recurrence};
use crate::patterns::reduction::reduction;

/// Patterns of loops by function and loop, and those that could not run in lanes.
#[derive(Default)]
pub(crate) struct LoopPatterns {
    pub(crate) known: HashMap<(u32, u32), Option<Rc<Pattern>>>,
    /// How often a loop was found not to run in lanes.
    pub(crate) refused: HashMap<(u32, u32), u32>,
}

/// The pattern of a loop, if it has one.
pub(crate) fn pattern(function: &Function, index: u32) -> Option<Pattern> {
    let l = &function.shape.loops[index as usize];
    let ([latch], [exit]) = (l.latches.as_slice(), l.exits.as_slice()) else { return None };
    if exit.0 != l.header && exit.0 != *latch {
        return None;
    }
    let leaves_at_latch = exit.0 != l.header;
    let definitions =
        Definitions { function, inside: &l.contains, header: l.header, leaves_at_latch };
    let Terminator::Branch(condition, yes, _) = &function.blocks[exit.0 as usize].terminator else {
        return None;
    };
    let continues_if = *yes != exit.1;
    let Some(RegisterDefinition::Instruction(OperationKind::Compare(compare, width, sides))) =
        definitions.of(*condition)
    else {
        return None;
    };
    let phis = &function.blocks[l.header as usize].phis;
    let mut carried: Vec<Option<Recurrence>> =
        phis.iter().map(|phi| counter(&definitions, phi, *latch)).collect();
    let side = |operand: IrOperand| -> Option<(usize, bool)> {
        phis.iter().zip(&carried).enumerate().find_map(|(at, (phi, carried))| {
            carried.as_ref()?;
            if is(operand, phi.result) {
                return Some((at, false));
            }
            match (operand, phi.from(*latch)) {
                (IrOperand::Register(a), IrOperand::Register(b)) if a == b => Some((at, true)),
                _ => None,
            }
        })
    };
    let is_bound_first = side(sides[0]).is_none();
    let (counted, bound) = if is_bound_first { (sides[1], sides[0]) } else { (sides[0], sides[1]) };
    let (counter, is_stepped) = side(counted)?;
    if !definitions.is_outside(bound) {
        return None;
    }
    let mut arg_min_max = Vec::new();
    for at in 0..phis.len() {
        if carried[at].is_none() {
            carried[at] = reduction(&definitions, &phis[at], *latch);
        }
    }
    for at in 0..phis.len() {
        if carried[at].is_none() {
            let found = find_arg_min_max(&definitions, phis, *latch, &carried, at)?;
            for (member, _) in &found.members {
                carried[*member] = Some(Recurrence::ArgMinMax);
            }
            arg_min_max.push(found);
        }
    }
    Some(Pattern {
        header: l.header,
        exit: *exit,
        latch: *latch,
        carried: carried.into_iter().collect::<Option<Vec<_>>>()?,
        arg_min_max,
        condition: LoopCondition {
            compare: *compare,
            width: *width,
            counter,
            is_stepped,
            bound,
            is_bound_first,
            continues_if,
        },
    })
}

fn counter(definitions: &Definitions<'_>, phi: &Phi, latch: u32) -> Option<Recurrence> {
    let Some(RegisterDefinition::Instruction(kind)) = definitions.of(phi.from(latch)) else {
        return None;
    };
    match kind {
        OperationKind::Binary(Binary::Add, width, [a, b]) => {
            let step = match (is(*a, phi.result), is(*b, phi.result)) {
                (true, false) => *b,
                (false, true) => *a,
                _ => return None,
            };
            let is_public = matches!(step, IrOperand::Constant(_));
            is_public.then_some(Recurrence::Counter(IterationStep::Add(step, *width)))
        }
        OperationKind::Address(base, offset, indices)
            if is(*base, phi.result) && indices.is_empty() =>
        {
            Some(Recurrence::Counter(IterationStep::Bytes(*offset)))
        }
        _ => None,
    }
}
