//! `run --as NAME`: one party of a computation, with peers on this or other machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use phineus_bytecode::{Description, Kind, Table};
use phineus_channels::{
    ClusterConfig, FramedChannel, Identity, PlainLoopback, Security, TrustStore, only_channel,
};
use phineus_frontend::Arguments;

use crate::agreement::{self, Peers, Wish};
use crate::arguments::{Protocol, Run};
use crate::binding::{self, Files};
use crate::execute::{Executed, Job, run_garbled, run_shared};
use crate::failure::{Exit, Failure};
use crate::meeting::{Meeting, check_parties, meet, roles};
use crate::memory_budget::{
    GROWTH_BYTES, PROCESS_BYTES, Situation, default_limit, does_not_fit, table_bytes,
};
use crate::planning::{PlannedFile, plan_within};
use crate::progress::Progress;
use crate::registry::Registry;
use crate::report::RunReport;
use crate::resolve::{Resolved, TracedFile, arguments_of, probe, ready, resolve, trace};
use crate::results::{Destination, destination};
use crate::{heap, interrupt, quantity};

/// Rows that a peer may bring: as many as one can sort here.
const ROWS_MAX: u64 = 1 << 32;

/// The most rows that a peer may claim before anything is traced for them.
///
/// Tracing takes time and scratch space with the rows, memory one name per chunk of some 32 rows:
/// 2^26 of them are 2 million names.
const PEER_ROWS_MAX: u64 = 1 << 26;

/// What a finished run leaves.
pub(crate) struct Finished {
    pub(crate) description: Description,
    pub(crate) outputs: Vec<Option<Table>>,
    pub(crate) destination: Destination,
    pub(crate) report: RunReport,
    pub(crate) party: u16,
}

/// What this party is to do, settled before the peer is met.
struct Preparation<'a> {
    resolved: Resolved<'a>,
    arguments: Option<Arguments>,
    parameters: BTreeMap<String, String>,
    program: String,
    party: u16,
    /// The names of the parties in the cluster, in the order of the program.
    members: Vec<String>,
    /// Which party brings which input.
    ports: BTreeMap<String, u16>,
    files: Files,
    destination: Destination,
    cluster: ClusterConfig,
    security: Security,
    limit_bytes: u64,
    scratch: PathBuf,
}

/// Runs this party from beginning to end.
pub(crate) fn run(
    registry: &Registry,
    run: &Run,
    progress: &Progress,
) -> Result<Finished, Failure> {
    let prepared = prepare(registry, run)?;
    let Preparation { cluster, members, party, security, .. } = &prepared;
    let mut mesh = meet(run, &Meeting { cluster, members, party: *party, security }, progress)?;
    let aborter = mesh.iter().flatten().flatten().next().map(FramedChannel::aborter);
    interrupt::guard_session(aborter.expect("there is another party"));
    let planned = match agree_and_plan(run, &prepared, &mut mesh[0], progress) {
        Ok(planned) => planned,
        Err(failure) => {
            agreement::give_up_all(mesh, &failure);
            let failure = if interrupt::requested() { Failure::interrupted() } else { failure };
            let unrevealed = failure.revealed.is_none();
            return Err(if unrevealed {
                failure.revealed("nothing was revealed")
            } else {
                failure
            });
        }
    };
    let Agreed { planned, inputs, session } = planned;
    progress.stage("computing");
    let job = Job {
        planned: &planned,
        party: prepared.party,
        inputs,
        backend: run.resources.storage.storage(),
        swap_dir: &prepared.scratch,
        limit_bytes: prepared.limit_bytes,
        preprocessing: run.preprocessing,
        progress,
    };
    let executed = match run.protocol {
        Protocol::Garbled => run_garbled(job, only_channel(mesh), &session)?,
        _ => run_shared(job, mesh, &session)?,
    };
    interrupt::release();
    progress.clear();
    Ok(finish(run.protocol, prepared, planned, executed))
}

fn finish(
    protocol: Protocol,
    prepared: Preparation<'_>,
    planned: PlannedFile,
    executed: Executed,
) -> Finished {
    let (party, limit) = (prepared.party, prepared.limit_bytes);
    let report = RunReport::new(&planned, party, protocol.name(), limit, &executed);
    Finished {
        description: planned.description,
        outputs: executed.outputs,
        destination: prepared.destination,
        report,
        party,
    }
}

