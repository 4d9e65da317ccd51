//! [`TableGarbler`]: makes the tables of batches of AND gates together with all other parties.
//!
//! Sources: Ben-Efraim, Lindell, Omri, CCS 2016, as in Braun, Demmler, Schneider, Tkachenko,
//! "MOTION", TOPS 2022 (ePrint 2020/1137), Section 6.3, with these deviations:
//! * Deviation: three keys a gate and party and not four, by both halves of half gates (Zahur,
//!   Rosulek, Evans, EUROCRYPT 2015; among many parties: Yang, Wang, Zhang, CCS 2020, ePrint
//!   2019/1104). An unknown hash masks each of the two halves, and the third key is fixed by the
//!   others and the key of the result, so a table looks random but for the active key.
//! * Deviation: the shares of bits times offsets come from correlated OTs whose correlation is
//!   the offset itself: 128/k bits each, where MOTION's are 128-bit strings (or, swapped, three
//!   bits for each of 128 OTs for each gate).
//! * Deviation: the OTs for the product of mask bits are those of the second operand again, hashed.
//! * Deviation: nobody needs its own part of a table, since it has its own keys: of two parties
//!   each sends its share of its own part only.
//! * Deviation: with three parties or more each sums its own part of a batch and sends the sums,
//!   instead of everything going to everybody: `2 (n - 1) / n` and not `n - 1` tables are sent.
//!
//! Cost for each gate and ordered pair of parties: 3 correlated OTs, 1 bit; for each gate and
//! party 48 bytes of tables to the peer of two parties, `96 (n - 1)` to all peers with more, and
//! `4 n` hashes of 4 keys, `4 + 4 n` AES calls; to the first party besides the bits that it
//! decodes. Two rounds a batch, since a batch's messages go with those of the batches around it:
//! see [`TableGarbler::step`].
//! Invariants: all parties meet the same gates in the same order.
//! Not protected: malicious parties; nobody checks a table.

use std::ops::Range;

use phineus_channels::{Channel, Parties};
use phineus_correlated::demand::BatchScale;
use phineus_crypto::{Block, Delta, Prg};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::batch::GateBatch;
use super::batch_sink::BatchSink;
use super::exchange::{MessageParts, exchange, gather, xor_bytes};
use super::hash::batch_hash;
use super::limits::{ROWS, gates_per_batch};
use super::links::PeerOts;
use super::tables::TableBatch;
use crate::ProtocolError;

/// The bytes of the tables of `gates` gates that `party` sums, which are its own rows: of two
/// parties, all that the peer keeps.
pub(super) fn summed_bytes(gates: usize, party: usize, parties: usize) -> Range<usize> {
    let bytes = gates * ROWS * size_of::<Block>();
    let first = if parties == 2 { 0 } else { party * bytes };
    first..first + bytes
}

/// One party's side of garbling.
pub(super) struct TableGarbler<C> {
    parties: Parties<C>,
    links: Vec<Option<PeerOts>>,
    offset: Delta,
    /// This party's start value.
    start: Block,
    /// How large batches are.
    scale: BatchScale,
    prg: Prg,
    sink: BatchSink,
    /// The batch that is being filled.
    current: GateBatch,
    /// The one whose mask bits have been multiplied.
    second: Option<GateBatch>,
    /// The one of which every party has a part of the sums.
    third: Option<GateBatch>,
    spare: Vec<GateBatch>,
    next_number: u64,
    bits: [Zeroizing<Vec<u64>>; 2],
}

impl<C: Channel> TableGarbler<C> {
    pub(super) fn new(
        parties: Parties<C>,
        links: Vec<Option<PeerOts>>,
        offset: Delta,
        (start, scale): (Block, BatchScale),
        mut prg: Prg,
        sink: BatchSink,
    ) -> TableGarbler<C> {
        let (count, capacity) = (parties.count(), gates_per_batch(parties.count(), scale));
        let mut current = GateBatch::new(capacity, parties.me(), count);
        current.reset(0, &mut prg);
        let bits = || Zeroizing::new(vec![0; capacity.div_ceil(64)]);
        TableGarbler {
            parties,
            links,
            offset,
            start,
            scale,
            prg,
            sink,
            current,
            second: None,
            third: None,
            spare: Vec::new(),
            next_number: 1,
            bits: [bits(), bits()],
        }
    }

    /// Garbles a row of ANDs; `products` become this party's wires.
    #[inline]
    pub(super) fn push(
        &mut self,
        mut a: &[Block],
        mut b: &[Block],
        mut products: &mut [Block],
    ) -> Result<(), ProtocolError> {
        while !a.is_empty() {
            // Only now: what is decoded goes with the gates that it comes from.
            if self.current.is_full() {
                self.end_batch()?;
            }
            let count = self.current.push(a, b, products);
            (a, b, products) = (&a[count..], &b[count..], &mut products[count..]);
        }
        Ok(())
    }

