//! Replicated shares of three parties (`phineus_protocols::rep3`).

use std::ops::RangeInclusive;

use phineus_bytecode::{CostModel, Instruction, Lane, Layout, PlanDescription, RoundModel};
use phineus_engine::Outputs;
use phineus_plan::Assignment;
use phineus_protocols::rep3::{self, PARTIES, Rep3Client, Rep3Costs, Rep3Driver, Rep3Rounds};

use super::on_shares::{DriverResult, ReadyRun, channels_of, metered, take_clients};
use super::totals::totals_of_blocks;
use super::{
    Adversary, BlockRuns, ClientChannel, ClientDriver, ClientInputs, CostTerms, Definition,
    DriverTerms, PreprocessingFigures, ProtocolOption, Representation, RunInputs, Totals,
};
use crate::correlated::RandomnessFigures;
use crate::execute::{CountingDriver, Job, RunResult, unrevealed};
use crate::failure::Failure;
use crate::metered::{CounterSnapshot, Metered};
use crate::planned::PAGE_WIRES;

/// Replicated shares, semi-honest, with an honest majority.
pub(super) struct Rep3Protocol;

impl Definition for Rep3Protocol {
    fn name(&self) -> &'static str {
        "rep3"
    }

    fn meaning(&self) -> &'static str {
        "Replicated shares of three parties, semi-honest, of which no two may collude: the fastest"
    }

    fn adversary(&self) -> Adversary {
        Adversary::SemiHonestApart
    }

    fn adversary_in_words(&self) -> &'static str {
        "semi-honest, no two parties collude"
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }

    fn is_automatic(&self) -> bool {
        true
    }

    fn parties(&self) -> RangeInclusive<usize> {
        PARTIES..=PARTIES
    }

    fn takes_clients(&self) -> bool {
        true
    }

    fn representation(&self) -> Representation {
        Representation::Sharings(Assignment::ArithmeticProducts)
    }

    fn settings(&self) -> &'static [ProtocolOption] {
        &[]
    }

    fn layout(&self, _: usize) -> Layout {
        rep3::layout()
    }

    fn page_units(&self, _: usize) -> u64 {
        PAGE_WIRES
    }

    fn is_complete(&self, _: &PlanDescription) -> bool {
        true
    }

    fn streams(&self) -> u16 {
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
        false
    }

    fn looks_up_public_rows(&self, _: usize) -> bool {
        false
    }

    fn reveals_inside_blocks(&self) -> bool {
        false
    }

    fn rounds(&self, _: &CostTerms) -> Option<Box<dyn RoundModel + Send>> {
        Some(Box::new(Rep3Rounds::default()))
    }

    fn costs(&self, _: &CostTerms) -> Box<dyn CostModel> {
        Box::new(Rep3Costs::default())
    }

    fn block_totals(&self, _: &CostTerms, blocks: &BlockRuns<'_>) -> Result<Vec<Totals>, Failure> {
        totals_of_blocks(Rep3Costs::default, blocks)
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

    fn driver_bytes(&self, terms: &DriverTerms) -> u64 {
        terms.template_bytes
    }

    fn recording_bytes_per_two(&self) -> u64 {
        // The circuits of `gmw`.
        5
    }

    fn run(&self, mut job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure> {
        let (begun, mut mesh) = ReadyRun::begin(&mut job, start.mesh)?;
        let ReadyRun { inputs, mut prg, mut memory, watch, start, aheads } = begun;
        let description = &job.planned.description;
        let clients = take_clients(&mut mesh, job.planned.computing);
        let mut streams = metered(mesh, job.party, &aheads).into_iter();
        let mut online = streams.next().expect("a run has a stream");
        let before = CounterSnapshot::of_parties(&mut online);
        let driver = Rep3Driver::new(online, &mut prg, description, inputs);
        let driver = driver.and_then(|driver| driver.with_clients(clients));
        let driver = driver.map_err(|error| unrevealed(error.into(), job.progress.cancel()))?;
        let mut recorded = CountingDriver::new(driver, description, job.progress.cancel());
        job.drive(&mut recorded, &mut memory, &watch, None)?;
        let (rounds, and_gates) = (recorded.driver.rounds(), recorded.driver.and_gates());
        let clients = recorded.driver.take_clients();
        let (mut online, outputs) = recorded.driver.into_parts();
        let phase =
            CounterSnapshot::of_parties(&mut online).and(CounterSnapshot::of(clients.iter()));
        let running = start.elapsed();
        let clients = clients.into_iter().map(Metered::into_inner);
        let ran = DriverResult {
            outputs,
            rounds,
            online: phase.since(&before, running),
            correlated: RandomnessFigures::default(),
            and_gates: Some(and_gates),
            garbled_and_gates: None,
            ots: None,
            running,
            channels: channels_of([online]).chain(clients).collect(),
        };
        Ok(ran.executed(description, &watch, &memory))
    }

    fn client(&self, start: ClientInputs<'_>) -> Result<Box<dyn ClientDriver>, Failure> {
        let ClientInputs { channels, prg, description, me, inputs } = start;
        Ok(Box::new(Rep3Client::new(channels, prg, description, me, inputs)?))
    }
}

impl ClientDriver for Rep3Client<ClientChannel> {
    fn step(&mut self, instruction: &Instruction) -> Result<(), Failure> {
        Ok(Rep3Client::step(self, instruction)?)
    }

    fn opened(&self, port: u32) -> Lane {
        Rep3Client::opened(self, port)
    }

    fn finish(self: Box<Self>) -> Result<(Vec<ClientChannel>, Outputs), Failure> {
        Ok(Rep3Client::finish(*self)?)
    }
}
