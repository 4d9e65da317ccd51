//! Shifts, casts and movements of bits or lanes.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Op};

use super::Lowering;
use super::claims::LoweringOutput;
use super::operations::{Done, arithmetic};
use super::range::Range;

/// Shifts of integers of so few bits have narrow masks in the smallest field with such masks, and are cheap
/// (decision 0027).
const NARROW_BITS: u16 = 18;

impl<S: LoweringOutput> Lowering<S> {
    pub(super) fn left_shift(&mut self, i: &Instruction) -> Done {
        let (width, amount) = (u64::from(i.element.width()), i.immediates[0]);
        let operand = i.operands[0];
        let Some(mut integer) = self.value(operand).integer.filter(|_| amount < width) else {
            return self.bit_movement(i);
        };
        let factor = Range { low: 1 << amount.min(100), high: 1 << amount.min(100) };
        let form = self.deferred(i);
        if !self.fits(integer.range().mul(factor)) {
            // What is shifted out need not be there.
            let kept = (width - amount) as u16;
            if form.is_known() {
                return self.bit_movement(i);
            }
            let Some(low) = self.cut(operand, kept)? else { return self.bit_movement(i) };
            integer = low;
        }
        let range = integer.range().mul(factor);
        if !self.fits(range) {
            return self.bit_movement(i);
        }
        let shifted = self.apply(i, Op::ShiftLeft, &[integer], range)?;
        self.set_integer(i.results[0], i.shape(), shifted);
        self.set_form(i.results[0], form);
        Ok(true)
    }

    /// Of known bits, or of an integer; one that is shifted again is decomposed.
    pub(super) fn right_shift(&mut self, i: &Instruction) -> Done {
        let (signed, operand) = (i.element.is_signed(), i.operands[0]);
        if self.has_bits(operand) || self.is_cut_often(operand) {
            return self.bit_movement(i);
        }
        let amount = i.immediates[0].min(u64::from(i.element.width()));
        let Some(a) = self.canonical(operand, signed)? else { return Ok(false) };
        let shift = Instruction { element: a.range().least_type(), ..*i };
        let range = a.range().shifted_right(amount);
        let shifted = self.apply(&shift, Op::ShiftRight, &[a], range)?;
        if a.range().least_type().width() > NARROW_BITS {
            self.note_cut(operand);
        }
        self.set_integer(i.results[0], i.shape(), shifted);
        Ok(true)
    }

    pub(super) fn cast(&mut self, i: &Instruction) -> Done {
        let (from, signed) = (i.immediates[0] as u16, i.immediates[1] == 1);
        let width = i.element.width();
        let operand = i.operands[0];
        let known = self.value(operand).integer.filter(|_| width <= RING_WIDTH_MAX);
        let Some(known) = known else { return self.bit_movement(i) };
        let kind = match width > from {
            true => Range::of_type(from, signed),
            false => Range::of_type(width, false),
        };
        let form = self.deferred(i);
        if form.is_known() && !known.range().is_within(kind) {
            // Its bits are known, so nothing need be reduced.
            return self.bit_movement(i);
        }
        let integer = if width > from {
            let Some(reduced) = self.canonical(operand, signed)? else { return Ok(false) };
            reduced
        } else {
            known
        };
        self.set_integer(i.results[0], i.shape(), integer);
        self.set_form(i.results[0], form);
        Ok(true)
    }

    pub(super) fn bit_slice(&mut self, i: &Instruction) -> Done {
        let (start, from) = (i.immediates[0], i.immediates[1] as u16);
        let (operand, is_one_bit) = (i.operands[0], i.element.width() == 1);
        let integer = self.value(operand).integer;
        if let Some(integer) = integer.filter(|_| start == 0 && !is_one_bit) {
            let form = self.deferred(i);
            self.set_integer(i.results[0], i.shape(), integer);
            self.set_form(i.results[0], form);
            return Ok(true);
        }
        let is_decomposed = self.has_bits(operand) || self.is_cut_often(operand);
        if is_one_bit || is_decomposed || from > RING_WIDTH_MAX {
            // All bits of a value are found together.
            return self.bit_movement(i);
        }
        let Some(a) = self.canonical(operand, false)? else { return Ok(false) };
        let element = arithmetic(ElementType::unsigned(from));
        let mut shift = Instruction::new(Op::ShiftRight, element, i.lanes);
        shift.immediates[0] = start;
        shift.operands[0] = a.name();
        let range = Range::of_type(from, false).shifted_right(start);
        let slice = self.define_integer(shift, range)?;
        self.note_cut(operand);
        self.set_integer(i.results[0], i.shape(), slice);
        Ok(true)
    }

    /// `low + 2^k high`.
    pub(super) fn bit_concat(&mut self, i: &Instruction) -> Done {
        let (low_width, width) = (i.immediates[0] as u16, i.element.width());
        let [low, high] = [i.operands[0], i.operands[1]];
        let pair = [low, high];
        let are_integers = pair.iter().all(|&name| self.value(name).integer.is_some());
        let are_bits = pair.iter().all(|&name| self.has_bits(name));
        if !self.holds(width) || are_bits && !are_integers {
            return self.bit_movement(i);
        }
        let form = self.deferred(i);
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
        self.set_form(i.results[0], form);
        Ok(true)
    }

    /// Lanes move in whichever form all operands have.
    pub(super) fn movement(&mut self, i: &Instruction) -> Done {
        let operands: Vec<u64> = i.operands().to_vec();
        let is_constant = |&name: &u64| self.value(name).constant.is_some();
        let is_integer = |&name: &u64| self.value(name).integer.is_some();
        let are_bits = operands.iter().all(|&name| self.has_bits(name));
        if are_bits && !operands.iter().any(is_integer) && !operands.iter().all(is_constant) {
            return self.bit_movement(i);
        }
        let form = self.deferred(i);
        let mut made = *i;
        made.element = arithmetic(i.element);
        let mut union: Option<Range> = None;
        for (k, name) in operands.into_iter().enumerate() {
            let Some(integer) = self.integer(name)? else { return self.bit_movement(i) };
            made.operands[k] = integer.name();
            union = Some(union.map_or(integer.range(), |range| range.union(integer.range())));
        }
        let range = union.expect("a movement has an operand");
        self.emit_integers(i, made, range)?;
        if form.is_known() {
            self.set_form(i.results[0], form);
        }
        Ok(true)
    }
}
