//! Triples and other preprocessed material: where a run gets it from, and how it is kept for one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use phineus_channels::FramedChannel;
use phineus_crypto::Prg;
use phineus_protocols::demand::BlockSchedule;
use phineus_protocols::mixed::{self, Needs};
use phineus_protocols::ot::{OtKind, SessionId};
use phineus_protocols::preprocessing::{
    Binding, Demand, Generator, Kind, Live, Preprocessing, Sequential, StoreError, Stored,
    StoredFile, StoredKey,
};
use phineus_protocols::{Parties, ProtocolError};
use sha2::{Digest, Sha256};

use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::metered::{Metered, PhaseFigures, Reading};
use crate::planning::PlannedFile;

/// Material that is kept in memory when all of it is made before.
const MADE_BYTES: u64 = 4 << 20;

/// The channels of one stream.
type Stream = Parties<Metered<FramedChannel>>;

/// Where the material of a run is to come from.
pub(crate) enum Origin {
    Interleaved,
    Sequential,
    Stored(Box<StoredFile>),
    /// For authenticated shares only.
    Fake,
}

/// Where preprocessed material comes from, and how much has been taken.
pub(crate) struct Material {
    source: Source,
    setup: PhaseFigures,
    /// Since when it is being made, and what had gone over the channels.
    start: (Instant, Reading),
    /// How long making took, if it is done.
    made_in: Option<Duration>,
    used: Demand,
    waited: Duration,
}

enum Source {
    /// The program needs none.
    Nothing(Stream),
    Live(Live<Metered<FramedChannel>>),
    Sequential(Sequential, Generator<Metered<FramedChannel>>),
    Stored(Stored, Stream),
}

/// What was measured of preprocessed material.
#[derive(Clone, Debug, Default)]
pub(crate) struct MaterialFigures {
    pub(crate) setup: PhaseFigures,
    pub(crate) making: PhaseFigures,
    /// Of each two parties, in both directions.
    pub(crate) ots: u64,
    /// What was used, by name.
    pub(crate) used: BTreeMap<String, u64>,
    /// How long the online phase waited for it.
    pub(crate) waited: Duration,
}

impl Material {
    /// Begins, or finishes, making what the plan demands; or opens what is stored. Of several
    /// blocks it is told which run, and makes what each demands.
    pub(crate) fn make(
        origin: Origin,
        planned: &PlannedFile,
        swap_dir: &Path,
        mut parties: Stream,
        prg: Prg,
        session: &SessionId,
    ) -> Result<(Material, Option<Sender<usize>>), Failure> {
        let demand = mixed::demand(&planned.description);
        let origin = match origin {
            Origin::Stored(file) => {
                let start = (Instant::now(), Reading::of_parties(&mut parties));
                let stored = file.consume(&mut parties)?;
                let made_in = Some(start.0.elapsed());
                return Ok((Material::new(Source::Stored(stored, parties), start, made_in), None));
            }
            _ if demand.kinds().next().is_none() => {
                let start = (Instant::now(), Reading::of_parties(&mut parties));
                return Ok((Material::new(Source::Nothing(parties), start, None), None));
            }
            origin => origin,
        };
        let kind = mixed::ot_kind(planned.plan());
        let (mut generator, setup) = set_up(parties, prg, session, kind)?;
        let parties = generator.parties().count();
        let start = (Instant::now(), Reading::of_parties(generator.parties()));
        if matches!(origin, Origin::Sequential) {
            let needs = needs(planned, parties)?;
            let made = Sequential::make(&mut generator, demand, needs, MADE_BYTES, swap_dir)?;
            let (source, made_in) = (Source::Sequential(made, generator), Some(start.0.elapsed()));
            return Ok((Material { setup, ..Material::new(source, start, made_in) }, None));
        }
        let (started, entered) = match &planned.blocks {
            None => (Live::start(generator, demand, needs(planned, parties)?), None),
            Some(blocks) => {
                let blocks = blocks.clone();
                let begin = move |block: usize| {
                    let part = &blocks.parts[block];
                    Some((mixed::demand(&part.description), needs(part, parties).ok()?))
                };
                let (schedule, entered) = BlockSchedule::new(begin);
                (Live::start_batches(generator, schedule), Some(entered))
            }
        };
        let live = started.map_err(|error| {
            Failure::new(Exit::RunTime, 161, format!("there is no thread: {error}"))
        })?;
        Ok((Material { setup, ..Material::new(Source::Live(live), start, None) }, entered))
    }

