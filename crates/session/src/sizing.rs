//! A program with its sizes, for commands that do not run it.

use std::time::Duration;

use phineus_bytecode::Description;
use phineus_channels::{NetworkModel, Transport};
use phineus_plan::Scratch;

use crate::accelerator::matrix_entries;
use crate::binding;
use crate::connecting::check_parties;
use crate::failure::Failure;
use crate::leftovers::Leftovers;
use crate::memories::{self, SamplePlanner};
use crate::memory_budget::{BudgetParameters, PROCESS_BYTES, connected_process_bytes};
use crate::memory_choice::MemoryChoice;
use crate::planned::Budget;
use crate::planned::PlannedFile;
use crate::planning::{plan_as_stated, plan_within, with_least_of};
use crate::ports::port_named;
use crate::protocol::Protocol;
use crate::registry::Registry;
use crate::resolve::shape;
use crate::resolve::{Resolved, ready, resolve, trace_for};
use crate::roles::Roles;
use crate::settings::{Optimisation, Outsourcing, ProgramChoice, ProtocolVariant, Sizes};
use crate::sharing_candidates::{Chosen, choose};
use crate::slices;
use crate::traced::TracedFile;
use crate::traced::all_tables;
use crate::traced::{client_tables_bytes, largest_tables_bytes};

/// Traces what `choice` names, with the rows that are stated or counted.
pub fn traced(
    registry: &Registry,
    choice: &ProgramChoice,
    sizes: &Sizes,
    scratch: &Scratch,
    leftovers: &Leftovers,
) -> Result<TracedFile, Failure> {
    traced_for(registry, choice, &Outsourcing::default(), sizes, scratch, leftovers)
        .map(|(traced, _)| traced)
}

/// Traces for computing parties and clients; also returns the sentence about who learns what, if
/// the program has one.
pub fn traced_for(
    registry: &Registry,
    choice: &ProgramChoice,
    outsourcing: &Outsourcing,
    sizes: &Sizes,
    scratch: &Scratch,
    leftovers: &Leftovers,
) -> Result<(TracedFile, Option<String>), Failure> {
    let resolved = resolve(registry, choice.program.as_deref(), scratch, leftovers)?;
    let (arguments, description) = shape(&resolved, &choice.parameters)?;
    // The sentence names the program's own parties, so there is none where others compute for them.
    let program = resolved.program().filter(|_| !outsourcing.is_stated());
    let learns = program.zip(arguments.as_ref()).and_then(|(program, a)| program.reveals(a));
    let cast = match outsourcing.is_stated() {
        true => Some(Roles::new(&description, outsourcing, None)?),
        false => None,
    };
    let assigned = binding::assign(&description, &sizes.inputs, &[], None)?;
    let files = binding::count_all(&description, &assigned, &sizes.reading, (&[], None))?;
    let stated = stated_rows(&description, &sizes.rows)?;
    let traced = match (&resolved, arguments) {
        (Resolved::File(file), _) => {
            if !stated.is_empty() {
                let message = "a file that is traced or planned has its sizes already";
                return Err(Failure::usage(message));
            }
            binding::check_rows(&description, &files)?;
            ready(file)?
        }
        (resolved, Some(mut arguments)) => {
            binding::set_rows(&mut arguments, &files);
            stated.iter().for_each(|(port, rows)| arguments.set_rows(port, *rows));
            if choice.notes_sources {
                arguments.ask_for_sources();
            }
            let program = resolved.program().expect("only files have none");
            trace_for(program, &arguments, scratch, choice.levels.as_ref())?
        }
        (_, None) => unreachable!("a program has arguments"),
    };
    let traced = match cast {
        Some(cast) => cast.recast(traced, scratch)?,
        None => traced,
    };
    Ok((traced, learns))
}

/// `--rows INPUT=ROWS` by port.
pub fn stated_rows(
    description: &Description,
    rows: &[(String, String)],
) -> Result<Vec<(String, u64)>, Failure> {
    rows.iter()
        .map(|(name, text)| {
            let port = port_named(description, name)?;
            match text.replace('_', "").parse::<u64>() {
                Ok(rows) => Ok((port.name.clone(), rows)),
                Err(_) => {
                    Err(Failure::usage(format!("--rows {name}={text}: expected a whole number")))
                }
            }
        })
        .collect()
}

/// Parameters of a plan that is not run here.
#[derive(Clone, Copy, Debug)]
pub struct PlanParameters {
    pub limit_bytes: u64,
    pub net: Option<NetworkModel>,
    /// Whether correlated randomness comes from a trusted dealer.
    pub is_dealt: bool,
    /// Set if plans are only compared: for those that do not fit no least limit is searched.
    pub is_compared: bool,
}

/// A plan for the party that needs more memory, as a run on the network would make it.
pub fn planned(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    terms: PlanParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let planned = planned_to_make(traced, (protocol, variant), terms, scratch)?;
    Ok(if terms.is_dealt { planned.dealt() } else { planned })
}

