//! Correlated randomness of shares that are not authenticated: bit and ring triples, triples of known bits, square
//! pairs, shared bits, point functions.

use std::path::Path;
use std::time::Instant;

use phineus_channels::FramedChannel;
use phineus_correlated::CorrelatedError;
use phineus_correlated::demand::{BatchScale, BlockSchedule, Demand};
use phineus_correlated::semi_honest::{
    Binding, CorrelatedRandomness, Dealer, Generator, Kind, Live, Sequential, Stored,
};
use phineus_crypto::{Block, Prg};
use phineus_ot::{OtKind, SessionId};
use phineus_protocols::bmr::TableKey;
use phineus_protocols::mixed::{self, PlanDemand};

use super::files::{StoredFigures, file_of};
use super::{Entered, MADE_BYTES, MeteredRandomness, RunSource, Source, Stream, names, no_thread};
use crate::failure::Failure;
use crate::metered::{CounterSnapshot, Metered, PhaseFigures};
use crate::planned::PlannedFile;

/// Trait object the driver draws from (`'static`).
type Shares = dyn CorrelatedRandomness;

type MeteredGenerator = Generator<Metered<FramedChannel>>;

/// Correlated randomness of a run on shares.
pub type SharedRandomness = MeteredRandomness<Shares, Kind>;

/// The program needs none.
struct NoRandomness(Stream);

impl RunSource<Shares> for NoRandomness {
    fn correlated(&self) -> &Shares {
        unreachable!("the plan demands nothing")
    }

    fn correlated_mut(&mut self) -> &mut Shares {
        unreachable!("the plan demands nothing")
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        Ok((self.0, 0))
    }
}

impl RunSource<Shares> for Live<Metered<FramedChannel>> {
    fn correlated(&self) -> &Shares {
        self
    }

    fn correlated_mut(&mut self) -> &mut Shares {
        self
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        let generator = Live::finish(*self)?;
        let ots = generator.ots();
        Ok((generator.into_parties(), ots))
    }
}

impl RunSource<Shares> for (Sequential, MeteredGenerator) {
    fn correlated(&self) -> &Shares {
        &self.0
    }

    fn correlated_mut(&mut self) -> &mut Shares {
        &mut self.0
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        let (_, generator) = *self;
        let ots = generator.ots();
        Ok((generator.into_parties(), ots))
    }
}

/// Stored, or from a trusted dealer: nothing is made.
impl<S: CorrelatedRandomness + 'static> RunSource<Shares> for (S, Stream) {
    fn correlated(&self) -> &Shares {
        &self.0
    }

    fn correlated_mut(&mut self) -> &mut Shares {
        &mut self.0
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        Ok((self.1, 0))
    }
}

/// Seed of the simulated dealer: anybody who knows the session identifier can compute it.
pub fn dealer_seed(session: &SessionId) -> Block {
    let seed = session.as_bytes()[..16].try_into().expect("a session has 32 bytes");
    Block::from_bits(u128::from_le_bytes(seed))
}

impl SharedRandomness {
    /// Begins, or finishes, making what the plan demands; or opens what is stored. Of several
    /// blocks it is told which run, and makes what each demands.
    pub fn make(
        source: Source,
        planned: &PlannedFile,
        swap_dir: &Path,
        mut parties: Stream,
        prg: Prg,
        session: &SessionId,
    ) -> Result<(SharedRandomness, Entered), Failure> {
        let demand = mixed::demand(&planned.description);
        let nothing = PhaseFigures::default();
        if let Source::Stored(file, _) = source {
            let start = (Instant::now(), CounterSnapshot::of_parties(&mut parties));
            let stored = Stored::consume(*file, &mut parties)?;
            let made_in = Some(start.0.elapsed());
            let source = Box::new((stored, parties));
            return Ok((MeteredRandomness::new(source, nothing, start, made_in, name), None));
        }
        if demand.kinds().next().is_none() {
            let start = (Instant::now(), CounterSnapshot::of_parties(&mut parties));
            let none = Box::new(NoRandomness(parties));
            return Ok((MeteredRandomness::new(none, nothing, start, None, name), None));
        }
        if matches!(source, Source::Fake) {
            let start = (Instant::now(), CounterSnapshot::of_parties(&mut parties));
            let (me, count) = (parties.me(), parties.count());
            let dealer = Dealer::insecure(dealer_seed(session), me, count);
            let dealt = Box::new((dealer, parties));
            return Ok((MeteredRandomness::new(dealt, nothing, start, None, name), None));
        }
        let (mut generator, setup) = set_up(parties, prg, session, kind_of(planned))?;
        let count = generator.parties().count();
        let start = (Instant::now(), CounterSnapshot::of_parties(generator.parties()));
        if matches!(source, Source::Sequential) {
            let needs = needs(planned, count)?;
            let made = Sequential::make(&mut generator, demand, needs, MADE_BYTES, swap_dir)?;
            let made_in = Some(start.0.elapsed());
            let made = Box::new((made, generator));
            return Ok((MeteredRandomness::new(made, setup, start, made_in, name), None));
        }
        let (started, entered) = match &planned.blocks {
            None => (Live::start(generator, demand, needs(planned, count)?), None),
            Some(blocks) => {
                let blocks = blocks.clone();
                let begin = move |block: usize| {
                    let part = &blocks.parts[block];
                    let needs = PlanDemand::new(part.file.program_reader()?, count);
                    let needs = needs.map(|need| Ok(need?));
                    Ok((mixed::demand(&part.description), needs))
                };
                let (schedule, entered) = BlockSchedule::new(begin);
                (Live::start_batches(generator, schedule, &demand), Some(entered))
            }
        };
        let live = Box::new(started.map_err(no_thread)?);
        Ok((MeteredRandomness::new(live, setup, start, None, name), entered))
    }
}

