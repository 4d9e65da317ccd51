//! Triples of a bit that one party knows and a row that the others share.
//!
//! Source: Asharov, Lindell, Schneider, Zohner, CCS 2013, section 5.2, for rows instead of bits. A random OT of rows
//! gives its sender `m_0 ^ m_1` for its share of `d`, its receiver the choice for `s`, and both shares `m_0`, `m_s` of
//! their product. Between three parties and more the owner has the same choices towards all others.
//!
//! Cost: a random OT for each triple between the owner and each other party, and nothing else: as much for a row of 128
//! bits as for one.
//! Not protected: malicious parties.

use phineus_channels::Channel;
use phineus_ot::ChoiceBits;
use zerocopy::IntoBytes;

use super::generator::{Generator, clear_beyond};
use super::pair::pair;
use crate::CorrelatedError;

impl<C: Channel> Generator<C> {
    /// First part of `count` triples at the party that knows the bits: they are its choices towards all peers.
    pub(super) fn choose_known_bits(
        &mut self,
        (width, count): (usize, usize),
        bits: &mut [u64],
        products: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let random = self.draws_choices();
        if !random {
            self.prg.fill_bytes(bits.as_mut_bytes());
            clear_beyond(count, bits);
        }
        let chosen = &mut self.scratch[..products.len()];
        for peer in self.parties.peers() {
            let receiver = &mut pair(&mut self.pairs, peer).receiver;
            let choices = match random {
                true => ChoiceBits::Random(bits),
                false => ChoiceBits::Chosen(bits),
            };
            let channel = self.parties.channel(peer);
            receiver.extend_rows(channel, choices, (width, count), chosen)?;
            products.iter_mut().zip(chosen.iter()).for_each(|(product, row)| *product ^= row);
        }
        clear_beyond(count, bits);
        Ok(())
    }

    /// Second part of `count` triples at the others: rows of `width` bits, from OTs with the `owner` of the bits.
    pub(super) fn offer_known_rows(
        &mut self,
        owner: usize,
        (width, count): (usize, usize),
        rows: &mut [u64],
        products: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let random = self.draws_choices();
        let sender = &mut pair(&mut self.pairs, owner).sender;
        let channel = self.parties.channel(owner);
        sender.extend_rows(channel, random, (width, count), products, rows)?;
        rows.iter_mut().zip(products.iter()).for_each(|(one, zero)| *one ^= zero);
        Ok(())
    }
}
