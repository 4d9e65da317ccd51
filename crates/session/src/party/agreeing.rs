//! Agreement of the parties after they have connected: sizes, program, protocol, stored correlated
//! randomness.

mod choosing;
mod planning;
mod rows;

use std::collections::BTreeMap;
use std::time::Duration;

use phineus_bytecode::Table;
use phineus_channels::NetworkModel;
use phineus_ot::SessionId;
use phineus_tables::TextKey;
use phineus_tables::quantity;

use super::preparation::Preparation;
use super::slicing;
use crate::accelerator::{Accelerator, matrix_entries};
use crate::agreement::{self, AutoInputs, Peers, Proposal};
use crate::binding::{self, PartyTables};
use crate::calibration::cache_bytes;
use crate::client::ClientPass;
use crate::correlated::{self, Source};
use crate::disclosed::Disclosed;
use crate::failure::{Exit, Failure, Remedy, RunField, codes};
use crate::memory_budget::{PLANNER_BUFFERS_BYTES, connected_process_bytes};
use crate::overlay::CompiledOverlay;
use crate::own_rows::RowOrders;
use crate::planned::PlannedFile;
use crate::planning::with_least_of;
use crate::progress::Progress;
use crate::protocol::Protocol;
use crate::settings::{
    Choice, NARROW_MASKS, NO_OPTIMISE, Optimisation, PreprocessingMode, Run, network_text,
};
use crate::sizing::{self, PlanParameters, expanded, has_choices, with_chosen_sharings};
use crate::stored::check_preprocessing;
use crate::traced::{TracedFile, table_bytes};

use choosing::chosen;
use planning::{client_walk, plan_for_process};
use rows::{check_their_rows, ranges, traced_for_all};

/// Result of the agreement, ready to run.
pub struct Agreed {
    pub protocol: Protocol,
    pub part: PartyRole,
    pub inputs: Vec<Option<Table>>,
    /// Notes for this party about its inputs.
    pub notes: Vec<String>,
    pub arrangements: RowOrders,
    pub session: SessionId,
    /// Where products of matrices are computed.
    pub accelerator: Accelerator,
    /// The overlay that garbles, if the processor does not.
    pub overlay: Option<CompiledOverlay>,
    /// The least second-level cache of all who compute.
    pub cache_bytes: usize,
}

/// Part of this party in the run.
pub enum PartyRole {
    /// It computes, with correlated randomness from there.
    Computing(PlannedFile, Source),
    /// It shares its inputs and learns outputs.
    Client(ClientPass),
}

/// The bandwidth that methods of memories are chosen for, where none is stated and parties are on several machines.
const BITS_PER_SECOND_ASSUMED: u64 = 1_000_000_000;

/// The longest round trip for which they are chosen where all parties are processes of one machine: about what two busy
/// ones take. What is measured while they start is twice as long at times, and other methods would be chosen.
const ROUND_TRIP_OF_ONE_MACHINE: Duration = Duration::from_micros(50);

/// Statement of this party's settings for the others.
fn proposal(
    run: &Run,
    prepared: &Preparation<'_>,
    round_trip_us: u64,
) -> Result<Proposal, Failure> {
    let protocol = run.together.protocol;
    let is_auto =
        protocol.stated().is_none() || run.together.variants.variants(&[run.together.ot]).len() > 1;
    // Sharings are chosen for the network, too.
    let chooses_sharings = run.together.variants.optimisation == Optimisation::On
        && protocol.stated().is_some_and(|protocol| protocol.chooses_sharings());
    let takes_correlated = protocol.candidates().iter().any(|one| one.has_preprocessing());
    let preprocessing = match &run.making {
        Some(_) => "made for a later run",
        None => run.preprocessing.name(),
    };
    let is_client = prepared.cast.is_client(prepared.party);
    let optimisation = match run.together.variants.optimisation {
        Optimisation::On => None,
        Optimisation::Off => Some((NO_OPTIMISE, "stated".to_owned())),
    };
    Ok(Proposal {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: prepared.program.clone(),
        protocol: protocol.name().to_owned(),
        label: run.together.label.clone(),
        ot: takes_correlated.then(|| run.together.ot.name().to_owned()),
        variants: (run.together.variants.typed().into_iter())
            .chain(optimisation)
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        preprocessing: (takes_correlated
            && (!is_client || run.preprocessing == PreprocessingMode::Fake))
            .then(|| preprocessing.to_owned()),
        choosing: (is_auto || chooses_sharings).then(|| AutoInputs {
            network: run.network().map_or("one machine".to_owned(), |net| network_text(&net)),
        }),
        // What a client holds does not depend on the protocol.
        memory_limit_bytes: if is_client { u64::MAX } else { prepared.limit_bytes },
        slice_bytes: slicing::stated(run, prepared.limit_bytes),
        measures: !is_client && slicing::measures(run),
        round_trip_us,
        is_far: !is_client && slicing::is_far(run, Duration::from_micros(round_trip_us)),
        cache_bytes: cache_bytes(),
        computing: prepared.cast.computing_names().join(", "),
        party: prepared.party,
        parameters: prepared.parameters.clone(),
        rows: prepared.rows.clone(),
        nonce: agreement::nonce()?,
    })
}

