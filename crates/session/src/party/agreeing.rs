//! Agreement of the parties after they have connected: sizes, program, protocol, stored correlated
//! randomness.

use std::collections::BTreeMap;
use std::time::Duration;

use phineus_bytecode::{Description, FileKind, PlanDescription, Table};
use phineus_channels::{NetworkModel, Transport};
use phineus_frontend::{Arguments, ColumnRange};
use phineus_ot::SessionId;
use phineus_protocols::mixed::MixedSettings;
use phineus_tables::TextKey;
use phineus_tables::quantity;

use super::preparation::Preparation;
use super::slicing;
use crate::accelerator::{Accelerator, matrix_entries};
use crate::agreement::{self, AutoInputs, Peers, StatedSettings};
use crate::binding::{self, PartyTables};
use crate::calibration::cache_bytes;
use crate::candidates::{candidates, cheapest, reason};
use crate::client::ClientPass;
use crate::connecting::check_parties;
use crate::correlated::{self, Source};
use crate::disclosed::Disclosed;
use crate::distance;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::heap;
use crate::memory_budget::{
    BudgetParameters, GROWTH_BYTES, PLANNER_BUFFERS_BYTES, connected_process_bytes,
};
use crate::memory_pool::MemoryLimit;
use crate::own_rows::RowOrders;
use crate::planned::PlannedFile;
use crate::planning::{plan_within, with_least};
use crate::progress::Progress;
use crate::protocol::Protocol;
use crate::resolve::{Resolved, ready, trace};
use crate::settings::{
    Choice, NARROW_MASKS, OtExtension, PreprocessingMode, ProtocolChoice, ProtocolVariant, Run,
    network_text, protocols,
};
use crate::sizing::{PlanParameters, expanded};
use crate::stored::check_preprocessing;
use crate::traced::TracedFile;
use crate::traced::table_bytes;

/// Rows that a peer may bring: as many as one can sort here.
const ROWS_MAX: u64 = 1 << 32;

/// The most rows that a peer may claim before anything is traced for them.
///
/// Tracing takes time and scratch space with the rows, memory one name per chunk of some 32 rows:
/// 2^26 of them are 2 million names.
const PEER_ROWS_MAX: u64 = 1 << 26;

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

