//! The whole stack between two threads over an in-process channel.

use std::thread;

use curve25519_dalek::Scalar;
use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use phineus_channels::{Channel, MemoryChannel, memory_pair};
use phineus_crypto::{Block, Delta, Prg};
use sha2::{Digest, Sha256, Sha512};

use crate::limits::{BASE_OT_COUNT, BATCH_OTS, BATCHES_AHEAD, FIELD_BITS_MAX, TILE_OTS};
use crate::*;

mod flavours;
mod lpn_attacks;
mod malicious;
mod silent;

const COUNTS: [usize; 7] = [0, 1, 127, 128, 129, BATCH_OTS, 20_000];

fn prg(seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed))
}

fn session(seed: u128) -> SessionId {
    let mut bytes = [0x5e; 32];
    bytes[..16].copy_from_slice(&seed.to_le_bytes());
    SessionId::new(bytes)
}

fn random_choices(prg: &mut Prg, count: usize) -> Vec<u64> {
    (0..count.div_ceil(64)).map(|_| prg.next_block().to_bits() as u64).collect()
}

fn bit(choices: &[u64], index: usize) -> bool {
    choices[index / 64] >> (index % 64) & 1 == 1
}

fn bits(blocks: &[Block]) -> Vec<u128> {
    blocks.iter().map(|block| block.to_bits()).collect()
}

/// Runs both parties at the same time and gives both results.
fn both<A: Send + 'static, B>(
    sender: impl FnOnce(MemoryChannel) -> A + Send + 'static,
    receiver: impl FnOnce(MemoryChannel) -> B,
) -> (A, B) {
    let (a, b) = memory_pair();
    let sender = thread::spawn(move || sender(a));
    let received = receiver(b);
    (sender.join().expect("the sender does not panic"), received)
}

fn setup_sender(channel: &mut MemoryChannel, field: FieldBits, seed: u128) -> SoftSpokenSender {
    let mut prg = prg(seed);
    let delta = Delta::random(&mut prg);
    SoftSpokenSender::setup(channel, &mut prg, &session(seed), field, delta)
        .expect("the receiver is honest")
}

fn setup_receiver(channel: &mut MemoryChannel, field: FieldBits, seed: u128) -> SoftSpokenReceiver {
    SoftSpokenReceiver::setup(channel, &mut prg(!seed), &session(seed), field)
        .expect("the sender is honest")
}

/// The definition of correlated OT.
fn assert_correlated(delta: u128, q: &[Block], choices: &[u64], t: &[Block], what: &str) {
    assert_eq!(q.len(), t.len());
    for (j, (q, t)) in q.iter().zip(t).enumerate() {
        let expected = q.to_bits() ^ if bit(choices, j) { delta } else { 0 };
        assert_eq!(t.to_bits(), expected, "OT {j}, {what}");
    }
}

#[test]
fn base_ots_agree_and_hide_the_other_pad() {
    let seed = 0xba5e;
    let choices = random_choices(&mut prg(seed), BASE_OT_COUNT);
    let mine = choices.clone();
    let (pads, got) = both(
        move |mut channel| {
            let mut pads = vec![[Block::ZERO; 2]; BASE_OT_COUNT];
            base::send(&mut channel, &mut prg(seed), &session(seed), &mut pads)
                .expect("the receiver is honest");
            let traffic = channel.traffic();
            let bytes = base::message_bytes(BASE_OT_COUNT);
            assert_eq!((traffic.received_bytes, traffic.sent_bytes), bytes);
            pads
        },
        |mut channel| {
            let mut got = vec![Block::ZERO; BASE_OT_COUNT];
            base::receive(&mut channel, &mut prg(!seed), &session(seed), &mine, &mut got)
                .expect("the sender is honest");
            got
        },
    );
    let mut seen = std::collections::HashSet::new();
    for (i, (pad, got)) in pads.iter().zip(&got).enumerate() {
        let choice = usize::from(bit(&choices, i));
        assert_eq!(got.to_bits(), pad[choice].to_bits(), "OT {i}, seed {seed:#x}");
        assert!(seen.insert(pad[0].to_bits()) && seen.insert(pad[1].to_bits()), "pads repeat");
    }
}

