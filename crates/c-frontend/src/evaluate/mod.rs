//! The evaluator: operations on [`CellValue`]. Public ones are computed, secret ones recorded.
//!
//! It knows addresses as data, but not what lies there (`access/`).

pub(crate) mod addresses;
pub(crate) mod arithmetic;
pub(crate) mod conditions;
pub(crate) mod dry_run;
pub(crate) mod elements;
pub(crate) mod float;
pub(crate) mod index;
pub(crate) mod lanes;
pub(crate) mod pick;
pub(crate) mod report;
pub(crate) mod scope;
pub(crate) mod select;
pub(crate) mod vectors;
pub(crate) mod wide;

use crate::data::CellValue;
use crate::emit::Emitter;
use crate::evaluate::dry_run::DryRun;
use crate::evaluate::report::{ExecutionStop, Report};
use crate::evaluate::scope::EnclosingRegions;
use crate::ir::InstructionLocation;

/// Evaluates operations on data, records those on secrets and reports mistakes.
pub(crate) struct OperationEvaluator {
    pub(crate) emit: Emitter,
    pub(crate) scope: EnclosingRegions,
    pub(crate) report: Report,
}

impl OperationEvaluator {
    pub(crate) fn new(emit: Emitter, report: Report) -> OperationEvaluator {
        OperationEvaluator { emit, scope: EnclosingRegions::default(), report }
    }

    /// Reports a mistake at the current place; the program goes on with a value that is none. A dry
    /// run ends there.
    pub(crate) fn error(
        &mut self,
        message: impl Into<String>,
        remedy: &str,
    ) -> Result<CellValue, ExecutionStop> {
        match self.scope.dry_run {
            Some(_) => Err(ExecutionStop::Abandon),
            None => self.report.error(message.into(), remedy),
        }
    }

    /// Goes on at a place of the program.
    pub(crate) fn go_to(&mut self, place: InstructionLocation) {
        if self.emit.notes_sources && self.report.place != place {
            self.emit.tracer.state_source(self.report.file(place), place.line);
        }
        self.report.place = place;
    }

    /// Notes something once about the current place.
    pub(crate) fn note(&mut self, message: String, remedy: &str) {
        if self.scope.dry_run.is_none() {
            self.report.note(message, remedy);
        }
    }

    /// From now on nothing is recorded, and objects from `first_own` on are the dry run's own.
    pub(crate) fn start_dry_run(&mut self, first_own: u32) {
        self.scope.dry_run = Some(DryRun::new(self.scope.secret_branches, first_own));
        self.emit.is_dry_run = true;
    }

    /// Ends the dry run and returns its accesses and widths.
    pub(crate) fn end_dry_run(&mut self) -> DryRun {
        self.emit.is_dry_run = false;
        self.scope.dry_run.take().expect("it was begun")
    }
}
