//! [`Failure`]: the one error of the command line: a stable code, one sentence, what to do next.
//!
//! The first digit of a code is the exit code: `E4102` ends with exit code 4.

use std::fmt;

use phineus_bytecode::Error as BytecodeError;
use phineus_channels::{AbortReason, ChannelError, ClusterError, IdentityError, NetworkModelError};
use phineus_engine::{DataError, RunError, StorageError};
use phineus_frontend::ProgramError;
use phineus_plan::Error as PlanError;
use phineus_protocols::ProtocolError;

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

/// How messages call the file that says who the parties are.
const CLUSTER_FILE: &str = "cluster.toml";

/// The number of failures of planning for want of memory.
const PLANNER_MEMORY: u16 = 102;

/// Why a command failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// Which failure of that kind: 102 in `E4102`.
    pub number: u16,
    /// One sentence, or one line per fault.
    pub message: String,
    /// What to do next.
    pub remedy: Option<String>,
    /// What the parties had learned when it happened.
    pub revealed: Option<String>,
    /// The least memory with which it would fit.
    pub needed_bytes: Option<u64>,
    /// Whether nothing is printed: the reader of our output went away, or all is said.
    pub silent: bool,
}

impl Failure {
    /// A failure without more to say than `message`.
    pub fn new(exit: Exit, number: u16, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            number,
            message: message.into(),
            remedy: None,
            revealed: None,
            needed_bytes: None,
            silent: false,
        }
    }

    /// A mistake in the command line.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, 100, message)
    }

    /// Adds what to do next.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Failure {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds what had been revealed.
    pub fn revealed(mut self, revealed: impl Into<String>) -> Failure {
        self.revealed = Some(revealed.into());
        self
    }

    /// With the name that the user gave to the cluster file.
    pub(crate) fn of_cluster(self, path: &std::path::Path) -> Failure {
        let name = |text: String| match path.ends_with(CLUSTER_FILE) {
            true => text,
            false => text.replace(CLUSTER_FILE, &path.display().to_string()),
        };
        let Failure { message, remedy, .. } = self;
        Failure { message: name(message), remedy: remedy.map(name), ..self }
    }

    /// Whether planning itself needs more memory than the limit leaves for it.
    pub(crate) fn is_of_planning(&self) -> bool {
        (self.exit, self.number) == (Exit::DoesNotFit, PLANNER_MEMORY)
    }

    /// The user stopped it.
    pub fn interrupted() -> Failure {
        Failure::new(Exit::Interrupted, 1, "interrupted")
    }

    /// A file that cannot be read or written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Failure {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::RunTime, 101, message)
    }

    /// The stable code, such as `E4102`.
    pub fn code(&self) -> String {
        match self.exit {
            Exit::Interrupted => "E130".to_owned(),
            exit => format!("E{}{:03}", exit as u8, self.number),
        }
    }

    /// The failure as an object of JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::json!({
            "code": self.code(),
            "exit_code": self.exit as u8,
            "message": self.message,
            "remedy": self.remedy,
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
        let exit = match value["exit_code"].as_u64()? {
            2 => Exit::Usage,
            3 => Exit::ProgramRefused,
            4 => Exit::PeerLost,
            5 => Exit::PeerCheated,
            6 => Exit::DoesNotFit,
            7 => Exit::Disagreement,
            8 => Exit::BadInput,
            130 => Exit::Interrupted,
            _ => Exit::RunTime,
        };
        let number = text("code")?.get(2..)?.parse().unwrap_or(0);
        Some(Failure {
            exit,
            number,
            message: text("message")?,
            remedy: text("remedy"),
            revealed: text("revealed"),
            needed_bytes: value["needed_bytes"].as_u64(),
            silent: false,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code(), self.message)?;
        if let Some(revealed) = &self.revealed {
            write!(f, "\n  {revealed}")?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  next: {remedy}")?;
        }
        Ok(())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            let silent = true;
            let failure = Failure::new(Exit::Success, 100, "nobody reads the output");
            return Failure { silent, ..failure };
        }
        let failure = Failure::new(Exit::RunTime, 100, error.to_string());
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                failure.remedy("make room; --swap-dir says where a run keeps its own files")
            }
            _ => failure,
        }
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
                Failure::new(Exit::ProgramRefused, 102, message).remedy("make it again")
            }
            error => Failure::new(Exit::ProgramRefused, 101, error.to_string()),
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
            | ProgramError::BadParameter { .. } => Failure::new(Exit::Usage, 110, message)
                .remedy("parameters are given as --param NAME=VALUE"),
            ProgramError::MissingRows { .. } => Failure::new(Exit::Usage, 111, message),
            ProgramError::WrongRows { .. } => Failure::new(Exit::BadInput, 121, message)
                .remedy("give a file with that many rows below the line that names the columns"),
            ProgramError::Rows(_) => Failure::new(Exit::BadInput, 122, message),
            _ => Failure::new(Exit::ProgramRefused, 110, message),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        let message = error.to_string();
        match error {
            PlanError::Program(error) => error.into(),
            PlanError::Io(_) => Failure::new(Exit::RunTime, 120, message),
            PlanError::TooFewFrames { .. } => Failure::new(Exit::DoesNotFit, 101, message),
            PlanError::PlannerMemory { .. } => {
                Failure::new(Exit::DoesNotFit, PLANNER_MEMORY, message).remedy("give more memory")
            }
            PlanError::FieldTooSmall { .. } => Failure::new(Exit::ProgramRefused, 121, message)
                .remedy("sum fewer products at once, or use a larger field"),
            _ => Failure::new(Exit::ProgramRefused, 120, message),
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        let message = error.to_string();
        let elsewhere = "name another directory with --swap-dir";
        match error {
            StorageError::NoSpace { .. } | StorageError::FileSizeLimit { .. } => {
                Failure::new(Exit::DoesNotFit, 110, message).remedy(elsewhere)
            }
            StorageError::Memory { .. } => Failure::new(Exit::DoesNotFit, 111, message),
            StorageError::DirectoryMissing { .. }
            | StorageError::NotADirectory { .. }
            | StorageError::DirectoryNotWritable { .. } => {
                Failure::new(Exit::Usage, 130, message).remedy(elsewhere)
            }
            StorageError::IoUringRefused { .. } => {
                Failure::new(Exit::Usage, 131, message).remedy("use --storage auto")
            }
            _ => Failure::new(Exit::RunTime, 130, message),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Failure {
        Failure::new(Exit::BadInput, 120, error.to_string())
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        Failure::new(Exit::Usage, 140, error.to_string())
    }
}

impl From<NetworkModelError> for Failure {
    fn from(error: NetworkModelError) -> Failure {
        Failure::new(Exit::Usage, 141, error.to_string())
    }
}

impl From<IdentityError> for Failure {
    fn from(error: IdentityError) -> Failure {
        let exit = match error {
            IdentityError::Io { .. } | IdentityError::Generation { .. } => Exit::RunTime,
            _ => Exit::Usage,
        };
        Failure::new(exit, 142, error.to_string())
    }
}

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Failure {
        use ChannelError as E;
        if let E::Cancelled = error {
            return crate::interrupt::reason();
        }
        let (exit, number) = match &error {
            E::Closed { .. } => (Exit::PeerLost, 102),
            E::Lost { .. } => (Exit::PeerLost, 103),
            E::PeerAborted { reason, .. } => match reason {
                AbortReason::Disagreement => (Exit::Disagreement, 101),
                AbortReason::Misbehaved => (Exit::PeerCheated, 102),
                _ => (Exit::PeerLost, 104),
            },
            E::PeerLost { .. } => (Exit::PeerLost, 105),
            E::Misbehaved { .. } | E::TlsAlert { .. } => (Exit::PeerCheated, 101),
            E::WrongKey { .. } => (Exit::Disagreement, 110),
            E::NotTrusted { .. } => (Exit::Disagreement, 111),
            E::KeyRefused { .. } => (Exit::Disagreement, 112),
            E::WrongParty { .. } | E::WrongSelf { .. } => (Exit::Disagreement, 113),
            E::Incompatible { .. } => (Exit::Disagreement, 114),
            E::OtherCount { .. } => (Exit::Disagreement, 115),
            E::OtherPurpose { .. } => (Exit::Disagreement, 122),
            E::OtherManner { .. } => (Exit::Disagreement, 119),
            E::Twice { .. } | E::Replaced { .. } => (Exit::Disagreement, 116),
            E::Stranger { .. } => (Exit::Disagreement, 117),
            E::OtherKey { .. } => (Exit::Disagreement, 118),
            E::UnknownParty { .. } => (Exit::Usage, 143),
            E::WrongIdentity { .. } => (Exit::Usage, 144),
            E::PlainNotLoopback { .. } => (Exit::Usage, 145),
            E::PlainQuic => (Exit::Usage, 147),
            E::NoAddress { .. } => (Exit::Usage, 148),
            E::PortInUse { .. } => (Exit::RunTime, 140),
            E::CannotListen { .. } => (Exit::RunTime, 141),
            E::UnknownHost { .. } => (Exit::PeerLost, 110),
            E::Unreachable { .. } => (Exit::PeerLost, 111),
            E::NobodyCame { .. } => (Exit::PeerLost, 112),
            E::Incomplete { .. } => (Exit::PeerLost, 113),
            _ => (Exit::RunTime, 142),
        };
        Failure::new(exit, number, error.to_string())
    }
}