/// A few OTs against the formulas of `docs/protocols/ot.md`, one by one, and as they always were.
#[test]
fn base_ots_are_as_documented() {
    let choices = [0b0110_1001];
    let ((pads, functions), got) = both(
        |mut channel| {
            let mut functions = [[0; 80]; 8];
            let mut element = [0; 32];
            // Stands between the parties, so that the messages are seen.
            channel.recv(functions.as_flattened_mut()).expect("the receiver is honest");
            let (mut near, mut far) = memory_pair();
            near.send(functions.as_flattened()).expect("the channel is open");
            near.flush().expect("the channel is open");
            let mut pads = [[Block::ZERO; 2]; 8];
            base::send(&mut far, &mut prg(1), &session(3), &mut pads).expect("it is honest");
            near.recv(&mut element).expect("the sender is honest");
            channel.send(&element).expect("the channel is open");
            channel.flush().expect("the channel is open");
            (pads, functions)
        },
        |mut channel| {
            let mut got = [Block::ZERO; 8];
            base::receive(&mut channel, &mut prg(2), &session(3), &choices, &mut got)
                .expect("it is honest");
            got
        },
    );
    let mut secret = [0; 64];
    prg(1).fill_bytes(&mut secret);
    let secret = Scalar::from_bytes_mod_order_wide(&secret) * Scalar::from(2u8);
    for (i, (pads, function)) in pads.iter().zip(&functions).enumerate() {
        assert_eq!(got[i].to_bits(), pads[usize::from(bit(&choices, i))].to_bits());
        for (c, pad) in (0..).zip(pads) {
            assert_eq!(pad.to_bits(), documented_pad(&secret, i as u64, c, function));
        }
    }
    let fold = |sum: u128, pad: &Block| sum.rotate_left(7) ^ pad.to_bits();
    let all = pads.as_flattened().iter().fold(0, fold);
    assert_eq!(all, 0x926f_7729_86c0_b9f6_d49a_a3eb_651d_ad32, "{all:#x}");
}

fn documented_pad(secret: &Scalar, index: u64, choice: u8, function: &[u8; 80]) -> u128 {
    let tag = [session(3).as_bytes().as_slice(), &index.to_le_bytes(), &[choice]].concat();
    let (element, string) = function.split_at(32);
    let mask = Sha512::digest([&b"phineus base OT string 2"[..], &tag, element].concat());
    let string: Vec<u8> = string.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    let hash = Sha512::digest([&b"phineus base OT point 3"[..], &tag, &string].concat());
    let map = |half: &[u8]| RistrettoPoint::map_to_curve(half.try_into().expect("32 bytes"));
    let point = (map(&hash[..32]) + map(&hash[32..])) * Scalar::from(2u8);
    let encoded = CompressedRistretto::from_slice(element).expect("32 bytes");
    let key = secret * (encoded.decompress().expect("the receiver is honest") + point);
    let sender = (secret * RISTRETTO_BASEPOINT_POINT).compress();
    let seen = [&b"phineus base OT pad 2"[..], &tag, sender.as_bytes(), function].concat();
    let digest =
        Sha256::new().chain_update(seen).chain_update(key.compress().as_bytes()).finalize();
    u128::from_le_bytes(digest[..16].try_into().expect("16 bytes"))
}

/// A receiver whose message is changed on the way gets other pads than the sender, in that OT only.
#[test]
fn every_byte_of_a_base_ot_counts() {
    for place in [0, 31, 32, 79] {
        let (pads, got) = both(
            move |mut channel| {
                let mut functions = [0; 2 * 80];
                let mut element = [0; 32];
                // Stands between the parties: takes the receiver's message and changes a byte.
                channel.recv(&mut functions).expect("the receiver is honest");
                functions[80 + place] ^= 2;
                let (mut near, mut far) = memory_pair();
                near.send(&functions).expect("the channel is open");
                near.flush().expect("the channel is open");
                let mut pads = [[Block::ZERO; 2]; 2];
                let sent = base::send(&mut far, &mut prg(1), &session(3), &mut pads);
                near.recv(&mut element).expect("the sender's element comes first");
                channel.send(&element).expect("the channel is open");
                channel.flush().expect("the channel is open");
                sent.map(|()| pads)
            },
            |mut channel| {
                let mut got = [Block::ZERO; 2];
                base::receive(&mut channel, &mut prg(2), &session(3), &[0b10], &mut got)
                    .expect("the sender is honest");
                got
            },
        );
        // Half of all strings are no elements, and refused.
        let Ok(pads) = pads else { continue };
        assert_eq!(got[0].to_bits(), pads[0][0].to_bits());
        assert!(pads[1].iter().all(|pad| pad.to_bits() != got[1].to_bits()), "byte {place}");
    }
}

