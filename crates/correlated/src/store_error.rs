//! Errors of files of correlated randomness.

use std::path::PathBuf;

/// Errors of stored preprocessing, with place and remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("{}: {during} failed: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Operation that failed.
        during: &'static str,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Not a file of correlated randomness, or one of another version.
    #[error("{} is not stored preprocessing of version {version}; make it anew", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The version that is understood.
        version: u32,
    },
    /// Other users could read the key.
    #[error(
        "other users can read {}; run `chmod 600` on it, and `chown` if it is not yours",
        path.display()
    )]
    Exposed {
        /// The key file.
        path: PathBuf,
    },
    /// Not what was written under this key.
    #[error("{} is damaged, or was made with another key; make it anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The file ends too early.
    #[error("{} is cut off: {bytes} bytes of {expected}; copy it again or make it anew",
        path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// Its length when it was made.
        expected: u64,
    },
    /// Made for another program.
    #[error("{} was made for another program or other sizes; make it anew", path.display())]
    OtherProgram {
        /// The file.
        path: PathBuf,
    },
    /// Made for another protocol.
    #[error("{} was made for protocol {stored}, this run has {needed}; make it anew",
        path.display())]
    OtherProtocol {
        /// The file.
        path: PathBuf,
        /// Purpose of the file.
        stored: String,
        /// The protocol now.
        needed: String,
    },
    /// Made for another party or another number of parties.
    #[error("{} is for party {party} of {parties}, this is party {me} of {count}", path.display())]
    OtherParty {
        /// The file.
        path: PathBuf,
        /// For whom it was made.
        party: usize,
        /// Among how many.
        parties: usize,
        /// Which party this is.
        me: usize,
        /// Among how many now.
        count: usize,
    },
    /// It holds less than the program needs.
    #[error("{} holds {stored} of {kind}, the program needs {needed}; make it anew",
        path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Kind that the file has too little of.
        kind: String,
        /// How much there is.
        stored: usize,
        /// How much is needed.
        needed: usize,
    },
    /// Used before, or in use.
    #[error("{} has been used; what is used twice gives secrets away, make it anew",
        path.display())]
    AlreadyUsed {
        /// The file.
        path: PathBuf,
    },
    /// A peer's file was not made together with this one.
    #[error("{} was not made together with the file of party {party}; make them together",
        path.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// The peer.
        party: usize,
    },
    /// It failed before.
    #[error("preprocessing has failed before")]
    Failed,
}
