//! Deviating receivers: every change is caught or has no effect.

use std::thread;

use phineus_channels::{Altering, MessagePosition};
use phineus_channels::{Channel, memory_pair};
use phineus_crypto::{Block, Delta, Prg, SecretBit};

use crate::costs::{
    malicious_extension_bytes, malicious_random_extension_bytes, malicious_setup_bytes,
};
use crate::deviation::Deviation;
use crate::limits::TILE_OTS;
use crate::*;

const FIELD: FieldBits = FieldBits::DEFAULT;

fn prg(seed: u128) -> Prg {
    Prg::from_seed(Block::from_bits(seed))
}

fn session(seed: u128) -> SessionId {
    SessionId::new([seed as u8; 32])
}

fn sender(
    channel: &mut impl Channel,
    field: FieldBits,
    seed: u128,
) -> Result<SoftSpokenSender, OtError> {
    let mut prg = prg(seed);
    let delta = Delta::random(&mut prg);
    let security = AdversaryModel::Malicious;
    SoftSpokenSender::setup_for(channel, &mut prg, &session(seed), field, security, delta)
}

fn receiver(
    channel: &mut impl Channel,
    field: FieldBits,
    seed: u128,
) -> Result<SoftSpokenReceiver, OtError> {
    let mut prg = prg(!seed);
    let security = AdversaryModel::Malicious;
    SoftSpokenReceiver::setup_for(channel, &mut prg, &session(seed), field, security)
}

/// Whether the OTs are what they should be.
fn correlated(delta: &Delta, q: &[Block], choices: &[u64], t: &[Block]) -> bool {
    q.iter().zip(t).enumerate().all(|(j, (q, t))| {
        let choice = choices[j / 64] >> (j % 64) & 1 == 1;
        (*q ^ delta.block().and_bit(SecretBit::public(choice))).to_bits() == t.to_bits()
    })
}

#[test]
fn an_honest_receiver_passes_and_pays_what_is_stated() {
    let counts = [1, 127, 128, 129, TILE_OTS, 3 * TILE_OTS + 200];
    for k in [1, 2, 3, 4, 8] {
        let (field, seed) = (FieldBits::new(k).expect("k is in range"), 0xa0 + k as u128);
        let (mut a, mut b) = memory_pair();
        let other = thread::spawn(move || {
            let mut ots = sender(&mut a, field, seed).expect("the receiver is honest");
            let traffic = a.traffic();
            let expected = malicious_setup_bytes(field);
            assert_eq!((traffic.sent_bytes, traffic.received_bytes), expected);
            let made = counts.map(|count| {
                let (mut chosen, mut random) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
                let before = a.traffic().received_bytes;
                ots.extend(&mut a, &mut chosen).expect("the receiver is honest");
                let between = a.traffic().received_bytes;
                assert_eq!(between - before, malicious_extension_bytes(count as u64, field));
                ots.extend_random(&mut a, &mut random).expect("the receiver is honest");
                let bytes = a.traffic().received_bytes - between;
                assert_eq!(bytes, malicious_random_extension_bytes(count as u64, field));
                [chosen, random]
            });
            (ots.delta().clone(), made)
        });
        let mut ots = receiver(&mut b, field, seed).expect("the sender is honest");
        let mut prg = prg(seed + 50);
        let got = counts.map(|count| {
            let choices: Vec<u64> =
                (0..count.div_ceil(64)).map(|_| prg.next_block().to_bits() as u64).collect();
            let (mut t, mut random) = (vec![Block::ZERO; count], vec![Block::ZERO; count]);
            let mut drawn = vec![0; choices.len()];
            ots.extend(&mut b, &choices, &mut t).expect("the sender is honest");
            ots.extend_random(&mut b, &mut drawn, &mut random).expect("the sender is honest");
            [(choices, t), (drawn, random)]
        });
        let (delta, made) = other.join().expect("the sender does not panic");
        for (q, (choices, t)) in made.iter().flatten().zip(got.iter().flatten()) {
            assert!(correlated(&delta, q, choices, t), "{} OTs, seed {seed:#x}", q.len());
        }
    }
}

