//! [`Openings`]: messages of all parties in one round.
//!
//! A round's message to a peer is: the shares of the bits that are opened, packed, the last byte
//! filled up; the shares of the ring elements that are opened, 1, 2, 4 or 8 bytes each; the own
//! keys of wires that become garbled, 16 bytes each; bits for this peer alone ([`PrivateBits`]); and the shares of the
//! outputs that the peer learns. Both ends know all lengths from the plan, so a message has no lengths in it.
//!
//! Where openings go by a star, there is of bits and elements only the part that the peer sums;
//! when it has all shares of it, it tells the sums to all in a second message, and nothing else.
//!
//! Cost: one round, in which each opened bit goes once to each peer; or by a star two.

use std::ops::Range;

use phineus_bytecode::layout::ring_bytes;
use phineus_channels::{Channel, Parties};
use phineus_crypto::{Block, declassify};
use zerocopy::IntoBytes;
use zeroize::Zeroize;

use super::broadcast::{Broadcast, OpenedSizes, Region};
use super::private::PrivateBits;
use crate::ProtocolError;
use crate::shares::ring;
use crate::shares::words::{get, put, words};

/// Shares that wait for the end of the round, and what the last round opened.
pub(super) struct Openings {
    bits: Vec<u64>,
    bit_count: usize,
    ring: Vec<u8>,
    opened: OpenedSizes,
    broadcast: Broadcast,
    /// Values that the round opens, as they lie in messages: own shares, then sums.
    sums: Vec<u8>,
    /// The own part of them, on its way to all.
    told: Vec<u8>,
    /// This party's keys for all others.
    keys: Vec<Block>,
    /// Bytes of keys in the last round.
    key_bytes: usize,
    /// What each other party and this one tell each other alone.
    pub(super) private: Vec<PrivateBits>,
    /// For each party, shares of outputs that it learns.
    outputs: Vec<Vec<u8>>,
    /// How many bytes of outputs each other party sends to this one.
    output_bytes: usize,
    opened_bits: Vec<u64>,
    opened_ring: Vec<u8>,
    /// From each party, its keys, then its shares of the outputs that this one learns.
    received: Vec<Vec<u8>>,
    messages: Vec<Vec<u8>>,
}

impl Openings {
    pub(super) fn new(parties: usize, broadcast: Broadcast) -> Openings {
        let blank = || vec![Vec::new(); parties];
        Openings {
            bits: Vec::new(),
            bit_count: 0,
            ring: Vec::new(),
            opened: OpenedSizes::default(),
            broadcast,
            sums: Vec::new(),
            told: Vec::new(),
            keys: Vec::new(),
            key_bytes: 0,
            private: (0..parties).map(|_| PrivateBits::default()).collect(),
            outputs: blank(),
            output_bytes: 0,
            opened_bits: Vec::new(),
            opened_ring: Vec::new(),
            received: blank(),
            messages: blank(),
        }
    }

    /// Opens `count` bits at the end of the round; returns where they will be.
    pub(super) fn push_bits(&mut self, shares: &[u64], count: usize) -> usize {
        let at = self.bit_count;
        self.bit_count += count;
        self.bits.resize(words(self.bit_count), 0);
        put(&mut self.bits, at, shares, count);
        at
    }

    /// `count` bits that the last round opened.
    pub(super) fn bits(&self, at: usize, opened: &mut [u64], count: usize) {
        get(&self.opened_bits, at, opened, count);
    }

    /// Opens elements of `Z_2^width` at the end of the round; returns where they will be.
    pub(super) fn push_ring(&mut self, width: u16, shares: &[u64]) -> usize {
        let at = self.ring.len();
        let bytes = ring_bytes(width);
        self.ring.resize(at + bytes * shares.len(), 0);
        ring::store(&mut self.ring[at..], shares, width);
        self.opened.regions.push(Region { bytes, count: shares.len() });
        at
    }

    /// Elements of `Z_2^width` that the last round opened, not reduced.
    pub(super) fn ring(&self, at: usize, width: u16, opened: &mut [u64]) {
        ring::load(opened, &self.opened_ring[at..], width);
    }

    /// Tells all others these keys at the end of the round; returns where theirs will be.
    pub(super) fn push_keys(&mut self, keys: &[Block]) -> usize {
        self.keys.extend_from_slice(keys);
        self.keys.len() - keys.len()
    }

    /// The keys of `party` from the last round.
    pub(super) fn keys(&self, party: usize, at: usize, keys: &mut [Block]) {
        let bytes = keys.as_mut_bytes();
        let at = at * size_of::<Block>();
        bytes.copy_from_slice(&self.received[party][at..at + bytes.len()]);
    }

    /// Sends `shares` of an output to `party` at the end of the round.
    pub(super) fn push_output(&mut self, party: usize, shares: &[u8]) {
        self.outputs[party].extend_from_slice(shares);
    }

    /// Expects `bytes` more of outputs from each other party; returns where they will be.
    pub(super) fn expect_output(&mut self, bytes: usize) -> usize {
        self.output_bytes += bytes;
        self.output_bytes - bytes
    }

