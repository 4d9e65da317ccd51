//! `--verify`: the answer against the plaintext one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use phineus_bytecode::{Description, Kind, Table};
use phineus_channels::Transport;
use phineus_frontend::{Arguments, Program, same_rows};
use phineus_plan::Scratch;

use crate::arguments::{Protocol, Run, Ways};
use crate::binding;
use crate::casting::Cast;
use crate::commands::party::{scratch_of, shape};
use crate::execute::{Job, run_clear};
use crate::failure::{Exit, Failure};
use crate::material::Origin;
use crate::memory_budget::{PROCESS_BYTES, Situation, default_limit};
use crate::planning::{PlannedFile, plan_within};
use crate::progress::Progress;
use crate::registry::Registry;
use crate::resolve::{TracedFile, is_c, resolve};

/// Why plain C may say something else (docs/c.md, "What there is of C").
const WHERE_C_DIFFERS: &str = "\
    look first whether these inputs make the program do what C leaves undefined: an index out of \
    bounds at a place that `phineus check` notes, a division by 0, a shift by the width or more, a \
    value that was never set; plain C may then say anything. If not, this is a bug in Phineus, \
    please report it";

/// What the answer was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// The program's own plaintext twin.
    Twin,
    /// The same file, compiled as plain C.
    PlainC,
    /// The meaning of each operation, in the clear.
    ClearDriver,
}

impl Reference {
    /// As the end of a sentence: equals ...
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reference::Twin | Reference::PlainC => "the plaintext answer",
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

/// What plain C says of a C program on the inputs of a run, before the run: nothing is computed
/// that could not be compared. `None` for other programs, and where the run itself will say what is
/// wrong with its inputs.
pub(crate) fn by_plain_c(
    registry: &Registry,
    run: &Run,
    progress: &Progress,
) -> Result<Option<Vec<Table>>, Failure> {
    if !run.choice.program.as_ref().is_some_and(|name| is_c(Path::new(name))) {
        return Ok(None);
    }
    let scratch = scratch_of(&run.resources)?;
    let resolved = resolve(registry, run.choice.program.as_deref(), &scratch)?;
    let (arguments, mut description) = shape(&resolved, &run.choice.parameters)?;
    let (Some(program), Some(mut arguments)) = (resolved.program(), arguments) else {
        return Ok(None);
    };
    Cast::new(&description, &run.outsourcing, None)?.apply(&mut description)?;
    let assigned = binding::assign(&description, &run.inputs, &[], None)?;
    binding::require_all(&description, &assigned, None)?;
    no_stdin(&assigned)?;
    let files = binding::count_all(&assigned)?;
    binding::set_rows(&mut arguments, &files);
    // Tables of these sizes; it is not traced for them yet.
    let Some(tables) = program.generate(&arguments, 0) else { return Ok(None) };
    for (port, table) in description.inputs.iter_mut().zip(&tables) {
        if files.get(&port.name).is_none_or(|counted| counted.rows != table.row_count()) {
            return Ok(None);
        }
        (port.columns, port.rows) = (table.columns().to_vec(), table.row_count());
    }
    progress.stage("computing the plaintext answer");
    let inputs = binding::read_inputs(&description, &files, &program.ranges(&arguments)?)?;
    let inputs: Vec<Table> = inputs.into_iter().flatten().collect();
    Ok(program.twin(&arguments, &inputs).transpose()?)
}

/// Refuses an input that cannot be read again.
pub(crate) fn no_stdin(assigned: &BTreeMap<String, &str>) -> Result<(), Failure> {
    match assigned.values().any(|file| *file == "-") {
        true => Err(Failure::usage("--verify reads the inputs again, so none can be stdin")),
        false => Ok(()),
    }
}

/// Compares with what plain C has said.
pub(crate) fn with_plain_c(outputs: &[Table], expected: &[Table]) -> bool {
    outputs.len() == expected.len()
        && outputs.iter().zip(expected).all(|(output, expected)| same_rows(output, expected))
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
    let remedy = match reference {
        Reference::PlainC => WHERE_C_DIFFERS,
        Reference::Twin | Reference::ClearDriver => "this is a bug in Phineus, please report it",
    };
    Failure::new(Exit::RunTime, 197, message).remedy(remedy)
}
