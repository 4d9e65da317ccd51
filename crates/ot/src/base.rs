//! Base oblivious transfer: 128-bit random pads from elliptic-curve key agreement.
//!
//! Source: McQuoid, Rosulek, Roy, "Minimal Symmetric PAKE and 1-out-of-N OT from Programmable-Once
//! Public Functions", CCS 2020 (ePrint 2020/1043): endemic OT from a key agreement and the
//! two-round Feistel function, here Diffie-Hellman over Ristretto; UC-secure against a malicious
//! party under CDH with random oracles. One sender element serves the whole batch, which needs the
//! care of their "Batching Base Oblivious Transfers", ASIACRYPT 2021 (ePrint 2021/682): all hashes
//! take the session and the index, that of the key the whole transcript too.
//!
//! Cost per OT: 80 bytes to the sender (and 32 bytes once back, at the same time: one round).
//! Sender 2 scalar multiplications, 1 decompression, 2 hashes to the group; receiver 1
//! multiplication, 1 of the base point, 1 hash. A hash to the group is two Elligator maps; a map or
//! a decompression takes a quarter of the time of a multiplication.
//! Invariants: constant time in choices, scalars and pads; a session identifier is used once.
//! Not protected: *endemic* OT lets a malicious party bias its own pads; OT extension allows that.

use curve25519_dalek::Scalar;
use curve25519_dalek::constants::RISTRETTO_BASEPOINT_TABLE;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::traits::IsIdentity;
use phineus_channels::Channel;
use phineus_crypto::{Block, Prg};
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

use super::SessionId;
use super::limits::BASE_OT_CHUNK;
use crate::OtError;

const POINT_BYTES: usize = 32;
/// The string `s`: three times the security parameter, as the proof has it.
const STRING_BYTES: usize = 48;
/// The receiver's message of one OT: the element `T`, then `s`.
const FUNCTION_BYTES: usize = POINT_BYTES + STRING_BYTES;

type Encoded = [u8; POINT_BYTES];
type Function = [u8; FUNCTION_BYTES];

/// Bytes that the receiver and the sender of `count` OTs send.
pub fn message_bytes(count: usize) -> (u64, u64) {
    ((count * FUNCTION_BYTES) as u64, POINT_BYTES as u64)
}

/// Source of the base OTs that an extension starts from.
///
/// Protocols use [`EndemicOts`]. Tests of what comes after base OTs take them from a dealer in the
/// process (`ideal::base_ots`, with the feature `testing`), which costs no time.
pub trait BaseOts {
    /// The receiver's state between its message and the sender's.
    type ReceiverSent;

    /// Gives the sender's pads: `pads[i][c]` is what a receiver with choice `c` gets in OT `i`.
    ///
    /// # Errors
    /// When the channel fails or the receiver misbehaves.
    fn send(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        pads: &mut [[Block; 2]],
    ) -> Result<(), OtError>;

    /// Sends the receiver's message of `count` OTs. Choice `i` is bit `i % 64` of
    /// `choices[i / 64]`.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    fn issue_receive(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        choices: &[u64],
        count: usize,
    ) -> Result<Self::ReceiverSent, OtError>;

    /// Gives the receiver's pads: `pads[i]` is the sender's `pads[i][c]` for the choice `c`.
    ///
    /// # Errors
    /// When the channel fails or the sender misbehaves.
    fn finish_receive(
        sent: Self::ReceiverSent,
        channel: &mut impl Channel,
        pads: &mut [Block],
    ) -> Result<(), OtError>;
}

/// The base OTs of this module: [`send`] and [`receive`].
pub enum EndemicOts {}

impl BaseOts for EndemicOts {
    type ReceiverSent = ReceiverSent;

    fn send(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        pads: &mut [[Block; 2]],
    ) -> Result<(), OtError> {
        send(channel, prg, session, pads)
    }

    fn issue_receive(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        choices: &[u64],
        count: usize,
    ) -> Result<ReceiverSent, OtError> {
        ReceiverSent::issue(channel, prg, session, choices, count)
    }

