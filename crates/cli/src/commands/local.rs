//! `run --local`: every party in a process of its own on this machine, with keys that end with
//! the run.

mod children;
mod collecting;
mod following;
mod places;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Sender};

use phineus_bytecode::{Description, Table};
use phineus_protocols::garbled::GARBLER;
use phineus_session::binding::{self, BoundTables};
use phineus_session::connecting::check_parties;
use phineus_session::correlated;
use phineus_session::failure::{Failure, codes};
use phineus_session::party::{StoredReport, check_garbler, check_ot, check_preprocessed, open_key};
use phineus_session::ports::Files;
use phineus_session::private_directory::PrivateDirectory;
use phineus_session::registry::Registry;
use phineus_session::report::RunReport;
use phineus_session::resolve::resolve;
use phineus_session::resolve::shape;
use phineus_session::roles::Roles;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::{
    Choice, Cluster, GarblerChoice, PreprocessSettings, PreprocessingMode, ProtocolChoice, Run,
};
use phineus_session::sizing::stated_rows;

use crate::cancel::cancel;
use crate::display::{ChildMessage, Display};
use crate::leftovers::leftovers;

use children::{REPORT, child_command, key_file, preprocessing_options, stored_file};
use collecting::{collect, read_json};
pub(crate) use collecting::{report_beside, write_description};
use following::follow;
pub(crate) use places::TEXT_KEY;
use places::prepare_places;

/// Results of the child processes.
pub(crate) struct LocalRun {
    pub(crate) description: Description,
    pub(crate) reports: Vec<RunReport>,
    /// By output port.
    pub(crate) outputs: Vec<Option<Table>>,
    /// The inputs as they were before the run; those from stdin are missing.
    pub(crate) files: Files,
}

/// A party's process and its place.
struct ChildProcess {
    name: String,
    directory: PathBuf,
    child: Child,
}

/// Ends children that still run when it is dropped.
struct ChildProcesses(Vec<ChildProcess>);

impl Drop for ChildProcesses {
    fn drop(&mut self) {
        for party in &mut self.0 {
            let _ = party.child.kill();
            let _ = party.child.wait();
        }
    }
}

/// The cluster that a command line names.
pub(crate) fn cluster(run: &Run) -> &Cluster {
    run.together.connections.cluster().expect("a command line has no parties in memory")
}

/// Runs all parties and collects what they leave.
pub(crate) fn run(registry: &Registry, run: &Run, display: &Display) -> Result<LocalRun, Failure> {
    let (parties, files, _directory) = run_children(registry, run, display)?;
    collect(&parties, files)
}

/// Makes what all parties will need in a later run.
pub(crate) fn preprocess(
    registry: &Registry,
    run: &Run,
    making: &PreprocessSettings,
    display: &Display,
) -> Result<Vec<StoredReport>, Failure> {
    std::fs::create_dir_all(&making.out).map_err(|error| Failure::file(&making.out, &error))?;
    let (parties, _, _directory) = run_children(registry, run, display)?;
    let report = |party: &ChildProcess| read_json(&party.directory.join(REPORT));
    parties.0.iter().map(report).collect()
}