    fn new(source: Source, start: (Instant, Reading), made_in: Option<Duration>) -> Material {
        let (setup, used) = (PhaseFigures::default(), Demand::default());
        Material { source, setup, start, made_in, used, waited: Duration::ZERO }
    }

    /// The channels that it came over, and what was measured.
    pub(crate) fn finish(self) -> Result<(Stream, MaterialFigures), ProtocolError> {
        let (mut parties, ots) = match self.source {
            Source::Nothing(parties) | Source::Stored(_, parties) => (parties, 0),
            Source::Live(live) => {
                let generator = live.finish()?;
                let ots = generator.ots();
                (generator.into_parties(), ots)
            }
            Source::Sequential(_, generator) => {
                let ots = generator.ots();
                (generator.into_parties(), ots)
            }
        };
        let (start, before) = self.start;
        let after = Reading::of_parties(&mut parties);
        // In the background it ends with the last message.
        let until_last = || after.last_received().map(|last| last.saturating_duration_since(start));
        let time = self.made_in.or_else(until_last).unwrap_or_default();
        let figures = MaterialFigures {
            setup: self.setup,
            making: after.since(&before, time),
            ots: ots / (parties.count() as u64 - 1),
            used: names(&self.used),
            waited: self.waited,
        };
        Ok((parties, figures))
    }

    fn take(
        &mut self,
        kind: Kind,
        count: usize,
        take: impl FnOnce(&mut dyn Preprocessing) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        self.used.add(kind, count);
        let start = Instant::now();
        let taken = match &mut self.source {
            Source::Nothing(_) => unreachable!("the plan demands nothing"),
            Source::Live(source) => take(source),
            Source::Sequential(source, _) => take(source),
            Source::Stored(source, _) => take(source),
        };
        self.waited += start.elapsed();
        taken
    }
}

impl Preprocessing for Material {
    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::BitTriple, count, |source| source.bit_triples(count, a, b, c))
    }

    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), ProtocolError> {
        let count = a.len();
        self.take(Kind::RingTriple { width }, count, |source| source.ring_triples(width, a, b, c))
    }

    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), ProtocolError> {
        let count = a.len();
        self.take(Kind::SquarePair { width }, count, |source| source.square_pairs(width, a, c))
    }

    fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), ProtocolError> {
        let count = ring.len();
        self.take(Kind::SharedBit { width }, count, |source| source.shared_bits(width, bits, ring))
    }
}

/// Amounts by the names that plans have for them.
fn names(demand: &Demand) -> BTreeMap<String, u64> {
    let name = |kind: Kind| match kind {
        Kind::BitTriple => "triples_1".to_owned(),
        Kind::RingTriple { width } => format!("triples_{width}"),
        Kind::SquarePair { width } => format!("square_pairs_{width}"),
        Kind::SharedBit { width } => format!("shared_bits_{width}"),
    };
    demand.kinds().map(|(kind, count)| (name(kind), count as u64)).collect()
}

fn set_up(
    mut parties: Stream,
    prg: Prg,
    session: &SessionId,
    kind: OtKind,
) -> Result<(Generator<Metered<FramedChannel>>, PhaseFigures), ProtocolError> {
    let (start, before) = (Instant::now(), Reading::of_parties(&mut parties));
    let mut generator = Generator::setup(parties, prg, session, kind)?;
    let setup = Reading::of_parties(generator.parties()).since(&before, start.elapsed());
    Ok((generator, setup))
}

/// What the plan needs, in the order in which it needs it.
fn needs(
    planned: &PlannedFile,
    parties: usize,
) -> Result<impl Iterator<Item = (Kind, usize)> + Send + use<>, Failure> {
    let needs = Needs::new(planned.file.reader()?, parties);
    Ok(needs.map(|need| need.expect("the plan was read once already")))
}

/// What stored material is bound to: the program in its rounds, and the protocol. Not the plan,
/// which depends on this party's memory.
fn binding(planned: &PlannedFile) -> Binding {
    let plan = planned.plan();
    let hash = Sha256::new()
        .chain_update(b"phineus stored preprocessing program 1")
        .chain_update((plan.protocol.len() as u64).to_le_bytes())
        .chain_update(&plan.protocol)
        .chain_update(&plan.program_hash);
    Binding { program: hash.finalize().into(), demand: mixed::demand(&planned.description) }
}

