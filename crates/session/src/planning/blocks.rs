//! Programs of several blocks: their plans, memory and costs.
//!
//! Each block is planned as a program of its own, for the same pages and layout. A run has the
//! frames, slots and scratch of the block that needs the most of each, and what blocks carry beside
//! them; what is garbled beside it has its own of all that. How often blocks run turns out in the
//! run, unless loops have a stated number of iterations: what is stated before counts each block once then.

mod figures;

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use phineus_bytecode::binary::finish_blocks;
use phineus_bytecode::{
    CarriedSlot, CowList, Description, ElementType, FileSummary, Flow, Layout, Op, PlanDescription,
    Region, Sharing,
};
use phineus_engine::CarriedLayout;
use phineus_plan::{Assignment, Scratch, carried_in_field, stored_in_field};
use phineus_protocols::bmr::costs::totals::GARBLING_ROUNDS;
use phineus_protocols::{garbled, mixed};

use super::{blocks_with_state, magnitude_bits, masks, plan_block_within, planner_memory};
use crate::choices::{NarrowMasks, ProtocolVariant};
use crate::distance::are_too_far;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::garbling::{bytes_of_blocks, write_blocks};
use crate::leftovers::Leftovers;
use crate::memory_budget::{BudgetParameters, PlanFigures, does_not_fit};
use crate::output_file::write_atomically;
use crate::planned::{Budget, CarriedPlaces, GarblingPlan, PlannedBlocks, PlannedFile};
use crate::program_file::{ProgramFile, write_beside};
use crate::protocol::{Protocol, Representation};
use crate::traced::{TracedBlocks, TracedFile, readers_bytes, without_openings};

/// How often plans are made again for less memory, because blocks need the most of different
/// things.
const ATTEMPTS: usize = 5;

/// The type in which blocks carry what a program says is of type `element`.
fn carried_as(representation: Representation, element: ElementType) -> ElementType {
    match representation {
        Representation::AsWritten => element,
        Representation::GarbledBesideRows => Assignment::GarbledBesideRows.carried(element),
        Representation::Sharings(assignment) => assignment.carried(element),
        Representation::Field(field) => carried_in_field(element, magnitude_bits(field)),
    }
}

/// The type in which regions hold what a program says is of type `element`.
fn resting_as(representation: Representation, element: ElementType) -> ElementType {
    match representation {
        Representation::GarbledBesideRows => Assignment::GarbledBesideRows.resting(element),
        Representation::Sharings(assignment) => assignment.resting(element),
        Representation::Field(field) => stored_in_field(element, magnitude_bits(field)),
        Representation::AsWritten => element,
    }
}

/// Where blocks carry values; `slots` as the plan has them, and `sharing` as it has that of an
/// instruction's results.
fn carried_places(
    parts: &[ProgramFile],
    slots: &[CarriedSlot],
    sharing: impl Fn(ElementType) -> Sharing,
    (garbles_beside, layout): (bool, Layout),
) -> Result<CarriedPlaces, Failure> {
    let mut is_doubled = vec![false; slots.len()];
    let mut is_garbled = slots.iter().any(|slot| slot.element.sharing() == Sharing::Garbled);
    for part in parts {
        let mut used: HashMap<u64, [bool; 2]> = HashMap::new();
        part.reader()?.for_each::<Failure>(|i| {
            is_garbled |= sharing(i.element) == Sharing::Garbled;
            if i.op.is_carrying() {
                used.entry(i.immediates[0]).or_default()[usize::from(i.op == Op::Store)] = true;
            }
            Ok(())
        })?;
        let both = used.iter().filter(|(_, used)| **used == [true; 2]);
        both.for_each(|(&slot, _)| is_doubled[slot as usize] = true);
    }
    let places = |slot: usize| 1 + usize::from(is_doubled[slot]);
    let garbled_places = |slot: usize| match slots[slot].element.sharing() {
        Sharing::Garbled => places(slot),
        Sharing::Any | Sharing::Arithmetic | Sharing::Boolean => 0,
    };
    let garbled = || CarriedLayout::new(slots, garbled::layout(), garbled_places);
    Ok(CarriedPlaces {
        own: CarriedLayout::new(slots, layout, places),
        // Where all is garbled anyhow nothing is garbled apart.
        garbled: (is_garbled && garbles_beside).then(garbled),
    })
}