/// Whether the program leaves the method of a memory open.
pub fn has_choices(traced: &TracedFile) -> bool {
    traced.description.memories.iter().any(|memory| memory.method.is_none())
}

/// `traced` without memories, and how each of them is accessed: as it costs least in a run with these terms.
pub fn expanded(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    terms: PlanParameters,
    scratch: &Scratch,
) -> Result<(TracedFile, Vec<MemoryChoice>), Failure> {
    let terms = PlanParameters { is_compared: true, ..terms };
    // A sample has constants where a program has secrets, and nobody needs its results.
    let whole = ProtocolVariant { optimisation: Optimisation::Off, ..variant };
    let plan = |sample: &TracedFile| planned(sample, (protocol, whole), terms, scratch);
    let planner = SamplePlanner { plan: &plan, net: terms.net, limit_bytes: terms.limit_bytes };
    memories::expanded(traced, (protocol, variant), scratch, planner)
}

/// `traced`, which has no memories, with the sharings that cost least in a run with these terms; nothing if none are chosen.
pub fn with_chosen_sharings(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    terms: PlanParameters,
    scratch: &Scratch,
) -> Result<Option<Chosen>, Failure> {
    // Dealt randomness is for measurements: they are of what would run without a dealer.
    let terms = PlanParameters { is_dealt: false, ..terms };
    let situation = situation(traced, (protocol, variant), terms)?;
    let plan = |written: &TracedFile, variant: ProtocolVariant| {
        plan_as_stated(written, protocol, &BudgetParameters { variant, ..situation }, scratch)
    };
    let limits = (terms.net, terms.limit_bytes);
    choose(traced, (protocol, variant), limits, scratch, &plan)
}

/// The party that needs the most memory, in a run with these terms.
fn situation(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    PlanParameters { limit_bytes, net, is_dealt, .. }: PlanParameters,
) -> Result<BudgetParameters, Failure> {
    let tables_bytes = match protocol.is_in_one_process() {
        true => all_tables(&traced.description),
        false => largest_tables_bytes(traced),
    };
    let members = traced.description.parties.len().max(1);
    let opened_bytes = match protocol.field() {
        Some(field) => matrix_entries(traced)?.saturating_mul(field.bytes() as u64),
        None => 0,
    };
    Ok(BudgetParameters {
        limit_bytes,
        least_limit_bytes: limit_bytes,
        slice_bytes: slices::expected(net, limit_bytes, opened_bytes),
        prove_inputs: !is_dealt,
        process_bytes: match protocol.is_in_one_process() {
            true => PROCESS_BYTES,
            false => connected_process_bytes(members - 1, Transport::Tcp),
        },
        tables_bytes,
        client_tables_bytes: client_tables_bytes(traced),
        protocol,
        parties: traced.computing,
        clients: traced.description.parties.len() - traced.computing,
        variant,
        round_trip: net.map_or(Duration::ZERO, |net| net.rtt),
        is_far: net.is_some_and(|net| slices::is_far(net.rtt)),
        transport: Transport::Tcp,
        network: None,
    })
}

/// Plans with the costs of making the correlated randomness.
fn planned_to_make(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    terms: PlanParameters,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let PlanParameters { limit_bytes, is_compared, .. } = terms;
    let situation = situation(traced, (protocol, variant), terms)?;
    if let Some(plan) = &traced.description.plan {
        let protocol = Protocol::of_verified_plan(plan);
        return PlannedFile::open(traced.clone(), &BudgetParameters { protocol, ..situation });
    }
    check_parties(protocol, traced.computing, traced.description.parties.len())?;
    let run = (protocol, variant);
    // With another limit other methods of memories may be chosen: both are tried together.
    if !is_compared && has_choices(traced) {
        let compared = |limit_bytes| PlanParameters { limit_bytes, is_compared: true, ..terms };
        let attempt = |limit_bytes| planned(traced, run, compared(limit_bytes), scratch);
        return attempt(limit_bytes).map_err(|failure| {
            with_least_of(failure, limit_bytes, |limit_bytes| attempt(limit_bytes).err())
        });
    }
    let (traced, memories) = expanded(traced, run, terms, scratch)?;
    if let Some(chosen) = with_chosen_sharings(&traced, run, terms, scratch)? {
        return Ok(PlannedFile {
            memories,
            sharings: Some(Box::new(chosen.choice)),
            ..chosen.planned
        });
    }
    let planned = match is_compared {
        true => plan_as_stated(&traced, protocol, &situation, scratch),
        false => plan_within(&traced, protocol, &situation, scratch),
    }?;
    Ok(PlannedFile { memories, ..planned })
}

/// The shares of memory as lines.
pub fn budget_lines(budget: &Budget) -> Vec<(&'static str, u64)> {
    vec![
        ("frames", budget.frames),
        ("process", budget.process),
        ("tables", budget.tables),
        ("channel", budget.channel),
        ("driver", budget.driver),
        ("scratch", budget.scratch),
        ("plan readers", budget.readers),
        ("storage tables", budget.storage),
        ("planning before", budget.planning),
    ]
}
