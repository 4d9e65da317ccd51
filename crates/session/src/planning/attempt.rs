//! One plan for a stated number of frames.

use phineus_bytecode::{CostModel, Description, FileKind, Hash, PlanDescription};
use phineus_plan::{Lookahead, PlanOptions, Scratch, plan};
use phineus_protocols::spdz::Masks;

use super::{PREFETCH_NS, planner_memory};
use crate::failure::Failure;
use crate::memory_budget::BudgetParameters;
use crate::memory_budget::PlanFigures;
use crate::program_file::ProgramFile;
use crate::protocol::Protocol;
use crate::traced::TracedFile;

/// A plan whose budget is not known to fit yet.
pub(super) struct PlanAttempt {
    pub(super) file: ProgramFile,
    pub(super) description: Description,
    pub(super) hash: Hash,
    pub(super) frame_count: u64,
}

impl PlanAttempt {
    pub(super) fn plan(&self) -> &PlanDescription {
        self.description.plan.as_ref().expect("the planner adds it")
    }
}

pub(super) fn plan_once(
    traced: &TracedFile,
    (protocol, masks): (Protocol, Masks),
    situation: &BudgetParameters,
    (frame_count, spare_frames): (u64, u64),
    scratch: &Scratch,
) -> Result<PlanAttempt, Failure> {
    let options = PlanOptions {
        protocol: protocol.name().to_owned(),
        optimisation: situation.variant.optimisation,
        port_order: protocol.port_order(),
        memory_limit_bytes: situation.limit_bytes,
        region_frames: PlanFigures::region_frames(&traced.description, situation),
        frame_count,
        computing: Some(traced.computing as u16),
        layout: situation.layout_of(&traced.description),
        page_wires: situation.page_wires(),
        lookahead: Lookahead { time_ns: PREFETCH_NS, frames: spare_frames },
        planner_memory_bytes: planner_memory(situation)?,
    };
    let terms = situation.cost_terms(masks);
    attempt(traced, &options, &mut protocol.costs(&terms), scratch)
}

pub(super) fn attempt(
    traced: &TracedFile,
    options: &PlanOptions,
    costs: &mut impl CostModel,
    scratch: &Scratch,
) -> Result<PlanAttempt, Failure> {
    let (output, notes) = (scratch.plan_file(), scratch.file());
    let (file, _, written) = plan(&mut traced.file.reader()?, output, notes, options, costs)?;
    let file = ProgramFile::new_block(file, traced.file.program());
    let reader = file.reader()?;
    debug_assert_eq!(reader.kind(), FileKind::Planned);
    Ok(PlanAttempt {
        description: reader.description().clone(),
        frame_count: reader.frame_count() as u64,
        hash: written.hash,
        file,
    })
}
