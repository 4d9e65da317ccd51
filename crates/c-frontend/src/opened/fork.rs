//! A branch on an opened integer: each arm is a block of its own.

use phineus_frontend::Register;

use crate::carried::flow::{PathEnd, PathTarget, PauseReason};
use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::{Continuation, ExecutionOutcome, Frame};
use crate::interpreter::Interpreter;

/// Exits of a loop by opened conditions, one after the other, with none by a public condition
/// between them, after which it is taken to have no public bound.
const OPENED_EXITS_MAX: u32 = 4;

/// Such exits of all loops that are unrolled: more of them are quicker planned as a loop that runs
/// at run time. Each takes two blocks, and may take a third where paths meet.
const UNROLLED_MAX: u32 = 512;

const _: () = assert!(3 * UNROLLED_MAX as usize <= phineus_bytecode::limits::BLOCKS_MAX / 2);

impl<'m> Interpreter<'m> {
    /// Both arms of a branch, and where they meet.
    pub(super) fn fork(
        &mut self,
        block: u32,
        paths: Vec<(Register, u32)>,
        default: u32,
        goals: &[PathTarget],
    ) -> Result<(PathTarget, Vec<PathEnd<'m>>), ExecutionStop> {
        let depth = self.opened.stack.len();
        let frame = self.opened.stack.last().expect("it paused in a function");
        let shape = &frame.function.shape;
        let join = shape.joins[block as usize];
        let goal = join.map_or(PathTarget::Return(depth), |join| PathTarget::Block(depth, join));
        if let Some(inner) = shape.inner[block as usize] {
            let around = &shape.loops[inner as usize];
            let leaves = join.is_none_or(|join| !around.contains[join as usize]);
            let is_carried = goals.contains(&PathTarget::Block(depth, around.header));
            let key = (frame.path, frame.index, inner);
            if leaves && !is_carried && !self.unrolls(block, inner) {
                // Only now it is seen that the loop's end is opened: it is done anew as such.
                self.opened.plan.insert(key, Default::default());
                return Err(ExecutionStop::Restart);
            }
        }
        let frame = self.opened.stack.last().expect("it paused in a function");
        let place = frame.function.blocks[block as usize].place;
        let base = self.opened.stack.clone();
        let mut targets = Vec::with_capacity(paths.len() + 1);
        let mut last = None;
        for (register, target) in paths {
            let (yes, no) = (
                self.access.values.emit.tracer.new_block(),
                self.access.values.emit.tracer.new_block(),
            );
            if let Some(before) = last.replace(no) {
                self.access.values.emit.begin(before);
            }
            self.access.values.emit.tracer.branch(register, yes, no);
            targets.push((yes, target));
        }
        targets.extend(last.map(|no| (no, default)));
        let all: Vec<PathTarget> = goals.iter().copied().chain([goal]).collect();
        let mut found = Vec::new();
        for (id, target) in targets {
            self.access.values.emit.begin(id);
            self.opened.stack.clone_from(&base);
            self.access.values.report.place = place;
            found.extend(self.relative(|interpreter| {
                interpreter.follow(Continuation::Block(block, target), &all)
            })?);
        }
        (self.opened.stack, self.access.values.report.place) = (base, place);
        Ok((goal, found))
    }

    /// Whether a loop that an opened condition may leave here has a public bound as well, and few
    /// iterations: then each iteration is there on its own, and knows its counters.
    fn unrolls(&mut self, block: u32, inner: u32) -> bool {
        let frame = self.opened.stack.last().expect("it paused in a function");
        let is_partly_public = self.access.values.is_partly_public(frame, block, inner);
        let frame = self.opened.stack.last_mut().expect("it paused in a function");
        let opened = &mut frame.secret_exits[inner as usize];
        *opened = if is_partly_public { 0 } else { *opened + 1 };
        self.opened.unrolled += 1;
        *opened <= OPENED_EXITS_MAX && self.opened.unrolled <= UNROLLED_MAX
    }

    /// Pauses for a branch on opened integers, unless one of its arms is never taken.
    pub(crate) fn pause(
        &mut self,
        frame: &Frame<'m>,
        block: u32,
        paths: Vec<(CellValue, u32)>,
        default: u32,
    ) -> Result<Continuation, ExecutionStop> {
        let Some((paths, default)) =
            self.live_arms(frame, paths, default, "is opened when it runs")?
        else {
            return Ok(Continuation::End(ExecutionOutcome::Never));
        };
        if paths.is_empty() {
            return Ok(Continuation::Block(block, default));
        }
        let paths = paths.into_iter().map(|(condition, target)| match condition {
            CellValue::Opened(register) => (register, target),
            _ => unreachable!("it was asked for opened ones"),
        });
        self.opened.pending = Some(PauseReason::Fork { block, paths: paths.collect(), default });
        Err(ExecutionStop::Pause)
    }

    /// Pauses at the header of a loop whose end is opened, known from an earlier try.
    pub(crate) fn pause_at_loop(
        &mut self,
        frame: &Frame<'m>,
        from: Option<u32>,
        block: u32,
        phis: impl FnOnce(&mut Self) -> Vec<CellValue>,
    ) -> Result<(), ExecutionStop> {
        if self.opened.plan.is_empty() || !self.access.values.scope.is_unconditional() {
            return Ok(());
        }
        let shape = &frame.function.shape;
        let Some(index) = shape.header_of[block as usize] else { return Ok(()) };
        let comes_back =
            from.is_some_and(|from| shape.loops[index as usize].contains[from as usize]);
        if comes_back || !self.opened.plan.contains_key(&(frame.path, frame.index, index)) {
            return Ok(());
        }
        let phis = phis(self);
        self.opened.pending = Some(PauseReason::Loop(block, phis));
        Err(ExecutionStop::Pause)
    }
}
