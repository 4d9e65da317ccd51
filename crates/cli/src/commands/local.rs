//! `run --local`: every party in a process of its own on this machine, with keys that end with
//! the run.

mod children;

use std::cmp::Reverse;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use phineus_bytecode::{Description, Encoding, Table};
use phineus_channels::{Identity, TrustStore};
use phineus_crypto::Prg;
use phineus_session::binding::{self, BoundTables};
use phineus_session::connecting::check_parties;
use phineus_session::correlated;
use phineus_session::failure::{Exit, Failure, codes};
use phineus_session::party::{StoredReport, check_ot, check_preprocessed, open_key};
use phineus_session::ports::Files;
use phineus_session::private_directory::PrivateDirectory;
use phineus_session::progress::{Event, Listener, Snapshot};
use phineus_session::registry::Registry;
use phineus_session::report::RunReport;
use phineus_session::resolve::resolve;
use phineus_session::resolve::shape;
use phineus_session::roles::Roles;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::{
    Cluster, PreprocessSettings, PreprocessingMode, ProtocolChoice, Run,
};
use phineus_session::sizing::stated_rows;
use phineus_session::text_key;
use phineus_tables::{Content, Input, TextKey, open};

use crate::cancel::cancel;
use crate::display::{ChildExit, ChildMessage, Display};
use crate::leftovers::leftovers;
use crate::results::child_file;

use children::{REPORT, child_command, key_file, preprocessing_options, stored_file};

/// Where a child finds the key of texts, beside its own keys.
pub(crate) const TEXT_KEY: &str = "text.key";

/// How long the other children may take to end after the first failed.
const FAREWELL: Duration = Duration::from_secs(10);

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

/// Makes each party's directory with its keys, and the common cluster.toml.
fn prepare_places(
    directory: &Path,
    names: &[String],
    key: Option<&TextKey>,
) -> Result<(), Failure> {
    let identities: Vec<Identity> = names
        .iter()
        .map(|name| Identity::create(&directory.join(name), name))
        .collect::<Result<_, _>>()?;
    let mut cluster = String::new();
    // All ports are held until all are known, so that they differ.
    let listeners: Vec<TcpListener> =
        names.iter().map(|_| free_port()).collect::<Result<_, _>>()?;
    for (name, listener) in names.iter().zip(&listeners) {
        let own = directory.join(name);
        std::fs::create_dir(own.join("out"))?;
        if let Some(key) = key {
            text_key::store(key, &own.join(TEXT_KEY))?;
        }
        let mut trusted = TrustStore::load(&own)?;
        for peer in identities.iter().filter(|peer| peer.name() != name) {
            trusted.trust(peer.name(), peer.fingerprint())?;
        }
        let address = listener.local_addr()?;
        cluster.push_str(&format!("[[party]]\nname = \"{name}\"\naddress = \"{address}\"\n"));
    }
    std::fs::write(directory.join("cluster.toml"), cluster)?;
    Ok(())
}

/// Ports for children: below those that the system gives to outgoing connections (32768 on Linux, 49152
/// elsewhere), one of which could take a port between its choice here and its use by a child.
const PORTS: std::ops::Range<u16> = 12_288..32_768;

/// Attempts to find a free one of [`PORTS`].
const PORT_ATTEMPTS: usize = 64;

/// Listens at a free port of this machine, which another process is unlikely to look for now.
fn free_port() -> std::io::Result<TcpListener> {
    let mut prg = Prg::from_os().map_err(std::io::Error::other)?;
    for _ in 0..PORT_ATTEMPTS {
        let number = prg.next_block().to_bits() as u16 % (PORTS.end - PORTS.start);
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", PORTS.start + number)) {
            return Ok(listener);
        }
    }
    TcpListener::bind("127.0.0.1:0")
}

