//! [`Exchange`]: the messages of a round, made and taken piece by piece.
//!
//! A message is shares, what its sender tells, and the rest, which is short. What comes in is put
//! in its place at once: nothing of the size of what is opened is held besides.

use phineus_crypto::field::Field;
use zerocopy::IntoBytes as _;

use super::{PIECE, ToldValues, no_element};
use crate::ProtocolError;

/// A round's messages on their way.
pub(super) struct Exchange<'a, F: Field> {
    pub(super) me: usize,
    /// Shares that become sums.
    pub(super) shares: &'a mut [F],
    pub(super) told: &'a mut [ToldValues<F>],
    /// Bytes after the elements of the message, and buffers for those of the others.
    pub(super) tail: &'a [u8],
    pub(super) tails: &'a mut [Vec<u8>],
    pub(super) scratch: &'a mut [F],
}

impl<F: Field> Exchange<'_, F> {
    /// Where told elements and the rest begin in a message from `party`.
    fn starts(&self, party: usize) -> [usize; 2] {
        let told = self.shares.len() * F::BYTES;
        [told, told + self.told[party].waiting.len() * F::BYTES]
    }

    /// Writes this party's message from byte `at` on.
    pub(super) fn fill(&self, _peer: usize, at: usize, buffer: &mut [u8]) {
        let [told, rest] = self.starts(self.me);
        let (shares, others) = buffer.split_at_mut(within(at, buffer.len(), told));
        shares.copy_from_slice(&self.shares.as_bytes()[at.min(told)..][..shares.len()]);
        let at = at + shares.len();
        let (own, tail) = others.split_at_mut(within(at, others.len(), rest));
        let values = self.told[self.me].waiting.as_bytes();
        own.copy_from_slice(&values[at.clamp(told, rest) - told..][..own.len()]);
        tail.copy_from_slice(&self.tail[(at + own.len()).max(rest) - rest..][..tail.len()]);
    }

    /// Takes `peer`'s message from byte `at` on: adds shares up, and keeps the rest.
    pub(super) fn take(
        &mut self,
        peer: usize,
        at: usize,
        bytes: &[u8],
    ) -> Result<(), ProtocolError> {
        let [told, rest] = self.starts(peer);
        let (shares, others) = bytes.split_at(within(at, bytes.len(), told));
        let sums = &mut self.shares[at.min(told) / F::BYTES..][..shares.len() / F::BYTES];
        for (sums, bytes) in sums.chunks_mut(PIECE).zip(shares.chunks(PIECE * F::BYTES)) {
            let theirs = &mut self.scratch[..sums.len()];
            F::read(bytes, theirs).map_err(|_| no_element())?;
            F::add_assign(sums, theirs);
        }
        let at = at + shares.len();
        let (own, tail) = others.split_at(within(at, others.len(), rest));
        let values = &mut self.told[peer].waiting[(at.clamp(told, rest) - told) / F::BYTES..];
        F::read(own, &mut values[..own.len() / F::BYTES]).map_err(|_| no_element())?;
        let start = (at + own.len()).max(rest) - rest;
        self.tails[peer][start..start + tail.len()].copy_from_slice(tail);
        Ok(())
    }
}

/// How many of `len` bytes from `at` on lie before `end`.
fn within(at: usize, len: usize, end: usize) -> usize {
    end.saturating_sub(at).min(len)
}
