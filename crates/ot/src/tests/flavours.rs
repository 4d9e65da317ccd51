//! The flavours of OT against their definitions, over the ideal dealer and over SoftSpoken.

use std::thread;

use phineus_channels::{Channel, MemoryChannel, memory_pair};
use phineus_crypto::{Block, Delta, Prg};

use crate::limits::{BATCH_OTS, HASH_BLOCKS, TILE_OTS};
use crate::packing::{mask, pack};
use crate::*;

fn prg(seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed))
}

fn random_words(seed: u128, count: usize) -> Vec<u64> {
    let mut prg = prg(seed);
    (0..count).map(|_| prg.next_block().to_bits() as u64).collect()
}

fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Both parties over the ideal dealer, whose random OTs send nothing.
fn ideal<A: Send + 'static, B>(
    seed: u128,
    sender: impl FnOnce(RandomOtSender<ideal::IdealSender>, MemoryChannel) -> A + Send + 'static,
    receiver: impl FnOnce(RandomOtReceiver<ideal::IdealReceiver>, MemoryChannel) -> B,
) -> (A, B) {
    let session = SessionId::new([seed as u8; 32]);
    let (q, t) = ideal::pair(Block::from_bits(seed), Delta::random(&mut prg(seed)));
    let (a, b) = memory_pair();
    let other = session.clone();
    let sender = thread::spawn(move || sender(RandomOtSender::new(q, &other), a));
    let received = receiver(RandomOtReceiver::new(t, &session), b);
    (sender.join().expect("the sender does not panic"), received)
}

/// Both parties over SoftSpoken.
fn real<A: Send + 'static, B>(
    seed: u128,
    sender: impl FnOnce(RandomOtSender<SoftSpokenSender>, MemoryChannel) -> A + Send + 'static,
    receiver: impl FnOnce(RandomOtReceiver<SoftSpokenReceiver>, MemoryChannel) -> B,
) -> (A, B) {
    let session = SessionId::new([seed as u8; 32]);
    let (mut a, mut b) = memory_pair();
    let other = session.clone();
    let sender = thread::spawn(move || {
        let (mut prg, field) = (prg(seed), FieldBits::DEFAULT);
        let delta = Delta::random(&mut prg);
        let q = SoftSpokenSender::setup(&mut a, &mut prg, &other, field, delta);
        sender(RandomOtSender::new(q.expect("the receiver is honest"), &other), a)
    });
    let field = FieldBits::DEFAULT;
    let t = SoftSpokenReceiver::setup(&mut b, &mut prg(!seed), &session, field);
    let received = receiver(RandomOtReceiver::new(t.expect("the sender is honest"), &session), b);
    (sender.join().expect("the sender does not panic"), received)
}

const COUNTS: [usize; 7] = [0, 1, 63, 64, 129, TILE_OTS + 65, 2 * BATCH_OTS + 1];

#[test]
fn random_bits_are_those_of_choice() {
    let seed = 0xb17;
    let (sent, got) = real(
        seed,
        |mut ots, mut channel| {
            COUNTS.map(|count| {
                let words = count.div_ceil(64);
                let mut bits = [vec![0; words], vec![0; words], vec![0; words], vec![0; words]];
                let [zero, one, other_zero, other_one] = &mut bits;
                ots.extend_bits(&mut channel, count, zero, one).expect("honest");
                ots.extend_random_bits(&mut channel, count, other_zero, other_one).expect("honest");
                bits
            })
        },
        |mut ots, mut channel| {
            COUNTS.map(|count| {
                let words = count.div_ceil(64);
                let choices = random_words(seed, words);
                let mut bits = vec![0; words];
                let chosen = ChoiceBits::Chosen(&choices);
                ots.extend_bits(&mut channel, chosen, count, &mut bits).expect("honest");
                let (mut drawn, mut other) = (vec![0; words], vec![0; words]);
                let random = ChoiceBits::Random(&mut drawn);
                ots.extend_bits(&mut channel, random, count, &mut other).expect("honest");
                [(choices, bits), (drawn, other)]
            })
        },
    );
    for ((sent, got), count) in sent.iter().zip(&got).zip(COUNTS) {
        for (sent, (choices, got)) in sent.chunks(2).zip(got) {
            let mut same = 0;
            for j in 0..count {
                let choice = usize::from(bit(choices, j));
                assert_eq!(bit(got, j), bit(&sent[choice], j), "OT {j} of {count}, {seed:#x}");
                same += usize::from(bit(&sent[0], j) == bit(&sent[1], j));
            }
            assert!(count < 1000 || (45..55).contains(&(100 * same / count)), "{seed:#x}");
            let beyond = |words: &[u64]| count % 64 != 0 && words[count / 64] >> (count % 64) != 0;
            assert!(!beyond(got) && !beyond(&sent[0]) && !beyond(&sent[1]), "bits beyond {count}");
        }
    }
}

