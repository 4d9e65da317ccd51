//! [`OverlayError`].

/// Why a program cannot be compiled, a stream not be read, or a device not be used.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// The netlist is larger than node numbers are, or than what was stated.
    #[error("the program has more than {nodes_max} gates")]
    TooManyGates {
        /// Nodes of the largest netlist.
        nodes_max: u64,
    },
    /// Compiling takes more memory than was stated.
    #[error("compiling the program for the overlay takes more than {limit_bytes} bytes")]
    Memory {
        /// The limit that was stated.
        limit_bytes: u64,
        /// Bytes that it takes at least.
        needed_bytes: u64,
    },
    /// A file between two passes over the gates cannot be written or read.
    #[error("a temporary file of the gates fails: {reason}")]
    Scratch {
        /// Answer of the system.
        reason: String,
    },
    /// The stream cannot be written.
    #[error("the stream cannot be written: {reason}")]
    File {
        /// Answer of the system.
        reason: String,
    },
    /// Not every operation is a circuit of AND and XOR.
    #[error("the overlay cannot garble {what}")]
    Unsupported {
        /// The operation, or the part of the program.
        what: String,
    },
    /// Even in the order of the program, more labels live at once than fit.
    #[error("the program needs more than the {labels} labels that the wire memory holds")]
    WireMemory {
        /// Size of the memory.
        labels: u64,
    },
    /// The first bytes are others.
    #[error("this file is not a stream for the overlay")]
    NotAStream,
    /// Another version of the format.
    #[error(
        "the stream has version {version}, and this program reads version {}",
        crate::parameters::VERSION
    )]
    OtherVersion {
        /// The version of the stream.
        version: u16,
    },
    /// Made for a device of another size, or another timing.
    #[error("the stream is for another device: 2^{bank_bits} banks of 2^{row_bits} labels")]
    OtherParameters {
        /// As [`crate::parameters::Parameters::bank_bits`].
        bank_bits: u32,
        /// As [`crate::parameters::Parameters::row_bits`].
        row_bits: u32,
    },
    /// The file ends before the stream.
    #[error("the stream is cut off")]
    CutOff,
    /// A check does not match.
    #[error("the stream is damaged: the check before word {word} fails")]
    Corrupt {
        /// Number of the check word, from 0 after the header.
        word: u64,
    },
    /// The simulation has no device of so many cells.
    #[error(
        "this build of phineus simulates overlays of {} cells, not of {cells}",
        simulated.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    )]
    NotSimulated {
        /// Cells that were asked for.
        cells: u32,
        /// Cells of the devices that can be simulated.
        simulated: Vec<u32>,
    },
    /// The host does not want the rest of the run.
    #[error("the run on the device was ended before its end")]
    Interrupted,
    /// No thread can be started for the device.
    #[error("cannot start a thread for the device: {reason}")]
    NoThread {
        /// What the system says.
        reason: String,
    },
    /// The device stopped.
    #[error("the device stopped at word {word}: {reason}")]
    Stopped {
        /// Words that it had taken, without the header.
        word: u64,
        /// Meaning of its error register.
        reason: &'static str,
    },
}

impl OverlayError {
    /// A failure of a scratch file.
    pub(crate) fn scratch(error: std::io::Error) -> OverlayError {
        OverlayError::Scratch { reason: error.to_string() }
    }

    /// A failure of the file of a stream.
    pub(crate) fn file(error: std::io::Error) -> OverlayError {
        OverlayError::File { reason: error.to_string() }
    }
}
