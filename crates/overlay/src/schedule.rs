//! Schedules: each operation gets a cycle, ports, and a place for its result.
//!
//! List scheduling by the longest path to a sink (`scheduler.rs`). If labels live in the order of the operations than fit
//! into the wire memory, the host stores some for a time (`spill.rs`).
//!
//! The device has no interlocks: it does in each cycle what the word says. So the number of cycles is known here,
//! exactly. It waits only as a whole, for the host.

use crate::OverlayError;
use crate::look_back::look_back;
use crate::memory::Place;
use crate::parameters::{CELLS_MAX, Parameters};
use crate::partition::{partition, reversed};
use crate::records::FinishedRecords;
use crate::scheduler::{Scheduler, capacities};
use crate::spill::Feed;
use crate::stream_writer::{StreamWriter, Target};

/// Mark of a label that the host stores, or memory beside the device, in [`crate::stream::Stream::loads`] and
/// [`crate::stream::Stream::outputs`].
pub const STORED: u32 = 1 << 31;

/// Counts of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Cycles from the first word to the end of the drain.
    pub cycles: u64,
    /// Words, without the header.
    pub words: u64,
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
    /// Labels that it sends again.
    pub fills: u64,
    /// The most labels in the wire memory of each cell at once, added up.
    pub peak_labels: u64,
}

/// Figures of a stream, and its loads and outputs if it is in memory.
pub(crate) type Scheduled = (Figures, [Vec<u32>; 2]);

/// Schedules operations on a device, and writes the stream of the program that has this hash.
///
/// # Errors
/// [`OverlayError::WireMemory`] if the live labels do not fit, [`OverlayError::Memory`] beyond the bound.
pub(crate) fn schedule(
    operations: FinishedRecords,
    (parameters, program): (Parameters, [u8; 32]),
    target: Target<'_>,
    place: Place<'_>,
) -> Result<Scheduled, OverlayError> {
    if parameters.cells == 1 {
        return schedule_partitioned(operations, (parameters, program), target, place);
    }
    let operations = reversed(operations, place)?;
    let full = OverlayError::WireMemory { labels: parameters.labels() };
    let mut best: Option<(u64, (u32, u64))> = None;
    for (cells, slack) in PARTITIONS {
        let shares = (cells.min(parameters.cells), slack);
        let partitioned = partition(&operations, shares, place)?;
        let device = (parameters, program);
        match schedule_partitioned(partitioned, device, Target::Nowhere, place) {
            Ok((figures, _)) => {
                let is_better = best.is_none_or(|(cycles, _)| figures.cycles < cycles);
                best = if is_better { Some((figures.cycles, shares)) } else { best };
            }
            Err(OverlayError::WireMemory { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let (_, shares) = best.ok_or(full)?;
    let partitioned = partition(&operations, shares, place)?;
    schedule_partitioned(partitioned, (parameters, program), target, place)
}

/// Partitions that are tried on a device of several cells: the most cells that get operations, and the slack between
/// them. Little slack suits programs whose parts depend on each other, much slack those of independent parts; a
/// program that is bound by its depth is fastest in one cell, where labels never move.
const PARTITIONS: [(u32, u64); 6] = [
    (CELLS_MAX, 64),
    (CELLS_MAX, 192),
    (CELLS_MAX, 500),
    (CELLS_MAX, 2000),
    (CELLS_MAX, 8000),
    (1, 0),
];

/// Schedules operations that have their cells.
fn schedule_partitioned(
    operations: FinishedRecords,
    (parameters, program): (Parameters, [u8; 32]),
    target: Target<'_>,
    place: Place<'_>,
) -> Result<Scheduled, OverlayError> {
    let known = look_back(operations, place)?;
    let feed = Feed::new(known, capacities(parameters), parameters.labels());
    let writer = StreamWriter::new(parameters, target, place.scratch);
    Scheduler::new(parameters, feed, writer)?.run(program, place)
}
