//! Quotients and remainders.

use phineus_bytecode::limits::{RESULTS_MAX, VALUE_WIRES_MAX};
use phineus_bytecode::{ElementType, Instruction, Op};

use super::{Narrowing, ResultViews};
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::{Extent, extent};
use crate::narrow::facts::{Facts, bit_length, signed_bounds};
use crate::narrow::notes::InstructionNotes;
use crate::narrow::views::View;

/// Quotient and remainder, as far as they are wanted.
type Pair<T> = [Option<T>; RESULTS_MAX];

/// Bits that hold both operands of a signed division, and the quotient of the least one by -1.
fn signed_width_of_quotient(a: &Facts, b: &Facts) -> u16 {
    let width = a.signed_width().max(b.signed_width());
    let overflows = a.least == signed_bounds(width).0 && b.least <= -1 && b.most >= -1;
    width + u16::from(overflows)
}

/// The operation that gives what is wanted.
fn operation(wanted: &Pair<Extent>) -> Op {
    match wanted {
        [Some(_), Some(_)] => Op::DivRem,
        [Some(_), None] => Op::Div,
        [None, _] => Op::Rem,
    }
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// At the width of both operands, or of the dividend.
    pub(super) fn quotient(
        &mut self,
        i: &Instruction,
        notes: &InstructionNotes,
    ) -> Result<ResultViews, Error> {
        let found: Pair<Extent> = [0, 1].map(|k| {
            let e = extent(&notes.facts[k], notes.demanded[k]);
            (k < i.result_count() && e.high > 0).then_some(e)
        });
        let wanted = if i.op == Op::Rem { [None, found[0]] } else { found };
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        let is_signed = i.element.is_signed() && !(a.is_natural() && b.is_natural());
        if let Some(views) = self.quotient_by_constant(i, wanted, is_signed)? {
            return Ok(if i.op == Op::Rem { [views[1], None] } else { views });
        }
        let views = match is_signed {
            true => self.signed_quotient(i, wanted)?,
            false => self.natural_quotient(i, wanted)?,
        };
        Ok(if i.op == Op::Rem { [views[1], None] } else { views })
    }

    /// By a positive constant, where that takes fewer ANDs than a division.
    fn quotient_by_constant(
        &mut self,
        i: &Instruction,
        wanted: Pair<Extent>,
        is_signed: bool,
    ) -> Result<Option<Pair<View>>, Error> {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        let Some(divisor) = b.as_constant().filter(|_| !is_signed || b.is_natural()) else {
            return Ok(None);
        };
        if divisor.is_power_of_two() && !is_signed {
            let shift = bit_length(divisor) - 1;
            let mut views = [None; RESULTS_MAX];
            for (k, from) in [(0, shift), (1, 0)] {
                if let Some(e) = wanted[k] {
                    views[k] = Some(self.moved(i, (0, from + e.low), e)?);
                }
            }
            return Ok(Some(views));
        }
        let width = if is_signed { a.signed_width() } else { a.unsigned_width().max(1) };
        if divisor < 2 || divisor.is_power_of_two() {
            return Ok(None);
        }
        let reciprocal = self.reciprocal(divisor, width).filter(|reciprocal| {
            let wires = u64::from(reciprocal.widest(width)) * u64::from(i.lanes);
            wires <= VALUE_WIRES_MAX.into()
        });
        let Some(reciprocal) = reciprocal else { return Ok(None) };
        let form = (divisor, reciprocal);
        let cost = self.cost_by_constant(wanted.map(|e| e.is_some()), form, (width, is_signed));
        let divided = if is_signed { signed_width_of_quotient(&a, &b) } else { width };
        let element = ElementType::integer(divided.max(bit_length(divisor)), is_signed);
        if cost >= self.cost(operation(&wanted), element) {
            return Ok(None);
        }
        self.divided_by_constant(i, wanted, form, (width, is_signed)).map(Some)
    }

    fn signed_quotient(
        &mut self,
        i: &Instruction,
        wanted: Pair<Extent>,
    ) -> Result<Pair<View>, Error> {
        let width = signed_width_of_quotient(&self.facts(i, 0), &self.facts(i, 1));
        let width = width.min(i.element.width());
        let names = self.divided(i, wanted, (width, width, true))?;
        Ok([0, 1].map(|k| names[k].zip(wanted[k]).map(|(name, e)| View::within(name, width, e))))
    }

    fn natural_quotient(
        &mut self,
        i: &Instruction,
        wanted: Pair<Extent>,
    ) -> Result<Pair<View>, Error> {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        let [dividend, divisor] = [a, b].map(|facts| facts.unsigned_width().max(1));
        let op = operation(&wanted);
        let (mut width, mut names) = (dividend.max(divisor), None);
        if dividend < divisor {
            let masks = u64::from(dividend) * wanted.iter().flatten().count() as u64;
            let cut = self.cost(op, ElementType::unsigned(dividend)) + masks;
            let cut = cut + u64::from(divisor - dividend - 1);
            if cut < self.cost(op, ElementType::unsigned(divisor)) {
                width = dividend;
                names = Some(self.divided_by_wider(i, wanted, (dividend, divisor))?);
            }
        }
        let names = match names {
            Some(names) => names,
            None => self.divided(i, wanted, (width, width, false))?,
        };
        let mut views = [0, 1].map(|k| {
            let (name, e) = names[k].zip(wanted[k])?;
            (e.high <= width).then(|| View::within(name, width, e))
        });
        // By zero all bits of the quotient are 1, also those above.
        if let (Some(name), None, Some(_)) = (names[0], views[0], wanted[0]) {
            assert!(b.may_be_zero(), "a quotient is at most its dividend");
            views[0] = Some(self.with_zero_divisor(i, (name, width))?);
        }
        Ok(views)
    }

    /// Emits the division of the low bits of the operands; returns the results that are wanted.
    fn divided(
        &mut self,
        i: &Instruction,
        wanted: Pair<Extent>,
        (dividend, divisor, is_signed): (u16, u16, bool),
    ) -> Result<Pair<u64>, Error> {
        assert_eq!(dividend, divisor, "operands have one width");
        let parts = [self.part(i, 0, 0, dividend)?, self.part(i, 1, 0, divisor)?];
        let element = ElementType::integer(dividend, is_signed).shared(i.element.sharing());
        let mut made = Instruction::new(operation(&wanted), element, i.lanes);
        made.operands[..2].copy_from_slice(&parts);
        let made = self.emitter.define(made)?;
        let mut names = made.results().iter().copied();
        Ok(wanted.map(|wanted| wanted.and_then(|_| names.next())))
    }

    /// By the low bits of a divisor that may be larger than any dividend: then the quotient is 0, and the
    /// remainder is the dividend.
    fn divided_by_wider(
        &mut self,
        i: &Instruction,
        wanted: Pair<Extent>,
        (dividend, divisor): (u16, u16),
    ) -> Result<Pair<u64>, Error> {
        let upper = self.part(i, 1, dividend, divisor)?;
        let is_larger = match divisor - dividend {
            1 => upper,
            width => self.any_bit(i, upper, width)?,
        };
        let fits = self.of_naturals(i, Op::Not, 1, &[is_larger], &[])?;
        let [quotient, remainder] = self.divided(i, wanted, (dividend, dividend, false))?;
        let quotient = match quotient {
            None => None,
            Some(name) => Some(self.of_naturals(i, Op::Mask, dividend, &[fits, name], &[])?),
        };
        let remainder = match remainder {
            None => None,
            Some(name) => {
                let whole = self.part(i, 0, 0, dividend)?;
                Some(self.of_naturals(i, Op::Mux, dividend, &[fits, name, whole], &[])?)
            }
        };
        Ok([quotient, remainder])
    }

    /// Emits the test whether any of `width` bits is 1. A reduction has the width of its operand.
    fn any_bit(&mut self, i: &Instruction, name: u64, width: u16) -> Result<u64, Error> {
        self.of_naturals(i, Op::AnyBit, width, &[name], &[])
    }

    /// A quotient of `width` bits, with a bit above them that says whether the divisor is 0; all bits
    /// further up are the same.
    fn with_zero_divisor(
        &mut self,
        i: &Instruction,
        (quotient, width): (u64, u16),
    ) -> Result<View, Error> {
        let divisor = self.facts(i, 1).unsigned_width().max(1);
        let part = self.part(i, 1, 0, divisor)?;
        let is_set = self.any_bit(i, part, divisor)?;
        let is_zero = self.of_naturals(i, Op::Not, 1, &[is_set], &[])?;
        let (parts, at) = ([quotient, is_zero], u64::from(width));
        let name = self.of_naturals(i, Op::BitConcat, width + 1, &parts, &[at])?;
        Ok(View { is_signed: true, ..View::whole(name, width + 1) })
    }
}
