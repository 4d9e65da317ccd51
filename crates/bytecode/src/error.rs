//! Errors in a program.

/// Why a program file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file is not a program.
    #[error("this is not a Phineus program: {0}")]
    NotAProgram(&'static str),
    /// The file was written by another version.
    #[error(
        "this program has format version {found}, this Phineus reads version {expected}; \
         make it again"
    )]
    Version {
        /// The file's version.
        found: u16,
        /// Ours.
        expected: u16,
    },
    /// The file ends too early or its bytes were changed.
    #[error("the program is damaged at frame {frame}: {what}; make it again")]
    Damaged {
        /// The frame, counted from 0.
        frame: usize,
        /// The fault.
        what: &'static str,
    },
    /// The description is not valid.
    #[error("the program's description is not valid: {0}")]
    Description(String),
    /// The text form has faults.
    #[error("{0}")]
    Text(crate::text::TextFaults),
}
