//! A deviation that would reveal a value before a check notices it, if a dependent value were
//! opened under a mask that is not uniform.
//!
//! Narrow comparisons opened their operands without looking at what these came from. A party that
//! adds `e` to its share of a factor `a` of a triple makes of `x y` the number `x y - e b`, where `b` hides
//! `y`, and `y - b` is known: so it has `e y` in there. With `e` beyond the mask of the comparison it read
//! `y`, the input of somebody else, out of the next round, and the check that found it came later.

use std::sync::{Arc, Mutex};
use std::thread;

use phineus_channels::{Altering, MemoryChannel, MessagePosition, Parties, memory_mesh};
use phineus_correlated::authenticated::Dealer;
use phineus_crypto::Block;
use phineus_crypto::field::{F61, Field, FieldName};

use super::alike::ConsistentDeviation;
use super::case::{TestComputation, case};
use super::online_phase;
use crate::ProtocolError;
use crate::spdz::check::message_bytes;
use crate::spdz::tests::altered::Altered;

/// Messages that a party sent, in order.
type Said = Arc<Mutex<Vec<Vec<u8>>>>;
type Listening = Altering<Box<dyn FnMut(MessagePosition, &mut [u8]) + Send>>;

fn listening(parties: Parties<MemoryChannel>, said: &Said) -> Parties<Listening> {
    let me = parties.me();
    let channels = parties.into_channels().into_iter().map(|channel| {
        let said = said.clone();
        let listen = move |_: MessagePosition, bytes: &mut [u8]| {
            said.lock().expect("nobody panics in here").push(bytes.to_vec());
        };
        channel.map(|channel| Altering::new(channel, Box::new(listen) as _))
    });
    Parties::new(me, channels.collect())
}

/// The sum of what both say in a message's place.
fn opened(said: [&[Vec<u8>]; 2], message: usize, at: usize) -> F61 {
    let mut sum = F61::ZERO;
    for said in said {
        let mut element = [F61::ZERO];
        F61::read(&said[message][at * F61::BYTES..][..F61::BYTES], &mut element)
            .expect("it is one");
        sum = sum.add(element[0]);
    }
    sum
}

/// Beyond the bits of a mask, and small enough for any input of the first party.
const BEYOND: u32 = 54;

#[test]
fn a_lie_about_a_product_is_found_before_a_comparison_shows_it() {
    let case = Arc::new(case::<F61>(TestComputation::ComparedProduct, 2, FieldName::F61));
    let said: [Said; 2] = Default::default();
    let ends = memory_mesh(2).into_iter().map(|parties| {
        let me = parties.me();
        let parties = listening(parties, &said[me]);
        let lie = (me == 1).then_some(ConsistentDeviation::Factor(BEYOND));
        let case = case.clone();
        thread::spawn(move || {
            let dealer = Dealer::<F61>::insecure(Block::from_bits(29), me, 2);
            online_phase(&case, parties, Altered { correlated: dealer, alteration: lie }, lie)
                .map(|_| ())
        })
    });
    let ends: Vec<_> = ends.collect();
    let ends: Vec<Result<(), ProtocolError>> =
        ends.into_iter().map(|end| end.join().expect("no party panics")).collect();
    let said = said.map(|said| said.lock().expect("all have ended").clone());
    // Inputs, then both factors of two lanes, then the check or, as it was, the comparison.
    assert_eq!(said[0][1].len() as u64, message_bytes(F61::BYTES, 4, 0, true, true), "a product");
    let tail = message_bytes(F61::BYTES, 0, 0, true, true) as usize;
    let third = &said[0][2];
    if third.len() > tail {
        let both = [said[0].as_slice(), said[1].as_slice()];
        let last = (third.len() - tail) / F61::BYTES - 2;
        let [c, known] = [opened(both, 2, last), opened(both, 1, 2)];
        let shift = F61::new(1 << BEYOND);
        let rest = known.mul(shift).sub(c).add(F61::new(1 << 59)).value();
        let read = (rest >> BEYOND) as i64 + 1 - (1 << (59 - BEYOND));
        let input = case.inputs[0].cell(0, 0);
        panic!("the corrupted party reads {read} out of a comparison, of the input {input}");
    }
    let honest = ends[0].as_ref().expect_err("a party lied");
    assert!(honest.to_string().contains("the MAC of an opened value"), "{honest}");
}
