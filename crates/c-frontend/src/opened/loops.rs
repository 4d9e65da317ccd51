//! Loops that end by an opened condition: the body is executed once for all iterations.
//!
//! Values that differ when the body returns to its header are carried from iteration to iteration:
//! secrets in variables, public integers in registers. At first nothing is; whenever the body
//! leaves something different, that is noted and the whole program is tried anew, until nothing new
//! is found (a fix point, as each try carries more). What is not carried is known to be the same in
//! every iteration.
//!
//! Cost: a try for each change of what a loop carries, of which there are few.

use crate::carried::flow::{PathEnd, PathTarget};
use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::{Continuation, Frame, set_phis};
use crate::interpreter::Interpreter;

impl<'m> Interpreter<'m> {
    /// Runs a loop of the last frame, whose header is entered with these phis: all exits,
    /// and where they meet.
    pub(crate) fn run_opened_loop(
        &mut self,
        header: u32,
        mut phis: Vec<CellValue>,
        goals: &[PathTarget],
    ) -> Result<(PathTarget, Vec<PathEnd<'m>>), ExecutionStop> {
        let depth = self.opened.stack.len();
        let frame = self.opened.stack.last().expect("the loop is in a function");
        let shape = &frame.function.shape;
        let index = shape.header_of[header as usize].expect("it is a header");
        let around = &shape.loops[index as usize];
        let key = (frame.path, frame.index, index);
        let mut exit = shape.joins[header as usize];
        while let Some(block) = exit.filter(|block| around.contains[*block as usize]) {
            exit = shape.joins[block as usize];
        }
        let next = |header| PathTarget::Block(depth, header);
        let back = next(header);
        let is_new = |goal: &PathTarget| *goal != back && !goals.contains(goal);
        let around: Vec<PathTarget> =
            shape.left_before(header, exit).map(next).filter(is_new).collect();
        let exit = exit.map_or(PathTarget::Return(depth), next);
        let form = self.opened.plan.get(&key).cloned().unwrap_or_default();
        let place = frame.function.blocks[header as usize].place;
        let base = self.opened.stack.clone();
        let objects = self.access.memory.object_count();
        let (known, carried) = self.access.enter(&form, &phis)?;
        let id = self.access.values.emit.tracer.new_block();
        self.access.values.emit.tracer.jump(id);
        self.access.values.emit.begin(id);
        for (place, data) in known {
            self.put_at(place, &data, &mut phis)?;
        }
        for carried in &carried {
            self.receive(carried, &mut phis)?;
        }
        let frame = self.opened.stack.last_mut().expect("the loop is in a function");
        set_phis(frame, header, phis.clone());
        let all: Vec<PathTarget> = [goals, &around, &[back, exit]].concat();
        let paths =
            self.relative(|interpreter| interpreter.follow(Continuation::Inside(header, 0), &all))?;
        let (mut returning, out): (Vec<PathEnd<'m>>, Vec<PathEnd<'m>>) =
            paths.into_iter().partition(|path| path.goal == back);
        self.access.values.report.place = place;
        if let Some(wider) = self.access.wider(&form, &mut returning, header, &phis, objects)? {
            self.opened.plan.insert(key, wider);
            return Err(ExecutionStop::Restart);
        }
        for path in returning {
            self.access.go_round(&carried, path)?;
            self.access.values.emit.tracer.jump(id);
        }
        let out = self.go_on_around(&around, &[goals, &[exit]].concat(), &base, out)?;
        (self.opened.stack, self.access.values.report.place) = (base, place);
        Ok((exit, out))
    }

    /// Of the paths that left a loop, those that come to the next iteration of a loop around it go
    /// on to one of the goals. Only now: as they go on, they may come to the loop anew, which is no
    /// iteration of it. The innermost loop is the first.
    fn go_on_around(
        &mut self,
        around: &[PathTarget],
        goals: &[PathTarget],
        base: &[Frame<'m>],
        mut paths: Vec<PathEnd<'m>>,
    ) -> Result<Vec<PathEnd<'m>>, ExecutionStop> {
        for (at, goal) in around.iter().enumerate() {
            let (here, others): (Vec<_>, _) =
                paths.into_iter().partition(|path| path.goal == *goal);
            paths = others;
            if here.is_empty() {
                continue;
            }
            self.opened.stack = base.to_vec();
            let all = [goals, &around[at + 1..]].concat();
            let further = self.relative(|interpreter| {
                let next = interpreter.meet(*goal, here)?;
                interpreter.follow(next, &all)
            });
            paths.extend(further?);
        }
        Ok(paths)
    }
}
