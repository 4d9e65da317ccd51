//! Control flow on opened values: each arm is a block of its own.
//!
//! The interpreter runs up to a branch on an opened integer, and is then at a *pause*: its calls
//! lie in `stack` instead of on Rust's. Both arms of the branch are executed, each from the same
//! memory, up to where they meet (`opened/merge.rs`). A loop that such a branch can leave is
//! executed once for all its iterations: what changes from iteration to iteration is carried
//! (`opened/loops.rs`), all else stays as it was known.
//!
//! Cost: program text for each arm once; a loop's body is there once however often it will run.
//! What it does not protect against: everybody sees which arm is taken and how often.

pub(crate) mod fork;
pub(crate) mod loops;
pub(crate) mod merge;

use crate::carried::flow::{PathEnd, PathTarget, PauseReason};
use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::{Continuation, ExecutionOutcome, Frame};
use crate::interpreter::{Interpreter, with_stack};
use crate::memory::log::Log;

pub(crate) enum Pause {
    Pending(PauseReason),
    At(PathTarget, Vec<CellValue>),
    Never,
}

impl<'m> Interpreter<'m> {
    /// Runs the function that is the computation.
    pub(crate) fn run_main(
        &mut self,
        index: u32,
        arguments: Vec<CellValue>,
    ) -> Result<CellValue, ExecutionStop> {
        let frame = self.frame(index, arguments, 0);
        let name = &frame.function.name;
        self.opened.stack = vec![frame];
        let goal = PathTarget::Return(1);
        let paths = self.follow(Continuation::Block(u32::MAX, 0), &[goal])?;
        if paths.is_empty() {
            let what = format!("'{name}' never returns");
            let remedy = "a computation has to end; give a flag as a result instead of stopping";
            return self.access.values.error(what, remedy);
        }
        let result = self.merge_paths(goal, paths)?.pop();
        if self.module.reveals() {
            // Results leave in the last block, in which nothing may be computed any more that is
            // known only behind it.
            let last = self.access.values.emit.tracer.new_block();
            self.access.values.emit.tracer.jump(last);
            self.access.values.emit.begin(last);
        }
        let frame = self.opened.stack.pop().expect("the function is there");
        frame.objects.iter().for_each(|object| self.access.memory.release(*object));
        Ok(result.expect("a function returns one thing"))
    }

    /// Runs the last frame of the stack, and those that call it.
    fn advance(
        &mut self,
        mut next: Continuation,
        goals: &[PathTarget],
    ) -> Result<Pause, ExecutionStop> {
        loop {
            let depth = self.opened.stack.len();
            let mut frame = self.opened.stack.pop().expect("a function runs");
            let until: Vec<u32> = goals
                .iter()
                .filter_map(|goal| match goal {
                    PathTarget::Block(at, block) if *at == depth => Some(*block),
                    _ => None,
                })
                .collect();
            (self.calls.depth, self.calls.path) = (depth as u32, frame.path);
            let end = self.run(&mut frame, next, &until);
            let name = &frame.function.name;
            next = match end {
                Err(ExecutionStop::Pause) => {
                    self.opened.stack.push(frame);
                    let inner = std::mem::take(&mut self.opened.unwound);
                    self.opened.stack.extend(inner.into_iter().rev());
                    let pending = self.opened.pending.take().expect("it paused for something");
                    return Ok(Pause::Pending(pending));
                }
                Err(stop) => return Err(stop),
                Ok(ExecutionOutcome::Reached(block, phis)) => {
                    self.opened.stack.push(frame);
                    return Ok(Pause::At(PathTarget::Block(depth, block), phis));
                }
                Ok(ExecutionOutcome::Returned(data))
                    if depth == 1 || goals.contains(&PathTarget::Return(depth)) =>
                {
                    self.opened.stack.push(frame);
                    return Ok(Pause::At(PathTarget::Return(depth), vec![data]));
                }
                Ok(ExecutionOutcome::Returned(data)) => self.returned(frame, data),
                Ok(ExecutionOutcome::Never) if depth == 1 => return Ok(Pause::Never),
                Ok(ExecutionOutcome::Never) => {
                    let what = format!("'{name}' never returns");
                    let data = self.access.values.error(what, "a computation has to end")?;
                    self.returned(frame, data)
                }
                // A secret leads to the next iteration of a loop, or out of it, where an opened
                // integer ends it: its block is there once, whatever it counts.
                Ok(ExecutionOutcome::Split(_)) => {
                    self.access.values.refuse_secret_bound()?;
                    return Err(ExecutionStop::Fatal);
                }
            };
        }
    }

