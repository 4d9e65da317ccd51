//! Comparisons, the least and the greatest, shifts by secret amounts, and reductions of bits.

use phineus_bytecode::{ElementType, Instruction, Op};

use super::{Narrowing, natural};
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::Extent;
use crate::narrow::facts::Facts;
use crate::narrow::recent::ComparedBit;
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

/// How many of the lowest bits decide nothing: those that are equal, and if `a < b`, those below which `b` is known
/// to have none or `a` to have all; if `a <= b`, the other way about.
fn undecided_low_bits(op: Op, a: &Facts, b: &Facts) -> u16 {
    match op {
        Op::Lt => (b.zeros | a.ones).trailing_ones() as u16,
        Op::Le => (b.ones | a.zeros).trailing_ones() as u16,
        _ => equal_low_bits(a, b),
    }
}

/// Where one bit of each is left and one of them is known: which operand's bit is the result, and whether complemented.
fn bit_that_decides(
    op: Op,
    is_signed: bool,
    [a, b]: [&Facts; 2],
    at: u16,
) -> Option<(usize, bool)> {
    let known = |facts: &Facts| match (facts.zeros >> at & 1, facts.ones >> at & 1) {
        (1, _) => Some(false),
        (_, 1) => Some(true),
        _ => None,
    };
    // Of signed integers the order of the bits is the other one.
    let (less, greater) = if is_signed { (1, 0) } else { (0, 1) };
    let of = [known(a), known(b)];
    match op {
        // !less & greater, !less | greater.
        Op::Lt if of[less] == Some(false) => Some((greater, false)),
        Op::Lt if of[greater] == Some(true) => Some((less, true)),
        Op::Le if of[less] == Some(true) => Some((greater, false)),
        Op::Le if of[greater] == Some(false) => Some((less, true)),
        _ => None,
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
        let known = self.compared.of(i).flatten();
        let known = known.filter_map(|known| Some((known.name, known.complements(i)?))).next();
        let name = match known {
            Some((name, false)) => name,
            Some((name, true)) => self.of_naturals(i, Op::Not, 1, &[name], &[])?,
            None => self.compared_anew(i)?,
        };
        let operands = [i.operands[0], i.operands[1]];
        self.compared.push(i, Some(ComparedBit { op: i.op, operands, name }));
        Ok(View::whole(name, 1))
    }

    fn compared_anew(&mut self, i: &Instruction) -> Result<u64, Error> {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        let is_equality = matches!(i.op, Op::Eq | Op::Ne);
        let (end, is_signed) = order(&a, &b, i.element.is_signed() && !is_equality);
        let start = (undecided_low_bits(i.op, &a, &b)).min(end - 1);
        if end - start == 1
            && let Some((k, is_complement)) = bit_that_decides(i.op, is_signed, [&a, &b], start)
        {
            let bit = self.part(i, k, start, end)?;
            return match is_complement {
                true => self.of_naturals(i, Op::Not, 1, &[bit], &[]),
                false => Ok(bit),
            };
        }
        let mut made = *i;
        made.element = ElementType::integer(end - start, is_signed).shared(i.element.sharing());
        for k in 0..2 {
            made.operands[k] = self.part(i, k, start, end)?;
        }
        Ok(self.emitter.define(made)?.results[0])
    }

    pub(super) fn extreme(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        if let Some(second) = picks_second(i, &a, &b) {
            return self.moved(i, (usize::from(second), e.low), e);
        }
        let (width, is_signed) = order(&a, &b, i.element.is_signed());
        if is_signed
            && let Some(k) = [&b, &a].iter().position(|facts| facts.as_constant() == Some(0))
        {
            return self.rectified(i, k, e);
        }
        let known = self.compared.of(i).flatten().next();
        self.compared.push(i, None);
        if let Some(known) = known {
            return self.chosen_by(known, i, e);
        }
        let mut made = *i;
        made.element = ElementType::integer(width, is_signed).shared(i.element.sharing());
        for k in 0..2 {
            made.operands[k] = self.part(i, k, 0, width)?;
        }
        Ok(View::within(self.emitter.define(made)?.results[0], width, e))
    }

    /// The least, or the greatest, of two operands that were compared.
    fn chosen_by(&mut self, known: ComparedBit, i: &Instruction, e: Extent) -> Result<View, Error> {
        let is_first_less = known.operands[0] == i.operands[0];
        let if_set = usize::from(is_first_less == (i.op == Op::Max));
        let mut operands = [known.name; 3];
        for (operand, k) in operands[1..].iter_mut().zip([if_set, 1 - if_set]) {
            *operand = self.part(i, k, e.low, e.high)?;
        }
        let name = self.of_naturals(i, Op::Mux, e.high - e.low, &operands, &[])?;
        Ok(View::of_extent(name, e))
    }

    /// The greatest, or the least, of operand `k` and 0: the operand where its sign says so, else 0.
    fn rectified(&mut self, i: &Instruction, k: usize, e: Extent) -> Result<View, Error> {
        let width = self.facts(i, k).signed_width();
        let mut selector = self.part(i, k, width - 1, width)?;
        if i.op == Op::Max {
            selector = self.of_naturals(i, Op::Not, 1, &[selector], &[])?;
        }
        let value = self.part(i, k, e.low, e.high)?;
        let name = self.of_naturals(i, Op::Mask, e.high - e.low, &[selector, value], &[])?;
        Ok(View::of_extent(name, e))
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
