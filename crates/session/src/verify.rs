//! Comparison of a run's answer with the plaintext one; it needs the inputs of all parties.

use std::time::Duration;

use phineus_bytecode::{Description, Table};
use phineus_channels::Transport;
use phineus_frontend::{Arguments, Program, ProgramError, same_rows};
use phineus_plan::Scratch;

use crate::binding::{self, BoundTables, PartyTables};
use crate::correlated::Source;
use crate::execute::Job;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::memory_budget::{BudgetParameters, PROCESS_BYTES, default_limit};
use crate::own_rows::without_meaningless;
use crate::planned::PlannedFile;
use crate::planning::plan_within;
use crate::progress::Progress;
use crate::protocol::list::CLEAR;
use crate::protocol::{Protocol, run_clear};
use crate::registry::Registry;
use crate::resolve::{Resolved, is_c, ready, resolve, shape, trace};
use crate::scratch::scratch_of;
use crate::settings::{Optimisation, ProtocolVariant, Run};
use crate::sizing::{PlanParameters, expanded};
use crate::text_key;
use crate::traced::{TracedFile, all_tables};

/// Reason why plain C may give another answer (docs/c.md, "What is accepted").
const WHERE_C_DIFFERS: &str = "\
    look first whether these inputs make the program do what C leaves undefined: an index out of \
    bounds at a place that `phineus check` notes, a division by 0, a shift by the width or more, a \
    value that was never set, the sign of a NaN or of the zero that fmin and fmax give; plain C may \
    then say anything. If not, this is a bug in Phineus, please report it";

/// Reference that the answer was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The program's own plaintext reference.
    Plaintext,
    /// The C program, compiled as plain C.
    PlainC,
    /// The meaning of each operation, in the clear.
    ClearDriver,
}

impl Reference {
    /// As the end of a sentence: equals ...
    pub fn name(self) -> &'static str {
        match self {
            Reference::Plaintext | Reference::PlainC => "the plaintext answer",
            Reference::ClearDriver => "the answer computed in the clear",
        }
    }
}

/// Result of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Differs,
    /// There was nothing to compare with; the reason.
    Unknown(String),
}

impl Comparison {
    fn of(is_equal: bool) -> Comparison {
        if is_equal { Comparison::Equal } else { Comparison::Differs }
    }
}

/// Reference of the comparison, and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub reference: Reference,
    pub verdict: Comparison,
}

impl Verified {
    /// Returns whether the answer is right; `None` if it could not be compared.
    pub fn is_equal(&self) -> Option<bool> {
        match self.verdict {
            Comparison::Equal => Some(true),
            Comparison::Differs => Some(false),
            Comparison::Unknown(_) => None,
        }
    }

    /// The reason why the answer could not be compared.
    pub fn why_unknown(&self) -> Option<&str> {
        match &self.verdict {
            Comparison::Unknown(why) => Some(why),
            Comparison::Equal | Comparison::Differs => None,
        }
    }

    /// Returns an error unless the answer is right.
    pub fn check(&self) -> Result<(), Failure> {
        let name = self.reference.name();
        match (&self.verdict, self.reference) {
            (Comparison::Equal, _) => Ok(()),
            (Comparison::Differs, reference) => Err(mismatch(reference)),
            (Comparison::Unknown(why), _) => {
                let message = format!("the results are not compared with {name}: {why}");
                Err(Failure::new(codes::NOT_COMPARED, message).remedy(
                    Remedy::new("the results are given as they were computed; leave ")
                        .field(RunField::Verify)
                        .and(" out, or change what the reference does on these inputs"),
                ))
            }
        }
    }
}

/// Compares the outputs of a run of `run` with the program's plaintext reference, or else with those
/// of the clear driver. `run` has the inputs of all parties, and the key that texts were hashed with;
/// `description` is of the program as it was run.
///
/// # Errors
/// If the inputs cannot be read again.
pub fn compare(
    registry: &Registry,
    run: &Run,
    description: &Description,
    outputs: &[Option<Table>],
) -> Result<Verified, Failure> {
    let scratch = scratch_of(&run.resources)?;
    let resolved =
        resolve(registry, run.choice.program.as_deref(), &scratch, &run.resources.leftovers)?;
    let assigned = binding::assign(description, &run.inputs, &[], None)?;
    refuse_stdin(&assigned)?;
    let files = binding::count_all(description, &assigned, &run.reading, (&[], None))?;
    let text_key = run.reading.text_key.clone().map_or_else(text_key::fresh, Ok)?;
    let PartyTables { tables, arrangements, .. } =
        binding::read_inputs(description, &files, &[], &text_key)?;
    let inputs: Vec<Table> = tables.into_iter().flatten().collect();
    // References know nothing of the order of rows in a file.
    let outputs = arrangements.as_computed(description, outputs.to_vec());
    let outputs: Vec<Table> = outputs.into_iter().flatten().collect();
    let (arguments, _) = shape(&resolved, &run.choice.parameters)?;
    let traced = match (&resolved, arguments) {
        (Resolved::File(file), _) => ready(file)?,
        (resolved, Some(mut arguments)) => {
            let program = resolved.program().expect("only files have none");
            binding::set_rows(&mut arguments, &files);
            if let Some(verdict) = with_reference(program, &arguments, &inputs, &outputs)? {
                let is_plain_c =
                    run.choice.program.as_ref().is_some_and(|name| is_c(name.as_ref()));
                let reference = if is_plain_c { Reference::PlainC } else { Reference::Plaintext };
                return Ok(Verified { reference, verdict });
            }
            trace(program, &arguments, &scratch)?
        }
        (_, None) => unreachable!("a program has arguments"),
    };
    let verdict = with_clear_driver(traced, inputs, &outputs, &scratch)?;
    Ok(Verified { reference: Reference::ClearDriver, verdict })
}

