//! Parts of runs on shares that do not depend on whether the shares are authenticated.

use std::time::{Duration, Instant};

use phineus_bytecode::Description;
use phineus_channels::{FramedChannel, Mesh, Parties};
use phineus_crypto::Prg;
use phineus_engine::{Inputs, Outputs, RunMemory};

use super::Protocol;
use crate::agreement::{AgreedPlan, exchange_windows, give_up_all};
use crate::correlated::RandomnessFigures;
use crate::execute::{Job, RunResult, prepare, storage_figures, traffic_of, unrevealed};
use crate::failure::Failure;
use crate::metered::{Metered, PhaseFigures, close_all};
use crate::planned::PlannedFile;
use crate::progress::ComputationWatch;
use crate::statistics::Phases;
use crate::traced::results;

/// A run on shares that all parties are ready for.
pub struct ReadyRun {
    pub inputs: Inputs,
    pub prg: Prg,
    pub memory: RunMemory,
    pub watch: ComputationWatch,
    /// When all were ready.
    pub start: Instant,
    /// Bytes that a party may be ahead of another on each stream.
    pub aheads: [usize; 3],
}

/// Result of a run on shares.
pub struct DriverResult {
    pub outputs: Outputs,
    pub rounds: u64,
    pub online: PhaseFigures,
    pub correlated: RandomnessFigures,
    /// Where there are gates.
    pub and_gates: Option<u64>,
    pub garbled_and_gates: Option<u64>,
    /// Oblivious transfers of each two parties, where there are any.
    pub ots: Option<u64>,
    /// From the beginning to the last message.
    pub running: Duration,
    /// All of them, used to their end.
    pub channels: Vec<FramedChannel>,
}

impl ReadyRun {
    /// Does everything of our own that can fail, and waits until the others have, too.
    pub fn begin(job: &mut Job<'_>, mut mesh: Mesh) -> Result<(ReadyRun, Mesh), Failure> {
        let (inputs, prg, memory) = match prepare(job) {
            Ok(prepared) => prepared,
            Err(failure) => {
                give_up_all(mesh, &failure);
                return Err(unrevealed(failure, job.progress.cancel()));
            }
        };
        let stated = AgreedPlan::of_plan(job.planned.plan());
        let doublings = job.planned.window_doublings();
        let agreed = exchange_windows(mesh[0].iter_mut().flatten(), stated, Some(doublings));
        let aheads = match agreed {
            Ok(doublings) => aheads(job.planned, doublings),
            Err(failure) => {
                give_up_all(mesh, &failure);
                return Err(unrevealed(failure, job.progress.cancel()));
            }
        };
        let peers: Vec<String> =
            mesh[0].iter().flatten().map(|channel| channel.peer().to_owned()).collect();
        let monitor = mesh[0].iter().flatten().next().map(FramedChannel::monitor);
        let watch = job.progress.watch(&peers.join(", "), monitor, job.total()?, job.limit_bytes);
        Ok((ReadyRun { inputs, prg, memory, watch, start: Instant::now(), aheads }, mesh))
    }
}

impl DriverResult {
    /// Says goodbye to all, and adds what storage and waiting took.
    pub fn executed(
        self,
        description: &Description,
        watch: &ComputationWatch,
        memory: &RunMemory,
    ) -> RunResult {
        let (traffic, wire_traffic) = traffic_of(self.channels.iter());
        let exchanges = self.channels.iter().map(FramedChannel::exchanges).max().unwrap_or(0);
        let (storage, storage_name) = storage_figures(memory);
        let regions = memory.regions.statistics().unwrap_or_default();
        let RandomnessFigures { setup, making, used, waited, .. } = self.correlated;
        RunResult {
            exchanges,
            outputs: results(description, self.outputs.into_tables()),
            and_gates: self.and_gates,
            garbled_and_gates: self.garbled_and_gates,
            ots: self.ots,
            rounds: Some(self.rounds),
            phases: Phases {
                set_up: setup,
                preprocessing: making,
                online: self.online,
                activities: None,
                used,
                waited_for_preprocessing_seconds: waited.as_secs_f64(),
            },
            traffic,
            wire_traffic,
            storage,
            regions,
            storage_name,
            overlay: None,
            running: self.running,
            blocked_on_network: watch.waited(),
            farewell: close_all(self.channels.into_iter()),
        }
    }
}

/// The channels of streams that have been used to their end.
pub fn channels_of(
    streams: impl IntoIterator<Item = Parties<Metered<FramedChannel>>>,
) -> impl Iterator<Item = FramedChannel> {
    streams.into_iter().flat_map(Parties::into_channels).flatten().map(Metered::into_inner)
}

/// Takes the channels to clients, the parties from `computing` on, out of a mesh.
pub fn take_clients(mesh: &mut Mesh, computing: usize) -> Vec<Metered<FramedChannel>> {
    let clients = mesh.iter_mut().flat_map(|row| row.split_off(computing));
    clients.flatten().map(Metered::new).collect()
}

/// Bytes that a party may be ahead of another on each stream (openings, correlated randomness,
/// garbling), if all parties have memory to double the window `doublings` times.
pub fn aheads(planned: &PlannedFile, doublings: u32) -> [usize; 3] {
    let usual = planned.scale().ahead_bytes();
    let longer = usual << doublings;
    // Authenticated correlated randomness has a stream, and nothing is garbled beside it.
    let field = Protocol::of_plan(planned.plan()).and_then(Protocol::field);
    let correlated = if field.is_some() { longer } else { usual };
    [usual, correlated, longer]
}

/// The channels of each stream, metered, with space for what all have agreed to be ahead by.
pub fn metered(mesh: Mesh, party: u16, aheads: &[usize]) -> Vec<Parties<Metered<FramedChannel>>> {
    let stream = |(channels, &ahead): (Vec<Option<FramedChannel>>, &usize)| {
        let with_room = |mut channel: FramedChannel| {
            channel.set_ahead(ahead);
            Metered::new(channel)
        };
        let channels = channels.into_iter().map(|channel| channel.map(with_room)).collect();
        Parties::new(usize::from(party), channels)
    };
    mesh.into_iter().zip(aheads).map(stream).collect()
}
