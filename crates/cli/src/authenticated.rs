//! Runs a planned program on authenticated shares.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use phineus_channels::{FramedChannel, Mesh};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_protocols::demand::BlockSchedule;
use phineus_protocols::mascot::{Demand, Generator, Kind, Live, Sequential};
use phineus_protocols::ot::{FieldBits, SessionId};
use phineus_protocols::spdz::costs::{Needs, stated_demand};
use phineus_protocols::spdz::{Dealer, Material, Opening, Share, SpdzDriver};
use phineus_protocols::{Parties, ProtocolError};

use crate::agreement::{exchange_ready, give_up_all};
use crate::blocks::results;
use crate::execute::{
    Executed, Job, Recorded, metered, prepare, storage_figures, traffic_of, unrevealed,
};
use crate::failure::{Exit, Failure};
use crate::material::{MaterialFigures, Origin};
use crate::metered::{Metered, Reading, close_all};
use crate::planning::PlannedFile;
use crate::statistics::Phases;

type Stream = Parties<Metered<FramedChannel>>;

/// Where authenticated material comes from.
enum Source<F: Field> {
    Live(Box<Live<F, Metered<FramedChannel>>>),
    Sequential(Sequential<F>, Box<Generator<F, Metered<FramedChannel>>>),
    /// Everybody knows everything.
    Fake(Box<Dealer<F>>, Stream),
}

/// Authenticated material, and how much was taken of it.
struct Supply<F: Field> {
    source: Source<F>,
    setup: crate::metered::PhaseFigures,
    start: (Instant, Reading),
    made_in: Option<Duration>,
    used: Demand,
    waited: Duration,
}

impl<F: Field> Supply<F> {
    fn make(
        origin: &Origin,
        planned: &PlannedFile,
        field: FieldName,
        mut parties: Stream,
        prg: Prg,
        session: &SessionId,
    ) -> Result<(Supply<F>, Option<Sender<usize>>), Failure> {
        let (begin, before) = (Instant::now(), Reading::of_parties(&mut parties));
        let count = parties.count();
        let new = |source, setup, start, made_in| Supply {
            source,
            setup,
            start,
            made_in,
            used: Demand::default(),
            waited: Duration::ZERO,
        };
        if matches!(origin, Origin::Fake) {
            let me = parties.me();
            let seed = session.as_bytes()[..16].try_into().expect("a session has 32 bytes");
            let dealer = Dealer::insecure(Block::from_bits(u128::from_le_bytes(seed)), me, count);
            let setup = Default::default();
            let fake = Source::Fake(Box::new(dealer), parties);
            return Ok((new(fake, setup, (begin, before), None), None));
        }
        let mut generator = Generator::setup(parties, prg, session, FieldBits::DEFAULT)?;
        let setup = Reading::of_parties(generator.parties()).since(&before, begin.elapsed());
        let demand = stated_demand(&planned.plan().costs);
        let start = (Instant::now(), Reading::of_parties(generator.parties()));
        if matches!(origin, Origin::Sequential) {
            let made = Sequential::make(&mut generator, &demand)?;
            let made_in = Some(start.0.elapsed());
            let made = Source::Sequential(made, Box::new(generator));
            return Ok((new(made, setup, start, made_in), None));
        }
        let (started, entered) = match &planned.blocks {
            None => {
                let needs = Needs::new(planned.file.reader()?, count, field);
                (Live::start(generator, demand, needs), None)
            }
            Some(blocks) => {
                let blocks = blocks.clone();
                let begin = move |block: usize| {
                    let part = &blocks.parts[block];
                    let needs = Needs::new(part.file.reader().ok()?, count, field);
                    Some((stated_demand(&part.plan().costs), needs))
                };
                let (schedule, entered) = BlockSchedule::new(begin);
                (Live::start_batches(generator, schedule), Some(entered))
            }
        };
        let live = started.map_err(|error| {
            Failure::new(Exit::RunTime, 161, format!("there is no thread: {error}"))
        })?;
        Ok((new(Source::Live(Box::new(live)), setup, start, None), entered))
    }

    fn finish(self) -> Result<(Stream, MaterialFigures), ProtocolError> {
        let mut parties = match self.source {
            Source::Live(live) => live.finish()?.into_parties(),
            Source::Sequential(_, generator) => generator.into_parties(),
            Source::Fake(_, parties) => parties,
        };
        let (start, before) = self.start;
        let after = Reading::of_parties(&mut parties);
        let until_last = || after.last_received().map(|last| last.saturating_duration_since(start));
        let time = self.made_in.or_else(until_last).unwrap_or_default();
        let figures = MaterialFigures {
            setup: self.setup,
            making: after.since(&before, time),
            ots: 0,
            used: self.used.kinds().map(|(kind, count)| (words(kind), count as u64)).collect(),
            waited: self.waited,
        };
        Ok((parties, figures))
    }

    fn take(
        &mut self,
        kind: Kind,
        count: usize,
        take: impl FnOnce(&mut dyn Material<F>) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        self.used.add(kind, count);
        let start = Instant::now();
        let taken = match &mut self.source {
            Source::Live(source) => take(source.as_mut()),
            Source::Sequential(source, _) => take(source),
            Source::Fake(dealer, _) => take(dealer.as_mut()),
        };
        self.waited += start.elapsed();
        taken
    }
}

