//! Inputs and outputs of [`SpdzDriver`].

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{Instruction, Lane, Sharing, mask_of};
use phineus_channels::Channel;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::{Flight, SpdzDriver};
use crate::ProtocolError;
use crate::spdz::run::{Context, blank};
use crate::spdz::{Material, Share};

/// An output that is opened at the end of the round.
pub(super) struct PendingOutput<F: Field> {
    pub(super) instruction: Instruction,
    at: usize,
    /// What the learner must take off, if it is the only one who may know.
    masks: Option<Zeroizing<Vec<F>>>,
    pub(super) is_ours: bool,
}

impl<F: Field, C: Channel, M: Material<F>> SpdzDriver<F, C, M> {
    pub(super) fn owner(&self, instruction: &Instruction) -> usize {
        usize::from(self.description.inputs[instruction.immediates[0] as usize].party)
    }

    pub(super) fn issue_integers(
        &mut self,
        instruction: &Instruction,
    ) -> Result<Flight<F>, ProtocolError> {
        let owner = self.owner(instruction);
        let (width, is_signed) = (instruction.element.width(), instruction.element.is_signed());
        let SpdzDriver { parties, delta, opening, material, brought, inputs, .. } = self;
        let context = &mut Context { me: parties.me(), delta: **delta, opening, material };
        let (count, from) = (instruction.lanes as usize, (owner, false));
        let at = if owner != context.me {
            brought.issue(context, from, count, None::<std::iter::Empty<F>>)?
        } else if let Some(integers) = inputs.integers(instruction) {
            let values = integers.map(|value| F::from_signed(value.into()));
            brought.issue(context, from, count, Some(values))?
        } else {
            let of = |lane: Lane| F::from_signed(signed(lane, width, is_signed));
            brought.issue(context, from, count, Some(inputs.lanes(instruction).map(of)))?
        };
        Ok(Flight::Brought(at))
    }

    /// The bits that this party brings, as elements, bit-major.
    fn own_bits(&self, instruction: &Instruction) -> Zeroizing<Vec<F>> {
        let count = instruction.lanes as usize;
        let width = usize::from(instruction.element.width());
        let mut values = Zeroizing::new(vec![F::ZERO; count * width]);
        for (j, lane) in self.inputs.lanes(instruction).enumerate() {
            for (i, row) in values.chunks_exact_mut(count).enumerate() {
                row[j] = F::ONE.and_bit(lane.bit(i));
            }
        }
        values
    }

    pub(super) fn issue_bits(
        &mut self,
        instruction: &Instruction,
    ) -> Result<Flight<F>, ProtocolError> {
        let owner = self.owner(instruction);
        let count = element_count(instruction.shape()) as usize;
        let own = (owner == self.parties.me()).then(|| self.own_bits(instruction));
        let SpdzDriver { parties, delta, opening, material, brought, .. } = self;
        let context = &mut Context { me: parties.me(), delta: **delta, opening, material };
        let values = own.as_ref().map(|bits| bits.iter().copied());
        Ok(Flight::Brought(brought.issue(context, (owner, true), count, values)?))
    }

    /// Puts the outputs of this round with what it opens.
    pub(super) fn push_outputs(&mut self) -> Result<Vec<PendingOutput<F>>, ProtocolError> {
        let mut pending = Vec::new();
        for (instruction, shares) in std::mem::take(&mut self.waiting) {
            let port = &self.description.outputs[instruction.immediates[0] as usize];
            if port.parties.len() == self.parties.count() {
                let at = self.opening.push(&shares);
                pending.push(PendingOutput { instruction, at, masks: None, is_ours: true });
                continue;
            }
            for learner in port.parties.clone().into_iter().map(usize::from) {
                let is_ours = learner == self.parties.me();
                let mut masked = blank(shares.len());
                let mut masks = Zeroizing::new(vec![F::ZERO; shares.len() * usize::from(is_ours)]);
                let known = is_ours.then_some(masks.as_mut_slice());
                self.material.masks(learner, &mut masked, known)?;
                F::add_assign(Share::elements_mut(&mut masked), Share::elements(&shares));
                let at = self.opening.push(&masked);
                pending.push(PendingOutput { instruction, at, masks: Some(masks), is_ours });
            }
        }
        Ok(pending)
    }

    /// The values of an output that was opened.
    pub(super) fn opened_output(&self, output: &PendingOutput<F>) -> Zeroizing<Vec<F>> {
        let count = element_count(output.instruction.shape()) as usize;
        let mut opened = Zeroizing::new(self.opening.opened(output.at, count).to_vec());
        if let Some(masks) = output.masks.as_ref().filter(|_| output.is_ours) {
            F::sub_assign(&mut opened, masks);
        }
        opened
    }

    pub(super) fn write_output(
        &mut self,
        instruction: &Instruction,
        values: &[F],
    ) -> Result<(), ProtocolError> {
        let shape = instruction.shape();
        let lanes = shape.lanes as usize;
        if shape.sharing == Sharing::Arithmetic {
            let of = |value: &F| lane(*value, shape.width);
            self.outputs.write(instruction, values.iter().map(of));
            return Ok(());
        }
        if values.iter().any(|&value| value != F::ZERO && value != F::ONE) {
            return Err(ProtocolError::Cheated { during: "that an output is made of bits" });
        }
        let of = |j: usize| {
            let bits = values.chunks_exact(lanes).enumerate();
            bits.fold(Lane::ZERO, |sum, (i, row)| sum | (Lane::from(row[j].value()) << i))
        };
        self.outputs.write(instruction, (0..lanes).map(of));
        Ok(())
    }
}

/// The integer of smallest magnitude that an element is, modulo `2^width`.
fn lane<F: Field>(value: F, width: u16) -> Lane {
    let value = value.value();
    let whole = if value > F::MODULUS / 2 {
        Lane::from(F::MODULUS - value).wrapping_neg()
    } else {
        Lane::from(value)
    };
    whole & mask_of(width)
}

/// An integer of `width` bits below 127.
pub(in crate::spdz) fn signed(lane: Lane, width: u16, is_signed: bool) -> i128 {
    let limbs = lane.as_limbs();
    let value = i128::from(limbs[0]) | (i128::from(limbs[1]) << 64);
    let is_negative = is_signed && lane.bit(usize::from(width) - 1);
    value - (i128::from(is_negative) << width)
}
