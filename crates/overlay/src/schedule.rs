//! [`schedule`]: assigns each operation a cycle, ports, and a place for its result.
//!
//! List scheduling by the longest path to a sink. Only the operations within a window of the netlist's order are
//! considered, so that values do not live much longer than in that order. If the wire memory does not suffice, the
//! window becomes smaller, and then the host stores labels for a time (`spill.rs`).
//!
//! The device has no interlocks: it does in each cycle what the word says. So the number of cycles is known here,
//! exactly. It waits only as a whole, for the host.

use crate::OverlayError;
use crate::graph::Graph;
use crate::memory::MemoryBound;
use crate::operations::{Kind, Operations};
use crate::parameters::Parameters;
use crate::scheduler::Scheduler;
use crate::spill::{PEAK_BYTES, SPILLER_BYTES, peak_in_order, spilled};
use crate::word::Word;

/// A scheduled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Words in the order of issue.
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
    /// Labels that the host stores for a time.
    pub spills: u64,
    /// Labels that it sends again, with those of inputs that it sent before.
    pub fills: u64,
    /// The most labels in the wire memory at once.
    pub peak_labels: u64,
    /// Operations of the window that sufficed.
    pub window: u64,
}

/// Schedules operations on a device.
///
/// # Errors
/// [`OverlayError::WireMemory`] if the live labels do not fit.
pub fn schedule(operations: &Operations, parameters: Parameters) -> Result<Schedule, OverlayError> {
    schedule_within(operations, parameters, &MemoryBound::none())
}

/// As [`schedule`], within a bound on memory that counts the operations.
///
/// # Errors
/// As [`schedule`], and [`OverlayError::Memory`] beyond the bound.
pub fn schedule_within(
    operations: &Operations,
    parameters: Parameters,
    bound: &MemoryBound,
) -> Result<Schedule, OverlayError> {
    let labels = parameters.labels();
    let list_bytes = |operations: &Operations| (operations.list.len() * size_of::<Kind>()) as u64;
    let own_bytes = list_bytes(operations);
    bound.check(own_bytes + PEAK_BYTES * operations.list.len() as u64)?;
    let fits_in_order = peak_in_order(operations) <= labels;
    for (eighths, window) in ATTEMPTS {
        let capacity = labels as usize * eighths / 8;
        let attempt = match eighths {
            8 if !fits_in_order => continue,
            8 => operations,
            _ => {
                // The second list has some more.
                let spiller_bytes = SPILLER_BYTES * operations.list.len() as u64;
                bound.check(2 * own_bytes + own_bytes / 4 + spiller_bytes)?;
                &spilled(operations, capacity)
            }
        };
        let besides = if eighths == 8 { 0 } else { list_bytes(attempt) };
        bound.check(own_bytes + besides + Graph::bytes(attempt.list.len()))?;
        let mut scheduler = Scheduler::new(attempt, (parameters, window), bound);
        scheduler.others_bytes = own_bytes + besides;
        match scheduler.run() {
            Ok(()) => return Ok(scheduler.finish()),
            Err(OverlayError::WireMemory { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(OverlayError::WireMemory { labels })
}

/// What is tried: eighths of the memory that values may take in the order of the operations (8: nothing is spilled),
/// and operations in the window.
const ATTEMPTS: [(usize, usize); 11] = [
    (8, 1 << 18),
    (8, 1 << 15),
    (8, 1 << 13),
    (8, 1 << 11),
    (6, 1 << 14),
    (6, 1 << 13),
    (6, 1 << 11),
    (4, 1 << 10),
    (4, 1 << 7),
    (2, 1 << 4),
    (2, 1),
];

/// Mark of a label that the host stores, in [`Schedule::loads`] and [`Schedule::outputs`].
pub const STORED: u32 = 1 << 31;