/// Flips bits of `u`: of a VOLE, that of an OT of each tile.
struct FlippedBits(Vec<(usize, usize)>);

impl Deviation for FlippedBits {
    fn vole(&mut self, vole: usize, u: &mut [Block]) {
        for &(_, ot) in self.0.iter().filter(|flipped| flipped.0 == vole) {
            u[ot / 128] ^= Block::from_bits(1 << (ot % 128));
        }
    }
}

/// One session in which the receiver does what `lie` says; whether it was caught, and else
/// whether the OTs are right.
fn session_with(
    seed: u128,
    count: usize,
    flipped: Option<u64>,
    lies: Vec<(usize, usize)>,
) -> Result<bool, OtError> {
    let (mut a, b) = memory_pair();
    let choices: Vec<u64> = vec![0x0123_4567_89ab_cdef; count.div_ceil(64)];
    let chosen = choices.clone();
    let cheat = thread::spawn(move || {
        let flip = move |place: MessagePosition, bytes: &mut [u8]| {
            let at = flipped.and_then(|at| at.checked_sub(place.first_byte));
            if let Some(byte) = at.and_then(|at| bytes.get_mut(at as usize)) {
                *byte ^= 4;
            }
        };
        let mut channel = Altering::new(b, flip);
        let ots = receiver(&mut channel, FIELD, seed)?;
        let mut ots = ots.deviating(FlippedBits(lies));
        let mut t = vec![Block::ZERO; count];
        ots.extend(&mut channel, &chosen, &mut t)?;
        Ok::<_, OtError>(t)
    });
    let result = sender(&mut a, FIELD, seed).and_then(|mut ots| {
        let mut q = vec![Block::ZERO; count];
        ots.extend(&mut a, &mut q).map(|()| (ots.delta().clone(), q))
    });
    drop(a);
    let t = cheat.join().expect("the receiver does not panic");
    let (delta, q) = result?;
    Ok(correlated(&delta, &q, &choices, &t.expect("the sender was content")))
}

#[test]
fn a_receiver_that_corrects_to_different_choices_is_caught_or_harmless() {
    let mut prg = prg(0x11e);
    let (count, mut caught) = (500, 0);
    for seed in 0..20 {
        let random = prg.next_block().to_bits() as usize;
        let lies = match seed % 4 {
            // One bit of one VOLE, a few, one in the OTs that mask the check, one beyond the last.
            0 => vec![(random % 32, random / 64 % count)],
            1 => (0..5).map(|i| ((random >> i) % 32, (random >> (2 * i)) % count)).collect(),
            2 => vec![(random % 32, 512 + random / 64 % 128)],
            _ => vec![(random % 32, count + random / 64 % 12)],
        };
        match session_with(0x1111 + seed, count, None, lies) {
            // It was about bits where delta is 0.
            Ok(right) => assert!(right, "seed {seed}"),
            Err(OtError::Misbehaved { during: "OT extension" }) => caught += 1,
            Err(error) => panic!("the wrong error: {error}"),
        }
    }
    // With four bits of delta each, 15 of 16 lies are about one of them.
    assert!(caught >= 16, "only {caught} of 20 lies were caught");
}

#[test]
fn a_receiver_that_flips_any_bit_is_caught_or_harmless() {
    let count = 500;
    let (_, setup) = malicious_setup_bytes(FIELD);
    let total = setup + malicious_extension_bytes(count as u64, FIELD);
    let (mut caught, mut tried) = (0, 0);
    for at in (0..setup).step_by(131).chain((setup..total).step_by(67)) {
        tried += 1;
        match session_with(0x2222, count, Some(at), Vec::new()) {
            // Half of a tree's sums are not looked at.
            Ok(right) => assert!(right && at < setup, "byte {at}"),
            Err(OtError::Misbehaved { .. }) => caught += 1,
            Err(error) => panic!("byte {at}, the wrong error: {error}"),
        }
    }
    assert!(4 * caught >= 3 * tried, "only {caught} of {tried} were caught");
}
