//! Logic on single bits, comparisons and selections.

use phineus_bytecode::{ElementType, Instruction, Lane, Op, mask_of};

use super::Lowering;
use super::claims::{LoweringOutput, RangedElement};
use super::operations::{Done, arithmetic};
use super::range::{self, Range};
use crate::error::Error;

impl<S: LoweringOutput> Lowering<S> {
    /// On single bits.
    pub(super) fn logic(&mut self, i: &Instruction) -> Done {
        let (Some(a), Some(b)) =
            (self.canonical(i.operands[0], false)?, self.canonical(i.operands[1], false)?)
        else {
            return Ok(false);
        };
        let bit = self.apply(i, i.op, &[a, b], Range::BIT)?;
        self.set_integer(i.results[0], i.shape(), bit);
        Ok(true)
    }

    /// `x & (2^k - 1)` is `x` modulo `2^k`.
    pub(super) fn masked(&mut self, i: &Instruction) -> Done {
        let [a, b] = [i.operands[0], i.operands[1]];
        for (operand, mask) in [(a, b), (b, a)] {
            let Some(mask) = self.value(mask).constant else { continue };
            let kept = mask.bit_len();
            let is_low = mask.wrapping_add(Lane::ONE).count_ones() <= 1;
            if !is_low || kept == 0 || self.integer(operand)?.is_none() {
                continue;
            }
            let low = self.cut(operand, kept as u16)?;
            if let Some(low) = low {
                self.set_integer(i.results[0], i.shape(), low);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The low `width` bits of a value as unsigned integers.
    pub(super) fn cut(&mut self, operand: u64, width: u16) -> Result<Option<RangedElement>, Error> {
        let Some(integer) = self.integer(operand)? else { return Ok(None) };
        let lanes = self.value(operand).lanes;
        if integer.range().is_within(Range::of_type(width, false)) {
            return Ok(Some(integer));
        }
        if !self.holds(width) {
            return Ok(None);
        }
        Ok(Some(self.reduce(integer, ElementType::unsigned(width), lanes)?))
    }

    /// `x ^ (2^w - 1)` is `-1 - x`.
    pub(super) fn complement(&mut self, i: &Instruction) -> Done {
        let ones = mask_of(i.element.width());
        let [a, b] = [i.operands[0], i.operands[1]];
        for (operand, constant) in [(a, b), (b, a)] {
            if self.value(constant).constant == Some(ones) {
                let mut not = *i;
                not.op = Op::Not;
                not.operands = [operand, 0, 0];
                return self.negation(&not);
            }
        }
        Ok(false)
    }

    /// Both operands as integers of the same kind, of which signed ones are as good for equality, and
    /// the least type that has both: the fewer bits it has, the less a comparison costs.
    pub(super) fn comparable(
        &mut self,
        i: &Instruction,
    ) -> Result<Option<([RangedElement; 2], ElementType)>, Error> {
        let mut signed = i.element.is_signed();
        let pair = [i.operands[0], i.operands[1]];
        if matches!(i.op, Op::Eq | Op::Ne) {
            let known = [self.integer(pair[0])?, self.integer(pair[1])?];
            let all_within = |signed| {
                let range = Range::of_type(i.element.width(), signed);
                known.iter().all(|known| known.is_some_and(|known| known.range().is_within(range)))
            };
            signed = !all_within(false) && all_within(true);
        }
        let kind = Range::of_type(i.element.width(), signed);
        let least = |a: RangedElement, b: RangedElement| a.range().union(b.range()).least_type();
        if !self.fits(kind.sub(kind)) {
            // Where all is known to be small, the type does not matter.
            let known = [self.integer(pair[0])?, self.integer(pair[1])?];
            let small = known.map(|known| known.filter(|known| known.range().is_within(kind)));
            let [Some(a), Some(b)] = small else { return Ok(None) };
            let fits = self.fits(a.range().sub(b.range()));
            return Ok(fits.then_some(([a, b], least(a, b))));
        }
        let (Some(a), Some(b)) =
            (self.canonical(pair[0], signed)?, self.canonical(pair[1], signed)?)
        else {
            return Ok(None);
        };
        Ok(Some(([a, b], least(a, b))))
    }

    pub(super) fn comparison(&mut self, i: &Instruction) -> Done {
        let Some((operands, least)) = self.comparable(i)? else { return Ok(false) };
        let compared = Instruction { element: least, ..*i };
        let result = self.apply(&compared, i.op, &operands, Range::BIT)?;
        self.set_integer(i.results[0], i.result_shape(0), result);
        Ok(true)
    }

    /// The range of an operand as an integer of the instruction's type, if it is known to be one.
    pub(super) fn range_of_kind(&self, name: u64, i: &Instruction) -> Option<Range> {
        let (width, signed) = (i.element.width(), i.element.is_signed());
        let value = self.value(name);
        if let Some(constant) = value.constant {
            return range::constant_as(constant, width, signed);
        }
        let known = value.integer.map(|integer| integer.range());
        known.filter(|known| known.is_within(Range::of_type(width, signed)))
    }

    pub(super) fn extreme(&mut self, i: &Instruction) -> Done {
        let [x, y] = [i.operands[0], i.operands[1]];
        if let (Some(a), Some(b)) = (self.range_of_kind(x, i), self.range_of_kind(y, i))
            && (a.high <= b.low || b.high <= a.low)
        {
            // Nothing is left to compare.
            let is_first_less = a.high <= b.low;
            let chosen = if is_first_less == (i.op == Op::Min) { x } else { y };
            let value = self.value(chosen).clone();
            self.set_value(i.results[0], value);
            return Ok(true);
        }
        let Some(([a, b], least)) = self.comparable(i)? else { return Ok(false) };
        let compared = Instruction { element: least, ..*i };
        let less = self.apply(&compared, Op::Lt, &[a, b], Range::BIT)?;
        let chosen = if i.op == Op::Min { [less, a, b] } else { [less, b, a] };
        let chosen = self.apply(i, Op::Mux, &chosen, a.range().union(b.range()))?;
        self.set_integer(i.results[0], i.shape(), chosen);
        Ok(true)
    }

    pub(super) fn absolute(&mut self, i: &Instruction) -> Done {
        if !i.element.is_signed() {
            let value = self.value(i.operands[0]).clone();
            self.set_value(i.results[0], value);
            return Ok(true);
        }
        let Some(a) = self.canonical(i.operands[0], true)? else { return Ok(false) };
        let kind = Range::of_type(i.element.width(), true);
        if !self.fits(kind) {
            return Ok(false);
        }
        let known = a.range();
        // The type of the negation, too.
        let least = known.union(known.neg()).least_type();
        let range = Range { low: 0, high: known.high.max(-known.low) };
        let size = self.apply(&Instruction { element: least, ..*i }, Op::Abs, &[a], range)?;
        self.set_integer(i.results[0], i.shape(), size);
        Ok(true)
    }

    pub(super) fn choice(&mut self, i: &Instruction) -> Done {
        let selector = i.operands[0];
        let has_integer = |name: u64| {
            let value = self.value(name);
            value.integer.is_some() || value.constant.is_some()
        };
        let choices = &i.operands()[1..];
        if !choices.iter().any(|&name| has_integer(name)) {
            // Bits stay bits: the selector is one anyhow.
            return Ok(false);
        }
        let mut operands = vec![0; 1];
        let mut union: Option<Range> = (i.op == Op::Mask).then_some(Range::ZERO);
        let names: Vec<u64> = choices.to_vec();
        for name in names {
            let Some(integer) = self.integer(name)? else { return Ok(false) };
            operands.push(integer.name());
            union = Some(union.map_or(integer.range(), |range| range.union(integer.range())));
        }
        let Some(bit) = self.canonical(selector, false)? else { return Ok(false) };
        operands[0] = bit.name();
        let range = union.expect("a choice has something to choose");
        // The difference of the two is multiplied by the selector.
        if !self.fits(range.sub(range)) {
            return Ok(false);
        }
        let mut made = Instruction::new(i.op, arithmetic(i.element), i.lanes);
        made.operands[..operands.len()].copy_from_slice(&operands);
        self.emit_integers(i, made, range)?;
        Ok(true)
    }
}
