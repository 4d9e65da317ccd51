//! A corrupted party in whole runs, correlated randomness and online phase together: any one of its
//! messages to one other party is changed, left out, sent twice, cut or swapped, or it is gone, or
//! what it says is wrong and the same to all (`alike`); and no honest party ever has a wrong
//! output.
//!
//! A lie is either noticed, then no honest party has an output, or it changes nothing: a bit of a
//! message of an OT that was not chosen. The last message alone can be told to some only.
//!
//! Cost: as many runs as messages, hundreds to a thousand, so a run must be short. A program uses
//! few kinds of correlated randomness (`case`), of which a batch has a few items, and OTs are in
//! fields of 2^2. Base OTs were a fifth of a run: those who lie after them have them from a dealer
//! ([`IdealBaseOts`]), those who lie in the set-up have the real ones.

mod alike;
mod case;
mod early;
mod every;
mod lying;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use phineus_bytecode::Table;
use phineus_channels::{Channel, ChannelError, MemoryChannel, Parties, memory_mesh};
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer};
use phineus_correlated::mascot::{Generator, Live};
use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg, SecretBit};
use phineus_engine::run;
use phineus_ot::ideal::base_ots::IdealBaseOts;
use phineus_ot::{FieldBits, SessionId};

use super::altered::Altered;
use crate::ProtocolError;
use crate::harness::{memory, own, read};
use crate::spdz::costs::{PlanDemand, stated_demand};
use crate::spdz::{Opening, SpdzDriver};
use alike::ConsistentDeviation;
use case::CorruptedCase;
use lying::{Audience, Lens, MessageFault, Tampering, TamperingChannel};

/// More than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(500);

/// Runs at a time: parties wait for each other most of the time.
const WORKERS: usize = 4;

/// The streams of a pair of parties.
const ONLINE: usize = 0;
const PREPROCESSING: usize = 1;

type Tables = Vec<Option<Table>>;

/// Where correlated randomness comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RandomnessSource {
    /// MASCOT, with real base OTs.
    RealOts,
    /// MASCOT, with base OTs from a dealer.
    DealtOts,
    /// A dealer.
    Dealer,
}

const SESSION: [u8; 32] = [23; 32];

/// A party's randomness of one of its uses.
fn prg(me: usize, of: u128) -> Prg {
    Prg::from_seed(Block::from_bits(of << 8 | me as u128))
}

/// State with which one party runs.
struct TestParty<'a, C> {
    case: &'a CorruptedCase,
    online: Parties<C>,
    background: Parties<C>,
    origin: RandomnessSource,
    lie: Option<ConsistentDeviation>,
}

impl<C: Channel + 'static> TestParty<'_, C> {
    /// From set-up to outputs, correlated randomness made beside it. Calls `is_set_up` when it is.
    fn run<F: Field>(self, is_set_up: impl FnOnce()) -> Result<Tables, ProtocolError> {
        let TestParty { case, online, background, origin, lie } = self;
        let (me, count) = (online.me(), online.count());
        if origin == RandomnessSource::Dealer {
            let dealer = Dealer::<F>::insecure(Block::from_bits(29), me, count);
            let correlated = Altered { correlated: dealer, alteration: lie };
            return Ok(online_phase(case, online, correlated, lie)?.0);
        }
        let (session, field) = (SessionId::new(SESSION), FieldBits::LAN);
        let setup = match origin {
            RandomnessSource::DealtOts => Generator::<F, C>::setup_over::<IdealBaseOts>,
            RandomnessSource::RealOts | RandomnessSource::Dealer => Generator::<F, C>::setup,
        };
        let generator = setup(background, prg(me, 1), &session, field)?;
        is_set_up();
        let description = read(&case.bytes).description().clone();
        let demand = stated_demand(description.plan.as_ref().expect("it is planned"));
        let needs = PlanDemand::new(read(&case.bytes), count, case.field);
        let live = Live::start(generator, demand, needs).expect("there are threads");
        let correlated = Altered { correlated: live, alteration: lie };
        let (tables, altered) = online_phase(case, online, correlated, lie)?;
        altered.correlated.finish()?;
        Ok(tables)
    }
}

