//! `run --as NAME` and `preprocess --as NAME`: one party of a computation, with peers on this or
//! other machines.

mod agreeing;
mod everybody;
mod preparation;
mod slicing;

use std::collections::BTreeMap;
use std::time::Duration;

use phineus_bytecode::{Description, Table};
use phineus_channels::{FramedChannel, Mesh, Parties};
use phineus_crypto::Prg;
use phineus_ot::SessionId;
use phineus_protocols::bmr::costs::totals::Y_AND_GATES;
use serde::{Deserialize, Serialize};

use crate::agreement;
use crate::client::ClientJob;
use crate::connecting::{ClosingStreams, ClusterAccess, ConnectSettings, meet, meet_in_memory};
use crate::correlated::{NewFile, StoredFigures, tables_path};
use crate::disclosed::{ALL_REVEALED, Disclosed};
use crate::execute::{Job, RunResult};
use crate::failure::{Failure, codes};
use crate::metered::{Metered, PhaseFigures, close_all};
use crate::outputs::Destinations;
use crate::overlay::WARNING;
use crate::planned::PlannedFile;
use crate::ports::Files;
use crate::progress::Progress;
use crate::protocol::{Protocol, RunInputs, aheads, metered};
use crate::registry::Registry;
use crate::report::RunReport;
use crate::settings::{
    Choice, Connections, GarblerChoice, MemoryLimit, PreprocessSettings, PreprocessingMode,
    Resources, Run,
};
use crate::traced::without_openings;

use agreeing::{Agreed, PartyRole, agree_and_plan, is_voice, warn};
use preparation::{PartyNetwork, Preparation, prepare};

pub use everybody::{AllResults, run_all};
pub use preparation::{check_garbler, check_ot, check_preprocessed, open_key};

/// Results of a finished run.
pub struct Finished {
    /// The program as it was run.
    pub description: Description,
    /// Results by output port; `None` if only others learn it.
    pub outputs: Vec<Option<Table>>,
    /// This party's inputs.
    pub files: Files,
    /// Destinations of the outputs, besides `outputs`.
    pub destinations: Destinations,
    /// Predicted and measured figures.
    pub report: RunReport,
    /// The index of this party in the program as it was run.
    pub party: u16,
}

impl Finished {
    /// The output with this name, if this party learned it.
    pub fn output(&self, name: &str) -> Option<&Table> {
        let index = self.description.outputs.iter().position(|port| port.name == name)?;
        self.outputs.get(index)?.as_ref()
    }

    fn write(&mut self) -> Result<(), Failure> {
        let Finished { description, outputs, files, destinations, report, .. } = self;
        destinations.write(description, outputs, files, &mut report.outputs)
    }
}

/// Figures of the correlated randomness that a party made and stored for a later run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredReport {
    pub party: String,
    pub protocol: String,
    pub file: String,
    pub file_bytes: u64,
    /// Correlated randomness by kind.
    pub amounts: BTreeMap<String, u64>,
    /// With each other party.
    pub oblivious_transfers: u64,
    pub set_up: PhaseFigures,
    pub preprocessing: PhaseFigures,
}

/// A party that is connected to the others, and the result of their agreement.
struct ConnectedParty<'a> {
    prepared: Preparation<'a>,
    mesh: Mesh,
    /// Streams that the protocol does not take.
    closing: ClosingStreams,
    agreed: Agreed,
}

/// Runs this party from beginning to end. Its results also go to the files and sinks of `run`.
///
/// # Errors
/// The failure that ended the run; it states what the parties had learned by then.
pub fn run(registry: &Registry, run: &Run, progress: &Progress) -> Result<Finished, Failure> {
    let computed = compute(registry, run, progress);
    progress.cancel().give_back_memory();
    let mut finished = computed?;
    if let MemoryLimit::Reserved(_) = run.resources.memory {
        // The system counts the memory of all sessions together.
        finished.report.memory_bytes.measured_peak = None;
    }
    finished.write().map_err(|failure| failure.revealed(ALL_REVEALED))?;
    Ok(finished)
}