/// Everything that can be found wrong without the peer.
fn prepare<'a>(registry: &'a Registry, run: &Run) -> Result<Preparation<'a>, Failure> {
    let scratch = run.resources.swap_dir.clone().unwrap_or_else(std::env::temp_dir);
    let me = run.as_party.as_deref().ok_or_else(|| {
        Failure::usage("say which party this is with --as NAME, or run all parties with --local")
    })?;
    let resolved = resolve(registry, run.choice.program.as_deref(), &scratch)?;
    let (arguments, description) = shape(&resolved, &run.choice.parameters)?;
    let cluster = ClusterConfig::load(&run.cluster)?;
    let cluster = match run.transport {
        Some(transport) => cluster.with_transport(transport),
        None => cluster,
    };
    check_parties(run.protocol, &description)?;
    let (party, members) = roles(&description, &cluster, me)?;
    let aliases: Vec<String> = cluster.parties().iter().map(|party| party.name.clone()).collect();
    let assigned = binding::assign(&description, &run.inputs, &aliases, Some(party))?;
    binding::require_all(&description, &assigned, Some(party))?;
    let files = binding::count_all(&assigned)?;
    let destination = match &run.child {
        Some(directory) => Destination::Directory(directory.clone()),
        None => destination(&run.outputs, &description, Some(party))?,
    };
    let security = if run.plain {
        Security::Plain(PlainLoopback::new(&cluster)?)
    } else {
        Security::Tls {
            identity: Identity::load(&run.id_dir, me)?,
            trusted: TrustStore::load(&run.id_dir)?,
        }
    };
    let mut arguments = arguments;
    match &mut arguments {
        Some(arguments) => binding::set_rows(arguments, &files),
        None => binding::check_rows(&description, &files)?,
    }
    Ok(Preparation {
        parameters: match &arguments {
            Some(arguments) => arguments.values().clone(),
            None => description.parameters.clone(),
        },
        arguments,
        resolved,
        program: description.name,
        party,
        members,
        ports: description.inputs.into_iter().map(|port| (port.name, port.party)).collect(),
        files,
        destination,
        cluster,
        security,
        limit_bytes: run.resources.memory.unwrap_or_else(default_limit),
        scratch,
    })
}

/// The parties and ports, and the parameters if the sizes are still open.
pub(crate) fn shape(
    resolved: &Resolved<'_>,
    parameters: &[(String, String)],
) -> Result<(Option<Arguments>, Description), Failure> {
    match resolved.program() {
        Some(program) => {
            let arguments = arguments_of(program, parameters)?;
            let description = probe(program, &arguments)?;
            Ok((Some(arguments), description))
        }
        None => {
            let Resolved::File(file) = resolved else { unreachable!("it has no program") };
            if !parameters.is_empty() {
                let message = "a file that is traced or planned has its parameters already";
                return Err(Failure::usage(message));
            }
            Ok((None, ready(file)?.description))
        }
    }
}

/// What all parties agreed on, ready to run.
struct Agreed {
    planned: PlannedFile,
    inputs: Vec<Option<Table>>,
    session: phineus_protocols::ot::SessionId,
}

fn agree_and_plan(
    run: &Run,
    prepared: &Preparation<'_>,
    channels: &mut Peers,
    progress: &Progress,
) -> Result<Agreed, Failure> {
    progress.stage("agreeing");
    let ours = Wish {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: prepared.program.clone(),
        protocol: run.protocol.name().to_owned(),
        party: prepared.party,
        parameters: prepared.parameters.clone(),
        rows: prepared.files.iter().map(|(port, file)| (port.clone(), file.rows)).collect(),
        nonce: agreement::nonce()?,
    };
    let wishes = agreement::exchange_wishes(channels, &ours)?;
    check_their_rows(prepared, &wishes)?;
    if run.child.is_none() {
        for theirs in wishes.iter().filter(|wish| wish.party != prepared.party) {
            for (port, rows) in &theirs.rows {
                let (peer, rows) = (prepared.name(theirs), quantity::count(*rows));
                progress.note(&format!("{peer} brings {rows} rows for '{port}'"));
            }
        }
    }
    progress.stage("tracing the program");
    let traced = traced_for_all(prepared, &wishes)?;
    let program_hash = match &traced.description.plan {
        Some(plan) => plan.program_hash.clone(),
        None => traced.hash.to_string(),
    };
    let items = agreement::agreement(&program_hash, &traced.description, &ours.protocol);
    agreement::exchange_agreement(channels, &items)?;
    let session = agreement::session_id(&program_hash, &wishes);
    progress.stage("reading inputs");
    let inputs = binding::read_inputs(&traced.description, &prepared.files)?;
    progress.stage("planning");
    let planned = plan_for_process(run, prepared, traced)?;
    progress.stage("waiting for the others to be ready");
    Ok(Agreed { planned, inputs, session })
}

