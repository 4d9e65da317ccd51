//! Runs a planned program on shares: what all protocols on shares have in common, and those whose
//! parties follow the protocol.

use std::time::{Duration, Instant};

use phineus_bytecode::{Description, Layout};
use phineus_channels::{FramedChannel, Mesh};
use phineus_crypto::Prg;
use phineus_engine::{Inputs, Memory, Outputs};
use phineus_ot::SessionId;
use phineus_protocols::Parties;
use phineus_protocols::demand::BatchScale;
use phineus_protocols::mixed::{self, MixedDriver};

use crate::agreement::{exchange_windows, give_up_all};
use crate::blocks::results;
use crate::execute::{Executed, Job, Recorded, prepare, storage_figures, traffic_of, unrevealed};
use crate::failure::Failure;
use crate::garbling::Beside;
use crate::material::{BIT_TRIPLES, MaterialFigures, Origin, SharedMaterial};
use crate::metered::{Metered, PhaseFigures, Reading, close_all};
use crate::planning::PlannedFile;
use crate::progress::Watch;
use crate::statistics::Phases;

/// A run on shares that all parties are ready for.
pub struct Begun {
    pub inputs: Inputs,
    pub prg: Prg,
    pub memory: Memory,
    pub watch: Watch,
    /// When all were ready.
    pub start: Instant,
    /// What a party may be ahead of another on each stream.
    pub aheads: [usize; 3],
}

/// What a run on shares came to.
pub struct Ran {
    pub outputs: Outputs,
    pub rounds: u64,
    pub online: PhaseFigures,
    pub material: MaterialFigures,
    /// Where there are gates.
    pub and_gates: Option<u64>,
    pub garbled_and_gates: Option<u64>,
    pub ots: u64,
    /// From the beginning to the last message.
    pub running: Duration,
    /// All of them, used to their end.
    pub channels: Vec<FramedChannel>,
}

impl Begun {
    /// Does everything of our own that can fail, and waits until the others have, too.
    pub fn begin(job: &mut Job<'_>, mut mesh: Mesh) -> Result<(Begun, Mesh), Failure> {
        let (inputs, prg, memory) = match prepare(job) {
            Ok(prepared) => prepared,
            Err(failure) => {
                give_up_all(mesh, &failure);
                return Err(unrevealed(failure, job.progress.cancel()));
            }
        };
        let costs = &job.planned.plan().costs;
        let doublings = job.planned.window_doublings();
        let agreed = exchange_windows(mesh[0].iter_mut().flatten(), costs, Some(doublings));
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
        Ok((Begun { inputs, prg, memory, watch, start: Instant::now(), aheads }, mesh))
    }
}

