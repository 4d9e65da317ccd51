//! Inputs and outputs of [`SpdzDriver`].

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{Instruction, Lane, Sharing, mask_of};
use phineus_channels::Channel;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Share};
use phineus_crypto::SecretBit;
use phineus_crypto::field::Field;
use phineus_engine::OwnPermutations;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::{Flight, SpdzDriver};
use crate::ProtocolError;
use crate::spdz::run::{FlightContext, blank};

/// An output that is opened at the end of the round.
pub(super) struct PendingOutput<F: Field> {
    pub(super) instruction: Instruction,
    at: usize,
    /// Masks that the receiver of an output subtracts, if it is the only one.
    masks: Option<Zeroizing<Vec<F>>>,
    pub(super) is_ours: bool,
}

impl<F: Field, C: Channel, M: AuthenticatedRandomness<F>> SpdzDriver<F, C, M> {
    pub(super) fn owner(&self, instruction: &Instruction) -> usize {
        usize::from(self.description.inputs[instruction.immediates[0] as usize].party)
    }

    pub(super) fn issue_integers(
        &mut self,
        instruction: &Instruction,
    ) -> Result<Flight<F>, ProtocolError> {
        let owner = self.owner(instruction);
        let (width, is_signed) = (instruction.element.width(), instruction.element.is_signed());
        let SpdzDriver { parties, delta, opening, correlated, brought, inputs, .. } = self;
        let context = &mut FlightContext { me: parties.me(), delta: **delta, opening, correlated };
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
                row[j] = F::ONE.and_bit(SecretBit::of_packed(lane.as_limbs(), i));
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
        let SpdzDriver { parties, delta, opening, correlated, brought, .. } = self;
        let context = &mut FlightContext { me: parties.me(), delta: **delta, opening, correlated };
        let values = own.as_ref().map(|bits| bits.iter().copied());
        Ok(Flight::Brought(brought.issue(context, (owner, true), count, values)?))
    }

    /// Brings switches of a party's permutation, as bits that are proven to be bits: so the network that they set is one of
    /// a permutation, whatever its owner does.
    pub(super) fn issue_switches(
        &mut self,
        instruction: &Instruction,
    ) -> Result<Flight<F>, ProtocolError> {
        let owner = usize::from(OwnPermutations::owner(&self.description, instruction));
        let SpdzDriver {
            parties, delta, opening, correlated, brought, permutations, draws, ..
        } = self;
        let context = &mut FlightContext { me: parties.me(), delta: **delta, opening, correlated };
        let count = instruction.lanes as usize;
        let own = (owner == context.me).then(|| {
            let draws = draws.as_mut().expect("a program with permutations draws them");
            permutations.bring(instruction, &mut |words| draws.fill_bytes(words.as_mut_bytes()))
        });
        let bit = |&switch: &u32| F::ONE.and_bit(SecretBit::of_packed(&[switch.into()], 0));
        let values = own.as_ref().map(|switches| switches.iter().map(bit));
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
                self.correlated.masks(learner, &mut masked, known)?;
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
        // Only 0 and 1 are their own squares.
        let excess = values.iter().map(|&value| value.mul(value).sub(value).value());
        let excess = excess.fold(0, |all, one| all | one);
        let are_bits = SecretBit::is_zero(excess as u64 | (excess >> 64) as u64);
        if !are_bits.declassify("all learn whether outputs are what they must be") {
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
pub(super) fn lane<F: Field>(value: F, width: u16) -> Lane {
    let value = value.value();
    let (_, is_above_half) = (F::MODULUS / 2).overflowing_sub(value);
    let is_negative = SecretBit::carry(is_above_half);
    let value = value.wrapping_sub(F::MODULUS & is_negative.wide_mask());
    let [low, high, sign] = [value as u64, (value >> 64) as u64, is_negative.mask()];
    Lane::from_limbs([low, high, sign, sign]) & mask_of(width)
}

/// An integer of `width` bits below 127.
pub(in crate::spdz) fn signed(lane: Lane, width: u16, is_signed: bool) -> i128 {
    let limbs = lane.as_limbs();
    let value = i128::from(limbs[0]) | (i128::from(limbs[1]) << 64);
    if !is_signed {
        return value;
    }
    let sign = SecretBit::of_packed(limbs, usize::from(width) - 1);
    value - (i128::from(sign.to_u64()) << width)
}

#[cfg(test)]
mod tests {
    use phineus_crypto::field::{F32, F61, F128};

    use super::*;

    /// Elements on both sides of half the prime, at which numbers become negative.
    fn elements_are_the_integers_of_smallest_magnitude<F: Field>() {
        let half = F::MODULUS / 2;
        for value in [0, 1, half - 1, half, half + 1, half + 2, F::MODULUS - 1] {
            let whole = if value > half {
                Lane::from(F::MODULUS - value).wrapping_neg()
            } else {
                Lane::from(value)
            };
            for width in [1, 31, 32, 63, 64, 127, 128, 200, 256] {
                let found = lane(F::new(value), width);
                assert_eq!(found, whole & mask_of(width), "{value} in {}, {width} bits", F::NAME);
            }
        }
    }

    #[test]
    fn outputs_have_signs_at_the_ends_of_every_field() {
        elements_are_the_integers_of_smallest_magnitude::<F32>();
        elements_are_the_integers_of_smallest_magnitude::<F61>();
        elements_are_the_integers_of_smallest_magnitude::<F128>();
    }

    #[test]
    fn inputs_have_the_sign_of_their_highest_bit() {
        for width in [1, 2, 63, 64, 65, 126] {
            for value in [0, 1, (1i128 << (width - 1)) - 1, 1 << (width - 1), (1 << width) - 1] {
                let bits = Lane::from(value as u128);
                assert_eq!(signed(bits, width, false), value, "{width} bits");
                let is_negative = value >> (width - 1) == 1;
                let expected = if is_negative { value - (1 << width) } else { value };
                assert_eq!(signed(bits, width, true), expected, "{width} bits, {value}");
            }
        }
    }
}