#[test]
fn parties_of_different_sessions_do_not_agree() {
    let seed = 0x5e55;
    let (q, (choices, t)) = both(
        move |mut channel| {
            let mut sender = setup_sender(&mut channel, FieldBits::DEFAULT, seed);
            let mut q = vec![Block::ZERO; 256];
            sender.extend(&mut channel, &mut q).expect("the receiver is honest");
            (sender.delta().block().to_bits(), q)
        },
        |mut channel| {
            let mut prg = prg(!seed);
            let other = session(seed + 1);
            let field = FieldBits::DEFAULT;
            let mut receiver = SoftSpokenReceiver::setup(&mut channel, &mut prg, &other, field)
                .expect("nothing is malformed");
            let choices = random_choices(&mut prg, 256);
            let mut t = vec![Block::ZERO; 256];
            receiver.extend(&mut channel, &choices, &mut t).expect("the sender is honest");
            (choices, t)
        },
    );
    let (delta, q) = q;
    let agreeing = (0..256)
        .filter(|&j| t[j].to_bits() == q[j].to_bits() ^ if bit(&choices, j) { delta } else { 0 })
        .count();
    assert_eq!(agreeing, 0, "pads must depend on the session, seed {seed:#x}");
}

#[test]
fn correlation_and_bytes_are_exact_for_every_count_and_field() {
    for k in 1..=FIELD_BITS_MAX {
        let field = FieldBits::new(k).expect("k is in range");
        let seed = 0xc0 + k as u128;
        let (sent, received) = both(
            move |mut channel| {
                let mut sender = setup_sender(&mut channel, field, seed);
                let traffic = channel.traffic();
                assert_eq!((traffic.sent_bytes, traffic.received_bytes), setup_bytes(field));
                let delta = sender.delta().block();
                assert_eq!(delta.select_u64(), 1, "free XOR needs the select bit");
                let outputs = COUNTS.map(|count| {
                    let before = channel.traffic();
                    let mut q = vec![Block::ZERO; count];
                    sender.extend(&mut channel, &mut q).expect("the receiver is honest");
                    let after = channel.traffic();
                    assert_eq!(after.sent_bytes, before.sent_bytes, "a sender only receives");
                    let bytes = after.received_bytes - before.received_bytes;
                    assert_eq!(bytes, extension_bytes(count as u64, field), "count {count}");
                    let mut random = vec![Block::ZERO; count];
                    sender.extend_random(&mut channel, &mut random).expect("honest");
                    let bytes = channel.traffic().received_bytes - after.received_bytes;
                    assert_eq!(bytes, random_extension_bytes(count as u64, field));
                    (q, random)
                });
                (delta.to_bits(), outputs)
            },
            |mut channel| {
                let mut receiver = setup_receiver(&mut channel, field, seed);
                let mut prg = prg(seed + 77);
                COUNTS.map(|count| {
                    let choices = random_choices(&mut prg, count);
                    let mut t = vec![Block::ZERO; count];
                    receiver.extend(&mut channel, &choices, &mut t).expect("honest");
                    let mut drawn = vec![0; choices.len()];
                    let mut random = vec![Block::ZERO; count];
                    receiver.extend_random(&mut channel, &mut drawn, &mut random).expect("honest");
                    (choices, t, drawn, random)
                })
            },
        );
        let (delta, sent) = sent;
        let mut seen = std::collections::HashSet::new();
        for (i, count) in COUNTS.into_iter().enumerate() {
            let what = format!("k {k}, count {count}, seed {seed:#x}");
            let (choices, t, drawn, random) = &received[i];
            assert_correlated(delta, &sent[i].0, choices, t, &what);
            assert_correlated(delta, &sent[i].1, drawn, random, &what);
            assert!(bits(t).into_iter().all(|t| seen.insert(t)), "outputs repeat, {what}");
        }
        // Random choices are neither constant nor those of another extension.
        let ones: u32 = received[5].2.iter().map(|word| word.count_ones()).sum();
        assert!((7_700..8_700).contains(&ones), "16384 random choices, k {k}, seed {seed:#x}");
    }
}

