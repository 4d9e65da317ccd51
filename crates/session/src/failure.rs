//! [`Failure`]: the one error of sessions: a stable code, what is wrong and where, what to do next, and
//! what was revealed before it. Sentences are made of these fields where they are shown.
//!
//! The first digit of a code is its class and the exit code of the command line: `E4102` ends with exit
//! code 4.

pub mod codes;
mod fault;
mod remedy;

use std::fmt;

use phineus_bytecode::Error as BytecodeError;
use phineus_channels::{AbortReason, ChannelError, ClusterError, IdentityError, NetworkModelError};
use phineus_correlated::CorrelatedError;
use phineus_engine::{DataError, RunError, StorageError};
use phineus_frontend::ProgramError;
use phineus_ot::OtError;
use phineus_plan::Error as PlanError;
use phineus_protocols::ProtocolError;
use phineus_tables::{Error as TableError, RefusalKind};

use codes::Code;

pub use fault::{Fault, Place};
pub use remedy::{Remedy, RemedyPart, RunField};

/// How a command ends, by exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did what it was asked to, or its output is closed, as after `| head`.
    Success = 0,
    /// Something failed while running.
    RunTime = 1,
    /// The command line or a configuration file is wrong.
    Usage = 2,
    /// The program, circuit or plan is refused.
    ProgramRefused = 3,
    /// The peer is not there, or not any more.
    PeerLost = 4,
    /// The peer broke the protocol.
    PeerCheated = 5,
    /// Memory or disk is not enough.
    DoesNotFit = 6,
    /// The parties want different things.
    Disagreement = 7,
    /// The input data is wrong.
    BadInput = 8,
    /// The user stopped it.
    Interrupted = 130,
}

impl Exit {
    /// A few words for users.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "ok",
            Exit::RunTime => "run-time error",
            Exit::Usage => "usage",
            Exit::ProgramRefused => "program refused",
            Exit::PeerLost => "peer lost",
            Exit::PeerCheated => "peer cheated",
            Exit::DoesNotFit => "does not fit",
            Exit::Disagreement => "parties disagree",
            Exit::BadInput => "bad input",
            Exit::Interrupted => "interrupted",
        }
    }
}

/// How messages call the file that says who the parties are.
const CLUSTER_FILE: &str = "cluster.toml";

/// Why a command failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which kind of failure it is, and how the process ends.
    pub code: Code,
    /// Faults with their places: one, or the first of several.
    pub faults: Vec<Fault>,
    /// Next step for the user.
    pub remedy: Option<Remedy>,
    /// What the parties had learned when it happened.
    pub revealed: Option<String>,
    /// The least memory with which it would fit.
    pub needed_bytes: Option<u64>,
    /// Whether nothing is printed: the reader of our output went away, or all is said.
    pub silent: bool,
}

impl Failure {
    /// A failure without a place; `what` is a sentence, or a line for each of several faults.
    pub fn new(code: Code, what: impl Into<String>) -> Failure {
        Failure::of_faults(code, vec![Fault::new(what)])
    }

    /// A failure with these faults, of which there is one at least.
    pub fn of_faults(code: Code, faults: Vec<Fault>) -> Failure {
        Failure { code, faults, remedy: None, revealed: None, needed_bytes: None, silent: false }
    }

    /// Text of all faults with their places: a line for each.
    pub fn message(&self) -> String {
        let lines: Vec<String> = self.faults.iter().map(Fault::to_string).collect();
        lines.join("\n")
    }

    /// With the file in which it was found, if none is known yet.
    pub fn in_file(mut self, file: &std::path::Path) -> Failure {
        for fault in &mut self.faults {
            fault.place.file.get_or_insert_with(|| file.display().to_string());
        }
        self
    }

    /// With the line of a file in which it was found.
    pub fn at_line(mut self, file: &std::path::Path, line: usize) -> Failure {
        for fault in &mut self.faults {
            fault.place.file = Some(file.display().to_string());
            fault.place.line = Some(line as u64);
        }
        self
    }

