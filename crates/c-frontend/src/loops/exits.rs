//! Whether a loop ends that a secret may leave.
//!
//! Such a loop runs to its public bound, and what left waits. So it must have one: a condition that
//! is public, or the public part of one, seen often enough between the ways out that secrets
//! decide.
//!
//! A loop without a way out is refused, also where a secret or an opened integer decides whether it
//! is entered, and so is a program that does nothing with secrets for long.
//!
//! What it does not protect against: a public condition that never comes to its end in a loop that
//! computes on secrets.

use crate::access::chosen::is_address;
use crate::compiler::library::{self, is_assertion, is_stop};
use crate::data::Data;
use crate::interpreter::{Frame, Machine, Stop};
use crate::ir::bounds::has_public_part;
use crate::ir::control_flow::{Loop, Shape};
use crate::ir::{Binary, Block, Compare, Function, Kind, Operand, Place, Terminator, Unary};
use crate::vectoriser::pattern::swapped;

/// Ways out of a loop by secrets, one after the other, with none by a public condition between.
const SECRET_EXITS_MAX: u32 = 64;
/// Secret branches within secret branches: a loop that a secret may leave, for each iteration.
const ARMS_MAX: u32 = 1 << 18;
/// Secret branches within secret branches in which a loop goes on that only ends where an address
/// is null, or another one: the nodes of a list. A ring has no end.
const WALKS_MAX: u32 = 256;
/// Steps of a program: a day's work, so that one that never ends is told so.
const STEPS_MAX: u64 = 1 << 40;
/// Steps after which it is looked whether any operation on secrets was recorded meanwhile; if not,
/// the program is taken not to end. They take about half a minute.
const PUBLIC_STEPS_MAX: u64 = 1 << 28;

/// What to do instead of asserting what is not known before the run.
const NO_ASSERTION: &str = "give whether it holds as a result, or leave assertions out with \
                            `#define NDEBUG` before `#include <assert.h>`";

/// What to do instead of ending the program.
pub(crate) const NO_STOP: &str = "give a flag as a result instead of stopping";

impl<'m> Machine<'m> {
    /// Refuses a program that does not end, as far as can be told.
    #[inline]
    pub(crate) fn check_progress(&mut self, place: Place) -> Result<(), Stop> {
        self.check_room()?;
        if self.steps <= self.steps_seen + PUBLIC_STEPS_MAX {
            return Ok(());
        }
        let recorded = self.tracer.instruction_count();
        let is_quiet = recorded == self.recorded_seen;
        (self.steps_seen, self.recorded_seen) = (self.steps, recorded);
        if !is_quiet && self.steps <= STEPS_MAX {
            return Ok(());
        }
        self.place = place;
        let what = match is_quiet {
            true => {
                format!("this has not ended after {PUBLIC_STEPS_MAX} operations on public values")
            }
            false => format!("this has not ended after {STEPS_MAX} operations"),
        };
        self.error(what, "see that the loop comes to its end, or give it a smaller bound")?;
        Err(Stop::Fatal)
    }

    /// Refuses a loop that has no way out.
    pub(crate) fn check_way_out(&mut self, frame: &Frame<'m>, block: u32) -> Result<(), Stop> {
        let shape = &frame.function.shape;
        let Some(index) = shape.header_of[block as usize] else { return Ok(()) };
        let entered = &shape.loops[index as usize];
        if !entered.exits.is_empty() {
            return Ok(());
        }
        let blocks = &frame.function.blocks;
        let place = begins(blocks, entered);
        let mut inside = blocks.iter().zip(&entered.contains).filter(|(_, inside)| **inside);
        if inside.any(|(code, _)| code.assumes) {
            self.place = if place.line > 0 { place } else { self.place };
            let what = "this comes to a place that C says is never reached";
            self.error(what, "see which size leads here, or take __builtin_unreachable() away")?;
        } else {
            self.never_ends(place)?;
        }
        Err(Stop::Fatal)
    }

    /// Refuses a call of a function that is nowhere, or that ends the program.
    pub(crate) fn undefined(&mut self, name: &str) -> Result<Data, Stop> {
        if is_assertion(name) {
            return self.error("this assertion does not hold", "see which size or index breaks it");
        }
        if is_stop(name) {
            return self.error("the program stops here", NO_STOP);
        }
        self.error(format!("the function '{name}' is not defined here"), library::remedy(name))
    }

