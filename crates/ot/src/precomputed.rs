//! Correlated OTs made ahead of choice and correlation, with one round when these are known.
//!
//! Source: Beaver, "Precomputing Oblivious Transfer", CRYPTO 1995, with the improvement of Braun,
//! Demmler, Schneider, Tkachenko, "MOTION", ACM TOPS 2022, Section 5.1.3: the sender's message is
//! symmetric in its pads, so it does not wait for the receiver's correction, which only says which
//! of the pads is the sender's share. The two messages are independent of each other.
//!
//! Cost per OT when the inputs are known: the bits of the correlation to the receiver, one bit to
//! the sender, at the same time: one round.
//! Invariants: each pad is used once. Pads are wiped on drop.

use phineus_channels::Channel;
use phineus_crypto::SecretBit;
use zeroize::Zeroizing;

use super::packing::{BitSink, BitSource, mask};
use super::random::{ChoiceBits, RandomOtReceiver, RandomOtSender};
use super::{CorrelatedOtReceiver, CorrelatedOtSender};
use crate::OtError;

use super::correlated::{Correlation, pad_word};

/// The sender's half of a number of OTs whose correlations have one word.
pub struct PrecomputedSender {
    correlation: Correlation,
    pads: Zeroizing<Vec<[u64; 2]>>,
    /// OTs whose offer has been sent, and whose correction has come.
    issued: usize,
    finished: usize,
    sink: BitSink,
    source: BitSource,
}

/// The receiver's half.
pub struct PrecomputedReceiver {
    correlation: Correlation,
    /// The random choices, packed, and their pads.
    choices: Zeroizing<Vec<u64>>,
    pads: Zeroizing<Vec<u64>>,
    issued: usize,
    finished: usize,
    sink: BitSink,
    source: BitSource,
}

/// Words of the buffers between memory and channel.
const BUFFER_WORDS: usize = 64;

fn check(correlation: Correlation) {
    assert_eq!(correlation.words(), 1, "OTs made ahead have one word");
}

impl PrecomputedSender {
    /// Makes `count` OTs with random pads; only receives.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If an element of the correlation has more than one word.
    pub fn preprocess<S: CorrelatedOtSender>(
        random: &mut RandomOtSender<S>,
        channel: &mut impl Channel,
        correlation: Correlation,
        count: usize,
    ) -> Result<PrecomputedSender, OtError> {
        check(correlation);
        let mut pads = Zeroizing::new(vec![[0; 2]; count]);
        let choices = super::tile::ChoiceSource::Random;
        random.extend_tiles(channel, choices, count, 1, |_, _, first, zero, one| {
            let messages = zero.chunks_exact(1).zip(one.chunks_exact(1));
            for (pads, (zero, one)) in pads[first..].iter_mut().zip(messages) {
                *pads = [pad_word(zero, 0), pad_word(one, 0)];
            }
            Ok(())
        })?;
        let sink = BitSink::with_capacity(BUFFER_WORDS);
        let source = BitSource::with_capacity(BUFFER_WORDS);
        Ok(PrecomputedSender { correlation, pads, issued: 0, finished: 0, sink, source })
    }

    /// OTs that are left.
    pub fn left(&self) -> usize {
        self.pads.len() - self.issued
    }

    /// Offers the correlations `x` in the next OTs; only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If there are not enough OTs left.
    pub fn issue(&mut self, channel: &mut impl Channel, x: &[u64]) -> Result<(), OtError> {
        assert!(x.len() <= self.left(), "every OT made ahead is used once");
        let bits = self.correlation.bits() as u32;
        let pads = &self.pads[self.issued..][..x.len()];
        for (x, pads) in x.chunks(BUFFER_WORDS).zip(pads.chunks(BUFFER_WORDS)) {
            for (&x, pads) in x.iter().zip(pads) {
                let offer = self.correlation.offer(x, pads[0], pads[1]);
                self.sink.push(offer & mask(bits), bits);
            }
            self.sink.send_whole(channel)?;
        }
        self.issued += x.len();
        self.sink.finish(channel)
    }