impl From<ProtocolError> for Failure {
    fn from(error: ProtocolError) -> Failure {
        match error {
            ProtocolError::Channel(error) => error.into(),
            ProtocolError::Program(error) => error.into(),
            ProtocolError::Preprocessing(error) => error.into(),
            ProtocolError::Storage(error) => error.into(),
            ProtocolError::Unsorted { .. } => {
                Failure::new(Exit::PeerCheated, 104, error.to_string())
            }
            error => Failure::new(Exit::PeerCheated, 103, error.to_string()),
        }
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
            RunError::Interrupted => crate::interrupt::reason(),
            RunError::TooManyTurns { .. } => Failure::new(Exit::RunTime, 151, error.to_string())
                .remedy(
                    "give more --max-iterations, if the program is right; all parties the same",
                ),
            error => Failure::new(Exit::RunTime, 150, error.to_string()),
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
        assert_eq!((failure.code().as_str(), failure.exit), ("E4102", Exit::PeerLost));
    }

    #[test]
    fn a_failure_survives_json() {
        let failure = Failure::usage("what").remedy("do").revealed("nothing");
        let copy = Failure::from_json(&failure.to_json()).expect("it is one");
        assert_eq!(copy.to_string(), failure.to_string());
        assert_eq!(copy.exit, failure.exit);
    }
}
