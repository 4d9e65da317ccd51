//! A program that executes many operations without one on a secret is assumed not to end.
//!
//! What it does not protect against: a public condition that never comes to its end in a loop that
//! computes on secrets.

use crate::evaluate::report::ExecutionStop;
use crate::interpreter::Interpreter;
use crate::ir::InstructionLocation;

/// Steps of a program: a day's work, so that one that never ends is told so.
const STEPS_MAX: u64 = 1 << 40;

/// Steps after which it is looked whether any operation on secrets was recorded meanwhile; if not,
/// the program is taken not to end. They take about half a minute.
const PUBLIC_STEPS_MAX: u64 = 1 << 28;

impl Interpreter<'_> {
    /// Refuses a program that does not end, as far as can be told.
    #[inline]
    pub(crate) fn check_progress(
        &mut self,
        place: InstructionLocation,
    ) -> Result<(), ExecutionStop> {
        self.access.check_budget()?;
        if self.progress.steps <= self.progress.steps_seen + PUBLIC_STEPS_MAX {
            return Ok(());
        }
        let recorded = self.access.values.emit.tracer.instruction_count();
        let is_quiet = recorded == self.progress.recorded_seen;
        (self.progress.steps_seen, self.progress.recorded_seen) = (self.progress.steps, recorded);
        if !is_quiet && self.progress.steps <= STEPS_MAX {
            return Ok(());
        }
        self.access.values.report.place = place;
        let what = match is_quiet {
            true => {
                format!("this has not ended after {PUBLIC_STEPS_MAX} operations on public values")
            }
            false => format!("this has not ended after {STEPS_MAX} operations"),
        };
        self.access
            .values
            .error(what, "see that the loop comes to its end, or give it a smaller bound")?;
        Err(ExecutionStop::Fatal)
    }
}