#[test]
fn a_setting_costs_what_the_issue_demands() {
    assert_eq!(extension_bytes(1 << 20, FieldBits::DEFAULT) * 8, 32 << 20);
    assert_eq!(extension_bytes(1 << 20, FieldBits::LAN) * 8, 64 << 20);
    assert_eq!(random_extension_bytes(1 << 20, FieldBits::DEFAULT) * 8, 31 << 20);
    assert!(FieldBits::new(0).is_none() && FieldBits::new(FIELD_BITS_MAX + 1).is_none());
}

#[test]
fn a_receiver_runs_several_batches_ahead() {
    let seed = 0xa4ead;
    let (mut a, mut b) = memory_pair();
    let other = thread::spawn(move || {
        let sender = setup_sender(&mut a, FieldBits::DEFAULT, seed);
        (sender, a)
    });
    let mut receiver = setup_receiver(&mut b, FieldBits::DEFAULT, seed);
    let (mut sender, mut a) = other.join().expect("the sender does not panic");
    // One thread: the receiver finishes five batches before the sender looks at the first.
    let choices = random_choices(&mut prg(seed), 5 * BATCH_OTS);
    let mut t = vec![Block::ZERO; 5 * BATCH_OTS];
    for (choices, t) in choices.chunks(BATCH_OTS / 64).zip(t.chunks_mut(BATCH_OTS)) {
        receiver.extend(&mut b, choices, t).expect("sending ahead does not block");
    }
    let mut q = vec![Block::ZERO; 5 * BATCH_OTS];
    // In pieces of other sizes: whole tiles compose.
    for q in q.chunks_mut(3 * TILE_OTS) {
        sender.extend(&mut a, q).expect("everything has arrived");
    }
    let delta = sender.delta().block().to_bits();
    assert_correlated(delta, &q, &choices, &t, &format!("seed {seed:#x}"));
}

/// Random and chosen OTs over the given correlated OTs, for every count of the list.
fn random_and_chosen<S, R>(
    seed: u128,
    sender: impl Fn(&mut MemoryChannel) -> S + Send + Clone + 'static,
    receiver: impl Fn(&mut MemoryChannel) -> R,
) where
    S: CorrelatedOtSender,
    R: CorrelatedOtReceiver,
{
    let counts = [0, 1, 127, 128, 129, BATCH_OTS, 20_000, (BATCHES_AHEAD + 2) * BATCH_OTS + 5];
    let offers = move |count: usize| {
        let mut offers = vec![[Block::ZERO; 2]; count];
        prg(seed + 1).fill_blocks(offers.as_flattened_mut());
        offers
    };
    let make_random = sender.clone();
    let (pads, got) = both(
        move |mut channel| {
            let mut random = RandomOtSender::new(make_random(&mut channel), &session(seed));
            counts.map(|count| {
                let mut chosen = vec![[Block::ZERO; 2]; count];
                random.extend(&mut channel, &mut chosen).expect("the receiver is honest");
                let mut drawn = vec![[Block::ZERO; 2]; count];
                random.extend_random(&mut channel, &mut drawn).expect("the receiver is honest");
                [chosen, drawn]
            })
        },
        |mut channel| {
            let mut random = RandomOtReceiver::new(receiver(&mut channel), &session(seed));
            counts.map(|count| {
                let choices = random_choices(&mut prg(seed), count);
                let mut chosen = vec![Block::ZERO; count];
                random.extend(&mut channel, &choices, &mut chosen).expect("honest");
                let mut drawn_choices = vec![0; choices.len()];
                let mut drawn = vec![Block::ZERO; count];
                random.extend_random(&mut channel, &mut drawn_choices, &mut drawn).expect("honest");
                [(choices, chosen), (drawn_choices, drawn)]
            })
        },
    );
    for (pads, got) in pads.iter().flatten().zip(got.iter().flatten()) {
        let (choices, got) = got;
        for (j, (pads, got)) in pads.iter().zip(got).enumerate() {
            let choice = usize::from(bit(choices, j));
            assert_eq!(got.to_bits(), pads[choice].to_bits(), "OT {j}, seed {seed:#x}");
            assert_ne!(got.to_bits(), pads[1 - choice].to_bits(), "OT {j}, seed {seed:#x}");
        }
    }

    let (sent_bytes, ()) = both(
        move |mut channel| {
            let mut chosen = ChosenOtSender::new(sender(&mut channel), &session(seed));
            let before = channel.traffic().sent_bytes;
            for count in counts {
                chosen.send(&mut channel, &offers(count)).expect("the receiver is honest");
            }
            channel.traffic().sent_bytes - before
        },
        |mut channel| {
            let mut chosen = ChosenOtReceiver::new(receiver(&mut channel), &session(seed));
            for count in counts {
                let choices = random_choices(&mut prg(seed + 2), count);
                let mut got = vec![Block::ZERO; count];
                chosen.receive(&mut channel, &choices, &mut got).expect("honest");
                for (j, (got, offer)) in got.iter().zip(offers(count)).enumerate() {
                    let expected = offer[usize::from(bit(&choices, j))];
                    assert_eq!(got.to_bits(), expected.to_bits(), "OT {j}, seed {seed:#x}");
                }
            }
        },
    );
    assert_eq!(sent_bytes, 32 * counts.iter().sum::<usize>() as u64);
}

