//! Input masks: random elements that one party knows.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol Pi_[[.]]
//! (Input) with random inputs. The owner's element is split into random shares, so that opening
//! a sum with it shows nothing but the sum; the others' shares come out of generators that the
//! owner has too, instead of messages.
//!
//! Cost per mask, with a field of `k` bits: `k` elements from the owner to each peer.
//! Invariants and what is not protected: those of `authenticate`.

use phineus_channels::Channel;
use phineus_crypto::field::Field;

use super::authenticate::Owners;
use super::batch::{Batch, refill};
use super::check::all_heard_the_same;
use super::coin::Coins;
use super::generator::{Generator, Room};
use super::link::link;
use crate::ProtocolError;

impl<F: Field, C: Channel> Generator<F, C> {
    /// Makes `count` masks that party `owner` knows.
    ///
    /// # Panics
    /// If there is no such party.
    pub(super) fn masks(
        &mut self,
        owner: usize,
        count: usize,
        batch: &mut Batch<F>,
    ) -> Result<(), ProtocolError> {
        assert!(owner < self.parties.count(), "the owner is one of the parties");
        let (parties, transcript) = (&mut self.parties, &mut self.transcript);
        let me = parties.me();
        let mut coins = Coins::commit(parties, transcript, &mut self.prg, 1)?;
        let Room { inputs, sums, .. } = &mut self.room;
        refill(inputs, count + 1);
        refill(sums, 0);
        if me == owner {
            F::fill_random(&mut self.prg, inputs);
        }
        self.authenticate(Owners::One(owner))?;
        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        self.open_checked(Owners::One(owner), &mut coin)?;
        all_heard_the_same(&mut self.parties, &mut self.transcript)?;

        let Room { inputs, macs, sums, .. } = &mut self.room;
        refill(sums, count);
        let values = &mut inputs[1..];
        if me == owner {
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
        Ok(())
    }
}
