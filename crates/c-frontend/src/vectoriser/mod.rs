//! Loops whose iterations run together, one in each lane.
//!
//! A loop with a pattern (`patterns/`) is first run dry: its body is executed once for all
//! iterations, counters being different in each lane and secrets mere marks, so that nothing is
//! recorded; all places that it reads and writes are kept. If an iteration touches what another
//! writes, the loop goes in order, and its inner loops get their chance. If a public branch differs
//! between iterations, those are done together that take the branch of the first, then those behind
//! them; in order, if that makes too many parts. Otherwise the body is executed for as many
//! iterations at a time as fit a value. So `for i, for j: y[i] += W[i][j] * x[j]` becomes products
//! of whole columns.
//!
//! Lanes are cut and joined as C's arrays say (`emit/lanes.rs`); a place that all iterations write
//! before they read it is each one's own, and holds the last one's value afterwards.

pub(crate) mod combine;
pub(crate) mod counters;
pub(crate) mod reduce;
pub(crate) mod strips;
pub(crate) mod tournament;

use std::rc::Rc;

use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::{Continuation, Frame};
use crate::interpreter::Interpreter;
use crate::patterns::pattern;
use crate::patterns::pattern::Pattern;
use crate::vectoriser::combine::StripResults;
use crate::vectoriser::counters::iterations;

/// Parts of a loop of which each takes its own branch at a public branch.
const PIECES_MAX: u32 = 4;

/// Fewer iterations are not worth a dry run.
const ITERATIONS_MIN: u64 = 4;

/// With loops inside, which may have more.
const OUTER_ITERATIONS_MIN: u64 = 8;

/// A loop that was refused so often is not tried again.
const REFUSALS_MAX: u32 = 3;

/// Iterations of a dry run: keeps its memory small.
const BLOCK: u64 = 1 << 16;

impl<'m> Interpreter<'m> {
    /// Runs a loop in lanes if it can be; `block` is entered from `from`.
    pub(crate) fn in_lanes(
        &mut self,
        frame: &mut Frame<'m>,
        from: u32,
        block: u32,
    ) -> Result<Option<Continuation>, ExecutionStop> {
        let Some(index) = frame.function.shape.header_of[block as usize] else { return Ok(None) };
        let inside = &frame.function.shape.loops[index as usize].contains;
        if self.access.values.scope.lanes > 1
            || self.access.values.scope.dry_run.is_some()
            || inside[from as usize]
        {
            return Ok(None);
        }
        let key = (frame.index, index);
        if self.patterns.refused.get(&key).is_some_and(|count| *count >= REFUSALS_MAX) {
            return Ok(None);
        }
        let function = frame.function;
        let known = self.patterns.known.entry(key);
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
        let before = (
            self.access.values.report.place,
            self.access.values.scope.secret_branches,
            self.calls.depth,
        );
        let done = self.blocks(frame, &pattern, state, count);
        let (next, done) = match done {
            Ok(done) => done,
            Err(ExecutionStop::Abandon) => unreachable!("what passed a dry run can be run"),
            Err(stop) => return Err(stop),
        };
        (
            self.access.values.report.place,
            self.access.values.scope.secret_branches,
            self.calls.depth,
        ) = before;
        if done < count {
            *self.patterns.refused.entry(key).or_default() += 1;
        }
        if done == 0 {
            return Ok(None);
        }
        if pattern.exit.0 == pattern.header || done < count {
            // The header itself finds that there is nothing left to do, or goes on in order.
            return Ok(Some(Continuation::Joined(pattern.header, next)));
        }
        let values = self.incoming(frame, pattern.exit.0, pattern.exit.1);
        Ok(Some(Continuation::Joined(pattern.exit.1, values)))
    }

    /// Runs blocks of iterations; returns the carried values after them and how many there were.
    fn blocks(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        mut state: Vec<CellValue>,
        count: u64,
    ) -> Result<(Vec<CellValue>, u64), ExecutionStop> {
        let (mut done, mut pieces) = (0, 0);
        while done < count {
            let mut block = (count - done).min(BLOCK);
            let lanes = loop {
                let is_part = pieces > 0;
                match self.dry_run_block(frame, pattern, &state, (block, is_part))? {
                    Ok(lanes) => break lanes,
                    Err(Some(same)) if pieces < PIECES_MAX => (block, pieces) = (same, pieces + 1),
                    Err(_) => return Ok((state, done)),
                }
            };
            let mut parts = StripResults::new(pattern);
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
}
