//! Products that are wider than the field: which method is the cheapest, and factors in limbs.
//!
//! Of a product only the low `w` bits are wanted. With `x = sum of 2^s x_s`, limbs of `l` bits,
//! it is the sum of `2^s (x_s y mod 2^(w - s))`, of which each term stays below `2^(w + l)`:
//!
//! * *cut*: where both factors are held as bits, limbs and remainders of them are free, and
//!   `x_s (y mod 2^(w - s))` takes a product for each limb;
//! * *reduced*: where only `x` is, `x_s y` is reduced after the product, but for the lowest limb;
//! * *shifted*: where none is, a right shift gives the upper of two limbs, and the lower is local;
//! * *in bits*, if a field does not hold `w` bits and some more: the columns of long
//!   multiplication become bits one after the other, and what is above a limb goes to the next
//!   column: `n (n + 1) / 2` products and `n` decompositions.
//!
//! For a product of a matrix and a vector only the vector is in limbs.
//!
//! Invariant: what is chosen fits the field, for all values of the ranges that are known.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Lane, Op};

use super::Lowering;
use super::claims::{LoweringOutput, RangedElement};
use super::operations::{Done, arithmetic};
use super::range::Range;
use crate::error::Error;

/// How many products a reduction or a shift is worth: modulo 2^61 - 1 it takes some 90, and 61
/// random bits besides.
const REDUCTION_PRODUCTS: u64 = 120;

/// How a factor goes into a product: as far as it is known, or in the range of its type.
#[derive(Clone, Copy)]
enum FactorForm {
    Known,
    Reduced { signed: bool },
}

/// How a product is made. Where there are limbs, they are of factor `x`, and of `limb_bits` bits.
#[derive(Clone, Copy)]
enum ProductMethod {
    Whole { forms: [FactorForm; 2] },
    Cut { x: usize, limb_bits: u16 },
    Reduced { x: usize, limb_bits: u16, other: FactorForm },
    Shifted { x: usize, form: FactorForm, limb_bits: u16, other: FactorForm },
}

/// `2^exponent`, and nothing else.
fn power(exponent: u16) -> Range {
    let value = 1 << exponent.min(126);
    Range { low: value, high: value }
}

/// How many terms each element of the result is a sum of.
pub(super) fn terms_of(i: &Instruction) -> u64 {
    if i.op == Op::MatMul { i.immediates[0] } else { 1 }
}

/// Returns whether each number of the result is a (sum of) squares if both factors are one value.
///
/// It is for lanes. An entry of a product of matrices is a row times a column, which are the same numbers
/// only if there is one row and one column: entry (0, 1) of the outer product of (-1, 1) with itself is
/// -1, and entries of the square of a matrix may have any sign.
fn squares(i: &Instruction) -> bool {
    match i.op {
        Op::MatMul => i.lanes == 1,
        _ => i.op == Op::Mul,
    }
}

/// The range of a product of elements that are in these ranges, both the same if they are one value.
fn range_of_product(i: &Instruction, names: [u64; 2], [a, b]: [Range; 2]) -> Range {
    let is_square = names[0] == names[1] && squares(i);
    let product = if is_square { a.square() } else { a.mul(b) };
    product.times(terms_of(i))
}

impl<S: LoweringOutput> Lowering<S> {
    /// The product of two factors modulo `2^w`, or of a matrix and a vector.
    pub(super) fn product(&mut self, i: &Instruction) -> Done {
        let names = [i.operands[0], i.operands[1]];
        let known = [self.integer(names[0])?, self.integer(names[1])?];
        if known.iter().all(Option::is_some)
            && let Some(method) = self.cheapest(i, names)
        {
            self.in_elements(i, names, method)?;
            return Ok(true);
        }
        let width = i.element.width();
        let factors = [self.factor(names[0], width, false)?, self.factor(names[1], width, false)?];
        self.in_bits(i, factors)?;
        Ok(true)
    }