/// A run with correlated randomness, to outputs.
fn online_phase<F: Field, C: Channel + 'static, M: AuthenticatedRandomness<F>>(
    case: &CorruptedCase,
    online: Parties<C>,
    correlated: M,
    lie: Option<ConsistentDeviation>,
) -> Result<(Tables, M), ProtocolError> {
    let (me, count) = (online.me(), online.count());
    let description = read(&case.bytes).description().clone();
    let inputs = own(&description, &case.inputs, me);
    let key = correlated
        .delta()
        .add(F::ONE.and_bit(SecretBit::public(lie == Some(ConsistentDeviation::Key))));
    let opening = Opening::new(me, count, key, &SessionId::new(SESSION), prg(me, 2));
    let mut driver = SpdzDriver::new(online, correlated, opening, &description, inputs, case.field);
    let mut memory = memory(&description);
    run(&mut read(&case.bytes), &mut driver, &mut memory, &mut |_| true).map_err(|error| {
        match error {
            phineus_engine::RunError::Driver(error) => error,
            _ => panic!("not what a peer can do"),
        }
    })?;
    let (_, outputs, correlated) = driver.into_parts();
    Ok((outputs.into_tables(), correlated))
}

/// Outcome of a run.
struct RunOutcome {
    /// By party.
    results: Vec<Result<Tables, ProtocolError>>,
    /// The lengths of the messages of the watched party to its peer, by stream.
    lens: [Vec<usize>; 2],
    /// How many of them set up.
    setup: usize,
}

/// A run in which the messages of party `from` to one other party are watched.
#[derive(Clone)]
struct WatchedRun {
    case: Arc<CorruptedCase>,
    from: usize,
    to: usize,
    origin: RandomnessSource,
    /// Fault in a message, or in the values that the party computes with.
    lie: Option<Tampering>,
    alike: Option<ConsistentDeviation>,
}

impl WatchedRun {
    /// Everybody is honest.
    fn new(
        case: &Arc<CorruptedCase>,
        from: usize,
        to: Audience,
        origin: RandomnessSource,
    ) -> WatchedRun {
        let to = match to {
            Audience::One(to) => to,
            Audience::All => usize::from(from == 0),
        };
        WatchedRun { case: case.clone(), from, to, origin, lie: None, alike: None }
    }

    /// The channel of a party to a peer in a stream.
    fn watch(
        &self,
        parties: Parties<MemoryChannel>,
        stream: usize,
        lens: &Lens,
    ) -> Parties<TamperingChannel> {
        let me = parties.me();
        let channels = parties.into_channels().into_iter().enumerate();
        let channels = channels.map(|(peer, channel)| {
            let watched = (me, peer) == (self.from, self.to);
            let lens = if watched { lens.clone() } else { Lens::default() };
            let lie = self.lie.filter(|lie| me == lie.from && lie.to.contains(peer));
            let lie = lie.filter(|lie| lie.stream == stream);
            channel.map(|channel| {
                TamperingChannel::new(channel, lens, lie.map(|l| (l.message, l.fault)))
            })
        });
        Parties::new(me, channels.collect())
    }

    fn run<F: Field>(&self) -> RunOutcome {
        let lens: [Lens; 2] = Default::default();
        let setup = Arc::new(AtomicUsize::new(0));
        let count = self.case.parties;
        let mut streams = [ONLINE, PREPROCESSING].map(|_| memory_mesh(count).into_iter());
        let (sender, ended) = channel();
        for me in 0..count {
            let [online, background] = [ONLINE, PREPROCESSING].map(|stream| {
                let parties = streams[stream].next().expect("as many parties");
                self.watch(parties, stream, &lens[stream])
            });
            let (session, sender, setup) = (self.clone(), sender.clone(), setup.clone());
            let sent = lens[PREPROCESSING].clone();
            thread::spawn(move || {
                let lie = session.alike.filter(|_| me == session.from);
                let (case, origin) = (&*session.case, session.origin);
                let party = TestParty { case, online, background, origin, lie };
                let result = party.run::<F>(|| {
                    if me == session.from {
                        let sent = sent.lock().expect("nobody panics in here").len();
                        setup.store(sent, Ordering::Relaxed);
                    }
                });
                // Whoever is not there any more hangs nobody: the receiver waits for so long only.
                let _ = sender.send((me, result));
            });
        }
        drop(sender);
        let mut results = BTreeMap::new();
        for _ in 0..count {
            let (me, result) = ended.recv_timeout(PATIENCE).unwrap_or_else(|error| {
                let (lie, alike) = (self.lie, self.alike);
                panic!("{lie:?}, {alike:?}: a party hangs or panics: {error}");
            });
            results.insert(me, result);
        }
        let lens = lens.map(|lens| lens.lock().expect("all have ended").clone());
        let setup = setup.load(Ordering::Relaxed);
        RunOutcome { results: results.into_values().collect(), lens, setup }
    }
}

