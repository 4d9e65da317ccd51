//! Memories at secret indices: chooses for each the method that costs least, and writes the program with it.
//!
//! The price of a method is the predicted time of a program that uses the memory as often and does nothing else, planned
//! for the same protocol, network and memory limit. So it counts what planning counts: gates, bytes, rounds, and
//! pages that move to storage and back.

use phineus_bytecode::limits::{RING_WIDTH_MAX, SHARED_ROWS_MAX, TABLE_ROWS_MAX, TABLES_MAX};
use phineus_bytecode::{Description, FileKind, Memory, MemoryMethod, PlanDescription, Sharing};
use phineus_channels::NetworkModel;
use phineus_frontend::Traced;
use phineus_oblivious::memory::{
    MemoryTerms, MemoryUsage, ProgramBlocks, RowKnowledge, RowSharing, Unrolling, expand,
    instructions_of_a_turn, sample, usages,
};
use phineus_ot::FieldBits;
use phineus_plan::limits::PLANNER_MEMORY_BYTES;
use phineus_plan::{Scratch, ScratchFile};
use phineus_tables::quantity;

use crate::agreement::plain;
use crate::choices::{OtExtension, ProtocolVariant};
use crate::failure::{Exit, Failure, codes};
use crate::memory_choice::{MemoryChoice, MemoryPrice};
use crate::memory_columns::NarrowedColumns;
use crate::memory_loops::AccessedBlocks;
use crate::planned::PlannedFile;
use crate::planning::{magnitude_bits, openers};
use crate::prediction::{predict, sent_bytes};
use crate::program_file::ProgramFile;
use crate::protocol::{Adversary, Protocol};
use crate::traced::{TracedFile, traced_blocks};

/// How programs that only use a memory are planned and predicted.
#[derive(Clone, Copy)]
pub struct SamplePlanner<'a> {
    /// Plans one as the whole program is going to be planned.
    pub plan: &'a dyn Fn(&TracedFile) -> Result<PlannedFile, Failure>,
    /// The network that it would run on.
    pub net: Option<NetworkModel>,
    /// The memory limit that it is planned for.
    pub limit_bytes: u64,
}

/// `traced` without memories, and how each of them is accessed; itself if it has none.
///
/// # Errors
/// If the program asks for a method that the protocol cannot run, or no method fits into memory.
pub fn expanded(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    scratch: &Scratch,
    plan: SamplePlanner<'_>,
) -> Result<(TracedFile, Vec<MemoryChoice>), Failure> {
    if traced.description.memories.is_empty() || traced.kind == FileKind::Planned {
        return Ok((traced.clone(), Vec::new()));
    }
    let terms = memory_terms(protocol, variant, traced.computing);
    let blocks = AccessedBlocks::of(traced)?;
    let memory_bytes = plan.limit_bytes.min(PLANNER_MEMORY_BYTES);
    let narrowed =
        NarrowedColumns::of((traced, &blocks), (protocol, variant), memory_bytes, scratch)?;
    let traced = &narrowed.traced;
    let usages = usages(&mut blocks.readers()?, &blocks.times)?;
    let memories = traced.description.memories.iter().zip(usages);
    let (mut choices, mut tables): (Vec<MemoryChoice>, usize) = (Vec::new(), 0);
    for (shape, usage) in memories {
        let is_alike = |known: &&MemoryChoice| {
            let Memory { columns, rows, method, is_linked, .. } = &known.shape;
            (columns, *rows, *method, *is_linked)
                == (&shape.columns, shape.rows, shape.method, shape.is_linked)
                && known.usage == usage
        };
        let choice = match choices.iter().find(is_alike) {
            Some(known) => MemoryChoice { shape: shape.clone(), ..known.clone() },
            None => choose(traced, (shape, usage), (protocol, terms), scratch, plan)?,
        };
        let is_within = tables + choice.tables() <= TABLES_MAX;
        let choice = if is_within { choice } else { choice.without_tables() };
        tables += choice.tables();
        choices.push(choice);
    }
    let methods: Vec<MemoryMethod> = choices.iter().map(|choice| choice.method).collect();
    let written = with_methods((traced, &blocks), (&methods, terms), protocol, scratch)?;
    Ok((written, choices))
}

