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
use crate::parameters::{CELLS_MAX, Parameters};
use crate::partition::{PARTITION_BYTES, partition};
pub use crate::scheduled::{Figures, STORED, Schedule};
use crate::scheduler::Scheduler;
use crate::spill::{PEAK_BYTES, SPILLER_BYTES, peak_in_order, spilled};
use crate::word::Word;

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
    if parameters.cells == 1 {
        return schedule_partitioned(operations, (parameters, 0), bound);
    }
    let operations_bytes = list_bytes(operations);
    let mut best: Result<Schedule, OverlayError> =
        Err(OverlayError::WireMemory { labels: parameters.labels() });
    for (cells, slack) in PARTITIONS {
        let words = best.as_ref().map_or(0, |best| best.words.len() * size_of::<Word>());
        let others_bytes = operations_bytes + words as u64;
        bound.check(others_bytes + PARTITION_BYTES * operations.list.len() as u64)?;
        let partitioned = partition(operations, (cells.min(parameters.cells), slack));
        match schedule_partitioned(&partitioned, (parameters, others_bytes), bound) {
            Ok(found) => {
                let is_better = |best: &Schedule| found.figures.cycles < best.figures.cycles;
                if best.as_ref().map_or(true, is_better) {
                    best = Ok(found);
                }
            }
            Err(OverlayError::WireMemory { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    best
}

/// Partitions that are tried on a device of several cells: the most cells that get operations, and the slack between
/// them. Little slack suits programs whose parts depend on each other, much slack those of independent parts; a
/// program that is bound by its depth is fastest in one cell, where labels never move.
const PARTITIONS: [(u32, u64); 4] =
    [(CELLS_MAX, 192), (CELLS_MAX, 2000), (CELLS_MAX, 8000), (1, 0)];

/// Bytes of a list of operations.
fn list_bytes(operations: &Operations) -> u64 {
    (operations.list.len() * (size_of::<Kind>() + 1)) as u64
}

/// Schedules operations that have their cells, while others hold `others_bytes`.
fn schedule_partitioned(
    operations: &Operations,
    (parameters, others_bytes): (Parameters, u64),
    bound: &MemoryBound,
) -> Result<Schedule, OverlayError> {
    let labels = parameters.labels();
    let own_bytes = others_bytes + list_bytes(operations);
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
                bound.check(own_bytes + list_bytes(operations) * 5 / 4 + spiller_bytes)?;
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
