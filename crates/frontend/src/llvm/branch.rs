//! Branches that a secret decides: both ways are run, and what they leave is chosen between.
//!
//! Each way starts from the same memory; its changes are undone and kept aside. Afterwards each cell
//! that either changed, and each phi of the block where they meet, becomes a choice by the secret.
//! So a cell costs one choice however often it was written, and what both ways agree on, such as
//! the counters of their loops, stays public.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use super::data::{Data, mask};
use super::ir::{Binary, Compare, Kind, Unary};
use super::machine::{End, Frame, Machine, Next, Stop};
use super::memory::{Log, PairHasher};

/// Secret branches within secret branches, of which none was seen to be able to end publicly.
const UNBOUNDED_MAX: u32 = 64;
/// The same where there is a public bound: a loop that a secret may leave, for each iteration.
const ARMS_MAX: u32 = 1 << 18;
/// As in `machine.rs`.
const STACK_LEFT_BYTES: usize = 256 << 10;
const STACK_MORE_BYTES: usize = 16 << 20;

/// What lanes have at places of their own: object, places, bytes, values.
#[derive(Default)]
struct Vectors {
    all: Vec<(u32, Rc<[i64]>, u64, Data)>,
    /// Objects and indices of cells that are among the places.
    cells: HashSet<(u32, u32), BuildHasherDefault<PairHasher>>,
}

/// How one way ended, and what it left in memory.
struct Arm {
    end: End,
    log: Log,
}

impl<'m> Machine<'m> {
    /// The conditions of a switch's cases, one for each target.
    pub(super) fn cases(
        &mut self,
        value: &Data,
        cases: &[(u128, u32)],
    ) -> Result<Vec<(Data, u32)>, Stop> {
        let width = self.width_of(value);
        let mut arms: Vec<(Data, u32)> = Vec::new();
        for (case, target) in cases {
            let case = Data::Public(*case & mask(width));
            let hit = self.compare(Compare::Eq, width, value, &case)?;
            match arms.iter().position(|(_, known)| known == target) {
                Some(at) => arms[at].0 = self.binary(Binary::Or, 1, &arms[at].0.clone(), &hit)?,
                None => arms.push((hit, *target)),
            }
        }
        Ok(arms)
    }

