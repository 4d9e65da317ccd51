//! [`RoundMessages`]: what a party tells its neighbours in one round.
//!
//! To the party before go the own results of ANDs and products, and shares of outputs; to the party
//! behind go shares of inputs and of values that are converted. Both ends know all lengths from the
//! plan, so a message has no lengths in it.
//!
//! Cost: one round.

use phineus_channels::{Channel, Parties};
use phineus_crypto::secret::classify;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::PARTIES;
use super::keys::neighbours;
use crate::ProtocolError;
use crate::shares::values::{Words, blank};

/// Masked results of ANDs and products, each at a multiple of its size.
pub(super) struct MaskedProducts {
    words: Words,
    bytes: usize,
}

impl Default for MaskedProducts {
    fn default() -> MaskedProducts {
        MaskedProducts { words: blank(0), bytes: 0 }
    }
}

impl MaskedProducts {
    /// Makes room for so many bytes of elements of `size` bytes; returns where they are.
    pub(super) fn push(&mut self, bytes: usize, size: usize) -> usize {
        let at = self.bytes.next_multiple_of(size);
        self.resize(at + bytes);
        self.words.as_mut_bytes()[self.bytes..at].fill(0);
        self.bytes = at + bytes;
        at
    }

    /// Grows by a quarter at least, not to twice the size: this is most of what a run holds.
    fn resize(&mut self, bytes: usize) {
        let (needed, has) = (bytes.div_ceil(8), self.words.len());
        if needed > has {
            self.words.reserve_exact((needed - has).max(has / 4));
            self.words.resize(needed, 0);
        }
    }

    pub(super) fn bytes_mut(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        &mut self.words.as_mut_bytes()[at..][..bytes]
    }

    pub(super) fn bytes(&self, at: usize, bytes: usize) -> &[u8] {
        &self.words.as_bytes()[at..][..bytes]
    }
}

/// What waits for the end of the round, and what the last round brought.
#[derive(Default)]
pub(super) struct RoundMessages {
    /// Products that the coming round sends to the party before, and those of the round after it.
    pub(super) coming: MaskedProducts,
    pub(super) following: MaskedProducts,
    /// Of the last round, the own ones and those of the party behind.
    pub(super) sent: MaskedProducts,
    pub(super) received: MaskedProducts,
    /// Shares of outputs for the party before, which go behind the products, and bytes of those from the
    /// one behind.
    outputs: Zeroizing<Vec<u8>>,
    expected_outputs: usize,
    received_outputs_at: usize,
    /// Shares of inputs and conversions: to the party behind, and from the one before.
    shares: Zeroizing<Vec<u8>>,
    expected_shares: usize,
    received_shares: Zeroizing<Vec<u8>>,
}

impl RoundMessages {
    /// Sends a share to the party behind at the end of the round.
    pub(super) fn push_share(&mut self, share: &[u8]) {
        self.shares.extend_from_slice(share);
    }

    /// Expects a share from the party before; returns where it will be.
    pub(super) fn expect_share(&mut self, bytes: usize) -> usize {
        self.expected_shares += bytes;
        self.expected_shares - bytes
    }

    /// A share that the last round brought.
    pub(super) fn share(&self, at: usize, bytes: usize) -> &[u8] {
        &self.received_shares[at..at + bytes]
    }

    /// Sends a share of an output to the party before at the end of the round.
    pub(super) fn push_output(&mut self, share: &[u8]) {
        self.outputs.extend_from_slice(share);
    }

    /// Expects a share of an output from the party behind; returns where it will be.
    pub(super) fn expect_output(&mut self, bytes: usize) -> usize {
        self.expected_outputs += bytes;
        self.expected_outputs - bytes
    }

    /// A share of an output that the last round brought.
    pub(super) fn output(&self, at: usize, bytes: usize) -> &[u8] {
        self.received.bytes(self.received_outputs_at + at, bytes)
    }

    /// Ends the round.
    pub(super) fn exchange<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
    ) -> Result<(), ProtocolError> {
        let (previous, next) = neighbours(parties.me());
        let outputs = self.outputs.len();
        self.received_outputs_at = self.coming.push(outputs, 1);
        self.coming.bytes_mut(self.received_outputs_at, outputs).copy_from_slice(&self.outputs);
        let received_bytes = self.received_outputs_at + self.expected_outputs;
        self.received.resize(received_bytes);
        self.received_shares.resize(self.expected_shares, 0);
        let mut outgoing = [&[][..]; PARTIES];
        outgoing[previous] = self.coming.bytes(0, self.coming.bytes);
        outgoing[next] = &self.shares;
        let mut incoming: [&mut [u8]; PARTIES] = Default::default();
        incoming[previous] = &mut self.received_shares;
        incoming[next] = self.received.bytes_mut(0, received_bytes);
        parties.exchange(&outgoing, &mut incoming)?;
        // Sent, but only to this party.
        incoming.into_iter().for_each(classify);
        self.outputs.clear();
        self.shares.clear();
        (self.expected_outputs, self.expected_shares) = (0, 0);
        Ok(())
    }

    /// Goes on to the next round, when all has been taken that goes on with it.
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.sent, &mut self.coming);
        std::mem::swap(&mut self.coming, &mut self.following);
        self.following.bytes = 0;
    }
}