    /// The product of two factors of half the width.
    pub(super) fn full_product(&mut self, i: &Instruction) -> Done {
        let (width, signed) = (i.element.width(), i.element.is_signed());
        let names = [i.operands[0], i.operands[1]];
        let half = Range::of_type(width / 2, signed);
        let product = half.mul(half);
        if width <= RING_WIDTH_MAX && self.fits(product) {
            let factors = [self.canonical(names[0], signed)?, self.canonical(names[1], signed)?];
            if let [Some(a), Some(b)] = factors {
                let product = self.apply(i, Op::Mul, &[a, b], product)?;
                self.set_integer(i.results[0], i.shape(), product);
                return Ok(true);
            }
        }
        let factors =
            [self.factor(names[0], width, signed)?, self.factor(names[1], width, signed)?];
        self.in_bits(i, factors)?;
        Ok(true)
    }

    fn range_of(&self, name: u64) -> Range {
        self.value(name).integer.expect("a factor is held as elements").range()
    }

    /// The forms that a factor may have, with their ranges and what they cost.
    fn forms(&self, name: u64) -> Vec<(FactorForm, Range, u64)> {
        let value = self.value(name);
        let known = self.range_of(name);
        let mut forms = vec![(FactorForm::Known, known, 0)];
        if value.constant.is_none() && self.holds(value.width) {
            for signed in [false, true] {
                let range = Range::of_type(value.width, signed);
                if !known.is_within(range) {
                    let is_there = value.reduced[usize::from(signed)].is_some();
                    let lanes = if is_there { 0 } else { u64::from(value.lanes) };
                    forms.push((FactorForm::Reduced { signed }, range, lanes * REDUCTION_PRODUCTS));
                }
            }
        }
        forms
    }