/// Tells what a protocol does not protect against, if that is less than users expect.
pub fn warn(protocol: Protocol, run: &Run, prepared: &Preparation<'_>, progress: &Progress) {
    if let Some(warning) = protocol.warning().filter(|_| is_voice(run, prepared)) {
        progress.warn(warning);
    }
}

/// Whether this party tells what concerns all: one of a local run is enough.
pub fn is_voice(run: &Run, prepared: &Preparation<'_>) -> bool {
    !run.together.is_all_ours || prepared.party == 0
}

/// Agrees with the others on everything, and plans.
pub fn agree_and_plan(
    run: &Run,
    prepared: &Preparation<'_>,
    (channels, round_trip): (&mut Peers, Duration),
    progress: &Progress,
) -> Result<Agreed, Failure> {
    progress.stage("agreeing");
    let ours = proposal(run, prepared, round_trip.as_micros() as u64)
        .map_err(|failure| failure.revealed(Disclosed::Hello.sentence()))?;
    let proposals = agreement::exchange_proposals(channels, &ours, prepared.cast.computing)?;
    check_their_rows(prepared, &proposals)?;
    if !run.together.is_all_ours {
        for theirs in proposals.iter().filter(|proposal| proposal.party != prepared.party) {
            for (port, rows) in &theirs.rows {
                let (peer, rows) = (prepared.name(theirs), quantity::count(*rows));
                progress.note(&format!("{peer} brings {rows} rows for '{port}'"));
            }
        }
    }
    progress.stage("tracing the program");
    let traced = traced_for_all(prepared, &proposals, run.together.protocol)?;
    let (protocol, variant) = chosen(run, prepared, &proposals, &traced, progress)?;
    if run.together.protocol.stated().is_none() {
        warn(protocol, run, prepared, progress);
    }
    let mut round_trip = agreement::longest_round_trip(&proposals);
    if run.together.is_all_ours {
        round_trip = round_trip.min(ROUND_TRIP_OF_ONE_MACHINE);
    }
    // Nobody has measured how fast the network of several machines is.
    let assumed = (!run.together.is_all_ours).then_some(BITS_PER_SECOND_ASSUMED);
    let measured = NetworkModel { rtt: round_trip, bandwidth_bits_per_second: assumed };
    let terms = PlanParameters {
        limit_bytes: least_limit(&proposals),
        net: run.network().or(Some(measured)),
        is_dealt: run.preprocessing == PreprocessingMode::Fake,
        is_compared: true,
    };
    let whole = has_choices(&traced).then(|| traced.clone());
    // With another limit other methods of memories may be chosen: both are tried together.
    let with_least = |failure: Failure| match &whole {
        Some(whole) if failure.code.exit == Exit::DoesNotFit => {
            with_least_of(failure, prepared.limit_bytes, |limit_bytes| {
                let terms = PlanParameters { limit_bytes, ..terms };
                sizing::planned(whole, (protocol, variant), terms, &prepared.scratch).err()
            })
        }
        _ => failure,
    };
    let (traced, memories) =
        expanded(&traced, (protocol, variant), terms, &prepared.scratch).map_err(&with_least)?;
    let on_stated = PlanParameters { net: run.network(), ..terms };
    let of_program = (protocol, variant);
    let chosen = with_chosen_sharings(&traced, of_program, on_stated, &prepared.scratch)?;
    let (traced, variant, sharings) = match chosen {
        Some(chosen) => (chosen.traced, chosen.variant, Some(chosen.choice)),
        None => (traced, variant, None),
    };
    // A program with memories may be of several blocks until here.
    check_preprocessing(&traced, &run.preprocessing, run.making.is_some())?;
    if is_voice(run, prepared) {
        memories.iter().for_each(|memory| progress.note(&memory.sentence()));
    }
    if let Some(choice) = sharings.as_ref().filter(|_| is_voice(run, prepared)) {
        progress.note(&format!("sharings: {}", choice.sentence()));
    }
    let program_hash = match &traced.description.plan {
        Some(plan) => plan.program_hash.clone(),
        None => traced.hash.to_string(),
    };
    let (description, name) = (&traced.description, protocol.name());
    let mut items = agreement::agreement(&program_hash, description, name, traced.computing);
    let blocks = traced.blocks.as_ref().filter(|blocks| blocks.flow.times().is_none());
    if blocks.is_some() && run.making.is_none() {
        // Who stops before the others would look like one that is gone.
        items.insert("--max-iterations".to_owned(), run.max_iterations.to_string());
    }
    for (number, memory) in (1..).zip(&memories) {
        let name = format!("how memory {number}, '{}', is accessed", memory.shape.name);
        items.insert(name, memory.method.name().to_owned());
    }
    if memories.iter().any(|memory| !memory.prices.is_empty()) {
        let stated = run.network().map_or("none stated".to_owned(), |net| network_text(&net));
        // Named so that it comes first: other methods follow from another network.
        items.insert("--net, by which methods of memories are chosen,".to_owned(), stated);
    }
    if let Some(choice) = &sharings {
        let network = run.network().map_or("none stated".to_owned(), |net| network_text(&net));
        items.insert("--net, by which sharings are chosen,".to_owned(), network);
        items.insert("how sharings are chosen".to_owned(), choice.setting.rule.to_string());
    }
    let ports = description.plan.as_ref().map_or(protocol.port_order(), |plan| plan.port_order);
    if protocol.field().is_some() {
        items.insert(NARROW_MASKS.to_owned(), run.together.variants.narrow_masks.name().to_owned());
    }
    items.insert("where inputs and outputs stand".to_owned(), ports.name().to_owned());
    let session = agreement::session_id(&program_hash, &proposals);
    agreement::add_session(&mut items, &session);
    agreement::exchange_agreement(channels, &items)?;
    progress.stage("reading inputs");
    let text_key = match &run.reading.text_key {
        Some(key) => key.clone(),
        None => TextKey::of_session(session.as_bytes()),
    };
    let unread = || PartyTables {
        tables: Vec::new(),
        notes: Vec::new(),
        arrangements: RowOrders::default(),
    };
    let PartyTables { tables: inputs, notes, arrangements } = match run.making {
        Some(_) => unread(),
        // Planning says what would be enough.
        None if !has_room_for_tables(prepared, &traced) => unread(),
        None => {
            check_buffers(prepared, &traced)?;
            let ranges = ranges(prepared, &proposals)?;
            binding::read_inputs(&traced.description, &prepared.files, &ranges, &text_key)?
        }
    };
    progress.stage("planning");
    if prepared.cast.is_client(prepared.party) {
        let walk = client_walk(run, (protocol, variant), prepared, &traced, &proposals)?;
        progress.cancel().watch_memory(&prepared.memory)?;
        progress.stage("waiting for the others to be ready");
        let accelerator = Accelerator::processor("clients compute nothing");
        let (part, cache_bytes) = (PartyRole::Client(walk), 0);
        return Ok(Agreed {
            protocol,
            part,
            inputs,
            notes,
            arrangements,
            session,
            accelerator,
            overlay: None,
            cache_bytes,
        });
    }
    // Before the process is measured: the driver of a device is a part of it.
    let accelerator = find_accelerator(run, protocol, prepared, &traced)?;
    let voice = is_voice(run, prepared).then_some(progress);
    let slice_bytes = slicing::agreed(&proposals, protocol, &traced, (channels, voice))?;
    let found = (&proposals[..], slice_bytes);
    let (planned, overlay) =
        plan_for_process((run, progress), (protocol, variant), prepared, traced, found)
            .map_err(with_least)?;
    // Nothing that depends on inputs has been sent.
    progress.cancel().watch_memory(&prepared.memory)?;
    let source = source(run, prepared, &planned, channels)?;
    progress.stage("waiting for the others to be ready");
    if accelerator.is_used() {
        progress.note(&format!("gpu: {}", accelerator.sentence()));
    }
    let computing = &proposals[..planned.computing];
    let cache_bytes =
        computing.iter().map(|proposal| proposal.cache_bytes).min().unwrap_or(0) as usize;
    let part = PartyRole::Computing(planned, source);
    Ok(Agreed {
        protocol,
        part,
        inputs,
        notes,
        arrangements,
        session,
        accelerator,
        overlay,
        cache_bytes,
    })
}

