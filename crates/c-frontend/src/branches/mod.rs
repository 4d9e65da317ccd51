//! Branches that a secret decides: both ways are run, and what they leave is chosen between.
//!
//! Each way starts from the same memory; its changes are undone and kept aside. Afterwards each cell
//! that either changed, and each phi of the block where they meet, becomes a choice by the secret.
//! So a cell costs one choice however often it was written, and what both ways agree on, such as
//! the counters of their loops, stays public.
//!
//! Where one way leaves a loop, or returns, the others go to the next iteration together; what left
//! waits with its condition until the loop is at its end. So a loop costs what its iterations cost.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use crate::data::{Data, mask};
use crate::interpreter::{End, Frame, Machine, Next, Stop};
use crate::ir::{Binary, Compare, Unary};
use crate::memory::cell::PairHasher;
use crate::memory::{Found, Log};

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

/// One way in which a stretch ends, and what it leaves in memory.
pub(crate) struct Outcome {
    pub(crate) condition: Data,
    pub(crate) end: End,
    pub(crate) log: Log,
}

impl<'m> Machine<'m> {
    /// The conditions of a switch's cases, one for each target.
    pub(crate) fn cases(
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
    pub(crate) fn branch(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        mut ways: Vec<(Data, u32)>,
        mut default: u32,
        until: &[u32],
    ) -> Result<Next, Stop> {
        let shape = &frame.function.shape;
        self.check_dead_ends(frame, &ways, default, "depends on a secret")?;
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
        // Ways meet where all do, or at the next iteration of each loop that some leave.
        let join = shape.joins[block as usize];
        let leaves = shape.left_before(block, join);
        let stops: Vec<u32> = until.iter().copied().chain(join).chain(leaves.clone()).collect();
        let place = self.place;
        self.arms += 1;
        let mut arms = Vec::with_capacity(ways.len() + 1);
        for target in ways.iter().map(|(_, target)| *target).chain([default]) {
            arms.push(self.outcomes(frame, Next::Block(block, target), &stops)?);
        }
        self.place = place;
        let mut found = self.gather_arms(frame, &ways, arms)?;
        // Rest of the loops first, the innermost foremost: they lead to where the ways meet.
        for next in leaves.into_iter().chain(join).filter(|next| !until.contains(next)) {
            self.go_on(frame, next, until, &mut found)?;
        }
        self.arms -= 1;
        self.place = place;
        match (found.pop(), found.is_empty()) {
            (None, _) => Ok(Next::End(End::Never)),
            (Some(only), true) => {
                self.memory.apply(&only.log);
                Ok(match only.end {
                    End::Reached(block, phis) => Next::Joined(block, phis),
                    end => Next::End(end),
                })
            }
            (Some(last), false) => {
                found.push(last);
                Ok(Next::End(End::Split(found)))
            }
        }
    }

    /// Runs on from `next`, and undoes what that changes: how it may end.
    fn outcomes(
        &mut self,
        frame: &mut Frame<'m>,
        next: Next,
        stops: &[u32],
    ) -> Result<Vec<Outcome>, Stop> {
        self.memory.open_log();
        let end = stacker::maybe_grow(STACK_LEFT_BYTES, STACK_MORE_BYTES, || {
            self.run(frame, next, stops)
        });
        let log = self.memory.undo();
        Ok(match end? {
            End::Never => Vec::new(),
            End::Split(outcomes) => {
                let whole = |mut outcome: Outcome| {
                    self.memory.renew(&mut outcome.log);
                    self.memory.open_log();
                    self.memory.apply(&log);
                    self.memory.apply(&outcome.log);
                    Outcome { log: self.memory.undo(), ..outcome }
                };
                outcomes.into_iter().map(whole).collect()
            }
            end => vec![Outcome { condition: Data::bit(true), end, log }],
        })
    }

    /// The ends of all ways, one for each place where they end.
    fn gather_arms(
        &mut self,
        frame: &Frame<'m>,
        ways: &[(Data, u32)],
        mut arms: Vec<Vec<Outcome>>,
    ) -> Result<Vec<Outcome>, Stop> {
        let first = arms.iter().flatten().next().map(|outcome| outcome.end.key());
        let is_simple = |outcome: &Outcome| {
            Some(outcome.end.key()) == first && matches!(outcome.condition, Data::Public(1))
        };
        let meets = arms.iter().flatten().all(is_simple);
        let mut all = arms.pop().expect("there is a default");
        if meets {
            // The usual case: all ways meet, so that nothing waits for a condition.
            for ((condition, _), arm) in ways.iter().zip(arms).rev() {
                for outcome in arm {
                    self.add_outcome(frame, condition, outcome, &mut all)?;
                }
            }
            return Ok(all);
        }
        for ((condition, _), arm) in ways.iter().zip(arms).rev() {
            let no = Data::bit(false);
            for outcome in &mut all {
                outcome.condition = self.select(condition, &no, &outcome.condition, 1)?;
            }
            for outcome in arm {
                let own = self.binary(Binary::And, 1, condition, &outcome.condition)?;
                self.add_outcome(
                    frame,
                    condition,
                    Outcome { condition: own, ..outcome },
                    &mut all,
                )?;
            }
        }
        Ok(all)
    }

    /// Adds an end that is reached only where `chosen` holds.
    fn add_outcome(
        &mut self,
        frame: &Frame<'m>,
        chosen: &Data,
        new: Outcome,
        all: &mut Vec<Outcome>,
    ) -> Result<(), Stop> {
        let Some(at) = all.iter().position(|known| known.end.key() == new.end.key()) else {
            all.push(new);
            return Ok(());
        };
        let old = all.swap_remove(at);
        let condition = self.binary(Binary::Or, 1, &old.condition, &new.condition)?;
        self.memory.open_log();
        let end = self.merge(frame, chosen, new, old);
        let log = self.memory.undo();
        all.push(Outcome { condition, end: end?, log });
        Ok(())
    }

    /// Runs on from a block that some ways reached, before those that did not.
    fn go_on(
        &mut self,
        frame: &mut Frame<'m>,
        block: u32,
        until: &[u32],
        all: &mut Vec<Outcome>,
    ) -> Result<(), Stop> {
        let is_it = |outcome: &Outcome| matches!(outcome.end, End::Reached(at, _) if at == block);
        let Some(at) = all.iter().position(is_it) else { return Ok(()) };
        if all.len() == 1 {
            // All are there: no need to do it in an arm.
            return Ok(());
        }
        let Outcome { condition, end, log } = all.swap_remove(at);
        let End::Reached(_, phis) = end else { unreachable!("it was just seen") };
        // Other places where ways wait are stops as well.
        let waiting = all.iter().filter_map(|outcome| match outcome.end {
            End::Reached(at, _) => Some(at),
            _ => None,
        });
        let stops: Vec<u32> = until.iter().copied().chain(waiting).collect();
        self.memory.open_log();
        self.memory.apply(&log);
        let further = self.outcomes(frame, Next::Joined(block, phis), &stops);
        let log = self.memory.undo();
        for outcome in further? {
            let own = self.binary(Binary::And, 1, &condition, &outcome.condition)?;
            self.memory.open_log();
            self.memory.apply(&log);
            self.memory.apply(&outcome.log);
            let log = self.memory.undo();
            let outcome = Outcome { condition: own, log, end: outcome.end };
            self.add_outcome(frame, &condition, outcome, all)?;
        }
        Ok(())
    }

    /// The end of a way that is taken where `condition` holds, and of another that ends at the same
    /// place; memory becomes what a choice between what both left is.
    fn merge(
        &mut self,
        frame: &Frame<'m>,
        condition: &Data,
        mut yes: Outcome,
        mut no: Outcome,
    ) -> Result<End, Stop> {
        // One way may have made cells finer that the other one changed before.
        self.memory.renew(&mut yes.log);
        self.memory.renew(&mut no.log);
        let end = match (yes.end, no.end) {
            (End::Reached(block, a), End::Reached(_, b)) => {
                let phis = &frame.function.blocks[block as usize].phis;
                let mut values = Vec::with_capacity(a.len());
                for ((a, b), phi) in a.iter().zip(&b).zip(phis) {
                    values.push(self.select(condition, a, b, phi.width)?);
                }
                End::Reached(block, values)
            }
            (End::Returned(a), End::Returned(b)) => {
                let width = frame.function.result.width();
                End::Returned(self.select(condition, &a, &b, width)?)
            }
            _ => unreachable!("both end at the same place"),
        };
        self.merge_memory(condition, &yes.log, &no.log)?;
        Ok(end)
    }

    fn merge_memory(&mut self, condition: &Data, yes: &Log, no: &Log) -> Result<(), Stop> {
        let chosen = self.merge_vectors(condition, yes, no)?;
        let changed = yes.cells.keys().chain(no.cells.keys()).copied();
        let mut keys: Vec<(u32, u32)> = changed.filter(|key| !chosen.cells.contains(key)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut done = (u32::MAX, 0);
        // Written when all was looked at: what one way did not change is what lies there now.
        let mut merged = Vec::new();
        for (object, index) in keys {
            if !self.memory.object(object).is_alive || (object == done.0 && index < done.1) {
                continue;
            }
            let granule = self.memory.object(object).granule;
            let (data, cells) = match self.entries([yes, no], object, index)? {
                [Some((a, n)), Some((b, m))] if n == m => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select(condition, &a, &b, width)?, n)
                }
                [Some(_), Some((b, n))] if self.is_undefined(yes, object, index, n) => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select(condition, &Data::Undefined, &b, width)?, n)
                }
                [Some((a, n)), Some(_)] if self.is_undefined(no, object, index, n) => {
                    let width = (u64::from(n) * granule * 8) as u16;
                    (self.select(condition, &a, &Data::Undefined, width)?, n)
                }
                _ => {
                    let a = self.piece(yes, object, index)?;
                    let b = self.piece(no, object, index)?;
                    (self.select(condition, &a, &b, (granule * 8) as u16)?, 1)
                }
            };
            let bytes = u64::from(cells) * granule;
            merged.push((object, u64::from(index) * granule, bytes as u8, data));
            done = (object, index + cells);
            if self.lanes > 1 && self.rehearsal.is_none() {
                self.own_places.push((object, u64::from(index) * granule, bytes));
            }
        }
        for (object, offset, bytes, data) in merged {
            self.memory.put(object, offset, bytes, &data);
        }
        for (object, places, bytes, data) in chosen.all {
            self.scatter(object, &places, bytes, &data)?;
        }
        Ok(())
    }

    /// Whether nothing is known of any of these cells.
    fn is_undefined(&self, log: &Log, object: u32, first: u32, cells: u32) -> bool {
        let mut at = first;
        while at < first + cells {
            match self.memory.entry(log, object, at) {
                Some((Data::Undefined, n)) => at += n,
                _ => return false,
            }
        }
        true
    }

    /// The choices for places that lanes have of their own: all lanes at once.
    fn merge_vectors(&mut self, condition: &Data, yes: &Log, no: &Log) -> Result<Vectors, Stop> {
        let mut all: Vec<(u32, Rc<[i64]>, u64)> = yes.vectors.clone();
        for vector in &no.vectors {
            if !all.contains(vector) {
                all.push(vector.clone());
            }
        }
        all.retain(|(object, ..)| self.memory.object(*object).is_alive);
        if all.is_empty() {
            return Ok(Vectors::default());
        }
        let mut views = Vec::with_capacity(2);
        for log in [yes, no] {
            self.memory.open_log();
            self.memory.apply(log);
            let found: Result<Vec<Option<Data>>, Stop> = all
                .iter()
                .map(|(object, places, bytes)| self.view(*object, places, *bytes))
                .collect();
            drop(self.memory.undo());
            views.push(found?);
        }
        let (no, yes) = (views.pop().unwrap_or_default(), views.pop().unwrap_or_default());
        let mut chosen = Vectors::default();
        for (((object, places, bytes), a), b) in all.into_iter().zip(yes).zip(no) {
            // What is no vector is chosen between cell by cell.
            let (Some(a), Some(b)) = (a, b) else { continue };
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

    /// What lies at places of lanes, not set if none of it is; `None` where one iteration after the
    /// other is run, and it is neither: addresses, or only a part is set.
    fn view(&mut self, object: u32, places: &Rc<[i64]>, bytes: u64) -> Result<Option<Data>, Stop> {
        let is_unset = |place: &i64| {
            let found = self.memory.find(object, *place as u64, bytes as u8);
            matches!(found, Found::Whole(Data::Undefined))
        };
        if places.iter().all(is_unset) {
            return Ok(Some(Data::Undefined));
        }
        match self.gather(object, places, bytes) {
            Err(Stop::Abandon) if self.lanes == 1 => Ok(None),
            found => found.map(Some),
        }
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
