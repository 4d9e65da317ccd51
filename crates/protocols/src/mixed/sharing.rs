//! Sharing of inputs at the computing parties.
//!
//! Each two computing parties have a generator in common, from which both draw what one of them
//! adds and the other takes off; the owner adds the value. What clients bring comes from
//! [`super::client`].

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Instruction, Shape};
use phineus_channels::Channel;
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_engine::packed;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::driver::MixedDriver;
use crate::ProtocolError;
use crate::shares::client::{input_values, unpack};
use crate::shares::ring::load;
use crate::shares::values::{Words, blank};

impl<C: Channel, P: CorrelatedRandomness> MixedDriver<C, P> {
    /// Who brings the values of an input instruction.
    pub(super) fn owner(&self, instruction: &Instruction) -> usize {
        usize::from(self.description.inputs[instruction.immediates[0] as usize].party)
    }

    /// Our XOR share of an input, as packed rows.
    pub(super) fn input_bits(
        &mut self,
        instruction: &Instruction,
        shape: Shape,
        share: &mut [u8],
    ) -> Result<(), ProtocolError> {
        let owner = self.owner(instruction);
        if let Some(client) = owner.checked_sub(self.parties.count()) {
            return self.share_of_client(client, shape, share);
        }
        let values = (owner == self.parties.me()).then(|| input_values(&self.inputs, instruction));
        self.share_bits(owner, shape, share, values.as_ref().map(|values| values.as_slice()));
        Ok(())
    }

    /// Our additive share of an input.
    pub(super) fn input_ring(&mut self, instruction: &Instruction) -> Result<Words, ProtocolError> {
        let (owner, shape) = (self.owner(instruction), instruction.shape());
        let mut share = blank(shape.lanes as usize);
        if let Some(client) = owner.checked_sub(self.parties.count()) {
            let mut bytes = Zeroizing::new(vec![0; share_bytes(shape)]);
            self.share_of_client(client, shape, &mut bytes)?;
            load(&mut share, &bytes, shape.width);
            return Ok(share);
        }
        let values: Option<Words> = (owner == self.parties.me()).then(|| {
            let lanes = self.inputs.lanes(instruction);
            Zeroizing::new(lanes.map(|lane| lane.as_limbs()[0]).collect())
        });
        self.share_ring(owner, &mut share, values.as_ref().map(|values| values.as_slice()));
        Ok(share)
    }

    /// Our share of what a client brings: the last party is sent it.
    fn share_of_client(
        &mut self,
        client: usize,
        shape: Shape,
        share: &mut [u8],
    ) -> Result<(), ProtocolError> {
        let me = self.parties.me();
        if me + 1 < self.parties.count() {
            self.clients.draw(client, me, shape, share);
        } else {
            unpack(shape, &self.clients.receive(client, shape)?, share);
        }
        Ok(())
    }

    /// Our XOR share of the packed bits of `owner`, who computes: what the generators give, and for
    /// the owner besides `values`.
    pub(super) fn share_bits(
        &mut self,
        owner: usize,
        shape: Shape,
        share: &mut [u8],
        values: Option<&[u8]>,
    ) {
        let me = self.parties.me();
        share.fill(0);
        let mut masks = Zeroizing::new(vec![0; share.len()]);
        for (peer, prg) in self.common.iter_mut().enumerate() {
            let Some(prg) = prg.as_mut().filter(|_| owner == me || owner == peer) else { continue };
            prg.fill_bytes(&mut masks);
            share.iter_mut().zip(&*masks).for_each(|(share, mask)| *share ^= mask);
        }
        packed::clear_padding(share, shape.lanes as usize);
        if let Some(values) = values {
            share.iter_mut().zip(values).for_each(|(share, value)| *share ^= value);
        }
    }

    /// As [`Self::share_bits`] for elements of a ring.
    fn share_ring(&mut self, owner: usize, share: &mut [u64], values: Option<&[u64]>) {
        let me = self.parties.me();
        share.fill(0);
        let mut masks = blank(share.len());
        for (peer, prg) in self.common.iter_mut().enumerate() {
            let Some(prg) = prg.as_mut().filter(|_| owner == me || owner == peer) else { continue };
            prg.fill_bytes(masks.as_mut_bytes());
            for (share, mask) in share.iter_mut().zip(&*masks) {
                // What the owner takes off is what the others have.
                let mask = if owner == me { mask.wrapping_neg() } else { *mask };
                *share = share.wrapping_add(mask);
            }
        }
        if let Some(values) = values {
            share.iter_mut().zip(values).for_each(|(share, value)| {
                *share = share.wrapping_add(*value);
            });
        }
    }
}
