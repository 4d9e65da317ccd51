//! Computing in the clear: the reference, in one process, without any protection.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use phineus_bytecode::{
    BlockCosts, CostModel, Description, Instruction, Layout, PlanDescription, RoundModel, Table,
};
use phineus_channels::Traffic;
use phineus_engine::{ClearDriver, Inputs, Outputs};

use super::totals::totals_of_blocks;
use super::{
    Adversary, BlockRuns, ClientDriver, ClientInputs, CostTerms, Definition, DriverTerms,
    PreprocessingFigures, ProtocolOption, Representation, RunInputs, Totals,
};
use crate::execute::{CountingDriver, Job, RunResult, storage_figures};
use crate::failure::{Failure, Remedy};
use crate::planned::PAGE_WIRES;
use crate::statistics::Phases;
use crate::traced::results;

/// The refusal of a run among parties.
pub fn clear_has_no_parties() -> Failure {
    Failure::usage("the clear protocol hides nothing from anybody: it has no parties").remedy(
        Remedy::new("run it on one machine that has all inputs").at_command_line(", with --local"),
    )
}

/// The clear driver.
pub(super) struct ClearProtocol;

impl Definition for ClearProtocol {
    fn name(&self) -> &'static str {
        "clear"
    }

    fn meaning(&self) -> &'static str {
        "No protection at all; the reference for the others"
    }

    fn adversary(&self) -> Adversary {
        Adversary::Nobody
    }

    fn adversary_in_words(&self) -> &'static str {
        "nothing is hidden"
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }

    fn is_automatic(&self) -> bool {
        false
    }

    fn parties(&self) -> RangeInclusive<usize> {
        0..=usize::MAX
    }

    fn takes_clients(&self) -> bool {
        // There is nobody who computes for others.
        true
    }

    fn representation(&self) -> Representation {
        Representation::AsWritten
    }

    fn settings(&self) -> &'static [ProtocolOption] {
        &[]
    }

    fn layout(&self, _: usize) -> Layout {
        Layout::wires(1)
    }

    fn page_units(&self, _: usize) -> u64 {
        PAGE_WIRES
    }

    fn is_complete(&self, _: &PlanDescription) -> bool {
        true
    }

    fn streams(&self) -> u16 {
        0
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
        true
    }

    fn reveals_inside_blocks(&self) -> bool {
        true
    }

    fn rounds(&self, _: &CostTerms) -> Option<Box<dyn RoundModel + Send>> {
        None
    }

    fn costs(&self, _: &CostTerms) -> Box<dyn CostModel> {
        Box::new(ClearCosts)
    }

    fn block_totals(&self, _: &CostTerms, blocks: &BlockRuns<'_>) -> Result<Vec<Totals>, Failure> {
        totals_of_blocks(|| ClearCosts, blocks)
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
        0
    }

    fn recording_bytes_per_two(&self) -> u64 {
        5
    }

    fn run(&self, job: Job<'_>, _: RunInputs<'_>) -> Result<RunResult, Failure> {
        run_clear(job)
    }

    fn client(&self, _: ClientInputs<'_>) -> Result<Box<dyn ClientDriver>, Failure> {
        unreachable!("nobody computes for others in the clear")
    }
}

/// Runs the job in the clear, for all parties at once.
pub fn run_clear(mut job: Job<'_>) -> Result<RunResult, Failure> {
    let description = &job.planned.description;
    let inputs = Inputs::new(description, std::mem::take(&mut job.inputs))?;
    let mut plan = job.planned.plan().clone();
    if plan.layout == phineus_protocols::garbled::layout() {
        // Its pages are of labels, and here a wire takes a byte.
        plan.layout = Layout::wires(1);
    }
    let mut memory = job.memory_of(&plan)?;
    let watch = job.progress.watch("", None, job.total()?, job.limit_bytes);
    let start = Instant::now();
    let parties = 0..description.parties.len() as u16;
    let outputs = parties.map(|party| Outputs::new(description, party)).collect();
    let mut recorded = CountingDriver::new(
        ClearDriver::new(description, inputs, outputs),
        description,
        job.progress.cancel(),
    );
    job.drive(&mut recorded, &mut memory, &watch, None)?;
    let mut merged: Vec<Option<Table>> = vec![None; description.outputs.len()];
    for outputs in recorded.driver.into_outputs() {
        for (merged, table) in merged.iter_mut().zip(outputs.into_tables()) {
            *merged = merged.take().or(table);
        }
    }
    let (storage, storage_name) = storage_figures(&memory);
    let regions = memory.regions.statistics().unwrap_or_default();
    Ok(RunResult {
        exchanges: 0,
        outputs: results(description, merged),
        and_gates: None,
        garbled_and_gates: None,
        ots: None,
        rounds: None,
        phases: Phases::default(),
        traffic: Traffic::default(),
        wire_traffic: Traffic::default(),
        storage,
        regions,
        storage_name,
        overlay: None,
        running: start.elapsed(),
        blocked_on_network: Duration::ZERO,
        farewell: None,
    })
}

/// Nanoseconds per wire of an instruction: the clear driver unpacks and packs every bit.
const NS_PER_WIRE: u64 = 4;

/// The cost model of the clear driver: nothing is sent, and time is a guess.
struct ClearCosts;

impl CostModel for ClearCosts {
    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        u64::from(instruction.shape().wires()) * NS_PER_WIRE
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

impl BlockCosts for ClearCosts {
    fn end_block(&mut self) {}

    fn add_block(&mut self, _: &ClearCosts, _: u64) {}
}
