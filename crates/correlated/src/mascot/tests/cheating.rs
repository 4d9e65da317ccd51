//! Deviating parties: every change is caught or has no effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use phineus_bytecode::random::Seeds;
use phineus_channels::{Altering, ChannelError, MessagePosition, flip_bit};
use phineus_ot::ideal::base_ots::IdealBaseOts;

use super::lies::{Liar, Lie};
use super::*;

/// Deviation of the last party.
#[derive(Clone, Copy, Default)]
struct DeviatingRun {
    flipped: Option<u64>,
    bit: u64,
    lie: Option<Lie>,
}

/// Outcome at an honest party.
#[derive(Debug, PartialEq, Eq)]
enum HonestOutcome {
    /// Nothing was wrong with what was made.
    Harmless,
    /// The shares fit no more, and their MACs say so as soon as they are opened.
    CaughtWhenOpened,
    Caught {
        by_all: bool,
    },
}

/// One session, in which the last party cheats; and how many messages it sent in all and in the
/// set-up.
fn session<F: Field>(
    parties: usize,
    kind: Kind,
    count: usize,
    cheat: DeviatingRun,
    seed: u128,
) -> (HonestOutcome, [u64; 2]) {
    let messages = Arc::new(AtomicU64::new(0));
    let handles: Vec<_> = memory_mesh(parties)
        .into_iter()
        .map(|honest| {
            let (me, messages) = (honest.me(), messages.clone());
            thread::spawn(move || {
                let cheats = me + 1 == parties;
                let messages = if cheats { messages } else { Arc::default() };
                let channels = honest.into_channels().into_iter().enumerate();
                let channels = channels.map(|(peer, channel)| {
                    // Towards the first party only, so that the others hear something else.
                    let flipped = cheat.flipped.filter(|_| cheats && peer == 0);
                    let messages = if peer == 0 { messages.clone() } else { Arc::default() };
                    channel.map(|channel| {
                        let flip = move |_: MessagePosition, bytes: &mut [u8]| {
                            let number = messages.fetch_add(1, Ordering::Relaxed);
                            if flipped == Some(number) {
                                flip_bit(bytes, cheat.bit as usize % (8 * bytes.len()));
                            }
                        };
                        Altering::new(channel, flip)
                    })
                });
                let parties = Parties::new(me, channels.collect());
                // Who lies later needs no real base OTs.
                let generator = match cheat.lie {
                    None => generator(parties, seed)?,
                    Some(_) => generator_over::<IdealBaseOts, F, _>(parties, seed)?,
                };
                let in_setup = messages.load(Ordering::Relaxed);
                let lie = cheat.lie.filter(|_| cheats);
                let mut generator = generator.deviating(Liar(lie));
                let mut batch = Batch::empty();
                generator.make(kind, count, &mut batch)?;
                Ok((PartyBatch { key: generator.delta(), batch }, in_setup))
            })
        })
        .collect();
    let results: Vec<Result<_, CorrelatedError>> =
        handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
    let (cheater, honest) = results.split_last().expect("there are parties");
    for error in honest.iter().filter_map(|result| result.as_ref().err()) {
        let right = matches!(
            error,
            CorrelatedError::Cheated { .. }
                | CorrelatedError::Misbehaved { .. }
                | CorrelatedError::Channel(ChannelError::Closed { .. })
        );
        assert!(right, "the wrong error: {error}");
    }
    let sent = messages.load(Ordering::Relaxed);
    // One that only misses the others was stopped by one that knows why. Who was lied to in the
    // very last message stops alone, and is missed by the others in the next batch.
    let knows = |result: &Result<_, CorrelatedError>| {
        matches!(result, Err(CorrelatedError::Cheated { .. } | CorrelatedError::Misbehaved { .. }))
    };
    if honest.iter().any(|result| result.is_err()) {
        assert!(results.iter().any(knows), "somebody says why");
        let by_all = honest.iter().all(|result| result.is_err());
        return (HonestOutcome::Caught { by_all }, [sent, 0]);
    }
    let (_, in_setup) = cheater.as_ref().expect("all others were content");
    let made: Vec<&PartyBatch<F>> = results.iter().flatten().map(|(made, _)| made).collect();
    let fit = (0..3).all(|column| try_opened(&made, column).is_some());
    if !fit {
        return (HonestOutcome::CaughtWhenOpened, [sent, *in_setup]);
    }
    check(&made);
    (HonestOutcome::Harmless, [sent, *in_setup])
}

