//! Products in `Z_2^w` of one party's numbers by the other's, as additive shares.
//!
//! Source: Gilboa, "Two Party RSA Key Generation", CRYPTO 1999, Section 4.1, with C+ OTs and the
//! saving of Demmler, Schneider, Zohner, "ABY", NDSS 2015, Section III-A-5 (MOTION, Section
//! 5.2.1): the OT of bit `k` of the receiver's number works in `Z_2^(w-k)`, because its result is
//! multiplied by `2^k`.
//!
//! Cost per product: `w` OTs, `w * (w + 1) / 2` bits from sender to receiver; one round.
//! Not protected: a malicious sender can send any offers, which shifts the receiver's share.

use phineus_channels::Channel;
use phineus_crypto::SecretBit;

use super::correlated::{Correlation, pad_word};
use super::packing::{bits_at, mask};
use super::random::{ChoiceBits, RandomOtReceiver, RandomOtSender};
use super::tile::ChoiceSource;
use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

/// Bytes from sender to receiver for `count` products, besides those of the random OTs.
pub fn product_bytes(width: u16, count: usize) -> u64 {
    let width = u64::from(width);
    (width * (width + 1) / 2 * count as u64).div_ceil(8)
}

impl<S: CorrelatedOtSender> RandomOtSender<S> {
    /// Multiplies every element of `x` by a number of the receiver, whose choices are `random` or
    /// chosen; `shares` become this party's. Receives, then sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If the width is not in 1 to 64, or there is not a share per element.
    pub fn multiply(
        &mut self,
        channel: &mut impl Channel,
        width: u16,
        random: bool,
        x: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        let ring = Correlation::additive(width, 1);
        let width = u32::from(width);
        assert_eq!(x.len(), shares.len(), "a share per element");
        shares.fill(0);
        let choices = if random { ChoiceSource::Random } else { ChoiceSource::Chosen };
        let count = x.len() * width as usize;
        let (mut element, mut bit) = (0, 0);
        self.extend_tiles(channel, choices, count, 1, |sink, channel, _, zero, one| {
            for (zero, one) in zero.iter().zip(one) {
                let (zero, one) = (zero.to_bits() as u64, one.to_bits() as u64);
                let bits = width - bit;
                sink.push(ring.offer(x[element], zero, one) & mask(bits), bits);
                let share = ring.sender_share(zero) << bit;
                shares[element] = shares[element].wrapping_add(share);
                bit += 1;
                if bit == width {
                    shares[element] &= mask(width);
                    (element, bit) = (element + 1, 0);
                }
            }
            sink.send_whole(channel)
        })?;
        self.sink.finish(channel)
    }
}

impl<R: CorrelatedOtReceiver> RandomOtReceiver<R> {
    /// The first half of products by the numbers whose `width` bits each are packed in `choices`:
    /// only sends. `pads`, one per OT, are for [`RandomOtReceiver::finish_multiply`].
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If `choices` is not exactly long enough.
    pub fn issue_multiply(
        &mut self,
        channel: &mut impl Channel,
        mut choices: ChoiceBits<'_>,
        pads: &mut [u64],
    ) -> Result<(), OtError> {
        assert_eq!(choices.words().len(), pads.len().div_ceil(64), "one choice bit per OT");
        self.extend_pieces(channel, &mut choices, pads.len(), 1, |first, messages| {
            for (pad, message) in pads[first..].iter_mut().zip(messages.chunks_exact(1)) {
                *pad = pad_word(message, 0);
            }
        })
    }

    /// The second half: `shares` become this party's. Only receives.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If there are not `width` pads for every share.
    pub fn finish_multiply(
        &mut self,
        channel: &mut impl Channel,
        width: u16,
        choices: &[u64],
        pads: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        let ring = Correlation::additive(width, 1);
        let width = u32::from(width);
        assert_eq!(pads.len(), shares.len() * width as usize, "a pad per OT");
        let bits = (width * (width + 1) / 2) as usize;
        self.source.start(bits as u64 * shares.len() as u64);
        for (i, (share, pads)) in
            shares.iter_mut().zip(pads.chunks_exact(width as usize)).enumerate()
        {
            self.source.fill(channel, bits)?;
            let number = bits_at(choices, i * width as usize, width);
            let mut sum = 0u64;
            for (bit, &pad) in (0..width).zip(pads) {
                let offer = self.source.pull(width - bit);
                let product = ring.receiver_share(SecretBit::lowest(number >> bit), offer, pad);
                sum = sum.wrapping_add(product << bit);
            }
            *share = sum & mask(width);
        }
        Ok(())
    }
}
