//! Local computation: sums and public multiples of shares, and movements of them.

use phineus_bytecode::{Instruction, Lane, Op};
use phineus_circuits::BitAlgebra;
use phineus_correlated::authenticated::Share;
use phineus_crypto::SecretBit;
use phineus_crypto::field::Field;

use super::driver::signed;

/// Computes a linear instruction on integers.
pub(super) fn execute<F: Field>(
    instruction: &Instruction,
    results: &mut [&mut [Share<F>]],
    operands: &[&[Share<F>]],
    me: usize,
    delta: F,
) {
    let out = &mut *results[0];
    let lanes = instruction.lanes as usize;
    let element = instruction.element;
    let a = operands.first().copied().unwrap_or_default();
    match instruction.op {
        Op::Constant => {
            let value = Lane::from_limbs(instruction.immediates);
            let value = F::from_signed(signed(value, element.width(), element.is_signed()));
            out.fill(Share::public(value, me, delta));
        }
        Op::Add => {
            out.copy_from_slice(a);
            F::add_assign(Share::elements_mut(out), Share::elements(operands[1]));
        }
        Op::Sub => {
            out.copy_from_slice(a);
            F::sub_assign(Share::elements_mut(out), Share::elements(operands[1]));
        }
        Op::Neg => {
            out.fill(Share::ZERO);
            F::sub_assign(Share::elements_mut(out), Share::elements(a));
        }
        Op::Not => {
            out.fill(Share::public(F::ONE, me, delta));
            F::sub_assign(Share::elements_mut(out), Share::elements(a));
        }
        Op::LaneSum => out[0] = a.iter().fold(Share::ZERO, |sum, share| sum.add(*share)),
        Op::ShiftLeft => {
            out.copy_from_slice(a);
            F::scale_assign(Share::elements_mut(out), F::new(1 << instruction.immediates[0]));
        }
        Op::Convert => {
            // From bits: the integer that they are the digits of, in two's complement if signed.
            out.fill(Share::ZERO);
            let sign = usize::from(element.width() - 1);
            for (i, row) in a.chunks_exact(lanes).enumerate() {
                let weight = F::new(1 << i);
                let is_sign = element.is_signed() && i == sign;
                let weight = if is_sign { weight.neg() } else { weight };
                F::scale_add(Share::elements_mut(out), weight, Share::elements(row));
            }
        }
        _ => out.copy_from_slice(a),
    }
}

/// Moves shares of bits as circuits move wires; has no gates but constants and complements.
pub(super) struct Movement<F> {
    pub(super) me: usize,
    pub(super) delta: F,
}

impl<F: Field> BitAlgebra for Movement<F> {
    type Wire = Share<F>;

    fn xor(&mut self, _: &mut [Share<F>], _: &[Share<F>], _: &[Share<F>]) {
        unreachable!("exclusive or takes a round");
    }

    fn xor_assign(&mut self, _: &mut [Share<F>], _: &[Share<F>]) {
        unreachable!("exclusive or takes a round");
    }

    fn not(&mut self, out: &mut [Share<F>], a: &[Share<F>]) {
        out.fill(Share::public(F::ONE, self.me, self.delta));
        F::sub_assign(Share::elements_mut(out), Share::elements(a));
    }

    fn and(&mut self, _: &mut [Share<F>], _: &[Share<F>], _: &[Share<F>]) {
        unreachable!("and takes a round");
    }

    fn constant(&mut self, out: &mut [Share<F>], value: bool) {
        out.fill(Share::public(F::ONE.and_bit(SecretBit::public(value)), self.me, self.delta));
    }
}