fn flips<F: Field>(parties: usize, kind: Kind, count: usize, which: impl Fn(u64, u64) -> Vec<u64>) {
    let seed = 0xf11b;
    let (outcome, [sent, in_setup]) =
        session::<F>(parties, kind, count, DeviatingRun::default(), seed);
    assert_eq!(outcome, HonestOutcome::Harmless, "nobody cheats");
    let (mut caught, mut tried) = (0, 0);
    let mut random = prg(0, seed);
    for flipped in which(in_setup, sent) {
        let bit = random.next_block().to_bits() as u64;
        let cheat = DeviatingRun { flipped: Some(flipped), bit, ..DeviatingRun::default() };
        let (outcome, _) = session::<F>(parties, kind, count, cheat, seed);
        // The last messages are all looked at: coins, sums, and the checks.
        if flipped + 3 >= sent {
            let caught = matches!(outcome, HonestOutcome::Caught { .. });
            assert!(caught, "{kind:?}: message {flipped} of {sent}");
        }
        caught += usize::from(outcome != HonestOutcome::Harmless);
        tried += 1;
    }
    assert!(2 * caught >= tried, "{kind:?}: only {caught} of {tried} were caught");
    println!("{} {kind:?}: {caught} of {tried} were caught", F::NAME);
}

/// Some messages of all parts of a run, and the last ones.
fn some(in_setup: u64, sent: u64) -> Vec<u64> {
    let middle = (in_setup..sent - 5).step_by(((sent - in_setup) / 3) as usize);
    middle.chain(sent - 5..sent).collect()
}

const KINDS: [(Kind, usize); 7] = [
    (Kind::Triple, 70),
    (Kind::Square, 3),
    (Kind::Bit, 5),
    (Kind::Mask { owner: 1 }, 20),
    (Kind::BitMask { owner: 1 }, 20),
    (Kind::Matrix(MatrixSize { rows: 3, cols: 2, vectors: 1 }), 2),
    (Kind::Matrix(MatrixSize { rows: 2, cols: 2, vectors: 3 }), 1),
];

#[test]
fn a_flipped_bit_is_caught_or_harmless() {
    for (kind, count) in KINDS {
        flips::<F32>(2, kind, count, some);
    }
    flips::<F61>(2, Kind::Bounded, 3, some);
    flips::<F61>(2, Kind::Triple, 4, |in_setup, _| (0..in_setup).step_by(97).collect());
}

#[test]
fn different_words_to_different_parties_are_caught_or_harmless() {
    flips::<F32>(3, Kind::Triple, 3, some);
    flips::<F61>(3, Kind::Mask { owner: 2 }, 3, some);
}

/// Runs in which the last party says the same wrong thing to all.
fn said_to_all<F: Field>(parties: usize, kind: Kind, count: usize, lies: &[Lie]) {
    for &lie in lies {
        let cheat = DeviatingRun { lie: Some(lie), ..DeviatingRun::default() };
        let (outcome, _) = session::<F>(parties, kind, count, cheat, 0x11e);
        // The first element is a mask that nothing depends on.
        let is_mask =
            matches!(lie.about, DeviationPoint::Input | DeviationPoint::Mac) && lie.element == 0;
        let expected =
            if is_mask { HonestOutcome::Harmless } else { HonestOutcome::Caught { by_all: true } };
        assert_eq!(outcome, expected, "{} {kind:?}, {parties} parties: {lie:?}", F::NAME);
    }
}

fn lie(about: DeviationPoint, element: usize) -> Lie {
    Lie { about, times_before: 0, element }
}

/// Lies about each element that is authenticated, which are as many, and about its MAC.
fn authenticated(elements: usize) -> Vec<Lie> {
    (0..elements)
        .flat_map(|i| [lie(DeviationPoint::Input, i), lie(DeviationPoint::Mac, i)])
        .collect()
}

/// Tries every `step`-th lie, from a random one on.
fn lies_to_all<F: Field>(parties: usize, (step, seeds): (usize, &mut Seeds)) {
    let mut said_to_all = |kind: Kind, count: usize, lies: &[Lie]| {
        let first = seeds.draw() as usize % step;
        let lies: Vec<Lie> = lies.iter().skip(first).step_by(step).copied().collect();
        said_to_all::<F>(parties, kind, count, &lies);
    };
    let coins =
        |count: usize| (0..count).map(|coin| lie(DeviationPoint::Coin, coin)).collect::<Vec<_>>();
    let checks = [lie(DeviationPoint::Summand, 1), lie(DeviationPoint::Sigma, 0)];
    // The mask; factors, products and further factors; the sum.
    let triples = [authenticated(10), coins(3), checks.to_vec()].concat();
    said_to_all(Kind::Triple, 2, &triples);
    let squares = [authenticated(8), coins(3), checks.to_vec()].concat();
    let squares = [squares, vec![lie(DeviationPoint::Difference, 1)]].concat();
    said_to_all(Kind::Square, 2, &squares);
    // The squares' checks, then those of the opened squares.
    let bits =
        [lie(DeviationPoint::Square, 1), Lie { times_before: 1, ..lie(DeviationPoint::Sigma, 0) }];
    let second = Lie { times_before: 1, ..lie(DeviationPoint::Coin, 0) };
    let bits = [authenticated(8), checks.to_vec(), bits.to_vec(), vec![second]].concat();
    said_to_all(Kind::Bit, 2, &bits);
    // Matrices and a further row, vectors, products, sums of the further row's products.
    let matrix = [authenticated(15), coins(3), checks.to_vec()].concat();
    said_to_all(product(3, 2, 1), 1, &matrix);
    let matrix = [authenticated(21), checks.to_vec()].concat();
    said_to_all(product(3, 2, 2), 1, &matrix);
}