    /// Runs all ways of a branch by secret conditions, of which at most one holds.
    pub(super) fn branch(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        mut ways: Vec<(Data, u32)>,
        mut default: u32,
        until: Option<u32>,
    ) -> Result<Next, Stop> {
        let shape = &frame.function.shape;
        self.check_stops(frame, &ways, default)?;
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
        if !self.check_loop(frame, block)? {
            return Ok(Next::Block(block, self.way_out(frame, block)));
        }
        let join = shape.joins[block as usize];
        debug_assert!(join.is_some() || until.is_none(), "all ways pass the outer meeting");
        let leaves_loop = shape.inner[block as usize].is_some_and(|l| {
            join.is_none_or(|join| !shape.loops[l as usize].contains[join as usize])
        });
        let place = self.place;
        let mut arms = Vec::with_capacity(ways.len());
        self.arms += 1;
        for target in ways.iter().map(|(_, target)| *target).chain([default]) {
            // Ways that go on with the loop overwrite registers that the others still need.
            let saved = leaves_loop.then(|| frame.registers.clone());
            self.memory.open_log();
            let end = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_MORE_BYTES, || {
                self.run(frame, Next::Block(block, target), join)
            });
            let log = self.memory.undo();
            if let Some(saved) = saved {
                frame.registers = saved;
            }
            arms.push(Arm { end: end?, log });
        }
        self.arms -= 1;
        self.place = place;
        let widths: Vec<u16> = match join {
            Some(join) => {
                frame.function.blocks[join as usize].phis.iter().map(|phi| phi.width).collect()
            }
            None => vec![frame.function.result.width()],
        };
        let mut merged = arms.pop().expect("there is a default");
        for (arm, (condition, _)) in arms.into_iter().zip(&ways).rev() {
            self.memory.open_log();
            let end = self.merge(condition, arm, merged, &widths);
            let log = self.memory.undo();
            merged = Arm { end: end?, log };
        }
        self.memory.apply(&merged.log);
        Ok(match (merged.end, join) {
            (End::Reached(phis), Some(join)) => Next::Joined(join, phis),
            (end, _) => Next::End(end),
        })
    }

    /// Refuses a way that ends the program, unless it is one that is never taken.
    fn check_stops(
        &mut self,
        frame: &Frame<'m>,
        ways: &[(Data, u32)],
        default: u32,
    ) -> Result<(), Stop> {
        let targets = ways.iter().map(|(_, target)| *target).chain([default]);
        for target in targets.filter(|target| !frame.function.shape.ends[*target as usize]) {
            let code = &frame.function.blocks[target as usize].instructions;
            if code.iter().any(|i| matches!(i.kind, Kind::Call(..) | Kind::CallPointer(..))) {
                self.error(
                    "whether the program stops here depends on a secret",
                    "give a flag as a result instead of stopping",
                )?;
            }
        }
        Ok(())
    }

    /// Refuses a loop that only a secret ends.
    fn check_loop(&mut self, frame: &Frame<'m>, block: u32) -> Result<bool, Stop> {
        let shape = &frame.function.shape;
        let Some(inner) = shape.inner[block as usize] else { return Ok(true) };
        let exits = &shape.loops[inner as usize].exits;
        if !exits.iter().any(|(from, _)| *from == block) {
            return Ok(true);
        }
        let has_other = exits.iter().any(|(from, _)| *from != block);
        let is_bounded = frame.bounded[inner as usize];
        if has_other && (is_bounded || self.arms < UNBOUNDED_MAX) && self.arms < ARMS_MAX {
            return Ok(true);
        }
        self.error(
            "how often this loop runs depends on a secret",
            "loop up to a public bound, and let an `if` decide what an iteration does",
        )?;
        Ok(false)
    }

    /// The end of a way that is taken where `condition` holds, and of another; memory becomes
    /// what a choice between what both left is.
    fn merge(
        &mut self,
        condition: &Data,
        yes: Arm,
        no: Arm,
        widths: &[u16],
    ) -> Result<End, Stop> {
        let end = match (yes.end, no.end) {
            (End::Never, end) => {
                self.memory.apply(&no.log);
                return Ok(end);
            }
            (end, End::Never) => {
                self.memory.apply(&yes.log);
                return Ok(end);
            }
            (End::Reached(a), End::Reached(b)) => {
                let mut values = Vec::with_capacity(a.len());
                for ((a, b), width) in a.iter().zip(&b).zip(widths) {
                    values.push(self.select(condition, a, b, *width)?);
                }
                End::Reached(values)
            }
            (End::Returned(a), End::Returned(b)) => {
                End::Returned(self.select(condition, &a, &b, widths[0])?)
            }
            _ => unreachable!("ways that meet end alike"),
        };
        self.merge_memory(condition, &yes.log, &no.log)?;
        Ok(end)
    }

    fn merge_memory(&mut self, condition: &Data, yes: &Log, no: &Log) -> Result<(), Stop> {
        let chosen = self.merge_vectors(condition, yes, no)?;
        let changed = yes.cells.keys().chain(no.cells.keys()).copied();
        let mut keys: Vec<(u32, u32)> =
            changed.filter(|key| !chosen.cells.contains(key)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut done = (u32::MAX, 0);
        for (object, index) in keys {
            if !self.memory.object(object).is_alive || (object == done.0 && index < done.1) {
                continue;
            }
            let granule = self.memory.object(object).granule;
            let found = (
                self.memory.entry(yes, object, index),
                self.memory.entry(no, object, index),
            );
            let (data, cells) = match found {
                (Some((a, n)), Some((b, m))) if n == m => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select(condition, &a, &b, width)?, n)
                }
                (Some((Data::Undefined, _)), Some((data, n)))
                | (Some((data, n)), Some((Data::Undefined, _))) => (data, n),
                _ => {
                    let a = self.piece(yes, object, index)?;
                    let b = self.piece(no, object, index)?;
                    (self.select(condition, &a, &b, (granule * 8) as u16)?, 1)
                }
            };
            let bytes = u64::from(cells) * granule;
            self.memory.put(object, u64::from(index) * granule, bytes as u8, &data);
            done = (object, index + cells);
            if self.lanes > 1 && self.rehearsal.is_none() {
                self.own_places.push((object, u64::from(index) * granule, bytes));
            }
        }
        for (object, places, bytes, data) in chosen.all {
            self.scatter(object, &places, bytes, &data)?;
        }
        Ok(())
    }

    /// The choices for places that lanes have of their own: all lanes at once.
    fn merge_vectors(&mut self, condition: &Data, yes: &Log, no: &Log) -> Result<Vectors, Stop> {
        let mut all: Vec<(u32, Rc<[i64]>, u64)> = yes.vectors.clone();
        for vector in &no.vectors {
            if !all.contains(vector) {
                all.push(vector.clone());
            }
        }
        if all.is_empty() {
            return Ok(Vectors::default());
        }
        let mut views = Vec::with_capacity(2);
        for log in [yes, no] {
            self.memory.open_log();
            self.memory.apply(log);
            let found: Result<Vec<Data>, Stop> =
                all.iter().map(|(object, places, bytes)| self.gather(*object, places, *bytes)).collect();
            drop(self.memory.undo());
            views.push(found?);
        }
        let (no, yes) = (views.pop().unwrap_or_default(), views.pop().unwrap_or_default());
        let mut chosen = Vectors::default();
        for (((object, places, bytes), a), b) in all.into_iter().zip(yes).zip(no) {
            let data = self.select(condition, &a, &b, bytes as u16 * 8)?;
            let granule = self.memory.object(object).granule;
            for place in places.iter().map(|place| *place as u64) {
                let cells = place / granule..(place + bytes).div_ceil(granule);
                chosen.cells.extend(cells.map(|cell| (object, cell as u32)));
            }
            chosen.all.push((object, places, bytes, data));
        }
        Ok(chosen)
    }

    /// What one cell holds of the value that it belongs to.
    fn piece(&mut self, log: &Log, object: u32, index: u32) -> Result<Data, Stop> {
        let granule = self.memory.object(object).granule;
        let mut head = index;
        let (data, cells) = loop {
            match self.memory.entry(log, object, head) {
                Some(entry) => break entry,
                None => head -= 1,
            }
        };
        if matches!(data, Data::Undefined) {
            return Ok(data);
        }
        let width = (u64::from(cells) * granule * 8) as u16;
        let shift = u64::from(index - head) * granule * 8;
        let moved = self.binary(Binary::LShr, width, &data, &Data::Public(shift.into()))?;
        self.unary(Unary::Truncate, width, (granule * 8) as u16, &moved)
    }
}