/// `traced` with the methods that the description of a plan names, and what cannot be proven of the widths of their columns;
/// itself if it has other memories.
///
/// # Errors
/// If a method is none for such a memory under the plan's protocol.
pub fn expanded_as(
    traced: TracedFile,
    plan: &Description,
    scratch: &Scratch,
) -> Result<(TracedFile, Vec<String>), Failure> {
    let methods: Option<Vec<MemoryMethod>> =
        plan.memories.iter().map(|memory| memory.method).collect();
    match methods.filter(|methods| methods.len() == traced.description.memories.len()) {
        Some(methods) if !methods.is_empty() => {
            let figures = plan.plan.as_ref().expect("the description of a plan has its figures");
            let protocol = Protocol::of_verified_plan(figures);
            let variant = ProtocolVariant::stated(figures);
            let terms = memory_terms(protocol, variant, plan.computing());
            let blocks = AccessedBlocks::of(&traced)?;
            let (run, memory_bytes) = ((protocol, variant), PLANNER_MEMORY_BYTES);
            let narrowed = NarrowedColumns::of((&traced, &blocks), run, memory_bytes, scratch)?;
            let (traced, unproven) = (&narrowed.traced, narrowed.unproven(&blocks)?);
            // Whoever made the plan may have named a method that tells a party rows that it must not learn.
            let usages = usages(&mut blocks.readers()?, &blocks.times)?;
            for (memory, &method) in traced.description.memories.iter().zip(usages).zip(&methods) {
                check(memory, method, (protocol, terms))?;
            }
            let written = with_methods((traced, &blocks), (&methods, terms), protocol, scratch)?;
            Ok((written, unproven))
        }
        _ => Ok((traced, Vec::new())),
    }
}

/// Returns whether loops stay blocks that are repeated, between which rows lie in regions. In a field they do not: what a
/// block opens under narrow masks it would open as often as it runs.
fn keeps_loops(protocol: Protocol) -> bool {
    protocol.reveals_inside_blocks() && protocol.field().is_none()
}

/// How so many parties compute with memories.
fn memory_terms(protocol: Protocol, variant: ProtocolVariant, computing: usize) -> MemoryTerms {
    let outside = protocol.beside_accesses();
    if let Some(field) = protocol.field() {
        let bits = (magnitude_bits(field) as u16).min(RING_WIDTH_MAX);
        let rows = RowSharing::Elements { bits };
        return MemoryTerms { parties: computing as u16, rows, outside };
    }
    let is_on_shares = protocol.reveals_inside_blocks() && protocol.is_on_shares();
    let rows = match (is_on_shares, variant.ot) {
        (false, _) => RowSharing::Labels,
        (true, OtExtension::Softspoken) => {
            RowSharing::Shares { ot_bits: 128 / FieldBits::DEFAULT.bits() as u32 }
        }
        // It is less, of many.
        (true, OtExtension::Silent) => RowSharing::Shares { ot_bits: 1 },
    };
    MemoryTerms { parties: computing as u16, rows, outside }
}

fn with_methods(
    (traced, blocks): (&TracedFile, &AccessedBlocks),
    (methods, terms): (&[MemoryMethod], MemoryTerms),
    protocol: Protocol,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    let output = scratch.file();
    // Rows of regions are XOR shares: to scan them garbled, all would be converted in every block.
    let are_scanned = methods.iter().all(|&method| method == MemoryMethod::Scan);
    let is_kept = keeps_loops(protocol) && !(are_scanned && terms.outside == Sharing::Garbled);
    let unrolled = blocks.unrolled(&traced.description, (methods, terms), is_kept)?;
    let unrolling = unrolled.as_deref().map_or(Unrolling::Whole, Unrolling::Iterations);
    let mut readers = blocks.readers()?;
    let program = ProgramBlocks {
        description: &traced.description,
        flow: blocks.flow.clone(),
        blocks: &mut readers,
    };
    let written = expand(program, (methods, terms), unrolling, output.clone())?;
    let written = written_beside(traced, output, written);
    let of_blocks = traced_blocks(&written.file, |_| traced.computing)?;
    Ok(of_blocks.unwrap_or(written))
}

