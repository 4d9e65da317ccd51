//! How inputs and conversions become shares, and outputs are opened.
//!
//! Inputs: party `i` draws its first component from the generator that it has in common with the party
//! before, and sends what is left to the party behind; the third component is 0 (Mohassel, Rindal, "ABY3",
//! ePrint 2018/403, section 3.1 with a generator in place of one of the messages).
//!
//! Ring elements to bits: `x_0 + x_1` is an input of party 0, `x_2` is known to parties 1 and 2, and an
//! adder adds them (ABY3, section 5.3, with one adder instead of full adders and an adder).
//!
//! Bits to ring elements: `x = a ^ c` with `a = b_0 ^ b_1`, known to party 0, and `c = b_2`, known to the
//! others, is `a + c - 2 sum 2^i a_i c_i`. Party 0 sends `a_i + r_i` to party 1, with `r_i` drawn in common with
//! party 2; then the sum is that of `sum 2^i c_i (a_i + r_i)` of party 1 and `-sum 2^i c_i r_i` of party 2,
//! which are masked and resent as a product is. Deviation: ABY3, section 5.4, multiplies a bit and an integer by
//! oblivious transfer among three; here both factors of each product are known to somebody.

use phineus_bytecode::layout::{ring_bytes, share_bytes};
use phineus_bytecode::{Instruction, Shape};
use phineus_channels::Channel;
use phineus_engine::packed;
use zeroize::Zeroizing;

use super::PARTIES;
use super::driver::{Flight, PendingOutput, Rep3Driver};
use super::keys::neighbours;
use super::messages::RoundMessages;
use super::ring::{self, SentProduct};
use super::rounds::{addition, masked_bit_bytes};
use crate::ProtocolError;
use crate::shares::client::{draw, input_values, pack, subtract, unpack};
use crate::shares::ring::{load, store};
use crate::shares::transpose::{to_integers, to_rows};
use crate::shares::values::{Words, add_share, blank, sent_share_bytes};

/// A party's components of a value that is being shared.
pub(super) struct SharedValue {
    /// Both, as they lie in memory.
    bytes: Zeroizing<Vec<u8>>,
    /// Where the first one will be among the shares that the round brings, if it does.
    received_at: Option<usize>,
}

impl SharedValue {
    /// Writes the value, when the round has brought all of it.
    pub(super) fn write(&self, shape: Shape, messages: &RoundMessages, value: &mut [u8]) {
        value.copy_from_slice(&self.bytes);
        if let Some(at) = self.received_at {
            let sent = messages.share(at, sent_share_bytes(shape));
            unpack(shape, sent, &mut value[..share_bytes(shape)]);
        }
    }
}

/// Ring elements that become bits: both operands of an addition, of which the first one is being shared.
pub(super) struct Split {
    issued: (u64, Instruction),
    sum: SharedValue,
    last: Zeroizing<Vec<u8>>,
}

/// Bits that become ring elements at party 1, when it knows the first party's masked bits.
pub(super) struct BitsToRing {
    at: usize,
    width: u16,
    /// The bits that this party knows, as integers.
    known: Words,
    sent: SentProduct,
}

impl<C: Channel> Rep3Driver<C> {
    /// Shares an input.
    pub(super) fn share_input(
        &mut self,
        instruction: &Instruction,
    ) -> Result<SharedValue, ProtocolError> {
        let shape = instruction.shape();
        let port = &self.description.inputs[instruction.immediates[0] as usize];
        let owner = usize::from(port.party);
        if let Some(client) = owner.checked_sub(PARTIES) {
            return self.share_of_client(client, shape);
        }
        let values = (owner == self.me()).then(|| input_values(&self.inputs, instruction));
        Ok(self.share(owner, shape, values))
    }