fn compute(registry: &Registry, run: &Run, progress: &Progress) -> Result<Finished, Failure> {
    let ConnectedParty { prepared, mesh, closing, agreed } = join(registry, run, progress)?;
    let Agreed { protocol, part, inputs, notes, arrangements, session, .. } = agreed;
    let (accelerator, overlay, cache_bytes) =
        (agreed.accelerator, agreed.overlay, agreed.cache_bytes);
    let (planned, source) = match part {
        PartyRole::Computing(planned, source) => (planned, source),
        PartyRole::Client(mut walk) => {
            progress.stage("sharing inputs");
            let (party, limit_bytes) = (prepared.party, prepared.limit_bytes);
            let turns_max = run.max_iterations;
            let job = ClientJob { party, inputs, limit_bytes, turns_max, progress };
            let ran = walk.run(job, mesh)?;
            over(progress)?;
            let is_fake = run.preprocessing == PreprocessingMode::Fake;
            let mut report = RunReport {
                preprocessing: is_fake.then(|| run.preprocessing.name().to_owned()),
                ..RunReport::of_client(&walk, party, protocol.name(), limit_bytes, &ran)
            };
            report.notes.extend(notes);
            let description = without_openings(&walk.program.description);
            let outputs = arrangements.in_file_order(&description, ran.outputs);
            let (files, destinations) = (prepared.files, prepared.destinations);
            return Ok(Finished { description, outputs, files, destinations, report, party });
        }
    };
    progress.stage("computing");
    let job = Job {
        planned: &planned,
        party: prepared.party,
        inputs,
        backend: run.resources.storage,
        swap_dir: prepared.scratch.directory(),
        limit_bytes: prepared.limit_bytes,
        source,
        turns_max: run.max_iterations,
        threads: usize::from(run.threads),
        cache_bytes,
        progress,
    };
    let executed =
        protocol.run(job, RunInputs { mesh, session: &session, accelerator, overlay })?;
    closing.finish();
    over(progress)?;
    let preprocessing = protocol.has_preprocessing().then(|| run.preprocessing.name());
    let planned = planned.after_run()?;
    let planned = match run.preprocessing {
        PreprocessingMode::Fake => planned.dealt(),
        PreprocessingMode::Interleaved
        | PreprocessingMode::Sequential
        | PreprocessingMode::Stored(_) => planned,
    };
    let mut finished = finish((protocol, preprocessing), (prepared, run), planned, executed);
    finished.report.notes.extend(notes);
    finished.outputs = arrangements.in_file_order(&finished.description, finished.outputs);
    Ok(finished)
}

/// Ends the memory watch of a run that has all outputs.
fn over(progress: &Progress) -> Result<(), Failure> {
    progress.cancel().release().map_err(|failure| failure.revealed(ALL_REVEALED))
}

/// Makes this party's part of the correlated randomness of a later run, together with the others.
pub fn preprocess(
    registry: &Registry,
    run: &Run,
    making: &PreprocessSettings,
    progress: &Progress,
) -> Result<StoredReport, Failure> {
    let ConnectedParty { prepared, mesh, closing, agreed } = join(registry, run, progress)?;
    progress.stage("making triples");
    let PartyRole::Computing(planned, _) = &agreed.part else {
        unreachable!("clients were refused")
    };
    let stored = store(&prepared, (planned, &agreed.session), (making, &run.resources), mesh);
    let stored = stored.map_err(|failure| {
        let failure = progress.cancel().or_reason(failure);
        failure.revealed(format!("{}; nothing is stored", Disclosed::Proposal.sentence()))
    })?;
    closing.finish();
    progress.cancel().release()?;
    let party = usize::from(prepared.party);
    Ok(StoredReport {
        party: planned.description.parties[party].clone(),
        protocol: agreed.protocol.name().to_owned(),
        file: making.out.display().to_string(),
        file_bytes: stored.bytes,
        amounts: stored.amounts,
        oblivious_transfers: stored.ots,
        set_up: stored.setup,
        preprocessing: stored.making,
    })
}

fn store(
    prepared: &Preparation<'_>,
    (planned, session): (&PlannedFile, &SessionId),
    (making, resources): (&PreprocessSettings, &Resources),
    mut mesh: Mesh,
) -> Result<StoredFigures, Failure> {
    // Nothing else compares the sizes of batches, which plans made elsewhere bring along.
    let stated = agreement::AgreedPlan::of_plan(planned.plan());
    let (peers, doublings) = (mesh[0].iter_mut().flatten(), planned.window_doublings());
    let aheads = match agreement::exchange_windows(peers, stated, Some(doublings)) {
        Ok(doublings) => aheads(planned, doublings),
        Err(failure) => {
            agreement::give_up_all(mesh, &failure);
            return Err(failure);
        }
    };
    let mut prg = Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("the system gives no random bytes: {error}"))
    })?;
    let mut last = || {
        let stream = mesh.pop().expect("shares have two streams, and with garbled values three");
        let ahead = aheads[mesh.len()];
        metered(vec![stream], prepared.party, &[ahead]).pop().expect("just put in")
    };
    // Tables first: they are of no use without their key, which the other file will have.
    let path = tables_path(&making.out);
    let tables = match &planned.garbling {
        None => None,
        Some(garbling) => {
            let (stream, seed) = (last(), Prg::from_seed(prg.next_block()));
            let place = (prepared.scratch.directory(), resources.storage);
            let file = (&*path, &resources.leftovers);
            Some(garbling.store(stream, seed, session, file, place)?)
        }
    };
    let parties = last();
    let key = prepared.stored_key.as_ref().expect("made when it was prepared");
    let file = NewFile { path: &making.out, key, leftovers: &resources.leftovers };
    let correlated = (parties, tables.as_ref().map(|tables| &tables.key));
    // A file is of no use unless all have theirs.
    let all = BTreeMap::from([("stored preprocessing".to_owned(), "made".to_owned())]);
    let stored =
        crate::stored::store(&file, planned, correlated, prg, session).and_then(|stored| {
            let told = agreement::exchange_agreement(&mut mesh[0], &all)
                .and_then(|()| agreement::confirm(&mut mesh[0]));
            told.map(|()| stored).inspect_err(|_| {
                let _ = std::fs::remove_file(&making.out);
            })
        });
    let (mut stored, parties) = stored.inspect_err(|_| {
        if tables.is_some() {
            let _ = std::fs::remove_file(&path);
        }
    })?;
    let mut streams = vec![parties];
    if let Some(tables) = tables {
        stored.bytes += tables.bytes;
        stored.ots += tables.ots;
        let gates = planned.plan().costs.get(Y_AND_GATES).copied().unwrap_or(0);
        stored.amounts.insert("garbled_gates".to_owned(), gates);
        stored.making = stored.making.beside(tables.figures);
        streams.push(tables.parties);
    }
    let used = streams.into_iter().flat_map(Parties::into_channels).flatten();
    let used = used.map(Metered::into_inner);
    close_all(used.chain(mesh.into_iter().flatten().flatten()));
    Ok(stored)
}

