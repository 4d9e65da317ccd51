//! Garbled circuits of two parties (`phineus_protocols::garbled`).

use std::ops::RangeInclusive;
use std::time::Instant;

use phineus_bytecode::{CostModel, Layout, PlanDescription, RoundModel};
use phineus_channels::{FramedChannel, only_channel};
use phineus_protocols::garbled::limits::DRIVER_MEMORY_BYTES;
use phineus_protocols::garbled::{Evaluator, GARBLER, GarbledCosts, Garbler, Upcoming, totals};

use super::totals::totals_of_blocks;
use super::{
    Adversary, BlockRuns, ClientDriver, ClientInputs, CostTerms, Definition, DriverTerms,
    PreprocessingFigures, ProtocolOption, Representation, RunInputs, Totals,
};
use crate::agreement::{AgreedPlan, exchange_ready, give_up};
use crate::disclosed::ALL_REVEALED;
use crate::execute::{
    CountingDriver, Job, RunResult, prepare, storage_figures, traffic_of, unrevealed,
};
use crate::failure::Failure;
use crate::metered::{CounterSnapshot, Metered, close_all};
use crate::overlay::OverlayRun;
use crate::planned::{PAGE_WIRES, PlannedFile};
use crate::statistics::Phases;
use crate::traced::results;

/// Half gates, streamed.
pub(super) struct GarbledProtocol;

impl Definition for GarbledProtocol {
    fn name(&self) -> &'static str {
        "garbled"
    }

    fn meaning(&self) -> &'static str {
        "Two-party garbled circuits, semi-honest"
    }

    fn adversary(&self) -> Adversary {
        Adversary::SemiHonest
    }

    fn adversary_in_words(&self) -> &'static str {
        "semi-honest"
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }

    fn is_automatic(&self) -> bool {
        true
    }

    fn parties(&self) -> RangeInclusive<usize> {
        2..=2
    }

    fn takes_clients(&self) -> bool {
        false
    }

    fn representation(&self) -> Representation {
        Representation::AsWritten
    }

    fn representation_beside_rows(&self) -> Representation {
        Representation::GarbledBesideRows
    }

    fn settings(&self) -> &'static [ProtocolOption] {
        &[ProtocolOption::Garbler]
    }

    fn layout(&self, _: usize) -> Layout {
        phineus_protocols::garbled::layout()
    }

    fn layout_beside_rows(&self, _: usize) -> Layout {
        phineus_protocols::garbled::layout_beside_rows()
    }

    fn page_units(&self, _: usize) -> u64 {
        PAGE_WIRES
    }

    fn is_complete(&self, plan: &PlanDescription) -> bool {
        let needed = [
            totals::AND_GATES,
            totals::EVALUATOR_INPUT_BITS,
            totals::SCRATCH_WIRES,
            totals::GARBLER_SENT_BYTES,
            totals::EVALUATOR_SENT_BYTES,
            totals::ROUNDS,
        ];
        needed.into_iter().all(|name| plan.costs.contains_key(name))
    }

    fn streams(&self) -> u16 {
        // Oblivious transfers go over the stream of the gates.
        1
    }

    fn has_preprocessing(&self) -> bool {
        false
    }

    fn may_take_triples(&self) -> bool {
        false
    }

    fn may_garble(&self) -> bool {
        false
    }

    fn looks_up_in_tables(&self) -> bool {
        true
    }

    fn looks_up_public_rows(&self, _: usize) -> bool {
        false
    }

    fn reveals_inside_blocks(&self) -> bool {
        true
    }

    fn rounds(&self, _: &CostTerms) -> Option<Box<dyn RoundModel + Send>> {
        None
    }

    fn costs(&self, _: &CostTerms) -> Box<dyn CostModel> {
        Box::new(GarbledCosts::default())
    }

    fn block_totals(&self, _: &CostTerms, blocks: &BlockRuns<'_>) -> Result<Vec<Totals>, Failure> {
        totals_of_blocks(GarbledCosts::default, blocks)
    }

    fn making(&self, _: &PlanDescription) -> PreprocessingFigures {
        PreprocessingFigures::default()
    }

    fn making_in_words(&self, _: &PlanDescription) -> Vec<(String, u64)> {
        Vec::new()
    }

    fn first_batches(&self, _: &PlanDescription) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn driver_bytes(&self, _: &DriverTerms) -> u64 {
        DRIVER_MEMORY_BYTES
    }

    fn recording_bytes_per_two(&self) -> u64 {
        // Measured with SHA-256 for one byte of a circuit: 2.8.
        6
    }

    fn run(&self, job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure> {
        run_garbled(job, start)
    }

    fn client(&self, _: ClientInputs<'_>) -> Result<Box<dyn ClientDriver>, Failure> {
        unreachable!("garbled circuits have no clients")
    }
}