    fn never_ends(&mut self, place: Place) -> Result<Data, Stop> {
        if place.line > 0 {
            self.place = place;
        }
        let remedy = "a computation has to end: give the loop a condition, a `break` or a `return`";
        self.error("this loop never ends", remedy)
    }

    /// Refuses ways that end the program, or keep it from ending; `decided` says what decides
    /// whether they are taken. A way from which none leads to a return, and which does neither, is
    /// one that is never taken.
    pub(crate) fn check_dead_ends(
        &mut self,
        frame: &Frame<'m>,
        ways: &[(Data, u32)],
        default: u32,
        decided: &str,
    ) -> Result<(), Stop> {
        let (shape, blocks) = (&frame.function.shape, &frame.function.blocks);
        let stops = |kind: &Kind| {
            matches!(kind, Kind::Call(..) | Kind::CallPointer(..) | Kind::Unsupported(..))
        };
        let module = self.module;
        let is_assertion = |kind: &Kind| match kind {
            Kind::Call(called, _) => is_assertion(&module.functions[*called as usize].name),
            _ => false,
        };
        let targets = ways.iter().map(|(_, target)| *target).chain([default]);
        for target in targets.filter(|target| !shape.ends[*target as usize]) {
            let behind = shape.dead_end(blocks, target);
            let mut code = behind.iter().flat_map(|block| &blocks[*block as usize].instructions);
            let place = self.place;
            if let Some(first) = endless(shape, blocks, &behind) {
                self.never_ends(first)?;
                self.place = place;
            } else if let Some(stop) = code.find(|instruction| stops(&instruction.kind)) {
                if is_assertion(&stop.kind) {
                    self.place = stop.place;
                    self.error(format!("whether this assertion holds {decided}"), NO_ASSERTION)?;
                    self.place = place;
                } else {
                    self.error(format!("whether the program stops here {decided}"), NO_STOP)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a loop that only a secret ends.
    pub(crate) fn check_loop(&mut self, frame: &mut Frame<'m>, block: u32) -> Result<bool, Stop> {
        let shape = &frame.function.shape;
        let Some(inner) = shape.inner[block as usize] else { return Ok(true) };
        let exits = &shape.loops[inner as usize].exits;
        if !exits.iter().any(|(from, _)| *from == block) {
            return Ok(true);
        }
        let is_partly_public = self.is_partly_public(frame, block, inner);
        // What walks from address to address comes to its end where there is none left but that.
        let has_other = is_partly_public
            || (self.arms < WALKS_MAX && self.walks(frame, block))
            || exits.iter().any(|(from, _)| *from != block);
        let secret_exits = &mut frame.secret_exits[inner as usize];
        *secret_exits = if is_partly_public { 0 } else { *secret_exits + 1 };
        if has_other && *secret_exits <= SECRET_EXITS_MAX && self.arms < ARMS_MAX {
            return Ok(true);
        }
        // The first of its conditions is where people look for a loop.
        let conditions = exits.iter().filter_map(|(from, _)| {
            let code = &frame.function.blocks[*from as usize];
            let Some(Operand::Register(condition)) = code.terminator.operand() else { return None };
            Some(code.instructions.iter().find(|i| i.result == condition)?.place)
        });
        let first = conditions.filter(|place| place.line > 0).min_by_key(|place| place.line);
        self.place = first.unwrap_or(self.place);
        self.refuse_turns()?;
        Ok(false)
    }

    /// Refuses a loop of which a secret decides how often it runs.
    pub(crate) fn refuse_turns(&mut self) -> Result<Data, Stop> {
        self.error(
            "how often this loop runs depends on a secret",
            "loop up to a public bound, and let an `if` decide what an iteration does",
        )
    }

    /// Whether a branch is by `i < n && secret`, which clang has as one condition: what is public
    /// in it, and changes in the loop, ends the loop some time.
    pub(crate) fn is_partly_public(&self, frame: &Frame<'m>, block: u32, inner: u32) -> bool {
        let inside = &frame.function.shape.loops[inner as usize].contains;
        let changes = |operand: &Operand| match operand {
            Operand::Register(register) => defined_in(frame.function, *register, inside),
            Operand::Constant(_) => false,
        };
        let is_public = |operand| matches!(frame.get(operand), Data::Public(_));
        // Whether the loop is left when a bit is another one: in `first || secret` it stays.
        let leaves = |bit| match (frame.get(bit), &frame.function.blocks[block as usize].terminator)
        {
            (Data::Public(bit), Terminator::Branch(_, yes, no)) => {
                !inside[if bit == 0 { *yes } else { *no } as usize]
            }
            _ => false,
        };
        self.has_part(frame, block, |whole, kind| match kind {
            Some(&Kind::Compare(op, _, [a, b])) => {
                let is_known = is_public(whole)
                    || self.has_most(&frame.get(a), &frame.get(b))
                    || has_public_part(frame, op, b)
                    || has_public_part(frame, swapped(op), a);
                is_known && [a, b].iter().any(changes)
            }
            // Of few turns LLVM makes a bit of the index, or carries whether there is another one.
            Some(Kind::Unary(Unary::Truncate, _, 1, of)) => changes(of) && leaves(whole),
            Some(_) => false,
            None => changes(&whole) && leaves(whole),
        })
    }

    /// Whether a branch is by whether an address is another one, such as null.
    fn walks(&self, frame: &Frame<'m>, block: u32) -> bool {
        self.has_part(frame, block, |_, kind| match kind {
            Some(Kind::Compare(Compare::Eq | Compare::Ne, _, sides)) => {
                sides.iter().any(|side| is_address(&frame.get(*side)))
            }
            _ => false,
        })
    }

    /// Whether the condition of a branch has a part in it that `is_it`, given what it is and what
    /// computes it in that block, if anything does.
    fn has_part(
        &self,
        frame: &Frame<'m>,
        block: u32,
        is_it: impl Fn(Operand, Option<&Kind>) -> bool,
    ) -> bool {
        let code = &frame.function.blocks[block as usize].instructions;
        let Some(condition) = frame.function.blocks[block as usize].terminator.operand() else {
            return false;
        };
        let mut open = vec![condition];
        while let Some(operand) = open.pop() {
            let Operand::Register(register) = operand else { continue };
            let found = code.iter().find(|i| i.result == register).map(|i| &i.kind);
            match found {
                Some(Kind::Binary(Binary::And | Binary::Or, 1, sides)) => open.extend(sides),
                // A `!`; of two conditions the secret one would decide all the same.
                Some(Kind::Binary(Binary::Xor, 1, sides))
                    if sides.iter().any(|side| matches!(side, Operand::Constant(_))) =>
                {
                    open.extend(sides);
                }
                Some(Kind::Freeze(side)) => open.push(*side),
                Some(Kind::Select(1, all)) => open.extend(all),
                kind if is_it(operand, kind) => return true,
                _ => {}
            }
        }
        false
    }
}

/// Where a loop without a way out begins, if there is one among these blocks of a dead end.
fn endless(shape: &Shape, blocks: &[Block], behind: &[u32]) -> Option<Place> {
    let mut stays = behind.iter().filter(|block| !shape.halts[**block as usize]);
    // What is only left where C says that it is not is never entered.
    if stays.clone().any(|block| blocks[*block as usize].assumes) {
        return None;
    }
    let last = stays.next_back()?;
    let mut whole = shape.loops.iter().filter(|l| l.exits.is_empty() && behind.contains(&l.header));
    // One that is entered at several places is none of them.
    Some(whole.next().map_or(blocks[*last as usize].place, |found| begins(blocks, found)))
}

/// Where people see that a loop begins: its header may hold what is inside, and a way back says
/// `i++` or the loop's last line.
fn begins(blocks: &[Block], found: &Loop) -> Place {
    let ends = found.latches.iter().chain([&found.header]);
    let places = ends.map(|block| blocks[*block as usize].place);
    places.filter(|place| place.line > 0).min_by_key(|place| place.line).unwrap_or_default()
}

/// Whether a register is computed in one of these blocks: what is only loaded may never change.
fn defined_in(function: &Function, register: u32, blocks: &[bool]) -> bool {
    let inside = function.blocks.iter().zip(blocks).filter(|(_, inside)| **inside);
    let mut sets = inside.map(|(code, _)| {
        let phis = code.phis.iter().map(|phi| phi.result);
        let computed = code.instructions.iter().filter(|i| !matches!(i.kind, Kind::Load(..)));
        phis.chain(computed.map(|i| i.result)).any(|result| result == register)
    });
    sets.any(|sets| sets)
}
