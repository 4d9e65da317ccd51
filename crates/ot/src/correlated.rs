//! Correlated OTs of chosen correlation: shares of `choice * x` for the sender's `x`.
//!
//! Source: Braun, Demmler, Schneider, Tkachenko, "MOTION", ACM TOPS 2022, Section 5.1.3, after
//! Asharov, Lindell, Schneider, Zohner, CCS 2013. Over random pads `m_0`, `m_1` the sender sends
//! `y = x + m_0 + m_1` and has the share `-m_0`; the receiver has `m_0`, or with choice 1
//! `y - m_1 = x + m_0`. In `Z_2^w` these are C+ OTs; with XOR for both signs, C-XOR OTs.
//! (The paper's receiver combines `choice * y` and its pad as the sender does, which is right for XOR.
//! The sum is symmetric in the pads, so that it does not depend on which of them an OT made ahead of
//! its choice exchanges: see `precomputed`.)
//!
//! Cost per OT: that of the random OT and the bits of the correlation; two more messages than
//! random OTs need, one in each direction: one round.
//! Not protected: a malicious sender can send any `y`, which shifts the receiver's share.

use phineus_channels::Channel;
use phineus_crypto::{Block, SecretBit};

use super::limits::HASH_BLOCKS;
use super::packing::mask;
use super::random::{ChoiceBits, RandomOtReceiver, RandomOtSender};
use super::tile::ChoiceSource;
use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

/// The group of the correlation of one OT. An element is a row of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correlation {
    additive: bool,
    words: usize,
    /// Bits of each word but the last, and of the last.
    word_bits: (u32, u32),
}

impl Correlation {
    /// Strings of `bits` bits under XOR; a string is `bits.div_ceil(64)` words.
    ///
    /// # Panics
    /// If there are no bits.
    pub fn xor(bits: usize) -> Correlation {
        assert!(bits > 0, "a correlation has bits");
        let words = bits.div_ceil(64);
        let last = (bits - (words - 1) * 64) as u32;
        Correlation { additive: false, words, word_bits: (64, last) }
    }

    /// Vectors of `length` elements of `Z_2^width`; an element is a word.
    ///
    /// # Panics
    /// If the width is not in 1 to 64, or the vector empty.
    pub fn additive(width: u16, length: usize) -> Correlation {
        assert!((1..=64).contains(&width), "a ring has 2 to 2^64 elements");
        assert!(length > 0, "a vector has elements");
        let bits = u32::from(width);
        Correlation { additive: true, words: length, word_bits: (bits, bits) }
    }

    /// Words of an element.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Bits of an element.
    pub fn bits(&self) -> usize {
        (self.words - 1) * self.word_bits.0 as usize + self.word_bits.1 as usize
    }

    /// Bytes from sender to receiver for `count` OTs, besides those of the random OTs.
    pub fn message_bytes(&self, count: usize) -> u64 {
        (self.bits() as u64 * count as u64).div_ceil(8)
    }

    /// Blocks of pad for an element.
    fn blocks(&self) -> usize {
        self.words.div_ceil(2)
    }

    /// Bits of word number `word`.
    #[inline(always)]
    fn bits_of(&self, word: usize) -> u32 {
        if word + 1 == self.words { self.word_bits.1 } else { self.word_bits.0 }
    }

    /// Message of the sender for `x`.
    #[inline(always)]
    pub(crate) fn offer(&self, x: u64, zero: u64, one: u64) -> u64 {
        if self.additive { x.wrapping_add(zero).wrapping_add(one) } else { x ^ zero ^ one }
    }

    /// The sender's share under its pad.
    #[inline(always)]
    pub(crate) fn sender_share(&self, pad: u64) -> u64 {
        if self.additive { pad.wrapping_neg() } else { pad }
    }

    /// The receiver's share under its pad.
    #[inline(always)]
    pub(crate) fn receiver_share(&self, choice: SecretBit, offer: u64, pad: u64) -> u64 {
        let chosen = choice.mask();
        if self.additive {
            // offer - pad, or pad.
            (offer & chosen).wrapping_add((pad ^ chosen).wrapping_sub(chosen))
        } else {
            (offer & chosen) ^ pad
        }
    }
}

