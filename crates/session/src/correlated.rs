//! Sources of triples and other correlated randomness of a run.
//!
//! [`MeteredRandomness`] is any of it, from whatever source: it measures how much is drawn
//! and how long that takes. `shares` and `authenticated` know the two sorts, `files` the files.

pub(crate) mod authenticated;
mod files;
pub(crate) mod shares;

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use phineus_channels::{FramedChannel, Parties};
use phineus_correlated::CorrelatedError;
use phineus_correlated::demand::{Demand, RandomnessKind};
use phineus_correlated::stored::StoredFile;
use phineus_protocols::bmr::GarbledTables;

use crate::failure::{Failure, codes};
use crate::metered::{CounterSnapshot, Metered, PhaseFigures};

pub use authenticated::{SpdzRandomness, words};
pub(crate) use files::NewFile;
pub use files::{StoredFigures, check_free, key, made_at, open_tables, tables_path};
pub use shares::{BIT_TRIPLES, SharedRandomness, dealer_seed};

/// Bytes of correlated randomness that stay in memory when all of it is made before the run.
const MADE_BYTES: u64 = 4 << 20;

/// The channels of one stream.
pub type Stream = Parties<Metered<FramedChannel>>;

/// Where the correlated randomness of a run is to come from.
pub enum Source {
    Interleaved,
    Sequential,
    /// In a file, and garbled tables in another one, if the program takes any.
    Stored(Box<StoredFile>, Option<Box<GarbledTables>>),
    /// Dealt by somebody whom all would have to trust.
    Fake,
}

/// Told which blocks of a program run, if it has several.
pub type Entered = Option<Sender<usize>>;

/// Correlated randomness that is drawn by the calls of `P`, and at last the channels that it came over.
trait RunSource<P: ?Sized>: Send {
    fn correlated(&self) -> &P;

    fn correlated_mut(&mut self) -> &mut P;

    /// The channels, and the OTs that were made with all others together.
    fn finish(self: Box<Self>) -> Result<(Stream, u64), CorrelatedError>;
}

/// Correlated randomness of a run, and how much has been drawn.
pub struct MeteredRandomness<P: ?Sized, K> {
    source: Box<dyn RunSource<P>>,
    setup: PhaseFigures,
    /// Since when it is being made, and what had gone over the channels.
    start: (Instant, CounterSnapshot),
    /// How long making took, if it is done.
    made_in: Option<Duration>,
    used: Demand<K>,
    waited: Duration,
    /// How figures call a kind.
    name: fn(K) -> String,
}

/// Measurements of correlated randomness.
#[derive(Clone, Debug, Default)]
pub struct RandomnessFigures {
    pub setup: PhaseFigures,
    pub making: PhaseFigures,
    /// Of each two parties, in both directions.
    pub ots: u64,
    /// Amounts used, by name.
    pub used: BTreeMap<String, u64>,
    /// How long the online phase waited for it.
    pub waited: Duration,
}

impl<P: ?Sized, K: RandomnessKind> MeteredRandomness<P, K> {
    fn new(
        source: Box<dyn RunSource<P>>,
        setup: PhaseFigures,
        start: (Instant, CounterSnapshot),
        made_in: Option<Duration>,
        name: fn(K) -> String,
    ) -> MeteredRandomness<P, K> {
        let (used, waited) = (Demand::default(), Duration::ZERO);
        MeteredRandomness { source, setup, start, made_in, used, waited, name }
    }

    /// The channels that it came over, and what was measured.
    pub fn finish(self) -> Result<(Stream, RandomnessFigures), CorrelatedError> {
        let (mut parties, ots) = self.source.finish()?;
        let (start, before) = self.start;
        let after = CounterSnapshot::of_parties(&mut parties);
        // In the background it ends with the last message.
        let until_last = || after.last_received().map(|last| last.saturating_duration_since(start));
        let time = self.made_in.or_else(until_last).unwrap_or_default();
        let figures = RandomnessFigures {
            setup: self.setup,
            making: after.since(&before, time),
            ots: ots / (parties.count() as u64 - 1),
            used: names(&self.used, self.name),
            waited: self.waited,
        };
        Ok((parties, figures))
    }

    /// Has the source do something, and measures how long that takes.
    fn wait<R>(&mut self, what: impl FnOnce(&mut P) -> R) -> R {
        let start = Instant::now();
        let done = what(self.source.correlated_mut());
        self.waited += start.elapsed();
        done
    }

    fn take(
        &mut self,
        kind: K,
        count: usize,
        take: impl FnOnce(&mut P) -> Result<(), CorrelatedError>,
    ) -> Result<(), CorrelatedError> {
        self.used.add(kind, count);
        self.wait(take)
    }
}

/// Amounts by name.
fn names<K: RandomnessKind>(demand: &Demand<K>, name: fn(K) -> String) -> BTreeMap<String, u64> {
    demand.kinds().map(|(kind, count)| (name(kind), count as u64)).collect()
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::new(codes::NO_THREAD, format!("cannot start a thread: {error}"))
}
