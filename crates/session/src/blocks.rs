//! Programs of several blocks: their files, plans, memory and costs.
//!
//! Each block is planned as a program of its own, for the same pages and layout. A run has the
//! frames, slots and scratch of the block that needs the most of each, and what blocks carry beside
//! them; what is garbled beside it has its own of all that. How often blocks run turns out in the
//! run: what is stated before counts each block once.

mod figures;

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use phineus_bytecode::binary::finish_blocks;
use phineus_bytecode::{
    Blocks, Description, ElementType, Flow, Op, PlanDescription, Shared, Sharing, Slot, Table,
    Written,
};
use phineus_engine::CarriedLayout;
use phineus_plan::{Scratch, carried_in_field};
use phineus_protocols::bmr::costs::totals::GARBLING_ROUNDS;
use phineus_protocols::{garbled, mixed};

use crate::failure::{Failure, codes};
use crate::garbling::{GarblingPlan, bytes_of_blocks, write_blocks};
use crate::masks;
use crate::memory_budget::{Budget, Figures, Situation, does_not_fit};
use crate::output_file::write_atomically;
use crate::planning::{PlannedFile, magnitude_bits, plan_block_within};
use crate::program_file::{ProgramFile, write_beside};
use crate::protocol::{Protocol, Representation};
use crate::resolve::TracedFile;
use crate::settings::{NarrowMasks, Preprocessed, Variant};

/// How often plans are made again for less memory, because blocks need the most of different
/// things.
const ATTEMPTS: usize = 5;

/// What there is for a block that is run besides what its reader counts itself.
const BLOCK_BYTES: u64 = 8 << 10;

/// The blocks of a traced program.
pub struct TracedBlocks {
    pub flow: Flow,
    pub parts: Vec<TracedFile>,
}

/// The blocks of a planned program.
pub struct PlannedBlocks {
    pub flow: Flow,
    pub parts: Vec<PlannedFile>,
    pub carried: CarriedPlaces,
    /// How often each has run, counted by the run.
    pub turns: Vec<AtomicU64>,
}

/// Where blocks carry values.
#[derive(Clone)]
pub struct CarriedPlaces {
    pub own: CarriedLayout,
    /// Where what is garbled beside them carries its own, if anything is.
    pub garbled: Option<CarriedLayout>,
}

/// The blocks of `file`, and what they have in common; nothing if it is a program of one.
pub fn traced_blocks(
    file: &ProgramFile,
    computing: impl Fn(&Description) -> usize,
) -> Result<Option<TracedFile>, Failure> {
    let Some(blocks) = Blocks::read(file.view())? else { return Ok(None) };
    let computing = computing(&blocks.description);
    let program = Arc::new(blocks.description.of_block());
    let garbling = garbling_places(file, &blocks)?;
    let part = |(number, &place): (usize, &Section)| {
        let mut file = file.section(place, &program);
        if let Some((garbling, places, program)) = &garbling {
            file = file.with_garbling(garbling, places[number], program);
        }
        let reader = file.reader()?;
        let (description, hash, kind) =
            (reader.description().clone(), reader.hash(), reader.kind());
        Ok(TracedFile { file, description, hash, kind, computing, blocks: None })
    };
    let parts = blocks.places.iter().enumerate().map(part).collect::<Result<_, Failure>>()?;
    Ok(Some(TracedFile {
        file: file.clone(),
        description: blocks.description,
        hash: blocks.hash,
        kind: blocks.kind,
        computing,
        blocks: Some(Arc::new(TracedBlocks { flow: blocks.flow, parts })),
    }))
}

/// The offset and length of a block in its file.
type Section = (u64, u64);

/// The garbled parts beside the blocks of a plan: the file, the section of each
/// block, and their description.
type GarblingPlaces = (ProgramFile, Vec<Section>, Arc<Description>);

/// Finds the garbled parts beside the plan in `file`, which has these blocks.
fn garbling_places(
    file: &ProgramFile,
    planned: &Blocks,
) -> Result<Option<GarblingPlaces>, Failure> {
    let Some(garbling) = file.garbling() else { return Ok(None) };
    match directory(&garbling)? {
        Some(blocks) if blocks.places.len() == planned.places.len() => {
            let mut description = blocks.description.of_block();
            if description.slots == planned.description.slots {
                // One list: each block compares them.
                description.slots = planned.description.slots.clone();
            }
            Ok(Some((garbling, blocks.places, Arc::new(description))))
        }
        _ => {
            let message = "what is garbled beside the plan has other blocks than it";
            Err(Failure::new(codes::OTHER_GARBLING, message).remedy("plan the program again"))
        }
    }
}

/// The directory of a file of several blocks, with a reader for each.
pub fn directory(file: &ProgramFile) -> Result<Option<Blocks>, Failure> {
    Ok(Blocks::read(file.view())?)
}

/// Without what is opened while the program runs: what it reveals at its end.
pub fn without_openings(description: &Description) -> Description {
    let outputs = description.outputs.iter().enumerate();
    let kept = outputs.filter(|(index, _)| !description.is_opened(*index));
    let outputs = kept.map(|(_, port)| port.clone()).collect();
    Description { outputs, opened: Vec::new().into(), ..description.clone() }
}

