//! [`exchange`]: tables and corrections, to all peers and from them at the same time.
//!
//! Messages to a peer are parts one after the other, and so are those from it. A party is never
//! more than [`window_bytes`] ahead of what a peer has sent, so no two parties wait for each other:
//! the one that has received least can always go on.

use phineus_channels::{Channel, MAX_BORROW_BYTES, Parties};
use phineus_crypto::Block;
use zerocopy::IntoBytes;

use super::limits::window_bytes;
use crate::ProtocolError;

/// Parts of the messages that are exchanged.
pub(super) trait MessageParts {
    /// Bytes to and from `peer`.
    fn lengths(&self, peer: usize) -> (usize, usize);
    /// Writes the bytes from `at` on that `peer` gets.
    fn fill(&self, peer: usize, at: usize, bytes: &mut [u8]);
    /// Takes the bytes from `at` on that `peer` sent.
    fn take(&mut self, peer: usize, at: usize, bytes: &[u8]);
}

/// Exchanges `parts` with all peers.
pub(super) fn exchange<C: Channel>(
    parties: &mut Parties<C>,
    parts: &mut impl MessageParts,
) -> Result<(), ProtocolError> {
    let (mut sent, mut received) = (vec![0; parties.count()], vec![0; parties.count()]);
    let window = window_bytes(parties.ahead_bytes());
    loop {
        for peer in parties.peers() {
            let (length, _) = parts.lengths(peer);
            let channel = parties.channel(peer);
            while sent[peer] < length && sent[peer] < received[peer] + window {
                let piece = MAX_BORROW_BYTES.min(length - sent[peer]);
                channel.send_with(piece, |bytes| parts.fill(peer, sent[peer], bytes))?;
                sent[peer] += piece;
            }
            channel.flush()?;
        }
        let mut is_done = true;
        for peer in parties.peers() {
            let (outgoing, incoming) = parts.lengths(peer);
            let piece = MAX_BORROW_BYTES.min(incoming - received[peer]);
            if piece > 0 {
                let channel = parties.channel(peer);
                channel.recv_with(piece, |bytes| parts.take(peer, received[peer], bytes))?;
                received[peer] += piece;
            }
            is_done &= received[peer] == incoming && sent[peer] == outgoing;
        }
        if is_done {
            return Ok(());
        }
    }
}

/// Copies what part `at..` of `sources`, one after the other, holds.
pub(super) fn gather(mut at: usize, target: &mut [u8], sources: &[&[u8]]) {
    let mut done = 0;
    for source in sources {
        if at < source.len() && done < target.len() {
            let count = (source.len() - at).min(target.len() - done);
            target[done..done + count].copy_from_slice(&source[at..at + count]);
            (done, at) = (done + count, 0);
        } else {
            at = at.saturating_sub(source.len());
        }
    }
    assert_eq!(done, target.len(), "the parts are as long as they say");
}

/// XORs blocks that come in bytes, at any alignment of the pieces, into `target`.
pub(super) fn xor_bytes(target: &mut [Block], at: usize, bytes: &[u8]) {
    let target = &mut target.as_mut_bytes()[at..at + bytes.len()];
    target.iter_mut().zip(bytes).for_each(|(target, byte)| *target ^= byte);
}
