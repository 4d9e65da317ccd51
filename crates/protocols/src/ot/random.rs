//! Random OTs: correlated OTs whose correlation is broken by a hash.
//!
//! Source: Ishai, Kilian, Nissim, Petrank, "Extending Oblivious Transfers Efficiently", CRYPTO
//! 2003, the last step of its protocol, in which Roy, "SoftSpokenOT" (ePrint 2022/192), ends too.
//! The messages of OT `j` are `H(q_j, j)` and `H(q_j ^ delta, j)`; the receiver has `H(t_j, j)`.
//!
//! Cost per OT: that of the correlated OT; four AES calls at the sender, two at the receiver.
//! Invariants: the number of an OT is its tweak and never repeats in a session.

use phineus_channels::Channel;
use phineus_crypto::{Block, CrHash};
use zeroize::Zeroizing;

use super::limits::{OT_COUNT_MAX, TILE_OTS};
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId};
use crate::ProtocolError;

/// The party that gets both messages of each OT.
pub struct RandomOtSender<S> {
    correlated: S,
    pads: Pads,
    /// Room for one side of a tile.
    scratch: Zeroizing<Vec<Block>>,
}

/// The party that gets the message of its choice.
pub struct RandomOtReceiver<R> {
    correlated: R,
    pads: Pads,
}

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Random OTs from the correlated OTs of `session`, which nobody else must use.
    pub fn new(correlated: S, session: &SessionId) -> RandomOtSender<S> {
        let scratch = Zeroizing::new(vec![Block::ZERO; TILE_OTS]);
        RandomOtSender { correlated, pads: Pads::new(session), scratch }
    }

    /// Makes `messages.len()` OTs with choices of the receiver; only receives.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn extend(
        &mut self,
        channel: &mut impl Channel,
        messages: &mut [[Block; 2]],
    ) -> Result<(), ProtocolError> {
        for messages in messages.chunks_mut(TILE_OTS) {
            let q = &mut self.scratch[..messages.len()];
            self.correlated.extend(channel, q)?;
            self.pads.both(self.correlated.delta().block(), q, messages);
        }
        Ok(())
    }

    /// As [`RandomOtSender::extend`], with random choices.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        messages: &mut [[Block; 2]],
    ) -> Result<(), ProtocolError> {
        for messages in messages.chunks_mut(TILE_OTS) {
            let q = &mut self.scratch[..messages.len()];
            self.correlated.extend_random(channel, q)?;
            self.pads.both(self.correlated.delta().block(), q, messages);
        }
        Ok(())
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// Random OTs from the correlated OTs of `session`, which nobody else must use.
    pub fn new(correlated: R, session: &SessionId) -> RandomOtReceiver<R> {
        RandomOtReceiver { correlated, pads: Pads::new(session) }
    }

    /// Makes `messages.len()` OTs: `messages[j]` is the sender's `messages[j][choice j]`. Only
    /// sends. Choices are packed as for [`CorrelatedOtReceiver::extend`].
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn extend(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        messages: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.extend_unhashed(channel, choices, messages)?;
        self.hash(messages);
        Ok(())
    }

    /// As [`RandomOtReceiver::extend`], with random choices, which it writes.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn extend_random(
        &mut self,
        channel: &mut impl Channel,
        choices: &mut [u64],
        messages: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.correlated.extend_random(channel, choices, messages)?;
        self.hash(messages);
        Ok(())
    }

    /// The first half of [`RandomOtReceiver::extend`], so that more can be sent before hashing.
    pub(super) fn extend_unhashed(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        messages: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.correlated.extend(channel, choices, messages)
    }

    /// The second half: hashes in the order of the OTs.
    pub(super) fn hash(&mut self, messages: &mut [Block]) {
        let first = self.pads.advance(messages.len());
        self.pads.hash.hash_blocks(first, messages);
    }
}

/// The hash and the number of the next OT.
struct Pads {
    hash: CrHash,
    next: u64,
}

impl Pads {
    fn new(session: &SessionId) -> Pads {
        Pads { hash: CrHash::new(session.hash_key("phineus random OT 1")), next: 0 }
    }

    /// The first of `count` tweaks that are used up hereby.
    fn advance(&mut self, count: usize) -> u64 {
        let first = self.next;
        let next = first.checked_add(count as u64).filter(|next| *next <= OT_COUNT_MAX);
        self.next = next.expect("a session has at most 2^63 OTs");
        first
    }

    /// Hashes both messages of every OT; `q` is overwritten.
    fn both(&mut self, delta: Block, q: &mut [Block], messages: &mut [[Block; 2]]) {
        let first = self.advance(q.len());
        for (message, q) in messages.iter_mut().zip(q.iter()) {
            message[1] = *q ^ delta;
        }
        self.hash.hash_blocks(first, q);
        for (message, q) in messages.iter_mut().zip(q.iter_mut()) {
            message[0] = *q;
            *q = message[1];
        }
        self.hash.hash_blocks(first, q);
        for (message, q) in messages.iter_mut().zip(q.iter()) {
            message[1] = *q;
        }
    }
}
