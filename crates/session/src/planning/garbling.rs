//! The plan of what is garbled beside a run.

use phineus_bytecode::PortOrder;
use phineus_plan::limits::FRAMES_MIN;
use phineus_plan::{Lookahead, PlanOptions, Scratch, plan};
use phineus_protocols::bmr::{GarblingCosts, GarblingProgram};
use phineus_protocols::garbled;

use crate::failure::Failure;
use crate::garbling::{PROTOCOL, described_beside};
use crate::memory_budget::{BudgetParameters, PlanFigures};
use crate::planned::{GarblingPlan, PAGE_WIRES};
use crate::program_file::ProgramFile;
use crate::traced::TracedFile;

/// Spare frames of the garbling pass, and how long before its need a page is asked for.
const LOOKAHEAD: Lookahead = Lookahead { time_ns: 20_000_000, frames: 32 };

/// Plans what is garbled beside a run, if anything is.
pub struct GarblingPlanner<'a> {
    program: Option<ProgramFile>,
    situation: &'a BudgetParameters,
    planner_memory_bytes: u64,
    scratch: &'a Scratch,
}

impl<'a> GarblingPlanner<'a> {
    /// Derives the garbling program of `ordered`, a program with sharings; `is_garbled` says that
    /// another block of the same program has garbled values.
    pub fn new(
        (ordered, is_garbled): (Option<&TracedFile>, bool),
        situation: &'a BudgetParameters,
        planner_memory_bytes: u64,
        scratch: &'a Scratch,
    ) -> Result<GarblingPlanner<'a>, Failure> {
        let program = match ordered {
            None => None,
            Some(ordered) => {
                let program = &mut ordered.file.reader()?;
                let (file, written) = GarblingProgram::derive(program, scratch.file())?;
                let described = described_beside(&ordered.file);
                let is_there = is_garbled || written.instruction_count > 0;
                is_there.then(|| ProgramFile::new_block(file, described))
            }
        };
        Ok(GarblingPlanner { program, situation, planner_memory_bytes, scratch })
    }

    /// Its plan with at most so much for frames, and never less than the least; `None` if nothing
    /// is garbled.
    pub fn plan(&self, frames_bytes: u64) -> Result<Option<GarblingPlan>, Failure> {
        let Some(program) = &self.program else { return Ok(None) };
        let page_bytes = PAGE_WIRES * 16;
        let options = PlanOptions {
            protocol: PROTOCOL.to_owned(),
            optimisation: Default::default(),
            port_order: PortOrder::Given,
            memory_limit_bytes: self.situation.limit_bytes,
            region_frames: 0,
            frame_count: (frames_bytes / page_bytes).max(FRAMES_MIN),
            computing: None,
            layout: garbled::layout(),
            page_wires: PAGE_WIRES,
            lookahead: LOOKAHEAD,
            planner_memory_bytes: self.planner_memory_bytes,
        };
        let (parties, scale) = (self.situation.parties, self.situation.batch_scale());
        let mut costs = GarblingCosts::new(parties).with_scale(scale);
        let (output, notes) = (self.scratch.plan_file(), self.scratch.file());
        let (file, figures, _) = plan(&mut program.reader()?, output, notes, &options, &mut costs)?;
        let file = ProgramFile::new_block(file, program.program());
        Ok(Some(GarblingPlan::new(file, &figures, (parties, scale))))
    }

    /// Returns the plan if its frames take at most half of the remaining memory, or else another
    /// one.
    pub fn shrunk(
        &self,
        garbling: Option<GarblingPlan>,
        figures: PlanFigures,
    ) -> Result<Option<GarblingPlan>, Failure> {
        let Some(garbling) = garbling else { return Ok(None) };
        let garbling_bytes = garbling.bytes - garbling.needs.frames_bytes();
        let rest = PlanFigures { frames: FRAMES_MIN, garbling_bytes, ..figures };
        let rest_bytes = self.situation.budget(rest).running();
        let frames_bytes = self.situation.limit_bytes.saturating_sub(rest_bytes) / 2;
        let least_bytes = FRAMES_MIN * PAGE_WIRES * 16;
        match garbling.needs.frames_bytes() <= frames_bytes.max(least_bytes) {
            true => Ok(Some(garbling)),
            false => self.plan(frames_bytes),
        }
    }
}