    fn finish_receive(
        sent: ReceiverSent,
        channel: &mut impl Channel,
        pads: &mut [Block],
    ) -> Result<(), OtError> {
        sent.finish(channel, pads)
    }
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
) -> Result<(), OtError> {
    // Everything is halved: the batch compression of the curve library doubles what it encodes.
    let half_secret = random_scalar(prg);
    let element = [&*half_secret * RISTRETTO_BASEPOINT_TABLE];
    let sender_element = RistrettoPoint::double_and_compress_batch(&element)[0].to_bytes();
    channel.send(&sender_element)?;
    channel.flush()?;

    let mut functions = [[0u8; FUNCTION_BYTES]; BASE_OT_CHUNK];
    for (chunk, pads) in pads.chunks_mut(BASE_OT_CHUNK).enumerate() {
        let functions = &mut functions[..pads.len()];
        channel.recv(functions.as_flattened_mut())?;
        let first = chunk * BASE_OT_CHUNK;
        let keys = shared_keys(session, first, functions, &half_secret)?;
        for (i, (pad, function)) in pads.iter_mut().zip(functions.iter()).enumerate() {
            let transcript = OtTranscript { session, index: first + i, sender_element, function };
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
) -> Result<(), OtError> {
    ReceiverSent::issue(channel, prg, session, choices, pads.len())?.finish(channel, pads)
}

/// A receiver that has sent its elements and not yet heard from the sender. Until it does, this
/// party may act as the sender of other OTs over the same channel.
pub struct ReceiverSent {
    session: SessionId,
    choices: Zeroizing<Vec<u64>>,
    half_secrets: Zeroizing<Vec<Scalar>>,
    functions: Vec<Function>,
}

impl ReceiverSent {
    /// Sends the elements of `count` OTs.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    fn issue(
        channel: &mut impl Channel,
        prg: &mut Prg,
        session: &SessionId,
        choices: &[u64],
        count: usize,
    ) -> Result<ReceiverSent, OtError> {
        assert_eq!(choices.len(), count.div_ceil(64), "one choice bit per pad");
        let half_secrets: Zeroizing<Vec<Scalar>> =
            Zeroizing::new((0..count).map(|_| *random_scalar(prg)).collect());
        let mut functions = vec![[0u8; FUNCTION_BYTES]; count];
        for (chunk, functions) in functions.chunks_mut(BASE_OT_CHUNK).enumerate() {
            let first = chunk * BASE_OT_CHUNK;
            program(prg, session, first, choices, &half_secrets[first..], functions);
            channel.send(functions.as_flattened())?;
            channel.flush()?;
        }
        let (session, choices) = (session.clone(), Zeroizing::new(choices.to_vec()));
        Ok(ReceiverSent { session, choices, half_secrets, functions })
    }

    /// Takes the sender's element, which gives the pads.
    fn finish(self, channel: &mut impl Channel, pads: &mut [Block]) -> Result<(), OtError> {
        let mut sender_element = [0u8; POINT_BYTES];
        channel.recv(&mut sender_element)?;
        let element = decode(&sender_element)?;
        if element.is_identity() {
            return Err(misbehaved());
        }
        // A table of multiples would cost more than the quarter of each product that it saves.
        let halves: Zeroizing<Vec<RistrettoPoint>> =
            Zeroizing::new(self.half_secrets.iter().map(|secret| secret * element).collect());
        let keys = encode_doubled(&halves);
        for (index, (pad, function)) in pads.iter_mut().zip(&self.functions).enumerate() {
            let session = &self.session;
            let transcript = OtTranscript { session, index, sender_element, function };
            *pad = transcript.pad(choice(&self.choices, index), &keys[index]);
        }
        Ok(())
    }
}

/// 0 or 1; never an index where it is secret.
pub(crate) fn choice(choices: &[u64], index: usize) -> u8 {
    (choices[index / 64] >> (index % 64) & 1) as u8
}

/// The receiver's messages, functions that give its public key `Y` at its choice `c` and an element
/// out of its control elsewhere: `T = Y - H_c(r)` and `s = r xor H'_c(T)`, with random `r`.
fn program(
    prg: &mut Prg,
    session: &SessionId,
    first: usize,
    choices: &[u64],
    half_secrets: &[Scalar],
    functions: &mut [Function],
) {
    let mut strings = Zeroizing::new(vec![[0u8; STRING_BYTES]; functions.len()]);
    prg.fill_bytes(strings.as_flattened_mut());
    let halves: Zeroizing<Vec<RistrettoPoint>> = Zeroizing::new(
        (first..)
            .zip(half_secrets.iter().zip(strings.iter()))
            .map(|(index, (half_secret, string))| {
                let hash = half_hash_to_group(session, index, choice(choices, index), string);
                half_secret * RISTRETTO_BASEPOINT_TABLE - hash
            })
            .collect(),
    );
    let elements = encode_doubled(&halves);
    for (i, (function, element)) in functions.iter_mut().zip(elements.iter()).enumerate() {
        let (index, choice) = (first + i, choice(choices, first + i));
        let masked = masked(session, index, choice, element, &strings[i]);
        function[..POINT_BYTES].copy_from_slice(element);
        function[POINT_BYTES..].copy_from_slice(&*masked);
    }
}

/// The sender's keys, two per OT: `secret * (T + H_c(s xor H'_c(T)))`.
fn shared_keys(
    session: &SessionId,
    first: usize,
    functions: &[Function],
    half_secret: &Scalar,
) -> Result<Zeroizing<Vec<Encoded>>, OtError> {
    let mut halves = Zeroizing::new(Vec::with_capacity(2 * functions.len()));
    for (index, function) in (first..).zip(functions) {
        let (encoded, string) =
            function.split_first_chunk::<POINT_BYTES>().expect("it holds a point");
        let string = string.first_chunk().expect("it holds a string");
        let element = decode(encoded)?;
        for c in 0..2 {
            let string = masked(session, index, c, encoded, string);
            let half_hash = half_hash_to_group(session, index, c, &string);
            halves.push(half_secret * (element + half_hash + half_hash));
        }
    }
    Ok(encode_doubled(&halves))
}

/// Messages of one OT that both parties saw; its pads are bound to them.
struct OtTranscript<'a> {
    session: &'a SessionId,
    index: usize,
    sender_element: Encoded,
    function: &'a Function,
}

