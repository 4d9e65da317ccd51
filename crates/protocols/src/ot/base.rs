//! Base oblivious transfer: 128-bit random pads from elliptic-curve key agreement.
//!
//! Source: Masny, Rindal, "Endemic Oblivious Transfer", CCS 2019 (ePrint 2019/706), Figure 8 with
//! Diffie-Hellman over Ristretto as the uniform key agreement; UC-secure against a malicious party
//! under CDH with random oracles. One sender element serves the whole batch, which needs the care
//! of McQuoid, Rosulek, Roy, "Batching Base Oblivious Transfers", ASIACRYPT 2021 (ePrint
//! 2021/682): both hashes take the session and the index, the key hash the whole transcript too.
//!
//! Cost per OT: 64 bytes to the sender (and 32 bytes once back, at the same time: one round).
//! Sender 2 scalar multiplications, 2 decompressions, 2 hashes to the group; receiver one
//! multiplication, one of the base point, and 2 maps to the group (each hash or map as much as half
//! a multiplication).
//! Invariants: constant time in choices, scalars and pads; a session identifier is used once.
//! Not protected: *endemic* OT lets a malicious party bias its own pads; OT extension allows that.

use curve25519_dalek::Scalar;
use curve25519_dalek::constants::RISTRETTO_BASEPOINT_TABLE;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::traits::IsIdentity;
use phineus_channels::Channel;
use phineus_crypto::{Block, Prg};
use sha2::{Digest, Sha256, Sha512};
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

use super::SessionId;
use super::limits::BASE_OT_CHUNK;
use crate::ProtocolError;

const POINT_BYTES: usize = 32;
/// Both elements `r_0`, `r_1` of one OT.
const PAIR_BYTES: usize = 2 * POINT_BYTES;

type Encoded = [u8; POINT_BYTES];

/// Bytes that the receiver and the sender of `count` OTs send.
pub fn message_bytes(count: usize) -> (u64, u64) {
    ((count * PAIR_BYTES) as u64, POINT_BYTES as u64)
}

/// Gives the sender's pads: `pads[i][c]` is what a receiver with choice `c` gets in OT `i`.
///
/// # Errors
/// When the channel fails or the receiver sends something that is not a group element.
pub fn send(
    channel: &mut impl Channel,
    prg: &mut Prg,
    session: &SessionId,
    pads: &mut [[Block; 2]],
) -> Result<(), ProtocolError> {
    #[cfg(test)]
    if Ideal::is_on() {
        Ideal::deal(session, pads);
        return Ok(());
    }
    // Everything is halved: the batch compression of the curve library doubles what it encodes.
    let half_secret = random_scalar(prg);
    let element = [&*half_secret * RISTRETTO_BASEPOINT_TABLE];
    let sender_element = RistrettoPoint::double_and_compress_batch(&element)[0].to_bytes();
    channel.send(&sender_element)?;
    channel.flush()?;

    let mut pairs = [[0u8; PAIR_BYTES]; BASE_OT_CHUNK];
    for (chunk, pads) in pads.chunks_mut(BASE_OT_CHUNK).enumerate() {
        let pairs = &mut pairs[..pads.len()];
        channel.recv(pairs.as_flattened_mut())?;
        let first = chunk * BASE_OT_CHUNK;
        let keys = shared_keys(session, first, pairs, &half_secret)?;
        for (i, (pad, pair)) in pads.iter_mut().zip(pairs.iter()).enumerate() {
            let transcript = Transcript { session, index: first + i, sender_element, pair };
            for (c, pad) in pad.iter_mut().enumerate() {
                *pad = transcript.pad(c as u8, &keys[2 * i + c]);
            }
        }
    }
    Ok(())
}

/// Gives the receiver's pads: `pads[i]` is the sender's `pads[i][c]` for the choice `c`, which is
/// bit `i % 64` of `choices[i / 64]`.
///
/// # Errors
/// When the channel fails or the sender sends something that is not a usable group element.
///
/// # Panics
/// If `choices` is not exactly long enough.
pub fn receive(
    channel: &mut impl Channel,
    prg: &mut Prg,
    session: &SessionId,
    choices: &[u64],
    pads: &mut [Block],
) -> Result<(), ProtocolError> {
    Asked::issue(channel, prg, session, choices, pads.len())?.finish(channel, pads)
}

/// A receiver that has sent its elements and not yet heard from the sender. Until it does, this
/// party may act as the sender of other OTs over the same channel.
pub(super) struct Asked {
    session: SessionId,
    choices: Zeroizing<Vec<u64>>,
    half_secrets: Zeroizing<Vec<Scalar>>,
    pairs: Vec<[u8; PAIR_BYTES]>,
}

