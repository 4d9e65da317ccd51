//! Branches on secrets: both arms are executed, and their results are selected.
//!
//! Each arm starts from the same memory; its changes are undone and kept aside. Afterwards each
//! cell that either changed, and each phi of the block where they meet, becomes a choice by the
//! secret. So a cell costs one choice however often it was written, and what both arms agree on,
//! such as the counters of their loops, stays public.
//!
//! Where one arm leaves a loop, or returns, the others go to the next iteration together; what left
//! waits with its condition until the loop is at its end. So a loop costs what its iterations cost.

pub(crate) mod merge;
pub(crate) mod vectors;

use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::evaluate::scope::ArmCondition;
use crate::frame::{Continuation, ExecutionOutcome, Frame, PathOutcome};
use crate::interpreter::{Interpreter, with_stack};
use crate::ir::Binary;

impl<'m> Interpreter<'m> {
    /// Runs all arms of a branch by secret conditions, of which at most one holds.
    pub(crate) fn branch(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        paths: Vec<(CellValue, u32)>,
        default: u32,
        until: &[u32],
    ) -> Result<Continuation, ExecutionStop> {
        let Some((paths, default)) =
            self.live_arms(frame, paths, default, "depends on a secret")?
        else {
            return Ok(Continuation::End(ExecutionOutcome::Never));
        };
        if paths.is_empty() {
            return Ok(Continuation::Block(block, default));
        }
        if !self.check_loop(frame, block)? {
            return Ok(Continuation::Block(block, self.exit_target(frame, block)));
        }
        // Paths meet where all do, or at the next iteration of each loop that some leave.
        let shape = &frame.function.shape;
        let join = shape.joins[block as usize];
        let leaves = shape.left_before(block, join);
        let stops: Vec<u32> = until.iter().copied().chain(join).chain(leaves.clone()).collect();
        let place = self.access.values.report.place;
        if self.access.values.scope.secret_branches == 0 {
            self.access.memory.begin_branch();
        }
        self.access.values.scope.secret_branches += 1;
        let mut arms = Vec::with_capacity(paths.len() + 1);
        for (condition, target) in &paths {
            let arm = ArmCondition::holds(condition.clone());
            arms.push(self.outcomes(frame, arm, Continuation::Block(block, *target), &stops)?);
        }
        let none = ArmCondition::none_of(paths.iter().map(|(bit, _)| bit.clone()).collect());
        arms.push(self.outcomes(frame, none, Continuation::Block(block, default), &stops)?);
        self.access.values.report.place = place;
        let mut found = self.access.gather_arms(frame, &paths, arms)?;
        // Rest of the loops first, the innermost foremost: they lead to where the paths meet.
        for next in leaves.into_iter().chain(join).filter(|next| !until.contains(next)) {
            self.go_on(frame, next, until, &mut found)?;
        }
        self.access.values.scope.secret_branches -= 1;
        self.access.values.report.place = place;
        match (found.pop(), found.is_empty()) {
            (None, _) => Ok(Continuation::End(ExecutionOutcome::Never)),
            (Some(only), true) => {
                self.access.memory.apply(&only.log);
                Ok(match only.end {
                    ExecutionOutcome::Reached(block, phis) => Continuation::Joined(block, phis),
                    end => Continuation::End(end),
                })
            }
            (Some(last), false) => {
                found.push(last);
                Ok(Continuation::End(ExecutionOutcome::Split(found)))
            }
        }
    }

    /// Runs an arm on from `next`, and undoes what that changes: how it may end.
    fn outcomes(
        &mut self,
        frame: &mut Frame<'m>,
        arm: ArmCondition,
        next: Continuation,
        stops: &[u32],
    ) -> Result<Vec<PathOutcome>, ExecutionStop> {
        self.access.memory.open_log();
        self.access.values.scope.arms.push(arm);
        let end = with_stack(|| self.run(frame, next, stops));
        self.access.values.scope.arms.pop();
        let log = self.access.memory.undo();
        if self.access.values.scope.dry_run.is_none() {
            self.access.memory.end_arm(&log);
        }
        Ok(match end? {
            ExecutionOutcome::Never => Vec::new(),
            ExecutionOutcome::Split(outcomes) => {
                let whole = |mut outcome: PathOutcome| {
                    self.access.memory.renew(&mut outcome.log);
                    self.access.memory.open_log();
                    self.access.memory.apply(&log);
                    self.access.memory.apply(&outcome.log);
                    PathOutcome { log: self.access.memory.undo(), ..outcome }
                };
                outcomes.into_iter().map(whole).collect()
            }
            end => vec![PathOutcome { condition: CellValue::bit(true), end, log }],
        })
    }

    /// Runs on from a block that some paths reached, before those that did not.
    fn go_on(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        until: &[u32],
        all: &mut Vec<PathOutcome>,
    ) -> Result<(), ExecutionStop> {
        let is_it = |outcome: &PathOutcome| matches!(outcome.end, ExecutionOutcome::Reached(at, _) if at == block);
        let Some(at) = all.iter().position(is_it) else { return Ok(()) };
        if all.len() == 1 {
            // All are there: no need to do it in an arm.
            return Ok(());
        }
        let PathOutcome { condition, end, log } = all.swap_remove(at);
        let ExecutionOutcome::Reached(_, phis) = end else { unreachable!("it was just seen") };
        // Other places where paths wait are stops as well.
        let waiting = all.iter().filter_map(|outcome| match outcome.end {
            ExecutionOutcome::Reached(at, _) => Some(at),
            _ => None,
        });
        let stops: Vec<u32> = until.iter().copied().chain(waiting).collect();
        self.access.memory.open_log();
        self.access.memory.apply(&log);
        let arm = ArmCondition::holds(condition.clone());
        let further = self.outcomes(frame, arm, Continuation::Joined(block, phis), &stops);
        let log = self.access.memory.undo();
        for outcome in further? {
            let own = self.access.values.binary(Binary::And, 1, &condition, &outcome.condition)?;
            self.access.memory.open_log();
            self.access.memory.apply(&log);
            self.access.memory.apply(&outcome.log);
            let log = self.access.memory.undo();
            let outcome = PathOutcome { condition: own, log, end: outcome.end };
            self.access.add_outcome(frame, &condition, outcome, all)?;
        }
        Ok(())
    }
}