/// Runs all parties until they have ended well; with them the inputs, as they were before.
fn run_children(
    registry: &Registry,
    run: &Run,
    display: &Display,
) -> Result<(ChildProcesses, Files, PrivateDirectory), Failure> {
    check_preprocessed(run)?;
    check_ot(&run.together)?;
    check_garbler(run)?;
    let scratch = scratch_of(&run.resources)?;
    let resolved = resolve(registry, run.choice.program.as_deref(), &scratch, leftovers())?;
    let (_, mut description) = shape(&resolved, &run.choice.parameters)?;
    // What reads a program has no place beside those who run it.
    drop(resolved);
    let cast = Roles::new(&description, &run.outsourcing, None)?;
    if let ProtocolChoice::This(protocol) = run.together.protocol {
        check_parties(protocol, cast.computing, cast.members.len())?;
    }
    cast.apply(&mut description)?;
    let files = binding::assign(&description, &run.inputs, &[], None)?;
    if run.making.is_none() {
        binding::require_all(&description, &files, None)?;
    }
    if files.values().filter(|from| from.is_stdin()).count() > 1 {
        return Err(Failure::usage("only one input can come from stdin"));
    }
    let columns = run.reading.names(&description, (&[], None))?;
    // A child would find it too, but after the others have begun to wait for it.
    let readable = files.iter().filter(|(_, from)| !from.is_stdin());
    let readable: BoundTables<'_> = readable.map(|(port, from)| (port.clone(), *from)).collect();
    let counted = binding::count_all(&description, &readable, &run.reading, (&[], None))?;
    if run.making.is_none() {
        binding::check_headers(&description, &counted)?;
    }
    // Triples are made by those who compute.
    let (names, run) = match &run.making {
        Some(_) => (cast.computing_names(), &with_clients_rows(run, &cast, &description, &counted)),
        None => (&cast.members[..], run),
    };
    let computing = names[..cast.computing].iter();
    if let Some(making) = &run.making {
        stated_rows(&description, &making.rows)?;
        names
            .iter()
            .try_for_each(|name| correlated::check_free(&stored_file(&making.out, name)))?;
    }
    if let PreprocessingMode::Stored(directory) = &run.preprocessing {
        let key = |name: &String| key_file(run, directory, name);
        computing
            .clone()
            .try_for_each(|name| open_key(&stored_file(directory, name), &key(name)).map(drop))?;
    }
    let directory = PrivateDirectory::new(leftovers())?;
    prepare_places(directory.path(), &cast.members, run.reading.text_key.as_ref())?;
    cancel().ask();
    let (sender, events) = mpsc::channel();
    let mut parties = ChildProcesses(Vec::new());
    for (index, name) in names.iter().enumerate() {
        let inputs: Vec<(&str, &str)> = description
            .inputs
            .iter()
            .filter(|port| usize::from(port.party) == index)
            .filter_map(|port| Some((port.name.as_str(), files.get(&port.name)?.file()?)))
            .collect();
        let mut command = child_command(run, directory.path(), name, &inputs)?;
        if index == usize::from(GARBLER) && run.garbler != GarblerChoice::Software {
            command.arg("--garbler").arg(run.garbler.name());
            command.arg("--cells").arg(run.garbler_cells.to_string());
        }
        let own: Vec<&str> = inputs.iter().map(|(port, _)| *port).collect();
        command.args(run.reading.typed(&columns, &own));
        if run.outsourcing.is_stated() {
            command.args(run.outsourcing.typed(cast.computing_names()));
        }
        match cast.is_client(index as u16) {
            false => preprocessing_options(&mut command, run, name),
            true if run.preprocessing == PreprocessingMode::Fake => {
                command.arg("--fake-preprocessing");
            }
            true => {}
        }
        let party = start(command, directory.path().join(name), name, index, &sender)?;
        parties.0.push(party);
    }
    drop(sender);
    follow(&mut parties, &events, display)?;
    display.clear();
    Ok((parties, counted, directory))
}

/// Starts a child whose events go to `sender`; nothing follows the last of them.
fn start(
    mut command: Command,
    directory: PathBuf,
    name: &str,
    index: usize,
    sender: &Sender<(usize, Option<ChildMessage>)>,
) -> Result<ChildProcess, Failure> {
    let mut child = command.spawn().map_err(|error| {
        Failure::new(codes::NO_PROCESS, format!("cannot start a process: {error}"))
    })?;
    let stdout = child.stdout.take().expect("it is piped");
    let sender = sender.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Ok(event) = serde_json::from_str::<ChildMessage>(&line)
                && sender.send((index, Some(event))).is_err()
            {
                break;
            }
        }
        // Where nobody listens any more, nobody waits for it either.
        let _ = sender.send((index, None));
    });
    Ok(ChildProcess { name: name.to_owned(), directory, child })
}

/// The run with the rows of the files that clients would bring, who have no part in it.
fn with_clients_rows(run: &Run, cast: &Roles, description: &Description, files: &Files) -> Run {
    let mut run = run.clone();
    let making = run.making.as_mut().expect("correlated randomness is made");
    for port in description.inputs.iter().filter(|port| cast.is_client(port.party)) {
        if let Some(file) = files.get(&port.name) {
            making.rows.push((port.name.clone(), file.rows.to_string()));
        }
    }
    run
}
