//! A client's part of a run: it shares its inputs, waits, and adds up its outputs.
//!
//! It goes through the same ordered program as those who compute, so it traces, assigns and orders
//! as they do; it needs no plan and no memory for values.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use phineus_bytecode::{BlockValues, CostModel, FileKind, Flow, Lane, Settings, Table};
use phineus_channels::{FramedChannel, Mesh, Traffic};
use phineus_correlated::demand::BatchScale;
use phineus_crypto::Prg;
use phineus_engine::{Inputs, Outputs, RunError};
use phineus_plan::Scratch;
use phineus_protocols::ProtocolError;
use phineus_protocols::batch_scale;
use phineus_protocols::spdz::Masks;

use crate::agreement::{AgreedPlan, exchange_ready, give_up_all};
use crate::choices::ProtocolVariant;
use crate::execute::{traffic_of, unrevealed};
use crate::failure::{Failure, codes};
use crate::memory_budget::{BudgetParameters, does_not_fit};
use crate::metered::{CounterSnapshot, Metered, PhaseFigures, close_all};
use crate::planning::{OrderingBounds, blocks_with_state, narrowed, ordered, planner_memory};
use crate::program_file::{FileProgramReader, ProgramFile};
use crate::progress::{ComputationWatch, Progress};
use crate::protocol::{BlockRuns, ClientDriver, ClientInputs, CostTerms, Protocol};
use crate::traced::TracedFile;
use crate::traced::{TracedBlocks, readers_bytes, results};

/// The program as a client goes through it, and what that costs.
pub struct ClientPass {
    pub program: TracedFile,
    pub costs: BTreeMap<String, u64>,
    /// Settings that all parties follow.
    settings: Settings,
    /// The most that this process will have resident.
    pub peak_bytes: u64,
    pub process_bytes: u64,
    pub ordering: Duration,
    protocol: Protocol,
    scale: BatchScale,
    variant: ProtocolVariant,
}

/// Result of a client's run.
pub struct ClientRun {
    /// By output port.
    pub outputs: Vec<Option<Table>>,
    pub traffic: Traffic,
    pub wire_traffic: Traffic,
    pub phase: PhaseFigures,
    pub blocked_on_network: Duration,
    /// Why somebody did not say goodbye, if so.
    pub farewell: Option<String>,
}

/// Inputs of a client's run.
pub struct ClientJob<'a> {
    pub party: u16,
    pub inputs: Vec<Option<Table>>,
    pub limit_bytes: u64,
    /// How often a block may run.
    pub turns_max: u64,
    pub progress: &'a Progress,
}

