//! Memories at secret indices: chooses for each the method that costs least, and writes the program with it.
//!
//! The price of a method is the predicted time of a program that uses the memory as often and does nothing else, planned
//! for the same protocol, network and memory limit. So it counts what planning counts: gates, bytes, rounds, and
//! pages that move to storage and back.

use phineus_bytecode::{Description, FileKind, Memory, MemoryMethod, PlanDescription};
use phineus_channels::NetworkModel;
use phineus_frontend::Traced;
use phineus_oblivious::memory::{
    MemoryTerms, MemoryUsage, ProgramBlocks, RowSharing, Unrolling, accesses_of_a_turn, expand,
    instructions_of_a_turn, sample, usages,
};
use phineus_ot::FieldBits;
use phineus_plan::{Scratch, ScratchFile};
use phineus_tables::quantity;

use crate::agreement::plain;
use crate::choices::{OtExtension, ProtocolVariant};
use crate::failure::{Exit, Failure, codes};
use crate::memory_choice::{MemoryChoice, MemoryPrice};
use crate::memory_loops::AccessedBlocks;
use crate::planned::PlannedFile;
use crate::planning::openers;
use crate::prediction::{predict, sent_bytes};
use crate::program_file::ProgramFile;
use crate::protocol::Protocol;
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
    let usages = usages(&mut blocks.readers()?, &blocks.times)?;
    let memories = traced.description.memories.iter().zip(usages);
    let mut choices: Vec<MemoryChoice> = Vec::new();
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
        choices.push(choice);
    }
    let methods: Vec<MemoryMethod> = choices.iter().map(|choice| choice.method).collect();
    let is_kept = protocol.reveals_inside_blocks();
    Ok((with_methods((traced, &blocks), (&methods, terms), is_kept, scratch)?, choices))
}

/// `traced` with the methods that the description of a plan names; itself if it has other memories.
pub fn expanded_as(
    traced: TracedFile,
    plan: &Description,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    let methods: Option<Vec<MemoryMethod>> =
        plan.memories.iter().map(|memory| memory.method).collect();
    match methods.filter(|methods| methods.len() == traced.description.memories.len()) {
        Some(methods) if !methods.is_empty() => {
            let figures = plan.plan.as_ref().expect("the description of a plan has its figures");
            let protocol = Protocol::of_verified_plan(figures);
            let variant = ProtocolVariant::stated(figures);
            let terms = memory_terms(protocol, variant, plan.computing());
            let is_kept = protocol.reveals_inside_blocks();
            let blocks = AccessedBlocks::of(&traced)?;
            with_methods((&traced, &blocks), (&methods, terms), is_kept, scratch)
        }
        _ => Ok(traced),
    }
}

/// How so many parties compute with memories.
fn memory_terms(protocol: Protocol, variant: ProtocolVariant, computing: usize) -> MemoryTerms {
    let is_on_shares = protocol.reveals_inside_blocks() && protocol.may_take_triples();
    let rows = match (is_on_shares, variant.ot) {
        (false, _) => RowSharing::Labels,
        (true, OtExtension::Softspoken) => {
            RowSharing::Shares { ot_bits: 128 / FieldBits::DEFAULT.bits() as u32 }
        }
        // It is less, of many.
        (true, OtExtension::Silent) => RowSharing::Shares { ot_bits: 1 },
    };
    MemoryTerms { parties: computing as u16, rows }
}

fn with_methods(
    (traced, blocks): (&TracedFile, &AccessedBlocks),
    (methods, terms): (&[MemoryMethod], MemoryTerms),
    is_kept: bool,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    let output = scratch.file();
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
        check(shape, method, protocol)?;
        return Ok(choice(method, Vec::new()));
    }
    let linked = shape.is_linked.then_some(MemoryMethod::Linked);
    let mut methods: Vec<MemoryMethod> = MemoryMethod::ALL
        .into_iter()
        .chain(linked)
        .filter(|&method| check(shape, method, protocol).is_ok())
        .collect();
    // Whole programs with such a memory have at least as many instructions.
    let instructions = |method: &MemoryMethod| instructions_of_a_turn(shape, *method, terms);
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

/// Refuses a method that the protocol cannot run, or not for so many rows.
fn check(shape: &Memory, method: MemoryMethod, protocol: Protocol) -> Result<(), Failure> {
    let name = plain(&shape.name);
    match method {
        MemoryMethod::Scan => Ok(()),
        MemoryMethod::SquareRoot | MemoryMethod::Linked if !protocol.reveals_inside_blocks() => {
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
        MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable | MemoryMethod::Linked
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
        MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable | MemoryMethod::Linked => Ok(()),
    }
}

/// With less memory all memories are scanned that leave it open: there the least limit of a program would depend on
/// the method, and so on the network, and what `explain` states would not be enough for a run.
const COMPARED_FROM_BYTES: u64 = 64 << 20;

/// A method is not compared if a turn of it has more instructions: planning them takes half a minute.
const INSTRUCTIONS_MAX: u64 = 1 << 24;

/// The most rows that are shuffled.
const ROWS_SHUFFLED_MAX: u64 = phineus_bytecode::limits::PERMUTATION_ITEMS_MAX as u64;

/// What `method` costs for a memory that is used so often.
///
/// Of many accesses two turns are planned, and the second is taken as often as there are more.
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
        let written = sample(&shape, usage, &description.parties, file.clone())?;
        (plan.plan)(&written_beside(traced, file, written))
    };
    let (turn, all) = (accesses_of_a_turn(&shape, method, terms), usage.accesses());
    let planned = if all <= 2 * turn {
        planned(usage)?
    } else {
        let once = planned(usage.scaled_to(turn))?;
        let mut twice = planned(usage.scaled_to(2 * turn))?;
        let more = (all - turn) as f64 / turn as f64;
        let plan = twice.description.plan.as_mut().expect("it is planned");
        extrapolate(once.plan(), plan, more);
        twice
    };
    let seconds = predict(&planned, plan.net).whole.running();
    let sent_bytes = sent_bytes(&planned).into_iter().max().unwrap_or(0);
    Ok(MemoryPrice { method, seconds, sent_bytes })
}

/// Makes the figures of `plan` what they are after `more` times the difference to those of the plan `before`.
fn extrapolate(before: &PlanDescription, plan: &mut PlanDescription, more: f64) {
    let beyond = |before: u64, now: u64| {
        (before as f64 + more * (now as f64 - before as f64)).max(0.0).round() as u64
    };
    for (name, now) in &mut plan.costs {
        *now = beyond(before.costs.get(name).copied().unwrap_or(0), *now);
    }
    plan.instruction_count = beyond(before.instruction_count, plan.instruction_count);
    plan.swap_in_count = beyond(before.swap_in_count, plan.swap_in_count);
    plan.swap_out_count = beyond(before.swap_out_count, plan.swap_out_count);
}
