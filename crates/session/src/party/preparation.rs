//! Preparation and checks of a party before it connects.

use std::collections::BTreeMap;
use std::path::Path;

use phineus_bytecode::Description;
use phineus_channels::{
    ClusterConfig, ConnectionSecurity, Identity, MemoryNetwork, PlainLoopback, Transport,
    TrustStore,
};
use phineus_correlated::stored::{StoredFile, StoredKey};
use phineus_frontend::Arguments;
use phineus_plan::Scratch;
use phineus_protocols::garbled::GARBLER;

use crate::agreement::Proposal;
use crate::binding;
use crate::connecting::check_parties;
use crate::correlated;
use crate::dealt::check_dealt;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::memory_budget::check_limit;
use crate::memory_pool::MemoryLimit;
use crate::outputs::Destinations;
use crate::overlay::check_build;
use crate::ports::Files;
use crate::protocol::{Protocol, ProtocolOption, clear_has_no_parties};
use crate::registry::Registry;
use crate::resolve::{Resolved, resolve, shape};
use crate::roles::Roles;
use crate::scratch::scratch_of;
use crate::settings::{
    Choice, Cluster, Connections, GarblerChoice, Participation, PreprocessingMode, ProtocolChoice,
    Run,
};
use crate::sizing::stated_rows;

/// How many rows inputs have, by input.
type RowCounts = BTreeMap<String, u64>;

/// Settings of this party, fixed before it connects.
pub struct Preparation<'a> {
    pub resolved: Resolved<'a>,
    pub arguments: Option<Arguments>,
    pub parameters: BTreeMap<String, String>,
    pub program: String,
    pub party: u16,
    /// Who takes part; of clients those that the run needs.
    pub cast: Roles,
    /// Who is whom, where names differ.
    pub roles: Option<String>,
    /// Which party brings which input.
    pub ports: BTreeMap<String, u16>,
    pub files: Files,
    /// Where its results go.
    pub destinations: Destinations,
    /// Rows of this party's inputs, as counted or stated.
    pub rows: RowCounts,
    /// Rows that this party's user has stated for inputs of others.
    pub expected_rows: RowCounts,
    /// Of stored correlated randomness, if there is some.
    pub stored_key: Option<StoredKey>,
    /// How it reaches the others.
    pub route: PartyNetwork,
    /// Its memory limit. What the default is was settled once.
    pub memory: MemoryLimit,
    pub limit_bytes: u64,
    pub scratch: Scratch,
}

/// How a party reaches the others.
pub enum PartyNetwork {
    /// At addresses.
    Cluster { config: ClusterConfig, security: ConnectionSecurity },
    /// In this process.
    Memory(MemoryNetwork),
}

impl PartyNetwork {
    /// Transport that carries the messages, as far as memory depends on it.
    pub fn transport(&self) -> Transport {
        match self {
            PartyNetwork::Cluster { config, .. } => config.transport(),
            PartyNetwork::Memory(_) => Transport::Tcp,
        }
    }
}

impl Preparation<'_> {
    /// The name of the party whose proposal this is.
    pub fn name(&self, proposal: &Proposal) -> &str {
        &self.cast.members[usize::from(proposal.party)]
    }
}