    /// Lets the first party decode `wires`, which come from gates.
    pub(super) fn decode(&mut self, wires: &[Block]) {
        self.current.decode(wires);
    }

    /// Completes all batches; new ones may follow, which go on with the numbers.
    pub(super) fn finish(&mut self) -> Result<(), ProtocolError> {
        // What is decoded may come from no gate.
        if self.current.gates > 0 || !self.current.decoding.is_empty() {
            self.end_batch()?;
        }
        while self.second.is_some() || self.third.is_some() {
            self.step(None)?;
        }
        Ok(self.parties.flush()?)
    }

    /// Oblivious transfers made with each peer, of all peers the most.
    pub(super) fn ots_made(&self) -> u64 {
        self.links.iter().flatten().map(PeerOts::ots_made).max().unwrap_or(0)
    }

    /// The channels, and where the batches went.
    pub(super) fn into_parts(self) -> (Parties<C>, BatchSink) {
        (self.parties, self.sink)
    }

    fn end_batch(&mut self) -> Result<(), ProtocolError> {
        let (me, count) = (self.parties.me(), self.parties.count());
        let capacity = gates_per_batch(count, self.scale);
        let new = || GateBatch::new(capacity, me, count);
        let mut next = self.spare.pop().unwrap_or_else(new);
        next.reset(self.next_number, &mut self.prg);
        self.next_number += 1;
        let full = std::mem::replace(&mut self.current, next);
        self.step(Some(full))
    }

    /// One step: OTs for the masks of `first`'s operands and for the products of the batch before,
    /// then the corrections of the one, the tables of the other, and the sums of the third.
    fn step(&mut self, mut first: Option<GateBatch>) -> Result<(), ProtocolError> {
        let (me, count) = (self.parties.me(), self.parties.count());
        let (mut second, mut third) = (self.second.take(), self.third.take());
        if let Some(batch) = &mut first {
            batch.seal();
        }
        for peer in self.parties.peers() {
            let link = self.links[peer].as_mut().expect("there is a link to every peer");
            let channel = self.parties.channel(peer);
            choose(link, channel, peer, first.as_mut(), second.as_mut())?;
        }
        for (turn, peer) in self.parties.peers().enumerate() {
            let link = self.links[peer].as_mut().expect("there is a link to every peer");
            let (channel, bits) = (self.parties.channel(peer), &mut self.bits);
            let which = (me, peer, turn > 0);
            offer(link, channel, which, first.as_mut(), second.as_mut(), bits)?;
        }
        if let Some(batch) = &mut second {
            let hash = batch_hash(self.start, batch.number);
            batch.garble(&self.offset, &hash);
        }
        let mut parts = StepMessages { me, count, first, second, third };
        exchange(&mut self.parties, &mut parts)?;
        StepMessages { first, second, third, .. } = parts;
        if let Some(batch) = &mut first {
            self.parties.peers().for_each(|peer| batch.correct(peer));
            let masks = batch.product.iter_mut().zip(batch.mask_w.iter());
            masks.for_each(|(product, mask)| *product ^= mask);
        }
        self.second = first;
        let done = if count == 2 {
            second
        } else {
            self.third = second;
            third
        };
        if let Some(batch) = done {
            self.emit(batch)?;
        }
        Ok(())
    }

    fn emit(&mut self, mut batch: GateBatch) -> Result<(), ProtocolError> {
        // Without gates there are only sums to decode, which the first party does: nobody else
        // takes such a batch, and it is the last one of a block.
        if batch.gates == 0 && self.parties.me() != 0 {
            self.spare.push(batch);
            return Ok(());
        }
        let mut tables = self.sink.blank();
        let TableBatch { number, gates, rows, keys, decoding } = &mut tables;
        (*number, *gates) = (batch.number, batch.gates);
        std::mem::swap(rows, &mut batch.rows);
        std::mem::swap(keys, &mut batch.w);
        decoding.clear();
        if self.parties.me() == 0 {
            std::mem::swap(decoding, &mut batch.decoding);
        }
        self.spare.push(batch);
        self.sink.put(tables)
    }
}

/// This party's choices in the OTs with `peer`; only sends.
fn choose(
    link: &mut PeerOts,
    channel: &mut impl Channel,
    peer: usize,
    first: Option<&mut GateBatch>,
    second: Option<&mut GateBatch>,
) -> Result<(), ProtocolError> {
    if let Some(batch) = first {
        let words = batch.words();
        let (row, bits) = batch.row(peer, 0);
        link.receive_bits(channel, bits.mask_b, &mut bits.pads[peer][..words], row)?;
        let (row, bits) = batch.row(peer, 1);
        link.receive(channel, bits.mask_a, row)?;
    }
    if let Some(batch) = second {
        let (row, bits) = batch.row(peer, 2);
        link.receive(channel, bits.product, row)?;
    }
    Ok(())
}

