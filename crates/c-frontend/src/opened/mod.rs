//! Control flow on what is opened when the program runs: each way is a block of its own.
//!
//! The machine runs up to a branch on an opened integer, and is then at a *pause*: its calls lie in
//! `stack` instead of on Rust's. Both ways of the branch are executed, each from the same memory, up
//! to where they meet (`merge.rs`). A loop that such a branch can leave is executed once for all its
//! turns: what changes from turn to turn is carried (`turns.rs`), all else stays as it was known.
//!
//! Cost: program text for each way once; a loop's body is there once however often it will run.
//! What it does not protect against: everybody sees which way is taken and how often.

pub(crate) mod address_set;
pub(crate) mod loops;
pub(crate) mod merge;

use crate::data::Data;
use crate::interpreter::{End, Frame, Machine, Next, Stop};
use crate::memory::Log;
use phineus_frontend::{BlockId, Register};

/// Ways out of a loop by opened conditions, one after the other, with none by a public condition
/// between them, after which it is taken to have no public bound.
const OPENED_EXITS_MAX: u32 = 4;
/// Such ways out of all loops that are unrolled: more of them are quicker planned as a loop that runs
/// at run time. Each takes two blocks, and may take a third where paths meet.
const UNROLLED_MAX: u32 = 512;
const _: () = assert!(3 * UNROLLED_MAX as usize <= phineus_bytecode::limits::BLOCKS_MAX / 2);

/// As in `machine.rs`.
const STACK_LEFT_BYTES: usize = 256 << 10;
const STACK_MORE_BYTES: usize = 16 << 20;

/// What the machine paused for, in the last frame of its stack.
pub(crate) enum Pending {
    /// A branch: ways of which at most one register is not 0, and another.
    Fork { block: u32, ways: Vec<(Register, u32)>, default: u32 },
    /// The header of a loop whose end is opened at run time, and its phis.
    Turns(u32, Vec<Data>),
}

enum Pause {
    Pending(Pending),
    At(Goal, Vec<Data>),
    Never,
}

/// Where ways end, in the frame of that depth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    Block(usize, u32),
    Return(usize),
}

/// How a way ends: the state there, but for the frames outside.
pub(crate) struct Way<'m> {
    pub(crate) goal: Goal,
    /// The phis of the block, or what is returned.
    pub(crate) values: Vec<Data>,
    pub(crate) frame: Frame<'m>,
    /// Still open.
    pub(crate) block: BlockId,
    pub(crate) log: Log,
}

impl<'m> Machine<'m> {
    /// Runs the function that is the computation.
    pub(crate) fn run_main(&mut self, index: u32, arguments: Vec<Data>) -> Result<Data, Stop> {
        let frame = self.frame(index, arguments, 0);
        let name = &frame.function.name;
        self.stack = vec![frame];
        let goal = Goal::Return(1);
        let ways = self.follow(Next::Block(u32::MAX, 0), &[goal])?;
        if ways.is_empty() {
            let what = format!("'{name}' never returns");
            let remedy = "a computation has to end; give a flag as a result instead of stopping";
            return self.error(what, remedy);
        }
        let result = self.merge_ways(goal, ways)?.pop();
        if self.module.reveals() {
            // Results leave in the last block, in which nothing may be computed any more that is
            // known only behind it.
            let last = self.tracer.new_block();
            self.tracer.jump(last);
            self.begin(last);
        }
        let frame = self.stack.pop().expect("the function is there");
        frame.objects.iter().for_each(|object| self.memory.release(*object));
        Ok(result.expect("a function returns one thing"))
    }

    /// Records in another block from now on, where nothing is remembered of this one.
    pub(crate) fn begin(&mut self, block: BlockId) {
        if block == self.tracer.block() {
            return;
        }
        self.tracer.begin(block);
        self.slices.clear();
        self.spreads.clear();
        self.packs.clear();
        self.casts.clear();
    }