impl CorrelatedRandomness for SharedRandomness {
    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take(Kind::BitTriple, count, |source| source.bit_triples(count, a, b, c))
    }

    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let count = a.len();
        self.take(Kind::RingTriple { width }, count, |source| source.ring_triples(width, a, b, c))
    }

    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let count = a.len();
        self.take(Kind::SquarePair { width }, count, |source| source.square_pairs(width, a, c))
    }

    fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let count = ring.len();
        self.take(Kind::SharedBit { width }, count, |source| source.shared_bits(width, bits, ring))
    }

    fn known_triples(
        &mut self,
        of: (u16, u16),
        count: usize,
        bits: &mut [u64],
        rows: &mut [u64],
        products: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let (owner, width) = of;
        self.take(Kind::KnownTriple { owner, width }, count, |source| {
            source.known_triples(of, count, bits, rows, products)
        })
    }

    fn point_functions(
        &mut self,
        bits: u16,
        count: usize,
        points: &mut [u64],
        keys: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take(Kind::PointFunction { bits }, count, |source| {
            source.point_functions(bits, count, points, keys)
        })
    }
}

/// The name of what ANDs take; products of one bit modulo 2 in arithmetic sharing take other triples.
pub const BIT_TRIPLES: &str = "bit_triples";

/// The names of kinds in reports.
fn name(kind: Kind) -> String {
    match kind {
        Kind::BitTriple => BIT_TRIPLES.to_owned(),
        Kind::RingTriple { width } => format!("triples_{width}"),
        Kind::SquarePair { width } => format!("square_pairs_{width}"),
        Kind::SharedBit { width } => format!("shared_bits_{width}"),
        Kind::KnownTriple { owner, width } => format!("known_triples_{width}_of_{owner}"),
        Kind::PointFunction { bits } => format!("{}{bits}", mixed::POINT_FUNCTIONS),
    }
}

fn set_up(
    mut parties: Stream,
    prg: Prg,
    session: &SessionId,
    kind: (OtKind, BatchScale),
) -> Result<(MeteredGenerator, PhaseFigures), CorrelatedError> {
    let (start, before) = (Instant::now(), CounterSnapshot::of_parties(&mut parties));
    let mut generator = Generator::setup_scaled(parties, prg, session, kind)?;
    let setup = CounterSnapshot::of_parties(generator.parties()).since(&before, start.elapsed());
    Ok((generator, setup))
}

/// The OTs that a plan's correlated randomness is made of, and how large its batches are.
fn kind_of(planned: &PlannedFile) -> (OtKind, BatchScale) {
    (mixed::ot_kind(planned.plan()), planned.scale())
}

/// Needs of the plan, in the order in which it needs them.
fn needs(
    planned: &PlannedFile,
    parties: usize,
) -> Result<impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + use<>, Failure> {
    let needs = PlanDemand::new(planned.file.reader()?, parties);
    Ok(needs.map(|need| Ok(need?)))
}

/// Whether a plan states what its instructions need.
pub(crate) fn is_stated(planned: &PlannedFile) -> Result<bool, Failure> {
    let mut demand = Demand::default();
    for need in needs(planned, planned.computing)? {
        let (kind, count) = need?;
        demand.add(kind, count);
    }
    Ok(demand.kinds().eq(mixed::demand(&planned.description).kinds()))
}

/// Binding of stored correlated randomness for this plan.
pub(crate) fn binding(planned: &PlannedFile) -> Binding {
    super::files::binding(planned, mixed::demand(&planned.description))
}

/// Makes all that the plan demands, with the others, into a file.
pub(crate) fn store(
    file: &super::files::NewFile<'_>,
    (planned, tables): (&PlannedFile, Option<&TableKey>),
    parties: Stream,
    prg: Prg,
    session: &SessionId,
) -> Result<(StoredFigures, Stream), Failure> {
    let binding = binding(planned);
    let (mut generator, setup) = set_up(parties, prg, session, kind_of(planned))?;
    let (start, before) = (Instant::now(), CounterSnapshot::of_parties(generator.parties()));
    let needs = needs(planned, generator.parties().count())?;
    let bytes = file_of(file, |file, key| {
        Stored::make(file, key, &mut generator, (&binding, tables.map(TableKey::as_bytes)), needs)
    })?;
    let making = CounterSnapshot::of_parties(generator.parties()).since(&before, start.elapsed());
    let ots = generator.ots() / (generator.parties().count() as u64 - 1);
    let figures =
        StoredFigures { bytes, amounts: names(&binding.demand, name), setup, making, ots };
    Ok((figures, generator.into_parties()))
}
