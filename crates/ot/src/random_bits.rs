//! Random OTs of single bits, packed: the basis of triples in Z_2.
//!
//! Source: `random`, of whose messages only bit 0 is kept. Cost per OT: that of a random OT.
//! Bits beyond the last OT are 0.

use phineus_channels::Channel;

use super::packing::select_bits;
use super::random::{ChoiceBits, RandomOtReceiver, RandomOtSender};
use super::tile::ChoiceSource;
use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Makes `count` OTs of bits with choices of the receiver: the bits for choice 0 and for
    /// choice 1. Only receives.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `zero` or `one` is not exactly long enough.
    pub fn extend_bits(
        &mut self,
        channel: &mut impl Channel,
        count: usize,
        zero: &mut [u64],
        one: &mut [u64],
    ) -> Result<(), OtError> {
        self.bits(channel, ChoiceSource::Chosen, count, zero, one)
    }

    /// As [`RandomOtSender::extend_bits`], with random choices.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `zero` or `one` is not exactly long enough.
    pub fn extend_random_bits(
        &mut self,
        channel: &mut impl Channel,
        count: usize,
        zero: &mut [u64],
        one: &mut [u64],
    ) -> Result<(), OtError> {
        self.bits(channel, ChoiceSource::Random, count, zero, one)
    }

    fn bits(
        &mut self,
        channel: &mut impl Channel,
        choices: ChoiceSource,
        count: usize,
        zero: &mut [u64],
        one: &mut [u64],
    ) -> Result<(), OtError> {
        assert_eq!(zero.len(), count.div_ceil(64), "one bit per OT");
        assert_eq!(one.len(), zero.len(), "one bit per OT");
        self.extend_tiles(channel, choices, count, 1, |_, _, first, messages, others| {
            select_bits(messages, &mut zero[first / 64..]);
            select_bits(others, &mut one[first / 64..]);
            Ok(())
        })
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// Makes `count` OTs of bits: the sender's bits of choice. Only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` or `bits` is not exactly long enough.
    pub fn extend_bits(
        &mut self,
        channel: &mut impl Channel,
        mut choices: ChoiceBits<'_>,
        count: usize,
        bits: &mut [u64],
    ) -> Result<(), OtError> {
        assert_eq!(bits.len(), count.div_ceil(64), "one bit per OT");
        assert_eq!(choices.words().len(), bits.len(), "one choice bit per OT");
        self.extend_pieces(channel, &mut choices, count, 1, |first, messages| {
            select_bits(messages, &mut bits[first / 64..]);
        })
    }
}
