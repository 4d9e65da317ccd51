//! Loops whose iterations run together, one in each lane.
//!
//! A loop with a pattern (`pattern.rs`) is first rehearsed: its body is executed once for all
//! iterations, counters being different in each lane and secrets mere marks, so that nothing is
//! recorded; all places that it reads and writes are kept. If an iteration touches what another
//! writes, the loop goes in order, and its inner loops get their chance. If a public branch differs
//! between iterations, those are done together that go the way of the first, then those behind
//! them; in order, if that makes too many parts. Otherwise the body is executed for as many
//! iterations at a time as fit a value. So `for i, for j: y[i] += W[i][j] * x[j]` becomes products
//! of whole columns.
//!
//! Lanes are cut and joined as C's arrays say (`pack.rs`); a place that all iterations write before
//! they read it is each one's own, and holds the last one's value afterwards.

pub(crate) mod combine;
pub(crate) mod pattern;

use std::collections::HashMap;
use std::rc::Rc;

use crate::data::fold;
use crate::data::{Data, mask};
use crate::evaluate::dry_run::Rehearsal;
use crate::interpreter::{End, Frame, Machine, Next, Stop};
use crate::ir::Terminator;
use crate::vectoriser::combine::Parts;
use crate::vectoriser::pattern::{Carried, Pattern, Step, pattern};

/// Iterations of a rehearsal: keeps its memory small.
const BLOCK: u64 = 1 << 16;
/// Parts of a loop of which each takes its own way at a public branch.
const PIECES_MAX: u32 = 4;
/// Fewer iterations are not worth a rehearsal.
const ITERATIONS_MIN: u64 = 4;
/// With loops inside, which may have more.
const OUTER_ITERATIONS_MIN: u64 = 8;
/// Loops inside each other that a product of matrices takes.
const PRODUCT_LOOPS: u32 = 3;
/// A loop that was refused so often is not tried again.
const REFUSALS_MAX: u32 = 3;
/// Wires of a value.
const WIRES: u64 = phineus_bytecode::limits::VALUE_WIRES_MAX as u64;

/// Patterns of loops by function and loop.
pub(crate) type Patterns = HashMap<(u32, u32), Option<Rc<Pattern>>>;

/// How the body of a loop is run once.
#[derive(Clone, Default)]
pub(crate) struct Body {
    /// The block with the way out, and where to go instead.
    pub(crate) forced: Option<(u32, u32)>,
    /// Registers of a contest, which are not computed.
    pub(crate) skipped: Vec<u32>,
}

impl<'m> Machine<'m> {
    /// Runs a loop in lanes if it can be; `block` is entered from `from`.
    pub(crate) fn in_lanes(
        &mut self,
        frame: &mut Frame<'m>,
        from: u32,
        block: u32,
    ) -> Result<Option<Next>, Stop> {
        let Some(index) = frame.function.shape.header_of[block as usize] else { return Ok(None) };
        let inside = &frame.function.shape.loops[index as usize].contains;
        if self.lanes > 1 || self.rehearsal.is_some() || inside[from as usize] {
            return Ok(None);
        }
        let key = (frame.index, index);
        if self.refused_loops.get(&key).is_some_and(|count| *count >= REFUSALS_MAX) {
            return Ok(None);
        }
        let function = frame.function;
        let known = self.patterns.entry(key);
        let Some(pattern) = known.or_insert_with(|| pattern(function, index).map(Rc::new)).clone()
        else {
            return Ok(None);
        };
        let state = self.incoming(frame, from, block);
        let Some(count) = iterations(frame, &pattern, &state) else { return Ok(None) };
        let has_inner = function.shape.loops[index as usize].has_inner;
        let least = if has_inner { OUTER_ITERATIONS_MIN } else { ITERATIONS_MIN };
        if count < least {
            return Ok(None);
        }
        let before = (self.place, self.arms, self.calls);
        let done = self.blocks(frame, &pattern, state, count);
        let (next, done) = match done {
            Ok(done) => done,
            Err(Stop::Abandon) => unreachable!("what was rehearsed can be run"),
            Err(stop) => return Err(stop),
        };
        (self.place, self.arms, self.calls) = before;
        if done < count {
            *self.refused_loops.entry(key).or_default() += 1;
        }
        if done == 0 {
            return Ok(None);
        }
        if pattern.exit.0 == pattern.header || done < count {
            // The header itself finds that there is nothing left to do, or goes on in order.
            return Ok(Some(Next::Joined(pattern.header, next)));
        }
        let values = self.incoming(frame, pattern.exit.0, pattern.exit.1);
        Ok(Some(Next::Joined(pattern.exit.1, values)))
    }