/// The sum of two shares of an element, word by word.
fn sum(correlation: Correlation, additive: bool, left: &[u64], right: &[u64]) -> Vec<u64> {
    let last = || correlation.bits() as u32 - 64 * (correlation.words() as u32 - 1);
    let words = left.iter().zip(right);
    if additive {
        let bits = (correlation.bits() / correlation.words()) as u32;
        words.map(|(left, right)| left.wrapping_add(*right) & mask(bits)).collect()
    } else {
        let mut sums: Vec<u64> = words.map(|(left, right)| left ^ right).collect();
        assert!(sums.last().is_none_or(|sum| sum & !mask(last()) == 0));
        sums.truncate(correlation.words());
        sums
    }
}

#[test]
fn correlated_ots_share_the_product_of_choice_and_correlation() {
    let strings = [1, 7, 64, 65, 128, 300, 40_000].map(|bits| (Correlation::xor(bits), false));
    let rings = [(1, 1), (13, 3), (31, 1), (64, 1), (64, 2), (5, 2 * HASH_BLOCKS + 1)]
        .map(|(width, length)| (Correlation::additive(width, length), true));
    for (i, (correlation, additive)) in strings.into_iter().chain(rings).enumerate() {
        let (seed, words) = (0xc0de + i as u128, correlation.words());
        let count = if words > 10 { 11 } else { TILE_OTS + 70 };
        let modulus: Vec<u64> = sum_mask(correlation, additive);
        let x: Vec<u64> = random_words(seed + 1, count * words)
            .chunks(words)
            .flat_map(|x| x.iter().zip(&modulus).map(|(x, mask)| x & mask).collect::<Vec<_>>())
            .collect();
        let choices = random_words(seed + 2, count.div_ceil(64));
        let (offered, chosen) = (x.clone(), choices.clone());
        let (sent, got) = ideal(
            seed,
            move |mut ots, mut channel| {
                let mut shares = vec![0; offered.len()];
                ots.correlate(&mut channel, correlation, &offered, &mut shares).expect("honest");
                assert_eq!(channel.traffic().sent_bytes, correlation.message_bytes(count));
                shares
            },
            |mut ots, mut channel| {
                let mut shares = vec![0; count * words];
                let choices = ChoiceBits::Chosen(&chosen);
                ots.issue_correlate(&mut channel, correlation, choices, &mut shares).expect("ok");
                ots.finish_correlate(&mut channel, correlation, &chosen, &mut shares).expect("ok");
                shares
            },
        );
        let pairs = sent.chunks(words).zip(got.chunks(words)).zip(x.chunks(words));
        let mut zeros = 0;
        for (j, ((sent, got), x)) in pairs.enumerate() {
            let expected = if bit(&choices, j) { x.to_vec() } else { vec![0; words] };
            let sum = sum(correlation, additive, sent, got);
            assert_eq!(sum, expected, "OT {j}, {correlation:?}, seed {seed:#x}");
            zeros += usize::from(sent.iter().all(|share| *share == 0));
        }
        let narrow = correlation.bits() < 10;
        assert!(narrow || zeros < 3, "shares are random, {correlation:?}, seed {seed:#x}");
    }
}

fn sum_mask(correlation: Correlation, additive: bool) -> Vec<u64> {
    let words = correlation.words();
    let bits = if additive { (correlation.bits() / words) as u32 } else { 64 };
    let mut masks = vec![mask(bits); words];
    if !additive {
        masks[words - 1] = mask((correlation.bits() - 64 * (words - 1)) as u32);
    }
    masks
}

