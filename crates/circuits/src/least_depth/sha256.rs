//! The SHA-256 compression function (FIPS 180-4, section 6.2.2) at depth about 7 a round.
//!
//! Both new words of a round are sums of six or seven terms: full adders to two rows, then one
//! prefix adder of depth 5. Terms join when they are there: `h`, `K`, `W` and `d`
//! long before the round, upper sigma 1 at its start, Ch one level later, so that two levels are
//! left before the adder. `T1` is not waited for by the sum of `a`, which runs two levels behind
//! `e` and is needed three rounds later. The schedule runs beside the rounds, and the last chaining
//! value is a term of the last four rounds.

use super::adder::sum;
use super::plan::BestNetworks;
use crate::record::{Recorder, Wire};
use crate::sha256::{ROUND_CONSTANTS, ROUNDS, WORD};

type Word = Vec<Wire>;

/// The chaining value after `block` (512 wires), from the chaining value `state`.
pub fn sha256_compress(r: &mut Recorder, state: &[Wire], block: &[Wire]) -> Vec<Wire> {
    let words =
        |value: &[Wire]| -> Vec<Word> { value.chunks(WORD).map(<[Wire]>::to_vec).collect() };
    let initial = words(state);
    let mut plans = BestNetworks::default();
    let schedule = schedule(r, &mut plans, words(block));
    let mut working: Vec<Word> = initial.clone();
    // What the results are, with the first chaining value: a and e of the last four rounds.
    let mut results: Vec<Word> = vec![Word::new(); 8];
    for (t, (w, k)) in schedule.iter().zip(ROUND_CONSTANTS).enumerate() {
        let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i: usize| working[i].clone());
        let k: Word = (0..WORD).map(|bit| Wire::constant(k >> bit & 1 == 1)).collect();
        let choice: Word = (0..WORD).map(|i| r.mux(e[i], f[i], g[i])).collect();
        let majority: Word = (0..WORD).map(|i| r.majority(a[i], b[i], c[i])).collect();
        let sigma_1 = xor_rotations(r, &e, [6, 11, 25], false);
        let sigma_0 = xor_rotations(r, &a, [2, 13, 22], false);
        let early = rows(r, &[&h, &k, w]);
        let t1: [&Word; 4] = [&early[0], &early[1], &sigma_1, &choice];
        let new_e = add_all(r, &mut plans, &[&t1[..], &[&d]].concat());
        let new_a = add_all(r, &mut plans, &[&t1[..], &[&sigma_0, &majority]].concat());
        if t + 4 >= ROUNDS {
            // The word that these become after the rounds that are left.
            let place = ROUNDS - 1 - t;
            let [first, second] = [&initial[place], &initial[place + 4]];
            let terms = [&t1[..], &[&sigma_0, &majority, first]].concat();
            results[place] = add_all(r, &mut plans, &terms);
            let terms = [&t1[..], &[&d, second]].concat();
            results[place + 4] = add_all(r, &mut plans, &terms);
        }
        working = vec![new_a, a, b, c, new_e, e, f, g];
    }
    results.concat()
}

/// The 64 words of the message schedule.
fn schedule(r: &mut Recorder, plans: &mut BestNetworks, mut words: Vec<Word>) -> Vec<Word> {
    for t in words.len()..ROUNDS {
        let sigma_1 = xor_rotations(r, &words[t - 2], [17, 19, 10], true);
        let sigma_0 = xor_rotations(r, &words[t - 15], [7, 18, 3], true);
        let next = add_all(r, plans, &[&words[t - 16], &sigma_0, &words[t - 7], &sigma_1]);
        words.push(next);
    }
    words
}

/// Two words with the sum of all, wrapping: always three words become two, the earliest first.
///
/// By words and not by columns: the bits of a word that came early would leave a column with space
/// for one carry less when the late ones come.
fn rows(r: &mut Recorder, terms: &[&Word]) -> [Word; 2] {
    let depth = |r: &Recorder, word: &Word| word.iter().map(|&wire| r.depth(wire)).max();
    let mut words: Vec<Word> = terms.iter().map(|&word| word.clone()).collect();
    while words.len() > 2 {
        words.sort_by_key(|word| std::cmp::Reverse(depth(r, word)));
        let [a, b, c] = [(); 3].map(|()| words.pop().expect("there are three"));
        let (mut sum, mut carry) = (Word::new(), vec![Wire::ZERO]);
        for ((a, b), c) in a.into_iter().zip(b).zip(c) {
            let half = r.xor2(a, b);
            sum.push(r.xor2(half, c));
            carry.push(r.majority(a, b, c));
        }
        carry.truncate(WORD);
        words.extend([sum, carry]);
    }
    words.try_into().unwrap_or_else(|_| unreachable!("two words are left"))
}

fn add_all(r: &mut Recorder, plans: &mut BestNetworks, terms: &[&Word]) -> Word {
    let [a, b] = rows(r, terms);
    sum(r, plans, &a, &b, Wire::ZERO)
}

/// The XOR of `x` rotated right by each amount; the last may be a shift.
fn xor_rotations(r: &mut Recorder, x: &[Wire], amounts: [usize; 3], last_shifts: bool) -> Word {
    (0..WORD)
        .map(|i| {
            let [a, b, c] = amounts.map(|amount| x[(i + amount) % WORD]);
            let c = if last_shifts && i + amounts[2] >= WORD { Wire::ZERO } else { c };
            let half = r.xor2(a, b);
            r.xor2(half, c)
        })
        .collect()
}
