//! [`run_all`]: all parties of a computation as threads of this process.

use std::cmp::Reverse;
use std::thread;

use phineus_bytecode::{Description, Table};
use phineus_channels::MemoryNetwork;
use phineus_protocols::garbled::GARBLER;
use phineus_tables::TextKey;

use super::{Finished, run};
use crate::binding::{self, BoundTables};
use crate::failure::{Exit, Failure, codes};
use crate::inputs::InputTable;
use crate::memory_budget::does_not_fit;
use crate::memory_pool::{MemoryLimit, MemoryPool};
use crate::outputs::Destinations;
use crate::process_memory::PROCESS_BYTES;
use crate::progress::Progress;
use crate::registry::Registry;
use crate::resolve::{resolve, shape};
use crate::roles::Roles;
use crate::scratch::scratch_of;
use crate::settings::{Connections, GarblerChoice, Participation, Run};
use crate::text_key;
use crate::verify::{self, Verified};

/// Stack of a party's thread, as large as that of a process: tracing and planning happen there. Pages that
/// are not used are not resident.
const STACK_BYTES: usize = 8 << 20;

/// Results of all parties.
pub struct AllResults {
    /// Result of each party, in the order of the program as it was run.
    pub parties: Vec<Finished>,
    /// Results by output port, whichever party learns it.
    pub outputs: Vec<Option<Table>>,
    text_key: TextKey,
}

impl AllResults {
    /// The program as it was run.
    pub fn description(&self) -> &Description {
        &self.parties[0].description
    }

    /// The output with this name.
    pub fn output(&self, name: &str) -> Option<&Table> {
        let index = self.description().outputs.iter().position(|port| port.name == name)?;
        self.outputs.get(index)?.as_ref()
    }

    /// Compares the outputs with the plaintext ones; `run` is what was run.
    ///
    /// # Errors
    /// If the inputs cannot be read again.
    pub fn verify(&self, registry: &Registry, run: &Run) -> Result<Verified, Failure> {
        let mut run = run.clone();
        run.reading.text_key = Some(self.text_key.clone());
        verify::compare(registry, &run, self.description(), &self.outputs)
    }
}

/// Runs all parties of `run`, which has the tables of all of them, as threads of this process. They
/// meet in memory and compute as they would on several machines; the memory limit is for all of them
/// together, in equal parts.
///
/// # Errors
/// The first failure; failures of other parties that follow from it are left out.
pub fn run_all(registry: &Registry, run: &Run, progress: &Progress) -> Result<AllResults, Failure> {
    let scratch = scratch_of(&run.resources)?;
    let resolved =
        resolve(registry, run.choice.program.as_deref(), &scratch, &run.resources.leftovers)?;
    let (_, mut description) = shape(&resolved, &run.choice.parameters)?;
    drop(resolved);
    let cast = Roles::new(&description, &run.outsourcing, None)?;
    cast.apply(&mut description)?;
    let destinations = Destinations::new(run, &description, None)?;
    let assigned = binding::assign(&description, &run.inputs, &[], None)?;
    binding::require_all(&description, &assigned, None)?;
    if assigned.values().filter(|from| from.is_stdin()).count() > 1 {
        return Err(Failure::usage("only one input can come from stdin"));
    }
    let text_key = run.reading.text_key.clone().map_or_else(text_key::fresh, Ok)?;
    let mut runs = runs_of(run, &cast, &description, &assigned)?;
    runs.iter_mut().for_each(|run| run.reading.text_key = Some(text_key.clone()));
    let count = runs.len() as u64;
    let parties = run_each(registry, &runs, progress)
        .map_err(|failure| of_all(failure, &run.resources.memory, count))?;
    let description = &parties[0].description;
    let outputs = merged(description, &parties)?;
    let mut parties = parties;
    write(&destinations, &outputs, &mut parties)?;
    Ok(AllResults { parties, outputs, text_key })
}

/// The settings of each party.
fn runs_of(
    run: &Run,
    cast: &Roles,
    description: &Description,
    assigned: &BoundTables<'_>,
) -> Result<Vec<Run>, Failure> {
    let columns = run.reading.names(description, (&[], None))?;
    let network = MemoryNetwork::new();
    let shares = shares(&run.resources.memory, cast.members.len() as u64)?;
    let each = (0..).zip(&cast.members).zip(shares);
    let run_of = |((party, name), memory): ((u16, &String), MemoryLimit)| {
        let ports = description.inputs.iter().filter(|port| port.party == party);
        let own: Vec<&str> = ports.map(|port| port.name.as_str()).collect();
        let inputs = own.iter().filter_map(|&port| {
            let from = (*assigned.get(port)?).clone();
            Some(InputTable { input: Some(port.to_owned()), from })
        });
        let renamed = own.iter().flat_map(|&port| {
            let names = columns.get(port).into_iter().flatten();
            names.map(move |(wanted, found)| format!("{port}.{wanted}={found}"))
        });
        let mut own_run = run.clone();
        own_run.inputs = inputs.collect();
        own_run.outputs = Vec::new();
        own_run.reading.columns = renamed.collect();
        own_run.resources.memory = memory;
        if party != GARBLER {
            own_run.garbler = GarblerChoice::Software;
            own_run.garbler_cells = 1;
        }
        own_run.together = Participation {
            as_party: Some(name.clone()),
            connections: Connections::Memory(network.clone()),
            is_all_ours: true,
            ..run.together.clone()
        };
        own_run
    };
    Ok(each.map(run_of).collect())
}

