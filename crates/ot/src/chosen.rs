//! OTs of chosen 128-bit messages: the sender's two messages under the pads of a random OT.
//!
//! Cost per OT: that of the random OT, and 32 bytes from sender to receiver. One round: the
//! receiver sends up to [`BATCHES_AHEAD`] batches before it waits for the messages of the first.
//! Adversary and assumptions are those of the random OTs below.

use phineus_channels::{Channel, MAX_BORROW_BYTES};
use phineus_crypto::{Block, SecretBit};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use super::limits::{BATCH_OTS, BATCHES_AHEAD, TILE_OTS};
use super::random::{RandomOtReceiver, RandomOtSender};
use super::{CorrelatedOtReceiver, CorrelatedOtSender, SessionId};
use crate::OtError;

const PAIR_BYTES: usize = size_of::<[Block; 2]>();
const _: () = assert!(TILE_OTS * PAIR_BYTES <= MAX_BORROW_BYTES);

/// The party with two messages per OT.
pub struct ChosenOtSender<S> {
    random: RandomOtSender<S>,
    pads: Zeroizing<Vec<[Block; 2]>>,
}

/// The party with a choice per OT.
pub struct ChosenOtReceiver<R> {
    random: RandomOtReceiver<R>,
}

impl<S: CorrelatedOtSender> ChosenOtSender<S> {
    /// Chosen OTs from the correlated OTs of `session`, which nobody else must use.
    pub fn new(correlated: S, session: &SessionId) -> ChosenOtSender<S> {
        let random = RandomOtSender::new(correlated, session);
        ChosenOtSender { random, pads: Zeroizing::new(vec![[Block::ZERO; 2]; TILE_OTS]) }
    }

    /// Makes sure that the next `count` OTs can be made; see [`CorrelatedOtSender::reserve`].
    ///
    /// # Errors
    /// When the channel fails.
    pub fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        self.random.reserve(channel, count)
    }

    /// Offers both messages of every pair.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn send(
        &mut self,
        channel: &mut impl Channel,
        messages: &[[Block; 2]],
    ) -> Result<(), OtError> {
        for (i, messages) in messages.chunks(TILE_OTS).enumerate() {
            let pads = &mut self.pads[..messages.len()];
            self.random.extend(channel, pads)?;
            for (pad, message) in pads.as_flattened_mut().iter_mut().zip(messages.as_flattened()) {
                *pad ^= *message;
            }
            channel.send(pads.as_bytes())?;
            if (i + 1).is_multiple_of(BATCH_OTS / TILE_OTS) {
                channel.flush()?;
            }
        }
        Ok(channel.flush()?)
    }
}

impl<R: CorrelatedOtReceiver> ChosenOtReceiver<R> {
    /// Chosen OTs from the correlated OTs of `session`, which nobody else must use.
    pub fn new(correlated: R, session: &SessionId) -> ChosenOtReceiver<R> {
        ChosenOtReceiver { random: RandomOtReceiver::new(correlated, session) }
    }

    /// Makes sure that the next `count` OTs can be made; see [`CorrelatedOtReceiver::reserve`].
    ///
    /// # Errors
    /// When the channel fails.
    pub fn reserve(&mut self, channel: &mut impl Channel, count: usize) -> Result<(), OtError> {
        self.random.reserve(channel, count)
    }

    /// Gets of every pair the message of choice; choices are packed as for
    /// [`CorrelatedOtReceiver::extend`].
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn receive(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        messages: &mut [Block],
    ) -> Result<(), OtError> {
        assert_eq!(choices.len(), messages.len().div_ceil(64), "one choice bit per OT");
        let count = messages.len();
        let mut extended = 0;
        for first in (0..count).step_by(BATCH_OTS) {
            let ahead = count.min(first + BATCHES_AHEAD * BATCH_OTS);
            if ahead > extended {
                let choices = &choices[extended / 64..ahead.div_ceil(64)];
                let messages = &mut messages[extended..ahead];
                self.random.extend_unhashed(channel, choices, messages)?;
                extended = ahead;
            }
            let last = count.min(first + BATCH_OTS);
            self.finish(channel, &choices[first / 64..], &mut messages[first..last])?;
        }
        Ok(())
    }

    /// Opens one batch.
    fn finish(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        messages: &mut [Block],
    ) -> Result<(), OtError> {
        self.random.hash(messages);
        for (i, messages) in messages.chunks_mut(TILE_OTS).enumerate() {
            let choices = &choices[i * TILE_OTS / 64..];
            channel.recv_with(messages.len() * PAIR_BYTES, |bytes| {
                for (j, message) in messages.iter_mut().enumerate() {
                    let block = |c: usize| {
                        let at = j * PAIR_BYTES + c * size_of::<Block>();
                        let bytes = &bytes[at..][..size_of::<Block>()];
                        Block::read_from_bytes(bytes).expect("the slice is as long as a block")
                    };
                    let (left, right) = (block(0), block(1));
                    let choice = SecretBit::of_packed(choices, j);
                    *message ^= left ^ (left ^ right).and_bit(choice);
                }
            })?;
        }
        Ok(())
    }
}
