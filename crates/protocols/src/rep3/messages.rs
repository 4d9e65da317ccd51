//! [`Messages`]: what a party tells its neighbours in one round.
//!
//! To the party before go the own results of ANDs and products, and shares of outputs; to the party
//! behind go shares of inputs and of values that are converted. Both ends know all lengths from the
//! plan, so a message has no lengths in it.
//!
//! Cost: one round.

use phineus_channels::{Channel, Parties};
use phineus_crypto::secret::classify;
use zerocopy::IntoBytes;
use zeroize::Zeroize;

use super::keys::{Keys, neighbours};
use super::ring::Elements;
use crate::ProtocolError;

/// What waits for the end of the round, and what the last round brought.
#[derive(Default)]
pub(super) struct Messages {
    /// What the ANDs of the coming round send, and what the last round's gave.
    pub(super) bits: Vec<u64>,
    received_bits: Vec<u64>,
    /// What the ANDs send in the round after it, while that is made.
    pub(super) next_bits: Vec<u64>,
    /// Elements that the coming round sends, and those of the round after it.
    pub(super) coming: Elements,
    pub(super) following: Elements,
    /// Elements of the last round: the own ones, and those of the party behind.
    pub(super) sent: Elements,
    pub(super) received: Elements,
    /// Shares of outputs: to the party before, and from the one behind.
    outputs: Vec<u8>,
    expected_output_bytes: usize,
    received_outputs: Vec<u8>,
    /// Shares of inputs and conversions: to the party behind, and from the one before.
    shares: Vec<u8>,
    expected_share_bytes: usize,
    received_shares: Vec<u8>,
}

impl Messages {
    /// Sends a share to the party behind at the end of the round.
    pub(super) fn push_share(&mut self, bytes: &[u8]) {
        self.shares.extend_from_slice(bytes);
    }

    /// Expects a share from the party before; returns where it will be.
    pub(super) fn expect_share(&mut self, bytes: usize) -> usize {
        self.expected_share_bytes += bytes;
        self.expected_share_bytes - bytes
    }

    /// A share that the last round brought.
    pub(super) fn share(&self, at: usize, bytes: usize) -> &[u8] {
        &self.received_shares[at..at + bytes]
    }

    /// Sends a share of an output to the party before at the end of the round.
    pub(super) fn push_output(&mut self, bytes: &[u8]) {
        self.outputs.extend_from_slice(bytes);
    }

    /// Expects a share of an output from the party behind; returns where it will be.
    pub(super) fn expect_output(&mut self, bytes: usize) -> usize {
        self.expected_output_bytes += bytes;
        self.expected_output_bytes - bytes
    }

    /// A share of an output that the last round brought.
    pub(super) fn output(&self, at: usize, bytes: usize) -> &[u8] {
        &self.received_outputs[at..at + bytes]
    }

    /// What the ANDs of the last round gave: the own component, and that of the party behind.
    pub(super) fn products(&mut self) -> ((&[u64], &[u64]), &mut Vec<u64>) {
        ((&self.bits, &self.received_bits), &mut self.next_bits)
    }

    /// Ends the round.
    pub(super) fn exchange<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        keys: &mut Keys,
    ) -> Result<(), ProtocolError> {
        self.coming.mask(keys);
        let (previous, next) = neighbours(parties.me());
        self.received_bits.resize(self.bits.len(), 0);
        self.received.resize_as(&self.coming);
        self.received_outputs.resize(self.expected_output_bytes, 0);
        self.received_shares.resize(self.expected_share_bytes, 0);
        let products: usize = self.to_previous()[..5].iter().map(|part| part.len()).sum();
        let mut lengths = vec![(0, 0); parties.count()];
        lengths[previous] = (products + self.outputs.len(), self.received_shares.len());
        lengths[next] = (self.shares.len(), products + self.received_outputs.len());
        let fill = |messages: &Messages, peer: usize, at: usize, buffer: &mut [u8]| match peer
            == previous
        {
            true => copy_out(&messages.to_previous(), at, buffer),
            false => copy_out(&[&messages.shares], at, buffer),
        };
        let take = |messages: &mut Messages, peer: usize, at: usize, bytes: &[u8]| {
            match peer == previous {
                true => copy_in([&mut messages.received_shares[..]], at, bytes),
                false => copy_in(messages.arriving_from_next(), at, bytes),
            }
            Ok::<(), ProtocolError>(())
        };
        parties.exchange_in_pieces(&lengths, self, fill, take)?;
        // Sent, but only to this party.
        classify(&mut self.received_bits[..]);
        self.received.parts_mut().into_iter().for_each(classify);
        classify(&mut self.received_outputs[..]);
        classify(&mut self.received_shares[..]);
        self.outputs.clear();
        self.shares.clear();
        (self.expected_output_bytes, self.expected_share_bytes) = (0, 0);
        Ok(())
    }

    /// Goes on to the next round, when all has been taken that goes on with it.
    pub(super) fn turn(&mut self) {
        std::mem::swap(&mut self.bits, &mut self.next_bits);
        self.sent.clear();
        std::mem::swap(&mut self.sent, &mut self.coming);
        std::mem::swap(&mut self.coming, &mut self.following);
    }

    fn to_previous(&self) -> [&[u8]; 6] {
        let [a, b, c, d] = self.coming.parts();
        [self.bits.as_bytes(), a, b, c, d, &self.outputs]
    }

    fn arriving_from_next(&mut self) -> [&mut [u8]; 6] {
        let [a, b, c, d] = self.received.parts_mut();
        [self.received_bits.as_mut_bytes(), a, b, c, d, &mut self.received_outputs]
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.bits.zeroize();
        self.received_bits.zeroize();
        self.next_bits.zeroize();
        for bytes in [
            &mut self.outputs,
            &mut self.received_outputs,
            &mut self.shares,
            &mut self.received_shares,
        ] {
            bytes.zeroize();
        }
    }
}

/// Fills `buffer` with what lies from `at` on in `parts`, one behind the other.
fn copy_out(parts: &[&[u8]], mut at: usize, mut buffer: &mut [u8]) {
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
fn copy_in<const PARTS: usize>(parts: [&mut [u8]; PARTS], mut at: usize, mut bytes: &[u8]) {
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