    /// Runs blocks of iterations; returns the carried values after them and how many there were.
    fn blocks(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        mut state: Vec<Data>,
        count: u64,
    ) -> Result<(Vec<Data>, u64), Stop> {
        let (mut done, mut pieces) = (0, 0);
        while done < count {
            let mut block = (count - done).min(BLOCK);
            let lanes = loop {
                let is_part = pieces > 0;
                match self.rehearse(frame, pattern, &state, (block, is_part))? {
                    Ok(lanes) => break lanes,
                    Err(Some(same)) if pieces < PIECES_MAX => (block, pieces) = (same, pieces + 1),
                    Err(_) => return Ok((state, done)),
                }
            };
            let mut parts = Parts::new(pattern);
            let mut at = 0;
            while at < block {
                let strip = (block - at).min(lanes);
                self.strip(frame, pattern, &state, at, strip, &mut parts)?;
                at += strip;
            }
            state = self.after(frame, pattern, state, block, parts)?;
            done += block;
        }
        Ok((state, done))
    }

    /// Executes a block of iterations without recording; returns how many may run together, or how
    /// many of the first take the same way where a public branch differs between them. A part of a
    /// loop runs also if there is nothing to compute in it, or if it is one iteration.
    fn rehearse(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: &[Data],
        (count, is_part): (u64, bool),
    ) -> Result<Result<u64, Option<u64>>, Stop> {
        let registers = frame.registers.clone();
        let before = (self.place, self.arms, self.calls, self.steps);
        let constants = self.spreads.len();
        self.rehearsal = Some(Rehearsal::new(self.arms, self.memory.object_count()));
        self.memory.open_log();
        let end = self.body(frame, pattern, state, 0, count);
        let challengers = pattern.contests.iter().flat_map(|contest| &contest.members);
        let fits = challengers
            .map(|(_, operand)| frame.get(*operand))
            .all(|data| data.is_secret() || matches!(data, Data::Public(_) | Data::Spread(_)));
        drop(self.memory.undo());
        let rehearsal = self.rehearsal.take().expect("it was begun");
        frame.registers = registers;
        (self.place, self.arms, self.calls, self.steps) = before;
        debug_assert_eq!(constants, self.spreads.len(), "a rehearsal records nothing");
        match end {
            Err(Stop::Abandon) => Ok(Err(rehearsal.same_way.map(u64::from))),
            Err(stop) => Err(stop),
            Ok(_) if !fits || !(is_part || rehearsal.is_worth()) => Ok(Err(None)),
            Ok(_) if count > 1 && rehearsal.has_conflict(&self.memory) => Ok(Err(None)),
            Ok(_) => Ok(Ok(1 << (WIRES / u64::from(rehearsal.widest())).max(1).ilog2())),
        }
    }

    /// Runs some iterations together, and keeps what they contribute.
    fn strip(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: &[Data],
        first: u64,
        lanes: u64,
        parts: &mut Parts,
    ) -> Result<(), Stop> {
        let values = self.body(frame, pattern, state, first, lanes)?;
        for (at, carried) in pattern.carried.iter().enumerate() {
            if matches!(carried, Carried::Reduction(..)) {
                parts.reductions[at].push((values[at].clone(), lanes as u32));
            }
        }
        for (contest, parts) in pattern.contests.iter().zip(&mut parts.contests) {
            let challengers = contest.members.iter().map(|(_, operand)| frame.get(*operand));
            parts.push((challengers.collect(), lanes as u32));
        }
        self.keep_last(lanes as u32);
        Ok(())
    }

