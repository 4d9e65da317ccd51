//! The simulator: how long a planned program will take on a given machine and network.
//!
//! Replays the plan on a clock: computation takes what the cost model says, each transfer occupies
//! the disk for its bytes and arrives one latency later, and a `finish` waits for it. The network
//! carries the plan's bytes beside that. The result is a prediction, not a promise.

use std::io::{Read, Seek};

use phineus_bytecode::{CostModel, Op, ProgramReader};

use crate::error::Error;

/// What the simulator knows of machine and network.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Bytes per second that the disk moves with several transfers in flight.
    pub disk_bytes_per_second: u64,
    /// Nanoseconds from the start of a read to its end on an idle disk.
    pub disk_latency_ns: u64,
    /// Bytes per second that the network carries each way.
    pub network_bytes_per_second: u64,
    /// Nanoseconds from a message to its answer.
    pub round_trip_ns: u64,
}

impl Default for Machine {
    /// An NVMe disk as we measured it (1.5 GB/s, 100 µs), and no network to wait for.
    fn default() -> Machine {
        Machine {
            disk_bytes_per_second: 1_500_000_000,
            disk_latency_ns: 100_000,
            network_bytes_per_second: u64::MAX,
            round_trip_ns: 0,
        }
    }
}

/// How long a run is predicted to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// All of it.
    pub total_ns: u64,
    /// Computation.
    pub compute_ns: u64,
    /// Waiting for the disk.
    pub disk_wait_ns: u64,
    /// The time that the plan's bytes need on the network, in the direction with more.
    pub network_ns: u64,
    /// Waiting for answers.
    pub round_trips_ns: u64,
}

/// Predicts how long `planned` takes on `machine`.
///
/// # Errors
/// If the plan cannot be read, or is none.
pub fn simulate<R: Read + Seek>(
    planned: &mut ProgramReader<R>,
    costs: &mut impl CostModel,
    machine: &Machine,
) -> Result<Prediction, Error> {
    let not_planned = Error::Invalid { instruction: 0, what: "it is not planned" };
    let plan = planned.description().plan.clone().ok_or(not_planned)?;
    let page_bytes = plan.page_bytes();
    let transfer_ns = nanoseconds(page_bytes, machine.disk_bytes_per_second);
    let mut arrivals = vec![0u64; plan.frame_count as usize];
    let (mut clock, mut disk_free) = (0u64, 0u64);
    let mut prediction = Prediction::default();
    planned.for_each::<Error>(|instruction| {
        let frame = instruction.immediates[0] as usize;
        match instruction.op {
            Op::IssueSwapIn | Op::IssueSwapOut => {
                disk_free = disk_free.max(clock) + transfer_ns;
                if let Some(arrival) = arrivals.get_mut(frame) {
                    *arrival = disk_free + machine.disk_latency_ns;
                }
            }
            Op::FinishSwapIn | Op::FinishSwapOut => {
                let arrival = arrivals.get(frame).copied().unwrap_or(0);
                prediction.disk_wait_ns += arrival.saturating_sub(clock);
                clock = clock.max(arrival);
            }
            _ => {
                let duration = costs.duration_ns(instruction);
                prediction.compute_ns += duration;
                clock += duration;
            }
        }
        Ok(())
    })?;
    let cost = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
    let bytes = cost("sent_bytes_0").max(cost("sent_bytes_1"));
    prediction.network_ns = nanoseconds(bytes, machine.network_bytes_per_second);
    prediction.round_trips_ns = cost("rounds") * machine.round_trip_ns;
    prediction.total_ns = clock.max(prediction.network_ns) + prediction.round_trips_ns;
    Ok(prediction)
}

/// The nanoseconds that `bytes` take.
fn nanoseconds(bytes: u64, bytes_per_second: u64) -> u64 {
    let exact = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_second.max(1));
    u64::try_from(exact).unwrap_or(u64::MAX)
}
