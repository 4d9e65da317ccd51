//! Every message of short runs, once with a flipped bit; some left out, sent twice, cut, swapped, or
//! the last of a party that is gone.

use std::sync::Arc;
use std::time::Instant;

use phineus_bytecode::random::SeededRng;
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};

use super::case::{CorruptedCase, TestComputation, case};
use super::lying::{Audience, FRAMING, MessageFault, Tampering};
use super::{
    DeviationCounts, HonestMessages, ONLINE, PREPROCESSING, RandomnessSource, WatchedRun, noticed,
    tell,
};

/// Lies of party `from` to party `to`: `faults` gives those of the message with a number, from a
/// random number.
fn lies<F: Field>(
    case: &Arc<CorruptedCase>,
    (from, to): (usize, usize),
    faults: impl Fn(usize, usize) -> Vec<MessageFault>,
) {
    let start = Instant::now();
    let messages = HonestMessages::of::<F>(case, (from, to));
    let online_count = messages.ended[1].lens[ONLINE].len();
    let to = Audience::One(to);
    let none =
        Tampering { from, to, stream: PREPROCESSING, message: 0, fault: MessageFault::Swapped };
    for honest in &messages.ended {
        assert!(!noticed(case, none, honest, online_count), "all outputs are right");
    }
    // Pairs set up as two parties do, whatever the program.
    let with_setup = case.parties == 2 && case.part == TestComputation::Product
        || case.part == TestComputation::All;
    let mut random = SeededRng::new((case.parties * 100 + from) as u64);
    let mut lies = Vec::new();
    for (number, (origin, stream, message)) in messages.every(with_setup).into_iter().enumerate() {
        let bit = random.lane(30).as_limbs()[0] as usize;
        let of = |fault| (origin, Tampering { from, to, stream, message, fault });
        lies.extend(faults(number, bit).into_iter().map(of));
    }
    let honest = WatchedRun::new(case, from, to, RandomnessSource::DealtOts);
    let DeviationCounts { tried, caught } = tell::<F>(&honest, &lies, online_count);
    println!(
        "{}, {:?}, {} parties, {from} lies to {to:?}: {caught:?} of {tried:?} lies noticed, online \
         and correlated, {:.0} s",
        F::NAME,
        case.part,
        case.parties,
        start.elapsed().as_secs_f64()
    );
    assert!(
        3 * caught[PREPROCESSING] >= tried[PREPROCESSING],
        "many messages of preprocessing are looked at"
    );
}

/// A flipped bit in every `step`-th message.
fn flipped(step: usize) -> impl Fn(usize, usize) -> Vec<MessageFault> {
    move |number, bit| in_some(step, number, MessageFault::Flipped(bit))
}

/// Another fault, drawn, in every `step`-th message.
fn framing(step: usize) -> impl Fn(usize, usize) -> Vec<MessageFault> {
    move |number, bit| in_some(step, number, FRAMING[bit % FRAMING.len()])
}

fn in_some(step: usize, number: usize, fault: MessageFault) -> Vec<MessageFault> {
    if number.is_multiple_of(step) { vec![fault] } else { Vec::new() }
}

/// Computations that use each kind of correlated randomness.
const PARTS: [TestComputation; 5] = [
    TestComputation::Product,
    TestComputation::Square,
    TestComputation::Comparison,
    TestComputation::Matrix,
    TestComputation::Inputs,
];

#[test]
fn no_lie_in_any_message_of_two_parties_gives_a_wrong_output() {
    for part in PARTS {
        let two = Arc::new(case::<F32>(part, 2, FieldName::F32));
        lies::<F32>(&two, (1, 0), flipped(1));
        lies::<F32>(&two, (0, 1), framing(15));
    }
    let two = Arc::new(case::<F32>(TestComputation::Product, 2, FieldName::F32));
    lies::<F32>(&two, (0, 1), flipped(5));
    lies::<F32>(&two, (1, 0), framing(5));
}

#[test]
fn no_lie_in_messages_of_large_fields_gives_a_wrong_output() {
    let two = Arc::new(case::<F61>(TestComputation::Product, 2, FieldName::F61));
    lies::<F61>(&two, (1, 0), flipped(3));
    let two = Arc::new(case::<F128>(TestComputation::Sum, 2, FieldName::F128));
    lies::<F128>(&two, (0, 1), flipped(1));
    let two = Arc::new(case::<F128>(TestComputation::Product, 2, FieldName::F128));
    lies::<F128>(&two, (0, 1), flipped(9));
}

#[test]
fn no_lie_in_any_message_of_three_parties_gives_a_wrong_output() {
    let three = Arc::new(case::<F32>(TestComputation::Product, 3, FieldName::F32));
    lies::<F32>(&three, (2, 0), flipped(1));
    lies::<F32>(&three, (0, 2), framing(7));
    for part in PARTS {
        let three = Arc::new(case::<F32>(part, 3, FieldName::F32));
        lies::<F32>(&three, (0, 1), flipped(41));
    }
}

#[test]
#[ignore = "takes minutes"]
fn no_lie_with_everything_in_one_run_gives_a_wrong_output() {
    let two = Arc::new(case::<F32>(TestComputation::All, 2, FieldName::F32));
    for pair in [(1, 0), (0, 1)] {
        lies::<F32>(&two, pair, flipped(1));
        lies::<F32>(&two, pair, framing(1));
    }
    let three = Arc::new(case::<F32>(TestComputation::All, 3, FieldName::F32));
    [(0, 2), (2, 0)].into_iter().for_each(|pair| lies::<F32>(&three, pair, flipped(1)));
}