    /// The method with the fewest products of those whose numbers fit; `None` if there is none.
    fn cheapest(&self, i: &Instruction, names: [u64; 2]) -> Option<ProductMethod> {
        let mut best: Option<(u64, ProductMethod)> = None;
        let mut offer = |cost: u64, method: ProductMethod| {
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, method));
            }
        };
        for (k, (form, range, cost)) in self.forms(names[0]).into_iter().enumerate() {
            for (l, (other, other_range, more)) in self.forms(names[1]).into_iter().enumerate() {
                let is_one_value = names[0] == names[1];
                if is_one_value && k != l {
                    continue;
                }
                if self.fits(range_of_product(i, names, [range, other_range])) {
                    let more = if is_one_value { 0 } else { more };
                    offer(
                        cost + more + u64::from(i.lanes),
                        ProductMethod::Whole { forms: [form, other] },
                    );
                }
            }
        }
        if self.holds(i.element.width()) {
            // A matrix is never in limbs: the vector is shorter.
            let first = if i.op == Op::MatMul { 1 } else { 0 };
            (first..2).for_each(|x| self.offer_limbs(i, names, x, &mut offer));
        }
        best.map(|(_, method)| method)
    }

    /// Offers the methods in which factor `x` is in limbs.
    fn offer_limbs(
        &self,
        i: &Instruction,
        names: [u64; 2],
        x: usize,
        offer: &mut impl FnMut(u64, ProductMethod),
    ) {
        let (width, lanes, terms) = (i.element.width(), u64::from(i.lanes), terms_of(i));
        let [name, y] = [names[x], names[1 - x]];
        let x_bits = self.bits_of(name, width).max(1);
        // The fewest limbs first.
        let sizes = (1..=x_bits).map(|count| x_bits.div_ceil(count));
        if self.has_bits(name) && self.has_bits(y) && i.op == Op::Mul {
            let y_bits = self.bits_of(y, width);
            let fits = |&size: &u16| {
                let limbs = (0..x_bits).step_by(usize::from(size)).map(|start| {
                    let limb = Range::of_type(size.min(x_bits - start), false);
                    let cut = Range::of_type(y_bits.min(width - start).max(1), false);
                    limb.mul(cut).mul(power(start))
                });
                self.fits(limbs.fold(Range { low: 0, high: 0 }, Range::add))
            };
            if let Some(limb_bits) = sizes.clone().find(fits) {
                offer(
                    u64::from(x_bits.div_ceil(limb_bits)) * lanes,
                    ProductMethod::Cut { x, limb_bits },
                );
            }
        }
        for (other, range, cost) in self.forms(y) {
            let fits = |size: u16, count: u16, top: Range| {
                let lowest = Range::of_type(size, false).mul(range).times(terms);
                // Each is 0 at least: it makes room for nothing that is negative.
                let reduced = Range { low: 0, ..power(width).times(u64::from(count)) };
                self.fits(lowest.add(reduced)) && self.fits(top.mul(range).times(terms))
            };
            let each = (1 + REDUCTION_PRODUCTS) * lanes;
            let limb_of = |size: &u16| Range::of_type(*size, false);
            let found =
                sizes.clone().find(|size| fits(*size, x_bits.div_ceil(*size), limb_of(size)));
            if let Some(limb_bits) = found.filter(|_| self.has_bits(name)) {
                let more = u64::from(x_bits.div_ceil(limb_bits)) - 1;
                offer(cost + lanes + more * each, ProductMethod::Reduced { x, limb_bits, other });
                continue;
            }
            let shift = u64::from(self.value(name).lanes) * REDUCTION_PRODUCTS;
            for (form, x_range, more) in self.forms(name) {
                let top =
                    |size: u16| Range { low: x_range.low >> size, high: x_range.high >> size };
                if let Some(limb_bits) = (1..width).rev().find(|&size| fits(size, 1, top(size))) {
                    let cost = cost + more + shift + lanes + each;
                    offer(cost, ProductMethod::Shifted { x, form, limb_bits, other });
                }
            }
        }
    }

    /// A factor in the form that was chosen.
    fn formed(&mut self, name: u64, form: FactorForm) -> Result<RangedElement, Error> {
        Ok(match form {
            FactorForm::Known => self.integer(name)?.expect("a factor is held as elements"),
            FactorForm::Reduced { signed } => {
                self.canonical(name, signed)?.expect("the field holds its type")
            }
        })
    }

    fn in_elements(
        &mut self,
        i: &Instruction,
        names: [u64; 2],
        method: ProductMethod,
    ) -> Result<(), Error> {
        let width = i.element.width();
        let product = match method {
            ProductMethod::Whole { forms } => {
                let a = self.formed(names[0], forms[0])?;
                let b = self.formed(names[1], forms[1])?;
                let range = range_of_product(i, names, [a.range(), b.range()]);
                self.times_within(i, a, b, range)?
            }
            ProductMethod::Cut { x, limb_bits } => {
                let limbed = self.factor(names[x], width, false)?;
                let other = self.factor(names[1 - x], width, false)?;
                let whole = self.value(names[1 - x]).integer;
                let whole = whole.filter(|y| y.range().is_within(Range::of_type(width, false)));
                let mut sum = None;
                for start in (0..limbed.width).step_by(usize::from(limb_bits)) {
                    let limb = self.limb(&limbed, start, limb_bits)?;
                    let rest = match whole {
                        Some(whole) if start == 0 => Some(whole),
                        _ => self.limb(&other, 0, width - start)?,
                    };
                    if let (Some(limb), Some(rest)) = (limb, rest) {
                        let term = self.times(i, limb, rest)?;
                        self.add_shifted(i, &mut sum, term, start)?;
                    }
                }
                match sum {
                    Some(sum) => sum,
                    None => self.zero(i)?,
                }
            }
            ProductMethod::Reduced { x, limb_bits, other } => {
                let other = self.formed(names[1 - x], other)?;
                let limbed = self.factor(names[x], width, false)?;
                let mut limbs = Vec::new();
                for start in (0..limbed.width).step_by(usize::from(limb_bits)) {
                    if let Some(limb) = self.limb(&limbed, start, limb_bits)? {
                        limbs.push((start, limb));
                    }
                }
                self.sum_of_limbs(i, x, limbs, other)?
            }
            ProductMethod::Shifted { x, form, limb_bits, other } => {
                let other = self.formed(names[1 - x], other)?;
                let (lanes, whole) = (self.value(names[x]).lanes, self.formed(names[x], form)?);
                // Of the type that has all that is shifted: it says behind what that hides.
                let element = arithmetic(whole.range().least_type());
                let mut shift = Instruction::new(Op::ShiftRight, element, lanes);
                (shift.immediates[0], shift.operands[0]) = (limb_bits.into(), whole.name());
                let range = whole.range().shifted_right(limb_bits.into());
                let upper = self.define_integer(shift, range)?;
                let shape = (width, lanes);
                let multiple = range.mul(power(limb_bits));
                let shifted = self.one(Op::ShiftLeft, shape, &[upper], limb_bits, multiple)?;
                let below = Range::of_type(limb_bits, false);
                let lower = self.one(Op::Sub, shape, &[whole, shifted], 0, below)?;
                self.sum_of_limbs(i, x, vec![(0, lower), (limb_bits, upper)], other)?
            }
        };
        self.set_integer(i.results[0], i.shape(), product);
        Ok(())
    }

    /// The sum of `2^start` times each limb times `other`; `x` is the place of the limbs.
    fn sum_of_limbs(
        &mut self,
        i: &Instruction,
        x: usize,
        limbs: Vec<(u16, RangedElement)>,
        other: RangedElement,
    ) -> Result<RangedElement, Error> {
        let width = i.element.width();
        let mut sum = None;
        for (start, limb) in limbs {
            let mut term = match x {
                0 => self.times(i, limb, other)?,
                _ => self.times(i, other, limb)?,
            };
            let rest = Range::of_type(width - start, false);
            if start > 0 && !term.range().is_within(rest) {
                term = self.one(Op::Reduce, (width - start, i.lanes), &[term], 0, rest)?;
            }
            self.add_shifted(i, &mut sum, term, start)?;
        }
        match sum {
            Some(sum) => Ok(sum),
            None => self.zero(i),
        }
    }

    fn zero(&mut self, i: &Instruction) -> Result<RangedElement, Error> {
        self.constant((Lane::ZERO, Range::ZERO), i.element.width(), i.lanes, false)
    }

    /// Adds `2^start term` to the sum so far.
    pub(super) fn add_shifted(
        &mut self,
        i: &Instruction,
        sum: &mut Option<RangedElement>,
        mut term: RangedElement,
        start: u16,
    ) -> Result<(), Error> {
        let shape = (i.element.width(), i.lanes);
        if start > 0 {
            let range = term.range().mul(power(start));
            term = self.one(Op::ShiftLeft, shape, &[term], start, range)?;
        }
        if let Some(known) = *sum {
            let range = known.range().add(term.range());
            term = self.one(Op::Add, shape, &[known, term], 0, range)?;
        }
        assert!(self.fits(term.range()), "only what fits is chosen");
        *sum = Some(term);
        Ok(())
    }

    /// The product of elements as the instruction has it: of lanes, or of two matrices.
    pub(super) fn times(
        &mut self,
        i: &Instruction,
        a: RangedElement,
        b: RangedElement,
    ) -> Result<RangedElement, Error> {
        self.times_within(i, a, b, a.range().mul(b.range()).times(terms_of(i)))
    }

    /// Multiplies integers whose product is known to be in a smaller range.
    fn times_within(
        &mut self,
        i: &Instruction,
        a: RangedElement,
        b: RangedElement,
        range: Range,
    ) -> Result<RangedElement, Error> {
        match i.op {
            Op::MatMul => self.apply(i, Op::MatMul, &[a, b], range),
            _ => self.one(Op::Mul, (i.element.width(), i.lanes), &[a, b], 0, range),
        }
    }

    /// Emits an operation on elements.
    pub(super) fn one(
        &mut self,
        op: Op,
        (width, lanes): (u16, u32),
        operands: &[RangedElement],
        immediate: u16,
        range: Range,
    ) -> Result<RangedElement, Error> {
        let element = arithmetic(ElementType::unsigned(width.min(RING_WIDTH_MAX)));
        let mut made = Instruction::new(op, element, lanes);
        made.immediates[0] = u64::from(immediate);
        for (place, operand) in made.operands.iter_mut().zip(operands) {
            *place = operand.name();
        }
        self.define_integer(made, range)
    }
}