impl Asked {
    /// Sends the elements of `count` OTs.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub(super) fn issue(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        choices: &[u64],
        count: usize,
    ) -> Result<Asked, ProtocolError> {
        assert_eq!(choices.len(), count.div_ceil(64), "one choice bit per pad");
        #[cfg(test)]
        if Ideal::is_on() {
            let (session, choices) = (session.clone(), Zeroizing::new(choices.to_vec()));
            return Ok(Asked { session, choices, half_secrets: Default::default(), pairs: vec![] });
        }
        let half_secrets: Zeroizing<Vec<Scalar>> =
            Zeroizing::new((0..count).map(|_| *random_scalar(prg)).collect());
        let mut pairs = vec![[0u8; PAIR_BYTES]; count];
        for (chunk, pairs) in pairs.chunks_mut(BASE_OT_CHUNK).enumerate() {
            let first = chunk * BASE_OT_CHUNK;
            let choice = |index| choice(choices, index);
            fill_pairs(prg, session, first, choice, &half_secrets[first..], pairs);
            channel.send(pairs.as_flattened())?;
            channel.flush()?;
        }
        let (session, choices) = (session.clone(), Zeroizing::new(choices.to_vec()));
        Ok(Asked { session, choices, half_secrets, pairs })
    }

    /// Takes the sender's element, which gives the pads.
    pub(super) fn finish(
        self,
        channel: &mut impl Channel,
        pads: &mut [Block],
    ) -> Result<(), ProtocolError> {
        #[cfg(test)]
        if Ideal::is_on() {
            let mut both = Zeroizing::new(vec![[Block::ZERO; 2]; pads.len()]);
            Ideal::deal(&self.session, &mut both);
            for (i, (pad, both)) in pads.iter_mut().zip(both.iter()).enumerate() {
                *pad = both[usize::from(choice(&self.choices, i).unwrap_u8())];
            }
            return Ok(());
        }
        let mut sender_element = [0u8; POINT_BYTES];
        channel.recv(&mut sender_element)?;
        let element = decode(&sender_element)?;
        if element.is_identity() {
            return Err(misbehaved());
        }
        // A table of multiples would cost as much as 148 products and save a quarter of each.
        let halves: Zeroizing<Vec<RistrettoPoint>> =
            Zeroizing::new(self.half_secrets.iter().map(|secret| secret * element).collect());
        let keys = encode_doubled(&halves);
        for (i, (pad, pair)) in pads.iter_mut().zip(&self.pairs).enumerate() {
            let transcript = Transcript { session: &self.session, index: i, sender_element, pair };
            *pad = transcript.pad(choice(&self.choices, i).unwrap_u8(), &keys[i]);
        }
        Ok(())
    }
}

fn choice(choices: &[u64], index: usize) -> Choice {
    Choice::from((choices[index / 64] >> (index % 64) & 1) as u8)
}

/// The receiver's elements: `r_(1-c)` uniform, `r_c = pk - H_c(r_(1-c))` for its public key `pk`.
fn fill_pairs(
    prg: &mut Prg,
    session: &SessionId,
    first: usize,
    choice: impl Fn(usize) -> Choice,
    half_secrets: &[Scalar],
    pairs: &mut [[u8; PAIR_BYTES]],
) {
    let halves: Zeroizing<Vec<RistrettoPoint>> =
        Zeroizing::new(pairs.iter().map(|_| random_point(prg)).collect());
    let others = encode_doubled(&halves);
    let halves: Zeroizing<Vec<RistrettoPoint>> = Zeroizing::new(
        (0..pairs.len())
            .map(|i| {
                let index = first + i;
                let choice = choice(index).unwrap_u8();
                let mask = half_hash_to_group(session, index, choice, &others[i]);
                &half_secrets[i] * RISTRETTO_BASEPOINT_TABLE - mask
            })
            .collect(),
    );
    let chosen = encode_doubled(&halves);
    for (i, pair) in pairs.iter_mut().enumerate() {
        let (left, right) = pair.split_at_mut(POINT_BYTES);
        let choice = choice(first + i);
        left.copy_from_slice(&Encoded::conditional_select(&chosen[i], &others[i], choice));
        right.copy_from_slice(&Encoded::conditional_select(&others[i], &chosen[i], choice));
    }
}