impl ClientPass {
    /// Orders `traced` as those who compute do, and counts.
    pub fn new(
        traced: &TracedFile,
        protocol: Protocol,
        situation: &BudgetParameters,
        scratch: &Scratch,
    ) -> Result<ClientPass, Failure> {
        let start = Instant::now();
        let fits = |planner_bytes: u64| {
            let peak = situation.client_peak_bytes(situation.tables_bytes, planner_bytes);
            match peak > situation.limit_bytes {
                true => Err(does_not_fit(situation.limit_bytes, peak)),
                false => Ok(peak),
            }
        };
        fits(0)?;
        scratch.forget_tables();
        let planner = planner_memory(situation)?;
        let bounds = OrderingBounds {
            least_limit_bytes: situation.least_limit_bytes,
            slice_bytes: None,
            is_far: situation.is_far,
            planner_memory_bytes: planner,
            prove_inputs: true,
            y2a: situation.variant.y2a,
            masks: situation.variant.masks,
            scale: situation.batch_scale(),
        };
        let order_block = |block: &TracedFile| {
            let optimised = (protocol, situation.variant);
            let narrowed = narrowed(block, optimised, planner, scratch)?;
            let is_narrowed = narrowed.is_some();
            let block = narrowed.as_ref().unwrap_or(block);
            let made = ordered((block, is_narrowed), protocol, traced.computing, bounds, scratch)?;
            Ok(made.map_or_else(|| block.clone(), |made| made.ordered))
        };
        let order = |traced: &TracedFile| match (traced.kind, &traced.blocks) {
            (FileKind::Planned, _) => Ok(traced.clone()),
            (FileKind::Program, None) => order_block(traced),
            (FileKind::Program, Some(blocks)) => {
                let optimised = (protocol, situation.variant);
                let blocks = blocks_with_state(blocks, optimised, planner, scratch)?;
                let parts = blocks.parts.iter().map(order_block).collect::<Result<_, Failure>>()?;
                let blocks = TracedBlocks { flow: blocks.flow.clone(), parts };
                Ok(TracedFile { blocks: Some(Arc::new(blocks)), ..traced.clone() })
            }
        };
        let program = order(traced)?;
        let parts = program.blocks.as_ref().map_or(&[][..], |blocks| &blocks.parts);
        let files = parts.iter().map(|part| &part.file);
        // They stay as long as the run does.
        files.clone().chain([&program.file]).try_for_each(ProgramFile::settle)?;
        let peak_bytes = fits(scratch.tables_peak_bytes())?;
        // Of a program of many blocks each has a reader.
        let readers = if program.blocks.is_some() { readers_bytes(files)? } else { 0 };
        let peak_bytes = peak_bytes + readers;
        if peak_bytes > situation.limit_bytes {
            return Err(does_not_fit(situation.limit_bytes, peak_bytes));
        }
        let (process_bytes, ordering) = (situation.process_bytes, start.elapsed());
        let times = program.blocks.as_ref().map(|blocks| blocks.flow.times_or_once());
        let (scale, variant) = match &program.description.plan {
            None => (situation.batch_scale(), situation.variant),
            Some(plan) => (batch_scale(plan), ProtocolVariant::stated(plan)),
        };
        let costs = BTreeMap::new();
        let walk = ClientPass {
            program,
            costs,
            settings: Settings::default(),
            peak_bytes,
            process_bytes,
            ordering,
            protocol,
            scale,
            variant,
        };
        let (costs, settings) = (walk.costs_of(&times.unwrap_or_default())?, walk.settings());
        Ok(ClientPass { costs, settings, ..walk })
    }

    fn cost_terms(&self) -> CostTerms {
        CostTerms {
            parties: self.program.computing,
            scale: self.scale,
            variant: self.variant,
            masks: Masks::Narrow,
        }
    }

    /// The settings of a run.
    fn settings(&self) -> Settings {
        self.protocol.costs(&self.cost_terms()).settings()
    }

    /// The costs of a run in which blocks run so many times, or of a program of one.
    fn costs_of(&self, times: &[u64]) -> Result<BTreeMap<String, u64>, Failure> {
        let TracedFile { file, description, blocks, .. } = &self.program;
        let terms = self.cost_terms();
        if let Some(blocks) = blocks {
            let files: Vec<&ProgramFile> = blocks.parts.iter().map(|part| &part.file).collect();
            let runs = &[times.iter().copied().enumerate().collect()];
            let are_stated = blocks.flow.times().is_some();
            let blocks = BlockRuns { files: &files, description, runs, are_stated };
            let mut totals = self.protocol.block_totals(&terms, &blocks)?;
            return Ok(totals.pop().expect("one run was asked for"));
        }
        if let Some(plan) = &description.plan {
            return Ok(plan.costs.clone());
        }
        let mut costs = self.protocol.costs(&terms);
        file.reader()?.for_each::<Failure>(|instruction| {
            costs.count(instruction, description);
            Ok(())
        })?;
        Ok(costs.totals(description))
    }

    /// The blocks, or the program of one.
    fn blocks(&self) -> &[TracedFile] {
        match &self.program.blocks {
            None => std::slice::from_ref(&self.program),
            Some(blocks) => &blocks.parts,
        }
    }

