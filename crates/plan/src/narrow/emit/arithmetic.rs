//! Sums, products, magnitudes, and counts.

use phineus_bytecode::{ElementType, Instruction, Op};

use super::products::Factor;
use super::{Narrowing, from_zero, of_width};
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::Extent;
use crate::narrow::facts::{Facts, bit_length, mask};
use crate::narrow::views::View;

/// A form of a product.
#[derive(Clone, Copy, Debug)]
struct ProductForm {
    op: Op,
    element: ElementType,
    /// Bits of each factor.
    width: u16,
    shape: ProductShape,
}

/// The factors of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProductShape {
    /// The low bits of the operands.
    Operands,
    /// The magnitude of the only operand.
    Magnitude,
    /// Pieces of two unsigned operands, of these widths.
    Pieces([u16; 2]),
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// The low bits of an operation in which carries only go upwards.
    pub(super) fn low_bits(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let made = self.on_extent(i, from_zero(e), 0)?;
        Ok(View::within(made.results[0], e.high, e))
    }

    pub(super) fn sum(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let facts = [0, i.operands().len() - 1].map(|k| self.facts(i, k));
        if i.op == Op::Add && mask(e.high) & !(facts[0].zeros | facts[1].zeros) == 0 {
            // There are no carries.
            return self.logic(&Instruction { op: Op::Xor, ..*i }, e);
        }
        if let Some(view) = self.sum_with_constant(i, e)? {
            return Ok(view);
        }
        // Below the lowest bit of one operand, the bits are those of the other one.
        let (k, start) = match i.op {
            Op::Add if facts[0].trailing_zeros() > facts[1].trailing_zeros() => {
                (1, facts[0].trailing_zeros())
            }
            Op::Add | Op::Sub => (0, facts[1].trailing_zeros()),
            _ => (0, 0),
        };
        if start == 0 {
            return self.low_bits(i, e);
        }
        let upper = Extent { low: start, ..e };
        if start >= e.high {
            return self.moved(i, (k, e.low), e);
        }
        let sum = self.on_extent(i, upper, 0)?.results[0];
        if start <= e.low {
            return Ok(View::of_extent(sum, upper));
        }
        let parts = [self.part(i, k, e.low, start)?, sum];
        let low = u64::from(start - e.low);
        let name = self.of_naturals(i, Op::BitConcat, e.high - e.low, &parts, &[low])?;
        Ok(View::of_extent(name, e))
    }

    /// A sum or difference with a constant, unless known bits of the other operand do more.
    fn sum_with_constant(&mut self, i: &Instruction, e: Extent) -> Result<Option<View>, Error> {
        let facts = [0, i.operands().len() - 1].map(|k| self.facts(i, k));
        let constant = |k: usize| {
            let facts: &Facts = &facts[k];
            (mask(e.high) & !facts.known() == 0).then_some(facts.ones)
        };
        let second = if i.op == Op::Neg { None } else { constant(1) };
        let (k, added) = match (i.op, constant(0), second) {
            (Op::Add, _, Some(second)) => (0, second),
            (Op::Add, Some(first), _) => (1, first),
            (Op::Sub, _, Some(second)) => (0, second.wrapping_neg()),
            // `c - a = c + !a + 1`.
            (Op::Sub, Some(first), _) => (1, first.wrapping_add(1)),
            _ => return Ok(None),
        };
        let added: u128 = added & mask(e.high);
        if facts[k].known().trailing_ones() as u16 > added.trailing_zeros() as u16 {
            return Ok(None);
        }
        let mut term = self.part(i, k, 0, e.high)?;
        if i.op == Op::Sub && k == 1 {
            term = self.of_naturals(i, Op::Not, e.high, &[term], &[])?;
        }
        let (name, at) = self.plus_constant(i, (term, e.high), added, e.low)?;
        let upper = Extent { low: at, ..e };
        Ok(Some(View::of_extent(name, upper)))
    }

    pub(super) fn product(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let ProductForm { op, element, width, shape } = self.cheapest_product(i, e);
        let factors = match shape {
            ProductShape::Operands => [self.part(i, 0, 0, width)?, self.part(i, 1, 0, width)?],
            ProductShape::Magnitude => [self.magnitude(i, width)?; 2],
            ProductShape::Pieces([first, second]) => {
                let factor = |operand, length| Factor { operand, low: 0, length };
                let factors = [factor(0, first), factor(1, second)];
                let [a, b] = factors;
                let factors = if first < second { [b, a] } else { factors };
                let (name, width) = self.product_in_pieces(i, factors, e.high)?;
                return Ok(View::within(name, width, e));
            }
        };
        let name = self.emitter.make(op, (element, i.lanes), &factors, &[])?;
        Ok(View::within(name, element.width(), e))
    }

    /// The magnitude of an operand, which has `width` bits.
    fn magnitude(&mut self, i: &Instruction, width: u16) -> Result<u64, Error> {
        let signed = self.facts(i, 0).signed_width();
        let factor = self.part(i, 0, 0, signed)?;
        let element = ElementType::signed(signed).shared(i.element.sharing());
        let magnitude = self.emitter.make(Op::Abs, (element, i.lanes), &[factor], &[])?;
        self.bits(i, (magnitude, signed), (0, width))
    }

    /// Of the forms that give the low `e.high` bits, the one with the fewest ANDs.
    fn cheapest_product(&self, i: &Instruction, e: Extent) -> ProductForm {
        let [a, b] = [self.facts(i, 0), self.facts(i, 1)];
        let (w, own) = (i.element.width(), a.width);
        let (is_full, is_square) = (i.op == Op::MulFull, i.is_square());
        let mut forms = Vec::new();
        let mut form = |op, element: ElementType, width, shape, more: u64| {
            let cost = match shape {
                ProductShape::Pieces(_) => more,
                ProductShape::Magnitude => more + self.cost_of_square(op, element),
                ProductShape::Operands if is_square => more + self.cost_of_square(op, element),
                ProductShape::Operands => more + self.cost(op, element),
            };
            let element = element.shared(i.element.sharing());
            forms.push((ProductForm { op, element, width, shape }, cost));
        };
        if e.high <= own {
            form(Op::Mul, ElementType::unsigned(e.high), e.high, ProductShape::Operands, 0);
        } else {
            let element = ElementType::integer(w, i.element.is_signed());
            form(i.op, element, own, ProductShape::Operands, 0);
        }
        // Factors of `width` bits whose bits are all needed, and whose product has space.
        let fits = |width: u16| width <= e.high && 2 * width <= w && e.high <= 2 * width;
        let double = |width: u16, is_signed| ElementType::integer(2 * width, is_signed);
        let are_natural = a.is_natural() && b.is_natural();
        // The bits of a factor are those of an unsigned integer modulo two to the width, but a signed
        // product of halves takes their signs.
        let is_unsigned = !is_full || !i.element.is_signed() || are_natural;
        let widths = [&a, &b].map(|facts| facts.unsigned_width().min(e.high));
        let unsigned = a.unsigned_width().max(b.unsigned_width());
        if is_unsigned && fits(unsigned) {
            form(Op::MulFull, double(unsigned, false), unsigned, ProductShape::Operands, 0);
        }
        if is_unsigned && !is_square && !self.options.has_rounds && widths[0] != widths[1] {
            let (wide, narrow) = (widths[0].max(widths[1]), widths[0].min(widths[1]));
            let has_space = e.high <= wide + narrow && 2 * narrow <= w;
            let shape = ProductShape::Pieces(widths);
            if has_space {
                let cost = self.cost_in_pieces(wide, narrow, e.high);
                form(Op::Mul, ElementType::BIT, 0, shape, cost);
            }
        }
        let is_signed = !is_full || i.element.is_signed();
        let signed = a.signed_width().max(b.signed_width());
        if is_signed && fits(signed) {
            form(Op::MulFull, double(signed, true), signed, ProductShape::Operands, 0);
        }
        let magnitude = bit_length(a.least.unsigned_abs().max(a.most.unsigned_abs()));
        if is_square
            && !self.options.has_rounds
            && is_signed
            && !a.is_natural()
            && signed <= e.high
            && fits(magnitude)
        {
            let abs = self.cost(Op::Abs, ElementType::signed(signed));
            form(Op::MulFull, double(magnitude, false), magnitude, ProductShape::Magnitude, abs);
        }
        let least = forms.into_iter().min_by_key(|(_, cost)| *cost);
        least.expect("there is a form").0
    }

    pub(super) fn absolute(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let a = self.facts(i, 0);
        if !i.element.is_signed() || a.is_natural() {
            return self.moved(i, (0, e.low), e);
        }
        let width = a.signed_width();
        let op = if a.most <= 0 { Op::Neg } else { Op::Abs };
        let factor = self.part(i, 0, 0, width)?;
        let shape = (of_width(i.element, width), i.lanes);
        let name = self.emitter.make(op, shape, &[factor], &[])?;
        Ok(View::within(name, width, e))
    }

    /// The number of bits that are 1, or of zeros above them.
    pub(super) fn count(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let from = match i.op {
            Op::Popcount => self.facts(i, 0).unsigned_width().max(1),
            _ => i.operand_shape(0).width,
        };
        let part = self.part(i, 0, 0, from)?;
        let shape = (of_width(i.element, e.high), i.lanes);
        let name = self.emitter.make(i.op, shape, &[part], &[u64::from(from)])?;
        Ok(View::within(name, e.high, e))
    }

    /// The sum of all lanes, of terms as narrow as they are.
    pub(super) fn lane_sum(&mut self, i: &Instruction, e: Extent) -> Result<View, Error> {
        let [_, from_lanes, ..] = i.immediates;
        let term: Facts = self.facts(i, 0);
        let is_signed = i.element.is_signed() && !term.is_natural();
        let from = if is_signed { term.signed_width() } else { term.unsigned_width().max(1) };
        let from = from.min(e.high);
        let part = self.part(i, 0, 0, from)?;
        let element = ElementType::integer(e.high, is_signed).shared(i.element.sharing());
        let immediates = [u64::from(from), from_lanes];
        let name = self.emitter.make(Op::LaneSum, (element, i.lanes), &[part], &immediates)?;
        Ok(View::within(name, e.high, e))
    }
}