    /// Gives what a function returned to the one that called it.
    fn returned(&mut self, frame: Frame<'m>, data: CellValue) -> Continuation {
        frame.objects.iter().for_each(|object| self.access.memory.release(*object));
        let caller = self.opened.stack.last_mut().expect("somebody called it");
        let (block, index) = caller.position;
        let call = &caller.function.blocks[block as usize].instructions[index];
        caller.registers[call.result as usize] = data;
        Continuation::Inside(block, index + 1)
    }

    /// Runs from `next` on until all paths are at a goal. Memory is then what all of them began
    /// with, and each path has what it changed.
    pub(crate) fn follow(
        &mut self,
        next: Continuation,
        goals: &[PathTarget],
    ) -> Result<Vec<PathEnd<'m>>, ExecutionStop> {
        with_stack(|| self.follow_on(next, goals))
    }

    fn follow_on(
        &mut self,
        mut next: Continuation,
        goals: &[PathTarget],
    ) -> Result<Vec<PathEnd<'m>>, ExecutionStop> {
        loop {
            let (goal, paths) = match self.advance(next, goals)? {
                Pause::Never => return Ok(Vec::new()),
                Pause::At(goal, values) => {
                    let frame = self.opened.stack.last().expect("it is there").clone();
                    let (block, log) = (self.access.values.emit.tracer.block(), Log::default());
                    return Ok(vec![PathEnd { goal, values, frame, block, log }]);
                }
                Pause::Pending(PauseReason::Fork { block, paths, default }) => {
                    self.fork(block, paths, default, goals)?
                }
                Pause::Pending(PauseReason::Loop(header, phis)) => {
                    self.run_opened_loop(header, phis, goals)?
                }
            };
            if goals.contains(&goal) {
                return Ok(paths);
            }
            let (here, mut others): (Vec<PathEnd<'m>>, Vec<PathEnd<'m>>) =
                paths.into_iter().partition(|path| path.goal == goal);
            if here.is_empty() {
                return Ok(others);
            }
            if others.is_empty() {
                next = self.meet(goal, here)?;
                continue;
            }
            let further = self.relative(|interpreter| {
                let next = interpreter.meet(goal, here)?;
                interpreter.follow(next, goals)
            });
            others.extend(further?);
            return Ok(others);
        }
    }

    /// Goes on where all of these paths meet.
    pub(crate) fn meet(
        &mut self,
        goal: PathTarget,
        paths: Vec<PathEnd<'m>>,
    ) -> Result<Continuation, ExecutionStop> {
        let mut values = self.merge_paths(goal, paths)?;
        Ok(match goal {
            PathTarget::Block(_, block) => Continuation::Joined(block, values),
            PathTarget::Return(_) => {
                let frame = self.opened.stack.pop().expect("it returns");
                self.returned(frame, values.pop().expect("a function returns one thing"))
            }
        })
    }

    /// Paths whose changes begin with the memory of now, which is left as it is.
    pub(crate) fn relative(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<Vec<PathEnd<'m>>, ExecutionStop>,
    ) -> Result<Vec<PathEnd<'m>>, ExecutionStop> {
        self.access.memory.open_log();
        let found = run(self);
        let mut own = self.access.memory.undo();
        let mut paths = found?;
        self.access.memory.renew(&mut own);
        for path in &mut paths {
            self.access.memory.renew(&mut path.log);
            self.access.memory.open_log();
            self.access.memory.apply(&own);
            self.access.memory.apply(&path.log);
            path.log = self.access.memory.undo();
        }
        Ok(paths)
    }
}
