//! Errors of the other crates as failures: which code each has, and its remedy.

use phineus_bytecode::Error as BytecodeError;
use phineus_channels::{AbortReason, ChannelError, ClusterError, IdentityError, NetworkModelError};
use phineus_correlated::CorrelatedError;
use phineus_engine::{DataError, RunError, StorageError};
use phineus_frontend::ProgramError;
use phineus_ot::OtError;
use phineus_plan::Error as PlanError;
use phineus_protocols::ProtocolError;
use phineus_tables::{Error as TableError, RefusalKind};

use super::Failure;
use super::codes;
use super::fault::{Fault, Place};
use super::remedy::{Remedy, RunField};

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
            ProtocolError::NoRows => Failure::new(codes::OVERLAY_STOPPED, error.to_string()),
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