/// A program that was written to `file`, for the same parties as `traced`.
fn written_beside(traced: &TracedFile, file: ScratchFile, written: Traced) -> TracedFile {
    TracedFile {
        file: ProgramFile::new(file),
        hash: written.written.hash,
        description: written.description,
        blocks: None,
        sources: None,
        ..traced.clone()
    }
}

fn choose(
    traced: &TracedFile,
    (shape, usage): (&Memory, MemoryUsage),
    (protocol, terms): (Protocol, MemoryTerms),
    scratch: &Scratch,
    plan: SamplePlanner<'_>,
) -> Result<MemoryChoice, Failure> {
    let choice = |method, prices| {
        let (shape, is_little_memory) = (shape.clone(), false);
        MemoryChoice { shape, usage, method, prices, is_little_memory }
    };
    if let Some(method) = shape.method {
        check((shape, usage), method, (protocol, terms))?;
        return Ok(choice(method, Vec::new()));
    }
    let linked = shape.is_linked.then_some(MemoryMethod::Linked);
    let mut methods: Vec<MemoryMethod> = MemoryMethod::ALL
        .into_iter()
        .chain(MemoryMethod::IN_TABLES)
        .chain(linked)
        .filter(|&method| check((shape, usage), method, (protocol, terms)).is_ok())
        // One party alone has nobody to move rows with.
        .filter(|&method| method == MemoryMethod::Scan || traced.description.parties.len() > 1)
        .collect();
    // Whole programs with such a memory have at least as many instructions.
    let instructions =
        |method: &MemoryMethod| instructions_of_a_turn((shape, usage), *method, terms);
    let fewest = methods.iter().copied().min_by_key(instructions);
    let fewest = fewest.expect("every protocol can scan");
    methods.retain(|method| instructions(method) <= INSTRUCTIONS_MAX || *method == fewest);
    if let ([method], _) | ([method, ..], 0) = (&methods[..], usage.accesses()) {
        return Ok(choice(*method, Vec::new()));
    }
    if plan.limit_bytes < COMPARED_FROM_BYTES {
        let is_little_memory = true;
        return Ok(MemoryChoice { is_little_memory, ..choice(MemoryMethod::Scan, Vec::new()) });
    }
    let mut prices = Vec::new();
    let mut failures = Vec::new();
    for method in methods {
        match price(traced, (shape, usage), (method, terms), scratch, plan) {
            Ok(price) => prices.push(price),
            Err(failure) if failure.code.exit == Exit::DoesNotFit => failures.push(failure),
            Err(failure) => return Err(failure),
        }
    }
    prices.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    match prices.first() {
        Some(cheapest) => Ok(choice(cheapest.method, prices)),
        None => Err(failures.swap_remove(0)),
    }
}