    /// Shares the values of a computing party.
    fn share(
        &mut self,
        owner: usize,
        shape: Shape,
        values: Option<Zeroizing<Vec<u8>>>,
    ) -> SharedValue {
        let mut bytes = Zeroizing::new(vec![0; 2 * share_bytes(shape)]);
        let (first, second) = bytes.split_at_mut(share_bytes(shape));
        let mut received_at = None;
        if let Some(values) = values {
            draw(self.keys.with_previous(), shape, first);
            second.copy_from_slice(&values);
            subtract(shape, second, first);
            self.messages.push_share(&pack(shape, second));
        } else if owner == neighbours(self.me()).0 {
            received_at = Some(self.messages.expect_share(sent_share_bytes(shape)));
        } else {
            draw(self.keys.with_next(), shape, second);
        }
        SharedValue { bytes, received_at }
    }

    /// Shares what a client brings: components 0 and 1 are drawn, party 1 gets what is left from the
    /// client, and tells it party 2.
    fn share_of_client(
        &mut self,
        client: usize,
        shape: Shape,
    ) -> Result<SharedValue, ProtocolError> {
        let mut bytes = Zeroizing::new(vec![0; 2 * share_bytes(shape)]);
        let (first, second) = bytes.split_at_mut(share_bytes(shape));
        let mut received_at = None;
        match self.me() {
            0 => {
                self.clients.draw(client, 0, shape, first);
                self.clients.draw(client, 1, shape, second);
            }
            1 => {
                self.clients.draw(client, 1, shape, first);
                let rest = self.clients.receive(client, shape)?;
                unpack(shape, &rest, second);
                self.messages.push_share(&rest);
            }
            _ => {
                received_at = Some(self.messages.expect_share(sent_share_bytes(shape)));
                self.clients.draw(client, 0, shape, second);
            }
        }
        Ok(SharedValue { bytes, received_at })
    }

    /// Sends the components of an output that its learners lack.
    pub(super) fn share_output(&mut self, instruction: &Instruction, value: &[u8]) {
        let (shape, me) = (instruction.shape(), self.me());
        let (first, second) = value.split_at(share_bytes(shape));
        let (previous, _) = neighbours(me);
        let port = &self.description.outputs[instruction.immediates[0] as usize];
        let mut sum = None;
        for learner in port.parties.iter().map(|&party| usize::from(party)) {
            let is_summed = learner == me || learner >= PARTIES && me == 0;
            if is_summed && sum.is_none() {
                let mut both = Zeroizing::new(first.to_vec());
                add_share(shape, &mut both, second);
                sum = Some(pack(shape, &both));
            }
            match learner.checked_sub(PARTIES) {
                Some(client) => match (me, &sum) {
                    (0, Some(sum)) => self.clients.push_output(client, sum),
                    (2, _) => self.clients.push_output(client, &pack(shape, first)),
                    _ => {}
                },
                None if learner == previous => {
                    self.messages.push_output(&pack(shape, second));
                }
                None => {}
            }
        }
        if port.parties.iter().any(|&party| usize::from(party) == me) {
            let sum = sum.expect("it learns the sum");
            let at = self.messages.expect_output(sum.len());
            self.pending.push(PendingOutput { instruction: *instruction, sum, at });
        }
    }

    /// Issues a conversion of ring elements to bits.
    pub(super) fn split(&mut self, issued: (u64, Instruction), value: &[u8]) {
        let (width, shape) = (issued.1.element.width(), addition(&issued.1).shape());
        let size = share_bytes(shape);
        let (first, second) = value.split_at(value.len() / 2);
        let [mut first, second] = [first, second].map(|bytes| ring::to_words(bytes, width));
        let rows = |elements: &[u64]| {
            let mut rows = Zeroizing::new(vec![0; size]);
            to_rows(elements, &mut rows);
            rows
        };
        let mut last = Zeroizing::new(vec![0; 2 * size]);
        let mut sum = None;
        match self.me() {
            0 => {
                first.iter_mut().zip(&*second).for_each(|(sum, x)| *sum = sum.wrapping_add(*x));
                sum = Some(rows(&first));
            }
            1 => last[size..].copy_from_slice(&rows(&second)),
            _ => last[..size].copy_from_slice(&rows(&first)),
        }
        let sum = self.share(0, shape, sum);
        self.splits.push(Split { issued, sum, last });
    }

