//! Shifts, casts and what moves bits or lanes.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Op, Shape, mask_of};

use super::operations::{Done, arithmetic};
use super::range::Range;
use super::{Integer, Lowering};
use crate::error::Error;

impl<E: FnMut(&Instruction) -> Result<(), Error>> Lowering<E> {
    pub(super) fn left_shift(&mut self, i: &Instruction) -> Done {
        let (width, amount) = (u64::from(i.element.width()), i.immediates[0]);
        if amount >= width || self.integer(i.operands[0])?.is_none() {
            return Ok(false);
        }
        let factor = Range { low: 1 << amount.min(100), high: 1 << amount.min(100) };
        let mut integer = self.integer(i.operands[0])?.expect("just looked");
        if !self.fits(integer.range.mul(factor)) {
            // What is shifted out need not be there.
            let kept = (width - amount) as u16;
            let Some((name, range)) = self.cut(i.operands[0], kept)? else { return Ok(false) };
            integer = Integer { name, range };
        }
        let range = integer.range.mul(factor);
        if !self.fits(range) {
            return Ok(false);
        }
        let name = self.apply(i, Op::ShiftLeft, &[integer.name])?;
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    pub(super) fn right_shift(&mut self, i: &Instruction) -> Done {
        let signed = i.element.is_signed();
        let amount = i.immediates[0].min(u64::from(i.element.width()));
        let Some(a) = self.canonical(i.operands[0], signed)? else { return Ok(false) };
        let from = self.canonical_range(i.operands[0], signed);
        let least = from.least_type();
        let name = self.apply(&Instruction { element: least, ..*i }, Op::ShiftRight, &[a])?;
        let amount = amount.min(126) as u32;
        let range = Range { low: from.low >> amount, high: from.high >> amount };
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    pub(super) fn cast(&mut self, i: &Instruction) -> Done {
        let (from, signed) = (i.immediates[0] as u16, i.immediates[1] == 1);
        let width = i.element.width();
        let operand = i.operands[0];
        if let Some(constant) = self.value(operand).constant {
            let negative = signed && constant.bit(usize::from(from) - 1);
            let extended = if negative { constant | !mask_of(from) } else { constant };
            let mut made = *i;
            made.immediates = (extended & mask_of(width)).into_limbs();
            return Ok(self.new_constant(&made));
        }
        if width > RING_WIDTH_MAX || self.value(operand).integer.is_none() {
            return Ok(false);
        }
        let known = self.integer(operand)?.expect("just looked");
        let (name, range) = if width > from {
            let Some(name) = self.canonical(operand, signed)? else { return Ok(false) };
            let kind = Range::of_type(from, signed);
            (name, if name == known.name { known.range } else { kind })
        } else {
            (known.name, known.range)
        };
        let source = self.value(operand);
        let low = source.bits.map(|bits| (bits, from)).or(source.widened);
        self.set_integer(i.results[0], i.shape(), name, range);
        self.value_mut(i.results[0]).widened = low.filter(|_| width > from && !signed);
        Ok(true)
    }

    pub(super) fn bit_slice(&mut self, i: &Instruction) -> Done {
        let (start, from) = (i.immediates[0], i.immediates[1] as u16);
        let operand = i.operands[0];
        if self.value(operand).integer.is_none() || from > RING_WIDTH_MAX {
            return Ok(false);
        }
        let (name, mut range);
        if start == 0 {
            let known = self.integer(operand)?.expect("just looked");
            (name, range) = (known.name, known.range);
        } else {
            let Some(a) = self.canonical(operand, false)? else { return Ok(false) };
            let element = arithmetic(ElementType::unsigned(from));
            let mut shift = Instruction::new(Op::ShiftRight, element, i.lanes);
            shift.immediates[0] = start;
            shift.operands[0] = a;
            name = self.define(shift)?;
            range = Range::of_type(from, false);
            range.high >>= start.min(126);
        }
        self.set_integer(i.results[0], i.shape(), name, range);
        Ok(true)
    }

    /// `low + 2^k high`.
    pub(super) fn bit_concat(&mut self, i: &Instruction) -> Done {
        let (low_width, width) = (i.immediates[0] as u16, i.element.width());
        let [low, high] = [i.operands[0], i.operands[1]];
        let is_known = |name: u64| {
            let value = self.value(name);
            value.integer.is_some() || value.constant.is_some()
        };
        if !self.holds(width) || !is_known(low) || !is_known(high) {
            return Ok(false);
        }
        let known = self.value(low).integer.map(|integer| integer.range);
        let kind = Range::of_type(low_width, false);
        let (Some(low), Some(shifted)) =
            (self.canonical(low, false)?, self.canonical(high, false)?)
        else {
            return Ok(false);
        };
        if self.value(high).constant.is_some_and(|constant| constant.is_zero()) {
            // A widening cast in other words.
            let range = known.filter(|known| known.is_within(kind)).unwrap_or(kind);
            self.set_integer(i.results[0], i.shape(), low, range);
            return Ok(true);
        }
        let high = shifted;
        let mut shift = *i;
        shift.immediates = [u64::from(low_width), 0, 0, 0];
        let high = self.apply(&shift, Op::ShiftLeft, &[high])?;
        shift.immediates = [0; 4];
        let name = self.apply(&shift, Op::Add, &[low, high])?;
        self.set_integer(i.results[0], i.shape(), name, Range::of_type(width, false));
        Ok(true)
    }

    /// Lanes move in whichever form all operands have.
    pub(super) fn movement(&mut self, i: &Instruction) -> Done {
        let operands: Vec<u64> = i.operands().to_vec();
        let all_bits = operands.iter().all(|&name| {
            let value = self.value(name);
            value.integer.is_none() && value.constant.is_none()
        });
        if all_bits {
            return Ok(false);
        }
        let mut made = *i;
        made.element = arithmetic(i.element);
        let mut union: Option<Range> = None;
        for (k, name) in operands.into_iter().enumerate() {
            let Some(integer) = self.integer(name)? else { return Ok(false) };
            made.operands[k] = integer.name;
            union = Some(union.map_or(integer.range, |range| range.union(integer.range)));
        }
        let range = union.expect("a movement has an operand");
        for (k, &result) in i.results().iter().enumerate() {
            made.results[k] = self.next_name;
            let shape: Shape = i.result_shape(k);
            self.set_integer(result, shape, self.next_name, range);
            self.next_name += 1;
        }
        (self.emit)(&made)?;
        Ok(true)
    }
}
