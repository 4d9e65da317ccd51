//! Comparisons, the least and the greatest, shifts by secret amounts, and reductions of bits.

use phineus_bytecode::{ElementType, Instruction, Op};

use super::{Narrowing, natural};
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::Extent;
use crate::narrow::facts::Facts;
use crate::narrow::transfer::picks_second;
use crate::narrow::views::{View, equal_low_bits};

/// How two values are compared: their width, and whether as signed integers.
fn order(a: &Facts, b: &Facts, is_signed: bool) -> (u16, bool) {
    let unsigned = a.unsigned_width().max(b.unsigned_width()).max(1);
    let signed = a.signed_width().max(b.signed_width());
    match is_signed && !(a.is_natural() && b.is_natural()) {
        true => (signed, true),
        // Values with copies of a sign above are in the same order without all but one of them.
        false => (unsigned.min(signed), false),
    }
}

/// A shift or rotation whose secret amount turned out to be this constant.
fn by_public_amount(i: &Instruction, amount: u128) -> Instruction {
    let w = u128::from(i.element.width());
    let (op, amount) = match i.op {
        Op::ShiftLeftBy => (Op::ShiftLeft, amount.min(w)),
        Op::ShiftRightBy => (Op::ShiftRight, amount.min(w)),
        op => {
            assert_eq!(op, Op::RotateLeftBy, "it moves bits by a secret amount");
            (Op::RotateLeft, amount % w)
        }
    };
    let mut made = Instruction::new(op, i.element, i.lanes);
    made.operands[0] = i.operands[0];
    made.immediates[0] = amount as u64;
    made
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    pub(super) fn comparison(&mut self, i: &Instruction) -> Result<View, Error> {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        let is_equality = matches!(i.op, Op::Eq | Op::Ne);
        let (end, is_signed) = order(&a, &b, i.element.is_signed() && !is_equality);
        // Bits that are equal decide nothing, as long as others are left.
        let start = equal_low_bits(&a, &b).min(end - 1);
        let mut made = *i;
        made.element = ElementType::integer(end - start, is_signed).shared(i.element.sharing());
        for k in 0..2 {
            made.operands[k] = self.part(i, k, start, end)?;
        }
        Ok(View::whole(self.emitter.define(made)?.results[0], 1))
    }

    pub(super) fn extreme(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        if let Some(second) = picks_second(i, &a, &b) {
            return self.moved(i, (usize::from(second), e.low), e);
        }
        let (width, is_signed) = order(&a, &b, i.element.is_signed());
        let mut made = *i;
        made.element = ElementType::integer(width, is_signed).shared(i.element.sharing());
        for k in 0..2 {
            made.operands[k] = self.part(i, k, 0, width)?;
        }
        Ok(View::within(self.emitter.define(made)?.results[0], width, e))
    }

    /// Shifts and rotations by secret amounts.
    pub(super) fn shift_by(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let [a, by] = [self.facts(i, 0), self.facts(i, 1)];
        let w = i.element.width();
        if let Some(amount) = by.as_constant() {
            return self.shift(&by_public_amount(i, amount), e);
        }
        let is_signed = i.element.is_signed() && !a.is_natural();
        let width = match i.op {
            Op::ShiftLeftBy => e.high,
            Op::ShiftRightBy if is_signed => a.signed_width(),
            Op::ShiftRightBy => a.unsigned_width().max(1),
            _ => w,
        };
        let amount_width = by.unsigned_width();
        let operands = [self.part(i, 0, 0, width)?, self.part(i, 1, 0, amount_width)?];
        let element = ElementType::integer(width, is_signed).shared(i.element.sharing());
        let immediates = [u64::from(amount_width)];
        let name = self.emitter.make(i.op, (element, i.lanes), &operands, &immediates)?;
        Ok(View::within(name, width, e))
    }

    /// Emits the test whether all bits, any bit, or an odd number of bits are 1.
    pub(super) fn reduction(&mut self, i: &Instruction) -> Result<View, Error> {
        let a = self.facts(i, 0);
        let width = match i.op {
            Op::AllBits => a.signed_width(),
            Op::AnyBit => a.unsigned_width().min(a.signed_width()),
            _ => a.unsigned_width(),
        };
        let part = self.part(i, 0, 0, width)?;
        let shape = (natural(i.element, width), i.lanes);
        Ok(View::whole(self.emitter.make(i.op, shape, &[part], &[])?, 1))
    }
}
