//! Authenticated shares in a prime field (`phineus_protocols::spdz`).

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use phineus_bytecode::{CostModel, Layout, PlanDescription, RoundModel};
use phineus_channels::{Mesh, PARTIES_MAX};
use phineus_correlated::authenticated::AuthenticatedRandomness;
use phineus_correlated::mascot::costs::costs_of_first_batches;
use phineus_correlated::mascot::{Demand, Kind};
use phineus_crypto::Prg;
use phineus_crypto::field::{F32, F61, F128, Field, FieldName, MatrixProducts};
use phineus_ot::{FieldBits, SessionId};
use phineus_protocols::mixed;
use phineus_protocols::spdz::costs::stated_demand;
use phineus_protocols::spdz::{Activity, Opening, SpdzCosts, SpdzDriver, SpdzRounds, SpdzSettings};

use super::on_shares::{DriverResult, ReadyRun, channels_of, metered};
use super::totals::totals_of_blocks;
use super::{
    Adversary, BlockRuns, ClientDriver, ClientInputs, CostTerms, Definition, DriverTerms,
    PreprocessingFigures, ProtocolOption, Representation, RunInputs, Totals,
};
use crate::accelerator::Warning;
use crate::correlated::{Source, SpdzRandomness, words};
use crate::execute::{CountingDriver, Job, RunResult, unrevealed};
use crate::failure::Failure;
use crate::metered::CounterSnapshot;
use crate::planned::PAGE_WIRES;
use crate::statistics::Activities;

/// Elements that making authenticated correlated randomness holds and that lie ready, besides those
/// for each other party: of whole batches, and of batches of a few. Measured as the growth of the
/// resident set: up to 28 MiB for two parties, 4 MiB for a comparison.
const ELEMENTS: [u64; 2] = [3 << 20, 1 << 19];
const PEER_ELEMENTS: [u64; 2] = [3 << 18, 1 << 17];

/// Triples, or what weighs as much, of a whole batch, from which on no more memory is taken.
const WHOLE_BATCH: u64 = 8192;

/// Memory of a dealer of fake correlated randomness and of batches of inputs and products: pieces
/// of some thousand elements, in all fields.
const DEALER_BYTES: u64 = 2 << 20;

/// SPDZ in one field.
pub(super) struct AuthenticatedProtocol {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) field: FieldName,
}

impl AuthenticatedProtocol {
    fn model(&self, terms: &CostTerms) -> SpdzCosts {
        SpdzCosts::new(terms.parties, self.field).with_masks(terms.masks).with_scale(terms.scale)
    }
}