#[test]
fn products_are_shared_with_the_bits_that_they_need() {
    for width in [1, 2, 5, 31, 32, 33, 63, 64] {
        let (seed, count) = (0x960d + u128::from(width), 700);
        let modulus = mask(width.into());
        let masked = |seed| random_words(seed, count).into_iter().map(move |word| word & modulus);
        let (x, y): (Vec<u64>, Vec<u64>) = (masked(seed + 1).collect(), masked(seed + 2).collect());
        let ots = count * usize::from(width);
        let mut choices = vec![0; ots.div_ceil(64)];
        pack(width.into(), &y, &mut choices);
        let offered = x.clone();
        let (sent, got) = ideal(
            seed,
            move |mut ots, mut channel| {
                let mut shares = vec![!0; count];
                ots.multiply(&mut channel, width, false, &offered, &mut shares).expect("honest");
                assert_eq!(channel.traffic().sent_bytes, product_bytes(width, count));
                shares
            },
            |mut random, mut channel| {
                let (mut pads, mut shares) = (vec![0; ots], vec![!0; count]);
                let chosen = ChoiceBits::Chosen(&choices);
                random.issue_multiply(&mut channel, chosen, &mut pads).expect("honest");
                let (pads, shares_now) = (&pads, &mut shares);
                random
                    .finish_multiply(&mut channel, width, &choices, pads, shares_now)
                    .expect("honest");
                shares
            },
        );
        for j in 0..count {
            let product = sent[j].wrapping_add(got[j]) & modulus;
            let expected = x[j].wrapping_mul(y[j]) & modulus;
            assert_eq!(product, expected, "product {j}, width {width}, seed {seed:#x}");
        }
    }
}

#[test]
fn ots_made_ahead_need_one_round_of_independent_messages() {
    let correlations = [
        (Correlation::xor(1), false),
        (Correlation::xor(37), false),
        (Correlation::additive(64, 1), true),
        (Correlation::additive(9, 1), true),
    ];
    for (i, (correlation, additive)) in correlations.into_iter().enumerate() {
        let (seed, count, uses) = (0xbea7e4 + i as u128, 1000, [1, 0, 64, 700, 235]);
        let modulus = sum_mask(correlation, additive)[0];
        let x: Vec<u64> = random_words(seed, count).into_iter().map(|x| x & modulus).collect();
        let choices =
            |first: usize, uses: usize| random_words(seed + first as u128, uses.div_ceil(64));
        let offered = x.clone();
        // The sender's offers are on the way before the receiver has chosen, and the other way
        // round: each issues everything before it finishes anything.
        let (sent, got) = ideal(
            seed,
            move |mut ots, mut channel| {
                let made =
                    PrecomputedSender::preprocess(&mut ots, &mut channel, correlation, count);
                let (mut made, mut shares) = (made.expect("honest"), vec![!0; count]);
                let mut first = 0;
                for uses in uses {
                    let before = channel.traffic().sent_bytes;
                    made.issue(&mut channel, &offered[first..][..uses]).expect("honest");
                    let bytes = channel.traffic().sent_bytes - before;
                    assert_eq!(bytes, correlation.message_bytes(uses));
                    first += uses;
                }
                let mut first = 0;
                for uses in uses {
                    made.finish(&mut channel, &mut shares[first..][..uses]).expect("honest");
                    first += uses;
                }
                assert_eq!(made.left(), 0);
                shares
            },
            |mut ots, mut channel| {
                let made =
                    PrecomputedReceiver::preprocess(&mut ots, &mut channel, correlation, count);
                let (mut made, mut shares) = (made.expect("honest"), vec![!0; count]);
                let mut first = 0;
                for uses in uses {
                    let before = channel.traffic().sent_bytes;
                    made.issue(&mut channel, uses, &choices(first, uses)).expect("honest");
                    let bytes = channel.traffic().sent_bytes - before;
                    assert_eq!(bytes, uses.div_ceil(8) as u64, "one bit per OT");
                    first += uses;
                }
                let mut first = 0;
                for uses in uses {
                    let (choices, shares) = (choices(first, uses), &mut shares[first..][..uses]);
                    made.finish(&mut channel, &choices, shares).expect("honest");
                    first += uses;
                }
                shares
            },
        );
        let mut first = 0;
        for uses in uses {
            let choices = choices(first, uses);
            for j in 0..uses {
                let expected = if bit(&choices, j) { x[first + j] } else { 0 };
                let (left, right) = ([sent[first + j]], [got[first + j]]);
                let sum = sum(correlation, additive, &left, &right);
                assert_eq!(sum, [expected], "OT {}, {correlation:?}, {seed:#x}", first + j);
            }
            first += uses;
        }
    }
}
