//! [`Figures`]: what of a plan memory depends on.

use phineus_bytecode::{Layout, PlanDescription};
use phineus_channels::FramedChannel;
use phineus_ot::{FieldBits, OtKind};
use phineus_plan::limits::FRAMES_MIN;
use phineus_protocols::bmr::costs::totals::SCRATCH_BYTES;
use phineus_protocols::demand::BatchScale;
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use phineus_protocols::preprocessing::Generator;
use phineus_protocols::spdz::costs::stated_demand;

use super::{INDEX_ENTRY_BYTES, making};

/// The figures of a plan that memory depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub frames: u64,
    pub slots: u64,
    /// Pages alive at once, if a plan has shown them.
    pub pages: Option<u64>,
    pub scratch_wires: u64,
    /// What instructions in flight hold.
    pub held_bytes: u64,
    /// Preprocessed material that lies ready.
    pub material_bytes: u64,
    /// Authenticated material in all, as so many triples.
    pub triples: u64,
    /// The largest piece of it that is made as a whole.
    pub largest: u64,
    /// How large batches are, and what is on the way.
    pub scale: BatchScale,
    /// What silent OTs hold beyond what others do.
    pub silent_bytes: u64,
    /// Garbling beside the run, its frames included.
    pub garbling_bytes: u64,
    /// The rows of the largest circuit on garbled values.
    pub circuit_bytes: u64,
    /// Recorded circuits, and the largest of them.
    pub template_bytes: u64,
    pub largest_circuit_bytes: u64,
    /// Whether preprocessed material is made at all.
    pub is_made: bool,
    /// Tables of the planner, at their most.
    pub planner_bytes: u64,
    pub index_bytes: u64,
}

impl Figures {
    /// Of a finished plan of `frame_count` program frames.
    pub fn of_plan(plan: &PlanDescription, program_frames: u64) -> Figures {
        let (triples, largest) = match plan.layout {
            Layout::Authenticated { .. } => making::weight(&stated_demand(&plan.costs)),
            Layout::Wires | Layout::Shares { .. } => (0, 0),
        };
        let scale = BatchScale::stated(&plan.costs);
        let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
        Figures {
            // Fewer are of no use to a planner, whatever the program needs.
            frames: plan.frame_count.max(FRAMES_MIN),
            slots: plan.spill_slot_count,
            pages: Some(plan.unbounded_page_count),
            scratch_wires: total(totals::SCRATCH_WIRES),
            held_bytes: total(mixed::totals::HELD_BYTES),
            material_bytes: match plan.layout {
                Layout::Shares { .. } => mixed::material_bytes(plan),
                // Batches of a fixed size, which the driver's share counts.
                Layout::Wires | Layout::Authenticated { .. } => 0,
            },
            triples,
            largest,
            scale,
            silent_bytes: match plan.layout {
                Layout::Shares { parties } => {
                    let generator = |kind: OtKind| {
                        Generator::<FramedChannel>::memory_bytes(parties.into(), kind, scale) as u64
                    };
                    let least = generator(FieldBits::DEFAULT.into());
                    generator(mixed::ot_kind(plan)).saturating_sub(least)
                }
                Layout::Wires | Layout::Authenticated { .. } => 0,
            },
            garbling_bytes: 0,
            circuit_bytes: total(SCRATCH_BYTES),
            template_bytes: total(mixed::totals::CIRCUIT_BYTES),
            largest_circuit_bytes: total(mixed::totals::LARGEST_CIRCUIT_BYTES),
            is_made: match plan.layout {
                Layout::Shares { .. } => mixed::needs_material(plan),
                Layout::Wires | Layout::Authenticated { .. } => true,
            },
            planner_bytes: plan.planner_bytes,
            index_bytes: program_frames * INDEX_ENTRY_BYTES,
        }
    }
}