/// Statement of this party's settings for the others.
fn wish(
    run: &Run,
    prepared: &Preparation<'_>,
    round_trip_us: u64,
) -> Result<StatedSettings, Failure> {
    let protocol = run.together.protocol;
    let is_auto =
        protocol.stated().is_none() || run.together.variants.variants(&[run.together.ot]).len() > 1;
    let takes_correlated = protocol.candidates().iter().any(|one| one.has_preprocessing());
    let preprocessing = match &run.making {
        Some(_) => "made for a later run",
        None => run.preprocessing.name(),
    };
    let is_client = prepared.cast.is_client(prepared.party);
    Ok(StatedSettings {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: prepared.program.clone(),
        protocol: protocol.name().to_owned(),
        label: run.together.label.clone(),
        ot: takes_correlated.then(|| run.together.ot.name().to_owned()),
        ways: (run.together.variants.typed().into_iter())
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        preprocessing: (takes_correlated
            && (!is_client || run.preprocessing == PreprocessingMode::Fake))
            .then(|| preprocessing.to_owned()),
        choosing: is_auto.then(|| AutoInputs {
            network: run.network().map_or("one machine".to_owned(), |net| network_text(&net)),
        }),
        // What a client holds does not depend on the protocol.
        memory_limit_bytes: if is_client { u64::MAX } else { prepared.limit_bytes },
        slice_bytes: slicing::stated(run, prepared.limit_bytes),
        measures: !is_client && slicing::measures(run),
        round_trip_us,
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
    let ours = wish(run, prepared, round_trip.as_micros() as u64)
        .map_err(|failure| failure.revealed(Disclosed::Hello.sentence()))?;
    let wishes = agreement::exchange_wishes(channels, &ours, prepared.cast.computing)?;
    check_their_rows(prepared, &wishes)?;
    if !run.together.is_all_ours {
        for theirs in wishes.iter().filter(|wish| wish.party != prepared.party) {
            for (port, rows) in &theirs.rows {
                let (peer, rows) = (prepared.name(theirs), quantity::count(*rows));
                progress.note(&format!("{peer} brings {rows} rows for '{port}'"));
            }
        }
    }
    progress.stage("tracing the program");
    let traced = traced_for_all(prepared, &wishes)?;
    check_preprocessing(&traced, &run.preprocessing, run.making.is_some())?;
    let (protocol, variant) = chosen(run, prepared, &wishes, &traced, progress)?;
    if run.together.protocol.stated().is_none() {
        warn(protocol, run, prepared, progress);
    }
    let round_trip = agreement::longest_round_trip(&wishes);
    let measured = NetworkModel { rtt: round_trip, bandwidth_bits_per_second: None };
    let terms = PlanParameters {
        limit_bytes: least_limit(&wishes),
        net: run.network().or(Some(measured)),
        is_dealt: run.preprocessing == PreprocessingMode::Fake,
        is_compared: true,
    };
    let (traced, memories) = expanded(&traced, (protocol, variant), terms, &prepared.scratch)?;
    if is_voice(run, prepared) {
        memories.iter().for_each(|memory| progress.note(&memory.sentence()));
    }
    let program_hash = match &traced.description.plan {
        Some(plan) => plan.program_hash.clone(),
        None => traced.hash.to_string(),
    };
    let (description, name) = (&traced.description, protocol.name());
    let mut items = agreement::agreement(&program_hash, description, name, traced.computing);
    if traced.blocks.is_some() && run.making.is_none() {
        // Who stops before the others would look like one that is gone.
        items.insert("--max-iterations".to_owned(), run.max_iterations.to_string());
    }
    for memory in &memories {
        let name = format!("how '{}' is accessed", memory.shape.name);
        items.insert(name, memory.method.name().to_owned());
    }
    let ports = description.plan.as_ref().map_or(protocol.port_order(), |plan| plan.port_order);
    if protocol.field().is_some() {
        items.insert(NARROW_MASKS.to_owned(), run.together.variants.narrow_masks.name().to_owned());
    }
    items.insert("where inputs and outputs stand".to_owned(), ports.name().to_owned());
    let session = agreement::session_id(&program_hash, &wishes);
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
            let ranges = ranges(prepared, &wishes)?;
            binding::read_inputs(&traced.description, &prepared.files, &ranges, &text_key)?
        }
    };
    progress.stage("planning");
    if prepared.cast.is_client(prepared.party) {
        let walk = client_walk(run, (protocol, variant), prepared, &traced, &wishes)?;
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
            cache_bytes,
        });
    }
    // Before the process is measured: the driver of a device is a part of it.
    let accelerator = find_accelerator(run, protocol, prepared, &traced)?;
    let voice = is_voice(run, prepared).then_some(progress);
    let slice_bytes = slicing::agreed(&wishes, protocol, &traced, (channels, voice))?;
    let planned =
        plan_for_process(run, (protocol, variant), prepared, traced, (&wishes, slice_bytes))?;
    // Nothing that depends on inputs has been sent.
    progress.cancel().watch_memory(&prepared.memory)?;
    let source = source(run, prepared, &planned, channels)?;
    progress.stage("waiting for the others to be ready");
    if accelerator.is_used() {
        progress.note(&format!("gpu: {}", accelerator.sentence()));
    }
    let computing = &wishes[..planned.computing];
    let cache_bytes = computing.iter().map(|wish| wish.cache_bytes).min().unwrap_or(0) as usize;
    let part = PartyRole::Computing(planned, source);
    Ok(Agreed { protocol, part, inputs, notes, arrangements, session, accelerator, cache_bytes })
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

/// The protocol and its variant: as stated, or the one that takes the least time on the stated network
/// with the least of all memory limits, which is the same one at all parties.
fn chosen(
    run: &Run,
    prepared: &Preparation<'_>,
    wishes: &[StatedSettings],
    traced: &TracedFile,
    progress: &Progress,
) -> Result<(Protocol, ProtocolVariant), Failure> {
    let variants = run.together.variants.variants(&[run.together.ot]);
    if let (ProtocolChoice::This(protocol), [variant]) = (run.together.protocol, &variants[..]) {
        return Ok((protocol, *variant));
    }
    if let Some(plan) = &traced.description.plan {
        return Ok((of_plan(&plan.protocol, run.together.protocol)?, variants[0]));
    }
    let cast = &prepared.cast;
    let possible: Vec<Protocol> = run
        .together
        .protocol
        .candidates()
        .into_iter()
        .filter(|&protocol| check_parties(protocol, cast.computing, cast.members.len()).is_ok())
        .collect();
    progress.stage("choosing the protocol");
    let choices = (&possible[..], &variants[..]);
    let is_dealt = run.preprocessing == PreprocessingMode::Fake;
    let limit_bytes = least_limit(wishes);
    let terms = PlanParameters { limit_bytes, net: run.network(), is_dealt, is_compared: true };
    let compared = candidates(traced, choices, terms, &prepared.scratch);
    let candidates = match compared.iter().all(|candidate| candidate.outcome.is_err()) {
        false => compared,
        // What would be enough is looked for only now: it takes more memory than there is.
        true => {
            let stated = PlanParameters { is_compared: false, ..terms };
            candidates(traced, choices, stated, &prepared.scratch)
        }
    };
    let best = cheapest(&candidates)?;
    if is_voice(run, prepared) {
        progress.note(&format!("protocol: {}", reason(&candidates, best)));
    }
    Ok((best.protocol, best.variant))
}

