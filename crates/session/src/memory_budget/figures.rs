//! [`PlanFigures`]: figures of a plan that memory depends on.

use phineus_bytecode::{Description, PlanDescription};
use phineus_correlated::demand::BatchScale;
use phineus_engine::{PermutationPeak, REGION_PAGE_BYTES, Regions};
use phineus_plan::limits::FRAMES_MIN;
use phineus_protocols::batch_scale;
use phineus_protocols::bmr::costs::totals::SCRATCH_BYTES;
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;

use super::{BudgetParameters, INDEX_ENTRY_BYTES};
use crate::failure::Failure;
use crate::program_file::ProgramFile;
use crate::protocol::{PreprocessingFigures, Protocol};

/// The fewest pages of regions in memory if not all are.
const REGION_FRAMES_MIN: u64 = 16;

/// The figures of a plan that memory depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanFigures {
    pub frames: u64,
    pub slots: u64,
    /// Pages alive at once, if a plan has shown them.
    pub pages: Option<u64>,
    pub scratch_wires: u64,
    /// Memory of instructions in flight.
    pub held_bytes: u64,
    /// Correlated randomness.
    pub making: PreprocessingFigures,
    /// How large batches are, and what is on the way.
    pub scale: BatchScale,
    /// Regions, registers and permutations.
    pub state_bytes: u64,
    /// Garbling beside the run, its frames included.
    pub garbling_bytes: u64,
    /// Whether values are garbled in the run, over a stream of their own.
    pub takes_half_gates: bool,
    /// The rows of the largest circuit on garbled values.
    pub circuit_bytes: u64,
    /// Recorded circuits, and the largest of them.
    pub template_bytes: u64,
    pub largest_circuit_bytes: u64,
    /// Tables of the planner, at their most.
    pub planner_bytes: u64,
    pub index_bytes: u64,
}

impl PlanFigures {
    /// Of a finished plan of `frame_count` program frames, without its state and garbling.
    pub fn of_plan(plan: &PlanDescription, program_frames: u64) -> PlanFigures {
        let scale = batch_scale(plan);
        let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
        PlanFigures {
            // Fewer are of no use to a planner, whatever the program needs.
            frames: plan.frame_count.max(FRAMES_MIN),
            slots: plan.spill_slot_count,
            pages: Some(plan.unbounded_page_count),
            scratch_wires: total(totals::SCRATCH_WIRES),
            held_bytes: total(mixed::totals::HELD_BYTES),
            making: Protocol::of_plan(plan)
                .map_or(PreprocessingFigures::default(), |known| known.making(plan)),
            scale,
            state_bytes: 0,
            garbling_bytes: 0,
            takes_half_gates: plan.costs.contains_key(mixed::totals::ENTERING_OTS),
            circuit_bytes: total(SCRATCH_BYTES),
            template_bytes: total(mixed::totals::CIRCUIT_BYTES),
            largest_circuit_bytes: total(mixed::totals::LARGEST_CIRCUIT_BYTES),
            planner_bytes: plan.planner_bytes,
            index_bytes: program_frames * INDEX_ENTRY_BYTES,
        }
    }

    /// Pages of regions that a run holds in memory, or 0 if it holds all: a third of the limit at most. The rest is paged
    /// on demand. More memory never makes less room for other things.
    pub fn region_frames(description: &Description, situation: &BudgetParameters) -> u64 {
        let pages = Regions::pages(description, situation.layout_of(description));
        let most = situation.limit_bytes / u64::from(REGION_PAGE_BYTES) / 3;
        match pages <= most.max(REGION_FRAMES_MIN) {
            true => 0,
            false => most.max(REGION_FRAMES_MIN),
        }
    }

    /// What regions, registers and permutations of a program take, with so many pages of regions in memory.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub fn state_bytes(
        description: &Description,
        situation: &BudgetParameters,
        region_frames: u64,
        program: &ProgramFile,
    ) -> Result<u64, Failure> {
        let layout = situation.layout_of(description);
        let tables = situation.protocol.table_bytes(description);
        let regions = Regions::bytes(description, layout, region_frames).saturating_add(tables);
        if description.permutations.is_empty() {
            return Ok(regions);
        }
        let mut permutations = PermutationPeak::default();
        program.reader()?.for_each::<Failure>(|instruction| {
            permutations.push(description, instruction);
            Ok(())
        })?;
        let permutations = match description.is_block {
            true => permutations.bytes_of_block(),
            false => permutations.bytes(),
        };
        Ok(regions.saturating_add(permutations))
    }
}
