//! Plans a traced program so that the whole process stays within its memory limit.

mod attempt;
mod blocks;
mod garbling;
mod masks;
mod narrowing;
mod needs;
mod ordering;
mod sharings;
mod state;

use std::time::{Duration, Instant};

use phineus_bytecode::FileKind;
use phineus_plan::Scratch;
use phineus_plan::limits::{FRAMES_MIN, PLANNER_MEMORY_BYTES};
use phineus_protocols::batch_scale;
use phineus_protocols::spdz::Masks;

use crate::failure::{Failure, codes};
use crate::heap;
use crate::memory_budget::{BudgetParameters, INDEX_ENTRY_BYTES, PlanFigures, does_not_fit};
use crate::planned::{GarblingPlan, PlannedFile};
use crate::protocol::{Adversary, Protocol};
use crate::stored::check_stated;
use crate::traced::{TracedFile, client_tables_bytes, largest_tables_bytes};

use self::blocks::{open_blocks, plan_blocks};
use self::garbling::GarblingPlanner;
use attempt::plan_once;
pub use narrowing::{
    blocks_with_state, family_of, narrowed, narrowed_with_lines, unproven_facts, unproven_state,
};
pub use ordering::{Ordered, OrderingBounds, magnitude_bits, ordered, unproven_ranges};
pub use sharings::{sharing_model, with_sharings, with_stated_sharings};
use state::{check_state, check_tables};

/// How long before its need a page is asked for.
///
/// A random read of 64 KiB takes 0.1 ms on NVMe and up to 10 ms on a busy network disk; asking
/// earlier costs nothing but spare frames, whose number is bounded besides.
const PREFETCH_NS: u64 = 20_000_000;

/// Spare frames, of which the planner takes at most a quarter of all.
///
/// A sub-network of a merge begins by reading its pages faster than the disk on average delivers;
/// 128 frames (8 MiB) carry it over. With 32 of them the demo waits three times as long for
/// storage.
const PREFETCH_FRAMES: u64 = 128;

/// Plans are made again at most this often, each time with what the last one showed.
const ATTEMPTS: usize = 5;

/// First guesses of what only a plan shows: spill slots per frame and scratch wires.
const SLOTS_GUESS: u64 = 8192;

const SCRATCH_WIRES_GUESS: u64 = 16_384;

impl PlannedFile {
    /// A file that was planned before. Planning knew nothing of the network: windows are longer than
    /// usual only where there is space for them beside the plan.
    pub fn open(traced: TracedFile, situation: &BudgetParameters) -> Result<PlannedFile, Failure> {
        let open = |situation: &BudgetParameters| {
            let planned = match &traced.blocks {
                Some(blocks) => open_blocks((&traced, blocks), situation),
                None => PlannedFile::open_block(traced.clone(), situation, false),
            }?;
            check_clients(&planned, situation)?;
            Ok(planned)
        };
        let usual = BudgetParameters { round_trip: Duration::ZERO, ..*situation };
        open(situation).or_else(|_| open(&usual)).map_err(|failure| {
            let usual = largest(&traced, &usual);
            let failure = needs::stated(failure, situation.limit_bytes, |limit_bytes| {
                open(&BudgetParameters { limit_bytes, ..usual }).err()
            });
            match failure.remedy.clone() {
                Some(remedy) if failure.needed_bytes.is_some() => {
                    failure.remedy(remedy.and(", or plan it again for less"))
                }
                _ => failure,
            }
        })
    }

    /// Opens a program of one block, or a block of a program whose `is_garbled` says whether it has
    /// garbled values.
    pub fn open_block(
        traced: TracedFile,
        situation: &BudgetParameters,
        is_garbled: bool,
    ) -> Result<PlannedFile, Failure> {
        let reader = traced.file.reader()?;
        let Some(plan) = &traced.description.plan else {
            let message = "the planned file has no figures of its plan; plan it again";
            return Err(Failure::new(codes::NO_FIGURES, message));
        };
        check_state(&traced.description, situation.protocol, situation.parties)?;
        let garbling = GarblingPlan::open(&traced, (plan, is_garbled), situation.parties)?;
        let scale = batch_scale(plan);
        let ahead_bytes = situation.ahead_bytes(scale, garbling.is_some());
        let garbling_bytes = garbling.as_ref().map_or(0, |garbling| garbling.bytes);
        let figures = PlanFigures::of_plan(plan, reader.frame_count() as u64);
        let state_bytes = PlanFigures::state_bytes(
            &traced.description,
            situation,
            plan.region_frames,
            &traced.file,
        )?;
        let budget = situation.budget(PlanFigures { garbling_bytes, state_bytes, ..figures });
        if budget.total() > situation.limit_bytes {
            return Err(does_not_fit(situation.limit_bytes, budget.total()));
        }
        let planned = PlannedFile {
            hash: traced.hash,
            file: traced.file,
            description: traced.description,
            budget,
            ahead_bytes,
            planning: Duration::ZERO,
            computing: traced.computing,
            garbling,
            memories: Vec::new(),
            sharings: None,
            blocks: None,
        };
        check_stated(&planned)?;
        Ok(planned)
    }
}