/// Half `word` of the pad that starts at `blocks`.
#[inline(always)]
pub(crate) fn pad_word(blocks: &[Block], word: usize) -> u64 {
    (blocks[word / 2].to_bits() >> (64 * (word % 2))) as u64
}

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Makes an OT for each element of `x`, with choices of the receiver; `shares` become this
    /// party's. Receives, then sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `x` and `shares` do not hold the same number of whole elements.
    pub fn correlate(
        &mut self,
        channel: &mut impl Channel,
        correlation: Correlation,
        x: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        self.correlate_with(channel, ChoiceSource::Chosen, correlation, x, shares)
    }

    /// As [`RandomOtSender::correlate`], with random choices.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `x` and `shares` do not hold the same number of whole elements.
    pub fn correlate_random(
        &mut self,
        channel: &mut impl Channel,
        correlation: Correlation,
        x: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        self.correlate_with(channel, ChoiceSource::Random, correlation, x, shares)
    }

    fn correlate_with(
        &mut self,
        channel: &mut impl Channel,
        choices: ChoiceSource,
        correlation: Correlation,
        x: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        let (words, blocks) = (correlation.words(), correlation.blocks());
        assert_eq!(x.len(), shares.len(), "a share per element");
        assert!(x.len().is_multiple_of(words), "whole elements");
        let count = x.len() / words;
        self.extend_tiles(channel, choices, count, blocks, |sink, channel, first, zero, one| {
            let pads = zero.chunks_exact(blocks).zip(one.chunks_exact(blocks));
            let elements = x[first * words..].chunks_exact(words);
            let shares = shares[first * words..].chunks_exact_mut(words);
            for (((zero, one), x), share) in pads.zip(elements).zip(shares) {
                for word in 0..words {
                    let bits = correlation.bits_of(word);
                    let (zero, one) = (pad_word(zero, word), pad_word(one, word));
                    sink.push(correlation.offer(x[word], zero, one) & mask(bits), bits);
                    share[word] = correlation.sender_share(zero) & mask(bits);
                }
            }
            sink.send_whole(channel)
        })?;
        self.sink.finish(channel)
    }
}

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Makes OTs of 64-bit words, the first half of OTs whose correlation is not known yet:
    /// the words for choice 0 and for choice 1. Only receives.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `zero` and `one` differ in length.
    pub fn extend_words(
        &mut self,
        channel: &mut impl Channel,
        random: bool,
        zero: &mut [u64],
        one: &mut [u64],
    ) -> Result<(), OtError> {
        assert_eq!(zero.len(), one.len(), "two words per OT");
        let choices = if random { ChoiceSource::Random } else { ChoiceSource::Chosen };
        self.extend_tiles(channel, choices, zero.len(), 1, |_, _, first, zeros, ones| {
            let words = zero[first..].iter_mut().zip(&mut one[first..]);
            for ((zero, one), blocks) in words.zip(zeros.chunks_exact(1).zip(ones.chunks_exact(1)))
            {
                (*zero, *one) = (pad_word(blocks.0, 0), pad_word(blocks.1, 0));
            }
            Ok(())
        })
    }

    /// The second half: offers `x` in OTs of words; `zero` becomes this party's shares. Only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If an element has more than one word or the lengths differ.
    pub fn offer_words(
        &mut self,
        channel: &mut impl Channel,
        correlation: Correlation,
        x: &[u64],
        zero: &mut [u64],
        one: &[u64],
    ) -> Result<(), OtError> {
        assert_eq!(correlation.words(), 1, "an element is a word");
        assert!(x.len() == zero.len() && x.len() == one.len(), "an OT per element");
        let bits = correlation.bits() as u32;
        let pads = zero.chunks_mut(HASH_BLOCKS).zip(one.chunks(HASH_BLOCKS));
        for (x, (zero, one)) in x.chunks(HASH_BLOCKS).zip(pads) {
            for ((&x, zero), &one) in x.iter().zip(zero).zip(one) {
                self.sink.push(correlation.offer(x, *zero, one) & mask(bits), bits);
                *zero = correlation.sender_share(*zero) & mask(bits);
            }
            self.sink.send_whole(channel)?;
        }
        self.sink.finish(channel)
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// The first half of an OT for each element of `shares`: only sends. `shares` must stay as
    /// they are until [`RandomOtReceiver::finish_correlate`].
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `shares` does not hold whole elements, or `choices` is not exactly long enough.
    pub fn issue_correlate(
        &mut self,
        channel: &mut impl Channel,
        correlation: Correlation,
        mut choices: ChoiceBits<'_>,
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        let (words, blocks) = (correlation.words(), correlation.blocks());
        assert!(shares.len().is_multiple_of(words), "whole elements");
        let count = shares.len() / words;
        assert_eq!(choices.words().len(), count.div_ceil(64), "one choice bit per OT");
        self.extend_pieces(channel, &mut choices, count, blocks, |first, messages| {
            let shares = shares[first * words..].chunks_exact_mut(words);
            for (pad, share) in messages.chunks_exact(blocks).zip(shares) {
                for (word, share) in share.iter_mut().enumerate() {
                    *share = pad_word(pad, word);
                }
            }
        })
    }

    /// The second half: `shares` become this party's. Only receives.
    ///
    /// # Errors
    /// When the channel fails.
    pub fn finish_correlate(
        &mut self,
        channel: &mut impl Channel,
        correlation: Correlation,
        choices: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        let words = correlation.words();
        let count = shares.len() / words;
        self.source.start(correlation.bits() as u64 * count as u64);
        for (j, share) in shares.chunks_exact_mut(words).enumerate() {
            if j % 64 == 0 || correlation.bits() > 64 {
                let ots = if correlation.bits() > 64 { 1 } else { 64.min(count - j) };
                self.source.fill(channel, ots * correlation.bits())?;
            }
            let choice = SecretBit::of_packed(choices, j);
            for (word, share) in share.iter_mut().enumerate() {
                let bits = correlation.bits_of(word);
                let offer = self.source.pull(bits);
                *share = correlation.receiver_share(choice, offer, *share) & mask(bits);
            }
        }
        Ok(())
    }
}
