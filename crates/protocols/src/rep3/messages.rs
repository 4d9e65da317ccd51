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
        let at = place_of(self.bytes, size);
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

    /// Those of ANDs, which lie at multiples of 8 bytes.
    pub(super) fn words_mut(&mut self, at: usize, bytes: usize) -> &mut [u64] {
        &mut self.words[at / 8..][..bytes / 8]
    }

    /// As [`MaskedProducts::words_mut`], to be read.
    pub(super) fn words(&self, at: usize, bytes: usize) -> &[u64] {
        &self.words[at / 8..][..bytes / 8]
    }
}

/// Where elements of `size` bytes lie behind so many bytes.
pub(super) fn place_of(bytes: usize, size: usize) -> usize {
    bytes.next_multiple_of(size)
}

/// Shares that go one way.
#[derive(Default)]
pub(super) struct ShareMessages {
    sent: Zeroizing<Vec<u8>>,
    expected_bytes: usize,
    received: Zeroizing<Vec<u8>>,
}

impl ShareMessages {
    /// Sends a share at the end of the round.
    pub(super) fn push(&mut self, share: &[u8]) {
        self.sent.extend_from_slice(share);
    }

    /// Expects a share; returns where it will be.
    pub(super) fn expect(&mut self, bytes: usize) -> usize {
        self.expected_bytes += bytes;
        self.expected_bytes - bytes
    }

    /// A share that the last round brought.
    pub(super) fn get(&self, at: usize, bytes: usize) -> &[u8] {
        &self.received[at..at + bytes]
    }

    fn turn(&mut self) {
        self.sent.clear();
        self.expected_bytes = 0;
    }
}

/// What waits for the end of the round, and what the last round brought.
#[derive(Default)]
pub(super) struct RoundMessages {
    /// What the coming round sends to the party before, and the round after it.
    pub(super) coming: MaskedProducts,
    pub(super) following: MaskedProducts,
    /// Of the last round, the own ones and those of the party behind.
    pub(super) sent: MaskedProducts,
    pub(super) received: MaskedProducts,
    /// Of outputs: to the party before, and from the one behind.
    pub(super) outputs: ShareMessages,
    /// Of inputs and conversions: to the party behind, and from the one before.
    pub(super) inputs: ShareMessages,
}

impl RoundMessages {
    /// Ends the round.
    pub(super) fn exchange<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
    ) -> Result<(), ProtocolError> {
        let (previous, next) = neighbours(parties.me());
        let products = self.coming.bytes;
        self.received.resize(products);
        self.received.bytes = products;
        for shares in [&mut self.outputs, &mut self.inputs] {
            shares.received.resize(shares.expected_bytes, 0);
        }
        let mut lengths = vec![(0, 0); parties.count()];
        lengths[previous] = (products + self.outputs.sent.len(), self.inputs.expected_bytes);
        lengths[next] = (self.inputs.sent.len(), products + self.outputs.expected_bytes);
        let fill = |messages: &RoundMessages, peer: usize, at: usize, buffer: &mut [u8]| {
            let both = [messages.coming.bytes(0, products), &messages.outputs.sent[..]];
            let parts = if peer == previous { both } else { [&messages.inputs.sent[..], &[]] };
            copy_out(parts, at, buffer);
        };
        let take = |messages: &mut RoundMessages, peer: usize, at: usize, bytes: &[u8]| {
            let RoundMessages { received, outputs, inputs, .. } = messages;
            let parts = match peer == previous {
                true => [&mut inputs.received[..], &mut []],
                false => [received.bytes_mut(0, products), &mut outputs.received[..]],
            };
            copy_in(parts, at, bytes);
            Ok::<(), ProtocolError>(())
        };
        parties.exchange_in_pieces(&lengths, self, fill, take)?;
        // Sent, but only to this party.
        classify(self.received.bytes_mut(0, products));
        classify(&mut self.outputs.received[..]);
        classify(&mut self.inputs.received[..]);
        self.outputs.turn();
        self.inputs.turn();
        Ok(())
    }

    /// Goes on to the next round, when all has been taken that goes on with it.
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.sent, &mut self.coming);
        std::mem::swap(&mut self.coming, &mut self.following);
        self.following.bytes = 0;
    }
}

/// Fills `buffer` with what lies from `at` on in `parts`, one behind the other.
fn copy_out(parts: [&[u8]; 2], mut at: usize, mut buffer: &mut [u8]) {
    for part in parts {
        let count = part.len().saturating_sub(at).min(buffer.len());
        if count > 0 {
            let (target, rest) = buffer.split_at_mut(count);
            target.copy_from_slice(&part[at..at + count]);
            buffer = rest;
        }
        at = at.saturating_sub(part.len());
    }
    assert!(buffer.is_empty(), "as much is sent as was stated");
}

/// The inverse of [`copy_out`].
fn copy_in(parts: [&mut [u8]; 2], mut at: usize, mut bytes: &[u8]) {
    for part in parts {
        let count = part.len().saturating_sub(at).min(bytes.len());
        if count > 0 {
            part[at..at + count].copy_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
        }
        at = at.saturating_sub(part.len());
    }
    assert!(bytes.is_empty(), "as much is received as was stated");
}
