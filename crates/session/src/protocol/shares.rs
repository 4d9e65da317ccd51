//! Shares without authentication (`phineus_protocols::mixed`): `gmw`, `bmr`, `arith` and `mixed`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Instant;

use phineus_bytecode::{
    CostModel, Description, Instruction, Lane, Layout, PlanDescription, RoundModel,
};
use phineus_channels::{FramedChannel, PARTIES_MAX};
use phineus_correlated::semi_honest::Generator;
use phineus_crypto::Prg;
use phineus_engine::Outputs;
use phineus_ot::{FieldBits, OtKind};
use phineus_plan::Assignment;
use phineus_protocols::batch_scale;
use phineus_protocols::mixed::{
    self, GarblingScheme, MixedClient, MixedCosts, MixedDriver, MixedRounds, MixedSettings,
};

use super::on_shares::{DriverResult, ReadyRun, channels_of, metered, take_clients};
use super::totals::totals_of_blocks;
use super::{
    Adversary, BlockRuns, ClientChannel, ClientDriver, ClientInputs, CostTerms, Definition,
    DriverTerms, PreprocessingFigures, ProtocolOption, Representation, RunInputs, Totals,
};
use crate::correlated::{BIT_TRIPLES, SharedRandomness, Source};
use crate::execute::{CountingDriver, Job, RunResult, unrevealed};
use crate::failure::Failure;
use crate::garbling::{GarblingHandle, set_up_half_gates};
use crate::metered::{CounterSnapshot, Metered};
use crate::planned::PAGE_WIRES;

/// Rounds of preprocessing in the background that are waited for: those of the set-up and of the
/// first batch.
const ROUNDS_AWAITED_MAX: f64 = 6.0;

/// A protocol of [`MixedDriver`].
pub(super) struct SharesProtocol {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    /// Which sharing each value has.
    pub(super) assignment: Assignment,
    /// Whether values may be in sharings that take triples.
    pub(super) takes_triples: bool,
    /// Whether values may be garbled.
    pub(super) garbles: bool,
    /// Whether two parties garble by half gates.
    pub(super) takes_half_gates: bool,
}

impl SharesProtocol {
    fn scheme(&self, parties: usize) -> GarblingScheme {
        match self.takes_half_gates && parties == 2 {
            true => GarblingScheme::HalfGates,
            false => GarblingScheme::Joint,
        }
    }

    fn model(&self, terms: &CostTerms) -> MixedCosts {
        MixedCosts::new(terms.parties)
            .with_scheme(self.scheme(terms.parties))
            .with_scale(terms.scale)
            .with_silent_ot(terms.variant.ot.is_silent())
            .with_y2a(terms.variant.y2a)
            .with_broadcast(terms.variant.broadcast)
            .with_sharings(terms.variant.sharings)
    }
}

