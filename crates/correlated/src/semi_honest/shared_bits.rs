//! Random bits shared twice: as XOR shares and as additive shares in `Z_2^w`.
//!
//! Every party draws a bit `r_p`. In a chain over the parties, the additive shares `x_i` of the
//! XOR of the first bits and the next party's bit `r` give shares of `x ^ r = x + r - 2 x r`: each
//! `x_i * r` is one C+ OT, in `Z_2^(w-1)` because it is doubled. A sender's new share follows from
//! its own pads, so it never waits: the first party of the chain offers to all others at once.
//! (MOTION, Section 5.4, takes a square root in `Z_2^(w+2)`: `w + 2` OTs for each pair of parties
//! where this takes one.)
//!
//! Cost: one OT and `w - 1` bits for each pair and bit; with N parties, N messages in a row. Half
//! of a batch has the chain in one direction, half in the other, so every link carries the same.
//! Not protected: malicious parties.

use std::ops::Range;

use phineus_channels::Channel;
use phineus_ot::packing::mask;
use phineus_ot::{ChoiceBits, Correlation};

use super::generator::{Generator, clear_beyond};
use super::pair::{PeerOts, pair};
use crate::CorrelatedError;
use zerocopy::IntoBytes;

/// Bits of a batch whose chain begins at party 0; in the rest it begins at the last party. Whole
/// words, so that both parts are packed where they lie.
pub(super) fn lower_half(count: usize) -> usize {
    (count / 2).next_multiple_of(64).min(count)
}

/// The part of a batch in which `sender` offers to `receiver`.
fn part_of(sender: usize, receiver: usize, count: usize) -> Range<usize> {
    let half = lower_half(count);
    if sender < receiver { 0..half } else { half..count }
}

/// The words in which the bits of a part lie.
fn words_of(part: &Range<usize>) -> Range<usize> {
    part.start.div_ceil(64)..part.end.div_ceil(64)
}

impl<C: Channel> Generator<C> {
    pub(super) fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let count = ring.len();
        self.prg.fill_bytes(bits.as_mut_bytes());
        if width > 1 {
            self.extend_links(bits, count)?;
        }
        clear_beyond(count, bits);
        for (j, share) in ring.iter_mut().enumerate() {
            *share = bits[j / 64] >> (j % 64) & 1;
        }
        if width > 1 {
            // The part where this party comes earlier in the chain first: what a step waits for
            // is then always a step of lower rank, so no two parties wait for each other.
            let (me, last) = (self.parties.me(), self.parties.count() - 1);
            let ascending = [true, false].map(|first| first == (me <= last - me));
            for ascending in ascending {
                self.chain(width, ascending, bits, ring)?;
            }
        }
        // With one bit, adding is XOR.
        ring.iter_mut().for_each(|share| *share &= mask(width.into()));
        Ok(())
    }

    /// Makes OTs of words with all peers, in both directions, in which this party's bits are its
    /// choices.
    fn extend_links(&mut self, bits: &mut [u64], count: usize) -> Result<(), CorrelatedError> {
        let (me, random) = (self.parties.me(), self.draws_choices());
        for peer in self.parties.peers() {
            let part = part_of(peer, me, count);
            let choices = &mut bits[words_of(&part)];
            let choices =
                if random { ChoiceBits::Random(choices) } else { ChoiceBits::Chosen(choices) };
            let PeerOts { receiver, pads, .. } = pair(&mut self.pairs, peer);
            let (channel, pads) = (self.parties.channel(peer), &mut pads[..part.len()]);
            receiver.issue_correlate(channel, Correlation::additive(64, 1), choices, pads)?;
        }
        for peer in self.parties.peers() {
            let PeerOts { sender, words: [zero, one], .. } = pair(&mut self.pairs, peer);
            let ots = part_of(me, peer, count).len();
            let channel = self.parties.channel(peer);
            sender.extend_words(channel, random, &mut zero[..ots], &mut one[..ots])?;
        }
        Ok(())
    }

    /// This party's steps of the chain over one part.
    fn chain(
        &mut self,
        width: u16,
        ascending: bool,
        bits: &[u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let (me, parties, count) = (self.parties.me(), self.parties.count(), ring.len());
        let half = lower_half(count);
        let part = if ascending { 0..half } else { half..count };
        let (shares, bits) = (&mut ring[part.clone()], &bits[words_of(&part)]);
        let offers = Correlation::additive(width - 1, 1);
        let rank = |party: usize| if ascending { party } else { parties - 1 - party };
        for peer in (0..rank(me)).map(rank) {
            let PeerOts { receiver, pads, .. } = pair(&mut self.pairs, peer);
            let products = &mut pads[..shares.len()];
            receiver.finish_correlate(self.parties.channel(peer), offers, bits, products)?;
            subtract_doubled(shares, products);
        }
        for peer in (rank(me) + 1..parties).map(rank) {
            let PeerOts { sender, words: [zero, one], .. } = pair(&mut self.pairs, peer);
            let (products, one) = (&mut zero[..shares.len()], &one[..shares.len()]);
            sender.offer_words(self.parties.channel(peer), offers, shares, products, one)?;
            subtract_doubled(shares, products);
        }
        Ok(())
    }
}

fn subtract_doubled(shares: &mut [u64], products: &[u64]) {
    for (share, product) in shares.iter_mut().zip(products) {
        *share = share.wrapping_sub(product << 1);
    }
}
