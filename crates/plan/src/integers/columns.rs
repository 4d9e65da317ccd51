//! Factors as bits, their limbs, and long multiplication where the field does not hold the result.
//!
//! With `n` limbs of `k` bits: column `j` is the sum of `x_a y_b`, `a + b = j`, and of what column
//! `j - 1` had above `k` bits. It fits the field and is decomposed; its low `k` bits are bits of
//! the result. `n (n + 1) / 2` products, all at once, and `n` decompositions, one after the other.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Lane, Op, Sharing, mask_of};

use super::Lowering;
use super::bit_forms::BitForm;
use super::claims::{LoweringOutput, RangedElement};
use super::range::Range;
use super::wide::terms_of;
use crate::error::Error;

/// A factor as bits, of which those from number `width` on are zero.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    bits: FactorBits,
    pub(super) width: u16,
    lanes: u32,
}

#[derive(Clone, Copy)]
enum FactorBits {
    /// A name, and how many bits it has.
    Named(u64, u16),
    Constant(Lane),
}

impl<S: LoweringOutput> Lowering<S> {
    /// The bits of a factor modulo `2^width` that may be 1.
    pub(super) fn bits_of(&self, name: u64, width: u16) -> u16 {
        let value = self.value(name);
        if let Some(constant) = value.constant {
            return (constant & mask_of(width)).bit_len() as u16;
        }
        let known = value.integer.map(|integer| integer.range()).filter(|range| range.low >= 0);
        let known = known.map_or(width, |range| width.min(range.magnitude_bits() as u16));
        match &value.bits {
            BitForm::View(view) => known.min(view.significant()),
            BitForm::Unknown | BitForm::Deferred(_) => known,
        }
    }

    /// A value as bits, extended to `width` bits with its sign if `signed`.
    pub(super) fn factor(&mut self, name: u64, width: u16, signed: bool) -> Result<Factor, Error> {
        let value = self.value(name);
        let (held, lanes, constant) = (value.width, value.lanes, value.constant);
        if let Some(constant) = constant {
            let negative = signed && constant.bit(usize::from(held) - 1);
            let extended = if negative { constant | !mask_of(held) } else { constant };
            let extended = extended & mask_of(width);
            let bits = FactorBits::Constant(extended);
            return Ok(Factor { bits, width: extended.bit_len() as u16, lanes });
        }
        let view = self.compact(name)?;
        // Where fewer bits may be 1, the highest one is 0, and there is no sign to extend.
        let narrow = self.bits_of(name, held);
        let (cell, narrow) = match signed && width > held && narrow == held {
            true => (width, width),
            false => (narrow.max(1), narrow.min(width)),
        };
        let bits = self.under_one_name(&view.slice(0, cell, signed), lanes)?;
        Ok(Factor { bits: FactorBits::Named(bits, cell), width: narrow, lanes })
    }

    /// `count` bits of a factor from `start` on, as elements; `None` if they are zero.
    pub(super) fn limb(
        &mut self,
        factor: &Factor,
        start: u16,
        count: u16,
    ) -> Result<Option<RangedElement>, Error> {
        let count = count.min(factor.width.saturating_sub(start));
        if count == 0 {
            return Ok(None);
        }
        match factor.bits {
            FactorBits::Constant(constant) => {
                let part = (constant >> usize::from(start)) & mask_of(count);
                if part.is_zero() {
                    return Ok(None);
                }
                let exact = i128::try_from(part).expect("a limb fits the field");
                let exact = Range { low: exact, high: exact };
                Ok(Some(self.constant((part, exact), count, factor.lanes, false)?))
            }
            FactorBits::Named(bits, cell) => {
                let lanes = factor.lanes;
                let slice = self.slice(bits, cell, (start, count), lanes)?;
                Ok(Some(self.elements_of(slice, count, lanes)?))
            }
        }
    }

    pub(super) fn slice(
        &mut self,
        bits: u64,
        cell: u16,
        (start, count): (u16, u16),
        lanes: u32,
    ) -> Result<u64, Error> {
        if count == cell {
            return Ok(bits);
        }
        self.on_bits(Op::BitSlice, (count, lanes), [bits, 0], [start.into(), cell.into()])
    }

    pub(super) fn extended(
        &mut self,
        bits: u64,
        from: u16,
        shape: (u16, u32),
        signed: bool,
    ) -> Result<u64, Error> {
        if from == shape.0 {
            return Ok(bits);
        }
        self.on_bits(Op::Cast, shape, [bits, 0], [from.into(), signed.into()])
    }