    /// Takes the receiver's corrections for the next offers: `shares` become this party's.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If the shares are not among those offered.
    pub fn finish(
        &mut self,
        channel: &mut impl Channel,
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        assert!(self.finished + shares.len() <= self.issued, "an offer comes first");
        let bits = self.correlation.bits() as u32;
        self.source.start(shares.len() as u64);
        let mut pads = self.pads[self.finished..].iter();
        self.finished += shares.len();
        for shares in shares.chunks_mut(BUFFER_WORDS) {
            self.source.fill(channel, shares.len())?;
            for (share, pads) in shares.iter_mut().zip(&mut pads) {
                let exchanged = SecretBit::lowest(self.source.pull(1));
                let pad = exchanged.select(pads[0], pads[1]);
                *share = self.correlation.sender_share(pad) & mask(bits);
            }
        }
        Ok(())
    }
}

impl PrecomputedReceiver {
    /// Makes `count` OTs with random choices; only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If an element of the correlation has more than one word.
    pub fn preprocess<R: CorrelatedOtReceiver>(
        random: &mut RandomOtReceiver<R>,
        channel: &mut impl Channel,
        correlation: Correlation,
        count: usize,
    ) -> Result<PrecomputedReceiver, OtError> {
        check(correlation);
        let mut pads = Zeroizing::new(vec![0; count]);
        let mut choices = Zeroizing::new(vec![0; count.div_ceil(64)]);
        random.issue_correlate(
            channel,
            correlation,
            ChoiceBits::Random(&mut choices),
            &mut pads,
        )?;
        Ok(PrecomputedReceiver {
            correlation,
            choices,
            pads,
            issued: 0,
            finished: 0,
            sink: BitSink::with_capacity(BUFFER_WORDS),
            source: BitSource::with_capacity(BUFFER_WORDS),
        })
    }

    /// OTs that are left.
    pub fn left(&self) -> usize {
        self.pads.len() - self.issued
    }

    /// Chooses in the next `count` OTs; only sends.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If there are not enough OTs left, or `choices` is not exactly long enough.
    pub fn issue(
        &mut self,
        channel: &mut impl Channel,
        count: usize,
        choices: &[u64],
    ) -> Result<(), OtError> {
        assert!(count <= self.left(), "every OT made ahead is used once");
        assert_eq!(choices.len(), count.div_ceil(64), "one choice bit per OT");
        for first in (0..count).step_by(64) {
            let bits = (count - first).min(64) as u32;
            let drawn = super::packing::bits_at(&self.choices, self.issued + first, bits);
            self.sink.push((drawn ^ choices[first / 64]) & mask(bits), bits);
            self.sink.send_whole(channel)?;
        }
        self.issued += count;
        self.sink.finish(channel)
    }

    /// Takes the sender's offers for the next choices, which are those given to
    /// [`PrecomputedReceiver::issue`]: `shares` become this party's.
    ///
    /// # Errors
    /// When the channel fails.
    ///
    /// # Panics
    /// If the shares are not among those chosen.
    pub fn finish(
        &mut self,
        channel: &mut impl Channel,
        choices: &[u64],
        shares: &mut [u64],
    ) -> Result<(), OtError> {
        assert!(self.finished + shares.len() <= self.issued, "a choice comes first");
        let bits = self.correlation.bits() as u32;
        self.source.start(u64::from(bits) * shares.len() as u64);
        let mut pads = self.pads[self.finished..].iter();
        self.finished += shares.len();
        for (choices, shares) in choices.iter().zip(shares.chunks_mut(64)) {
            self.source.fill(channel, shares.len() * bits as usize)?;
            for (i, (share, &pad)) in shares.iter_mut().zip(&mut pads).enumerate() {
                let offer = self.source.pull(bits);
                let share_now =
                    self.correlation.receiver_share(SecretBit::lowest(choices >> i), offer, pad);
                *share = share_now & mask(bits);
            }
        }
        Ok(())
    }
}
