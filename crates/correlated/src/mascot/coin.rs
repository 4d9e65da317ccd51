//! Broadcast: coins that no party can foresee, and consistency of what each party sent to all.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505): the functionality F_Rand,
//! by commitments in the random-oracle model as the paper proposes; and Goldwasser, Lindell,
//! "Secure Multi-Party Computation without Agreement", J. Cryptology 2005: messages to all are
//! sent to each, and what everybody got is compared at the end of a batch.
//!
//! Cost: 32 bytes to each peer to commit to a coin, 32 to open it; a batch commits to its coins at
//! once, when it starts. Invariants: a coin is opened when everything is fixed that it is to hit.
//! Not protected: an adversary can see a coin and stop.

use phineus_channels::{Channel, Parties};
use phineus_crypto::{Block, Prg, declassify};
use phineus_ot::SessionId;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::deviation::Deviation;
use crate::CorrelatedError;

pub(super) const DIGEST_BYTES: usize = 32;
pub(super) type Bytes32 = [u8; DIGEST_BYTES];

/// The error of every check here: never which.
pub(super) fn cheated() -> CorrelatedError {
    CorrelatedError::Cheated { during: "preprocessing" }
}

/// The error when a peer's bytes are no elements.
pub(super) fn misbehaved() -> CorrelatedError {
    CorrelatedError::Misbehaved { during: "preprocessing" }
}

/// Everything that was said to all, as this party heard it.
pub(super) struct BroadcastTranscript(Sha256);

impl BroadcastTranscript {
    pub(super) fn new(session: &SessionId) -> BroadcastTranscript {
        let hash = Sha256::new().chain_update(b"phineus mascot transcript 1");
        BroadcastTranscript(hash.chain_update(session.as_bytes()))
    }

    /// Takes in the next words, of all parties in their order.
    pub(super) fn absorb(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Digest of the transcript so far.
    pub(super) fn digest(&self) -> Bytes32 {
        self.0.clone().finalize().into()
    }
}

/// Says `mine` to all; `all` gets what every party says, this one included, in their order.
pub(super) fn say<C: Channel>(
    parties: &mut Parties<C>,
    transcript: &mut BroadcastTranscript,
    mine: &[u8],
    all: &mut [u8],
) -> Result<(), CorrelatedError> {
    assert_eq!(all.len(), mine.len() * parties.count(), "as much of every party");
    if mine.is_empty() {
        return Ok(());
    }
    let me = parties.me();
    let mut incoming: Vec<&mut [u8]> = all.chunks_exact_mut(mine.len()).collect();
    incoming[me].copy_from_slice(mine);
    declassify(&*incoming[me], "said to all");
    let own = std::mem::take(&mut incoming[me]);
    let outgoing: Vec<&[u8]> =
        (0..incoming.len()).map(|party| if party == me { &[][..] } else { mine }).collect();
    parties.exchange(&outgoing, &mut incoming)?;
    incoming[me] = own;
    transcript.absorb(all);
    Ok(())
}

/// The commitment of `party` to `value`, which starts with 32 random bytes.
pub(super) fn commitment(tag: &[u8], transcript: &Bytes32, party: usize, value: &[u8]) -> Bytes32 {
    let hash = Sha256::new().chain_update(tag).chain_update(transcript);
    hash.chain_update((party as u64).to_le_bytes()).chain_update(value).finalize().into()
}

const COIN_TAG: &[u8] = b"phineus mascot coin 1";

/// Coins that all parties have committed to.
pub(super) struct Coins {
    /// Transcript that this party's commitments are bound to.
    start: Bytes32,
    own: Zeroizing<Vec<u8>>,
    /// Of all parties, each of as many.
    commitments: Vec<u8>,
    opened: usize,
}

impl Coins {
    /// Commits to `count` coins.
    pub(super) fn commit<C: Channel>(
        parties: &mut Parties<C>,
        transcript: &mut BroadcastTranscript,
        prg: &mut Prg,
        count: usize,
        deviation: &mut impl Deviation,
    ) -> Result<Coins, CorrelatedError> {
        let start = transcript.digest();
        let mut own = Zeroizing::new(vec![0; count * DIGEST_BYTES]);
        prg.fill_bytes(&mut own);
        let mut mine = Vec::with_capacity(own.len());
        for coin in own.chunks_exact(DIGEST_BYTES) {
            mine.extend(commitment(COIN_TAG, &start, parties.me(), coin));
        }
        let mut commitments = vec![0; own.len() * parties.count()];
        say(parties, transcript, &mine, &mut commitments)?;
        deviation.coins(&mut own, DIGEST_BYTES);
        Ok(Coins { start, own, commitments, opened: 0 })
    }

    /// Opens the next coin.
    ///
    /// # Panics
    /// If all are open.
    pub(super) fn open<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        transcript: &mut BroadcastTranscript,
    ) -> Result<Prg, CorrelatedError> {
        let place = self.opened * DIGEST_BYTES..(self.opened + 1) * DIGEST_BYTES;
        self.opened += 1;
        let mut all = vec![0; DIGEST_BYTES * parties.count()];
        say(parties, transcript, &self.own[place.clone()], &mut all)?;
        let mut sum = [0; DIGEST_BYTES];
        let commitments = self.commitments.chunks_exact(self.own.len());
        for (party, (coin, theirs)) in all.chunks_exact(DIGEST_BYTES).zip(commitments).enumerate() {
            let expected = commitment(COIN_TAG, &self.start, party, coin);
            if !bool::from(expected[..].ct_eq(&theirs[place.clone()])) {
                return Err(cheated());
            }
            sum.iter_mut().zip(coin).for_each(|(sum, byte)| *sum ^= byte);
        }
        let seed = Sha256::new().chain_update(b"phineus mascot coins 1").chain_update(sum);
        let seed: Bytes32 = seed.finalize().into();
        let (half, _) = seed.split_first_chunk::<16>().expect("a digest has 32 bytes");
        Ok(Prg::from_seed(Block::from_bits(u128::from_le_bytes(*half))))
    }
}
