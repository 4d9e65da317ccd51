//! End of a block: continues by a public, secret or opened condition.

use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::{Continuation, ExecutionOutcome, Frame};
use crate::interpreter::Interpreter;
use crate::ir::Terminator;

impl<'m> Interpreter<'m> {
    /// Goes where the block's terminator says.
    pub(crate) fn terminate(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        until: &[u32],
    ) -> Result<Continuation, ExecutionStop> {
        let function = frame.function;
        if let Some((exit, stay)) = frame.body.forced
            && exit == block
        {
            return Ok(Continuation::Block(block, stay));
        }
        Ok(match &function.blocks[block as usize].terminator {
            Terminator::Jump(target) => Continuation::Block(block, *target),
            Terminator::Return(None) => {
                Continuation::End(ExecutionOutcome::Returned(CellValue::Undefined))
            }
            Terminator::Return(Some(value)) => {
                Continuation::End(ExecutionOutcome::Returned(frame.get(*value)))
            }
            Terminator::Unreachable => Continuation::End(ExecutionOutcome::Never),
            Terminator::Branch(condition, yes, no) => {
                let condition = self.access.values.uniform(frame.get(*condition))?;
                match condition {
                    CellValue::Public(bit) => {
                        self.saw_exit(frame, block);
                        Continuation::Block(block, if bit & 1 == 1 { *yes } else { *no })
                    }
                    opened @ CellValue::Opened(_)
                        if self.access.values.scope.is_unconditional() =>
                    {
                        self.pause(frame, block, vec![(opened, *yes)], *no)?
                    }
                    secret if secret.is_secret() => {
                        self.branch(frame, block, vec![(secret, *yes)], *no, until)?
                    }
                    other => self.astray(frame, block, other)?,
                }
            }
            Terminator::Switch(value, cases, default) => {
                let target = |value: u128| {
                    let case = cases.iter().find(|(case, _)| *case == value);
                    case.map_or(*default, |(_, target)| *target)
                };
                let value = match frame.get(*value) {
                    CellValue::Spread(values) => self.access.values.uniform_case(values, target)?,
                    value => value,
                };
                match value {
                    CellValue::Public(value) => {
                        self.saw_exit(frame, block);
                        Continuation::Block(block, target(value))
                    }
                    secret if secret.is_secret() => {
                        let arms = self.access.values.cases(&secret, cases)?;
                        let is_opened =
                            arms.iter().all(|(arm, _)| matches!(arm, CellValue::Opened(_)));
                        if is_opened && self.access.values.scope.is_unconditional() {
                            return self.pause(frame, block, arms, *default);
                        }
                        self.branch(frame, block, arms, *default, until)?
                    }
                    other => self.astray(frame, block, other)?,
                }
            }
        })
    }

    /// Goes on after a condition that cannot be had, the exit of loops if there is one.
    fn astray(
        &mut self,
        frame: &Frame<'m>,
        block: u32,
        found: CellValue,
    ) -> Result<Continuation, ExecutionStop> {
        match found {
            CellValue::Poison => {}
            CellValue::Undefined => {
                self.access
                    .values
                    .error("this condition depends on a value that is not set", "set it first")?;
            }
            _ => {
                let remedy = "compare integers";
                self.access.values.error("this condition is no integer", remedy)?;
            }
        }
        if self.access.values.scope.dry_run.is_some() {
            return Err(ExecutionStop::Abandon);
        }
        Ok(Continuation::Block(block, self.exit_target(frame, block)))
    }

    /// The successor that leaves the innermost loop, else one that returns.
    pub(crate) fn exit_target(&self, frame: &Frame<'m>, block: u32) -> u32 {
        let shape = &frame.function.shape;
        let successors = frame.function.blocks[block as usize].terminator.successors();
        let outside = |target: &&u32| {
            shape.inner[block as usize]
                .is_some_and(|l| !shape.loops[l as usize].contains[**target as usize])
        };
        let ending = |target: &&u32| shape.ends[**target as usize];
        let found =
            successors.iter().find(outside).or_else(|| successors.iter().rev().find(ending));
        *found.or(successors.first()).expect("a branch has successors")
    }

    /// Remembers that a loop can be left on a public condition.
    fn saw_exit(&mut self, frame: &mut Frame<'m>, block: u32) {
        let shape = &frame.function.shape;
        if let Some(inner) = shape.inner[block as usize] {
            let l = &shape.loops[inner as usize];
            if l.exits.iter().any(|(from, _)| *from == block) {
                frame.secret_exits[inner as usize] = 0;
            }
        }
    }
}