    /// A mistake in the command line.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(codes::USAGE, message)
    }

    /// Adds what to do next.
    pub fn remedy(mut self, remedy: impl Into<Remedy>) -> Failure {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds what had been revealed.
    pub fn revealed(mut self, revealed: impl Into<String>) -> Failure {
        self.revealed = Some(revealed.into());
        self
    }

    /// With the name that the user gave to the cluster file.
    pub fn of_cluster(self, path: &std::path::Path) -> Failure {
        let name = |text: String| match path.ends_with(CLUSTER_FILE) {
            true => text,
            false => text.replace(CLUSTER_FILE, &path.display().to_string()),
        };
        let Failure { faults, remedy, .. } = self;
        let named = |fault: Fault| Fault { what: name(fault.what), ..fault };
        let faults = faults.into_iter().map(named).collect();
        Failure { faults, remedy: remedy.map(|remedy| remedy.map_text(name)), ..self }
    }

    /// Whether planning itself needs more memory than the limit leaves for it.
    pub fn is_of_planning(&self) -> bool {
        self.code == codes::PLANNER_MEMORY
    }

    /// The user stopped it.
    pub fn interrupted() -> Failure {
        Failure::new(codes::INTERRUPTED, "interrupted")
    }

    /// A file that cannot be read or written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::new(codes::FILE, error.to_string()).in_file(path)
    }

    /// The failure as an object of JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::json!({
            "code": self.code.to_string(),
            "exit_code": self.code.exit as u8,
            "message": self.message(),
            "faults": self.faults,
            "remedy": self.remedy.as_ref().map(Remedy::to_string),
            "revealed": self.revealed,
        });
        if let Some(needed) = self.needed_bytes {
            value["needed_bytes"] = needed.into();
        }
        value
    }

    /// The inverse of [`Failure::to_json`], for the failure of another process.
    pub fn from_json(value: &serde_json::Value) -> Option<Failure> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let code = Code::parse(&text("code")?)?;
        Some(Failure {
            code,
            faults: serde_json::from_value(value["faults"].clone()).ok()?,
            remedy: text("remedy").map(Remedy::from),
            revealed: text("revealed"),
            needed_bytes: value["needed_bytes"].as_u64(),
            silent: false,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, self.message())?;
        if let Some(revealed) = &self.revealed {
            write!(f, "\n  {revealed}")?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  next: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            let silent = true;
            let failure = Failure::new(codes::NOBODY_READS, "nobody reads the output");
            return Failure { silent, ..failure };
        }
        let failure = Failure::new(codes::SYSTEM, error.to_string());
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => failure.remedy(
                Remedy::new("free some space; ")
                    .field(RunField::SwapDir)
                    .and(" says where a run keeps its own files"),
            ),
            _ => failure,
        }
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Failure {
        let refusal = match error {
            TableError::Refused(refusal) => refusal,
            TableError::Io(error) => return error.into(),
            error => return Failure::new(codes::SYSTEM, error.to_string()),
        };
        let code = match refusal.kind {
            RefusalKind::Unreadable => codes::INPUT_UNREADABLE,
            RefusalKind::NotAFile => codes::NOT_A_FILE_AS_INPUT,
            RefusalKind::OtherFormat => codes::OTHER_FORMAT,
            RefusalKind::Malformed => codes::MALFORMED,
            RefusalKind::Cell => codes::CELL,
            RefusalKind::RowsDiffer => codes::ROWS_DIFFER,
            RefusalKind::KeyRepeated => codes::KEY_REPEATED,
            RefusalKind::TooManyOfAKey => codes::TOO_MANY_OF_A_KEY,
            RefusalKind::TooLong => codes::TOO_LONG,
            RefusalKind::Changed => codes::INPUT_CHANGED,
            RefusalKind::NotWritable => codes::OUTPUT_FORMAT,
        };
        let more = (refusal.more > 0).then(|| Fault::new(format!("and {} more", refusal.more)));
        let faults = refusal.faults.into_iter().map(Fault::from).chain(more).collect();
        Failure { remedy: refusal.remedy.map(Remedy::from), ..Failure::of_faults(code, faults) }
    }
}