impl Definition for AuthenticatedProtocol {
    fn name(&self) -> &'static str {
        self.name
    }

    fn meaning(&self) -> &'static str {
        self.meaning
    }

    fn adversary(&self) -> Adversary {
        match self.field {
            FieldName::F61 | FieldName::F128 => Adversary::Malicious,
            FieldName::F32 => Adversary::MaliciousWeak,
        }
    }

    fn adversary_in_words(&self) -> &'static str {
        match self.field {
            FieldName::F61 => "malicious, a lie passes with probability 2^-59",
            FieldName::F128 => "malicious, a lie passes with probability 2^-126",
            FieldName::F32 => "malicious, a lie passes with probability 2^-30: too weak for use",
        }
    }

    fn warning(&self) -> Option<&'static str> {
        match self.field {
            FieldName::F61 | FieldName::F128 => None,
            FieldName::F32 => Some(
                "WEAK: with spdz-32 a lie passes a check with probability 2^-30; spdz is for use",
            ),
        }
    }

    fn is_automatic(&self) -> bool {
        false
    }

    fn parties(&self) -> RangeInclusive<usize> {
        2..=PARTIES_MAX
    }

    fn takes_clients(&self) -> bool {
        false
    }

    fn representation(&self) -> Representation {
        Representation::Field(self.field)
    }

    fn settings(&self) -> &'static [ProtocolOption] {
        &[ProtocolOption::NarrowMasks]
    }

    fn layout(&self, _: usize) -> Layout {
        phineus_protocols::spdz::layout(self.field.bytes())
    }

    fn page_units(&self, parties: usize) -> u64 {
        self.layout(parties).units_max().max(PAGE_WIRES)
    }

    fn is_complete(&self, plan: &PlanDescription) -> bool {
        SpdzSettings::of_plan(plan).is_ok()
    }

    fn streams(&self) -> u16 {
        2
    }

    fn has_preprocessing(&self) -> bool {
        true
    }

    fn may_take_triples(&self) -> bool {
        true
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
        true
    }

    fn rounds(&self, terms: &CostTerms) -> Option<Box<dyn RoundModel + Send>> {
        Some(Box::new(SpdzRounds::new(self.field, terms.parties).with_masks(terms.masks)))
    }

    fn costs(&self, terms: &CostTerms) -> Box<dyn CostModel> {
        Box::new(self.model(terms))
    }

    fn block_totals(
        &self,
        terms: &CostTerms,
        blocks: &BlockRuns<'_>,
    ) -> Result<Vec<Totals>, Failure> {
        totals_of_blocks(|| self.model(terms), blocks)
    }

    fn making(&self, plan: &PlanDescription) -> PreprocessingFigures {
        let (triples, largest) = weight(&stated_demand(plan));
        // Batches are of a fixed size, which the driver's share counts.
        PreprocessingFigures { triples, largest, is_made: true, ..PreprocessingFigures::default() }
    }

    fn making_in_words(&self, plan: &PlanDescription) -> Vec<(String, u64)> {
        let demand = stated_demand(plan);
        demand.kinds().map(|(kind, count)| (words(kind), count as u64)).collect()
    }

    fn first_batches(&self, plan: &PlanDescription) -> (f64, f64) {
        let demand = stated_demand(plan);
        let first = costs_of_first_batches::<F61>(&demand, FieldBits::DEFAULT);
        let ots = plan.costs.get(mixed::totals::OTS).copied().unwrap_or(0);
        (first.rounds as f64, (first.ots as f64 / ots.max(1) as f64).min(1.0))
    }

    fn driver_bytes(&self, terms: &DriverTerms) -> u64 {
        // If a dealer makes everything, it works on a few pieces that lie in the cache.
        if !terms.prove_inputs {
            return DEALER_BYTES + terms.template_bytes;
        }
        let (making, halvings) = (terms.making, terms.scale.halvings());
        let batch = WHOLE_BATCH >> halvings;
        let made = making.triples.min(batch).max(making.largest.min(WHOLE_BATCH));
        // What is the same for all batches is room for what is on the way, too.
        let fixed = u64::from(halvings >= 2);
        let of = |[whole, few]: [u64; 2]| (few >> fixed) + (whole - few) * made / WHOLE_BATCH;
        let elements = of(ELEMENTS) + of(PEER_ELEMENTS) * (terms.parties as u64 - 1);
        elements * self.field.bytes().max(8) as u64 + terms.template_bytes
    }

    fn recording_bytes_per_two(&self) -> u64 {
        // Measured with SHA-256 for one byte of a script: 2.1.
        5
    }

    fn run(&self, job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure> {
        run_authenticated(job, self.field, start)
    }

    fn client(&self, _: ClientInputs<'_>) -> Result<Box<dyn ClientDriver>, Failure> {
        unreachable!("authenticated shares have no clients")
    }
}

/// How many triples weigh as much as this correlated randomness while it is made: a full batch of
/// matrices has 2^16 elements. And how many the largest matrix does, of which no part is made.
fn weight(demand: &Demand) -> (u64, u64) {
    let of = |kind: Kind, count: u64| match kind {
        Kind::Triple | Kind::Square | Kind::Bit => count,
        Kind::Mask { .. } | Kind::BitMask { .. } => count.div_ceil(2),
        // Each is eleven elements that are authenticated, of which a triple is four.
        Kind::Bounded => 4 * count,
        Kind::Matrix(size) => {
            let entries = (u64::from(size.rows) + 1).saturating_mul(size.factors() as u64);
            count.saturating_mul(entries).div_ceil(8)
        }
    };
    let all = demand.kinds().map(|(kind, count)| of(kind, count as u64));
    let largest = demand.kinds().map(|(kind, _)| of(kind, 1)).max();
    (all.fold(0, u64::saturating_add), largest.unwrap_or(0))
}

/// Tells the activities of the online phase apart.
struct ActivityTimer {
    activity: Activity,
    since: Instant,
    seconds: Activities,
}

impl ActivityTimer {
    fn start() -> ActivityTimer {
        let seconds = Activities::default();
        ActivityTimer { activity: Activity::Computing, since: Instant::now(), seconds }
    }