/// A kind of material as the summary names it.
fn words(kind: Kind) -> String {
    match kind {
        Kind::Triple => "triples".to_owned(),
        Kind::Square => "square pairs".to_owned(),
        Kind::Bit => "random bits".to_owned(),
        Kind::Mask { owner } => format!("input masks of party {owner}"),
        Kind::Matrix { rows, cols } => format!("matrix triples {rows} x {cols}"),
    }
}

impl<F: Field> Material<F> for Supply<F> {
    fn delta(&self) -> F {
        match &self.source {
            Source::Live(source) => source.delta(),
            Source::Sequential(source, _) => source.delta(),
            Source::Fake(dealer, _) => dealer.delta(),
        }
    }

    fn settle(&mut self) -> Result<(), ProtocolError> {
        let start = Instant::now();
        let settled = match &mut self.source {
            Source::Live(source) => source.settle(),
            Source::Sequential(source, _) => source.settle(),
            Source::Fake(dealer, _) => dealer.settle(),
        };
        self.waited += start.elapsed();
        settled
    }

    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::Triple, a.len(), |source| source.triples(a, b, c))
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), ProtocolError> {
        self.take(Kind::Square, a.len(), |source| source.squares(a, c))
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), ProtocolError> {
        self.take(Kind::Bit, b.len(), |source| source.bits(b))
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), ProtocolError> {
        let kind = Kind::Mask { owner: owner as u16 };
        self.take(kind, shares.len(), |source| source.masks(owner, shares, values))
    }

    fn matrix_triples(
        &mut self,
        rows: usize,
        cols: usize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), ProtocolError> {
        let kind = Kind::Matrix { rows: rows as u32, cols: cols as u32 };
        let count = c.len() / rows.max(1);
        self.take(kind, count, |source| source.matrix_triples(rows, cols, a, b, c))
    }
}

/// Runs the job as one of any number of parties, of which all others may cheat.
pub(crate) fn run_authenticated(
    job: Job<'_>,
    mesh: Mesh,
    session: &SessionId,
    field: FieldName,
) -> Result<Executed, Failure> {
    match field {
        FieldName::F61 => run_in::<F61>(job, mesh, session, field),
        FieldName::F32 => run_in::<F32>(job, mesh, session, field),
        FieldName::F128 => run_in::<F128>(job, mesh, session, field),
    }
}

fn run_in<F: Field>(
    mut job: Job<'_>,
    mut mesh: Mesh,
    session: &SessionId,
    field: FieldName,
) -> Result<Executed, Failure> {
    let prepared = prepare(&mut job);
    let (inputs, mut prg, mut memory) = match prepared {
        Ok(prepared) => prepared,
        Err(failure) => {
            give_up_all(mesh, &failure);
            return Err(unrevealed(failure));
        }
    };
    let description = &job.planned.description;
    let plan = description.plan.as_ref().expect("it is planned");
    if let Err(failure) = exchange_ready(mesh[0].iter_mut().flatten(), &plan.costs) {
        give_up_all(mesh, &failure);
        return Err(unrevealed(failure));
    }
    let peers: Vec<String> =
        mesh[0].iter().flatten().map(|channel| channel.peer().to_owned()).collect();
    let monitor = mesh[0].iter().flatten().next().map(FramedChannel::monitor);
    let watch = job.progress.watch(&peers.join(", "), monitor, job.total()?, job.limit_bytes);
    let start = Instant::now();
    let mut streams = metered(mesh, job.party).into_iter();
    let mut online = streams.next().expect("shares have two streams");
    let background = streams.next().expect("shares have two streams");
    let seed = Prg::from_seed(prg.next_block());
    let (supply, entered) =
        Supply::<F>::make(&job.origin, job.planned, field, background, seed, session)
            .map_err(unrevealed)?;
    let (made, before) = (Instant::now(), Reading::of_parties(&mut online));
    let (me, count) = (online.me(), online.count());
    let opening = Opening::new(me, count, supply.delta(), session, prg);
    let driver = SpdzDriver::new(online, supply, opening, description, inputs, field);
    let mut recorded = Recorded::new(driver, description);
    job.drive(&mut recorded, &mut memory, &watch, entered)?;
    let rounds = recorded.driver.rounds();
    let (mut online, outputs, supply) = recorded.driver.into_parts();
    let phase = Reading::of_parties(&mut online).since(&before, made.elapsed());
    let (background, figures) = supply.finish().map_err(Failure::from)?;
    let running = start.elapsed();
    let channels = [online, background].into_iter().flat_map(Parties::into_channels);
    let channels: Vec<FramedChannel> = channels.flatten().map(Metered::into_inner).collect();
    let (traffic, wire_traffic) = traffic_of(channels.iter());
    let (storage, storage_name) = storage_figures(&memory);
    let MaterialFigures { setup, making, used, waited, .. } = figures;
    let used: BTreeMap<String, u64> = used;
    Ok(Executed {
        outputs: results(description, outputs.into_tables()),
        and_gates: Some(0),
        garbled_and_gates: None,
        ots: None,
        rounds: Some(rounds),
        phases: Phases {
            set_up: setup,
            preprocessing: making,
            online: phase,
            used,
            waited_for_preprocessing_seconds: waited.as_secs_f64(),
        },
        traffic,
        wire_traffic,
        storage,
        storage_name,
        running,
        blocked_on_network: watch.waited(),
        farewell: close_all(channels.into_iter()),
    })
}
