//! Authenticated correlated randomness: triples, squares, bits, input masks and matrix triples in a
//! prime field.

use std::path::Path;
use std::time::Instant;

use phineus_channels::FramedChannel;
use phineus_correlated::CorrelatedError;
use phineus_correlated::authenticated::{
    AuthenticatedRandomness as Authenticated, Dealer, MatrixSize, Share,
};
use phineus_correlated::demand::BlockSchedule;
use phineus_correlated::mascot::{Binding, Demand, Generator, Kind, Live, Sequential, Stored};
use phineus_crypto::Prg;
use phineus_crypto::field::{Field, FieldName};
use phineus_ot::{FieldBits, SessionId};
use phineus_protocols::spdz::costs::{PlanDemand, stated_demand};

use super::files::{NewFile, StoredFigures, file_of};
use super::shares::dealer_seed;
use super::{Entered, MADE_BYTES, MeteredRandomness, RunSource, Source, Stream, names, no_thread};
use crate::failure::Failure;
use crate::metered::{CounterSnapshot, Metered, PhaseFigures};
use crate::planned::PlannedFile;

/// Trait object the driver draws from (`'static`).
type BoxedRandomness<F> = dyn Authenticated<F>;

type MeteredGenerator<F> = Generator<F, Metered<FramedChannel>>;

/// Correlated randomness of a run on authenticated shares.
pub type SpdzRandomness<F> = MeteredRandomness<BoxedRandomness<F>, Kind>;

impl<F: Field> RunSource<BoxedRandomness<F>> for Live<F, Metered<FramedChannel>> {
    fn correlated(&self) -> &BoxedRandomness<F> {
        self
    }

    fn correlated_mut(&mut self) -> &mut BoxedRandomness<F> {
        self
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        let generator = Live::finish(*self)?;
        let ots = generator.ots();
        Ok((generator.into_parties(), ots))
    }
}

impl<F: Field> RunSource<BoxedRandomness<F>> for (Sequential<F>, MeteredGenerator<F>) {
    fn correlated(&self) -> &BoxedRandomness<F> {
        &self.0
    }

    fn correlated_mut(&mut self) -> &mut BoxedRandomness<F> {
        &mut self.0
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        let (_, generator) = *self;
        let ots = generator.ots();
        Ok((generator.into_parties(), ots))
    }
}

/// Stored, or from a trusted dealer: nothing is made.
impl<F: Field, S: Authenticated<F> + 'static> RunSource<BoxedRandomness<F>> for (S, Stream) {
    fn correlated(&self) -> &BoxedRandomness<F> {
        &self.0
    }

    fn correlated_mut(&mut self) -> &mut BoxedRandomness<F> {
        &mut self.0
    }

    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError> {
        Ok((self.1, 0))
    }
}

impl<F: Field> SpdzRandomness<F> {
    /// Begins, or finishes, making what the plan demands; or opens what is stored. Of several
    /// blocks it is told which run, and makes what each demands.
    pub fn make(
        source: Source,
        (planned, field): (&PlannedFile, FieldName),
        swap_dir: &Path,
        mut parties: Stream,
        prg: Prg,
        session: &SessionId,
    ) -> Result<(SpdzRandomness<F>, Entered), Failure> {
        let start = (Instant::now(), CounterSnapshot::of_parties(&mut parties));
        let nothing = PhaseFigures::default();
        let source = match source {
            Source::Stored(file, _) => {
                let stored = Stored::<F>::consume(*file, &mut parties)?;
                let made_in = Some(start.0.elapsed());
                let source = Box::new((stored, parties));
                return Ok((MeteredRandomness::new(source, nothing, start, made_in, words), None));
            }
            Source::Fake => {
                let (me, count) = (parties.me(), parties.count());
                let dealer = Dealer::insecure(dealer_seed(session), me, count);
                let source = Box::new((dealer, parties));
                return Ok((MeteredRandomness::new(source, nothing, start, None, words), None));
            }
            source => source,
        };
        let (mut generator, setup) = set_up(parties, prg, session)?;
        let demand = stated_demand(planned.plan());
        let count = generator.parties().count();
        let start = (Instant::now(), CounterSnapshot::of_parties(generator.parties()));
        if matches!(source, Source::Sequential) {
            let needs = needs(planned, count, field)?;
            let made = Sequential::make(&mut generator, demand, needs, MADE_BYTES, swap_dir)?;
            let made_in = Some(start.0.elapsed());
            let made = Box::new((made, generator));
            return Ok((MeteredRandomness::new(made, setup, start, made_in, words), None));
        }
        let (started, entered) = match &planned.blocks {
            None => (Live::start(generator, demand, needs(planned, count, field)?), None),
            Some(blocks) => {
                let blocks = blocks.clone();
                let begin = move |block: usize| {
                    let part = &blocks.parts[block];
                    let needs = PlanDemand::new(part.file.program_reader()?, count, field);
                    Ok((stated_demand(part.plan()), needs))
                };
                let (schedule, entered) = BlockSchedule::new(begin);
                (Live::start_batches(generator, schedule), Some(entered))
            }
        };
        let live = Box::new(started.map_err(no_thread)?);
        Ok((MeteredRandomness::new(live, setup, start, None, words), entered))
    }
}