/// Everything that can be found wrong without the peer.
pub fn prepare<'a>(registry: &'a Registry, run: &Run) -> Result<Preparation<'a>, Failure> {
    let together = &run.together;
    let scratch = scratch_of(&run.resources)?;
    let me = together.as_party.as_deref().ok_or_else(|| {
        Failure::usage("say which party this is with --as NAME, or run all parties with --local")
    })?;
    check_preprocessed(run)?;
    check_ot(together)?;
    check_garbler(run)?;
    let limit_bytes = run.resources.memory.bytes();
    let memory = match &run.resources.memory {
        MemoryLimit::Default => MemoryLimit::Process(limit_bytes),
        stated => stated.clone(),
    };
    // In a local run nobody is waited for, and planning states what would be enough.
    if !together.is_all_ours {
        check_limit(limit_bytes)?;
    }
    let resolved =
        resolve(registry, run.choice.program.as_deref(), &scratch, &run.resources.leftovers)?;
    let (arguments, mut description) = shape(&resolved, &run.choice.parameters)?;
    let cluster = match &together.connections {
        Connections::Cluster(settings) => Some((settings, load(settings)?)),
        Connections::Memory(_) => None,
    };
    let config = cluster.as_ref().map(|(_, config)| config);
    let cast = Roles::new(&description, &run.outsourcing, config);
    let of_cluster = |failure: Failure| match &together.connections {
        Connections::Cluster(settings) => failure.of_cluster(&settings.file),
        Connections::Memory(_) => failure,
    };
    let cast = cast.map_err(of_cluster)?;
    check_any(&together.protocol.candidates(), &cast)?;
    let party = cast.place(me)?;
    let roles = cast.roles(&description);
    check_client(run, &cast, party)?;
    if run.garbler != GarblerChoice::Software && party != GARBLER {
        let [garbler, me] = [GARBLER, party].map(|party| &cast.members[usize::from(party)]);
        let message = format!("{me} evaluates in this run, and {garbler} garbles");
        let remedy = Remedy::new("state ").field(RunField::Garbler).and(format!(" at {garbler}"));
        return Err(Failure::usage(message).remedy(remedy));
    }
    cast.apply(&mut description)?;
    let aliases = cast.members.clone();
    let assigned = binding::assign(&description, &run.inputs, &aliases, Some(party))?;
    if run.making.is_none() {
        binding::require_all(&description, &assigned, Some(party))?;
    }
    let parties = (&aliases[..], Some(party));
    let files = binding::count_all(&description, &assigned, &run.reading, parties)?;
    if run.making.is_none() {
        binding::check_headers(&description, &files)?;
    }
    let destinations = Destinations::new(run, &description, Some(party))?;
    let route = match (cluster, &together.connections) {
        (Some((settings, config)), _) => {
            let security = security(settings, &config, me).map_err(of_cluster)?;
            PartyNetwork::Cluster { config, security }
        }
        (None, Connections::Memory(network)) => PartyNetwork::Memory(network.clone()),
        (None, Connections::Cluster(_)) => unreachable!("its file was loaded"),
    };
    let stored_key = stored_key(run)?;
    let (rows, expected_rows) = rows(run, &description, party, &files, arguments.is_some())?;
    let mut arguments = arguments;
    match &mut arguments {
        Some(arguments) => {
            let all = expected_rows.iter().chain(&rows);
            all.for_each(|(port, rows)| arguments.set_rows(port, *rows));
        }
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
        cast,
        roles,
        ports: description.inputs.iter().map(|port| (port.name.clone(), port.party)).collect(),
        files,
        destinations,
        rows,
        expected_rows,
        stored_key,
        route,
        memory,
        limit_bytes,
        scratch,
    })
}

/// Refuses a number of parties that none of these protocols can have; those that cannot are left out
/// when one is chosen.
fn check_any(protocols: &[Protocol], cast: &Roles) -> Result<(), Failure> {
    if protocols.iter().any(|protocol| protocol.is_in_one_process()) {
        return Err(clear_has_no_parties());
    }
    let check = |&protocol| check_parties(protocol, cast.computing, cast.members.len());
    let mut refusals = protocols.iter().map(check);
    let first = refusals.next().expect("each choice has a candidate");
    if first.is_err() && !refusals.any(|checked| checked.is_ok()) { first } else { Ok(()) }
}

/// Refuses an OT extension, or variants of protocols on shares, that a protocol does not take.
pub fn check_ot(together: &Participation) -> Result<(), Failure> {
    let ProtocolChoice::This(protocol) = together.protocol else { return Ok(()) };
    for (option, _) in together.variants.typed() {
        let setting = ProtocolOption::of_option(option).expect("each variant is a setting");
        if !protocol.settings().contains(&setting) {
            let message = format!("protocol '{}' takes no {option}", protocol.name());
            let takers = setting.takers();
            return Err(Failure::usage(message).remedy(
                Remedy::default().field(setting.field()).and(format!(" is for {takers}")),
            ));
        }
    }
    if !together.ot.is_silent() || protocol.settings().contains(&ProtocolOption::Ot) {
        return Ok(());
    }
    let message = format!("protocol '{}' makes no triples with silent OT", protocol.name());
    let takers = ProtocolOption::Ot.takers();
    Err(Failure::usage(message)
        .remedy(Remedy::default().field(RunField::Ot).and(format!(" silent is for {takers}"))))
}

/// Refuses a garbler that the protocol, or this build, does not have.
pub fn check_garbler(run: &Run) -> Result<(), Failure> {
    if run.garbler == GarblerChoice::Software {
        if run.garbler_cells == 1 {
            return Ok(());
        }
        let remedy = Remedy::new("state ").field(RunField::Garbler);
        let remedy = remedy.and(format!(" {}", GarblerChoice::SimulatedOverlay.name()));
        let message = "the processor garbles, and only the overlay has cells";
        return Err(Failure::usage(message).remedy(remedy));
    }
    let (setting, protocol) = (ProtocolOption::Garbler, run.together.protocol);
    if protocol.stated().is_some_and(|known| known.settings().contains(&setting)) {
        return check_build(run.garbler_cells);
    }
    let message = format!("protocol '{}' has no garbler '{}'", protocol.name(), run.garbler.name());
    let remedy = Remedy::new("state ")
        .field(RunField::Protocol)
        .and(format!(" {}, or leave ", setting.takers()))
        .field(setting.field())
        .and(" out");
    Err(Failure::usage(message).remedy(remedy))
}

