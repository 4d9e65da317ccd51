//! A corrupted party in whole runs, material and online phase together: any one of its messages to
//! one other party is changed, left out, sent twice, cut or swapped, or it is gone; and no honest
//! party ever has a wrong output.
//!
//! A lie is either noticed, then no honest party has an output, or it changes nothing: a bit of a
//! message of an OT that was not chosen. The last message alone can be told to some only.
//!
//! Cost: a run is some thousand messages of material, most of them OTs of 128 choices. Base OTs were
//! a fifth of it: those who lie after them have them from a dealer ([`base::Ideal`]), those who
//! lie in the set-up have the real ones.

mod case;
mod lying;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use phineus_bytecode::Table;
use phineus_bytecode::random::Random;
use phineus_channels::{Channel, ChannelError};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;

use super::costs::{Needs, stated_demand};
use super::{Material, Opening, SpdzDriver};
use crate::harness::{memory, own, read};
use crate::mascot::{Generator, Live};
use crate::ot::{FieldBits, SessionId, base};
use crate::{Parties, ProtocolError, memory_mesh};
use case::{Case, case};
use lying::{FRAMING, Fault, Lens, Lie, Lying};

/// More than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs at a time: parties wait for each other most of the time.
const WORKERS: usize = 4;

/// The streams of a pair of parties.
const ONLINE: usize = 0;
const MATERIAL: usize = 1;

type Tables = Vec<Option<Table>>;

/// Where base OTs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BaseOts {
    Real,
    Dealt,
}

/// One party from set-up to outputs, material made beside it. Calls `is_set_up` when it is.
fn party<F: Field, C: Channel + 'static>(
    [online, background]: [Parties<C>; 2],
    case: &Case,
    is_set_up: impl FnOnce(),
) -> Result<Tables, ProtocolError> {
    let (me, count) = (online.me(), online.count());
    let description = read(&case.bytes).description().clone();
    let inputs = own(&description, &case.inputs, me);
    let session = SessionId::new([23; 32]);
    let prg = |of: u128| Prg::from_seed(Block::from_bits(of << 8 | me as u128));
    let generator = Generator::<F, C>::setup(background, prg(1), &session, FieldBits::DEFAULT)?;
    is_set_up();
    let demand = stated_demand(&description.plan.as_ref().expect("it is planned").costs);
    let needs = Needs::new(read(&case.bytes), count, case.field);
    let live = Live::start(generator, demand, needs).expect("there are threads");
    let opening = Opening::new(me, count, live.delta(), &session, prg(2));
    let mut driver = SpdzDriver::new(online, live, opening, &description, inputs, case.field);
    let mut memory = memory(&description);
    run(&mut read(&case.bytes), &mut driver, &mut memory, &mut |_| true).map_err(|error| {
        match error {
            phineus_engine::RunError::Driver(error) => error,
            _ => panic!("not what a peer can do"),
        }
    })?;
    let (_, outputs, live) = driver.into_parts();
    live.finish()?;
    Ok(outputs.into_tables())
}

/// What came of a run.
struct Ended {
    /// By party.
    results: Vec<Result<Tables, ProtocolError>>,
    /// The lengths of the messages of the watched party to its peer, by stream.
    lens: [Vec<usize>; 2],
    /// How many of them set up.
    setup: usize,
}

