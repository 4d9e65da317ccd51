//! A client's part of a run: it shares its inputs, waits, and adds up its outputs.
//!
//! It walks through the same ordered program as those who compute, so it traces, assigns and orders
//! as they do; it needs no plan and no memory for values.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use phineus_bytecode::{CostModel, Kind, Table};
use phineus_channels::{FramedChannel, Mesh, Traffic};
use phineus_crypto::Prg;
use phineus_engine::{Inputs, Outputs};
use phineus_plan::Scratch;
use phineus_protocols::demand::BatchScale;
use phineus_protocols::mixed::{MixedClient, MixedCosts};

use crate::agreement::{exchange_ready, give_up_all};
use crate::arguments::Protocol;
use crate::execute::{traffic_of, unrevealed};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::memory_budget::{PLANNER_BUFFERS_BYTES, Situation, does_not_fit};
use crate::metered::{Metered, PhaseFigures, Reading, close_all};
use crate::planning::{Bounds, ordered, planner_memory, with_ways};
use crate::progress::Progress;
use crate::resolve::TracedFile;

/// The program as a client walks through it, and what that costs.
pub(crate) struct ClientWalk {
    pub(crate) program: TracedFile,
    pub(crate) costs: BTreeMap<String, u64>,
    /// The most that this process will have resident.
    pub(crate) peak_bytes: u64,
    pub(crate) process_bytes: u64,
    pub(crate) ordering: Duration,
}

/// What a client has in the end.
pub(crate) struct ClientRun {
    /// By output port.
    pub(crate) outputs: Vec<Option<Table>>,
    pub(crate) traffic: Traffic,
    pub(crate) wire_traffic: Traffic,
    pub(crate) phase: PhaseFigures,
    pub(crate) blocked_on_network: Duration,
    /// Why somebody did not say goodbye, if so.
    pub(crate) farewell: Option<String>,
}

/// What a client runs with.
pub(crate) struct ClientJob<'a> {
    pub(crate) party: u16,
    pub(crate) inputs: Vec<Option<Table>>,
    pub(crate) limit_bytes: u64,
    pub(crate) progress: &'a Progress,
}

impl ClientWalk {
    /// Orders `traced` as those who compute do, and counts.
    pub(crate) fn new(
        traced: &TracedFile,
        protocol: Protocol,
        situation: &Situation,
        scratch: &Scratch,
    ) -> Result<ClientWalk, Failure> {
        let start = Instant::now();
        let taken = situation.process_bytes + situation.tables_bytes + PLANNER_BUFFERS_BYTES;
        let channels = situation.channel_bytes(BatchScale::FULL) * traced.computing as u64;
        let peak_bytes = taken + channels;
        if peak_bytes > situation.limit_bytes {
            return Err(does_not_fit(situation.limit_bytes, peak_bytes));
        }
        let planner = planner_memory(situation)?;
        let made = match traced.kind {
            Kind::Planned => None,
            Kind::Program => {
                let bounds = Bounds {
                    least_limit_bytes: situation.least_limit_bytes,
                    slice_bytes: None,
                    planner_memory_bytes: planner,
                    prove_inputs: true,
                    y2a: situation.ways.y2a,
                };
                ordered(traced, protocol, traced.computing, bounds, scratch)?
            }
        };
        let program = made.map_or_else(|| traced.clone(), |made| made.ordered);
        // It stays as long as the run does.
        program.file.settle()?;
        let costs = match &program.description.plan {
            Some(plan) => plan.costs.clone(),
            None => {
                let costs = MixedCosts::new(program.computing);
                let costs = costs.with_scale(situation.batch_scale());
                let mut costs = with_ways(costs, situation.ways);
                let mut reader = program.file.reader()?;
                reader.for_each::<Failure>(|instruction| {
                    costs.count(instruction, &program.description);
                    Ok(())
                })?;
                costs.totals(&program.description)
            }
        };
        let (process_bytes, ordering) = (situation.process_bytes, start.elapsed());
        Ok(ClientWalk { program, costs, peak_bytes, process_bytes, ordering })
    }

    /// Shares the inputs and gets the outputs.
    pub(crate) fn run(&self, job: ClientJob<'_>, mut mesh: Mesh) -> Result<ClientRun, Failure> {
        let description = &self.program.description;
        let ready =
            Inputs::new(description, job.inputs).map_err(Failure::from).and_then(|inputs| {
                exchange_ready(mesh[0].iter_mut().flatten(), &self.costs)?;
                Ok((inputs, generator()?))
            });
        let (inputs, mut prg) = match ready {
            Ok(ready) => ready,
            Err(failure) => {
                give_up_all(mesh, &failure);
                return Err(unrevealed(failure));
            }
        };
        let channels: Vec<FramedChannel> = mesh.into_iter().flatten().flatten().collect();
        let names: Vec<&str> = channels.iter().map(FramedChannel::peer).collect();
        let mut reader = self.program.file.reader()?;
        let (monitor, total) = (channels[0].monitor(), reader.instruction_count());
        let watch = job.progress.watch(&names.join(", "), Some(monitor), total, job.limit_bytes);
        let start = Instant::now();
        let channels: Vec<_> = channels.into_iter().map(Metered::new).collect();
        let before = Reading::of(channels.iter());
        let walked = || -> Result<(Vec<Metered<FramedChannel>>, Outputs), Failure> {
            let me = usize::from(job.party);
            let mut client = MixedClient::new(channels, &mut prg, description, me, inputs)?;
            let mut done = 0;
            reader.for_each::<Failure>(|instruction| {
                client.step(instruction)?;
                done += 1;
                watch.advance(done);
                Ok(())
            })?;
            Ok(client.finish()?)
        };
        let (channels, outputs) = walked().map_err(|failure| {
            let failure = if interrupt::requested() { Failure::interrupted() } else { failure };
            failure.revealed("this party's inputs were shared, and none of its outputs is whole")
        })?;
        let phase = Reading::of(channels.iter()).since(&before, start.elapsed());
        let blocked_on_network = watch.waited();
        let channels: Vec<FramedChannel> = channels.into_iter().map(Metered::into_inner).collect();
        let (traffic, wire_traffic) = traffic_of(channels.iter());
        Ok(ClientRun {
            outputs: outputs.into_tables(),
            traffic,
            wire_traffic,
            phase,
            blocked_on_network,
            farewell: close_all(channels.into_iter()),
        })
    }
}

fn generator() -> Result<Prg, Failure> {
    Prg::from_os().map_err(|error| {
        Failure::new(Exit::RunTime, 160, format!("the system gives no random bytes: {error}"))
    })
}