/// Refuses what a client has no part in.
fn check_client(run: &Run, cast: &Roles, party: u16) -> Result<(), Failure> {
    if !cast.is_client(party) {
        return Ok(());
    }
    if run.preprocessing == PreprocessingMode::Fake {
        return check_dealt(run.together.protocol);
    }
    let is_stored = matches!(run.preprocessing, PreprocessingMode::Stored(_));
    if run.making.is_none() && !is_stored {
        return Ok(());
    }
    let names = cast.computing_names().join(" and ");
    let name = &cast.members[usize::from(party)];
    let message = format!("{name} only shares inputs and learns outputs: {names} need triples");
    Err(Failure::usage(message)
        .remedy(Remedy::new("run it there, and here without ").field(RunField::Preprocessing)))
}

/// The parties of a cluster file.
fn load(settings: &Cluster) -> Result<ClusterConfig, Failure> {
    let config = ClusterConfig::load(&settings.file)?;
    Ok(match settings.transport {
        Some(transport) => config.with_transport(transport),
        None => config,
    })
}

fn security(
    settings: &Cluster,
    config: &ClusterConfig,
    me: &str,
) -> Result<ConnectionSecurity, Failure> {
    if settings.plain {
        return Ok(ConnectionSecurity::Plain(PlainLoopback::new(config)?));
    }
    Ok(ConnectionSecurity::Tls {
        identity: Identity::load(&settings.id_dir, me)?,
        trusted: TrustStore::load(&settings.id_dir)?,
    })
}

/// Rows of this party's inputs, and those that are stated for the others'.
fn rows(
    run: &Run,
    description: &Description,
    party: u16,
    files: &Files,
    is_open: bool,
) -> Result<(RowCounts, RowCounts), Failure> {
    let typed = run.making.iter().flat_map(|making| &making.rows).cloned();
    let stated = stated_rows(description, &typed.collect::<Vec<_>>())?;
    if !stated.is_empty() && !is_open {
        return Err(Failure::usage("a file that is traced or planned has its sizes already"));
    }
    let is_ours =
        |name: &str| description.inputs.iter().any(|port| port.name == name && port.party == party);
    let (ours, theirs): (Vec<_>, Vec<_>) = stated.into_iter().partition(|(port, _)| is_ours(port));
    let counted = files.iter().map(|(port, file)| (port.clone(), file.rows));
    Ok((ours.into_iter().chain(counted).collect(), theirs.into_iter().collect()))
}

/// Refuses to store correlated randomness for a protocol that takes none, or for any.
pub fn check_preprocessed(run: &Run) -> Result<(), Failure> {
    if run.preprocessing == PreprocessingMode::Fake {
        return check_dealt(run.together.protocol);
    }
    let is_stored = matches!(run.preprocessing, PreprocessingMode::Stored(_));
    if run.making.is_none() && !is_stored {
        return Ok(());
    }
    let message = match run.together.protocol.stated() {
        Some(protocol) if protocol.has_preprocessing() => return Ok(()),
        Some(protocol) => {
            format!("protocol '{}' has no preprocessing that could be stored", protocol.name())
        }
        None => "what is stored is for one protocol".to_owned(),
    };
    Err(Failure::usage(message).remedy(
        Remedy::new("say which with ")
            .field(RunField::Protocol)
            .and(format!(": {}", Protocol::names(|protocol| protocol.has_preprocessing()))),
    ))
}

/// The key of what is stored, if something is.
fn stored_key(run: &Run) -> Result<Option<StoredKey>, Failure> {
    let path = || match (&run.together.stored_key, &run.together.connections) {
        (Some(path), _) => Ok(path.clone()),
        (None, Connections::Cluster(cluster)) => Ok(cluster.id_dir.join(STORED_KEY)),
        (None, Connections::Memory(_)) => {
            Err(Failure::usage("say where the key of stored preprocessing is"))
        }
    };
    match (&run.making, &run.preprocessing) {
        (Some(making), _) => {
            correlated::check_free(&making.out)?;
            correlated::key(&path()?, true).map(Some)
        }
        (None, PreprocessingMode::Stored(file)) => open_key(file, &path()?).map(Some),
        (None, _) => Ok(None),
    }
}

/// The key in `path` of the correlated randomness in `file`, which must be there and not be used.
pub fn open_key(file: &Path, path: &Path) -> Result<StoredKey, Failure> {
    if !file.exists() {
        let message = format!("there is no file {}", file.display());
        return Err(Failure::new(codes::NO_STORED_FILE, message).remedy(
            "make it with `phineus preprocess`, at all parties together: a file that only others \
             have, from a run that was cut off here, is of no use",
        ));
    }
    let key = correlated::key(path, false)?;
    StoredFile::check_unused(file, &key)?;
    Ok(key)
}

/// The key of stored correlated randomness in the directory of a party's keys.
const STORED_KEY: &str = "stored.key";