    pub(super) fn on_bits(
        &mut self,
        op: Op,
        (width, lanes): (u16, u32),
        operands: [u64; 2],
        immediates: [u64; 2],
    ) -> Result<u64, Error> {
        let element = ElementType::unsigned(width).shared(Sharing::Boolean);
        let mut made = Instruction::new(op, element, lanes);
        made.immediates[..2].copy_from_slice(&immediates);
        made.operands[..2].copy_from_slice(&operands);
        self.define(made)
    }

    /// The largest limb with which every column and what comes from the one before fits.
    fn limb_bits(&self, factors: &[Factor; 2], terms: u64) -> Option<u16> {
        let narrow = factors[0].width.min(factors[1].width);
        let most = (RING_WIDTH_MAX / 2).min((self.magnitude_bits / 2) as u16);
        (1..=most).rev().find(|&limb| {
            let both = Range::of_type(2 * limb, false);
            // What comes from the column before is below one more product.
            let column = both.times(u64::from(narrow.div_ceil(limb)) + 1).times(terms);
            self.fits(column) && column.magnitude_bits() <= u32::from(RING_WIDTH_MAX)
        })
    }

    /// The product of two factors, or of a matrix and a vector, as bits.
    pub(super) fn in_bits(&mut self, i: &Instruction, factors: [Factor; 2]) -> Result<(), Error> {
        let (width, lanes) = (i.element.width(), i.lanes);
        let Some(size) = self.limb_bits(&factors, terms_of(i)) else {
            return Err(self.too_small(i, Range::of_type(4, false).times(terms_of(i))));
        };
        let [xs, ys] = [self.limbs(&factors[0], size)?, self.limbs(&factors[1], size)?];
        let mut carry = None;
        let mut result: Option<(u64, u16)> = None;
        for column in 0..usize::from(width.div_ceil(size)) {
            let kept = width - column as u16 * size;
            let sum = self.column(i, column, [&xs, &ys], carry.take())?;
            let Some(sum) = sum else {
                if column + 1 >= xs.len() + ys.len() {
                    break;
                }
                let zero = self.on_bits(Op::Constant, (size.min(kept), lanes), [0; 2], [0; 2])?;
                result = Some(self.above(result, (zero, size.min(kept)), lanes)?);
                continue;
            };
            let count = (sum.range().magnitude_bits() as u16).max(size).min(kept);
            let digits = self.bits_of_elements(sum, count, lanes)?;
            let low = size.min(count);
            let piece = self.slice(digits, count, (0, low), lanes)?;
            result = Some(self.above(result, (piece, low), lanes)?);
            if count > size {
                let high = self.slice(digits, count, (size, count - size), lanes)?;
                carry = Some(self.elements_of(high, count - size, lanes)?);
            }
        }
        let (bits, known) = match result {
            Some(result) => result,
            None => (self.on_bits(Op::Constant, (width, lanes), [0; 2], [0; 2])?, width),
        };
        let bits = self.extended(bits, known, (width, lanes), false)?;
        self.set_bits(i.results[0], i.shape(), bits);
        Ok(())
    }

    fn limbs(&mut self, factor: &Factor, size: u16) -> Result<Vec<Option<RangedElement>>, Error> {
        (0..factor.width).step_by(usize::from(size)).map(|at| self.limb(factor, at, size)).collect()
    }

    /// The sum of the products of limbs of a column, and of `carry`.
    fn column(
        &mut self,
        i: &Instruction,
        column: usize,
        [xs, ys]: [&[Option<RangedElement>]; 2],
        carry: Option<RangedElement>,
    ) -> Result<Option<RangedElement>, Error> {
        let mut sum = carry;
        for (k, x) in xs.iter().enumerate().take(column + 1) {
            let y = ys.get(column - k).copied().flatten();
            if let (Some(x), Some(y)) = (*x, y) {
                let term = self.times(i, x, y)?;
                self.add_shifted(i, &mut sum, term, 0)?;
            }
        }
        Ok(sum)
    }

    /// Bits and those above them.
    pub(super) fn above(
        &mut self,
        low: Option<(u64, u16)>,
        (high, more): (u64, u16),
        lanes: u32,
    ) -> Result<(u64, u16), Error> {
        let Some((low, known)) = low else { return Ok((high, more)) };
        let width = known + more;
        let name = self.on_bits(Op::BitConcat, (width, lanes), [low, high], [known.into(), 0])?;
        Ok((name, width))
    }
}