/// Runs the job as one of two parties.
fn run_garbled(mut job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure> {
    let RunInputs { mesh, session, accelerator: _, overlay } = start;
    let overlay = overlay.map(OverlayRun::new);
    let mut channel = only_channel(mesh);
    let prepared = prepare(&mut job);
    let (inputs, mut prg, mut memory) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            give_up(channel, &failure);
            return Err(unrevealed(failure, job.progress.cancel()));
        }
    };
    let description = &job.planned.description;
    let plan = description.plan.as_ref().expect("it is planned");
    if let Err(failure) = exchange_ready([&mut channel], AgreedPlan::of_plan(plan)) {
        give_up(channel, &failure);
        return Err(unrevealed(failure, job.progress.cancel()));
    }
    let peer = channel.peer().to_owned();
    let monitor = channel.monitor();
    let watch = job.progress.watch(&peer, Some(monitor), job.total()?, job.limit_bytes);
    let start = Instant::now();
    let channel = Metered::new(channel);
    let before = CounterSnapshot::of([&channel].into_iter());
    let (set_up, ready, used, outputs, and_gates, ots, rounds);
    let mut overlay_figures = None;
    if job.party == GARBLER {
        // A device that fails ends the protocol; it knows why.
        let reason = |failure| match &overlay {
            Some(overlay) => overlay.or_reason(failure),
            None => failure,
        };
        let driver = match &overlay {
            Some(overlay) => {
                let rows = (overlay.rows(job.progress.cancel()), upcoming(job.planned)?);
                Garbler::with_rows(channel, &mut prg, session, description, inputs, rows)
            }
            None => Garbler::new(channel, &mut prg, session, description, inputs),
        };
        let driver =
            driver.map_err(|error| reason(unrevealed(error.into(), job.progress.cancel())))?;
        (set_up, ready) = (start.elapsed(), CounterSnapshot::of([driver.channel()].into_iter()));
        let mut recorded = CountingDriver::new(driver, description, job.progress.cancel());
        job.drive(&mut recorded, &mut memory, &watch, None).map_err(reason)?;
        let finished = overlay.map(OverlayRun::finish).transpose();
        overlay_figures = finished.map_err(|failure| failure.revealed(ALL_REVEALED))?;
        (and_gates, ots) = (recorded.driver.and_gates(), recorded.driver.transfers());
        rounds = recorded.driver.rounds();
        (used, outputs) = recorded.driver.into_parts();
    } else {
        let upcoming = upcoming(job.planned)?;
        let driver = Evaluator::new(channel, &mut prg, session, description, inputs, upcoming);
        let driver = driver.map_err(|error| unrevealed(error.into(), job.progress.cancel()))?;
        (set_up, ready) = (start.elapsed(), CounterSnapshot::of([driver.channel()].into_iter()));
        let mut recorded = CountingDriver::new(driver, description, job.progress.cancel());
        job.drive(&mut recorded, &mut memory, &watch, None)?;
        (and_gates, ots) = (recorded.driver.and_gates(), recorded.driver.transfers());
        rounds = recorded.driver.rounds();
        (used, outputs) = recorded.driver.into_parts();
    }
    let running = start.elapsed();
    let channel: Metered<FramedChannel> = used;
    let online = CounterSnapshot::of([&channel].into_iter()).since(&ready, running - set_up);
    let phases = Phases { set_up: ready.since(&before, set_up), online, ..Phases::default() };
    let (storage, storage_name) = storage_figures(&memory);
    let regions = memory.regions.statistics().unwrap_or_default();
    let channel = channel.into_inner();
    let (traffic, wire_traffic) = traffic_of([&channel].into_iter());
    Ok(RunResult {
        exchanges: channel.exchanges(),
        outputs: results(description, outputs.into_tables()),
        and_gates: Some(and_gates),
        garbled_and_gates: None,
        ots: Some(ots),
        rounds: Some(rounds),
        phases,
        traffic,
        wire_traffic,
        storage,
        regions,
        storage_name,
        overlay: overlay_figures,
        running,
        blocked_on_network: watch.waited(),
        farewell: close_all(std::iter::once(channel)),
    })
}

/// What the parties bring in, from first to last.
fn upcoming(planned: &PlannedFile) -> Result<Upcoming, Failure> {
    let Some(blocks) = &planned.blocks else {
        return Ok(Box::new(planned.file.reader()?.into_inputs()));
    };
    // Where what is opened decides which blocks run, all of it is in the first one.
    let stated = blocks.flow.stated().unwrap_or_else(|| vec![(0, 1)]);
    let mut iterations = Vec::new();
    for (block, times) in stated {
        let file = &blocks.parts[block].file;
        let has_inputs = file.reader()?.into_inputs().next().is_some();
        iterations.extend(has_inputs.then(|| (file.clone(), times)));
    }
    let iterations =
        iterations.into_iter().flat_map(|(file, times)| (0..times).map(move |_| file.clone()));
    Ok(Box::new(iterations.flat_map(|file| -> Upcoming {
        match file.program_reader() {
            Ok(reader) => Box::new(reader.into_inputs()),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    })))
}
