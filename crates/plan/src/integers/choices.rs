//! Logic on single bits, comparisons and selections.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Op};

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

    /// Whether a value of which only elements are known was cut so often that its bits cost less.
    ///
    /// A reduction or a shift takes some 90 products and a random bit for each bit of the prime. A decomposition
    /// takes about twice that modulo 2^61 - 1 and five times that modulo 2^128 - 159.
    pub(super) fn is_cut_often(&self, name: u64) -> bool {
        let cuts_max = if self.magnitude_bits > u32::from(RING_WIDTH_MAX) { 4 } else { 1 };
        self.value(name).cut_count >= cuts_max
    }

    /// Notes that some bits of a value were cut off.
    pub(super) fn note_cut(&mut self, name: u64) {
        let value = self.value_mut(name);
        value.cut_count = value.cut_count.saturating_add(1);
    }

    /// The low `width` bits of a value as unsigned integers; `None` if the field does not hold them, or if other
    /// bits of it were cut off before: then it is decomposed once for all.
    pub(super) fn cut(&mut self, operand: u64, width: u16) -> Result<Option<RangedElement>, Error> {
        let Some(integer) = self.integer(operand)? else { return Ok(None) };
        let lanes = self.value(operand).lanes;
        if integer.range().is_within(Range::of_type(width, false)) {
            return Ok(Some(integer));
        }
        if !self.holds(width) || self.is_cut_often(operand) {
            return Ok(None);
        }
        self.note_cut(operand);
        Ok(Some(self.reduce(integer, ElementType::unsigned(width), lanes)?))
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
        if self.choice_of_bits(i)? {
            return Ok(true);
        }
        let selector = i.operands[0];
        let choices = &i.operands()[1..];
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