/// A run in which the messages of party `from` to party `to` are watched.
fn session<F: Field>(
    case: &Arc<Case>,
    (from, to): (usize, usize),
    ots: BaseOts,
    lie: Option<Lie>,
) -> Ended {
    let lens: [Lens; 2] = Default::default();
    let setup = Arc::new(AtomicUsize::new(0));
    let mut streams = [ONLINE, MATERIAL].map(|_| memory_mesh(case.parties).into_iter());
    let (sender, ended) = channel();
    for me in 0..case.parties {
        let parties = [ONLINE, MATERIAL].map(|stream| {
            let parties = streams[stream].next().expect("as many parties");
            let channels = parties.into_channels().into_iter().enumerate();
            let channels = channels.map(|(peer, channel)| {
                // Towards one party only, so that others hear something else.
                let watched = (me, peer) == (from, to);
                let lens = if watched { lens[stream].clone() } else { Lens::default() };
                let lie = lie.filter(|lie| watched && lie.stream == stream);
                let lie = lie.map(|lie| (lie.message, lie.fault));
                channel.map(|channel| Lying::new(channel, lens, lie))
            });
            Parties::new(me, channels.collect())
        });
        let (case, sender, setup) = (case.clone(), sender.clone(), setup.clone());
        let sent = lens[MATERIAL].clone();
        thread::spawn(move || {
            let _dealer = (ots == BaseOts::Dealt).then(base::Ideal::in_this_thread);
            let is_set_up = || {
                if me == from {
                    let sent = sent.lock().expect("nobody panics in here").len();
                    setup.store(sent, Ordering::Relaxed);
                }
            };
            // Whoever is not there any more hangs nobody: the receiver waits for so long only.
            let _ = sender.send((me, party::<F, _>(parties, &case, is_set_up)));
        });
    }
    drop(sender);
    let mut results = BTreeMap::new();
    for _ in 0..case.parties {
        let (me, result) = ended.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            panic!("{lie:?}: a party hangs or panics: {error}");
        });
        results.insert(me, result);
    }
    let lens = lens.map(|lens| lens.lock().expect("all have ended").clone());
    Ended { results: results.into_values().collect(), lens, setup: setup.load(Ordering::Relaxed) }
}

/// Whether a lie was noticed; panics if anything is as it must not be. An honest run has `count`
/// messages of the online phase.
fn noticed(case: &Case, lie: Lie, ended: &Ended, count: usize) -> bool {
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
    let until = lie.message + 1 + usize::from(lie.fault == Fault::Doubled);
    let is_last = lie.stream == ONLINE && until >= count;
    assert!(
        failed == 0 || failed + 1 == case.parties || is_last,
        "{lie:?}: {failed} honest parties noticed, others have outputs"
    );
    let knows = |result: &Result<_, ProtocolError>| {
        matches!(result, Err(ProtocolError::Cheated { .. } | ProtocolError::Misbehaved { .. }))
    };
    let says_why = lie.fault == Fault::Gone || ended.results.iter().any(knows);
    assert!(failed == 0 || says_why, "{lie:?}: somebody says why");
    failed > 0
}

/// The messages of honest runs, by stream.
struct Messages {
    /// With real base OTs and with dealt ones.
    ended: [Ended; 2],
}

impl Messages {
    fn of<F: Field>(case: &Arc<Case>, pair: (usize, usize)) -> Messages {
        let ended = [BaseOts::Real, BaseOts::Dealt].map(|ots| {
            let ended = session::<F>(case, pair, ots, None);
            assert!(ended.results.iter().all(Result::is_ok), "nobody lies");
            ended
        });
        Messages { ended }
    }

    /// All of them: the set-up's with real base OTs, what comes after with dealt ones.
    fn every(&self) -> Vec<(BaseOts, usize, usize)> {
        let [real, dealt] = &self.ended;
        let of = |ots: BaseOts, ended: &Ended, stream: usize, range: std::ops::Range<usize>| {
            let lens = ended.lens[stream].clone();
            range.filter(move |&i| lens[i] > 0).map(move |message| (ots, stream, message))
        };
        of(BaseOts::Real, real, MATERIAL, 0..real.setup)
            .chain(of(BaseOts::Dealt, dealt, MATERIAL, dealt.setup..dealt.lens[MATERIAL].len()))
            .chain(of(BaseOts::Dealt, dealt, ONLINE, 0..dealt.lens[ONLINE].len()))
            .collect()
    }

    /// Of each stream and each length of message, the first and the last one, and every `step`-th
    /// of all others.
    fn some(&self, step: usize) -> Vec<(BaseOts, usize, usize)> {
        let len = |&(ots, stream, message): &(BaseOts, usize, usize)| {
            self.ended[usize::from(ots == BaseOts::Dealt)].lens[stream][message]
        };
        let mut by_kind: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let every = self.every();
        for (at, place) in every.iter().enumerate() {
            by_kind.entry((place.1, len(place))).or_default().push(at);
        }
        let ends = by_kind.values().flat_map(|at| [at[0], at[at.len() - 1]]);
        let mut chosen: Vec<usize> = ends.chain((0..every.len()).step_by(step)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|at| every[at]).collect()
    }
}

