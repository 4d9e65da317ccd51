//! Shares of `x * delta_i` with one peer: correlated oblivious product evaluation with errors.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol Pi_COPEe.
//! For every bit of the key the owner of `x` has two generators, and the holder of the key the one
//! that the bit chooses, by a maliciously secure OT. For each `x` the owner sends the difference
//! of both generators' next elements plus `x`; then `q = t + x * delta`.
//!
//! Cost per element, with a field of `k` bits: `k` elements from owner to holder; `2 k` elements of
//! generators at the owner, `k` at the holder.
//! Invariants: both ends extend by the same pieces in the same order.
//! Not protected: an owner may use different `x` for different bits of the key: `authenticate`
//! checks that.

use phineus_channels::Channel;
use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg, SecretBit};
use phineus_ot::softspoken::{SoftSpokenReceiver, SoftSpokenSender};
use phineus_ot::{RandomOtReceiver, RandomOtSender};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::coin::misbehaved;
use super::products::add_bit;
use crate::CorrelatedError;

/// The party whose elements are multiplied with the peer's key.
pub(super) struct CopeOwner {
    /// Both generators of each bit of the peer's key.
    generators: Vec<[Prg; 2]>,
}

/// The party with the key.
pub(super) struct CopeHolder {
    /// The generator that each bit of the key chooses.
    generators: Vec<Prg>,
    key: Zeroizing<u128>,
}

impl CopeOwner {
    pub(super) fn setup<F: Field>(
        channel: &mut impl Channel,
        ots: &mut RandomOtSender<SoftSpokenSender>,
    ) -> Result<CopeOwner, CorrelatedError> {
        let mut seeds = Zeroizing::new(vec![[Block::ZERO; 2]; F::BITS as usize]);
        ots.extend(channel, &mut seeds)?;
        Ok(CopeOwner { generators: seeds.iter().map(|pair| pair.map(Prg::from_seed)).collect() })
    }

    /// Sends the row of a bit of the key and adds it to `t` ([`add_bit`]). `row` and `other` are
    /// space for as many elements as `x` has.
    pub(super) fn send_row<F: Field>(
        &mut self,
        channel: &mut impl Channel,
        bit: usize,
        x: &[F],
        t: &mut [F],
        [row, other]: [&mut [F]; 2],
    ) -> Result<(), CorrelatedError> {
        let [zero, one] = &mut self.generators[bit];
        F::fill_random(zero, row);
        F::fill_random(one, other);
        add_bit(t, bit, row);
        F::sub_assign(row, other);
        F::add_assign(row, x);
        Ok(channel.send(row.as_bytes())?)
    }
}

impl CopeHolder {
    pub(super) fn setup<F: Field>(
        channel: &mut impl Channel,
        ots: &mut RandomOtReceiver<SoftSpokenReceiver>,
        key: F,
    ) -> Result<CopeHolder, CorrelatedError> {
        let key = Zeroizing::new(key.value());
        let choices = Zeroizing::new([*key as u64, (*key >> 64) as u64]);
        let words = (F::BITS as usize).div_ceil(64);
        let mut seeds = Zeroizing::new(vec![Block::ZERO; F::BITS as usize]);
        ots.extend(channel, &choices[..words], &mut seeds)?;
        Ok(CopeHolder { generators: seeds.iter().map(|&seed| Prg::from_seed(seed)).collect(), key })
    }

    /// Takes the row of a bit of the key and adds it to `q` ([`add_bit`]). `row` and `chosen` are
    /// room.
    pub(super) fn receive_row<F: Field>(
        &mut self,
        channel: &mut impl Channel,
        bit: usize,
        q: &mut [F],
        [row, chosen]: [&mut [F]; 2],
    ) -> Result<(), CorrelatedError> {
        let bytes = size_of_val(row);
        channel.recv_with(bytes, |bytes| F::read(bytes, row))?.map_err(|_| misbehaved())?;
        F::fill_random(&mut self.generators[bit], chosen);
        let key_bit = SecretBit::lowest((*self.key >> bit) as u64);
        for (chosen, row) in chosen.iter_mut().zip(row.iter()) {
            *chosen = chosen.add(row.and_bit(key_bit));
        }
        add_bit(q, bit, chosen);
        Ok(())
    }
}