    /// Runs the last frame of the stack, and those that call it.
    fn advance(&mut self, mut next: Next, goals: &[Goal]) -> Result<Pause, Stop> {
        loop {
            let depth = self.stack.len();
            let mut frame = self.stack.pop().expect("a function runs");
            let until: Vec<u32> = goals
                .iter()
                .filter_map(|goal| match goal {
                    Goal::Block(at, block) if *at == depth => Some(*block),
                    _ => None,
                })
                .collect();
            (self.calls, self.path) = (depth as u32, frame.path);
            let end = self.run(&mut frame, next, &until);
            let name = &frame.function.name;
            next = match end {
                Err(Stop::Pause) => {
                    self.stack.push(frame);
                    let inner = std::mem::take(&mut self.unwound);
                    self.stack.extend(inner.into_iter().rev());
                    let pending = self.pending.take().expect("it paused for something");
                    return Ok(Pause::Pending(pending));
                }
                Err(stop) => return Err(stop),
                Ok(End::Reached(block, phis)) => {
                    self.stack.push(frame);
                    return Ok(Pause::At(Goal::Block(depth, block), phis));
                }
                Ok(End::Returned(data)) if depth == 1 || goals.contains(&Goal::Return(depth)) => {
                    self.stack.push(frame);
                    return Ok(Pause::At(Goal::Return(depth), vec![data]));
                }
                Ok(End::Returned(data)) => self.returned(frame, data),
                Ok(End::Never) if depth == 1 => return Ok(Pause::Never),
                Ok(End::Never) => {
                    let what = format!("'{name}' never returns");
                    let data = self.error(what, "a computation has to end")?;
                    self.returned(frame, data)
                }
                // A secret leads to the next turn of a loop, or out of it, where an opened integer
                // ends it: its block is there once, whatever it counts.
                Ok(End::Split(_)) => {
                    self.refuse_turns()?;
                    return Err(Stop::Fatal);
                }
            };
        }
    }

    /// Gives what a function returned to the one that called it.
    fn returned(&mut self, frame: Frame<'m>, data: Data) -> Next {
        frame.objects.iter().for_each(|object| self.memory.release(*object));
        let caller = self.stack.last_mut().expect("somebody called it");
        let (block, index) = caller.position;
        let call = &caller.function.blocks[block as usize].instructions[index];
        caller.registers[call.result as usize] = data;
        Next::Inside(block, index + 1)
    }

