//! [`PrivateBits`]: what two parties tell each other alone in a round.

use zerocopy::IntoBytes;
use zeroize::Zeroize;

use crate::shares::words::{get, put, words};

/// Bits for one other party, and from it. They are packed, and the last byte of a round is filled up.
#[derive(Default)]
pub(super) struct PrivateBits {
    outgoing: Vec<u64>,
    outgoing_count: usize,
    /// Bits that come at the end of the round.
    coming_count: usize,
    /// Those that came at the end of the last one.
    received: Vec<u64>,
}

impl PrivateBits {
    /// Tells the first `count` of these bits at the end of the round; those beyond are 0.
    pub(super) fn push(&mut self, bits: &[u64], count: usize) {
        let at = self.outgoing_count;
        self.outgoing_count += count;
        self.outgoing.resize(words(self.outgoing_count), 0);
        put(&mut self.outgoing, at, bits, count);
    }

    /// Expects `count` bits at the end of the round; returns where they will be.
    pub(super) fn expect(&mut self, count: usize) -> usize {
        self.coming_count += count;
        self.coming_count - count
    }

    /// `count` bits that came at the end of the last round.
    pub(super) fn received(&self, at: usize, bits: &mut [u64], count: usize) {
        get(&self.received, at, bits, count);
    }

    /// Appends what is to be sent to a message.
    pub(super) fn send(&mut self, message: &mut Vec<u8>) {
        message.extend_from_slice(&self.outgoing.as_bytes()[..self.outgoing_count.div_ceil(8)]);
        self.outgoing.clear();
        self.outgoing_count = 0;
    }

    /// Whether anything is to be sent.
    pub(super) fn sends(&self) -> bool {
        self.outgoing_count > 0
    }

    /// Bytes that are going to come.
    pub(super) fn coming_bytes(&self) -> usize {
        self.coming_count.div_ceil(8)
    }

    /// Takes what came, which begins at byte `at` of `message`, out of it.
    pub(super) fn receive(&mut self, message: &mut Vec<u8>, at: usize) {
        let bytes = at..at + self.coming_bytes();
        self.received.clear();
        self.received.resize(words(self.coming_count), 0);
        self.received.as_mut_bytes()[..bytes.len()].copy_from_slice(&message[bytes.clone()]);
        message.drain(bytes);
        self.coming_count = 0;
    }
}

impl Drop for PrivateBits {
    fn drop(&mut self) {
        self.outgoing.zeroize();
        self.received.zeroize();
    }
}
