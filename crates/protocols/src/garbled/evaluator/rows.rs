//! The evaluator's part in what moves rows of XOR shares.

use std::ops::Range;

use phineus_bytecode::Instruction;
use phineus_channels::Channel;
use phineus_crypto::{Block, SecretBit};
use phineus_ot::{CorrelatedOtReceiver, CorrelatedOtSender};
use zeroize::Zeroizing;

use super::Evaluator;
use crate::ProtocolError;
use crate::garbled::EVALUATOR;
use crate::garbled::row_swaps::{Swapped, swap_bytes};
use crate::garbled::share_labels::{compute_alone, packed_share};
use crate::garbled::switch_ots::WantedSwitches;

impl<C: Channel> Evaluator<C> {
    /// Does an instruction on shares, or from or to them.
    pub(super) fn compute_on_shares(
        &mut self,
        i: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        if compute_alone(i, results, operands, false) {
            return Ok(());
        }
        let mut told = packed_share(i, operands[0], true);
        self.transfers += results[0].len() as u64;
        let (channel, ot) = (&mut self.algebra.channel, self.ot.as_mut());
        let ot = ot.expect("a program with OTs sets them up");
        let make = |choices: &mut [u64], t: &mut [Block]| ot.extend_random(channel, choices, t);
        let mut wire = 0;
        self.random_choices.take(results[0], make, |choice| {
            told[wire / 8] ^= (choice as u8) << (wire % 8);
            wire += 1;
        })?;
        self.algebra.channel.send(&told)?;
        self.owes = true;
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
        let (channel, swaps) = (&mut self.algebra.channel, &mut self.swaps);
        if owner == EVALUATOR {
            channel.recv_with(swap_bytes(i), |received| swaps.accept(i, &mut swapped, received))?;
            self.rounds.spoken();
            return Ok(());
        }
        let offset = self.ot_back.as_ref().expect("there are switches").delta().block();
        channel.send_with(swap_bytes(i), |sent| swaps.offer(i, offset, &mut swapped, sent))?;
        self.owes = true;
        self.rounds.told();
        Ok(())
    }

    /// The blocks of transfers for switches of the garbler.
    pub(super) fn garbler_switches(
        &mut self,
        i: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let (channel, ot) = (&mut self.algebra.channel, self.ot_back.as_mut());
        let ot = ot.expect("there are switches");
        self.transfers += wires.len() as u64;
        let wanted = WantedSwitches::of(&self.description, i);
        let make = |switches: Range<u64>| {
            let count = (switches.end - switches.start) as usize;
            let mut blocks = Zeroizing::new(vec![Block::ZERO; count]);
            // The garbler may wait for what comes before.
            channel.flush()?;
            ot.extend(channel, &mut blocks)?;
            // The select bit of the garbler's block is its switch.
            let no = SecretBit::public(false);
            blocks.iter_mut().for_each(|block| *block = block.with_select_bit(no));
            Ok::<_, ProtocolError>(blocks)
        };
        if self.switch_ots.bring_into(&wanted, make, wires)? {
            self.rounds.spoken();
        }
        Ok(())
    }
}