/// Refuses programs whose opened values decide which blocks run, if rows become garbled in them: how many transfers that takes
/// is stated beforehand.
fn refuse_opened_flow(representation: Representation, flow: &Flow) -> Result<(), Failure> {
    let has_steps = flow.blocks.iter().any(|block| !block.steps.is_empty());
    let is_stated = !has_steps && flow.stated().is_some();
    if representation != Representation::GarbledBesideRows || is_stated {
        return Ok(());
    }
    let message = "the program has permutations, and registers decide which of its blocks run";
    let remedy = Remedy::new("repeat blocks a stated number of times, or choose another ");
    Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy.field(RunField::Protocol)))
}

/// Plans each block of `traced` so that a run of all stays within the memory limit.
///
/// # Errors
/// Exit 6 with what would be needed.
pub fn plan_blocks(
    (traced, blocks): (&TracedFile, &TracedBlocks),
    protocol: Protocol,
    situation: &BudgetParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let start = Instant::now();
    let representation = protocol.representation_of(&traced.description);
    refuse_opened_flow(representation, &blocks.flow)?;
    let slots = traced.description.slots.iter();
    let slots: CowList<CarriedSlot> = slots
        .map(|slot| CarriedSlot { element: carried_as(representation, slot.element), ..*slot })
        .collect();
    let regions = traced.description.regions.iter();
    let regions: CowList<Region> = regions
        .map(|region| Region { element: resting_as(representation, region.element), ..*region })
        .collect();
    let (slots_of_block, regions_of_block) = (slots.clone(), regions.clone());
    let of_block = traced.description.of_block();
    let description = Description { slots: slots_of_block, regions: regions_of_block, ..of_block };
    let blocks = blocks.of_program(&Arc::new(description));
    let masks = masks::of_blocks(&blocks, protocol, situation, scratch)?;
    let is_chosen = masks != situation.variant.masks;
    let situation =
        &BudgetParameters { variant: ProtocolVariant { masks, ..situation.variant }, ..*situation };
    let planner = planner_memory(situation)?;
    let blocks = blocks_with_state(&blocks, (protocol, situation.variant), planner, scratch)?;
    let files: Vec<ProgramFile> = blocks.parts.iter().map(|part| part.file.clone()).collect();
    let sharing = |element| match representation {
        Representation::Sharings(assignment) => assignment.carried(element).sharing(),
        Representation::AsWritten
        | Representation::GarbledBesideRows
        | Representation::Field(_) => Sharing::Any,
    };
    let layout = situation.layout_of(&traced.description);
    let beside_run = protocol.garbles_beside(situation.parties);
    let carried = carried_places(&files, &slots, sharing, (beside_run, layout))?;
    // Plans are about as long.
    let guess = beside(&carried, files.iter().chain(carried.garbled.iter().flat_map(|_| &files)))?;
    let mut limit_bytes = situation.limit_bytes;
    for _ in 0..ATTEMPTS {
        let own = BudgetParameters {
            limit_bytes,
            tables_bytes: situation.tables_bytes + guess,
            ..*situation
        };
        let is_garbled = carried.garbled.is_some();
        let plan =
            |part: &TracedFile| plan_block_within((part, is_garbled), protocol, &own, scratch);
        let parts = blocks.parts.iter().map(plan).collect::<Result<Vec<_>, _>>();
        // What other blocks need is missing besides.
        let taken = situation.limit_bytes - limit_bytes;
        let parts = parts.map_err(|failure| match failure.needed_bytes {
            Some(needed) if taken > 0 && !failure.is_of_planning() => {
                does_not_fit(situation.limit_bytes, needed + taken)
            }
            _ => failure,
        })?;
        let planning = start.elapsed();
        let (carried, slots, regions) = (carried.clone(), slots.clone(), regions.clone());
        let joined = PlannedParts { parts, carried, slots, regions };
        let joined = join(traced, &blocks.flow, joined, situation, planning)?;
        let total = joined.budget.total();
        if total <= situation.limit_bytes {
            if is_chosen && are_too_far(&joined) {
                // Of checks as well as of openings, which alone are few enough.
                let variant = ProtocolVariant { masks: NarrowMasks::Never, ..situation.variant };
                let situation = &BudgetParameters { variant, ..*situation };
                return plan_blocks((traced, &blocks), protocol, situation, scratch);
            }
            return Ok(joined);
        }
        // One block needs the most frames, another the most of something else.
        limit_bytes = limit_bytes.saturating_sub(total - situation.limit_bytes);
    }
    Err(does_not_fit(situation.limit_bytes, 2 * situation.limit_bytes - limit_bytes))
}

