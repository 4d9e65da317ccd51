//! `--verify`: the answer against the plaintext one.

use std::time::Duration;

use phineus_bytecode::{Description, Kind, Table};
use phineus_channels::Transport;
use phineus_frontend::{Arguments, Program, same_rows};
use phineus_plan::Scratch;

use crate::arguments::{Protocol, Ways};
use crate::execute::{Job, run_clear};
use crate::failure::{Exit, Failure};
use crate::material::Origin;
use crate::memory_budget::{PROCESS_BYTES, Situation, default_limit};
use crate::planning::{PlannedFile, plan_within};
use crate::progress::Progress;
use crate::resolve::TracedFile;

/// What the answer was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The program's own plaintext twin.
    Twin,
    /// The meaning of each operation, in the clear.
    ClearDriver,
}

impl Reference {
    /// As the end of a sentence: equals ...
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reference::Twin => "the plaintext answer",
            Reference::ClearDriver => "the answer computed in the clear",
        }
    }
}

/// Compares with the plaintext twin, if the program has one.
pub(crate) fn with_twin(
    program: &dyn Program,
    arguments: &Arguments,
    inputs: &[Table],
    outputs: &[Table],
) -> Result<Option<bool>, Failure> {
    match program.twin(arguments, inputs) {
        None => Ok(None),
        Some(expected) => Ok(Some(program.agrees(outputs, &expected?))),
    }
}

/// Computes `traced` in the clear and compares.
pub(crate) fn with_clear_driver(
    traced: TracedFile,
    inputs: Vec<Table>,
    outputs: &[Table],
    scratch: &Scratch,
) -> Result<bool, Failure> {
    let planned = in_the_clear(traced, default_limit(), scratch)?;
    let job = Job {
        planned: &planned,
        party: 0,
        inputs: inputs.into_iter().map(Some).collect(),
        backend: Default::default(),
        swap_dir: scratch.directory(),
        limit_bytes: default_limit(),
        origin: Origin::Interleaved,
        turns_max: u64::MAX,
        threads: 1,
        cache_bytes: 0,
        progress: &Progress::for_user(true, false),
    };
    let expected = run_clear(job)?.outputs;
    Ok(outputs.len() == expected.len()
        && outputs
            .iter()
            .zip(&expected)
            .all(|(output, expected)| expected.as_ref().is_some_and(|e| same_rows(output, e))))
}

/// Plans for computing in the clear; a plan that exists already serves as it is.
pub(crate) fn in_the_clear(
    traced: TracedFile,
    limit_bytes: u64,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let situation = Situation {
        limit_bytes,
        least_limit_bytes: limit_bytes,
        slice_bytes: None,
        prove_inputs: true,
        process_bytes: PROCESS_BYTES,
        tables_bytes: all_tables(&traced.description),
        protocol: Protocol::Clear,
        parties: traced.computing,
        clients: 0,
        ways: Ways::default(),
        round_trip: Duration::ZERO,
        transport: Transport::Tcp,
        network: None,
    };
    if traced.kind == Kind::Planned {
        let protocol = traced.description.plan.as_ref().map(|plan| plan.protocol.as_str());
        let protocol = protocol.and_then(Protocol::from_name).unwrap_or(Protocol::Clear);
        if protocol.is_shared() {
            let message = format!("a plan for protocol '{}' has no clear form", protocol.name());
            return Err(Failure::new(Exit::ProgramRefused, 133, message)
                .remedy("run the program that it was made from"));
        }
        return PlannedFile::open(traced, &Situation { protocol, ..situation });
    }
    plan_within(&traced, Protocol::Clear, &situation, scratch)
}

fn all_tables(description: &Description) -> u64 {
    let parties = 0..description.parties.len() as u16;
    parties.map(|party| crate::memory_budget::table_bytes(description, party)).sum()
}

/// The failure of an answer that is wrong.
pub(crate) fn mismatch(reference: Reference) -> Failure {
    let message = format!("the answer does not equal {}", reference.name());
    Failure::new(Exit::RunTime, 197, message).remedy("this is a bug in Phineus, please report it")
}