/// Relays what the children say until all have ended.
fn follow(
    parties: &mut ChildProcesses,
    events: &Receiver<(usize, Option<ChildMessage>)>,
    display: &Display,
) -> Result<(), Failure> {
    let count = parties.0.len();
    let mut snapshots = vec![Snapshot::default(); count];
    let mut failures: Vec<Option<Failure>> = vec![None; count];
    let mut is_over = vec![false; count];
    let mut died: Option<usize> = None;
    let mut deadline: Option<Instant> = None;
    let mut is_interrupted = false;
    loop {
        match events.recv_timeout(Duration::from_millis(100)) {
            Ok((index, Some(ChildMessage::Session(event)))) => match event {
                Event::Stage { .. } | Event::Waiting { .. } | Event::Warning { .. } => {
                    display.hear(event);
                }
                Event::Note { text } => {
                    let text = format!("{}: {text}", parties.0[index].name);
                    display.hear(Event::Note { text });
                }
                Event::Running(snapshot) => {
                    snapshots[index] = snapshot;
                    if let Some(merged) = merge(&snapshots) {
                        display.hear(Event::Running(merged));
                    }
                }
            },
            Ok((index, Some(ChildMessage::End(ChildExit::Failed { failure })))) => {
                failures[index] = Failure::from_json(&failure);
                deadline.get_or_insert(Instant::now() + FAREWELL);
            }
            Ok((index, None)) => is_over[index] = true,
            Ok((_, Some(ChildMessage::End(ChildExit::Done)))) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if cancel().is_requested() && !is_interrupted {
            is_interrupted = true;
            deadline = Some(Instant::now() + FAREWELL);
            parties.0.iter().for_each(|party| interrupt_child(&party.child));
        }
        if died.is_none() && !is_interrupted {
            let is_silent = |index: usize| is_over[index] && failures[index].is_none();
            died = died_silently(parties, is_silent)?;
            // Those who have not met it yet would wait for it until their time is over.
            if let Some(died) = died {
                deadline.get_or_insert(Instant::now() + FAREWELL);
                let others = parties.0.iter().enumerate().filter(|(index, _)| *index != died);
                others.for_each(|(_, party)| interrupt_child(&party.child));
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            break;
        }
    }
    display.clear();
    if is_interrupted {
        return Err(Failure::interrupted());
    }
    if died.is_some() {
        // They were told to stop.
        failures.iter_mut().for_each(|failure| {
            failure.take_if(|failure| failure.code.exit == Exit::Interrupted);
        });
    }
    judge(parties, &failures, died, deadline.is_some())
}

/// The first of the silent children that has ended badly, without a word of why.
fn died_silently(
    parties: &mut ChildProcesses,
    is_silent: impl Fn(usize) -> bool,
) -> Result<Option<usize>, Failure> {
    for (index, party) in parties.0.iter_mut().enumerate().filter(|(index, _)| is_silent(*index)) {
        if party.child.try_wait()?.is_some_and(|status| !status.success()) {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// The failure that began it: not that of a child which only lost its peer.
fn judge(
    parties: &mut ChildProcesses,
    failures: &[Option<Failure>],
    died: Option<usize>,
    is_cut_short: bool,
) -> Result<(), Failure> {
    // Of several for whom memory is too little, the one who needs the most.
    let rank = |failure: &&Failure| {
        (failure.code.exit == Exit::PeerLost, Reverse(failure.needed_bytes.unwrap_or(u64::MAX)))
    };
    let root = failures.iter().flatten().min_by_key(rank);
    if let Some(failure) = root
        && failure.code.exit != Exit::PeerLost
    {
        return Err(failure.clone());
    }
    if let Some(party) = died.map(|died| &mut parties.0[died]) {
        let status = party.child.wait()?;
        return Err(ended_badly(party, status));
    }
    for party in &mut parties.0 {
        if is_cut_short {
            let _ = party.child.kill();
        }
        let status = party.child.wait()?;
        let is_known = failures.iter().flatten().next().is_some();
        if !status.success() && (status.code().is_none() || !is_known) {
            return Err(ended_badly(party, status));
        }
    }
    root.map_or(Ok(()), |failure| Err(failure.clone()))
}

/// The failure of a run of which a party's process has ended without saying why.
fn ended_badly(party: &ChildProcess, status: ExitStatus) -> Failure {
    let message = format!("the process of {} ended with {status}", party.name);
    Failure::new(codes::PROCESS_ENDED, message)
}

fn interrupt_child(child: &Child) {
    if let Ok(id) = libc::pid_t::try_from(child.id()) {
        // SAFETY: sends a signal to a child that was not waited for, so its number is its own.
        unsafe { libc::kill(id, libc::SIGINT) };
    }
}

/// Combined progress of the parties: that of the slower one, and the memory of the larger one.
fn merge(snapshots: &[Snapshot]) -> Option<Snapshot> {
    if snapshots.iter().any(|snapshot| snapshot.total == 0) {
        return None;
    }
    let share = |s: &Snapshot| s.done as f64 / s.total as f64;
    let slowest = snapshots.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let memory_bytes = snapshots.iter().map(|snapshot| snapshot.memory_bytes).max()?;
    Some(Snapshot { memory_bytes, waiting_for: None, ..slowest.clone() })
}

/// Reads reports and outputs of children that succeeded.
fn collect(parties: &ChildProcesses, files: Files) -> Result<LocalRun, Failure> {
    let read = |path: PathBuf| std::fs::read(&path).map_err(|error| Failure::file(&path, &error));
    let first = &parties.0[0].directory;
    let description: Description = read_json(&first.join("out/description.json"))?;
    let reports = parties
        .0
        .iter()
        .map(|party| read_json(&party.directory.join(REPORT)))
        .collect::<Result<Vec<RunReport>, Failure>>()?;
    let mut outputs = Vec::new();
    for (index, port) in description.outputs.iter().enumerate() {
        let files: Vec<PathBuf> = port
            .parties
            .iter()
            .map(|&party| child_file(&parties.0[usize::from(party)].directory.join("out"), index))
            .collect();
        let contents =
            files.iter().map(|file| read(file.clone())).collect::<Result<Vec<_>, _>>()?;
        if contents.windows(2).any(|pair| pair[0] != pair[1]) {
            let message = format!("the parties got different results for '{}'", port.name);
            return Err(Failure::new(codes::PARTIES_DIFFER, message)
                .remedy("this is a bug in Phineus, please report it"));
        }
        // Results of text columns are written as the hashes that they are.
        let mut columns = port.columns.clone();
        for column in columns.iter_mut().filter(|column| column.encoding == Encoding::Text) {
            column.encoding = Encoding::Hex;
        }
        let input = Input::of(open(Content::Path(files[0].clone()))?, port.rows);
        let table = input.read(&columns, &[], &TextKey::within_a_file())?.table;
        outputs.push(Some(restored(table, port)));
    }
    Ok(LocalRun { description, reports, outputs, files })
}

/// Reads what a child has written for its parent.
fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    serde_json::from_slice(&text).map_err(|what| {
        Failure::new(
            codes::UNREADABLE_REPORT,
            format!("a report of our own is not readable: {what}"),
        )
    })
}

/// Where a child of `preprocess` leaves its report, seen from its directory for results.
pub(crate) fn report_beside(directory: &Path) -> PathBuf {
    directory.with_file_name(REPORT)
}

/// The table with the columns that the port states.
fn restored(table: Table, port: &phineus_bytecode::OutputPort) -> Table {
    let mut restored = Table::zeros(port.columns.clone(), table.row_count());
    for row in 0..table.row_count() {
        for column in 0..port.columns.len() {
            restored.set_cell(row, column, table.cell(row, column));
        }
    }
    restored
}

/// Writes what the parent needs to understand a child's results.
pub(crate) fn write_description(
    directory: &Path,
    description: &Description,
) -> Result<(), Failure> {
    let path = directory.join("description.json");
    let mut file = std::fs::File::create(&path).map_err(|error| Failure::file(&path, &error))?;
    let text = serde_json::to_vec(description).expect("a description is text and numbers");
    Ok(file.write_all(&text)?)
}