/// Whether a lie was noticed; panics if anything is as it must not be. An honest run has `count`
/// messages of the online phase.
fn noticed(case: &CorruptedCase, lie: Tampering, ended: &RunOutcome, count: usize) -> bool {
    let honest = || ended.results.iter().enumerate().filter(|&(me, _)| me != lie.from);
    for (me, result) in honest() {
        match result {
            Ok(outputs) => {
                for (output, expected) in outputs.iter().zip(&case.expected) {
                    let Some(output) = output else { continue };
                    for row in 0..expected.row_count() {
                        let (got, right) = (output.row(row), expected.row(row));
                        assert_eq!(got, right, "{lie:?}: a wrong output at party {me}");
                    }
                }
            }
            Err(error) => {
                let right = matches!(
                    error,
                    ProtocolError::Cheated { .. }
                        | ProtocolError::Misbehaved { .. }
                        | ProtocolError::Channel(ChannelError::Closed { .. })
                );
                assert!(right, "{lie:?}: the wrong error at party {me}: {error}");
            }
        }
    }
    let failed = honest().filter(|(_, result)| result.is_err()).count();
    // What comes twice moves what comes after it.
    let until = lie.message + 1 + usize::from(lie.fault == MessageFault::Doubled);
    let is_last = lie.stream == ONLINE && until >= count;
    assert!(
        failed == 0 || failed + 1 == case.parties || is_last,
        "{lie:?}: {failed} honest parties noticed, others have outputs"
    );
    let knows = |result: &Result<_, ProtocolError>| {
        matches!(result, Err(ProtocolError::Cheated { .. } | ProtocolError::Misbehaved { .. }))
    };
    let says_why = lie.fault == MessageFault::Gone || ended.results.iter().any(knows);
    assert!(failed == 0 || says_why, "{lie:?}: somebody says why");
    failed > 0
}

/// The messages of honest runs, by stream.
struct HonestMessages {
    /// With real base OTs and with those of a trusted dealer.
    ended: [RunOutcome; 2],
}

impl HonestMessages {
    fn of<F: Field>(case: &Arc<CorruptedCase>, (from, to): (usize, usize)) -> HonestMessages {
        let ended = [RandomnessSource::RealOts, RandomnessSource::DealtOts].map(|origin| {
            let ended = WatchedRun::new(case, from, Audience::One(to), origin).run::<F>();
            assert!(ended.results.iter().all(Result::is_ok), "nobody lies");
            ended
        });
        HonestMessages { ended }
    }

    /// All of them: the set-up's with real base OTs, if `with_setup`, which is the same in every
    /// program; what comes after with dealt ones.
    fn every(&self, with_setup: bool) -> Vec<(RandomnessSource, usize, usize)> {
        let [real, dealt] = &self.ended;
        let setup = if with_setup { real.setup } else { 0 };
        let of = |origin: RandomnessSource,
                  ended: &RunOutcome,
                  stream: usize,
                  range: std::ops::Range<usize>| {
            let lens = ended.lens[stream].clone();
            range.filter(move |&i| lens[i] > 0).map(move |message| (origin, stream, message))
        };
        of(RandomnessSource::RealOts, real, PREPROCESSING, 0..setup)
            .chain(of(
                RandomnessSource::DealtOts,
                dealt,
                PREPROCESSING,
                dealt.setup..dealt.lens[PREPROCESSING].len(),
            ))
            .chain(of(RandomnessSource::DealtOts, dealt, ONLINE, 0..dealt.lens[ONLINE].len()))
            .collect()
    }
}

/// How many lies there were and how many were noticed, by stream.
#[derive(Default)]
struct DeviationCounts {
    tried: [usize; 2],
    caught: [usize; 2],
}

/// Tells all `lies`, each in a run of its own.
fn tell<F: Field>(
    honest: &WatchedRun,
    lies: &[(RandomnessSource, Tampering)],
    online_count: usize,
) -> DeviationCounts {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(DeviationCounts::default()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(&(origin, lie)) = lies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = WatchedRun { origin, lie: Some(lie), ..honest.clone() }.run::<F>();
                    let is_noticed = noticed(&honest.case, lie, &ended, online_count);
                    let is_last = lie.message + 1 == online_count;
                    // Nobody listens to what comes after all that it wants to hear.
                    let may_be_missed = lie.stream == PREPROCESSING
                        || lie.fault == MessageFault::Swapped
                        || lie.fault == MessageFault::Doubled && is_last;
                    assert!(is_noticed || may_be_missed, "{lie:?}: a message nobody looks at");
                    let mut tally = tally.lock().expect("nobody panics in here");
                    tally.tried[lie.stream] += 1;
                    tally.caught[lie.stream] += usize::from(is_noticed);
                }
            });
        }
    });
    tally.into_inner().expect("nobody panicked")
}
