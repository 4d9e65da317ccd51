//! End of a batch: checks the MACs of all opened values, and that all parties received the same
//! messages.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol
//! Pi_MACCheck: a random combination of the opened values, whose parties' MAC shares minus key
//! times value are committed to, opened, and must add up to zero.
//!
//! Cost: two messages of 32 bytes, and of 64 bytes and an element, to each peer.
//! Invariants: the coefficients are tossed when all openings have arrived; nothing of a batch is
//! given out before this has passed.
//! Not protected: a lie passes with probability 1/p.

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;
use phineus_crypto::field::Field;
use subtle::ConstantTimeEq;

use super::coin::{BroadcastTranscript, DIGEST_BYTES, cheated, commitment, misbehaved, say};
use super::limits::ELEMENT_BYTES_MAX;
use crate::CorrelatedError;

const TAG: &[u8] = b"phineus mascot check 1";
/// Bytes that are said in the two messages to open an element.
pub(super) const COMMIT_BYTES: usize = DIGEST_BYTES;

/// Bytes of the second message: randomness, the element, and the digest of all that was said.
pub(super) const fn open_bytes<F: Field>() -> usize {
    2 * DIGEST_BYTES + F::BYTES
}

/// Passes if the shares `sigma` of all parties add up to zero and all parties heard the same.
pub(super) fn add_up_to_zero<F: Field, C: Channel>(
    parties: &mut Parties<C>,
    transcript: &mut BroadcastTranscript,
    prg: &mut Prg,
    sigma: F,
) -> Result<(), CorrelatedError> {
    let (start, len) = (transcript.digest(), open_bytes::<F>());
    let mut mine = [0; 2 * DIGEST_BYTES + ELEMENT_BYTES_MAX];
    let mine = &mut mine[..len];
    prg.fill_bytes(&mut mine[..DIGEST_BYTES]);
    mine[DIGEST_BYTES..len - DIGEST_BYTES].copy_from_slice(sigma.as_bytes());
    let committed = |party: usize, message: &[u8]| {
        commitment(TAG, &start, party, &message[..len - DIGEST_BYTES])
    };
    let mut commitments = vec![0; COMMIT_BYTES * parties.count()];
    say(parties, transcript, &committed(parties.me(), mine), &mut commitments)?;
    let heard = transcript.digest();
    mine[len - DIGEST_BYTES..].copy_from_slice(&heard);
    let mut all = vec![0; len * parties.count()];
    say(parties, transcript, mine, &mut all)?;
    let (mut sum, mut right) = (F::ZERO, true);
    let messages = all.chunks_exact(len).zip(commitments.chunks_exact(COMMIT_BYTES));
    for (party, (message, commitment)) in messages.enumerate() {
        right &= bool::from(committed(party, message)[..].ct_eq(commitment));
        right &= bool::from(message[len - DIGEST_BYTES..].ct_eq(&heard));
        let mut element = [F::ZERO];
        let bytes = &message[DIGEST_BYTES..len - DIGEST_BYTES];
        F::read(bytes, &mut element).map_err(|_| misbehaved())?;
        sum = sum.add(element[0]);
    }
    if right && sum == F::ZERO { Ok(()) } else { Err(cheated()) }
}

/// Passes if all parties heard the same.
pub(super) fn all_heard_the_same<C: Channel>(
    parties: &mut Parties<C>,
    transcript: &mut BroadcastTranscript,
) -> Result<(), CorrelatedError> {
    let heard = transcript.digest();
    let mut all = vec![0; DIGEST_BYTES * parties.count()];
    say(parties, transcript, &heard, &mut all)?;
    let same = all.chunks_exact(DIGEST_BYTES).all(|digest| digest.ct_eq(&heard).into());
    if same { Ok(()) } else { Err(cheated()) }
}