/// The tables of what the program reveals at its end.
pub fn results(description: &Description, tables: Vec<Option<Table>>) -> Vec<Option<Table>> {
    let tables = tables.into_iter().enumerate();
    tables.filter(|(index, _)| !description.is_opened(*index)).map(|(_, table)| table).collect()
}

/// Refuses what needs to know before the run how often each block runs.
pub fn check_preprocessing(
    traced: &TracedFile,
    preprocessing: &Preprocessed,
    is_made_before: bool,
) -> Result<(), Failure> {
    let is_before = is_made_before
        || matches!(preprocessing, Preprocessed::Sequential | Preprocessed::Stored(_));
    if traced.blocks.is_none() || !is_before {
        return Ok(());
    }
    let message = "how often the blocks of this program run turns out when it runs, so what they \
                   need cannot be made before";
    Err(Failure::new(codes::NOT_BEFOREHAND, message)
        .remedy("leave --preprocessing away: all that is needed is then made while it runs"))
}

/// The type in which `protocol` carries what a program says is of type `element`.
fn carried_as(protocol: Protocol, element: ElementType) -> ElementType {
    match protocol.representation() {
        Representation::AsWritten => element,
        Representation::Sharings(assignment) => assignment.carried(element),
        Representation::Field(field) => carried_in_field(element, magnitude_bits(field)),
    }
}

/// Where blocks carry values; `slots` as the plan has them, and `sharing` as it has that of an
/// instruction's results.
fn carried_places(
    parts: &[ProgramFile],
    slots: &[Slot],
    sharing: impl Fn(ElementType) -> Sharing,
    situation: &Situation,
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
        _ => 0,
    };
    let garbled = || CarriedLayout::new(slots, garbled::layout(), garbled_places);
    Ok(CarriedPlaces {
        own: CarriedLayout::new(slots, situation.layout(), places),
        garbled: is_garbled.then(garbled),
    })
}