impl Definition for SharesProtocol {
    fn name(&self) -> &'static str {
        self.name
    }

    fn meaning(&self) -> &'static str {
        self.meaning
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
        2..=PARTIES_MAX
    }

    fn takes_clients(&self) -> bool {
        true
    }

    fn representation(&self) -> Representation {
        Representation::Sharings(self.assignment)
    }

    fn chooses_sharings(&self) -> bool {
        match self.assignment {
            Assignment::Stated(_) => true,
            Assignment::Uniform(_)
            | Assignment::Arithmetic
            | Assignment::ArithmeticProducts
            | Assignment::GarbledBesideRows => false,
        }
    }

    fn settings(&self) -> &'static [ProtocolOption] {
        &[ProtocolOption::Ot, ProtocolOption::YaoToArithmetic, ProtocolOption::Broadcast]
    }

    fn layout(&self, parties: usize) -> Layout {
        mixed::layout(parties, self.scheme(parties))
    }

    fn page_units(&self, parties: usize) -> u64 {
        match self.garbles {
            // A key of each party for each wire, or one label.
            true => self.layout(parties).units_max().next_power_of_two(),
            false => PAGE_WIRES,
        }
    }

    fn is_complete(&self, plan: &PlanDescription) -> bool {
        MixedSettings::of_plan(plan).is_ok()
    }

    fn streams(&self) -> u16 {
        if self.garbles { 3 } else { 2 }
    }

    fn has_preprocessing(&self) -> bool {
        true
    }

    fn may_take_triples(&self) -> bool {
        self.takes_triples
    }

    fn may_garble(&self) -> bool {
        self.garbles
    }

    fn garbles_beside(&self, parties: usize) -> bool {
        self.garbles && self.scheme(parties) == GarblingScheme::Joint
    }

    fn garbling_scheme(&self, parties: usize) -> GarblingScheme {
        self.scheme(parties)
    }

    fn looks_up_in_tables(&self) -> bool {
        false
    }

    fn looks_up_public_rows(&self, parties: usize) -> bool {
        // Point functions are shared by two.
        parties == 2
    }

    fn reveals_inside_blocks(&self) -> bool {
        // In Boolean sharing, also where all else is garbled.
        true
    }

    fn rounds(&self, terms: &CostTerms) -> Option<Box<dyn RoundModel + Send>> {
        let model = MixedRounds::new(terms.parties).with_y2a(terms.variant.y2a);
        Some(Box::new(model.with_scheme(self.scheme(terms.parties))))
    }

    fn costs(&self, terms: &CostTerms) -> Box<dyn CostModel> {
        Box::new(self.model(terms))
    }

    fn block_totals(
        &self,
        terms: &CostTerms,
        blocks: &BlockRuns<'_>,
    ) -> Result<Vec<Totals>, Failure> {
        totals_of_blocks(|| self.model(terms).of_stated_blocks(blocks.are_stated), blocks)
    }

    fn making(&self, plan: &PlanDescription) -> PreprocessingFigures {
        let Some(parties) = plan.computing.map(usize::from) else {
            return PreprocessingFigures::default();
        };
        let scale = batch_scale(plan);
        let generator =
            |kind: OtKind| Generator::<FramedChannel>::memory_bytes(parties, kind, scale) as u64;
        let least = generator(FieldBits::DEFAULT.into());
        PreprocessingFigures {
            ready_bytes: mixed::ready_randomness_bytes(plan),
            silent_bytes: generator(mixed::ot_kind(plan)).saturating_sub(least),
            is_made: mixed::needs_correlated_randomness(plan),
            ..PreprocessingFigures::default()
        }
    }

    fn making_in_words(&self, plan: &PlanDescription) -> Vec<(String, u64)> {
        let kinds = [
            ("triples_", "multiplication triples"),
            ("square_pairs_", "square pairs"),
            ("shared_bits_", "shared bits"),
        ];
        // Of whichever party's bits.
        let mut known: BTreeMap<u16, u64> = BTreeMap::new();
        let mut found = Vec::new();
        for (name, &count) in &plan.costs {
            for (prefix, words) in kinds {
                if let Some(width) = name.strip_prefix(prefix) {
                    found.push((format!("{words} of {width} bits"), count));
                }
            }
            if let Some((_, width)) = mixed::known_triples(name) {
                *known.entry(width).or_default() += count;
            }
        }
        for (name, &count) in &plan.costs {
            if let Some(bits) = name.strip_prefix(mixed::POINT_FUNCTIONS) {
                found.push((format!("point functions of 2^{bits} points"), count));
            }
        }
        let known = known.into_iter();
        found.extend(known.map(|(width, count)| (format!("known triples of {width} bits"), count)));
        found
    }

    fn first_batches(&self, _: &PlanDescription) -> (f64, f64) {
        (ROUNDS_AWAITED_MAX, 0.0)
    }

    fn table_bytes(&self, description: &Description) -> u64 {
        mixed::table_bytes(description)
    }

    fn driver_bytes(&self, terms: &DriverTerms) -> u64 {
        let ot = FieldBits::DEFAULT;
        let generator = Generator::<FramedChannel>::memory_bytes(terms.parties, ot, terms.scale);
        let generator = if terms.making.is_made { generator as u64 } else { 0 };
        generator + terms.template_bytes
    }

    fn recording_bytes_per_two(&self) -> u64 {
        // Measured with SHA-256 for one byte of a circuit: 2.1 on XOR shares, 2.8 garbled.
        if self.takes_triples { 5 } else { 6 }
    }

    fn run(&self, job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure> {
        run_shared(job, start)
    }

    fn client(&self, start: ClientInputs<'_>) -> Result<Box<dyn ClientDriver>, Failure> {
        let ClientInputs { channels, prg, description, me, inputs } = start;
        Ok(Box::new(MixedClient::new(channels, prg, description, me, inputs)?))
    }
}

impl ClientDriver for MixedClient<ClientChannel> {
    fn step(&mut self, instruction: &Instruction) -> Result<(), Failure> {
        Ok(MixedClient::step(self, instruction)?)
    }

    fn opened(&self, port: u32) -> Lane {
        MixedClient::opened(self, port)
    }

    fn finish(self: Box<Self>) -> Result<(Vec<ClientChannel>, Outputs), Failure> {
        Ok(MixedClient::finish(*self)?)
    }
}

