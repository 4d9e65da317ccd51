//! [`compile`]: from a netlist to a command stream, within a bound on memory.

use crate::OverlayError;
use crate::memory::MemoryBound;
use crate::netlist::Netlist;
use crate::operations::operations_within;
use crate::parameters::Parameters;
use crate::schedule::{Figures, schedule_within};
use crate::stream::Stream;
use crate::word::Word;

/// The command stream of a netlist, and figures of its schedule; `program` is the hash of the planned program.
///
/// # Errors
/// If the program does not fit into the device, or compiling it not into the bound, which counts the netlist.
pub fn compile(
    netlist: Netlist,
    parameters: Parameters,
    program: [u8; 32],
    bound: &MemoryBound,
) -> Result<(Stream, Figures), OverlayError> {
    let operations = operations_within(&netlist, bound)?;
    drop(netlist);
    let schedule = schedule_within(&operations, parameters, bound)?;
    drop(operations);
    let lane_bytes = size_of::<Word>() + 8 * parameters.lane_quads();
    let number_bytes = 2 * size_of::<u32>() * (schedule.loads.len() + schedule.outputs.len());
    bound.check((schedule.words.len() * lane_bytes + number_bytes) as u64)?;
    Ok((Stream::new(&schedule, parameters, program), schedule.figures))
}