/// Refuses a method that the protocol cannot run, or not for so many rows or such rows.
fn check(
    (shape, usage): (&Memory, MemoryUsage),
    method: MemoryMethod,
    (protocol, terms): (Protocol, MemoryTerms),
) -> Result<(), Failure> {
    let name = plain(&shape.name);
    match method {
        MemoryMethod::Scan => Ok(()),
        MemoryMethod::Dpf => {
            check_table((shape, usage), &DPF_TABLES, (protocol, terms.parties.into()))
        }
        MemoryMethod::GarbledTable => {
            check_table((shape, usage), &GARBLED_TABLES, (protocol, terms.parties.into()))
        }
        MemoryMethod::SquareRoot | MemoryMethod::Circuit | MemoryMethod::Linked
            if !protocol.reveals_inside_blocks() =>
        {
            let message = format!(
                "{name} asks for {}, and {} opens nothing inside a block",
                method.name(),
                protocol.name()
            );
            let remedy = format!(
                "use the method scan, or let it be chosen, or run the program under one of {}",
                openers()
            );
            Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy))
        }
        // Nobody is told a permutation there, and no bits are drawn that are not switches of one.
        MemoryMethod::Linked | MemoryMethod::Circuit if protocol.field().is_some() => {
            let (method, protocol) = (method.name(), protocol.name());
            let message = format!("{name} asks for {method}, which {protocol} does not have");
            Err(Failure::new(codes::NO_OPENING_INSIDE, message)
                .remedy("use the method scan or square-root, or let it be chosen"))
        }
        MemoryMethod::SquareRootTable if !protocol.looks_up_in_tables() => {
            let message = format!(
                "{name} asks for {}, and {} has no tables that one party looks rows up in",
                method.name(),
                protocol.name()
            );
            Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(
                "use the method scan, or let it be chosen, or run the program under garbled",
            ))
        }
        MemoryMethod::SquareRoot
        | MemoryMethod::SquareRootTable
        | MemoryMethod::Circuit
        | MemoryMethod::Linked
            if shape.rows > ROWS_SHUFFLED_MAX =>
        {
            let message = format!(
                "{name} has {} rows, and {} has at most {}",
                quantity::count(shape.rows),
                method.name(),
                quantity::count(ROWS_SHUFFLED_MAX)
            );
            Err(Failure::new(codes::NO_OPENING_INSIDE, message))
        }
        MemoryMethod::Circuit if usage.set_rows > ROWS_INSERTED_MAX => {
            let message = format!(
                "{name} has {} rows that the program sets, and {} inserts at most {}, one by one",
                quantity::count(usage.set_rows),
                method.name(),
                quantity::count(ROWS_INSERTED_MAX)
            );
            let remedy = "use another method, or let it be chosen";
            Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy))
        }
        MemoryMethod::SquareRoot
        | MemoryMethod::SquareRootTable
        | MemoryMethod::Circuit
        | MemoryMethod::Linked => Ok(()),
    }
}

/// A method that looks rows up in tables.
struct TableMethod {
    method: MemoryMethod,
    /// Whether so many parties have it under a protocol.
    is_of: fn(Protocol, usize) -> bool,
    /// The least that must be known of the rows, and the same in words.
    known: RowKnowledge,
    known_in_words: &'static str,
}

const GARBLED_TABLES: TableMethod = TableMethod {
    method: MemoryMethod::GarbledTable,
    is_of: |protocol, _| protocol.looks_up_in_tables(),
    known: RowKnowledge::FirstParty,
    known_in_words: "constants of the program, or inputs of the first party",
};

/// Rows that nobody knows are hidden when they are set.
const DPF_TABLES: TableMethod = TableMethod {
    method: MemoryMethod::Dpf,
    is_of: |protocol, parties| protocol.looks_up_public_rows(parties),
    known: RowKnowledge::Nobody,
    known_in_words: "anything",
};

/// Refuses rows that cannot be looked up in a table.
fn check_table(
    (shape, usage): (&Memory, MemoryUsage),
    &TableMethod { method, is_of, known, known_in_words }: &TableMethod,
    (protocol, parties): (Protocol, usize),
) -> Result<(), Failure> {
    let name = plain(&shape.name);
    let refused = |what: String, remedy: &str| {
        let message = format!("{name} asks for {}, and {what}", method.name());
        Err(Failure::new(codes::NO_PUBLIC_ROWS, message).remedy(remedy.to_owned()))
    };
    let other = "use another method, or let it be chosen";
    if !is_of(protocol, parties) {
        let protocols = Protocol::names(|protocol| {
            is_of(protocol, 2) && protocol.adversary() != Adversary::Nobody
        });
        let what = format!("{parties} parties cannot use it under {}", protocol.name());
        let remedy = format!("{other}, or run the program between two parties under {protocols}");
        return refused(what, &remedy);
    }
    let is_changing = method == MemoryMethod::Dpf && usage.changes > 0;
    if usage.changes > 0 && !is_changing {
        return refused("its rows are changed".to_owned(), other);
    }
    let is_hidden = method == MemoryMethod::Dpf && usage.known > RowKnowledge::All;
    if (is_hidden || is_changing) && !usage.is_set_once {
        return refused("its rows are set in several blocks, or in a loop".to_owned(), other);
    }
    if usage.known > known {
        return refused(format!("not all of its rows are {known_in_words}"), other);
    }
    let most = if is_changing { SHARED_ROWS_MAX } else { TABLE_ROWS_MAX };
    if shape.rows > most {
        let (rows, most) = (quantity::count(shape.rows), quantity::count(most));
        return refused(format!("it has {rows} rows, where {most} are the most"), other);
    }
    Ok(())
}