/// Bytes that a run of blocks holds besides what one block does: what they carry, and a reader for
/// each of `files`, those of what is garbled beside them among them.
fn beside<'a>(
    carried: &CarriedPlaces,
    files: impl Iterator<Item = &'a ProgramFile>,
) -> Result<u64, Failure> {
    let walks = [Some(&carried.own), carried.garbled.as_ref()].into_iter().flatten();
    let carried: u64 = walks.map(CarriedLayout::bytes).sum();
    Ok(carried + readers_bytes(files)?)
}

/// A plan of blocks that was made before.
pub fn open_blocks(
    (traced, blocks): (&TracedFile, &TracedBlocks),
    situation: &BudgetParameters,
) -> Result<PlannedFile, Failure> {
    let representation = situation.protocol.representation_of(&traced.description);
    refuse_opened_flow(representation, &blocks.flow)?;
    let slots = traced.description.slots.clone();
    let files: Vec<ProgramFile> = blocks.parts.iter().map(|part| part.file.clone()).collect();
    let layout = situation.layout_of(&traced.description);
    let terms = (situation.protocol.garbles_beside(situation.parties), layout);
    let carried = carried_places(&files, &slots, ElementType::sharing, terms)?;
    let is_garbled = is_stated_garbled(traced.description.plan.as_ref());
    let garbled = blocks.parts.iter().filter_map(|part| part.file.garbling());
    let garbled: Vec<ProgramFile> = garbled.collect();
    let beside = beside(&carried, files.iter().chain(&garbled))?;
    let own = BudgetParameters { tables_bytes: situation.tables_bytes + beside, ..*situation };
    let open = |part: &TracedFile| PlannedFile::open_block(part.clone(), &own, is_garbled);
    let parts = blocks.parts.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let regions = traced.description.regions.clone();
    let joined = PlannedParts { parts, carried, slots, regions };
    let joined = join(traced, &blocks.flow, joined, situation, Duration::ZERO)?;
    if joined.budget.total() > situation.limit_bytes {
        return Err(does_not_fit(situation.limit_bytes, joined.budget.total())
            .remedy("plan it again for this limit, or give more memory"));
    }
    let stated = traced.description.plan.as_ref();
    let figures = |plan: &PlanDescription| (plan.program_hash.clone(), plan.costs.clone());
    if stated.map(figures) != Some(figures(joined.plan())) {
        let message = "the plan's figures are not those of its blocks";
        return Err(Failure::new(codes::OTHER_BLOCKS, message).remedy("plan it again"));
    }
    Ok(joined)
}

/// Whether the figures of a plan of all blocks say that something is garbled.
fn is_stated_garbled(plan: Option<&PlanDescription>) -> bool {
    plan.and_then(|plan| plan.costs.get(GARBLING_ROUNDS)).is_some_and(|&rounds| rounds > 0)
}

/// Budget of a run of all blocks: the maximum of each part over the blocks.
fn budget_of(parts: &[PlannedFile], situation: &BudgetParameters) -> Budget {
    let mut budget = Budget::default();
    for part in parts {
        let garbling = part.garbling.as_ref().map_or(0, |garbling| garbling.bytes);
        // The OTs of all blocks are of one size, which the plan of all has.
        let silent = PlanFigures::of_plan(part.plan(), 0).making.silent_bytes;
        let scratch = part.budget.scratch - garbling - silent;
        budget.raise_to(&Budget { scratch, ..part.budget.clone() });
    }
    // What is garbled beside one block has its frames while another one computes.
    let plans = || parts.iter().filter_map(|part| part.garbling.as_ref());
    budget.scratch += bytes_of_blocks(plans(), situation.parties);
    let half_gates = parts.iter().any(PlannedFile::takes_half_gates);
    let (is_garbled, scale) = (half_gates || plans().next().is_some(), parts[0].scale());
    if is_garbled {
        // One block may use the streams of the garbling, and another one those of correlated
        // randomness.
        let is_made = parts.iter().any(|part| PlanFigures::of_plan(part.plan(), 0).making.is_made);
        budget.channel = situation.connections_bytes(scale, is_garbled, is_made);
    }
    budget
}

/// Planned blocks, and the values that they hand to each other.
struct PlannedParts {
    parts: Vec<PlannedFile>,
    carried: CarriedPlaces,
    slots: CowList<CarriedSlot>,
    regions: CowList<Region>,
}