    /// Issues a conversion of bits to ring elements.
    pub(super) fn join(&mut self, instruction: &Instruction, value: &[u8]) -> SentProduct {
        let (width, count) = (instruction.element.width(), instruction.lanes as usize);
        let (first, second) = value.split_at(value.len() / 2);
        let bytes = masked_bit_bytes(width, instruction.lanes);
        let sent = SentProduct::push(&mut self.messages.following, &mut self.keys, width, count);
        let mut known = Zeroizing::new(second.to_vec());
        match self.me() {
            0 => packed::xor_assign(&mut known, first),
            1 => {}
            _ => known.copy_from_slice(first),
        }
        let mut integers = blank(count);
        to_integers(&known, &mut integers);
        let mut masked = Zeroizing::new(vec![0; bytes]);
        match self.me() {
            0 => {
                self.keys.with_previous().fill_bytes(&mut masked);
                for_each_bit(width, count, &mut masked, |bit, masks| {
                    for (mask, integer) in masks.iter_mut().zip(&*integers) {
                        *mask = mask.wrapping_add(integer >> bit & 1);
                    }
                });
                self.messages.push_share(&masked);
                sent.add(&mut self.messages.following, &integers);
            }
            1 => {
                sent.add(&mut self.messages.following, &integers);
                let at = self.messages.expect_share(bytes);
                self.joins.push(BitsToRing { at, width, known: integers, sent });
            }
            _ => {
                self.keys.with_next().fill_bytes(&mut masked);
                let sums = sums_of_masks(width, &mut masked, &integers);
                sent.add(&mut self.messages.following, &sums);
            }
        }
        sent
    }

    /// Goes on with conversions for which the round brought something.
    pub(super) fn take_shares(&mut self) {
        for Split { issued, sum, last } in std::mem::take(&mut self.splits) {
            let addition = addition(&issued.1);
            let mut first = Zeroizing::new(vec![0; last.len()]);
            sum.write(addition.shape(), &self.messages, &mut first);
            let circuit = self.model.template(&addition);
            let rounds = circuit.0.depth() as u32;
            let place = self.circuits.push(&addition, circuit, &[&first, &last]);
            // This round is not over yet.
            self.launch(issued, 1 + rounds, Flight::Circuit(place));
        }
        for BitsToRing { at, width, known, sent } in self.joins.drain(..) {
            let bytes = masked_bit_bytes(width, known.len() as u32);
            let mut masked = Zeroizing::new(self.messages.share(at, bytes).to_vec());
            let mut sums = sums_of_masks(width, &mut masked, &known);
            sums.iter_mut().for_each(|sum| *sum = sum.wrapping_neg());
            sent.add(&mut self.messages.following, &sums);
        }
    }
}

/// Calls `visit` with the masks for each bit of `count` integers but the last one: for bit `i` a ring element
/// of the `width - 1 - i` bits above it for each integer, which it may change.
fn for_each_bit(
    width: u16,
    count: usize,
    mut masks: &mut [u8],
    mut visit: impl FnMut(u16, &mut [u64]),
) {
    let mut words = blank(count);
    for bit in 0..width - 1 {
        let bytes = ring_bytes(width - 1 - bit);
        let of_bit;
        (of_bit, masks) = masks.split_at_mut(bytes * count);
        // With all bits of their bytes, which are sent.
        load(&mut words, of_bit, 8 * bytes as u16);
        visit(bit, &mut words);
        store(of_bit, &words, 8 * bytes as u16);
    }
}

/// Twice the sum of the masks for bits that are 1, each times its weight.
fn sums_of_masks(width: u16, masks: &mut [u8], integers: &[u64]) -> Words {
    let mut sums = blank(integers.len());
    for_each_bit(width, integers.len(), masks, |bit, masks| {
        for ((sum, mask), integer) in sums.iter_mut().zip(masks).zip(integers) {
            let chosen = (integer >> bit & 1).wrapping_neg() & *mask << (bit + 1);
            *sum = sum.wrapping_add(chosen);
        }
    });
    sums
}
