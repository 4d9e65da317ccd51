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
use super::pair::{Pads, PeerOts, pair};
use crate::CorrelatedError;
use zerocopy::IntoBytes;

/// Bits of a batch whose chain begins at party 0; in the rest it begins at the last party. Whole
/// words, so that both parts are packed where they lie.
pub(super) fn lower_half(count: usize) -> usize {
    (count / 2).next_multiple_of(64).min(count)
}

/// The part of a batch in which `sender` offers to `receiver`.
fn part_of(sender: usize, receiver: usize, count: usize) -> Range<usize> {
    chain_part(sender < receiver, count)
}

/// The words in which the bits of a part lie.
fn words_of(part: &Range<usize>) -> Range<usize> {
    part.start.div_ceil(64)..part.end.div_ceil(64)
}

impl<C: Channel> Generator<C> {
    /// First part of shared bits: draws this party's, which are its choices in OTs of words with all peers.
    pub(super) fn choose_bits(
        &mut self,
        width: u16,
        (bits, count): (&mut [u64], usize),
        pads: &mut Pads,
    ) -> Result<(), CorrelatedError> {
        self.prg.fill_bytes(bits.as_mut_bytes());
        let (me, random) = (self.parties.me(), self.draws_choices());
        for peer in self.parties.peers().filter(|_| width > 1) {
            let part = part_of(peer, me, count);
            let choices = &mut bits[words_of(&part)];
            let choices =
                if random { ChoiceBits::Random(choices) } else { ChoiceBits::Chosen(choices) };
            let receiver = &mut pair(&mut self.pairs, peer).receiver;
            let (channel, pads) =
                (self.parties.channel(peer), &mut pads.with_mut(peer)[..part.len()]);
            receiver.issue_correlate(channel, Correlation::additive(64, 1), choices, pads)?;
        }
        clear_beyond(count, bits);
        Ok(())
    }

    /// Second part of shared bits: the OTs in which the peers choose; between two parties also the step of the chain that
    /// sends.
    pub(super) fn offer_bits(
        &mut self,
        width: u16,
        bits: &[u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let (me, random, count) = (self.parties.me(), self.draws_choices(), ring.len());
        for (j, share) in ring.iter_mut().enumerate() {
            *share = bits[j / 64] >> (j % 64) & 1;
        }
        for peer in self.parties.peers().filter(|_| width > 1) {
            let PeerOts { sender, words: [zero, one], .. } = pair(&mut self.pairs, peer);
            let ots = part_of(me, peer, count).len();
            let channel = self.parties.channel(peer);
            sender.extend_words(channel, random, &mut zero[..ots], &mut one[..ots])?;
        }
        match self.parties.count() == 2 && width > 1 {
            true => self.offer_links(width, me == 0, ring),
            false => Ok(()),
        }
    }

    /// Last part of shared bits: between two parties the step of the chain that receives, else the whole chain.
    pub(super) fn finish_bits(
        &mut self,
        width: u16,
        bits: &[u64],
        ring: &mut [u64],
        pads: &mut Pads,
    ) -> Result<(), CorrelatedError> {
        let (me, last) = (self.parties.me(), self.parties.count() - 1);
        if last == 1 && width > 1 {
            self.take_links(width, me == 1, (bits, ring), pads)?;
        } else if width > 1 {
            // The part where this party comes earlier in the chain first: what a step waits for
            // is then always a step of lower rank, so no two parties wait for each other.
            let ascending = [true, false].map(|first| first == (me <= last - me));
            for ascending in ascending {
                self.take_links(width, ascending, (bits, &mut *ring), pads)?;
                self.offer_links(width, ascending, ring)?;
            }
        }
        // With one bit, adding is XOR.
        ring.iter_mut().for_each(|share| *share &= mask(width.into()));
        Ok(())
    }

    /// Takes the products that the parties before this one in the chain over one part offer.
    fn take_links(
        &mut self,
        width: u16,
        ascending: bool,
        (bits, ring): (&[u64], &mut [u64]),
        pads: &mut Pads,
    ) -> Result<(), CorrelatedError> {
        let (me, parties) = (self.parties.me(), self.parties.count());
        let part = chain_part(ascending, ring.len());
        let (shares, bits) = (&mut ring[part.clone()], &bits[words_of(&part)]);
        let offers = Correlation::additive(width - 1, 1);
        let rank = |party: usize| if ascending { party } else { parties - 1 - party };
        for peer in (0..rank(me)).map(rank) {
            let receiver = &mut pair(&mut self.pairs, peer).receiver;
            let products = &mut pads.with_mut(peer)[..shares.len()];
            receiver.finish_correlate(self.parties.channel(peer), offers, bits, products)?;
            subtract_doubled(shares, products);
        }
        Ok(())
    }

    /// Offers products to the parties behind this one in the chain over one part.
    fn offer_links(
        &mut self,
        width: u16,
        ascending: bool,
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let (me, parties) = (self.parties.me(), self.parties.count());
        let part = chain_part(ascending, ring.len());
        let shares = &mut ring[part];
        let offers = Correlation::additive(width - 1, 1);
        let rank = |party: usize| if ascending { party } else { parties - 1 - party };
        for peer in (rank(me) + 1..parties).map(rank) {
            let PeerOts { sender, words: [zero, one], .. } = pair(&mut self.pairs, peer);
            let (products, one) = (&mut zero[..shares.len()], &one[..shares.len()]);
            sender.offer_words(self.parties.channel(peer), offers, shares, products, one)?;
            subtract_doubled(shares, products);
        }
        Ok(())
    }
}

/// The bits of a batch whose chain begins at party 0, or the others.
fn chain_part(ascending: bool, count: usize) -> Range<usize> {
    let half = lower_half(count);
    if ascending { 0..half } else { half..count }
}

fn subtract_doubled(shares: &mut [u64], products: &[u64]) {
    for (share, product) in shares.iter_mut().zip(products) {
        *share = share.wrapping_sub(product << 1);
    }
}