    /// Executes the body for `lanes` iterations from `first` on; returns what the header's phis
    /// would become.
    fn body(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: &[Data],
        first: u64,
        lanes: u64,
    ) -> Result<Vec<Data>, Stop> {
        let function = frame.function;
        let Terminator::Branch(_, yes, no) = &function.blocks[pattern.exit.0 as usize].terminator
        else {
            unreachable!("the pattern has a branch there");
        };
        let stay = if pattern.continues_if { *yes } else { *no };
        let skipped = pattern.contests.iter().flat_map(|contest| contest.skipped.clone());
        let body = Body { forced: Some((pattern.exit.0, stay)), skipped: skipped.collect() };
        let outer = std::mem::replace(&mut frame.body, body);
        let outer_lanes = std::mem::replace(&mut self.lanes, lanes as u32);
        let index = function.shape.header_of[pattern.header as usize].expect("it has a loop");
        let is_deep = function.shape.loops[index as usize].deepest >= PRODUCT_LOOPS;
        let outer_delays = std::mem::replace(&mut self.delays, is_deep);
        let phis = pattern
            .carried
            .iter()
            .zip(state)
            .map(|(carried, start)| match carried {
                Carried::Counter(step) => counted(frame, start, *step, first, lanes),
                Carried::Reduction(op, width) => Data::Public(fold::identity(*op, *width)),
                Carried::Contest => Data::Undefined,
            })
            .collect();
        self.strips += 1;
        let end = self.run_body(frame, pattern.header, phis);
        self.strips -= 1;
        self.lanes = outer_lanes;
        self.delays = outer_delays;
        frame.body = outer;
        match end? {
            End::Reached(_, values) => Ok(values),
            _ if self.rehearsal.is_some() => Err(Stop::Abandon),
            _ => unreachable!("a rehearsed body goes round"),
        }
    }

    /// What the loop carries after a block of iterations.
    fn after(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: Vec<Data>,
        count: u64,
        parts: Parts,
    ) -> Result<Vec<Data>, Stop> {
        let mut next = self.combine(frame, pattern, &state, parts)?;
        for (at, carried) in pattern.carried.iter().enumerate() {
            if let Carried::Counter(step) = carried {
                next[at] = stepped(frame, &state[at], *step, count);
            }
        }
        // What is used behind the loop is the last iteration's.
        let phis = &frame.function.blocks[pattern.header as usize].phis;
        let results: Vec<(u32, Data)> = phis
            .iter()
            .zip(&next)
            .filter_map(|(phi, value)| match phi.from(pattern.latch) {
                crate::ir::Operand::Register(register) => Some((register, value.clone())),
                crate::ir::Operand::Constant(_) => None,
            })
            .collect();
        for register in frame.registers.iter_mut() {
            if let Some(last) = last_lane(register) {
                *register = last;
            }
        }
        for (register, value) in results {
            frame.registers[register as usize] = value;
        }
        Ok(next)
    }
}

/// The last lane of what differs between lanes.
pub(crate) fn last_lane(data: &Data) -> Option<Data> {
    match data {
        Data::Spread(values) => values.last().map(|value| Data::Public(*value)),
        Data::Places(object, places) => places.last().map(|at| Data::Pointer(*object, *at)),
        Data::Secret(value) if value.lanes() > 1 => {
            Some(Data::Lane(value.clone(), value.lanes() - 1))
        }
        Data::Chosen(choices) => {
            let last = |data: &Data| last_lane(data).unwrap_or_else(|| data.clone());
            Some(Data::Chosen(choices.iter().map(|(bit, at)| (last(bit), last(at))).collect()))
        }
        Data::Indexed(indexed) => {
            let mut last = (**indexed).clone();
            for term in &mut last.terms {
                term.index = last_lane(&term.index).unwrap_or_else(|| term.index.clone());
            }
            Some(Data::Indexed(Rc::new(last)))
        }
        Data::Many(parts) if parts.iter().any(|part| last_lane(part).is_some()) => {
            let last = |part: &Data| last_lane(part).unwrap_or_else(|| part.clone());
            Some(Data::Many(parts.iter().map(last).collect()))
        }
        Data::Parts(parts) if parts.iter().any(|(part, _)| last_lane(part).is_some()) => {
            let last = |part: &Data| last_lane(part).unwrap_or_else(|| part.clone());
            Some(Data::Parts(parts.iter().map(|(part, bytes)| (last(part), *bytes)).collect()))
        }
        _ => None,
    }
}