/// The protocol that a plan names, if `choice` may come to it: who makes a plan does not choose what
/// others assume.
fn of_plan(name: &str, choice: ProtocolChoice) -> Result<Protocol, Failure> {
    let protocol = Protocol::from_name(name).ok_or_else(|| {
        let message = format!("the plan is for a protocol '{name}', unknown here");
        Failure::new(codes::PLAN_FOR_ANOTHER_PROTOCOL, message)
    })?;
    if choice.candidates().contains(&protocol) {
        return Ok(protocol);
    }
    let choice = choice.name();
    let message = format!("the plan is for protocol '{name}', which '{choice}' never chooses");
    Err(Failure::new(codes::PLAN_FOR_ANOTHER_PROTOCOL, message)
        .remedy(format!("run it with --protocol {name}, if you accept what that protocol assumes")))
}

/// The least memory limit of all who compute.
pub fn least_limit(wishes: &[StatedSettings]) -> u64 {
    wishes.iter().map(|wish| wish.memory_limit_bytes).min().expect("there are parties")
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

/// The peers say how many rows they bring, and the program grows with that.
fn check_their_rows(prepared: &Preparation<'_>, wishes: &[StatedSettings]) -> Result<(), Failure> {
    for wish in wishes {
        for (port, rows) in &wish.rows {
            let (peer, shown) = (prepared.name(wish), agreement::plain(port));
            if *rows > ROWS_MAX {
                let message = format!("{peer} says it brings {rows} rows for '{shown}'");
                return Err(Failure::new(codes::TOO_MANY_ROWS_STATED, message));
            }
            if let Some(expected) = prepared.expected_rows.get(port)
                && expected != rows
            {
                let message = format!(
                    "{peer} says it brings {rows} rows for '{shown}', and --rows says {expected}"
                );
                return Err(Failure::new(codes::OTHER_ROWS, message));
            }
            if prepared.ports.get(port) != Some(&wish.party) {
                let message = format!("{peer} says it brings '{shown}', which is not its own");
                return Err(Failure::new(codes::INPUT_OF_ANOTHER, message));
            }
        }
    }
    Ok(())
}

fn traced_for_all(
    prepared: &Preparation<'_>,
    wishes: &[StatedSettings],
) -> Result<TracedFile, Failure> {
    let traced = match (&prepared.resolved, arguments_of_all(prepared, wishes)?) {
        (Resolved::File(file), _) => ready(file)?,
        (resolved, Some(arguments)) => {
            let program = resolved.program().expect("only files have none");
            trace(program, &arguments, &prepared.scratch)?
        }
        (_, None) => unreachable!("a program has arguments"),
    };
    prepared.cast.recast(traced, &prepared.scratch)
}

/// The arguments of a program with the rows of all parties; `None` for a file, which has none.
fn arguments_of_all(
    prepared: &Preparation<'_>,
    wishes: &[StatedSettings],
) -> Result<Option<Arguments>, Failure> {
    let Some(mut arguments) = prepared.arguments.clone() else { return Ok(None) };
    // Ours are counted.
    for theirs in wishes.iter().filter(|wish| wish.party != prepared.party) {
        for (port, rows) in &theirs.rows {
            if *rows > PEER_ROWS_MAX {
                let message = format!("{} says that it brings {rows} rows", prepared.name(theirs));
                return Err(Failure::new(codes::TOO_MANY_ROWS, message)
                    .remedy(format!("more than {PEER_ROWS_MAX} rows are not accepted")));
            }
            arguments.set_rows(port, *rows);
        }
    }
    Ok(Some(arguments))
}

/// The bounds of columns that the program states.
fn ranges(
    prepared: &Preparation<'_>,
    wishes: &[StatedSettings],
) -> Result<Vec<ColumnRange>, Failure> {
    let arguments = arguments_of_all(prepared, wishes)?;
    match (prepared.resolved.program(), arguments) {
        (Some(program), Some(arguments)) => Ok(program.ranges(&arguments)?),
        _ => Ok(Vec::new()),
    }
}

/// Part of a client in the run.
fn client_walk(
    run: &Run,
    (protocol, variant): (Protocol, ProtocolVariant),
    prepared: &Preparation<'_>,
    traced: &TracedFile,
    wishes: &[StatedSettings],
) -> Result<ClientPass, Failure> {
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    let situation = BudgetParameters {
        // Batches are those of all who compute.
        least_limit_bytes: least_limit(wishes),
        protocol,
        parties: traced.computing,
        variant,
        ..situation(prepared, tables_bytes, false, run)?
    };
    let scratch = &prepared.scratch;
    ClientPass::new(traced, protocol, &situation, scratch)
        .map_err(|failure| with_least(failure, (traced, protocol), &situation, scratch))
}

fn plan_for_process(
    run: &Run,
    (protocol, variant): (Protocol, ProtocolVariant),
    prepared: &Preparation<'_>,
    traced: TracedFile,
    (wishes, slice_bytes): (&[StatedSettings], Option<u64>),
) -> Result<PlannedFile, Failure> {
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    let situation = BudgetParameters {
        least_limit_bytes: least_limit(wishes),
        slice_bytes,
        round_trip: agreement::longest_round_trip(wishes),
        protocol,
        variant,
        transport: prepared.route.transport(),
        parties: traced.computing,
        // What is made for a later run with clients is made within what that run may take.
        clients: prepared.cast.clients(),
        ..situation(prepared, tables_bytes, traced.kind == FileKind::Planned, run)?
    };
    if traced.kind == FileKind::Planned {
        check_protocol(&traced.description, protocol, run.together.ot)?;
        let planned = PlannedFile::open(traced, &situation)?;
        distance::check_planned(&planned, run.together.variants.narrow_masks)?;
        return Ok(planned);
    }
    plan_within(&traced, protocol, &situation, &prepared.scratch)
}

/// Refuses a plan that was made for another protocol or OT extension.
fn check_protocol(
    description: &Description,
    protocol: Protocol,
    ot: OtExtension,
) -> Result<(), Failure> {
    let silent = |plan: &PlanDescription| MixedSettings::stated(plan).ot.is_silent();
    match &description.plan {
        Some(plan) if plan.protocol == protocol.name() && silent(plan) != ot.is_silent() => {
            let planned = if silent(plan) { OtExtension::Silent } else { OtExtension::Softspoken };
            let message = format!("the plan is for {} OT, not {}", planned.name(), ot.name());
            Err(Failure::new(codes::PLAN_FOR_OTHER_OT, message).remedy(
                Remedy::new("run it with ")
                    .field(RunField::Ot)
                    .and(format!(" {}, or plan it again", planned.name())),
            ))
        }
        Some(plan) if plan.protocol != protocol.name() => {
            let (planned, asked) = (&plan.protocol, protocol.name());
            let message = format!("the plan is for protocol '{planned}', not {asked}");
            Err(Failure::new(codes::PLAN_FOR_ANOTHER_PROTOCOL, message).remedy(
                Remedy::new("run it with ")
                    .field(RunField::Protocol)
                    .and(format!(" {planned}, or plan it again")),
            ))
        }
        _ => Ok(()),
    }
}

/// This process as it is now, connected and with its inputs read.
fn situation(
    prepared: &Preparation<'_>,
    tables_bytes: u64,
    is_planned: bool,
    run: &Run,
) -> Result<BudgetParameters, Failure> {
    heap::trim();
    // The compiler of C programs has done its work.
    phineus_engine::release_libraries();
    let resident = phineus_engine::resident_bytes().unwrap_or(0);
    // The traced program goes when it is planned.
    let passing = prepared.scratch.held_bytes();
    let measured = resident.saturating_sub(tables_bytes + passing);
    let limit_bytes = prepared.limit_bytes;
    let members = prepared.cast.members.len();
    let expected = connected_process_bytes(members - 1, prepared.route.transport());
    // A plan made before cannot shrink: the allowance for growth must do, if it has to.
    let growth = if is_planned { 0 } else { GROWTH_BYTES };
    Ok(BudgetParameters {
        limit_bytes,
        // The caller knows this, the next one, and what follows the tables.
        least_limit_bytes: limit_bytes,
        slice_bytes: None,
        // Where there is no security anyhow, measurements are of what the literature measures.
        prove_inputs: run.preprocessing != PreprocessingMode::Fake,
        // What is expected counts growth, too, and `explain` states limits for it.
        process_bytes: match prepared.memory {
            // What else the process takes is no part of this session's share.
            MemoryLimit::Reserved(_) => expected,
            _ if measured > expected => measured + growth,
            _ => expected,
        },
        tables_bytes,
        client_tables_bytes: None,
        // The caller knows.
        protocol: protocols::GARBLED,
        parties: 2,
        clients: 0,
        // The caller knows.
        variant: ProtocolVariant { ot: run.together.ot, ..ProtocolVariant::default() },
        round_trip: Duration::ZERO,
        transport: Transport::Tcp,
        network: run.together.simulate,
    })
}