    /// Runs from `next` on until all ways are at a goal. Memory is then what all of them began with,
    /// and each way has what it changed.
    pub(crate) fn follow(&mut self, next: Next, goals: &[Goal]) -> Result<Vec<Way<'m>>, Stop> {
        stacker::maybe_grow(STACK_LEFT_BYTES, STACK_MORE_BYTES, || self.follow_on(next, goals))
    }

    fn follow_on(&mut self, mut next: Next, goals: &[Goal]) -> Result<Vec<Way<'m>>, Stop> {
        loop {
            let (goal, ways) = match self.advance(next, goals)? {
                Pause::Never => return Ok(Vec::new()),
                Pause::At(goal, values) => {
                    let frame = self.stack.last().expect("it is there").clone();
                    let (block, log) = (self.tracer.block(), Log::default());
                    return Ok(vec![Way { goal, values, frame, block, log }]);
                }
                Pause::Pending(Pending::Fork { block, ways, default }) => {
                    self.fork(block, ways, default, goals)?
                }
                Pause::Pending(Pending::Turns(header, phis)) => self.turns(header, phis, goals)?,
            };
            if goals.contains(&goal) {
                return Ok(ways);
            }
            let (here, mut others): (Vec<Way<'m>>, Vec<Way<'m>>) =
                ways.into_iter().partition(|way| way.goal == goal);
            if here.is_empty() {
                return Ok(others);
            }
            if others.is_empty() {
                next = self.meet(goal, here)?;
                continue;
            }
            let further = self.relative(|machine| {
                let next = machine.meet(goal, here)?;
                machine.follow(next, goals)
            });
            others.extend(further?);
            return Ok(others);
        }
    }

    /// Goes on where all of these ways meet.
    pub(crate) fn meet(&mut self, goal: Goal, ways: Vec<Way<'m>>) -> Result<Next, Stop> {
        let mut values = self.merge_ways(goal, ways)?;
        Ok(match goal {
            Goal::Block(_, block) => Next::Joined(block, values),
            Goal::Return(_) => {
                let frame = self.stack.pop().expect("it returns");
                self.returned(frame, values.pop().expect("a function returns one thing"))
            }
        })
    }

    /// Ways whose changes begin with the memory of now, which is left as it is.
    pub(crate) fn relative(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<Vec<Way<'m>>, Stop>,
    ) -> Result<Vec<Way<'m>>, Stop> {
        self.memory.open_log();
        let found = run(self);
        let mut own = self.memory.undo();
        let mut ways = found?;
        self.memory.renew(&mut own);
        for way in &mut ways {
            self.memory.renew(&mut way.log);
            self.memory.open_log();
            self.memory.apply(&own);
            self.memory.apply(&way.log);
            way.log = self.memory.undo();
        }
        Ok(ways)
    }

    /// Both ways of a branch, and where they meet.
    fn fork(
        &mut self,
        block: u32,
        ways: Vec<(Register, u32)>,
        default: u32,
        goals: &[Goal],
    ) -> Result<(Goal, Vec<Way<'m>>), Stop> {
        let depth = self.stack.len();
        let frame = self.stack.last().expect("it paused in a function");
        let shape = &frame.function.shape;
        let join = shape.joins[block as usize];
        let goal = join.map_or(Goal::Return(depth), |join| Goal::Block(depth, join));
        if let Some(inner) = shape.inner[block as usize] {
            let around = &shape.loops[inner as usize];
            let leaves = join.is_none_or(|join| !around.contains[join as usize]);
            let is_carried = goals.contains(&Goal::Block(depth, around.header));
            let key = (frame.path, frame.index, inner);
            if leaves && !is_carried && !self.unrolls(block, inner) {
                // Only now it is seen that the loop's end is opened: it is done anew as such.
                self.plan.insert(key, Default::default());
                return Err(Stop::Restart);
            }
        }
        let frame = self.stack.last().expect("it paused in a function");
        let place = frame.function.blocks[block as usize].place;
        let base = self.stack.clone();
        let mut targets = Vec::with_capacity(ways.len() + 1);
        let mut last = None;
        for (register, target) in ways {
            let (yes, no) = (self.tracer.new_block(), self.tracer.new_block());
            if let Some(before) = last.replace(no) {
                self.begin(before);
            }
            self.tracer.branch(register, yes, no);
            targets.push((yes, target));
        }
        targets.extend(last.map(|no| (no, default)));
        let all: Vec<Goal> = goals.iter().copied().chain([goal]).collect();
        let mut found = Vec::new();
        for (id, target) in targets {
            self.begin(id);
            self.stack.clone_from(&base);
            self.place = place;
            found
                .extend(self.relative(|machine| machine.follow(Next::Block(block, target), &all))?);
        }
        (self.stack, self.place) = (base, place);
        Ok((goal, found))
    }

    /// Whether a loop that an opened condition may leave here has a public bound as well, and few
    /// turns: then each turn is there on its own, and knows its counters.
    fn unrolls(&mut self, block: u32, inner: u32) -> bool {
        let frame = self.stack.last().expect("it paused in a function");
        let is_partly_public = self.is_partly_public(frame, block, inner);
        let frame = self.stack.last_mut().expect("it paused in a function");
        let opened = &mut frame.secret_exits[inner as usize];
        *opened = if is_partly_public { 0 } else { *opened + 1 };
        self.unrolled += 1;
        *opened <= OPENED_EXITS_MAX && self.unrolled <= UNROLLED_MAX
    }

    /// Pauses for a branch on opened integers, unless one of its ways is never taken.
    pub(crate) fn pause(
        &mut self,
        frame: &Frame<'m>,
        block: u32,
        mut ways: Vec<(Data, u32)>,
        mut default: u32,
    ) -> Result<Next, Stop> {
        let shape = &frame.function.shape;
        self.check_dead_ends(frame, &ways, default, "is opened when it runs")?;
        ways.retain(|(_, target)| shape.ends[*target as usize]);
        if !shape.ends[default as usize] {
            match ways.pop() {
                Some((_, target)) => default = target,
                None => return Ok(Next::End(End::Never)),
            }
        }
        if ways.is_empty() {
            return Ok(Next::Block(block, default));
        }
        let ways = ways.into_iter().map(|(condition, target)| match condition {
            Data::Opened(register) => (register, target),
            _ => unreachable!("it was asked for opened ones"),
        });
        self.pending = Some(Pending::Fork { block, ways: ways.collect(), default });
        Err(Stop::Pause)
    }

    /// Pauses at the header of a loop whose end is opened, known from an earlier try.
    pub(crate) fn pause_at_turns(
        &mut self,
        frame: &Frame<'m>,
        from: Option<u32>,
        block: u32,
        phis: impl FnOnce(&mut Self) -> Vec<Data>,
    ) -> Result<(), Stop> {
        if self.plan.is_empty() || !self.is_at_large() {
            return Ok(());
        }
        let shape = &frame.function.shape;
        let Some(index) = shape.header_of[block as usize] else { return Ok(()) };
        let comes_back =
            from.is_some_and(|from| shape.loops[index as usize].contains[from as usize]);
        if comes_back || !self.plan.contains_key(&(frame.path, frame.index, index)) {
            return Ok(());
        }
        let phis = phis(self);
        self.pending = Some(Pending::Turns(block, phis));
        Err(Stop::Pause)
    }
}