/// Returns whether this party's tables fit into memory beside the planner.
fn has_room_for_tables(prepared: &Preparation<'_>, traced: &TracedFile) -> bool {
    let peers = prepared.cast.members.len() - 1;
    let process_bytes = connected_process_bytes(peers, prepared.route.transport());
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    process_bytes + tables_bytes + PLANNER_BUFFERS_BYTES <= prepared.limit_bytes
}

/// Checks that decoding an input file, beside the tables, stays within the limit.
fn check_buffers(prepared: &Preparation<'_>, traced: &TracedFile) -> Result<(), Failure> {
    let peers = prepared.cast.members.len() - 1;
    let process_bytes = connected_process_bytes(peers, prepared.route.transport());
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    let room = prepared.limit_bytes.saturating_sub(process_bytes + tables_bytes);
    match prepared.files.values().find(|file| file.buffer_bytes > room) {
        None => Ok(()),
        Some(file) => {
            let (name, needed) = (file.source.name(), quantity::bytes(file.buffer_bytes));
            let message = format!(
                "{name}: decoding it takes up to {needed}, and {} of the limit are left for that",
                quantity::bytes(room)
            );
            Err(Failure::new(codes::INPUT_BUFFERS, message).remedy(
                Remedy::new("give more ")
                    .field(RunField::Memory)
                    .and(", or write the file with smaller row groups or record batches"),
            ))
        }
    }
}