/// The longest round trip to any peer, taking the shortest one measured for each: longer ones
/// waited for a processor.
fn round_trip(mesh: &Mesh) -> Duration {
    let peers = 0..mesh.iter().map(Vec::len).max().unwrap_or(0);
    let of = |peer: usize| {
        let channels = mesh.iter().filter_map(|row| row.get(peer)?.as_ref());
        channels.filter_map(FramedChannel::round_trip).min()
    };
    peers.filter_map(of).max().unwrap_or(Duration::ZERO)
}

/// Connects to the other parties and agrees with them on everything.
fn join<'a>(
    registry: &'a Registry,
    run: &Run,
    progress: &Progress,
) -> Result<ConnectedParty<'a>, Failure> {
    let prepared = prepare(registry, run)?;
    // The parent of a local run names its parties as the program does.
    if let Some(roles) = prepared.roles.as_ref().filter(|_| !run.together.is_all_ours) {
        progress.note(roles);
    }
    if run.preprocessing == PreprocessingMode::Fake && is_voice(run, &prepared) {
        progress
            .warn("INSECURE: with preprocessing by a dealer, every party can compute all secrets");
    }
    if run.garbler == GarblerChoice::SimulatedOverlay {
        progress.warn(WARNING);
    }
    if let Some(protocol) = run.together.protocol.stated() {
        warn(protocol, run, &prepared, progress);
    }
    let Preparation { route, cast, party, .. } = &prepared;
    // Triples are made by those who compute.
    let (members, clients) = match run.making {
        Some(_) => (cast.computing_names(), 0),
        None => (&cast.members[..], cast.clients()),
    };
    let meeting = ConnectSettings { members, clients, party: *party };
    let mut mesh = match (route, &run.together.connections) {
        (PartyNetwork::Cluster { config, security }, Connections::Cluster(own)) => {
            meet(&run.together, &meeting, ClusterAccess { own, config, security }, progress)?
        }
        (PartyNetwork::Memory(network), _) => {
            meet_in_memory(&run.together, &meeting, network, progress)?
        }
        (PartyNetwork::Cluster { .. }, Connections::Memory(_)) => {
            unreachable!("it has no addresses")
        }
    };
    let aborter = mesh.iter().flatten().flatten().next().map(FramedChannel::aborter);
    progress.cancel().met(aborter.expect("there is another party"));
    // Of reading arguments and of TLS handshakes nothing is needed again; other sessions of a pool need all code.
    if !matches!(prepared.memory, MemoryLimit::Reserved(_)) {
        phineus_engine::release_code();
    }
    let round_trip = round_trip(&mesh);
    let agreed = agree_and_plan(run, &prepared, (&mut mesh[0], round_trip), progress);
    match agreed {
        Ok(agreed) => {
            let closing = ClosingStreams::of(&mut mesh, agreed.protocol);
            Ok(ConnectedParty { prepared, mesh, closing, agreed })
        }
        Err(failure) => {
            agreement::give_up_all(mesh, &failure);
            let failure = progress.cancel().or_reason(failure);
            let unrevealed = failure.revealed.is_none();
            Err(if unrevealed { failure.revealed(Disclosed::Proposal.sentence()) } else { failure })
        }
    }
}

fn finish(
    (protocol, preprocessing): (Protocol, Option<&str>),
    (prepared, run): (Preparation<'_>, &Run),
    planned: PlannedFile,
    executed: RunResult,
) -> Finished {
    let (party, stated) = (prepared.party, (prepared.limit_bytes, run.network()));
    let name = protocol.name();
    let report = RunReport::new(&planned, party, (name, preprocessing), stated, &executed);
    Finished {
        description: planned.description,
        outputs: executed.outputs,
        files: prepared.files,
        destinations: prepared.destinations,
        report,
        party,
    }
}