/// With less memory all memories are scanned that leave it open: there the least limit of a program would depend on
/// the method, and so on the network, and what `explain` states would not be enough for a run.
pub const COMPARED_FROM_BYTES: u64 = 64 << 20;

/// A method is not compared if a turn of it has more instructions: planning them takes half a minute.
const INSTRUCTIONS_MAX: u64 = 1 << 24;

/// The most rows that are inserted into the trees of Circuit ORAM, each by some 2,500 instructions.
const ROWS_INSERTED_MAX: u64 = 1 << 14;

/// The most rows that are shuffled.
const ROWS_SHUFFLED_MAX: u64 = phineus_bytecode::limits::PERMUTATION_ITEMS_MAX as u64;

/// Rows that a sample sets, of many that are inserted one by one.
const SET_SAMPLE: u64 = 16;

/// What `method` costs for a memory that is used so often.
///
/// Of many accesses two turns are planned, and the second is taken as often as there are more. So are rows that are
/// inserted.
fn price(
    traced: &TracedFile,
    (shape, usage): (&Memory, MemoryUsage),
    (method, terms): (MemoryMethod, MemoryTerms),
    scratch: &Scratch,
    plan: SamplePlanner<'_>,
) -> Result<MemoryPrice, Failure> {
    let shape = Memory { method: Some(method), ..shape.clone() };
    let planned = |usage: MemoryUsage| -> Result<PlannedFile, Failure> {
        let (file, description) = (scratch.file(), &traced.description);
        let written = sample(&shape, (usage, terms), &description.parties, file.clone())?;
        (plan.plan)(&written_beside(traced, file, written))
    };
    let (turn, all, set) =
        (usage.accesses_of_a_turn(&shape, method, terms), usage.accesses(), usage.set_rows);
    let is_scaled = all > 2 * turn;
    let is_set_in_part = method == MemoryMethod::Circuit && set > 2 * SET_SAMPLE;
    let of_part = |turns: u64, rows: u64| {
        let usage = if is_scaled { usage.scaled_to(turns * turn) } else { usage };
        MemoryUsage { set_rows: if is_set_in_part { rows } else { set }, ..usage }
    };
    let mut result = planned(of_part(1, SET_SAMPLE))?;
    let once = result.plan().clone();
    let mut extend = |twice: PlannedFile, more: f64| {
        let plan = result.description.plan.as_mut().expect("it is planned");
        extrapolate(plan, (&once, twice.plan()), more);
    };
    if is_scaled {
        extend(planned(of_part(2, SET_SAMPLE))?, (all - turn) as f64 / turn as f64);
    }
    if is_set_in_part {
        let more = (set - SET_SAMPLE) as f64 / SET_SAMPLE as f64;
        extend(planned(of_part(1, 2 * SET_SAMPLE))?, more);
    }
    let seconds = predict(&result, plan.net).whole.running();
    let sent_bytes = sent_bytes(&result).into_iter().max().unwrap_or(0);
    Ok(MemoryPrice { method, seconds, sent_bytes })
}

/// Adds `more` times the difference of two plans to the figures of `plan`.
fn extrapolate(
    plan: &mut PlanDescription,
    (once, twice): (&PlanDescription, &PlanDescription),
    more: f64,
) {
    let beyond = |now: u64, once: u64, twice: u64| {
        (now as f64 + more * (twice as f64 - once as f64)).max(0.0).round() as u64
    };
    for (name, &twice) in &twice.costs {
        let now = plan.costs.entry(name.clone()).or_default();
        *now = beyond(*now, once.costs.get(name).copied().unwrap_or(0), twice);
    }
    let count = &mut plan.instruction_count;
    *count = beyond(*count, once.instruction_count, twice.instruction_count);
    plan.swap_in_count = beyond(plan.swap_in_count, once.swap_in_count, twice.swap_in_count);
    plan.swap_out_count = beyond(plan.swap_out_count, once.swap_out_count, twice.swap_out_count);
}