/// Plans each block of `traced` so that a run of all stays within the memory limit.
///
/// # Errors
/// Exit 6 with what would be needed.
pub fn plan_blocks(
    (traced, blocks): (&TracedFile, &TracedBlocks),
    protocol: Protocol,
    situation: &Situation,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let start = Instant::now();
    let slots = traced.description.slots.iter();
    let slots: Shared<Slot> =
        slots.map(|slot| Slot { element: carried_as(protocol, slot.element), ..*slot }).collect();
    let description = Description { slots: slots.clone(), ..traced.description.of_block() };
    let blocks = blocks.of_program(&Arc::new(description));
    let masks = masks::of_blocks(&blocks, protocol, situation, scratch)?;
    let is_chosen = masks != situation.variant.masks;
    let situation = &Situation { variant: Variant { masks, ..situation.variant }, ..*situation };
    let files: Vec<ProgramFile> = blocks.parts.iter().map(|part| part.file.clone()).collect();
    let sharing = |element| match protocol.assignment() {
        Some(assignment) => assignment.carried(element).sharing(),
        None => Sharing::Any,
    };
    let carried = carried_places(&files, &slots, sharing, situation)?;
    // Plans are about as long.
    let guess = beside(&carried, files.iter().chain(carried.garbled.iter().flat_map(|_| &files)))?;
    let mut limit_bytes = situation.limit_bytes;
    for _ in 0..ATTEMPTS {
        let own =
            Situation { limit_bytes, tables_bytes: situation.tables_bytes + guess, ..*situation };
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
        let joined = join(
            traced,
            &blocks.flow,
            (parts, carried.clone(), slots.clone()),
            situation,
            planning,
        )?;
        let total = joined.budget.total();
        if total <= situation.limit_bytes {
            if is_chosen && masks::are_too_far(&joined) {
                // Of checks as well as of openings, which alone are few enough.
                let variant = Variant { masks: NarrowMasks::Never, ..situation.variant };
                let situation = &Situation { variant, ..*situation };
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

/// What a reader for each of these blocks takes.
pub fn readers_bytes<'a>(files: impl Iterator<Item = &'a ProgramFile>) -> Result<u64, Failure> {
    files.map(|file| Ok(file.reader()?.memory_bytes() + BLOCK_BYTES)).sum()
}

/// A plan of blocks that was made before.
pub fn open_blocks(
    (traced, blocks): (&TracedFile, &TracedBlocks),
    situation: &Situation,
) -> Result<PlannedFile, Failure> {
    let slots = traced.description.slots.clone();
    let files: Vec<ProgramFile> = blocks.parts.iter().map(|part| part.file.clone()).collect();
    let carried = carried_places(&files, &slots, ElementType::sharing, situation)?;
    let is_garbled = is_stated_garbled(traced.description.plan.as_ref());
    let garbled = blocks.parts.iter().filter_map(|part| part.file.garbling());
    let garbled: Vec<ProgramFile> = garbled.collect();
    let beside = beside(&carried, files.iter().chain(&garbled))?;
    let own = Situation { tables_bytes: situation.tables_bytes + beside, ..*situation };
    let open = |part: &TracedFile| PlannedFile::open_block(part.clone(), &own, is_garbled);
    let parts = blocks.parts.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let joined = join(traced, &blocks.flow, (parts, carried, slots), situation, Duration::ZERO)?;
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

/// What a run of all blocks takes: of each purpose as much as the one that needs the most.
fn budget_of(parts: &[PlannedFile], situation: &Situation) -> Budget {
    let mut budget = Budget::default();
    for part in parts {
        let garbling = part.garbling.as_ref().map_or(0, |garbling| garbling.bytes);
        // The OTs of all blocks are of one size, which the plan of all has.
        let silent = Figures::of_plan(part.plan(), 0).making.silent_bytes;
        let scratch = part.budget.scratch - garbling - silent;
        budget.raise_to(&Budget { scratch, ..part.budget.clone() });
    }
    // What is garbled beside one block has its frames while another one computes.
    let plans = || parts.iter().filter_map(|part| part.garbling.as_ref());
    budget.scratch += bytes_of_blocks(plans(), situation.parties);
    let (is_garbled, scale) = (plans().next().is_some(), parts[0].scale());
    if is_garbled {
        // One block may use the streams of the garbling, and another one those of material.
        let is_made = parts.iter().any(|part| Figures::of_plan(part.plan(), 0).making.is_made);
        budget.channel = situation.connections_bytes(scale, is_garbled, is_made);
    }
    budget
}

/// The blocks as one plan, in which each runs once.
fn join(
    traced: &TracedFile,
    flow: &Flow,
    (parts, carried, slots): (Vec<PlannedFile>, CarriedPlaces, Shared<Slot>),
    situation: &Situation,
    planning: Duration,
) -> Result<PlannedFile, Failure> {
    let circuits =
        |plan: &PlanDescription| plan.costs.get(mixed::totals::CIRCUIT_BYTES).copied().unwrap_or(0);
    let driver = |part: &PlannedFile| part.budget.driver - circuits(part.plan());
    let driver = parts.iter().map(driver).max().unwrap_or(0);
    let turns = parts.iter().map(|_| AtomicU64::new(0)).collect();
    let description = Description { slots, plan: None, ..traced.description.clone() };
    let (file, computing) = (parts[0].file.clone(), traced.computing);
    let ahead_bytes = parts[0].ahead_bytes;
    let mut blocks = PlannedBlocks { flow: flow.clone(), parts, carried, turns };
    let once = vec![1; blocks.parts.len()];
    let mut plan = blocks.plan(&description, &once, situation.parties)?;
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
    budget.scratch += Figures::of_plan(&plan, 0).making.silent_bytes;
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
        blocks: Some(Arc::new(blocks)),
    })
}

impl TracedBlocks {
    /// Returns these blocks as blocks of the program that `program` describes.
    pub fn of_program(&self, program: &Arc<Description>) -> TracedBlocks {
        let part = |part: &TracedFile| TracedFile {
            file: part.file.clone().of_program(program.clone()),
            description: Description::clone(program),
            ..part.clone()
        };
        TracedBlocks { flow: self.flow.clone(), parts: self.parts.iter().map(part).collect() }
    }
}

impl PlannedBlocks {
    /// Instructions of all blocks.
    pub fn instruction_count(&self) -> u64 {
        self.parts.iter().map(|part| part.plan().instruction_count).sum()
    }

    /// Notes that a block begins.
    pub fn enter(&self, block: usize) {
        self.turns[block].fetch_add(1, Ordering::Relaxed);
    }

    /// How often each block has run.
    pub fn counted(&self) -> Vec<u64> {
        self.turns.iter().map(|turns| turns.load(Ordering::Relaxed)).collect()
    }

    /// Writes the file of all blocks; without the blocks' own files only what there is to know of
    /// it.
    fn write<W: Write>(
        &self,
        mut output: W,
        description: &Description,
        whole: bool,
    ) -> Result<(W, Written), Failure> {
        let mut written = Vec::new();
        for part in &self.parts {
            let (mut view, file_bytes) = (part.file.view(), part.file.length_bytes()?);
            if whole {
                view.rewind()?;
                std::io::copy(&mut view, &mut output)?;
            }
            let instruction_count = part.file.reader()?.instruction_count();
            written.push(Written { hash: part.hash, instruction_count, file_bytes });
        }
        Ok(finish_blocks(output, &written, description, &self.flow)?)
    }
}

impl PlannedFile {
    /// Writes the plan to `path`.
    pub fn save(&self, path: &Path) -> Result<(), Failure> {
        let Some(blocks) = &self.blocks else {
            let garbling = self.garbling.as_ref().map(GarblingPlan::file);
            return self.file.save_with(garbling, path);
        };
        let plans = || blocks.parts.iter().filter_map(|part| part.garbling.as_ref());
        write_atomically(path, |output| {
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

    /// Bytes of the plan.
    pub fn length_bytes(&self) -> Result<u64, Failure> {
        match &self.blocks {
            None => self.file.length_bytes(),
            Some(blocks) => blocks.parts.iter().map(|part| part.file.length_bytes()).sum(),
        }
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