impl Ran {
    /// Says goodbye to all, and adds what storage and waiting took.
    pub fn executed(self, description: &Description, watch: &Watch, memory: &Memory) -> Executed {
        let (traffic, wire_traffic) = traffic_of(self.channels.iter());
        let exchanges = self.channels.iter().map(FramedChannel::exchanges).max().unwrap_or(0);
        let (storage, storage_name) = storage_figures(memory);
        let MaterialFigures { setup, making, used, waited, .. } = self.material;
        Executed {
            exchanges,
            outputs: results(description, self.outputs.into_tables()),
            and_gates: self.and_gates,
            garbled_and_gates: self.garbled_and_gates,
            ots: Some(self.ots),
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
            storage_name,
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

/// Runs the job as one of any number of parties that compute on shares.
pub fn run_shared(mut job: Job<'_>, mesh: Mesh, session: &SessionId) -> Result<Executed, Failure> {
    let (begun, mut mesh) = Begun::begin(&mut job, mesh)?;
    let Begun { inputs, mut prg, mut memory, watch, start, aheads } = begun;
    let description = &job.planned.description;
    let clients = take_clients(&mut mesh, job.planned.computing);
    let mut streams = metered(mesh, job.party, &aheads).into_iter();
    let mut online = streams.next().expect("shares have two streams");
    let background = streams.next().expect("shares have two streams");
    let mut beside = Beside::Idle(streams.next());
    // What is kept is used only when the file that has its key is used up.
    let mut tables = match &mut job.origin {
        Origin::Stored(_, kept) => kept.take().map(|kept| *kept),
        _ => None,
    };
    if let (None, true, Beside::Idle(stream)) = (&tables, job.planned.is_garbled(), &mut beside) {
        let stream = stream.take().expect("protocols that garble have three streams");
        let seed = Prg::from_seed(prg.next_block());
        let session = (session, matches!(job.origin, Origin::Fake));
        let place = (job.swap_dir, job.backend);
        let started = job.planned.start_garbling(stream, seed, session, place, job.turns_max);
        let (made, thread) =
            started.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
        (tables, beside) = (Some(made), Beside::Garbling(thread));
    }
    let seed = Prg::from_seed(prg.next_block());
    let origin = std::mem::replace(&mut job.origin, Origin::Interleaved);
    let (planned, swap_dir) = (job.planned, job.swap_dir);
    let made = SharedMaterial::make(origin, planned, swap_dir, background, seed, session);
    let (material, entered) = made.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
    let (made, before) = (Instant::now(), Reading::of_parties(&mut online));
    let driver = MixedDriver::new(online, material, &mut prg, description, inputs);
    let broadcast = mixed::broadcast(planned.plan());
    let driver = driver.and_then(|driver| driver.with_broadcast(broadcast).with_clients(clients));
    let driver = driver.map_err(|error| unrevealed(error.into(), job.progress.cancel()))?;
    let driver = match tables {
        Some(tables) => driver.with_tables(tables),
        None => driver,
    };
    let mut recorded = Recorded::new(driver, description, job.progress.cancel());
    job.drive(&mut recorded, &mut memory, &watch, entered)?;
    let rounds = recorded.driver.rounds();
    let garbled_gates = recorded.driver.garbled_gates();
    let clients = recorded.driver.take_clients();
    let (mut online, outputs, material) = recorded.driver.into_parts();
    let phase = Reading::of_parties(&mut online).and(Reading::of(clients.iter()));
    let phase = phase.since(&before, made.elapsed());
    let (background, mut material) = material.finish().map_err(Failure::from)?;
    let running = start.elapsed();
    let (mut garbled, garbling_ots) = beside.finish().map_err(Failure::from)?;
    // A stream that nothing was garbled over has carried nothing.
    if let Some(stream) = &mut garbled {
        let reading = Reading::of_parties(stream);
        let last = reading.last_received().map(|last| last.saturating_duration_since(start));
        let garbling = reading.since(&Reading::default(), last.unwrap_or_default());
        material.making = material.making.beside(garbling);
    }
    let streams = [Some(online), Some(background), garbled].into_iter().flatten();
    let clients = clients.into_iter().map(Metered::into_inner);
    let ran = Ran {
        outputs,
        rounds,
        online: phase,
        and_gates: Some(material.used.get(BIT_TRIPLES).copied().unwrap_or(0)),
        garbled_and_gates: Some(garbled_gates),
        ots: material.ots + garbling_ots,
        material,
        running,
        channels: channels_of(streams).chain(clients).collect(),
    };
    Ok(ran.executed(description, &watch, &memory))
}

/// Takes the channels to clients, the parties from `computing` on, out of a mesh.
fn take_clients(mesh: &mut Mesh, computing: usize) -> Vec<Metered<FramedChannel>> {
    let clients = mesh.iter_mut().flat_map(|row| row.split_off(computing));
    clients.flatten().map(Metered::new).collect()
}

/// How large the batches of a plan are.
pub fn planned_scale(planned: &PlannedFile) -> BatchScale {
    BatchScale::stated(&planned.plan().costs)
}

/// What a party may be ahead of another on each stream (openings, material, garbling), where all have
/// room to double the window of what is made so often.
pub fn aheads(planned: &PlannedFile, doublings: u32) -> [usize; 3] {
    let usual = planned_scale(planned).ahead_bytes();
    let longer = usual << doublings;
    // Authenticated material has a stream, and nothing is garbled beside it.
    let material = match planned.plan().layout {
        Layout::Authenticated { .. } => longer,
        Layout::Wires | Layout::Shares { .. } => usual,
    };
    [usual, material, longer]
}

/// The channels of each stream, metered, with room for what all have agreed to be ahead by.
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