/// Where this party's products of matrices are computed; what it makes for a later run has none.
fn find_accelerator(
    run: &Run,
    protocol: Protocol,
    prepared: &Preparation<'_>,
    traced: &TracedFile,
) -> Result<Accelerator, Failure> {
    let field = protocol.field().filter(|_| run.making.is_none());
    let entries = if field.is_some() { matrix_entries(traced)? } else { 0 };
    let processor = (prepared.limit_bytes, usize::from(run.threads));
    Ok(Accelerator::find(run.resources.gpu, field, entries, processor))
}

/// The least memory limit of all who compute.
pub fn least_limit(proposals: &[Proposal]) -> u64 {
    proposals.iter().map(|proposal| proposal.memory_limit_bytes).min().expect("there are parties")
}

/// Where triples come from; what is stored is compared with what the others have stored.
fn source(
    run: &Run,
    prepared: &Preparation<'_>,
    planned: &PlannedFile,
    channels: &mut Peers,
) -> Result<Source, Failure> {
    match &run.preprocessing {
        PreprocessingMode::Interleaved => Ok(Source::Interleaved),
        PreprocessingMode::Sequential => Ok(Source::Sequential),
        PreprocessingMode::Fake => Ok(Source::Fake),
        PreprocessingMode::Stored(path) => {
            let key = prepared.stored_key.as_ref().expect("opened when it was prepared");
            let file = crate::stored::open(path, key, planned, prepared.party)?;
            let tables = correlated::open_tables(path, &file, planned)?;
            let pairing: String =
                file.pairing()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            let name = "the run that stored preprocessing is from".to_owned();
            // Clients have none.
            let channels = &mut channels[..prepared.cast.computing];
            agreement::exchange_agreement(channels, &BTreeMap::from([(name, pairing)])).map_err(
                |failure| {
                    failure.remedy(
                        "remove the files and make them again, all together: one that was cut off \
                         while the others ended may be at one party alone",
                    )
                },
            )?;
            Ok(Source::Stored(file, tables))
        }
    }
}