/// The blocks as one plan, in which each runs as often as the program states, or once.
fn join(
    traced: &TracedFile,
    flow: &Flow,
    PlannedParts { parts, carried, slots, regions }: PlannedParts,
    situation: &BudgetParameters,
    planning: Duration,
) -> Result<PlannedFile, Failure> {
    let circuits =
        |plan: &PlanDescription| plan.costs.get(mixed::totals::CIRCUIT_BYTES).copied().unwrap_or(0);
    let driver = |part: &PlannedFile| part.budget.driver - circuits(part.plan());
    let driver = parts.iter().map(driver).max().unwrap_or(0);
    let turns = parts.iter().map(|_| AtomicU64::new(0)).collect();
    let description = Description { slots, regions, plan: None, ..traced.description.clone() };
    let (file, computing) = (parts[0].file.clone(), traced.computing);
    let ahead_bytes = parts[0].ahead_bytes;
    let mut blocks = PlannedBlocks { flow: flow.clone(), parts, carried, turns };
    let times = flow.times_or_once();
    let mut plan = blocks.plan(&description, &times, situation.parties)?;
    plan.memory_limit_bytes = situation.limit_bytes;
    if !is_stated_garbled(Some(&plan)) {
        // What seemed to be garbled is used by nothing.
        blocks.parts.iter_mut().for_each(|part| part.garbling = None);
    }
    let garbled = blocks.parts.iter().filter_map(|part| part.garbling.as_ref());
    let files = blocks.parts.iter().map(|part| &part.file).chain(garbled.map(GarblingPlan::file));
    let beside = beside(&blocks.carried, files)?;
    let mut budget = budget_of(&blocks.parts, situation);
    budget.tables = situation.tables_bytes + beside;
    // The circuits of one block stay for the next time that it runs.
    budget.driver = driver + circuits(&plan);
    budget.scratch += PlanFigures::of_plan(&plan, 0).making.silent_bytes;
    let description = Description { plan: Some(plan), ..description };
    let (_, written) = blocks.write(std::io::sink(), &description, false)?;
    Ok(PlannedFile {
        file,
        hash: written.hash,
        description,
        budget,
        ahead_bytes,
        planning,
        computing,
        garbling: None,
        memories: Vec::new(),
        sharings: None,
        blocks: Some(Arc::new(blocks)),
    })
}

impl PlannedBlocks {
    /// Writes the file of all blocks; without the blocks' own files only what there is to know of
    /// it.
    fn write<W: Write>(
        &self,
        mut output: W,
        description: &Description,
        whole: bool,
    ) -> Result<(W, FileSummary), Failure> {
        let mut written = Vec::new();
        for part in &self.parts {
            let (mut view, file_bytes) = (part.file.view(), part.file.length_bytes()?);
            if whole {
                view.rewind()?;
                std::io::copy(&mut view, &mut output)?;
            }
            let instruction_count = part.file.reader()?.instruction_count();
            written.push(FileSummary { hash: part.hash, instruction_count, file_bytes });
        }
        Ok(finish_blocks(output, &written, description, &self.flow)?)
    }
}

impl PlannedFile {
    /// Writes the plan to `path`.
    pub fn save(&self, path: &Path, leftovers: &Leftovers) -> Result<(), Failure> {
        let Some(blocks) = &self.blocks else {
            let garbling = self.garbling.as_ref().map(GarblingPlan::file);
            return self.file.save_with(garbling, path, leftovers);
        };
        let plans = || blocks.parts.iter().filter_map(|part| part.garbling.as_ref());
        write_atomically(path, leftovers, |output| {
            let own = |output: &mut _| {
                let (_, written) = blocks.write(output, &self.description, true)?;
                Ok(written.file_bytes)
            };
            match self.is_garbled() {
                false => own(output).map(drop),
                true => write_beside(output, own, |output| write_blocks(plans(), output)),
            }
        })
    }

    /// After a run: with the figures of the blocks that ran, and what is revealed at the end.
    pub fn after_run(mut self) -> Result<PlannedFile, Failure> {
        if let Some(blocks) = &self.blocks {
            let times = blocks.counted();
            let limit = self.plan().memory_limit_bytes;
            let mut plan = blocks.plan(&self.description, &times, self.computing)?;
            plan.memory_limit_bytes = limit;
            self.description = without_openings(&self.description);
            self.description.plan = Some(plan);
        }
        Ok(self)
    }
}