/// Equal parts of a memory limit.
fn shares(limit: &MemoryLimit, parties: u64) -> Result<Vec<MemoryLimit>, Failure> {
    let whole = match limit {
        MemoryLimit::Reserved(reservation) => reservation.clone(),
        MemoryLimit::Default | MemoryLimit::Process(_) => {
            let pool = MemoryPool::new(limit.bytes(), own_bytes())?;
            pool.reserve(pool.size_bytes() + PROCESS_BYTES)?
        }
    };
    Ok(whole.split(parties).into_iter().map(MemoryLimit::Reserved).collect())
}

/// Bytes that the process takes without sessions.
fn own_bytes() -> u64 {
    phineus_engine::resident_bytes().unwrap_or(0).max(PROCESS_BYTES)
}

/// The failure of a party that needs more memory, with what the limit of all of them must be.
fn of_all(failure: Failure, limit: &MemoryLimit, parties: u64) -> Failure {
    let Some(needed) = failure.needed_bytes else { return failure };
    // What a party needs counts the process, which they share.
    let shares = parties * needed.saturating_sub(PROCESS_BYTES);
    let own_bytes = match limit {
        MemoryLimit::Reserved(_) => PROCESS_BYTES,
        MemoryLimit::Default | MemoryLimit::Process(_) => own_bytes(),
    };
    let all = does_not_fit(limit.bytes(), own_bytes + shares);
    match failure.code == codes::MEMORY {
        true => all,
        false => Failure { needed_bytes: all.needed_bytes, remedy: all.remedy, ..failure },
    }
}

/// Runs each party in a thread of its own.
fn run_each(
    registry: &Registry,
    runs: &[Run],
    progress: &Progress,
) -> Result<Vec<Finished>, Failure> {
    let lines: Vec<Progress> = runs.iter().map(|_| progress.of_part()).collect();
    // From now on its parts find out by themselves whether they must end.
    progress.cancel().ask();
    let ended = thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, run_of_party) in runs.iter().enumerate() {
            let lines = &lines;
            let name = run_of_party.together.as_party.clone().unwrap_or_default();
            let body = move || {
                let result = run(registry, run_of_party, &lines[index]);
                if result.is_err() {
                    // Those who have not met it would wait for it until their time is over.
                    lines.iter().for_each(|line| line.cancel().cancel());
                }
                result
            };
            let thread = thread::Builder::new().name(name).stack_size(STACK_BYTES);
            threads.push(thread.spawn_scoped(scope, body).map_err(|error| {
                lines.iter().for_each(|line| line.cancel().cancel());
                Failure::new(codes::NO_THREAD, format!("cannot start a thread: {error}"))
            }));
        }
        let join = |thread: Result<thread::ScopedJoinHandle<'_, _>, Failure>| {
            thread?.join().unwrap_or_else(|_| {
                Err(Failure::new(codes::PANIC, "the thread of a party has panicked"))
            })
        };
        threads.into_iter().map(join).collect::<Vec<Result<Finished, Failure>>>()
    });
    let is_cancelled = progress.cancel().is_requested();
    let released = progress.cancel().release();
    let (finished, failures): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
    // Of several for whom memory is too little, the one who needs the most.
    let rank = |failure: &Failure| {
        let follows = matches!(failure.code.exit, Exit::PeerLost | Exit::Interrupted);
        (follows, Reverse(failure.needed_bytes.unwrap_or(u64::MAX)))
    };
    match failures.into_iter().filter_map(Result::err).min_by_key(rank) {
        Some(failure) if is_cancelled => {
            let interrupted = Failure::interrupted();
            Err(Failure { revealed: failure.revealed, ..interrupted })
        }
        Some(failure) => Err(failure),
        None => {
            released?;
            Ok(finished.into_iter().flatten().collect())
        }
    }
}

/// The outputs of all parties, which must agree where several learn one.
fn merged(description: &Description, parties: &[Finished]) -> Result<Vec<Option<Table>>, Failure> {
    let merge = |(index, port): (usize, &phineus_bytecode::OutputPort)| {
        let mut known = parties.iter().filter_map(|party| party.outputs.get(index)?.as_ref());
        let first = known.next();
        if known.any(|other| first.is_none_or(|first| !is_same(first, other))) {
            let message = format!("the parties got different results for '{}'", port.name);
            return Err(Failure::new(codes::PARTIES_DIFFER, message)
                .remedy("this is a bug in Phineus, please report it"));
        }
        Ok(first.cloned())
    };
    description.outputs.iter().enumerate().map(merge).collect()
}

fn is_same(a: &Table, b: &Table) -> bool {
    let columns = a.columns().len();
    let cells = |row| (0..columns).all(|column| a.cell(row, column) == b.cell(row, column));
    columns == b.columns().len() && a.row_count() == b.row_count() && (0..a.row_count()).all(cells)
}

/// Writes the outputs, each beside the rows of whoever learns it first.
fn write(
    destinations: &Destinations,
    outputs: &[Option<Table>],
    parties: &mut [Finished],
) -> Result<(), Failure> {
    let description = parties[0].description.clone();
    let files = parties.iter().flat_map(|party| party.files.clone()).collect();
    for party in parties.iter_mut() {
        party.destinations = destinations.clone();
    }
    let reports = &mut parties[0].report.outputs;
    destinations.write(&description, outputs, &files, reports)
}
