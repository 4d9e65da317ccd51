//! The garbler's part in what moves rows of XOR shares.

use std::ops::Range;

use phineus_bytecode::{ElementType, Instruction, Op};
use phineus_channels::Channel;
use phineus_crypto::{Block, SecretBit};
use phineus_ot::{CorrelatedOtReceiver, CorrelatedOtSender};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::Garbler;
use super::algebra::GarblerAlgebra;
use crate::ProtocolError;
use crate::garbled::row_swaps::{Swapped, swap_bytes};
use crate::garbled::share_labels::{compute_alone, packed_share};
use crate::garbled::switch_ots::WantedSwitches;
use crate::garbled::{GARBLER, packed_bit};

impl<C: Channel> Garbler<C> {
    /// Does an instruction on shares, or from or to them.
    pub(super) fn compute_on_shares(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        if compute_alone(i, results, operands, true) {
            return Ok(());
        }
        self.receive_all()?;
        let own = packed_share(i, operands[0], true);
        self.transfers += results[0].len() as u64;
        let (GarblerAlgebra { channel, delta, .. }, ot) = (&mut self.algebra, self.ot.as_mut());
        let ot = ot.expect("a program with OTs sets them up");
        let make = |_: &mut [u64], q: &mut [Block]| ot.extend_random(channel, q);
        self.random_choices.take(results[0], make, |_| {})?;
        let delta = delta.block();
        channel.recv_with(own.len(), |told| {
            for (wire, label) in results[0].iter_mut().enumerate() {
                let shift = packed_bit(told, wire) ^ packed_bit(&own, wire);
                *label ^= delta.and_bit(SecretBit::lowest(shift.into()));
            }
        })?;
        self.rounds.told();
        Ok(())
    }

    /// Exchanges rows by switches of `owner`.
    pub(super) fn swap_rows(
        &mut self,
        (i, owner): (&Instruction, u16),
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        let mut swapped = Swapped::of(i, results, operands);
        if owner == GARBLER {
            self.receive_all()?;
        }
        let (GarblerAlgebra { channel, delta, .. }, swaps) = (&mut self.algebra, &mut self.swaps);
        if owner == GARBLER {
            channel.recv_with(swap_bytes(i), |received| swaps.accept(i, &mut swapped, received))?;
            self.rounds.told();
            return Ok(());
        }
        let delta = delta.block();
        channel.send_with(swap_bytes(i), |sent| swaps.offer(i, delta, &mut swapped, sent))?;
        self.rounds.spoken();
        Ok(())
    }

    /// The blocks of transfers for switches of this party.
    pub(super) fn own_switches(
        &mut self,
        i: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let (channel, ot) = (&mut self.algebra.channel, self.ot_back.as_mut());
        let ot = ot.expect("there are switches");
        self.transfers += wires.len() as u64;
        let (permutations, draws) = (&mut self.permutations, &mut self.draws);
        let make = |switches: Range<u64>| {
            let count = (switches.end - switches.start) as u32;
            let mut all = Instruction::new(Op::Switches, ElementType::BIT, count);
            all.immediates = [i.immediates[0], switches.start, 0, 0];
            let draw = &mut |words: &mut [u64]| draws.fill_bytes(words.as_mut_bytes());
            let bits = permutations.bring(&all, draw);
            let mut choices = Zeroizing::new(vec![0; bits.len().div_ceil(64)]);
            for (k, &bit) in bits.iter().enumerate() {
                choices[k / 64] |= u64::from(bit) << (k % 64);
            }
            let mut blocks = Zeroizing::new(vec![Block::ZERO; bits.len()]);
            ot.extend(channel, &choices, &mut blocks)?;
            for (block, &bit) in blocks.iter_mut().zip(bits.iter()) {
                *block = block.with_select_bit(SecretBit::lowest(bit.into()));
            }
            Ok::<_, ProtocolError>(blocks)
        };
        let wanted = WantedSwitches::of(&self.description, i);
        if self.switch_ots.bring_into(&wanted, make, wires)? {
            self.rounds.spoken();
        }
        Ok(())
    }
}