/// How many lies there were and how many were noticed, by stream.
#[derive(Default)]
struct Tally {
    tried: [usize; 2],
    caught: [usize; 2],
}

/// Tells all `lies`, each in a run of its own.
fn tell<F: Field>(case: &Arc<Case>, lies: &[(BaseOts, Lie)], online_count: usize) -> Tally {
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(&(ots, lie)) = lies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ended = session::<F>(case, (lie.from, lie.to), ots, Some(lie));
                    let is_noticed = noticed(case, lie, &ended, online_count);
                    let is_last = lie.message + 1 == online_count;
                    // Nobody listens to what comes after all that it wants to hear.
                    let may_be_missed = lie.stream == MATERIAL
                        || lie.fault == Fault::Swapped
                        || lie.fault == Fault::Doubled && is_last;
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

/// Lies of party `from` to party `to` in some messages, with the faults that `faults` gives.
fn lies<F: Field>(
    case: &Arc<Case>,
    (from, to): (usize, usize),
    step: usize,
    faults: impl Fn(usize) -> Vec<Fault>,
) {
    let start = Instant::now();
    let messages = Messages::of::<F>(case, (from, to));
    let online_count = messages.ended[1].lens[ONLINE].len();
    let none = Lie { from, to, stream: MATERIAL, message: 0, fault: Fault::Swapped };
    for honest in &messages.ended {
        assert!(!noticed(case, none, honest, online_count), "all outputs are right");
    }
    let mut random = Random::new((case.parties * 100 + 10 * from + to) as u64);
    let mut lies = Vec::new();
    for (ots, stream, message) in messages.some(step) {
        let bit = random.lane(30).as_limbs()[0] as usize;
        let of = |fault| (ots, Lie { from, to, stream, message, fault });
        lies.extend(faults(bit).into_iter().map(of));
    }
    let Tally { tried, caught } = tell::<F>(case, &lies, online_count);
    println!(
        "{}, {} parties, {from} lies to {to}: {caught:?} of {tried:?} lies noticed, online and \
         material, {:.0} s",
        F::NAME,
        case.parties,
        start.elapsed().as_secs_f64()
    );
    assert!(2 * caught[MATERIAL] >= tried[MATERIAL], "most messages of material are looked at");
}

fn flipped(bit: usize) -> Vec<Fault> {
    vec![Fault::Flipped(bit)]
}

/// One of the faults, drawn.
fn framing(bit: usize) -> Vec<Fault> {
    vec![FRAMING[bit % FRAMING.len()]]
}

#[test]
fn no_lie_of_any_kind_of_message_gives_a_wrong_output() {
    let two = Arc::new(case::<F32>(2, FieldName::F32));
    let three = Arc::new(case::<F32>(3, FieldName::F32));
    lies::<F32>(&two, (1, 0), 40, flipped);
    lies::<F32>(&two, (0, 1), 40, framing);
    lies::<F32>(&three, (2, 0), 80, flipped);
    lies::<F32>(&three, (0, 2), 80, framing);
}

#[test]
#[ignore = "takes minutes"]
fn no_lie_in_any_message_of_two_parties_gives_a_wrong_output() {
    let two = Arc::new(case::<F32>(2, FieldName::F32));
    for pair in [(1, 0), (0, 1)] {
        lies::<F32>(&two, pair, 1, flipped);
        lies::<F32>(&two, pair, 1, framing);
    }
    let two = Arc::new(case::<F61>(2, FieldName::F61));
    lies::<F61>(&two, (1, 0), 10, flipped);
    let two = Arc::new(case::<F128>(2, FieldName::F128));
    lies::<F128>(&two, (1, 0), 10, flipped);
}

#[test]
#[ignore = "takes minutes"]
fn no_lie_in_any_message_of_three_parties_gives_a_wrong_output() {
    let three = Arc::new(case::<F32>(3, FieldName::F32));
    for pair in [(0, 2), (2, 0)] {
        lies::<F32>(&three, pair, 1, flipped);
        lies::<F32>(&three, pair, 5, framing);
    }
}