/// A kind of correlated randomness as the summary names it.
pub fn words(kind: Kind) -> String {
    match kind {
        Kind::Triple => "triples".to_owned(),
        Kind::Square => "square pairs".to_owned(),
        Kind::Bit => "random bits".to_owned(),
        Kind::Mask { owner } => format!("input masks of party {owner}"),
        Kind::BitMask { owner } => format!("bit masks of party {owner}"),
        Kind::Bounded => "bounded integers".to_owned(),
        Kind::Matrix(MatrixSize { rows, cols, vectors: 1 }) => {
            format!("matrix triples {rows} x {cols}")
        }
        Kind::Matrix(MatrixSize { rows, cols, vectors }) => {
            format!("matrix triples {rows} x {cols} x {vectors}")
        }
    }
}

impl<F: Field> Authenticated<F> for SpdzRandomness<F> {
    fn delta(&self) -> F {
        self.source.correlated().delta()
    }

    fn settle(&mut self) -> Result<(), CorrelatedError> {
        self.wait(|source| source.settle())
    }

    fn blame(&mut self) -> Option<CorrelatedError> {
        self.source.correlated_mut().blame()
    }

    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        self.take(Kind::Triple, a.len(), |source| source.triples(a, b, c))
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.take(Kind::Square, a.len(), |source| source.squares(a, c))
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.take(Kind::Bit, b.len(), |source| source.bits(b))
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        let kind = Kind::Mask { owner: owner as u16 };
        self.take(kind, shares.len(), |source| source.masks(owner, shares, values))
    }

    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        let kind = Kind::BitMask { owner: owner as u16 };
        self.take(kind, shares.len(), |source| source.bit_masks(owner, shares, values))
    }

    fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.take(Kind::Bounded, integers.len(), |source| source.bounded(integers))
    }

    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        let count = size.count(a.len(), b.len(), c.len());
        self.take(Kind::Matrix(size), count, |source| source.matrix_triples(size, a, b, c))
    }
}

fn set_up<F: Field>(
    mut parties: Stream,
    prg: Prg,
    session: &SessionId,
) -> Result<(MeteredGenerator<F>, PhaseFigures), CorrelatedError> {
    let (start, before) = (Instant::now(), CounterSnapshot::of_parties(&mut parties));
    let mut generator = Generator::setup(parties, prg, session, FieldBits::DEFAULT)?;
    let setup = CounterSnapshot::of_parties(generator.parties()).since(&before, start.elapsed());
    Ok((generator, setup))
}

/// Needs of the plan, in about the order in which it needs them, the same at all parties.
fn needs(
    planned: &PlannedFile,
    parties: usize,
    field: FieldName,
) -> Result<impl Iterator<Item = Result<(Kind, usize), CorrelatedError>> + Send + use<>, Failure> {
    Ok(PlanDemand::new(planned.file.reader()?, parties, field))
}

/// Whether a plan states what its instructions need.
pub(crate) fn is_stated(planned: &PlannedFile, field: FieldName) -> Result<bool, Failure> {
    let mut demand = Demand::default();
    for need in needs(planned, planned.computing, field)? {
        let (kind, count) = need?;
        demand.add(kind, count);
    }
    Ok(demand.kinds().eq(stated_demand(planned.plan()).kinds()))
}

/// Binding of stored correlated randomness for this plan.
pub(crate) fn binding(planned: &PlannedFile) -> Binding {
    super::files::binding(planned, stated_demand(planned.plan()))
}

/// Makes all that the plan demands, with the others, into a file.
pub(crate) fn store<F: Field>(
    file: &NewFile<'_>,
    (planned, field): (&PlannedFile, FieldName),
    parties: Stream,
    prg: Prg,
    session: &SessionId,
) -> Result<(StoredFigures, Stream), Failure> {
    let binding = binding(planned);
    let (mut generator, setup) = set_up::<F>(parties, prg, session)?;
    let (start, before) = (Instant::now(), CounterSnapshot::of_parties(generator.parties()));
    let needs = needs(planned, generator.parties().count(), field)?;
    let bytes =
        file_of(file, |file, key| Stored::make(file, key, &mut generator, &binding, needs))?;
    let making = CounterSnapshot::of_parties(generator.parties()).since(&before, start.elapsed());
    let ots = generator.ots() / (generator.parties().count() as u64 - 1);
    let figures =
        StoredFigures { bytes, amounts: names(&binding.demand, words), setup, making, ots };
    Ok((figures, generator.into_parties()))
}