/// Opens what was stored for this plan; uses nothing up.
pub(crate) fn open(
    path: &Path,
    key: &StoredKey,
    planned: &PlannedFile,
    party: u16,
) -> Result<Box<StoredFile>, Failure> {
    let parties = planned.computing;
    let opened = StoredFile::open(path, key, &binding(planned), usize::from(party), parties);
    Ok(Box::new(opened?))
}

/// The key in `path`, which is made if it is not there and `may_create`.
pub(crate) fn key(path: &Path, may_create: bool) -> Result<StoredKey, Failure> {
    if path.exists() || !may_create {
        return Ok(StoredKey::open(path)?);
    }
    let mut prg = Prg::from_os().map_err(|error| {
        Failure::new(Exit::RunTime, 160, format!("the system gives no random bytes: {error}"))
    })?;
    match StoredKey::create(path, &mut prg) {
        // Another run made it at the same time.
        Err(_) if path.exists() => Ok(StoredKey::open(path)?),
        created => Ok(created?),
    }
}

/// Where a file is while it is being made.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Refuses a place where something is already.
pub(crate) fn check_free(path: &Path) -> Result<(), Failure> {
    if path.exists() {
        let message = format!("{} exists already", path.display());
        return Err(Failure::new(Exit::Usage, 160, message)
            .remedy("name another file, or remove it if its triples are not wanted any more"));
    }
    let partial = partial(path);
    if partial.exists() {
        let message = format!("{} is left from a run that was cut off", partial.display());
        return Err(Failure::new(Exit::Usage, 161, message)
            .remedy("remove it, unless another run is just making it"));
    }
    crate::csv_output::check_writable(path)
}

/// What was made and kept.
pub(crate) struct Kept {
    pub(crate) bytes: u64,
    pub(crate) amounts: BTreeMap<String, u64>,
    pub(crate) setup: PhaseFigures,
    pub(crate) making: PhaseFigures,
    pub(crate) ots: u64,
}

/// Makes all that the plan demands, with the others, into a file that does not exist yet. Leaves
/// nothing behind if it fails.
pub(crate) fn keep(
    path: &Path,
    key: &StoredKey,
    planned: &PlannedFile,
    parties: Stream,
    prg: Prg,
    session: &SessionId,
) -> Result<(Kept, Stream), Failure> {
    let binding = binding(planned);
    let (mut generator, setup) = set_up(parties, prg, session, mixed::ot_kind(planned.plan()))?;
    let (start, before) = (Instant::now(), Reading::of_parties(generator.parties()));
    let needs = needs(planned, generator.parties().count())?;
    let partial = partial(path);
    interrupt::remember(&partial);
    let made = Stored::make(path, key, &mut generator, &binding, needs);
    if made.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    interrupt::forget(&partial);
    made?;
    let making = Reading::of_parties(generator.parties()).since(&before, start.elapsed());
    let bytes = std::fs::metadata(path).map_err(|error| Failure::file(path, &error))?.len();
    let ots = generator.ots() / (generator.parties().count() as u64 - 1);
    let kept = Kept { bytes, amounts: names(&binding.demand), setup, making, ots };
    Ok((kept, generator.into_parties()))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let message = error.to_string();
        let (exit, number) = match &error {
            StoreError::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof => {
                    (Exit::BadInput, 130)
                }
                _ => (Exit::RunTime, 180),
            },
            StoreError::Unknown { .. } => (Exit::BadInput, 131),
            StoreError::Exposed { .. } => (Exit::BadInput, 132),
            StoreError::Damaged { .. } => (Exit::BadInput, 133),
            StoreError::Truncated { .. } => (Exit::BadInput, 134),
            StoreError::OtherProgram { .. } => (Exit::BadInput, 135),
            StoreError::OtherParty { .. } => (Exit::BadInput, 136),
            StoreError::TooShort { .. } => (Exit::BadInput, 137),
            StoreError::AlreadyUsed { .. } => (Exit::BadInput, 138),
            StoreError::OtherRun { .. } => (Exit::Disagreement, 120),
            _ => (Exit::RunTime, 181),
        };
        let failure = Failure::new(exit, number, message);
        match error {
            StoreError::OtherProgram { .. } => failure.remedy(
                "`preprocess` and `run` take the same PROGRAM, --param, --protocol and rows",
            ),
            _ => failure,
        }
    }
}