/// Refuses an input that cannot be read again.
///
/// # Errors
/// If an input is stdin.
pub fn refuse_stdin(assigned: &BoundTables<'_>) -> Result<(), Failure> {
    match assigned.values().any(|from| from.is_stdin()) {
        true => Err(Failure::usage("verification reads the inputs again, so none can be stdin")),
        false => Ok(()),
    }
}

/// Compares with the plaintext reference, if the program has one.
fn with_reference(
    program: &dyn Program,
    arguments: &Arguments,
    inputs: &[Table],
    outputs: &[Table],
) -> Result<Option<Comparison>, Failure> {
    match program.reference(arguments, inputs) {
        None => Ok(None),
        Some(Err(ProgramError::Reference(why))) => Ok(Some(Comparison::Unknown(why))),
        Some(expected) => Ok(Some(Comparison::of(program.agrees(outputs, &expected?)))),
    }
}

/// Computes `traced` in the clear and compares.
fn with_clear_driver(
    traced: TracedFile,
    inputs: Vec<Table>,
    outputs: &[Table],
    scratch: &Scratch,
) -> Result<Comparison, Failure> {
    // As it is, so that what the optimiser does is compared, too.
    let planned = in_the_clear(traced, default_limit(), Optimisation::Off, scratch)?;
    let job = Job {
        planned: &planned,
        party: 0,
        inputs: inputs.into_iter().map(Some).collect(),
        backend: Default::default(),
        swap_dir: scratch.directory(),
        limit_bytes: default_limit(),
        source: Source::Interleaved,
        turns_max: u64::MAX,
        threads: 1,
        cache_bytes: 0,
        progress: &Progress::unheard(),
    };
    let expected = run_clear(job)?.outputs;
    let ports = planned.description.outputs.iter();
    let expected: Vec<Option<Table>> = ports
        .zip(expected)
        .map(|(port, table)| table.map(|table| without_meaningless(port, table)))
        .collect();
    let is_equal = outputs.len() == expected.len()
        && outputs
            .iter()
            .zip(&expected)
            .all(|(output, expected)| expected.as_ref().is_some_and(|e| same_rows(output, e)));
    Ok(Comparison::of(is_equal))
}

/// Plans for computing in the clear; an existing plan is used unchanged.
pub fn in_the_clear(
    traced: TracedFile,
    limit_bytes: u64,
    optimisation: Optimisation,
    scratch: &Scratch,
) -> Result<PlannedFile, Failure> {
    let variant = ProtocolVariant { optimisation, ..ProtocolVariant::default() };
    let situation = BudgetParameters {
        limit_bytes,
        least_limit_bytes: limit_bytes,
        slice_bytes: None,
        prove_inputs: true,
        process_bytes: PROCESS_BYTES,
        tables_bytes: all_tables(&traced.description),
        client_tables_bytes: None,
        protocol: CLEAR,
        parties: traced.computing,
        clients: 0,
        variant,
        round_trip: Duration::ZERO,
        is_far: false,
        transport: Transport::Tcp,
        network: None,
    };
    if let Some(plan) = &traced.description.plan {
        let protocol = Protocol::of_verified_plan(plan);
        if protocol.has_rounds() {
            let message = format!("a plan for protocol '{}' has no clear form", protocol.name());
            return Err(Failure::new(codes::NO_CLEAR_FORM, message)
                .remedy("run the program that it was made from"));
        }
        return PlannedFile::open(traced, &BudgetParameters { protocol, ..situation });
    }
    let terms = PlanParameters { limit_bytes, net: None, is_dealt: false, is_compared: true };
    let run = (CLEAR, variant);
    // What has been traced needs no code any more, and neither does what has been planned.
    phineus_engine::release_code();
    let (traced, _) = expanded(&traced, run, terms, scratch)?;
    let planned = plan_within(&traced, CLEAR, &situation, scratch);
    phineus_engine::release_code();
    planned
}

/// The failure of an answer that is wrong.
fn mismatch(reference: Reference) -> Failure {
    let message = format!("the answer does not equal {}", reference.name());
    let remedy = match reference {
        Reference::PlainC => WHERE_C_DIFFERS,
        Reference::Plaintext | Reference::ClearDriver => {
            "this is a bug in Phineus, please report it"
        }
    };
    Failure::new(codes::WRONG_ANSWER, message).remedy(remedy)
}
