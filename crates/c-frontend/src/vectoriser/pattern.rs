//! Which loops may run in lanes, as far as their shape tells: how many iterations there are, and
//! what one iteration leaves to the next.
//!
//! A value that a loop carries is a counter (a public start and step), a reduction (every use leads
//! through one associative operation back to it), or a contest: the best so far by a comparison,
//! with what belongs to it (the least distance and its index). Anything else goes in order.

use crate::ir::{Binary, Compare, Function, Kind, Operand, Phi, Terminator};

/// What becomes of a value from one iteration to the next.
#[derive(Clone, Debug)]
pub(crate) enum Carried {
    /// Adds this: an operand from outside the loop, or bytes to an address.
    Counter(Step),
    /// All iterations' parts together by the operation.
    Reduction(Binary, u16),
    /// Belongs to a contest.
    Contest,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Add(Operand, u16),
    Bytes(i64),
}

/// The challenger replaces the best so far where it compares so with it.
#[derive(Clone, Debug)]
pub(crate) struct Contest {
    pub(crate) compare: Compare,
    pub(crate) width: u16,
    /// Phis of the loop's header: each with the challenger's register or constant.
    pub(crate) members: Vec<(usize, Operand)>,
    /// Which member is compared.
    pub(crate) key: usize,
    /// Registers that are not computed: the comparison and the choices.
    pub(crate) skipped: Vec<u32>,
}

/// A loop that may run in lanes.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) header: u32,
    /// The block with the way out, and where that leads.
    pub(crate) exit: (u32, u32),
    pub(crate) latch: u32,
    pub(crate) carried: Vec<Carried>,
    pub(crate) contests: Vec<Contest>,
    /// The comparison that decides whether there is another iteration: of this counter's value
    /// (after its step or before) with an operand from outside.
    pub(crate) compare: Compare,
    pub(crate) width: u16,
    pub(crate) counter: usize,
    pub(crate) is_stepped: bool,
    pub(crate) bound: Operand,
    pub(crate) is_bound_first: bool,
    /// Whether it goes on where the comparison holds.
    pub(crate) continues_if: bool,
}

/// Which instruction or phi defines each register of a loop.
struct Definitions<'f> {
    function: &'f Function,
    inside: &'f [bool],
    header: u32,
    /// The way out is at the end of an iteration, after which the header does not run again.
    leaves_at_latch: bool,
}

enum Definition<'f> {
    Instruction(&'f Kind),
    Phi,
}

