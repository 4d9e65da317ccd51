//! Errors of planning.

/// Why a program cannot be planned or a plan cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be read, or the plan cannot be written.
    #[error(transparent)]
    Program(#[from] phineus_bytecode::Error),
    /// A temporary file failed.
    #[error("the planner's temporary file failed: {0}")]
    Io(#[from] std::io::Error),
    /// The frames are too few for any plan.
    #[error("{frames} frames of memory are too few: a plan needs {needed}")]
    TooFewFrames {
        /// Frames that were given.
        frames: u64,
        /// Frames that are needed.
        needed: u64,
    },
    /// A value of the program does not fit into a page.
    #[error("pages of {page_units} units are too small: a value takes {needed}")]
    PageTooSmall {
        /// Units of a page.
        page_units: u64,
        /// Units of the value.
        needed: u64,
    },
    /// Planning itself needs more memory than it may take.
    #[error(
        "planning needs more than {} KiB of memory: {live_values} values are alive at once near \
         instruction {instruction} of {instruction_count}",
        limit_bytes >> 10
    )]
    PlannerMemory {
        /// Limit on the memory of the planner.
        limit_bytes: u64,
        /// Values alive at once.
        live_values: u64,
        /// Where, in the order in which the program is planned.
        instruction: u64,
        /// Instructions of the program.
        instruction_count: u64,
    },
    /// The plan cannot be written, and the reason is lost.
    #[error("the plan cannot be written")]
    WriterStopped,
    /// The program uses a value that it does not define, or is planned already.
    #[error("the program is not valid at instruction {instruction}: {what}")]
    Invalid {
        /// The instruction, counted from 0.
        instruction: u64,
        /// The fault.
        what: &'static str,
    },
    /// Keys whose order is proven are read a second time, when they might be others.
    #[error(
        "instruction {instruction} reads keys in '{column}' of input '{input}' that were read before; \
         this protocol proves the order of a sorted input, so its keys are read once"
    )]
    KeyReadAgain {
        /// The instruction, counted from 0.
        instruction: u64,
        /// The input's name.
        input: String,
        /// The column's name.
        column: String,
    },
    /// An integer may be larger than the field holds.
    #[error(
        "instruction {instruction} ({op}) may give integers that need a field of {needed_bits} \
         bits"
    )]
    FieldTooSmall {
        /// The instruction, counted from 0.
        instruction: u64,
        /// Its operation.
        op: &'static str,
        /// Bits of a field that is large enough.
        needed_bits: u32,
    },
}