impl From<BytecodeError> for Failure {
    fn from(error: BytecodeError) -> Failure {
        match error {
            BytecodeError::Io(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                error.into()
            }
            BytecodeError::Io(_) => {
                let message = "the file ends too early to be a program";
                Failure::new(codes::PROGRAM_CUT_OFF, message).remedy("make it again")
            }
            error => Failure::new(codes::NOT_A_PROGRAM, error.to_string()),
        }
    }
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Failure {
        let message = error.to_string();
        match error {
            ProgramError::Bytecode(error) => error.into(),
            ProgramError::Io(error) => error.into(),
            ProgramError::UnknownParameter { .. }
            | ProgramError::MissingParameter { .. }
            | ProgramError::BadParameter { .. } => Failure::new(codes::PARAMETER, message).remedy(
                Remedy::new("parameters are given as ")
                    .field(RunField::Parameters)
                    .and(" NAME=VALUE"),
            ),
            ProgramError::MissingRows { .. } => Failure::new(codes::ROWS_UNKNOWN, message),
            ProgramError::WrongRows { .. } => Failure::new(codes::WRONG_ROWS, message)
                .remedy("give a file with that many rows below the line that names the columns"),
            ProgramError::Rows(_) => Failure::new(codes::ROWS, message),
            ProgramError::Faults(faults) => {
                let fault = |fault: phineus_frontend::ProgramFault| {
                    let (file, line) = (Some(fault.file), Some(fault.line.into()));
                    let place = Place { file, line, ..Place::default() };
                    Fault { place, what: fault.what }
                };
                Failure::of_faults(codes::PROGRAM, faults.0.into_iter().map(fault).collect())
            }
            ProgramError::Circuit { file, line, what } => {
                let place = Place { file: Some(file), line: Some(line), ..Place::default() };
                Failure::of_faults(codes::PROGRAM, vec![Fault { place, what }])
            }
            _ => Failure::new(codes::PROGRAM, message),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        let message = error.to_string();
        match error {
            PlanError::Program(error) => error.into(),
            PlanError::Io(_) => Failure::new(codes::PLANNER_FILES, message),
            PlanError::TooFewFrames { .. } => Failure::new(codes::FRAMES, message),
            PlanError::PlannerMemory { .. } => {
                Failure::new(codes::PLANNER_MEMORY, message).remedy("give more memory")
            }
            PlanError::FieldTooSmall { .. } => Failure::new(codes::FIELD_TOO_SMALL, message)
                .remedy("sum fewer products at once, or use a larger field"),
            _ => Failure::new(codes::NOT_PLANNED, message),
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        let message = error.to_string();
        let elsewhere = Remedy::new("name another directory with ").field(RunField::SwapDir);
        match error {
            StorageError::NoSpace { .. } | StorageError::FileSizeLimit { .. } => {
                Failure::new(codes::NO_SPACE, message).remedy(elsewhere)
            }
            StorageError::Memory { .. } => Failure::new(codes::STORAGE_MEMORY, message),
            StorageError::DirectoryMissing { .. }
            | StorageError::NotADirectory { .. }
            | StorageError::DirectoryNotWritable { .. } => {
                Failure::new(codes::SCRATCH_DIRECTORY, message).remedy(elsewhere)
            }
            StorageError::IoUringRefused { .. } => Failure::new(codes::NO_IO_URING, message)
                .remedy(Remedy::new("use ").field(RunField::Storage).and(" auto")),
            _ => Failure::new(codes::STORAGE, message),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Failure {
        Failure::new(codes::DATA, error.to_string())
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        let failure = Failure::new(codes::CLUSTER, error.to_string());
        match error.path.exists() {
            true => failure,
            false => failure.remedy(
                Remedy::new("write it: a name and an address for each party (docs/embedding.md)")
                    .at_command_line(", or name another file with --cluster"),
            ),
        }
    }
}

impl From<NetworkModelError> for Failure {
    fn from(error: NetworkModelError) -> Failure {
        Failure::new(codes::NETWORK_MODEL, error.to_string())
    }
}

impl From<IdentityError> for Failure {
    fn from(error: IdentityError) -> Failure {
        let code = match error {
            IdentityError::Io { .. } | IdentityError::Generation { .. } => codes::KEY_FILE_IO,
            IdentityError::Missing { .. } => codes::NO_KEY,
            _ => codes::KEY_FILE,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Failure {
        use ChannelError as E;
        if let E::Cancelled = error {
            return Failure::interrupted();
        }
        let code = match &error {
            E::Closed { .. } => codes::CLOSED,
            E::Lost { .. } => codes::SILENT,
            E::PeerAborted { reason, .. } => match reason {
                AbortReason::Disagreement => codes::DIFFER_ELSEWHERE,
                AbortReason::Misbehaved => codes::ACCUSED,
                _ => codes::STOPPED,
            },
            E::PeerLost { .. } => codes::LOST_ELSEWHERE,
            E::Misbehaved { .. } | E::TlsAlert { .. } => codes::MISBEHAVED,
            E::WrongKey { .. } => codes::WRONG_KEY,
            E::NotTrusted { .. } => codes::UNKNOWN_KEY,
            E::KeyRefused { .. } => codes::KEY_REFUSED,
            E::WrongParty { .. } | E::WrongSelf { .. } => codes::WRONG_PARTY,
            E::Incompatible { .. } => codes::OTHER_VERSION,
            E::OtherCount { .. } => codes::OTHER_COUNT,
            E::OtherPurpose { .. } => codes::OTHER_PURPOSE,
            E::OtherManner { .. } => codes::OTHER_TRANSPORT,
            E::Twice { .. } | E::Replaced { .. } => codes::TWICE,
            E::Stranger { .. } => codes::STRANGER,
            E::OtherKey { .. } => codes::KEY_OF_ANOTHER,
            E::UnknownParty { .. } => codes::NO_SUCH_PARTY,
            E::WrongIdentity { .. } => codes::WRONG_IDENTITY,
            E::PlainNotLoopback { .. } => codes::PLAIN_NOT_LOCAL,
            E::PlainQuic => codes::PLAIN_QUIC,
            E::NoAddress { .. } => codes::NO_ADDRESS,
            E::PortInUse { .. } => codes::PORT_IN_USE,
            E::CannotListen { .. } => codes::CANNOT_LISTEN,
            E::UnknownHost { .. } => codes::UNKNOWN_HOST,
            E::Unreachable { .. } => codes::UNREACHABLE,
            E::NobodyCame { .. } => codes::NOBODY_CAME,
            E::Incomplete { .. } => codes::INCOMPLETE,
            _ => codes::CHANNEL,
        };
        let party = error.party().map(str::to_owned);
        let place = Place { party, ..Place::default() };
        Failure::of_faults(code, vec![Fault { place, what: error.to_string() }])
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Failure {
        match error {
            ProtocolError::Channel(error) => error.into(),
            ProtocolError::Program(error) => error.into(),
            ProtocolError::Preprocessing(error) => error.into(),
            ProtocolError::Storage(error) => error.into(),
            ProtocolError::Unsorted { .. } => Failure::new(codes::UNSORTED, error.to_string()),
            error => Failure::new(codes::CHECK_FAILED, error.to_string()),
        }
    }
}

impl From<OtError> for Failure {
    fn from(error: OtError) -> Failure {
        ProtocolError::from(error).into()
    }
}

impl From<CorrelatedError> for Failure {
    fn from(error: CorrelatedError) -> Failure {
        ProtocolError::from(error).into()
    }
}

impl<E: std::error::Error + 'static> From<RunError<E>> for Failure
where
    Failure: From<E>,
{
    fn from(error: RunError<E>) -> Failure {
        match error {
            RunError::Program(error) => error.into(),
            RunError::Storage(error) => error.into(),
            RunError::Driver(error) => error.into(),
            RunError::Interrupted => Failure::interrupted(),
            RunError::Row(_) => Failure::new(codes::SELECTED_ROW, error.to_string()),
            RunError::TooManyTurns { .. } => Failure::new(codes::TOO_MANY_TURNS, error.to_string())
                .remedy(
                    Remedy::new("give more ")
                        .field(RunField::MaxIterations)
                        .and(", if the program is right; all parties the same"),
                ),
            error => Failure::new(codes::RUN, error.to_string()),
        }
    }
}

impl From<std::convert::Infallible> for Failure {
    fn from(never: std::convert::Infallible) -> Failure {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_digit_of_a_code_is_the_exit_code() {
        let failure = Failure::from(ChannelError::Closed { party: "site_b".to_owned() });
        assert_eq!(
            (failure.code.to_string().as_str(), failure.code.exit),
            ("E4102", Exit::PeerLost)
        );
    }

    #[test]
    fn a_failure_survives_json() {
        let failure = Failure::usage("what").remedy("do").revealed("nothing");
        let copy = Failure::from_json(&failure.to_json()).expect("it is one");
        assert_eq!(copy.to_string(), failure.to_string());
        assert_eq!(copy.code.exit, failure.code.exit);
    }
}