    fn turn_to(&mut self, activity: Activity) {
        let now = Instant::now();
        let seconds = (now - self.since).as_secs_f64();
        match self.activity {
            Activity::Sharing => self.seconds.inputs += seconds,
            Activity::Computing => self.seconds.computing += seconds,
            Activity::Checking => self.seconds.checking += seconds,
            Activity::Exchanging { told, opened } => {
                let inputs = seconds * told as f64 / (told + opened).max(1) as f64;
                self.seconds.inputs += inputs;
                self.seconds.computing += seconds - inputs;
            }
        }
        (self.activity, self.since) = (activity, now);
    }
}

/// Runs the job as one of any number of parties, of which all others may cheat.
fn run_authenticated(
    job: Job<'_>,
    field: FieldName,
    start: RunInputs<'_>,
) -> Result<RunResult, Failure> {
    let RunInputs { mesh, session, accelerator, overlay: _ } = start;
    let (warning, progress) = (Warning::default(), job.progress);
    let executed = match field {
        FieldName::F61 => {
            run_in::<F61>(job, mesh, session, (field, accelerator.products(&warning)))
        }
        FieldName::F32 => {
            run_in::<F32>(job, mesh, session, (field, accelerator.products(&warning)))
        }
        FieldName::F128 => run_in::<F128>(job, mesh, session, (field, None)),
    };
    if let Some(text) = warning.get() {
        progress.note(text);
    }
    executed
}

fn run_in<F: Field>(
    mut job: Job<'_>,
    mesh: Mesh,
    session: &SessionId,
    (field, device): (FieldName, Option<Box<dyn MatrixProducts<F>>>),
) -> Result<RunResult, Failure> {
    let (begun, mesh) = ReadyRun::begin(&mut job, mesh)?;
    let description = &job.planned.description;
    let mut streams = metered(mesh, job.party, &begun.aheads).into_iter();
    let mut online = streams.next().expect("shares have two streams");
    let background = streams.next().expect("shares have two streams");
    let ReadyRun { inputs, mut prg, mut memory, watch, start, .. } = begun;
    let seed = Prg::from_seed(prg.next_block());
    let source = std::mem::replace(&mut job.source, Source::Interleaved);
    let (planned, swap_dir) = ((job.planned, field), job.swap_dir);
    let made = SpdzRandomness::<F>::make(source, planned, swap_dir, background, seed, session);
    let (correlated, entered) =
        made.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
    let (made, before) = (Instant::now(), CounterSnapshot::of_parties(&mut online));
    let draws = (!description.permutations.is_empty()).then(|| Prg::from_seed(prg.next_block()));
    let (me, count) = (online.me(), online.count());
    let opening = Opening::new(me, count, correlated.delta(), session, prg);
    let clock = Arc::new(Mutex::new(ActivityTimer::start()));
    let watched = clock.clone();
    let turn_to = move |activity| {
        watched.lock().unwrap_or_else(PoisonError::into_inner).turn_to(activity);
    };
    let mut driver = SpdzDriver::new(online, correlated, opening, description, inputs, field)
        .with_threads(job.threads)
        .with_cache(job.cache_bytes)
        .with_watch(Box::new(turn_to))
        .with_device(device);
    if let Some(draws) = draws {
        driver = driver.with_draws(draws);
    }
    let mut recorded = CountingDriver::new(driver, description, job.progress.cancel());
    job.drive(&mut recorded, &mut memory, &watch, entered)?;
    let activities = {
        let mut clock = clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.turn_to(Activity::Computing);
        clock.seconds
    };
    let rounds = recorded.driver.rounds();
    let (mut online, outputs, correlated) = recorded.driver.into_parts();
    let phase = CounterSnapshot::of_parties(&mut online).since(&before, made.elapsed());
    let (background, correlated) = correlated.finish().map_err(Failure::from)?;
    let ran = DriverResult {
        outputs,
        rounds,
        online: phase,
        and_gates: None,
        garbled_and_gates: None,
        ots: Some(correlated.ots),
        correlated,
        running: start.elapsed(),
        channels: channels_of([online, background]).collect(),
    };
    let mut executed = ran.executed(description, &watch, &memory);
    executed.phases.activities = Some(activities);
    Ok(executed)
}
