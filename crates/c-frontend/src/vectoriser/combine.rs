//! Combines the results of iterations that ran together into the values that their loop carries.
//!
//! Reductions add up lane by lane first and between lanes last; an arg-min or arg-max is a
//! tournament between neighbours, so that of equals the one wins that would in order.

use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::patterns::pattern::{Pattern, Recurrence};

/// Contributions of strips, with how many iterations were in each.
pub(crate) struct StripResults {
    /// By phi.
    pub(crate) reductions: Vec<Vec<(CellValue, u32)>>,
    /// By arg-min or arg-max: the challengers of its members.
    pub(crate) arg_min_max: Vec<Vec<(Vec<CellValue>, u32)>>,
}

impl StripResults {
    pub(crate) fn new(pattern: &Pattern) -> StripResults {
        StripResults {
            reductions: vec![Vec::new(); pattern.carried.len()],
            arg_min_max: vec![Vec::new(); pattern.arg_min_max.len()],
        }
    }
}

impl OperationEvaluator {
    /// The carried values with all contributions.
    pub(crate) fn combine(
        &mut self,
        frame: &Frame<'_>,
        pattern: &Pattern,
        state: &[CellValue],
        parts: StripResults,
    ) -> Result<Vec<CellValue>, ExecutionStop> {
        let mut next = state.to_vec();
        for (at, parts) in parts.reductions.into_iter().enumerate() {
            if let Recurrence::Reduction(op, width) = pattern.carried[at] {
                next[at] = self.reduce(op, width, state[at].clone(), parts)?;
            }
        }
        let phis = &frame.function.blocks[pattern.header as usize].phis;
        for (arg_min_max, parts) in pattern.arg_min_max.iter().zip(parts.arg_min_max) {
            let widths: Vec<u16> =
                arg_min_max.members.iter().map(|(member, _)| phis[*member].width).collect();
            let best: Vec<CellValue> =
                arg_min_max.members.iter().map(|(member, _)| state[*member].clone()).collect();
            let winners = self.decide(arg_min_max, &widths, best, parts)?;
            for ((member, _), winner) in arg_min_max.members.iter().zip(winners) {
                next[*member] = winner;
            }
        }
        Ok(next)
    }
}
