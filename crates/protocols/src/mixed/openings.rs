//! [`Openings`]: what all parties tell each other in one round.
//!
//! A round's message to a peer is: the shares of the bits that are opened, packed, the last byte
//! filled up; the shares of the ring elements that are opened, 1, 2, 4 or 8 bytes each; the own
//! keys of wires that become garbled, 16 bytes each; and the shares of the outputs that the peer
//! learns. Both ends know all lengths from the plan, so a message has no lengths in it.
//!
//! Cost: one round; each opened bit goes once to each peer.

use phineus_bytecode::layout::ring_bytes;
use phineus_channels::Channel;
use phineus_crypto::Block;
use zerocopy::IntoBytes;
use zeroize::Zeroize;

use super::ring;
use super::words::{get, put, words};
use crate::{Parties, ProtocolError};

/// Ring elements of one size, next to each other.
#[derive(Clone, Copy)]
struct Region {
    bytes: usize,
    count: usize,
}

/// Shares that wait for the end of the round, and what the last round opened.
pub(super) struct Openings {
    bits: Vec<u64>,
    bit_count: usize,
    ring: Vec<u8>,
    regions: Vec<Region>,
    /// This party's keys for all others.
    keys: Vec<Block>,
    /// Bytes of keys in the last round.
    key_bytes: usize,
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
    pub(super) fn new(parties: usize) -> Openings {
        let blank = || vec![Vec::new(); parties];
        Openings {
            bits: Vec::new(),
            bit_count: 0,
            ring: Vec::new(),
            regions: Vec::new(),
            keys: Vec::new(),
            key_bytes: 0,
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
        self.regions.push(Region { bytes, count: shares.len() });
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

    /// What `party` sent of outputs in the last round.
    pub(super) fn output(&self, party: usize) -> &[u8] {
        &self.received[party][self.key_bytes..]
    }

    /// Ends the round: everybody learns the sums of everybody's shares.
    pub(super) fn exchange<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
    ) -> Result<(), ProtocolError> {
        let bit_bytes = self.bit_count.div_ceil(8);
        let common = bit_bytes + self.ring.len();
        let key_bytes = self.keys.as_bytes().len();
        for peer in parties.peers() {
            let message = &mut self.messages[peer];
            message.clear();
            message.extend_from_slice(&self.bits.as_bytes()[..bit_bytes]);
            message.extend_from_slice(&self.ring);
            message.extend_from_slice(self.keys.as_bytes());
            message.append(&mut self.outputs[peer]);
            self.received[peer].resize(common + key_bytes + self.output_bytes, 0);
        }
        let me = parties.me();
        self.received[me].clear();
        let outgoing: Vec<&[u8]> = self.messages.iter().map(Vec::as_slice).collect();
        let mut incoming: Vec<&mut [u8]> =
            self.received.iter_mut().map(Vec::as_mut_slice).collect();
        parties.exchange(&outgoing, &mut incoming)?;
        std::mem::swap(&mut self.bits, &mut self.opened_bits);
        std::mem::swap(&mut self.ring, &mut self.opened_ring);
        for peer in parties.peers() {
            let (common, _) = self.received[peer].split_at(common);
            let (bits, ring) = common.split_at(bit_bytes);
            let sums = &mut self.opened_bits.as_mut_bytes()[..bit_bytes];
            sums.iter_mut().zip(bits).for_each(|(sum, byte)| *sum ^= byte);
            add_regions(&mut self.opened_ring, ring, &self.regions);
        }
        for peer in parties.peers() {
            self.received[peer].drain(..common);
        }
        self.bits.clear();
        self.ring.clear();
        self.regions.clear();
        self.keys.clear();
        self.key_bytes = key_bytes;
        (self.bit_count, self.output_bytes) = (0, 0);
        Ok(())
    }
}

impl Drop for Openings {
    fn drop(&mut self) {
        self.outputs.zeroize();
        self.received.zeroize();
        self.messages.zeroize();
    }
}

fn add_regions(mut sums: &mut [u8], mut shares: &[u8], regions: &[Region]) {
    for region in regions {
        let (sum, rest) = sums.split_at_mut(region.bytes * region.count);
        let (share, more) = shares.split_at(region.bytes * region.count);
        (sums, shares) = (rest, more);
        // All bits of the bytes, whatever the width: sums are not reduced.
        ring::add_assign(sum, share, 8 * region.bytes as u16);
    }
}
