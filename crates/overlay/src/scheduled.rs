//! [`Schedule`]: what scheduling gives.

use crate::word::Word;

/// Mark of a label that the host stores, or memory beside the device, in [`Schedule::loads`] and [`Schedule::outputs`].
pub const STORED: u32 = 1 << 31;

/// A scheduled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Lanes of the words in the order of issue: of each word one for each cell.
    pub words: Vec<Word>,
    /// Labels in the order in which the device takes them: numbers of inputs, or of [`STORED`] labels.
    pub loads: Vec<u32>,
    /// Labels in the order in which the device gives them: numbers of outputs, or of labels to be [`STORED`].
    pub outputs: Vec<u32>,
    /// Counts.
    pub figures: Figures,
}

/// Counts of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Cycles from the first word to the end of the drain.
    pub cycles: u64,
    /// AND operations.
    pub ands: u64,
    /// XOR operations.
    pub xors: u64,
    /// XOR operations that only copy a label to another bank.
    pub copies: u64,
    /// Labels that one cell sent to another.
    pub moves: u64,
    /// Labels that the host stores for a time.
    pub spills: u64,
    /// Labels that it sends again, with those of inputs that it sent before.
    pub fills: u64,
    /// The most labels in the wire memory of each cell at once, added up.
    pub peak_labels: u64,
    /// Operations of the window that sufficed.
    pub window: u64,
}
