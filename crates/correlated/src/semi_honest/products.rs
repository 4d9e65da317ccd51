//! Triples and square pairs in `Z_2^w`, in three parts each: see `generator`.
//!
//! Source: `phineus_ot::product`. The cross products of a square come twice, so they are needed in `Z_2^(w-1)` only, and
//! one direction of a pair suffices: each direction does one half of a batch.
//!
//! Cost: `costs`, exact. Invariant: choices are packed again where they are needed, so that of a batch in progress
//! only its pads are stored.
//! Not protected: malicious parties.

use std::ops::Range;

use phineus_channels::Channel;
use phineus_crypto::Prg;
use phineus_ot::ChoiceBits;
use phineus_ot::packing::{mask, pack, unpack};
use zerocopy::IntoBytes;

use super::generator::Generator;
use super::pair::{Pads, PeerOts, pair};
use crate::CorrelatedError;

impl<C: Channel> Generator<C> {
    /// First part of triples: draws `a`, and `b`, which this party chooses.
    pub(super) fn choose_factors(
        &mut self,
        width: u16,
        [a, b, c]: [&mut [u64]; 3],
        pads: &mut Pads,
    ) -> Result<(), CorrelatedError> {
        draw(&mut self.prg, mask(width.into()), a);
        draw(&mut self.prg, mask(width.into()), b);
        for peer in self.parties.peers() {
            self.choose_with(peer, width, b, pads)?;
        }
        for ((a, b), c) in a.iter().zip(b.iter()).zip(c) {
            *c = a.wrapping_mul(*b);
        }
        Ok(())
    }

    /// Second part of triples: products of `a` and what the peers choose.
    pub(super) fn offer_factors(
        &mut self,
        width: u16,
        a: &[u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let (random, shares) = (self.draws_choices(), &mut self.scratch[..a.len()]);
        for peer in self.parties.peers() {
            let channel = self.parties.channel(peer);
            pair(&mut self.pairs, peer).sender.multiply(channel, width, random, a, shares)?;
            add(c, shares, 0);
        }
        Ok(())
    }

    /// Last part of triples: products of `b` and what the peers offer.
    pub(super) fn finish_factors(
        &mut self,
        width: u16,
        b: &[u64],
        c: &mut [u64],
        pads: &Pads,
    ) -> Result<(), CorrelatedError> {
        for peer in self.parties.peers() {
            add(c, self.finish_with(peer, width, b, pads)?, 0);
        }
        c.iter_mut().for_each(|c| *c &= mask(width.into()));
        Ok(())
    }

    /// First part of square pairs: draws `a`, of which this party chooses one half towards each peer.
    pub(super) fn choose_roots(
        &mut self,
        width: u16,
        [a, c]: [&mut [u64]; 2],
        pads: &mut Pads,
    ) -> Result<(), CorrelatedError> {
        draw(&mut self.prg, mask(width.into()), a);
        if width == 1 {
            // A bit is its own square.
            c.copy_from_slice(a);
            return Ok(());
        }
        let me = self.parties.me();
        for peer in self.parties.peers() {
            self.choose_with(peer, width - 1, &mut a[half_of(peer, me, c.len())], pads)?;
        }
        for (a, c) in a.iter().zip(c) {
            *c = a.wrapping_mul(*a);
        }
        Ok(())
    }

    /// Second part of square pairs: products of the other half and what the peers choose.
    pub(super) fn offer_roots(
        &mut self,
        width: u16,
        a: &[u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        if width == 1 {
            return Ok(());
        }
        let (random, me) = (self.draws_choices(), self.parties.me());
        for peer in self.parties.peers() {
            let offered = half_of(me, peer, c.len());
            let channel = self.parties.channel(peer);
            let shares = &mut self.scratch[..offered.len()];
            let sender = &mut pair(&mut self.pairs, peer).sender;
            sender.multiply(channel, width - 1, random, &a[offered.clone()], shares)?;
            // Each cross product comes twice.
            add(&mut c[offered], shares, 1);
        }
        Ok(())
    }

    /// Last part of square pairs: products of the first half and what the peers offer.
    pub(super) fn finish_roots(
        &mut self,
        width: u16,
        a: &[u64],
        c: &mut [u64],
        pads: &Pads,
    ) -> Result<(), CorrelatedError> {
        if width == 1 {
            return Ok(());
        }
        let me = self.parties.me();
        for peer in self.parties.peers() {
            let chosen = half_of(peer, me, c.len());
            let shares = self.finish_with(peer, width - 1, &a[chosen.clone()], pads)?;
            add(&mut c[chosen], shares, 1);
        }
        c.iter_mut().for_each(|c| *c &= mask(width.into()));
        Ok(())
    }

    /// Begins the OTs with a peer in which this party chooses the low `width` bits of `factors`, or draws them.
    fn choose_with(
        &mut self,
        peer: usize,
        width: u16,
        factors: &mut [u64],
        pads: &mut Pads,
    ) -> Result<(), CorrelatedError> {
        let (ots, random) = (factors.len() * usize::from(width), self.draws_choices());
        let PeerOts { receiver, choices, .. } = pair(&mut self.pairs, peer);
        let (channel, choices) = (self.parties.channel(peer), &mut choices[..ots.div_ceil(64)]);
        let pads = &mut pads.with_mut(peer)[..ots];
        if !random {
            pack(width.into(), factors, choices);
            receiver.issue_multiply(channel, ChoiceBits::Chosen(choices), pads)?;
            return Ok(());
        }
        receiver.issue_multiply(channel, ChoiceBits::Random(choices), pads)?;
        let (drawn, low) = (&mut self.scratch[..factors.len()], mask(width.into()));
        unpack(width.into(), choices, drawn);
        for (factor, drawn) in factors.iter_mut().zip(drawn) {
            *factor = *factor & !low | *drawn;
        }
        Ok(())
    }

    /// Ends those OTs: this party's shares of the products of the chosen bits and what the peer offers.
    fn finish_with(
        &mut self,
        peer: usize,
        width: u16,
        factors: &[u64],
        pads: &Pads,
    ) -> Result<&[u64], CorrelatedError> {
        let ots = factors.len() * usize::from(width);
        let PeerOts { receiver, choices, .. } = pair(&mut self.pairs, peer);
        let (channel, choices) = (self.parties.channel(peer), &mut choices[..ots.div_ceil(64)]);
        let shares = &mut self.scratch[..factors.len()];
        pack(width.into(), factors, choices);
        receiver.finish_multiply(channel, width, choices, &pads.with(peer)[..ots], shares)?;
        Ok(shares)
    }
}

/// The elements of a batch for which `sender` offers to `receiver`: the first half those of the
/// party of lower number.
fn half_of(sender: usize, receiver: usize, count: usize) -> Range<usize> {
    let half = count.div_ceil(2);
    if sender < receiver { 0..half } else { half..count }
}

/// Draws elements below a power of two, whose mask is `modulus`.
fn draw(prg: &mut Prg, modulus: u64, words: &mut [u64]) {
    prg.fill_bytes(words.as_mut_bytes());
    words.iter_mut().for_each(|word| *word &= modulus);
}

/// Adds `shares * 2^shift`.
fn add(sums: &mut [u64], shares: &[u64], shift: u32) {
    for (sum, share) in sums.iter_mut().zip(shares) {
        *sum = sum.wrapping_add(share << shift);
    }
}
