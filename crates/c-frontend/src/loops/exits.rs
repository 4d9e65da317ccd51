//! Loops that a secret may leave.
//!
//! Such a loop runs to its public bound, and what left waits. So it must have one: a condition that
//! is public, or the public part of one, seen often enough between the exits that secrets
//! decide.

use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::interpreter::Interpreter;
use crate::ir::IrOperand;

/// Exits of a loop by secrets, one after the other, with none by a public condition between.
const SECRET_EXITS_MAX: u32 = 64;

/// Secret branches within secret branches: a loop that a secret may leave, for each iteration.
const ARMS_MAX: u32 = 1 << 18;

/// Secret branches within secret branches in which a loop goes on that only ends where an address
/// is null, or another one: the nodes of a list. A ring has no end.
const NODES_MAX: u32 = 256;

impl<'m> Interpreter<'m> {
    /// Refuses a loop that only a secret ends.
    pub(crate) fn check_loop(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
    ) -> Result<bool, ExecutionStop> {
        let shape = &frame.function.shape;
        let Some(inner) = shape.inner[block as usize] else { return Ok(true) };
        let exits = &shape.loops[inner as usize].exits;
        if !exits.iter().any(|(from, _)| *from == block) {
            return Ok(true);
        }
        let is_partly_public = self.access.values.is_partly_public(frame, block, inner);
        // What goes from address to address comes to its end where there is none left but that.
        let has_other = is_partly_public
            || (self.access.values.scope.secret_branches < NODES_MAX
                && self.access.values.follows_addresses(frame, block))
            || exits.iter().any(|(from, _)| *from != block);
        let secret_exits = &mut frame.secret_exits[inner as usize];
        *secret_exits = if is_partly_public { 0 } else { *secret_exits + 1 };
        if has_other
            && *secret_exits <= SECRET_EXITS_MAX
            && self.access.values.scope.secret_branches < ARMS_MAX
        {
            return Ok(true);
        }
        // The first of its conditions is where people look for a loop.
        let conditions = exits.iter().filter_map(|(from, _)| {
            let code = &frame.function.blocks[*from as usize];
            let Some(IrOperand::Register(condition)) = code.terminator.operand() else {
                return None;
            };
            Some(code.instructions.iter().find(|i| i.result == condition)?.place)
        });
        let first = conditions.filter(|place| place.line > 0).min_by_key(|place| place.line);
        self.access.values.report.place = first.unwrap_or(self.access.values.report.place);
        self.access.values.refuse_secret_bound()?;
        Ok(false)
    }
}

impl OperationEvaluator {
    /// Refuses a loop of which a secret decides how often it runs.
    pub(crate) fn refuse_secret_bound(&mut self) -> Result<CellValue, ExecutionStop> {
        self.error(
            "how often this loop runs depends on a secret",
            "loop up to a public bound, and let an `if` decide what an iteration does",
        )
    }
}