/// A counter in `lanes` iterations from `first` on.
fn counted(frame: &Frame<'_>, start: &Data, step: Step, first: u64, lanes: u64) -> Data {
    if lanes == 1 {
        return stepped(frame, start, step, first);
    }
    let each = (first..first + lanes).map(|k| stepped(frame, start, step, k));
    match start {
        Data::Pointer(object, _) => {
            let places = each.map(|data| match data {
                Data::Pointer(_, at) => at,
                _ => 0,
            });
            Data::Places(*object, places.collect())
        }
        _ => {
            let values = each.map(|data| match data {
                Data::Public(value) => value,
                _ => 0,
            });
            Data::Spread(values.collect())
        }
    }
}

/// A counter after some steps.
fn stepped(frame: &Frame<'_>, start: &Data, step: Step, times: u64) -> Data {
    match (start, step) {
        (Data::Public(value), Step::Add(operand, width)) => match frame.get(operand) {
            Data::Public(step) => {
                let all = value.wrapping_add(step.wrapping_mul(u128::from(times)));
                Data::Public(all & mask(width))
            }
            _ => Data::Poison,
        },
        (Data::Pointer(object, at), Step::Bytes(bytes)) => {
            Data::Pointer(*object, at.wrapping_add(bytes.wrapping_mul(times as i64)))
        }
        _ => Data::Poison,
    }
}

/// How often the loop runs, if that is public and all counters are.
fn iterations(frame: &Frame<'_>, pattern: &Pattern, state: &[Data]) -> Option<u64> {
    for (carried, start) in pattern.carried.iter().zip(state) {
        let fits = match carried {
            Carried::Counter(_) => !matches!(stepped_of(frame, carried, start), Data::Poison),
            Carried::Reduction(..) | Carried::Contest => {
                start.is_secret() || matches!(start, Data::Public(_))
            }
        };
        if !fits {
            return None;
        }
    }
    let Carried::Counter(step) = pattern.carried[pattern.counter] else { return None };
    let number = |data: Data| match data {
        Data::Public(value) => Some(value),
        Data::Pointer(_, at) => Some(fold::place(at)),
        _ => None,
    };
    let bound_data = frame.get(pattern.bound);
    let start = &state[pattern.counter];
    match (start, &bound_data) {
        (Data::Public(_), Data::Public(_)) => {}
        (Data::Pointer(a, _), Data::Pointer(b, _)) if a == b => {}
        _ => return None,
    }
    let bound = number(bound_data)?;
    let mut count = 0u64;
    loop {
        let times = if pattern.is_stepped { count + 1 } else { count };
        let value = number(stepped(frame, start, step, times))?;
        let (a, b) = if pattern.is_bound_first { (bound, value) } else { (value, bound) };
        let goes_on = fold::compare(pattern.compare, pattern.width, a, b) == pattern.continues_if;
        let is_at_end = pattern.exit.0 != pattern.header;
        if !goes_on {
            return Some(count + u64::from(is_at_end));
        }
        count += 1;
        if count > u64::from(u32::MAX) {
            return None;
        }
    }
}

fn stepped_of(frame: &Frame<'_>, carried: &Carried, start: &Data) -> Data {
    match carried {
        Carried::Counter(step) => stepped(frame, start, *step, 1),
        _ => Data::Poison,
    }
}
