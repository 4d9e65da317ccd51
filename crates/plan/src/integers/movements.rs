//! Shifts, casts and movements of bits or lanes.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Op, mask_of};

use super::Lowering;
use super::claims::LoweringOutput;
use super::operations::{Done, arithmetic};
use super::range::Range;

impl<S: LoweringOutput> Lowering<S> {
    pub(super) fn left_shift(&mut self, i: &Instruction) -> Done {
        let (width, amount) = (u64::from(i.element.width()), i.immediates[0]);
        if amount >= width || self.integer(i.operands[0])?.is_none() {
            return Ok(false);
        }
        let factor = Range { low: 1 << amount.min(100), high: 1 << amount.min(100) };
        let mut integer = self.integer(i.operands[0])?.expect("just looked");
        if !self.fits(integer.range().mul(factor)) {
            // What is shifted out need not be there.
            let kept = (width - amount) as u16;
            let Some(low) = self.cut(i.operands[0], kept)? else { return Ok(false) };
            integer = low;
        }
        let range = integer.range().mul(factor);
        if !self.fits(range) {
            return Ok(false);
        }
        let shifted = self.apply(i, Op::ShiftLeft, &[integer], range)?;
        self.set_integer(i.results[0], i.shape(), shifted);
        Ok(true)
    }

    pub(super) fn right_shift(&mut self, i: &Instruction) -> Done {
        let signed = i.element.is_signed();
        let amount = i.immediates[0].min(u64::from(i.element.width()));
        let Some(a) = self.canonical(i.operands[0], signed)? else { return Ok(false) };
        let shift = Instruction { element: a.range().least_type(), ..*i };
        let range = a.range().shifted_right(amount);
        let shifted = self.apply(&shift, Op::ShiftRight, &[a], range)?;
        self.set_integer(i.results[0], i.shape(), shifted);
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
        let fits = known.range().is_within(Range::of_type(width, false));
        if width < from && !fits && self.value(operand).bits.is_some() {
            // Its bits are known, so nothing need be reduced.
            return Ok(false);
        }
        let integer = if width > from {
            let Some(reduced) = self.canonical(operand, signed)? else { return Ok(false) };
            reduced
        } else {
            known
        };
        let source = self.value(operand);
        let low = source.bits.map(|bits| (bits, from)).or(source.widened);
        self.set_integer(i.results[0], i.shape(), integer);
        let widened = low.filter(|_| width > from && !signed);
        if let Some((bits, _)) = widened {
            self.means(bits, i.results[0]);
        }
        self.value_mut(i.results[0]).widened = widened;
        Ok(true)
    }

    pub(super) fn bit_slice(&mut self, i: &Instruction) -> Done {
        let (start, from) = (i.immediates[0], i.immediates[1] as u16);
        let operand = i.operands[0];
        let is_one_bit = i.element.width() == 1;
        if is_one_bit || self.value(operand).integer.is_none() || from > RING_WIDTH_MAX {
            // All bits of a value are found together.
            return Ok(false);
        }
        let slice = if start == 0 {
            self.integer(operand)?.expect("just looked")
        } else {
            let Some(a) = self.canonical(operand, false)? else { return Ok(false) };
            let element = arithmetic(ElementType::unsigned(from));
            let mut shift = Instruction::new(Op::ShiftRight, element, i.lanes);
            shift.immediates[0] = start;
            shift.operands[0] = a.name();
            self.define_integer(shift, Range::of_type(from, false).shifted_right(start))?
        };
        self.set_integer(i.results[0], i.shape(), slice);
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
        let is_zero = self.value(high).constant.is_some_and(|constant| constant.is_zero());
        let (Some(low), Some(high)) = (self.canonical(low, false)?, self.canonical(high, false)?)
        else {
            return Ok(false);
        };
        if is_zero {
            // A widening cast in other words.
            self.set_integer(i.results[0], i.shape(), low);
            return Ok(true);
        }
        let mut shift = *i;
        shift.immediates = [u64::from(low_width), 0, 0, 0];
        let power = 1 << low_width;
        let range = Range::of_type(width - low_width, false).mul(Range { low: power, high: power });
        let high = self.apply(&shift, Op::ShiftLeft, &[high], range)?;
        shift.immediates = [0; 4];
        let joined = self.apply(&shift, Op::Add, &[low, high], Range::of_type(width, false))?;
        self.set_integer(i.results[0], i.shape(), joined);
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
            made.operands[k] = integer.name();
            union = Some(union.map_or(integer.range(), |range| range.union(integer.range())));
        }
        let range = union.expect("a movement has an operand");
        self.emit_integers(i, made, range)?;
        Ok(true)
    }
}
