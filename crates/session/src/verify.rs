//! `--verify`: the answer against the plaintext one.

use std::time::Duration;

use phineus_bytecode::{Description, Kind, Table};
use phineus_channels::Transport;
use phineus_frontend::{Arguments, Program, ProgramError, same_rows};
use phineus_plan::Scratch;

use crate::execute::{Job, run_clear};
use crate::failure::{Failure, codes};
use crate::material::Origin;
use crate::memory_budget::{PROCESS_BYTES, Situation, default_limit};
use crate::own_rows::without_meaningless;
use crate::planning::{PlannedFile, plan_within};
use crate::progress::Progress;
use crate::resolve::TracedFile;
use crate::settings::{Choice, Protocol, Variant};

/// Why plain C may say something else (docs/c.md, "What is accepted").
const WHERE_C_DIFFERS: &str = "\
    look first whether these inputs make the program do what C leaves undefined: an index out of \
    bounds at a place that `phineus check` notes, a division by 0, a shift by the width or more, a \
    value that was never set; plain C may then say anything. If not, this is a bug in Phineus, \
    please report it";

/// What the answer was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The program's own plaintext twin.
    Twin,
    /// The same file, compiled as plain C.
    PlainC,
    /// The meaning of each operation, in the clear.
    ClearDriver,
}

impl Reference {
    /// As the end of a sentence: equals ...
    pub fn name(self) -> &'static str {
        match self {
            Reference::Twin | Reference::PlainC => "the plaintext answer",
            Reference::ClearDriver => "the answer computed in the clear",
        }
    }
}

/// What came of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Equal,
    Differs,
    /// There was nothing to compare with: why.
    Unknown(String),
}

impl Verdict {
    fn of(is_equal: bool) -> Verdict {
        if is_equal { Verdict::Equal } else { Verdict::Differs }
    }
}

/// What the answer was compared with, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    pub reference: Reference,
    pub verdict: Verdict,
}

impl Verified {
    /// Whether the answer is right, where that is known.
    pub fn is_equal(&self) -> Option<bool> {
        match self.verdict {
            Verdict::Equal => Some(true),
            Verdict::Differs => Some(false),
            Verdict::Unknown(_) => None,
        }
    }

    /// Why it is not known.
    pub fn why_unknown(&self) -> Option<&str> {
        match &self.verdict {
            Verdict::Unknown(why) => Some(why),
            Verdict::Equal | Verdict::Differs => None,
        }
    }

    /// A failure unless the answer is right.
    pub fn check(&self) -> Result<(), Failure> {
        let name = self.reference.name();
        match (&self.verdict, self.reference) {
            (Verdict::Equal, _) => Ok(()),
            (Verdict::Differs, reference) => Err(mismatch(reference)),
            (Verdict::Unknown(why), _) => {
                let message = format!("the results are not compared with {name}: {why}");
                Err(Failure::new(codes::NOT_COMPARED, message).remedy(
                    "the results are given as they were computed; leave --verify out, or change \
                     what the reference does on these inputs",
                ))
            }
        }
    }
}

/// Compares with the plaintext twin, if the program has one.
pub fn with_twin(
    program: &dyn Program,
    arguments: &Arguments,
    inputs: &[Table],
    outputs: &[Table],
) -> Result<Option<Verdict>, Failure> {
    match program.twin(arguments, inputs) {
        None => Ok(None),
        Some(Err(ProgramError::Twin(why))) => Ok(Some(Verdict::Unknown(why))),
        Some(expected) => Ok(Some(Verdict::of(program.agrees(outputs, &expected?)))),
    }
}

/// Computes `traced` in the clear and compares.
pub fn with_clear_driver(
    traced: TracedFile,
    inputs: Vec<Table>,
    outputs: &[Table],
    scratch: &Scratch,
) -> Result<Verdict, Failure> {
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
    Ok(Verdict::of(is_equal))
}

/// Plans for computing in the clear; a plan that exists already serves as it is.
pub fn in_the_clear(
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
        client_tables_bytes: None,
        protocol: Protocol::Clear,
        parties: traced.computing,
        clients: 0,
        variant: Variant::default(),
        round_trip: Duration::ZERO,
        transport: Transport::Tcp,
        network: None,
    };
    if traced.kind == Kind::Planned {
        let protocol = traced.description.plan.as_ref().map(|plan| plan.protocol.as_str());
        let protocol = protocol.and_then(Protocol::from_name).unwrap_or(Protocol::Clear);
        if protocol.is_shared() {
            let message = format!("a plan for protocol '{}' has no clear form", protocol.name());
            return Err(Failure::new(codes::NO_CLEAR_FORM, message)
                .remedy("run the program that it was made from"));
        }
        return PlannedFile::open(traced, &Situation { protocol, ..situation });
    }
    plan_within(&traced, Protocol::Clear, &situation, scratch)
}

pub fn all_tables(description: &Description) -> u64 {
    let parties = 0..description.parties.len() as u16;
    parties.map(|party| crate::memory_budget::table_bytes(description, party)).sum()
}

/// The failure of an answer that is wrong.
fn mismatch(reference: Reference) -> Failure {
    let message = format!("the answer does not equal {}", reference.name());
    let remedy = match reference {
        Reference::PlainC => WHERE_C_DIFFERS,
        Reference::Twin | Reference::ClearDriver => "this is a bug in Phineus, please report it",
    };
    Failure::new(codes::WRONG_ANSWER, message).remedy(remedy)
}