impl<'f> Definitions<'f> {
    fn of(&self, operand: Operand) -> Option<Definition<'f>> {
        let Operand::Register(register) = operand else { return None };
        for (block, _) in self.inside.iter().enumerate().filter(|(_, inside)| **inside) {
            let code = &self.function.blocks[block];
            if code.phis.iter().any(|phi| phi.result == register) {
                return Some(Definition::Phi);
            }
            if let Some(found) = code.instructions.iter().find(|i| i.result == register) {
                return Some(Definition::Instruction(&found.kind));
            }
        }
        None
    }

    fn is_outside(&self, operand: Operand) -> bool {
        self.of(operand).is_none()
    }

    /// Whether what a register is in the last iteration, which lanes do not know, is used afterwards;
    /// `next` is known: the value that the iteration leaves to the next.
    fn is_used_after(&self, register: u32, next: Operand) -> bool {
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

fn is(operand: Operand, register: u32) -> bool {
    matches!(operand, Operand::Register(index) if index == register)
}

fn is_same(a: Operand, b: Operand) -> bool {
    match (a, b) {
        (Operand::Register(a), Operand::Register(b)) => a == b,
        (Operand::Constant(a), Operand::Constant(b)) => a == b,
        _ => false,
    }
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
    let Some(Definition::Instruction(Kind::Compare(compare, width, sides))) =
        definitions.of(*condition)
    else {
        return None;
    };
    let phis = &function.blocks[l.header as usize].phis;
    let mut carried: Vec<Option<Carried>> =
        phis.iter().map(|phi| counter(&definitions, phi, *latch)).collect();
    let side = |operand: Operand| -> Option<(usize, bool)> {
        phis.iter().zip(&carried).enumerate().find_map(|(at, (phi, carried))| {
            carried.as_ref()?;
            if is(operand, phi.result) {
                return Some((at, false));
            }
            match (operand, phi.from(*latch)) {
                (Operand::Register(a), Operand::Register(b)) if a == b => Some((at, true)),
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
    let mut contests = Vec::new();
    for at in 0..phis.len() {
        if carried[at].is_none() {
            carried[at] = reduction(&definitions, &phis[at], *latch);
        }
    }
    for at in 0..phis.len() {
        if carried[at].is_none() {
            let contest = contest(&definitions, phis, *latch, &carried, at)?;
            for (member, _) in &contest.members {
                carried[*member] = Some(Carried::Contest);
            }
            contests.push(contest);
        }
    }
    Some(Pattern {
        header: l.header,
        exit: *exit,
        latch: *latch,
        carried: carried.into_iter().collect::<Option<Vec<_>>>()?,
        contests,
        compare: *compare,
        width: *width,
        counter,
        is_stepped,
        bound,
        is_bound_first,
        continues_if,
    })
}

fn counter(definitions: &Definitions<'_>, phi: &Phi, latch: u32) -> Option<Carried> {
    let Some(Definition::Instruction(kind)) = definitions.of(phi.from(latch)) else { return None };
    match kind {
        Kind::Binary(Binary::Add, width, [a, b]) => {
            let step = match (is(*a, phi.result), is(*b, phi.result)) {
                (true, false) => *b,
                (false, true) => *a,
                _ => return None,
            };
            let is_public = matches!(step, Operand::Constant(_));
            is_public.then_some(Carried::Counter(Step::Add(step, *width)))
        }
        Kind::Address(base, offset, indices) if is(*base, phi.result) && indices.is_empty() => {
            Some(Carried::Counter(Step::Bytes(*offset)))
        }
        _ => None,
    }
}

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
fn reduction(definitions: &Definitions<'_>, phi: &Phi, latch: u32) -> Option<Carried> {
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
                    Kind::Binary(op, width, [a, b]) if is(*a, member) != is(*b, member) => {
                        let own = class(*op)?;
                        if (*op == Binary::Sub && is(*b, member))
                            || found.is_some_and(|known| known != (own, *width))
                        {
                            return None;
                        }
                        found = Some((own, *width));
                    }
                    Kind::Select(_, [condition, ..]) if !is(*condition, member) => {}
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
    let in_chain =
        |operand: Operand| matches!(operand, Operand::Register(index) if chain.contains(&index));
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
                Kind::Select(_, [_, a, b]) if !(in_chain(*a) && in_chain(*b)) => return None,
                Kind::Binary(_, _, [a, b]) if in_chain(*a) && in_chain(*b) => return None,
                _ => {}
            }
        }
    }
    let (op, width) = found?;
    let next = phi.from(latch);
    let is_known = in_chain(next) && !chain.iter().any(|m| definitions.is_used_after(*m, next));
    is_known.then_some(Carried::Reduction(op, width))
}

/// Phis that are replaced together where one of them loses a comparison.
fn contest(
    definitions: &Definitions<'_>,
    phis: &[Phi],
    latch: u32,
    carried: &[Option<Carried>],
    first: usize,
) -> Option<Contest> {
    let open: Vec<usize> = (0..phis.len()).filter(|at| carried[*at].is_none()).collect();
    let is_open = |operand: Operand| open.iter().any(|at| is(operand, phis[*at].result));
    // The comparison: of an open phi with something that depends on none.
    let condition = open.iter().find_map(|at| match definitions.of(phis[*at].from(latch))? {
        Definition::Instruction(Kind::Select(_, [condition, ..])) => Some(*condition),
        _ => None,
    })?;
    let Definition::Instruction(Kind::Compare(compare, width, sides)) =
        definitions.of(condition)?
    else {
        return None;
    };
    let (compare, challenger, best) = match (is_open(sides[0]), is_open(sides[1])) {
        (false, true) => (*compare, sides[0], sides[1]),
        (true, false) => (swapped(*compare), sides[1], sides[0]),
        _ => return None,
    };
    let Operand::Register(condition_register) = condition else { return None };
    let key = open.iter().copied().find(|at| is(best, phis[*at].result))?;
    let (mut members, mut skipped) = (Vec::new(), vec![condition_register]);
    let mut polarity: Option<bool> = None;
    let mut best_of = None;
    for &at in &open {
        let Operand::Register(chosen) = phis[at].from(latch) else { return None };
        let new = match definitions.of(phis[at].from(latch))? {
            Definition::Instruction(Kind::Select(_, [c, a, b])) if is(*c, condition_register) => {
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
            Definition::Instruction(Kind::Binary(op, _, [a, b])) if at == key => {
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
    is_closed(definitions, phis, latch, &open, &skipped).then_some(Contest {
        compare,
        width: *width,
        members,
        key,
        skipped,
    })
}

/// Whether nothing else uses what a contest decides.
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
    let no_next = Operand::Register(u32::MAX);
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
        let used = |i: &&crate::ir::Instruction| uses(&i.kind, register);
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

fn terminator_uses(terminator: &Terminator, register: u32) -> bool {
    terminator.operand().is_some_and(|operand| is(operand, register))
}

/// Whether the register comes in on one of a phi's edges.
fn phi_uses(phi: &Phi, register: u32) -> bool {
    phi.incoming.iter().any(|(_, operand)| is(*operand, register))
}

/// Whether an instruction has the register as an operand.
fn uses(kind: &Kind, register: u32) -> bool {
    kind.operands().iter().any(|operand| is(*operand, register))
}

/// The comparison with its sides exchanged.
pub(crate) fn swapped(compare: Compare) -> Compare {
    match compare {
        Compare::Ult => Compare::Ugt,
        Compare::Ule => Compare::Uge,
        Compare::Ugt => Compare::Ult,
        Compare::Uge => Compare::Ule,
        Compare::Slt => Compare::Sgt,
        Compare::Sle => Compare::Sge,
        Compare::Sgt => Compare::Slt,
        Compare::Sge => Compare::Sle,
        equal => equal,
    }
}

/// The comparison that holds where this does not.
fn negated(compare: Compare) -> Compare {
    match compare {
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
        Compare::Ult => Compare::Uge,
        Compare::Ule => Compare::Ugt,
        Compare::Ugt => Compare::Ule,
        Compare::Uge => Compare::Ult,
        Compare::Slt => Compare::Sge,
        Compare::Sle => Compare::Sgt,
        Compare::Sgt => Compare::Sle,
        Compare::Sge => Compare::Slt,
    }
}