/// This party's offset in the OTs with `peer`, after others if the rows are `begun`; only receives.
fn offer(
    link: &mut PeerOts,
    channel: &mut impl Channel,
    (me, peer, begun): (usize, usize, bool),
    first: Option<&mut GateBatch>,
    second: Option<&mut GateBatch>,
    [zero, one]: &mut [Zeroizing<Vec<u64>>; 2],
) -> Result<(), ProtocolError> {
    if let Some(batch) = first {
        let words = batch.words();
        let (row, bits) = batch.row(me, 0);
        link.send_bits(channel, begun, row, [&mut zero[..words], &mut one[..words]])?;
        for k in 0..words {
            bits.product[k] ^= zero[k];
            bits.sent[peer][k] = (zero[k] ^ one[k] ^ bits.mask_a[k]).to_le();
        }
        link.send(channel, begun, batch.row(me, 1).0)?;
    }
    if let Some(batch) = second {
        link.send(channel, begun, batch.row(me, 2).0)?;
    }
    Ok(())
}

/// Messages to and from each peer in a step.
struct StepMessages {
    me: usize,
    count: usize,
    first: Option<GateBatch>,
    second: Option<GateBatch>,
    third: Option<GateBatch>,
}

impl StepMessages {
    /// Bytes of the tables that `party` sums.
    fn summed(&self, batch: &GateBatch, party: usize) -> Range<usize> {
        summed_bytes(batch.gates, party, self.count)
    }

    /// Lengths of the four parts that `from` sends to `to`.
    fn parts(&self, from: usize, to: usize) -> [usize; 4] {
        let length = |batch: &Option<GateBatch>, length: &dyn Fn(&GateBatch) -> usize| {
            batch.as_ref().map_or(0, length)
        };
        [
            length(&self.first, &|batch| batch.gates.div_ceil(8)),
            length(&self.first, &|batch| if to == 0 { batch.decoding.len() } else { 0 }),
            length(&self.second, &|batch| self.summed(batch, to).len()),
            length(&self.third, &|batch| self.summed(batch, from).len()),
        ]
    }
}

impl MessageParts for StepMessages {
    fn lengths(&self, peer: usize) -> (usize, usize) {
        let sum = |parts: [usize; 4]| parts.iter().sum();
        (sum(self.parts(self.me, peer)), sum(self.parts(peer, self.me)))
    }

    fn fill(&self, peer: usize, at: usize, bytes: &mut [u8]) {
        let [corrections, decoding, ..] = self.parts(self.me, peer);
        let rows = |batch: &GateBatch, party| self.summed(batch, party);
        let first = self.first.as_ref().map_or(&[][..], |batch| batch.sent[peer].as_bytes());
        let shares = self.first.as_ref().map_or(&[][..], |batch| &batch.decoding[..]);
        let second = self.second.as_ref();
        let second = second.map_or(&[][..], |b| {
            let tables = if self.count == 2 { &b.own } else { &b.rows };
            &tables.as_bytes()[rows(b, peer)]
        });
        let third = self.third.as_ref();
        let third = third.map_or(&[][..], |b| &b.rows.as_bytes()[rows(b, self.me)]);
        gather(at, bytes, &[&first[..corrections], &shares[..decoding], second, third]);
    }

    fn take(&mut self, peer: usize, mut at: usize, mut bytes: &[u8]) {
        let lengths = self.parts(peer, self.me);
        let own = self.second.as_ref().map_or(0..0, |batch| self.summed(batch, self.me));
        let theirs = self.third.as_ref().map_or(0..0, |batch| self.summed(batch, peer));
        for (part, length) in lengths.into_iter().enumerate() {
            if at >= length {
                at -= length;
                continue;
            }
            let (now, later) = bytes.split_at(bytes.len().min(length - at));
            let batch = [&mut self.first, &mut self.second, &mut self.third];
            let [first, second, third] = batch;
            match (part, first, second, third) {
                (0, Some(batch), _, _) => {
                    batch.received[peer].as_mut_bytes()[at..at + now.len()].copy_from_slice(now);
                }
                (1, Some(batch), _, _) => {
                    let masks = &mut batch.decoding[at..at + now.len()];
                    masks.iter_mut().zip(now).for_each(|(mask, share)| *mask ^= share);
                }
                (2, _, Some(batch), _) => xor_bytes(&mut batch.rows, own.start + at, now),
                (3, _, _, Some(batch)) => {
                    let target = &mut batch.rows.as_mut_bytes()[theirs.start + at..];
                    target[..now.len()].copy_from_slice(now);
                }
                _ => unreachable!("a part that has a length has a batch"),
            }
            (bytes, at) = (later, 0);
            if bytes.is_empty() {
                return;
            }
        }
    }
}