/// Runs the job as one of any number of parties that compute on shares.
fn run_shared(mut job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure> {
    let RunInputs { mesh, session, .. } = start;
    let (begun, mut mesh) = ReadyRun::begin(&mut job, mesh)?;
    let ReadyRun { inputs, mut prg, mut memory, watch, start, aheads } = begun;
    let description = &job.planned.description;
    let clients = take_clients(&mut mesh, job.planned.computing);
    let mut streams = metered(mesh, job.party, &aheads).into_iter();
    let mut online = streams.next().expect("shares have two streams");
    let background = streams.next().expect("shares have two streams");
    let mut beside = GarblingHandle::Idle(streams.next());
    // What is stored is used only when the file that has its key is used up.
    let mut tables = match &mut job.source {
        Source::Stored(_, tables) => tables.take().map(|tables| *tables),
        Source::Interleaved | Source::Sequential | Source::Fake => None,
    };
    if let (None, true, GarblingHandle::Idle(stream)) =
        (&tables, job.planned.is_garbled(), &mut beside)
    {
        let stream = stream.take().expect("protocols that garble have three streams");
        let seed = Prg::from_seed(prg.next_block());
        let session = (session, matches!(job.source, Source::Fake));
        let place = (job.swap_dir, job.backend);
        let started = job.planned.start_garbling(stream, seed, session, place, job.turns_max);
        let (made, thread) =
            started.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
        (tables, beside) = (Some(made), GarblingHandle::Garbling(thread));
    }
    let seed = Prg::from_seed(prg.next_block());
    let source = std::mem::replace(&mut job.source, Source::Interleaved);
    let (planned, swap_dir) = (job.planned, job.swap_dir);
    let made = SharedRandomness::make(source, planned, swap_dir, background, seed, session);
    let (correlated, entered) =
        made.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
    let (made, before) = (Instant::now(), CounterSnapshot::of_parties(&mut online));
    let driver = MixedDriver::new(online, correlated, &mut prg, description, inputs);
    let broadcast = MixedSettings::stated(planned.plan()).broadcast;
    let driver = driver.and_then(|driver| driver.with_broadcast(broadcast).with_clients(clients));
    let driver = driver.map_err(|error| unrevealed(error.into(), job.progress.cancel()))?;
    let driver = match tables {
        Some(tables) => driver.with_tables(tables),
        None => driver,
    };
    let driver = match &mut beside {
        GarblingHandle::Idle(stream) if planned.takes_half_gates() => {
            let stream = stream.take().expect("protocols that garble have three streams");
            let set_up = set_up_half_gates(stream, &mut prg, session);
            let set_up = set_up.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
            driver.with_half_gates(set_up)
        }
        GarblingHandle::Idle(_) | GarblingHandle::Garbling(_) => driver,
    };
    let mut recorded = CountingDriver::new(driver, description, job.progress.cancel());
    job.drive(&mut recorded, &mut memory, &watch, entered)?;
    let rounds = recorded.driver.rounds();
    let garbled_gates = recorded.driver.garbled_gates();
    let clients = recorded.driver.take_clients();
    let half_gates = recorded.driver.take_half_gates();
    let (mut online, outputs, correlated) = recorded.driver.into_parts();
    let phase = CounterSnapshot::of_parties(&mut online).and(CounterSnapshot::of(clients.iter()));
    // Tables go over a stream of their own, which carries nothing else.
    let (mut stream, entering_ots) = match half_gates {
        Some(half_gates) => {
            let ots = half_gates.ots();
            (Some(half_gates.into_parties()), ots)
        }
        None => (None, 0),
    };
    let phase = match &mut stream {
        Some(stream) => phase.and(CounterSnapshot::of_parties(stream)),
        None => phase,
    };
    let phase = phase.since(&before, made.elapsed());
    let (background, mut correlated) = correlated.finish().map_err(Failure::from)?;
    let running = start.elapsed();
    let (mut garbled, garbling_ots) = beside.finish().map_err(Failure::from)?;
    // A stream that nothing was garbled over has carried nothing.
    if let Some(stream) = &mut garbled {
        let reading = CounterSnapshot::of_parties(stream);
        let last = reading.last_received().map(|last| last.saturating_duration_since(start));
        let garbling = reading.since(&CounterSnapshot::default(), last.unwrap_or_default());
        correlated.making = correlated.making.beside(garbling);
    }
    let streams = [Some(online), Some(background), garbled, stream].into_iter().flatten();
    let clients = clients.into_iter().map(Metered::into_inner);
    let ran = DriverResult {
        outputs,
        rounds,
        online: phase,
        and_gates: Some(correlated.used.get(BIT_TRIPLES).copied().unwrap_or(0)),
        garbled_and_gates: Some(garbled_gates),
        ots: Some(correlated.ots + garbling_ots + entering_ots),
        correlated,
        running,
        channels: channels_of(streams).chain(clients).collect(),
    };
    Ok(ran.executed(description, &watch, &memory))
}