    /// Output shares that `party` sent in the last round.
    pub(super) fn output(&self, party: usize) -> &[u8] {
        &self.received[party][self.key_bytes..]
    }

    /// Returns whether this party sends anything to `peer` in this round, and whether it receives anything; in each of two
    /// rounds by a star.
    pub(super) fn sends(&self, peer: usize) -> [bool; 2] {
        let is_opened = self.bit_count > 0 || !self.ring.is_empty();
        let is_told = is_opened || !self.keys.is_empty();
        [
            is_told || self.private[peer].sends() || !self.outputs[peer].is_empty(),
            is_told || self.private[peer].coming_bytes() > 0 || self.output_bytes > 0,
        ]
    }

    /// Ends the round: everybody learns the sums of everybody's shares. Returns how many rounds of
    /// messages that took.
    pub(super) fn exchange<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
    ) -> Result<u64, ProtocolError> {
        self.opened.bit_bytes = self.bit_count.div_ceil(8);
        self.sums.clear();
        self.sums.extend_from_slice(&self.bits.as_bytes()[..self.opened.bit_bytes]);
        self.sums.extend_from_slice(&self.ring);
        let rounds = match self.broadcast {
            Broadcast::Star if !self.sums.is_empty() => {
                let (me, count) = (parties.me(), parties.count());
                let own = self.opened.part(me, count);
                self.tell(parties, |opened, party| opened.part(party, count))?;
                self.add_told(parties, own.clone());
                self.tell_sums(parties, own)?;
                2
            }
            _ => {
                let all = 0..self.sums.len();
                self.tell(parties, |_, _| all.clone())?;
                self.add_told(parties, all.clone());
                1
            }
        };
        declassify(&self.sums[..], "opened to all parties");
        let (bits, ring) = self.sums.split_at(self.opened.bit_bytes);
        self.opened_bits.clear();
        self.opened_bits.resize(words(self.bit_count), 0);
        self.opened_bits.as_mut_bytes()[..bits.len()].copy_from_slice(bits);
        self.opened_ring.clear();
        self.opened_ring.extend_from_slice(ring);
        self.bits.clear();
        self.ring.clear();
        self.opened.regions.clear();
        self.key_bytes = self.keys.as_bytes().len();
        self.keys.clear();
        (self.bit_count, self.output_bytes) = (0, 0);
        Ok(rounds)
    }

    /// Tells each other party the shares of the part that `part` says is for it, the keys, what is for it alone, and
    /// the shares of its outputs.
    fn tell<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        part: impl Fn(&OpenedSizes, usize) -> Range<usize>,
    ) -> Result<(), ProtocolError> {
        let own = part(&self.opened, parties.me()).len();
        let length = own + self.keys.as_bytes().len() + self.output_bytes;
        for peer in parties.peers() {
            let length = length + self.private[peer].coming_bytes();
            let message = &mut self.messages[peer];
            message.clear();
            message.extend_from_slice(&self.sums[part(&self.opened, peer)]);
            message.extend_from_slice(self.keys.as_bytes());
            self.private[peer].send(message);
            message.append(&mut self.outputs[peer]);
            self.received[peer].resize(length, 0);
        }
        self.received[parties.me()].clear();
        let outgoing: Vec<&[u8]> = self.messages.iter().map(Vec::as_slice).collect();
        let mut incoming: Vec<&mut [u8]> =
            self.received.iter_mut().map(Vec::as_mut_slice).collect();
        Ok(parties.exchange(&outgoing, &mut incoming)?)
    }

    /// Adds what the others told of `part` to it; what is left of their messages is keys and
    /// outputs.
    fn add_told<C: Channel>(&mut self, parties: &Parties<C>, part: Range<usize>) {
        for peer in parties.peers() {
            let shares = &self.received[peer][..part.len()];
            self.opened.add(part.clone(), &mut self.sums[part.clone()], shares);
            self.received[peer].drain(..part.len());
            self.private[peer].receive(&mut self.received[peer], self.keys.as_bytes().len());
        }
    }

    /// Tells all others the sums of `own`, and takes those of their parts.
    fn tell_sums<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        own: Range<usize>,
    ) -> Result<(), ProtocolError> {
        let (me, count) = (parties.me(), parties.count());
        self.told.clear();
        self.told.extend_from_slice(&self.sums[own]);
        let outgoing: Vec<&[u8]> =
            (0..count).map(|party| if party == me { &[][..] } else { &self.told[..] }).collect();
        let mut rest = &mut self.sums[..];
        let mut incoming: Vec<&mut [u8]> = Vec::with_capacity(count);
        for party in 0..count {
            let (part, more) = rest.split_at_mut(self.opened.part(party, count).len());
            incoming.push(if party == me { &mut [] } else { part });
            rest = more;
        }
        Ok(parties.exchange(&outgoing, &mut incoming)?)
    }
}

impl Drop for Openings {
    fn drop(&mut self) {
        self.outputs.zeroize();
        self.received.zeroize();
        self.messages.zeroize();
        self.sums.zeroize();
    }
}
