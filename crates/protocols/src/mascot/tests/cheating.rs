//! Parties that lie: whatever they change is caught or changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use phineus_channels::ChannelError;

use super::*;
use crate::harness::{Altering, Place, flip_bit};
use crate::mascot::generator::Lies;

/// What the last party does wrong.
#[derive(Clone, Copy, Default)]
struct Cheat {
    flipped: Option<u64>,
    bit: u64,
    lies: Lies,
}

/// What happened to an honest party.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing was wrong with what was made.
    Harmless,
    /// The shares fit no more, and their MACs say so as soon as they are opened.
    CaughtWhenOpened,
    Caught,
}

/// One session, in which the last party cheats; and how many messages it sent in all and in the
/// set-up.
fn session<F: Field>(
    parties: usize,
    kind: Kind,
    count: usize,
    cheat: Cheat,
    seed: u128,
) -> (Outcome, [u64; 2]) {
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
                        let flip = move |_: Place, bytes: &mut [u8]| {
                            let number = messages.fetch_add(1, Ordering::Relaxed);
                            if flipped == Some(number) {
                                flip_bit(bytes, cheat.bit as usize % (8 * bytes.len()));
                            }
                        };
                        Altering::new(channel, flip)
                    })
                });
                let parties = Parties::new(me, channels.collect());
                let mut generator = generator::<F, _>(parties, seed)?;
                let in_setup = messages.load(Ordering::Relaxed);
                if cheats {
                    generator.lies = cheat.lies;
                }
                let mut batch = Batch::empty();
                generator.make(kind, count, &mut batch)?;
                Ok((Made { key: generator.delta(), batch }, in_setup))
            })
        })
        .collect();
    let results: Vec<Result<_, ProtocolError>> =
        handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
    let (cheater, honest) = results.split_last().expect("there are parties");
    for error in honest.iter().filter_map(|result| result.as_ref().err()) {
        let right = matches!(
            error,
            ProtocolError::Cheated { .. }
                | ProtocolError::Misbehaved { .. }
                | ProtocolError::Channel(ChannelError::Closed { .. })
        );
        assert!(right, "the wrong error: {error}");
    }
    let sent = messages.load(Ordering::Relaxed);
    // One that only misses the others was stopped by one that knows why. Who was lied to in the
    // very last message stops alone, and is missed by the others in the next batch.
    let knows = |result: &Result<_, ProtocolError>| {
        matches!(result, Err(ProtocolError::Cheated { .. } | ProtocolError::Misbehaved { .. }))
    };
    if honest.iter().any(|result| result.is_err()) {
        assert!(results.iter().any(knows), "somebody says why");
        return (Outcome::Caught, [sent, 0]);
    }
    let (_, in_setup) = cheater.as_ref().expect("all others were content");
    let made: Vec<&Made<F>> = results.iter().flatten().map(|(made, _)| made).collect();
    let fit = (0..3).all(|column| try_opened(&made, column).is_some());
    if !fit {
        return (Outcome::CaughtWhenOpened, [sent, *in_setup]);
    }
    check(&made);
    (Outcome::Harmless, [sent, *in_setup])
}

fn flips<F: Field>(parties: usize, kind: Kind, count: usize, which: impl Fn(u64, u64) -> Vec<u64>) {
    let seed = 0xf11b;
    let (outcome, [sent, in_setup]) = session::<F>(parties, kind, count, Cheat::default(), seed);
    assert_eq!(outcome, Outcome::Harmless, "nobody cheats");
    let (mut caught, mut tried) = (0, 0);
    let mut random = prg(0, seed);
    for flipped in which(in_setup, sent) {
        let bit = random.next_block().to_bits() as u64;
        let cheat = Cheat { flipped: Some(flipped), bit, ..Cheat::default() };
        let (outcome, _) = session::<F>(parties, kind, count, cheat, seed);
        // The last messages are all looked at: coins, sums, and the checks.
        if flipped + 3 >= sent {
            assert_eq!(outcome, Outcome::Caught, "{kind:?}: message {flipped} of {sent}");
        }
        caught += usize::from(outcome != Outcome::Harmless);
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

const KINDS: [(Kind, usize); 6] = [
    (Kind::Triple, 70),
    (Kind::Square, 3),
    (Kind::Bit, 5),
    (Kind::Mask { owner: 1 }, 20),
    (Kind::Matrix(MatrixSize { rows: 3, cols: 2, vectors: 1 }), 2),
    (Kind::Matrix(MatrixSize { rows: 2, cols: 2, vectors: 3 }), 1),
];

#[test]
fn a_flipped_bit_is_caught_or_harmless() {
    for (kind, count) in KINDS {
        flips::<F32>(2, kind, count, some);
    }
    flips::<F61>(2, Kind::Triple, 4, |in_setup, _| (0..in_setup).step_by(97).collect());
}

#[test]
fn different_words_to_different_parties_are_caught_or_harmless() {
    flips::<F32>(3, Kind::Triple, 3, some);
    flips::<F61>(3, Kind::Mask { owner: 2 }, 3, some);
}

#[test]
#[ignore = "takes some minutes"]
fn every_message_with_a_flipped_bit_is_caught_or_harmless() {
    for (kind, count) in KINDS {
        flips::<F32>(2, kind, count, |_, sent| (0..sent).collect());
    }
}

#[test]
#[ignore = "takes some minutes"]
fn every_message_to_one_of_two_parties_is_caught_or_harmless() {
    flips::<F32>(3, Kind::Square, 2, |_, sent| (0..sent).collect());
    flips::<F61>(2, Kind::Triple, 65, |_, sent| (0..sent).collect());
}

#[test]
fn wrong_inputs_and_wrong_macs_are_caught() {
    for (kind, count, inputs) in [(Kind::Triple, 2, 10), (Kind::Square, 2, 8)] {
        // Every part: the mask, the vectors, the sum.
        for i in (0..inputs).step_by(2).chain([inputs - 1]) {
            let input = Cheat { lies: Lies { input: Some(i), mac: None }, ..Cheat::default() };
            let mac = Cheat { lies: Lies { input: None, mac: Some(i) }, ..Cheat::default() };
            // The first one is a mask that nothing depends on.
            let expected = if i == 0 { Outcome::Harmless } else { Outcome::Caught };
            for cheat in [input, mac] {
                let (outcome, _) = session::<F61>(2, kind, count, cheat, 0x11e);
                assert_eq!(outcome, expected, "{kind:?}: element {i}");
            }
        }
    }
    // A matrix and its further row, vectors, products, sums.
    for (vectors, elements) in [(1, &[7, 11, 14][..]), (2, &[7, 9, 12, 13, 18, 19, 20])] {
        for &i in elements {
            let input = Cheat { lies: Lies { input: Some(i), mac: None }, ..Cheat::default() };
            let mac = Cheat { lies: Lies { input: None, mac: Some(i) }, ..Cheat::default() };
            for cheat in [input, mac] {
                let kind = product(3, 2, vectors);
                let (outcome, _) = session::<F61>(3, kind, 1, cheat, 0x11f);
                assert_eq!(outcome, Outcome::Caught, "{kind:?}: element {i}");
            }
        }
    }
}