impl Preparation<'_> {
    /// The name of the party whose wish this is.
    fn name(&self, wish: &Wish) -> &str {
        &self.members[usize::from(wish.party)]
    }
}

/// The peers say how many rows they bring, and the program grows with that.
fn check_their_rows(prepared: &Preparation<'_>, wishes: &[Wish]) -> Result<(), Failure> {
    for wish in wishes {
        for (port, rows) in &wish.rows {
            let peer = prepared.name(wish);
            if !(1..=ROWS_MAX).contains(rows) {
                let message = format!("{peer} says it brings {rows} rows for '{port}'");
                return Err(Failure::new(Exit::Disagreement, 102, message));
            }
            if prepared.ports.get(port) != Some(&wish.party) {
                let message = format!("{peer} says it brings '{port}', which is not its own");
                return Err(Failure::new(Exit::Disagreement, 103, message));
            }
        }
    }
    Ok(())
}

fn traced_for_all(prepared: &Preparation<'_>, wishes: &[Wish]) -> Result<TracedFile, Failure> {
    match (&prepared.resolved, &prepared.arguments) {
        (Resolved::File(file), _) => ready(file),
        (resolved, Some(arguments)) => {
            let mut arguments = arguments.clone();
            // Ours are counted.
            for theirs in wishes.iter().filter(|wish| wish.party != prepared.party) {
                for (port, rows) in &theirs.rows {
                    if *rows > PEER_ROWS_MAX {
                        let message =
                            format!("{} says that it brings {rows} rows", prepared.name(theirs));
                        return Err(Failure::new(Exit::ProgramRefused, 132, message)
                            .remedy(format!("more than {PEER_ROWS_MAX} rows are not accepted")));
                    }
                    arguments.set_rows(port, *rows);
                }
            }
            let program = resolved.program().expect("only files have none");
            trace(program, &arguments, &prepared.scratch)
        }
        (_, None) => unreachable!("a program has arguments"),
    }
}

fn plan_for_process(
    run: &Run,
    prepared: &Preparation<'_>,
    traced: TracedFile,
) -> Result<PlannedFile, Failure> {
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    let situation = Situation {
        parties: traced.description.parties.len(),
        ..situation(prepared.limit_bytes, tables_bytes, traced.kind == Kind::Planned, run)?
    };
    if traced.kind == Kind::Planned {
        check_protocol(&traced.description, run.protocol)?;
        return PlannedFile::open(traced, &situation);
    }
    plan_within(&traced, run.protocol, &situation, &prepared.scratch)
}

/// Refuses a plan that was made for another protocol.
fn check_protocol(description: &Description, protocol: Protocol) -> Result<(), Failure> {
    match &description.plan {
        Some(plan) if plan.protocol != protocol.name() => {
            let (planned, asked) = (&plan.protocol, protocol.name());
            let message = format!("the plan is for protocol '{planned}', not {asked}");
            Err(Failure::new(Exit::ProgramRefused, 131, message)
                .remedy(format!("run it with --protocol {planned}, or plan it again")))
        }
        _ => Ok(()),
    }
}

/// This process as it is now, connected and with its inputs read.
fn situation(
    limit_bytes: u64,
    tables_bytes: u64,
    is_planned: bool,
    run: &Run,
) -> Result<Situation, Failure> {
    heap::trim();
    let resident = phineus_engine::resident_bytes().unwrap_or(0);
    let measured = resident.saturating_sub(tables_bytes);
    // Reading the inputs took more for a moment than keeping them does.
    let peak = phineus_engine::peak_resident_bytes().unwrap_or(0);
    if peak > limit_bytes {
        return Err(does_not_fit(limit_bytes, peak));
    }
    // A plan made before cannot shrink: the allowance for growth must do, if it has to.
    let growth = if is_planned { 0 } else { GROWTH_BYTES };
    Ok(Situation {
        limit_bytes,
        process_bytes: (measured + growth).max(PROCESS_BYTES),
        tables_bytes,
        protocol: run.protocol,
        parties: 2,
        network: run.simulate,
    })
}

/// The directory of a path, for temporary files beside it.
pub(crate) fn scratch_of(swap_dir: Option<&Path>) -> PathBuf {
    swap_dir.map_or_else(std::env::temp_dir, Path::to_owned)
}