/// The sender's keys, two per OT: `secret * (r_c + H_c(r_(1-c)))`.
fn shared_keys(
    session: &SessionId,
    first: usize,
    pairs: &[[u8; PAIR_BYTES]],
    half_secret: &Scalar,
) -> Result<Zeroizing<Vec<Encoded>>, ProtocolError> {
    let mut halves = Zeroizing::new(Vec::with_capacity(2 * pairs.len()));
    for (i, pair) in pairs.iter().enumerate() {
        let (encoded, rest) = pair.split_first_chunk::<POINT_BYTES>().expect("a pair is longer");
        let encoded = [encoded, rest.first_chunk().expect("a pair holds two points")];
        for c in 0..2 {
            let mask = half_hash_to_group(session, first + i, c as u8, encoded[1 - c]);
            let public_key = decode(encoded[c])? + mask + mask;
            halves.push(half_secret * public_key);
        }
    }
    Ok(encode_doubled(&halves))
}

/// What both parties saw of one OT: bound into its pads.
struct Transcript<'a> {
    session: &'a SessionId,
    index: usize,
    sender_element: Encoded,
    pair: &'a [u8; PAIR_BYTES],
}

impl Transcript<'_> {
    /// The pad for choice `c` under the agreed `key`.
    fn pad(&self, choice: u8, key: &Encoded) -> Block {
        let digest = Sha256::new()
            .chain_update(b"phineus base OT pad 1")
            .chain_update(self.session.as_bytes())
            .chain_update((self.index as u64).to_le_bytes())
            .chain_update([choice])
            .chain_update(self.sender_element)
            .chain_update(self.pair)
            .chain_update(key)
            .finalize();
        let (half, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        Block::from_bits(u128::from_le_bytes(*half))
    }
}

/// Half of the random oracle `H_c` into the group, so that doubling gives all of it (the group has
/// odd order: doubling permutes it).
fn half_hash_to_group(
    session: &SessionId,
    index: usize,
    choice: u8,
    encoded: &Encoded,
) -> RistrettoPoint {
    let digest = Sha512::new()
        .chain_update(b"phineus base OT point 1")
        .chain_update(session.as_bytes())
        .chain_update((index as u64).to_le_bytes())
        .chain_update([choice])
        .chain_update(encoded)
        .finalize();
    RistrettoPoint::from_uniform_bytes(&digest.into())
}

/// Encodes twice each point; one field inversion for all of them.
fn encode_doubled(halves: &[RistrettoPoint]) -> Zeroizing<Vec<Encoded>> {
    let encoded = RistrettoPoint::double_and_compress_batch(halves);
    Zeroizing::new(encoded.iter().map(CompressedRistretto::to_bytes).collect())
}

fn decode(encoded: &Encoded) -> Result<RistrettoPoint, ProtocolError> {
    CompressedRistretto(*encoded).decompress().ok_or_else(misbehaved)
}

fn misbehaved() -> ProtocolError {
    ProtocolError::Misbehaved { during: "base OT" }
}

fn random_scalar(prg: &mut Prg) -> Zeroizing<Scalar> {
    let mut bytes = Zeroizing::new([0u8; 64]);
    prg.fill_bytes(&mut *bytes);
    Zeroizing::new(Scalar::from_bytes_mod_order_wide(&bytes))
}

fn random_point(prg: &mut Prg) -> RistrettoPoint {
    let mut bytes = Zeroizing::new([0u8; 64]);
    prg.fill_bytes(&mut *bytes);
    RistrettoPoint::from_uniform_bytes(&bytes)
}

/// Base OTs from a dealer in the process, for tests of what comes after them: the same pads at both
/// parties, from the session alone, and no message.
#[cfg(test)]
pub(crate) struct Ideal;

#[cfg(test)]
thread_local! {
    static IS_IDEAL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
impl Ideal {
    /// All base OTs of this thread are from the dealer, until this is dropped.
    pub(crate) fn in_this_thread() -> Ideal {
        IS_IDEAL.set(true);
        Ideal
    }

    fn is_on() -> bool {
        IS_IDEAL.get()
    }

    fn deal(session: &SessionId, pads: &mut [[Block; 2]]) {
        let digest = Sha256::new().chain_update(session.as_bytes()).finalize();
        let (seed, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        let mut prg = Prg::from_seed(Block::from_bits(u128::from_le_bytes(*seed)));
        prg.fill_blocks(pads.as_flattened_mut());
    }
}

#[cfg(test)]
impl Drop for Ideal {
    fn drop(&mut self) {
        IS_IDEAL.set(false);
    }
}