/// Plans `traced` for `situation`.
///
/// The planner's own memory is bounded by the same limit. How much scratch memory and how many
/// spill slots a plan needs is known only when it is made, so a plan that turns out too large is
/// made again with fewer frames.
///
/// # Errors
/// Exit 6 with the least limit that is enough: it is tried, and a mebibyte less is not enough.
pub fn plan_within(
    traced: &TracedFile,
    protocol: Protocol,
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    plan_as_stated(traced, protocol, situation, scratch)
        .map_err(|failure| with_least(failure, (traced, protocol), situation, scratch))
}

/// `failure` to fit into a limit, with the least limit that is enough for all who take part.
pub fn with_least(
    failure: Failure,
    (traced, protocol): (&TracedFile, Protocol),
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Failure {
    if traced.kind == FileKind::Planned {
        return failure;
    }
    let situation = &largest(traced, situation);
    needs::stated(failure, situation.limit_bytes, |limit_bytes| {
        plan_at((traced, protocol), limit_bytes, situation, scratch).err()
    })
}

/// `failure` to plan for `limit_bytes`, with the least limit for which `attempt` gives none.
pub fn with_least_of(
    failure: Failure,
    limit_bytes: u64,
    attempt: impl Fn(u64) -> Option<Failure>,
) -> Failure {
    needs::stated(failure, limit_bytes, attempt)
}

/// Plans without searching for the least limit that would work, for plans that are only compared.
///
/// # Errors
/// Exit 6 if it does not fit.
pub fn plan_as_stated(
    traced: &TracedFile,
    protocol: Protocol,
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    plan_at((traced, protocol), situation.limit_bytes, situation, scratch)
}

/// Plans for another limit. If there is no space for windows that fit the network, the usual ones
/// do.
fn plan_at(
    (traced, protocol): (&TracedFile, Protocol),
    limit_bytes: u64,
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let is_least = situation.least_limit_bytes == situation.limit_bytes;
    let least_limit_bytes = if is_least { limit_bytes } else { situation.least_limit_bytes };
    let situation = BudgetParameters { limit_bytes, least_limit_bytes, ..*situation };
    let plan = |situation: &BudgetParameters| match &traced.blocks {
        Some(blocks) => plan_blocks((traced, blocks), protocol, situation, scratch),
        None => plan_program((traced, false), protocol, situation, scratch),
    };
    let planned = match situation.round_trip {
        Duration::ZERO => plan(&situation),
        _ => plan(&situation)
            .or_else(|_| plan(&BudgetParameters { round_trip: Duration::ZERO, ..situation })),
    };
    let planned = planned.map_err(|failure| needs::next(failure, &situation))?;
    check_clients(&planned, &situation)?;
    Ok(planned)
}

/// The situation of the party that needs the most: what is stated is for all, as `explain` states it.
fn largest(traced: &TracedFile, situation: &BudgetParameters) -> BudgetParameters {
    BudgetParameters {
        tables_bytes: largest_tables_bytes(traced).max(situation.tables_bytes),
        client_tables_bytes: client_tables_bytes(traced),
        ..*situation
    }
}

/// Refuses a limit that is to do for clients and does not.
fn check_clients(planned: &PlannedFile, situation: &BudgetParameters) -> Result<(), Failure> {
    let Some(tables_bytes) = situation.client_tables_bytes else { return Ok(()) };
    match situation.client_peak_bytes(tables_bytes, planned.plan().planner_bytes) {
        needed if needed > situation.limit_bytes => {
            Err(does_not_fit(situation.limit_bytes, needed))
        }
        _ => Ok(()),
    }
}

/// Plans a block of a program of which `is_garbled` says whether it has garbled values.
pub fn plan_block_within(
    (traced, is_garbled): (&TracedFile, bool),
    protocol: Protocol,
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    plan_program((traced, is_garbled), protocol, situation, scratch)
}

/// The protocols that open values inside a block, as in `garbled, gmw and mixed`.
pub fn openers() -> String {
    Protocol::names(|protocol| {
        protocol.reveals_inside_blocks() && protocol.adversary() != Adversary::Nobody
    })
}

/// A program of one block.
fn plan_program(
    (traced, is_garbled): (&TracedFile, bool),
    protocol: Protocol,
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let start = Instant::now();
    check_state(&traced.description, protocol, situation.parties)?;
    check_tables(traced, protocol, situation.parties)?;
    scratch.forget_tables();
    let planner = planner_memory(situation)?;
    let bounds = OrderingBounds {
        least_limit_bytes: situation.least_limit_bytes,
        slice_bytes: situation.slice_bytes,
        is_far: situation.is_far,
        planner_memory_bytes: planner,
        prove_inputs: situation.prove_inputs,
        y2a: situation.variant.y2a,
        masks: situation.variant.masks,
        scale: situation.batch_scale(),
    };
    let narrowed = narrowed(traced, (protocol, situation.variant), planner, scratch)?;
    let is_narrowed = narrowed.is_some();
    let traced = narrowed.as_ref().unwrap_or(traced);
    // What has sharings and no rounds yet is of no more use.
    let ordered = ordered((traced, is_narrowed), protocol, situation.parties, bounds, scratch)?;
    let masks = ordered.as_ref().map_or(Masks::Narrow, |ordered| ordered.masks);
    let ordered = ordered.map(|ordered| ordered.ordered);
    let beside = protocol.garbles_beside(situation.parties);
    let garbled = (ordered.as_ref().filter(|_| beside), is_garbled);
    let beside = GarblingPlanner::new(garbled, situation, planner, scratch)?;
    let mut garbling = beside.plan(situation.limit_bytes / 4)?;
    let traced = ordered.as_ref().unwrap_or(traced);
    let program_frames = traced.file.reader()?.frame_count() as u64;
    let mut figures = PlanFigures {
        slots: SLOTS_GUESS,
        scratch_wires: SCRATCH_WIRES_GUESS,
        scale: situation.batch_scale(),
        // Directives between the instructions make a plan longer.
        index_bytes: 2 * program_frames * INDEX_ENTRY_BYTES,
        state_bytes: PlanFigures::state_bytes(
            &traced.description,
            situation,
            PlanFigures::region_frames(&traced.description, situation),
            &traced.file,
        )?,
        ..PlanFigures::default()
    };
    for attempt in 0..ATTEMPTS {
        garbling = beside.shrunk(garbling, figures)?;
        let garbling_bytes = garbling.as_ref().map_or(0, |garbling| garbling.bytes);
        figures = PlanFigures { garbling_bytes, ..figures };
        let resident = match resident_frames(situation, figures) {
            Some(frames) => {
                let once = plan_once(traced, (protocol, masks), situation, (frames, 0), scratch);
                once.ok()
            }
            None => None,
        };
        let planned = match resident {
            Some(planned) => planned,
            None => {
                let frames = (frames(situation, figures, attempt == 0)?, PREFETCH_FRAMES);
                plan_once(traced, (protocol, masks), situation, frames, scratch)?
            }
        };
        let found = PlanFigures::of_plan(planned.plan(), planned.frame_count);
        let found = PlanFigures { garbling_bytes, state_bytes: figures.state_bytes, ..found };
        let budget = situation.budget(found);
        if budget.total() <= situation.limit_bytes {
            heap::trim();
            return Ok(PlannedFile {
                file: planned.file,
                description: planned.description,
                hash: planned.hash,
                budget,
                ahead_bytes: situation.ahead_bytes(situation.batch_scale(), garbling.is_some()),
                planning: start.elapsed(),
                computing: traced.computing,
                garbling,
                memories: Vec::new(),
                sharings: None,
                blocks: None,
            });
        }
        if budget.running() <= situation.limit_bytes {
            // A run would fit, but not what plans it.
            return Err(does_not_fit(situation.limit_bytes, budget.total()));
        }
        // Fewer frames may need more slots: leave room for some.
        figures = PlanFigures { slots: found.slots + found.slots / 8, ..found };
    }
    let least = PlanFigures { frames: FRAMES_MIN, ..figures };
    Err(does_not_fit(situation.limit_bytes, situation.budget(least).total()))
}

/// Memory for the planner's tables, besides all else that the process then holds.
///
/// # Errors
/// Exit 6 if there is nothing left for them.
pub fn planner_memory(situation: &BudgetParameters) -> Result<u64, Failure> {
    let taken =
        situation.process_bytes + situation.tables_bytes + situation.planner_buffers_bytes();
    let left = situation.limit_bytes.saturating_sub(taken);
    if left == 0 {
        return Err(does_not_fit(situation.limit_bytes, taken + 1));
    }
    Ok(left.min(PLANNER_MEMORY_BYTES))
}

/// The frames of a plan that swaps nothing, if they fit: such a plan needs no spare frames.
fn resident_frames(situation: &BudgetParameters, figures: PlanFigures) -> Option<u64> {
    let needed = figures.pages?.max(FRAMES_MIN);
    let unswapped = PlanFigures { slots: 0, ..figures };
    (figures.slots > 0 && situation.frames(unswapped) >= needed).then_some(needed)
}

/// The frames that fit, with these figures or, where they are guesses, with the least.
fn frames(
    situation: &BudgetParameters,
    figures: PlanFigures,
    is_guess: bool,
) -> Result<u64, Failure> {
    let frames = situation.frames(figures);
    if frames >= FRAMES_MIN {
        return Ok(frames);
    }
    let least = PlanFigures { frames: FRAMES_MIN, ..figures };
    // What was guessed may not be needed.
    let surely = PlanFigures { slots: 0, scratch_wires: 0, ..least };
    if is_guess && situation.budget(surely).running() <= situation.limit_bytes {
        return Ok(FRAMES_MIN);
    }
    Err(does_not_fit(situation.limit_bytes, situation.budget(least).total()))
}
