//! Values that parties choose by themselves: random elements and bits known to one party, and sums
//! of bounded integers.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol Pi_[[.]]
//! (Input) with random inputs. The owner's element is split into random shares, so that opening
//! a sum with it shows nothing but the sum; the others' shares come out of generators that the
//! owner has too, instead of messages. Bits and the digits of bounded integers are proven to be
//! such (`ranges`). Bounded integers are what masks of PRandInt are elsewhere (Catrina, de Hoogh,
//! "Improved Primitives for Secure Multiparty Integer Computation", SCN 2010), with digits of
//! each party's own in place of shared random bits.
//!
//! Cost, with a field of `k` bits: `k` elements from the owner to each peer for each mask, and 11
//! times that for each bounded integer, from all to all.
//! Invariants and what is not protected: those of `authenticate` and `ranges`.

use phineus_channels::Channel;
use phineus_crypto::Prg;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::authenticate::AuthenticatedOwners;
use super::batch::{Batch, refill};
use super::check::all_heard_the_same;
use super::coin::Coins;
use super::deviation::Deviation;
use super::generator::{BatchBuffers, Generator};
use super::peer_state::link;
use super::ranges::Ranges;
use crate::CorrelatedError;
use crate::authenticated::{BOUNDED_BITS, Share};

/// A bit: one vector.
const BIT: &[u32] = &[1];
/// The digits of a bounded integer, the lowest first. Larger ones would take fewer elements and
/// longer proofs.
const DIGITS: &[u32] = &[4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1];
const _: () = {
    let (mut sum, mut digit) = (0, 0);
    while digit < DIGITS.len() {
        sum += DIGITS[digit];
        digit += 1;
    }
    assert!(sum == BOUNDED_BITS);
};

/// The ranges of bits that one party knows.
pub(super) const fn bits(count: usize, parties: usize) -> Ranges {
    Ranges { count, bits: BIT, holders: parties - 1 }
}

/// The ranges of the digits of bounded integers.
pub(super) const fn digits(count: usize, parties: usize) -> Ranges {
    Ranges { count, bits: DIGITS, holders: parties - 1 }
}

impl<F: Field, C: Channel, D: Deviation> Generator<F, C, D> {
    /// Makes `count` masks that party `owner` knows.
    ///
    /// # Panics
    /// If there is no such party.
    pub(super) fn masks(
        &mut self,
        owner: usize,
        count: usize,
        batch: &mut Batch<F>,
    ) -> Result<(), CorrelatedError> {
        assert!(owner < self.parties.count(), "the owner is one of the parties");
        let draw = |prg: &mut Prg, inputs: &mut [F]| F::fill_random(prg, inputs);
        self.chosen(AuthenticatedOwners::One(owner), count + 1, None, draw)?;
        self.hand_out(owner, count, batch);
        Ok(())
    }

    /// Makes `count` random bits that party `owner` knows.
    ///
    /// # Panics
    /// If there is no such party.
    pub(super) fn bit_masks(
        &mut self,
        owner: usize,
        count: usize,
        batch: &mut Batch<F>,
    ) -> Result<(), CorrelatedError> {
        assert!(owner < self.parties.count(), "the owner is one of the parties");
        let ranges = bits(count, self.parties.count());
        let draw = |prg: &mut Prg, inputs: &mut [F]| ranges.draw(prg, inputs);
        self.chosen(AuthenticatedOwners::One(owner), ranges.inputs(), Some(ranges), draw)?;
        self.hand_out(owner, count, batch);
        Ok(())
    }

    /// Makes a sum of an integer of each party for each place of `integers`; modulo the prime, whose
    /// size matters to whoever hides something behind them.
    pub(super) fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        let count = integers.len();
        let ranges = digits(count, self.parties.count());
        let draw = |prg: &mut Prg, inputs: &mut [F]| ranges.draw(prg, inputs);
        self.chosen(AuthenticatedOwners::All, ranges.inputs(), Some(ranges), draw)?;
        let BatchBuffers { inputs, macs, sums, .. } = &mut self.room;
        let mut weight = F::ONE;
        for (digit, &bits) in ranges.bits.iter().enumerate() {
            let at = 1 + digit * count..1 + (digit + 1) * count;
            let [values, macs] = [&inputs[at.clone()], &macs[at]];
            for (share, (&value, &mac)) in integers.iter_mut().zip(values.iter().zip(macs)) {
                share.value = share.value.add(value.mul(weight));
                share.mac = share.mac.add(mac.mul(weight));
            }
            weight = weight.mul(F::new(1 << bits));
        }
        // A party's own integer is no share yet.
        refill(sums, count);
        for peer in self.parties.peers() {
            let [own, theirs] = &mut link(&mut self.links, peer).mask_shares;
            F::fill_random(own, sums);
            integers.iter_mut().zip(&**sums).for_each(|(x, &y)| x.value = x.value.sub(y));
            F::fill_random(theirs, sums);
            integers.iter_mut().zip(&**sums).for_each(|(x, &y)| x.value = x.value.add(y));
        }
        Ok(())
    }

    /// Authenticates so many elements that owners `draw`, with a proof if they lie in ranges.
    fn chosen(
        &mut self,
        owners: AuthenticatedOwners,
        count: usize,
        ranges: Option<Ranges>,
        draw: impl Fn(&mut Prg, &mut [F]),
    ) -> Result<(), CorrelatedError> {
        let (parties, transcript) = (&mut self.parties, &mut self.transcript);
        let me = parties.me();
        let mut coins = Coins::commit(parties, transcript, &mut self.prg, 1, &mut self.deviation)?;
        let BatchBuffers { inputs, sums, .. } = &mut self.room;
        refill(inputs, count);
        refill(sums, 0);
        if owners.contains(me) {
            draw(&mut self.prg, inputs);
        }
        self.authenticate(owners)?;
        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        self.open_checked(owners, &mut coin)?;
        if let Some(ranges) = ranges {
            self.prove_ranges(owners, ranges, &mut coin)?;
        }
        all_heard_the_same(&mut self.parties, &mut self.transcript)
    }

    /// Splits the `owner`'s elements into shares; the owner keeps them besides.
    fn hand_out(&mut self, owner: usize, count: usize, batch: &mut Batch<F>) {
        let BatchBuffers { inputs, macs, sums, .. } = &mut self.room;
        refill(sums, count);
        let values = &mut inputs[1..][..count];
        if self.parties.me() == owner {
            batch.values.extend_from_slice(values);
            for peer in self.parties.peers() {
                F::fill_random(&mut link(&mut self.links, peer).mask_shares[0], sums);
                F::sub_assign(values, sums);
            }
        } else {
            F::fill_random(&mut link(&mut self.links, owner).mask_shares[1], values);
        }
        let [column, ..] = &mut batch.columns;
        for (share, (&value, &mac)) in column.iter_mut().zip(values.iter().zip(&macs[1..])) {
            (share.value, share.mac) = (value, mac);
        }
    }
}

impl Ranges {
    /// Draws the mask, elements of all vectors, and the masks of the proof.
    fn draw<F: Field>(self, prg: &mut Prg, inputs: &mut [F]) {
        F::fill_random(prg, inputs);
        let mut drawn = Zeroizing::new(vec![0u8; self.count]);
        for (vector, &bits) in inputs[1..].chunks_exact_mut(self.count).zip(self.bits) {
            prg.fill_bytes(&mut drawn);
            for (element, byte) in vector.iter_mut().zip(&*drawn) {
                *element = F::new(u128::from(byte & ((1 << bits) - 1)));
            }
        }
    }
}
