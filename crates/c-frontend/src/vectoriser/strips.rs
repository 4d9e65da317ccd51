//! Runs of a loop's body for many iterations at once: a dry run first, then strips of lanes.

use crate::data::lanes::last_lane;
use crate::data::{CellValue, fold};
use crate::evaluate::report::ExecutionStop;
use crate::frame::{ExecutionOutcome, Frame, LoopBody};
use crate::interpreter::Interpreter;
use crate::ir::{IrOperand, Terminator};
use crate::patterns::pattern::{Pattern, Recurrence};
use crate::vectoriser::combine::StripResults;
use crate::vectoriser::counters::{counted, stepped};

/// Loops inside each other that a product of matrices takes.
const PRODUCT_LOOPS: u32 = 3;

/// Wires of a value.
const WIRES: u64 = phineus_bytecode::limits::VALUE_WIRES_MAX as u64;

impl<'m> Interpreter<'m> {
    /// Executes a block of iterations without recording; returns how many may run together, or how
    /// many of the first take the same branch where a public branch differs between them. A part of
    /// a loop runs also if there is nothing to compute in it, or if it is one iteration.
    pub(super) fn dry_run_block(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: &[CellValue],
        (count, is_part): (u64, bool),
    ) -> Result<Result<u64, Option<u64>>, ExecutionStop> {
        let registers = frame.registers.clone();
        let before = (
            self.access.values.report.place,
            self.access.values.scope.secret_branches,
            self.calls.depth,
            self.progress.steps,
        );
        let constants = self.access.values.emit.spread_count();
        self.access.values.start_dry_run(self.access.memory.object_count());
        self.access.memory.open_log();
        let end = self.body(frame, pattern, state, 0, count);
        let challengers = pattern.arg_min_max.iter().flat_map(|arg_min_max| &arg_min_max.members);
        let fits = challengers.map(|(_, operand)| frame.get(*operand)).all(|data| {
            data.is_secret() || matches!(data, CellValue::Public(_) | CellValue::Spread(_))
        });
        drop(self.access.memory.undo());
        let dry_run = self.access.values.end_dry_run();
        frame.registers = registers;
        (
            self.access.values.report.place,
            self.access.values.scope.secret_branches,
            self.calls.depth,
            self.progress.steps,
        ) = before;
        debug_assert_eq!(
            constants,
            self.access.values.emit.spread_count(),
            "a dry run records nothing"
        );
        match end {
            Err(ExecutionStop::Abandon) => Ok(Err(dry_run.same_branch.map(u64::from))),
            Err(stop) => Err(stop),
            Ok(_) if !fits || !(is_part || dry_run.is_worth()) => Ok(Err(None)),
            Ok(_) if count > 1 && dry_run.has_conflict(&self.access.memory) => Ok(Err(None)),
            Ok(_) => Ok(Ok(1 << (WIRES / u64::from(dry_run.widest())).max(1).ilog2())),
        }
    }

    /// Runs some iterations together, and keeps what they contribute.
    pub(super) fn strip(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: &[CellValue],
        first: u64,
        lanes: u64,
        parts: &mut StripResults,
    ) -> Result<(), ExecutionStop> {
        let values = self.body(frame, pattern, state, first, lanes)?;
        for (at, carried) in pattern.carried.iter().enumerate() {
            if matches!(carried, Recurrence::Reduction(..)) {
                parts.reductions[at].push((values[at].clone(), lanes as u32));
            }
        }
        for (arg_min_max, parts) in pattern.arg_min_max.iter().zip(&mut parts.arg_min_max) {
            let challengers = arg_min_max.members.iter().map(|(_, operand)| frame.get(*operand));
            parts.push((challengers.collect(), lanes as u32));
        }
        self.access.keep_last(lanes as u32);
        Ok(())
    }

    /// Executes the body for `lanes` iterations from `first` on; returns what the header's phis
    /// would become.
    fn body(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: &[CellValue],
        first: u64,
        lanes: u64,
    ) -> Result<Vec<CellValue>, ExecutionStop> {
        let function = frame.function;
        let Terminator::Branch(_, yes, no) = &function.blocks[pattern.exit.0 as usize].terminator
        else {
            unreachable!("the pattern has a branch there");
        };
        let stay = if pattern.condition.continues_if { *yes } else { *no };
        let skipped =
            pattern.arg_min_max.iter().flat_map(|arg_min_max| arg_min_max.skipped.clone());
        let body = LoopBody { forced: Some((pattern.exit.0, stay)), skipped: skipped.collect() };
        let outer = std::mem::replace(&mut frame.body, body);
        let outer_lanes = std::mem::replace(&mut self.access.values.scope.lanes, lanes as u32);
        let index = function.shape.header_of[pattern.header as usize].expect("it has a loop");
        let is_deep = function.shape.loops[index as usize].deepest >= PRODUCT_LOOPS;
        let outer_delays = std::mem::replace(&mut self.access.values.emit.delays_products, is_deep);
        let phis = pattern
            .carried
            .iter()
            .zip(state)
            .map(|(carried, start)| match carried {
                Recurrence::Counter(step) => counted(frame, start, *step, first, lanes),
                Recurrence::Reduction(op, width) => CellValue::Public(fold::identity(*op, *width)),
                Recurrence::ArgMinMax => CellValue::Undefined,
            })
            .collect();
        self.access.values.scope.strips += 1;
        let end = self.run_body(frame, pattern.header, phis);
        self.access.values.scope.strips -= 1;
        self.access.values.scope.lanes = outer_lanes;
        self.access.values.emit.delays_products = outer_delays;
        frame.body = outer;
        match end? {
            ExecutionOutcome::Reached(_, values) => Ok(values),
            _ if self.access.values.scope.dry_run.is_some() => Err(ExecutionStop::Abandon),
            _ => unreachable!("a body that passed a dry run goes round"),
        }
    }

    /// The carried values after a block of iterations.
    pub(super) fn after(
        &mut self,
        frame: &mut Frame<'m>,
        pattern: &Pattern,
        state: Vec<CellValue>,
        count: u64,
        parts: StripResults,
    ) -> Result<Vec<CellValue>, ExecutionStop> {
        let mut next = self.access.values.combine(frame, pattern, &state, parts)?;
        for (at, carried) in pattern.carried.iter().enumerate() {
            if let Recurrence::Counter(step) = carried {
                next[at] = stepped(frame, &state[at], *step, count);
            }
        }
        // What is used behind the loop is the last iteration's.
        let phis = &frame.function.blocks[pattern.header as usize].phis;
        let results: Vec<(u32, CellValue)> = phis
            .iter()
            .zip(&next)
            .filter_map(|(phi, value)| match phi.from(pattern.latch) {
                IrOperand::Register(register) => Some((register, value.clone())),
                IrOperand::Constant(_) => None,
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