    /// Goes through the blocks as what is opened says; counts how often each is run.
    fn walk(
        &self,
        client: &mut dyn ClientDriver,
        readers: &mut [FileProgramReader],
        (turns, turns_max): (&mut [u64], u64),
        watch: &ComputationWatch,
    ) -> Result<(), Failure> {
        let (description, blocks) = (&self.program.description, &self.program.blocks);
        let flow = blocks.as_ref().map(|blocks| &blocks.flow);
        let mut state = flow.map(Flow::begin);
        let mut entered = vec![0; turns.len()];
        let (mut next, mut done) = (Some(0), 0);
        while let Some(block) = next {
            if entered[block] == turns_max {
                let error = RunError::<ProtocolError>::TooManyTurns { block, turns: turns_max };
                return Err(error.into());
            }
            // How often a block is repeated is stated by the program.
            entered[block] += u64::from(state.as_ref().is_none_or(|state| state.iteration() == 0));
            turns[block] += 1;
            readers[block].for_each::<Failure>(|instruction| {
                client.step(instruction)?;
                done += 1;
                watch.advance(done);
                Ok(())
            })?;
            let Some((flow, state)) = flow.zip(state.as_mut()) else { break };
            let left = flow.leave(description, block, state, &mut OpenedValues(client));
            next = left.unwrap_or_else(|never| match never {});
        }
        Ok(())
    }

    /// Shares the inputs and gets the outputs.
    pub fn run(&mut self, job: ClientJob<'_>, mut mesh: Mesh) -> Result<ClientRun, Failure> {
        let description = &self.program.description;
        let ready =
            Inputs::new(description, job.inputs).map_err(Failure::from).and_then(|inputs| {
                let stated =
                    AgreedPlan { settings: &self.settings, costs: &self.costs, program_hash: None };
                exchange_ready(mesh[0].iter_mut().flatten(), stated)?;
                Ok((inputs, generator()?))
            });
        let (inputs, mut prg) = match ready {
            Ok(ready) => ready,
            Err(failure) => {
                give_up_all(mesh, &failure);
                return Err(unrevealed(failure, job.progress.cancel()));
            }
        };
        let channels: Vec<FramedChannel> = mesh.into_iter().flatten().flatten().collect();
        let names: Vec<&str> = channels.iter().map(FramedChannel::peer).collect();
        let readers = self.blocks().iter().map(|block| block.file.reader());
        let mut readers = readers.collect::<Result<Vec<_>, _>>()?;
        let total = readers.iter().map(FileProgramReader::instruction_count).sum();
        let monitor = channels[0].monitor();
        let watch = job.progress.watch(&names.join(", "), Some(monitor), total, job.limit_bytes);
        let start = Instant::now();
        let channels: Vec<_> = channels.into_iter().map(Metered::new).collect();
        let before = CounterSnapshot::of(channels.iter());
        let mut turns = vec![0; readers.len()];
        let walked = || -> Result<(Vec<Metered<FramedChannel>>, Outputs), Failure> {
            let me = usize::from(job.party);
            let start = ClientInputs { channels, prg: &mut prg, description, me, inputs };
            let mut client = self.protocol.client(start)?;
            self.walk(client.as_mut(), &mut readers, (&mut turns, job.turns_max), &watch)?;
            client.finish()
        };
        let (channels, outputs) = walked().map_err(|failure| {
            job.progress
                .cancel()
                .or_reason(failure)
                .revealed("this party's inputs were shared, and none of its outputs is whole")
        })?;
        let phase = CounterSnapshot::of(channels.iter()).since(&before, start.elapsed());
        let blocked_on_network = watch.waited();
        let channels: Vec<FramedChannel> = channels.into_iter().map(Metered::into_inner).collect();
        let outputs = results(description, outputs.into_tables());
        if self.program.blocks.is_some() {
            self.costs = self.costs_of(&turns)?;
        }
        let (traffic, wire_traffic) = traffic_of(channels.iter());
        Ok(ClientRun {
            outputs,
            traffic,
            wire_traffic,
            phase,
            blocked_on_network,
            farewell: close_all(channels.into_iter()),
        })
    }
}

/// Values that decide which block runs next, as a client has learned them; it holds nothing that is
/// published.
struct OpenedValues<'a>(&'a dyn ClientDriver);

impl BlockValues for OpenedValues<'_> {
    type Error = Infallible;

    fn opened(&self, port: u32) -> Result<Lane, Self::Error> {
        Ok(self.0.opened(port))
    }

    fn publish(&mut self, _: u32, _: u64) -> Result<(), Infallible> {
        Ok(())
    }
}

fn generator() -> Result<Prg, Failure> {
    Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("the system gives no random bytes: {error}"))
    })
}
