//! Errors in a program, its arguments or a circuit file.

use std::fmt;
use std::panic::Location;

/// The most faults of one program that are stored.
pub const FAULTS_MAX: usize = 20;

/// One mistake in a program, and where it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFault {
    /// The source file, without its folders.
    pub file: String,
    /// The line in it.
    pub line: u32,
    /// Description of the fault.
    pub what: String,
}

impl ProgramFault {
    /// A fault at `location`.
    pub(crate) fn at(location: &Location<'_>, what: String) -> ProgramFault {
        let path = location.file();
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        ProgramFault { file: file.to_string(), line: location.line(), what }
    }
}

impl fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// The faults of one program, in the order in which they were found, at most [`FAULTS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFaults(pub Vec<ProgramFault>);

impl fmt::Display for ProgramFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

/// Why a program cannot be traced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The program makes mistakes; one line each.
    #[error("{0}")]
    Faults(ProgramFaults),
    /// A parameter that the program does not have.
    #[error("'{program}' has no parameter '{name}'; it has {known}")]
    UnknownParameter {
        /// The program.
        program: String,
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A parameter without a default that was not given.
    #[error("give {name}=VALUE: {help}")]
    MissingParameter {
        /// Its name.
        name: String,
        /// Description of the argument.
        help: String,
    },
    /// A parameter whose value does not fit.
    #[error("{name}={value}: expected {expected}")]
    BadParameter {
        /// Its name.
        name: String,
        /// The value that was given.
        value: String,
        /// The values that are valid.
        expected: String,
    },
    /// The size of an input is not known.
    #[error("how many rows has input '{input}'? give --in {input}=FILE, or n=ROWS")]
    MissingRows {
        /// The input.
        input: String,
    },
    /// An input has another number of rows than the program takes.
    #[error("input '{input}' has {found} rows, and this program takes {expected}")]
    WrongRows {
        /// The input.
        input: String,
        /// How many rows it has.
        found: u64,
        /// How many rows it must have.
        expected: u64,
    },
    /// Numbers of rows that do not go together, or with the parameters.
    #[error("{0}")]
    Rows(String),
    /// The program refuses its arguments or inputs.
    #[error("{0}")]
    Refused(String),
    /// The plaintext reference gives no answer on these inputs.
    #[error("{0}")]
    Reference(String),
    /// A circuit file is malformed.
    #[error("{file}:{line}: {what}")]
    Circuit {
        /// The file's name.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// Description of the fault.
        what: String,
    },
    /// The program file cannot be written or read.
    #[error(transparent)]
    Bytecode(#[from] phineus_bytecode::Error),
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}
