//! Commitments: parties reveal values together, so that none can choose its own after it has seen
//! the others'.
//!
//! A commitment is SHA-256 of a domain, the session, who commits, how many times it did before, the
//! message, and 128 random bits; in the random oracle model it hides (2^-128 per guess) and binds.
//! Who and how many are in it so that nobody can pass off another's, or an older one, as its own.
//! Cost: 32 bytes, and 16 besides the message when it is opened.

use phineus_crypto::Prg;
use phineus_ot::SessionId;
use sha2::{Digest, Sha256};
use zerocopy::IntoBytes;
use zeroize::Zeroize;

use crate::ProtocolError;

/// Bytes of a commitment.
pub(super) const COMMITMENT_BYTES: usize = 32;
/// Bytes of the randomness that is told when a commitment is opened.
pub(super) const RANDOMNESS_BYTES: usize = 16;

/// All parties' commitments, of which there are as many from each.
pub(super) struct Commitments {
    session: SessionId,
    me: usize,
    made: u64,
    randomness: [u8; RANDOMNESS_BYTES],
    /// Last commitment of each peer, and the number of its commitments by then.
    last: Vec<(u64, [u8; COMMITMENT_BYTES])>,
}

impl Commitments {
    pub(super) fn new(session: &SessionId, me: usize, parties: usize) -> Commitments {
        Commitments {
            session: SessionId::new(*session.as_bytes()),
            me,
            made: 0,
            randomness: [0; RANDOMNESS_BYTES],
            last: vec![(0, [0; COMMITMENT_BYTES]); parties],
        }
    }

    /// This party's commitment to `message`.
    pub(super) fn commit(&mut self, prg: &mut Prg, message: &[u8]) -> [u8; COMMITMENT_BYTES] {
        self.made += 1;
        self.randomness = *prg.next_block().as_bytes().first_chunk().expect("a block is 16 bytes");
        self.digest(self.me, self.made, message, &self.randomness)
    }

    /// Opening of this party's last commitment.
    pub(super) fn opening(&self) -> [u8; RANDOMNESS_BYTES] {
        self.randomness
    }

    /// Takes down the commitment that `party` made when this party made its last.
    pub(super) fn receive(&mut self, party: usize, commitment: &[u8]) {
        self.last[party].0 = self.made;
        self.last[party].1.copy_from_slice(commitment);
    }

    /// Whether what was last received from `party` is a commitment to `message`.
    ///
    /// # Errors
    /// If it did not.
    pub(super) fn verify(
        &self,
        party: usize,
        message: &[u8],
        randomness: &[u8],
    ) -> Result<(), ProtocolError> {
        let (number, commitment) = self.last[party];
        if self.digest(party, number, message, randomness) == commitment {
            return Ok(());
        }
        Err(ProtocolError::Cheated { during: "a commitment" })
    }

    fn digest(
        &self,
        party: usize,
        number: u64,
        message: &[u8],
        randomness: &[u8],
    ) -> [u8; COMMITMENT_BYTES] {
        let header = [party as u64, number, message.len() as u64];
        Sha256::new()
            .chain_update(b"phineus spdz commitment 1")
            .chain_update(self.session.as_bytes())
            .chain_update(header.as_bytes())
            .chain_update(message)
            .chain_update(randomness)
            .finalize()
            .into()
    }
}

impl Drop for Commitments {
    fn drop(&mut self) {
        self.randomness.zeroize();
    }
}