impl OtTranscript<'_> {
    /// The pad for choice `c` under the agreed `key`.
    fn pad(&self, choice: u8, key: &Encoded) -> Block {
        let digest = Sha256::new()
            .chain_update(b"phineus base OT pad 2")
            .chain_update(self.session.as_bytes())
            .chain_update((self.index as u64).to_le_bytes())
            .chain_update([choice])
            .chain_update(self.sender_element)
            .chain_update(self.function)
            .chain_update(key)
            .finalize();
        let (half, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        Block::from_bits(u128::from_le_bytes(*half))
    }
}

/// Half of the random oracle `H_c` into the group: the sum of two Elligator maps of 64 uniform bytes
/// (RFC 9496, section 4.3.4), which is statistically close to uniform. The caller doubles it; the
/// group has odd order, so doubling is a permutation and the double is as uniform as the half.
fn half_hash_to_group(
    session: &SessionId,
    index: usize,
    choice: u8,
    string: &[u8; STRING_BYTES],
) -> RistrettoPoint {
    let digest = Sha512::new()
        .chain_update(b"phineus base OT point 3")
        .chain_update(session.as_bytes())
        .chain_update((index as u64).to_le_bytes())
        .chain_update([choice])
        .chain_update(string)
        .finalize();
    RistrettoPoint::from_uniform_bytes(&digest.into())
}

/// `string` under the random oracle `H'_c` of `element`.
fn masked(
    session: &SessionId,
    index: usize,
    choice: u8,
    element: &Encoded,
    string: &[u8; STRING_BYTES],
) -> Zeroizing<[u8; STRING_BYTES]> {
    let digest = Sha512::new()
        .chain_update(b"phineus base OT string 2")
        .chain_update(session.as_bytes())
        .chain_update((index as u64).to_le_bytes())
        .chain_update([choice])
        .chain_update(element)
        .finalize();
    let mut masked = Zeroizing::new(*string);
    masked.iter_mut().zip(digest.iter()).for_each(|(byte, mask)| *byte ^= mask);
    masked
}

/// Encodes twice each point; one field inversion for all of them.
fn encode_doubled(halves: &[RistrettoPoint]) -> Zeroizing<Vec<Encoded>> {
    let encoded = RistrettoPoint::double_and_compress_batch(halves);
    Zeroizing::new(encoded.iter().map(CompressedRistretto::to_bytes).collect())
}

fn decode(encoded: &Encoded) -> Result<RistrettoPoint, OtError> {
    CompressedRistretto(*encoded).decompress().ok_or_else(misbehaved)
}

fn misbehaved() -> OtError {
    OtError::Misbehaved { during: "base OT" }
}

fn random_scalar(prg: &mut Prg) -> Zeroizing<Scalar> {
    let mut bytes = Zeroizing::new([0u8; 64]);
    prg.fill_bytes(&mut *bytes);
    Zeroizing::new(Scalar::from_bytes_mod_order_wide(&bytes))
}