#[test]
fn who_lies_to_all_alike_is_caught_by_all() {
    let mut seeds = Seeds::fresh();
    lies_to_all::<F32>(2, (1, &mut seeds));
    // Others in each run.
    lies_to_all::<F61>(2, (5, &mut seeds));
    lies_to_all::<F128>(2, (5, &mut seeds));
    lies_to_all::<F32>(3, (5, &mut seeds));
    lies_to_all::<F61>(3, (5, &mut seeds));
}

/// Who brings an element that is not as small as it must be is caught, whatever else it says.
#[test]
fn who_lies_about_ranges_is_caught_by_all() {
    fn ranges<F: Field>(parties: usize) {
        let outcome = |kind: Kind, lie: Lie| {
            let cheat = DeviatingRun { lie: Some(lie), ..DeviatingRun::default() };
            session::<F>(parties, kind, 8, cheat, 0x120).0
        };
        let bits = Kind::BitMask { owner: parties as u16 - 1 };
        // One more is a bit where a zero was drawn.
        let lies = (1..=8).map(|k| outcome(bits, lie(DeviationPoint::Input, k)));
        let lies: Vec<HonestOutcome> = lies.collect();
        assert!(lies.contains(&HonestOutcome::Harmless), "a zero becomes a one: {lies:?}");
        assert!(
            lies.contains(&HonestOutcome::Caught { by_all: true }),
            "a one becomes a two: {lies:?}"
        );
        let wrong = |outcome: &HonestOutcome| *outcome == HonestOutcome::CaughtWhenOpened;
        assert!(!lies.iter().any(wrong), "{lies:?}");
        for k in 0..2 {
            assert_eq!(
                outcome(bits, lie(DeviationPoint::Proof, k)),
                HonestOutcome::Caught { by_all: true }
            );
        }
        if F::BITS <= BOUNDED_BITS {
            return;
        }
        for k in 0..16 {
            let lie = lie(DeviationPoint::Proof, k);
            assert_eq!(outcome(Kind::Bounded, lie), HonestOutcome::Caught { by_all: true });
        }
        // Of the highest digits, which are bits, and so of some others.
        let lies: Vec<HonestOutcome> =
            (81..=88).map(|k| outcome(Kind::Bounded, lie(DeviationPoint::Input, k))).collect();
        assert!(lies.contains(&HonestOutcome::Caught { by_all: true }), "{lies:?}");
        assert!(!lies.iter().any(wrong), "{lies:?}");
    }
    ranges::<F61>(2);
    ranges::<F61>(3);
    ranges::<F128>(2);
    ranges::<F32>(2);
}

/// No sum is checked where masks are made: who owns them may choose them, and a wrong MAC is found
/// when the mask is used.
#[test]
fn wrong_masks_are_caught_when_opened() {
    fn masks<F: Field>(parties: usize) {
        let owner = parties as u16 - 1;
        let outcome = |owner: u16, lie: Lie| {
            let cheat = DeviatingRun { lie: Some(lie), ..DeviatingRun::default() };
            session::<F>(parties, Kind::Mask { owner }, 3, cheat, 0x11f).0
        };
        assert_eq!(outcome(owner, lie(DeviationPoint::Input, 1)), HonestOutcome::Harmless);
        assert_eq!(
            outcome(owner, lie(DeviationPoint::Coin, 0)),
            HonestOutcome::Caught { by_all: true }
        );
        for owner in [0, owner] {
            assert_eq!(
                outcome(owner, lie(DeviationPoint::Mac, 2)),
                HonestOutcome::CaughtWhenOpened
            );
        }
    }
    masks::<F32>(2);
    masks::<F128>(2);
    masks::<F61>(3);
}