#[test]
fn random_and_chosen_ots_over_the_ideal_dealer() {
    let seed = 0x1dea1;
    let delta = Delta::random(&mut prg(seed));
    let other = delta.clone();
    let block = Block::from_bits(seed);
    random_and_chosen(
        seed,
        move |_| ideal::pair(block, delta.clone()).0,
        move |_| ideal::pair(block, other.clone()).1,
    );
}

#[test]
fn random_and_chosen_ots_over_softspoken() {
    for (field, seed) in [(FieldBits::LAN, 0x2ea1), (FieldBits::DEFAULT, 0x4ea1)] {
        random_and_chosen(
            seed,
            move |channel| setup_sender(channel, field, seed),
            move |channel| setup_receiver(channel, field, seed),
        );
    }
}

#[test]
fn a_peer_that_leaves_anywhere_gives_an_error() {
    let seed = 0x1ea5e;
    // What an honest receiver sends in a set-up and an extension: 32 bytes, 3 KiB, 4 KiB.
    let total = 32 + 96 * 32 + extension_bytes(1024, FieldBits::DEFAULT) as usize;
    for cut in [0, 1, 31, 32, 33, 100, 32 + 96 * 32 - 1, 32 + 96 * 32, total - 1] {
        let (result, ()) = both(
            move |mut channel| {
                let mut prg = prg(seed);
                let delta = Delta::random(&mut prg);
                let field = FieldBits::DEFAULT;
                let mut sender =
                    SoftSpokenSender::setup(&mut channel, &mut prg, &session(seed), field, delta)?;
                sender.extend(&mut channel, &mut vec![Block::ZERO; 1024])
            },
            |mut channel| {
                // A valid element first, so that later cuts are reached.
                let element = curve25519_dalek::constants::RISTRETTO_BASEPOINT_COMPRESSED;
                let mut bytes = element.to_bytes().to_vec();
                bytes.resize(total, 7);
                channel.send(&bytes[..cut]).expect("the channel is open");
                channel.flush().expect("the channel is open");
            },
        );
        assert!(matches!(result, Err(OtError::Channel(_))), "cut {cut}");
    }
}

#[test]
fn points_off_the_group_are_refused() {
    let mut identity = [0u8; 32];
    let not_a_point = [0xff; 32];
    for element in [identity, not_a_point] {
        let (result, ()) = both(
            move |mut channel| {
                let choices = [5];
                let mut pads = [Block::ZERO; 3];
                base::receive(&mut channel, &mut prg(1), &session(1), &choices, &mut pads)
            },
            move |mut channel| {
                channel.send(&element).expect("the channel is open");
                channel.flush().expect("the channel is open");
                channel.recv(&mut [0; 3 * 80]).expect("the functions come first");
            },
        );
        assert!(matches!(result, Err(OtError::Misbehaved { during: "base OT" })));
    }
    // A base OT's element may be the identity but not garbage; its string may be anything.
    identity[31] = 0x80;
    for place in 0..3 {
        let (result, ()) = both(
            move |mut channel| {
                let mut pads = [[Block::ZERO; 2]; 3];
                base::send(&mut channel, &mut prg(1), &session(1), &mut pads)
            },
            move |mut channel| {
                let mut functions = [0; 3 * 80];
                functions[80 * place..][..32].copy_from_slice(&identity);
                channel.send(&functions).expect("the channel is open");
                channel.flush().expect("the channel is open");
                channel.recv(&mut [0; 32]).expect("the element comes first");
            },
        );
        assert!(matches!(result, Err(OtError::Misbehaved { during: "base OT" })));
    }
}
