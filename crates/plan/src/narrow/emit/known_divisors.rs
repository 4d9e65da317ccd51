//! Division by a constant: by a product with its reciprocal, rounded up.
//!
//! Of `n` bits `x` and a divisor `d`, `x / d` is the upper part of `x m`, from bit `s` on, if `m d` is more than
//! `2^s` by at most `2^(s - n)` (Granlund, Montgomery, "Division by invariant integers using multiplication",
//! PLDI 1994, theorem 4.2). Where an AND costs and a round does not, the product is a chain of sums, of odd
//! multiples of `x` with signs, as few as there are non-zero digits in `m`.

use phineus_bytecode::limits::RESULTS_MAX;
use phineus_bytecode::{ElementType, Instruction, Op};

use super::Narrowing;
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::Extent;
use crate::narrow::facts::bit_length;
use crate::narrow::views::{View, limbs};

/// The widest dividend: its product with a reciprocal has at most 128 bits.
const DIVIDEND_MAX: u16 = 60;

/// The widest windows of digits.
const WINDOWS: [u32; 3] = [2, 3, 4];

/// A value of the narrowed program and its width.
type Wide = (u64, u16);

/// `1 / d` for dividends of some width: a factor, and how many bits of the product are cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reciprocal {
    factor: u128,
    shift: u16,
    /// The windows of digits by which it is multiplied; none for one product.
    window: Option<u32>,
    /// ANDs of the product.
    pub(super) cost: u64,
}

impl Reciprocal {
    /// Bits of the widest value that a division of `width` bits makes.
    pub(super) fn widest(&self, width: u16) -> u16 {
        match self.window {
            Some(_) => width + CHAIN_BITS,
            None => (2 * width.max(bit_length(self.factor))).max(width + 1),
        }
    }
}

/// With three bits for the largest digit and one for the sign, a sum with a carry from below fits.
const CHAIN_BITS: u16 = 4;

/// Digits of an odd or even factor from the lowest on, each with its position: odd, below `2^(window - 1)` in
/// magnitude, any two of them at least `window` positions apart.
fn digits(factor: u128, window: u32) -> Vec<(u16, i64)> {
    let (mut rest, mut at, mut digits) = (factor, 0, Vec::new());
    while rest != 0 {
        let zeros = rest.trailing_zeros();
        (rest, at) = (rest >> zeros, at + zeros as u16);
        let low = (rest & ((1 << window) - 1)) as i64;
        let digit = if low < 1 << (window - 1) { low } else { low - (1 << window) };
        digits.push((at, digit));
        rest = if digit < 0 { rest + digit.unsigned_abs() as u128 } else { rest - digit as u128 };
    }
    digits
}

/// ANDs of a product of `width` bits and these digits.
fn cost_of_chain(digits: &[(u16, i64)], width: u16) -> u64 {
    let largest = digits.iter().map(|(_, digit)| digit.unsigned_abs()).max().unwrap_or(1);
    let multiples = (3..=largest).step_by(2).count() as u64;
    (digits.len() as u64 - 1 + multiples) * u64::from(width + 3)
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// The cheapest reciprocal of `divisor`, at least 2 and no power of two, for dividends of `width` bits.
    pub(super) fn reciprocal(&self, divisor: u128, width: u16) -> Option<Reciprocal> {
        if width > DIVIDEND_MAX || bit_length(divisor) > width {
            return None;
        }
        let candidate = |shift: u16| {
            let factor = (1u128 << shift) / divisor + 1;
            let excess = factor * divisor - (1 << shift);
            if excess > 1 << (shift - width) {
                return Vec::new();
            }
            let one = |window, cost| Reciprocal { factor, shift, window, cost };
            if self.options.has_rounds {
                let half = width.max(bit_length(factor));
                return vec![one(None, self.cost(Op::MulFull, ElementType::unsigned(2 * half)))];
            }
            let chain = |window| one(Some(window), cost_of_chain(&digits(factor, window), width));
            WINDOWS.map(chain).to_vec()
        };
        let shifts = width..=width + bit_length(divisor);
        shifts.flat_map(candidate).min_by_key(|reciprocal| reciprocal.cost)
    }

    /// `x / d`, of which `out` bits are needed.
    pub(super) fn times_reciprocal(
        &mut self,
        i: &Instruction,
        x: Wide,
        reciprocal: Reciprocal,
        out: u16,
    ) -> Result<u64, Error> {
        let Reciprocal { factor, shift, window, .. } = reciprocal;
        let upper = match window {
            Some(window) => self.chain(i, x, &digits(factor, window), shift)?,
            None => {
                let half = x.1.max(bit_length(factor));
                let x = self.extended(i, x, (half, false))?;
                let factor = self.of_naturals(i, Op::Constant, half, &[], &limbs(factor))?;
                let product = self.of_naturals(i, Op::MulFull, 2 * half, &[x, factor], &[])?;
                (self.bits(i, (product, 2 * half), (shift, 2 * half))?, 2 * half - shift)
            }
        };
        match upper.1 < out {
            true => self.extended(i, upper, (out, false)),
            false => self.bits(i, upper, (0, out)),
        }
    }

    /// The product of `x` and a factor with these digits, without its lowest `shift` bits.
    ///
    /// From the lowest digit on, what is above its position is a signed sum of little more than the width of
    /// `x`; bits below are complete, and are not needed.
    fn chain(
        &mut self,
        i: &Instruction,
        x: Wide,
        digits: &[(u16, i64)],
        shift: u16,
    ) -> Result<Wide, Error> {
        let width = x.1 + CHAIN_BITS;
        let mut multiples = vec![self.extended(i, x, (width, false))?];
        let largest = digits.iter().map(|(_, digit)| digit.unsigned_abs()).max().unwrap_or(1);
        if largest > 1 {
            let double = self.of_naturals(i, Op::ShiftLeft, width, &[multiples[0]], &[1])?;
            for _ in (3..=largest).step_by(2) {
                let last = *multiples.last().expect("there is one");
                multiples.push(self.of_naturals(i, Op::Add, width, &[last, double], &[])?);
            }
        }
        let multiple = |digit: i64| multiples[digit.unsigned_abs() as usize / 2];
        let (mut at, first) = digits[0];
        let mut sum = multiple(first);
        if first < 0 {
            sum = self.of_naturals(i, Op::Neg, width, &[sum], &[])?;
        }
        for &(next, digit) in &digits[1..] {
            sum = self.cut(i, (sum, width), next - at)?;
            at = next;
            let op = if digit < 0 { Op::Sub } else { Op::Add };
            sum = self.of_naturals(i, op, width, &[sum, multiple(digit)], &[])?;
        }
        // The product is never negative.
        match at < shift {
            true => Ok((self.bits(i, (sum, width), (shift - at, width))?, width - (shift - at))),
            false => {
                assert_eq!(at, shift, "the highest digit is not above the quotient's lowest bit");
                Ok((sum, width))
            }
        }
    }

    /// Without its lowest `count` bits, a signed value of the same width.
    fn cut(&mut self, i: &Instruction, (name, width): Wide, count: u16) -> Result<u64, Error> {
        let upper = self.bits(i, (name, width), (count, width))?;
        self.extended(i, (upper, width - count), (width, true))
    }

    /// With copies of the sign, or zeros, above.
    fn extended(
        &mut self,
        i: &Instruction,
        (name, width): Wide,
        (to, is_signed): (u16, bool),
    ) -> Result<u64, Error> {
        match width == to {
            true => Ok(name),
            false => self.of_naturals(i, Op::Cast, to, &[name], &[width.into(), is_signed.into()]),
        }
    }

    /// Quotient and remainder by a constant that is no power of two, as far as they are wanted; `width` bits
    /// hold the dividend, or its magnitude and sign.
    pub(super) fn divided_by_constant(
        &mut self,
        i: &Instruction,
        wanted: [Option<Extent>; RESULTS_MAX],
        (divisor, reciprocal): (u128, Reciprocal),
        (width, is_signed): (u16, bool),
    ) -> Result<[Option<View>; RESULTS_MAX], Error> {
        let mut x = self.part(i, 0, 0, width)?;
        let sign = if is_signed { Some(self.part(i, 0, width - 1, width)?) } else { None };
        if is_signed {
            let element = ElementType::signed(width).shared(i.element.sharing());
            x = self.emitter.make(Op::Abs, (element, i.lanes), &[x], &[])?;
        }
        let quotient = self.times_reciprocal(i, (x, width), reciprocal, width)?;
        let mut views = [None; RESULTS_MAX];
        if let Some(e) = wanted[1] {
            // Smaller than the divisor: so many bits of it are enough.
            let low = bit_length(divisor);
            let part = self.bits(i, (quotient, width), (0, low))?;
            let factor = self.of_naturals(i, Op::Constant, low, &[], &limbs(divisor))?;
            let product = self.of_naturals(i, Op::Mul, low, &[part, factor], &[])?;
            let dividend = self.bits(i, (x, width), (0, low))?;
            let rest = self.of_naturals(i, Op::Sub, low, &[dividend, product], &[])?;
            views[1] = Some(self.with_sign(i, (rest, low), sign, e)?);
        }
        if let Some(e) = wanted[0] {
            views[0] = Some(self.with_sign(i, (quotient, width), sign, e)?);
        }
        Ok(views)
    }

    /// A magnitude with the sign of the dividend, if it has one.
    fn with_sign(
        &mut self,
        i: &Instruction,
        magnitude: Wide,
        sign: Option<u64>,
        e: Extent,
    ) -> Result<View, Error> {
        let Some(sign) = sign else {
            assert!(e.high <= magnitude.1, "a magnitude has the bits that are needed");
            return Ok(View::within(magnitude.0, magnitude.1, e));
        };
        let width = magnitude.1 + 1;
        let value = self.extended(i, magnitude, (width, false))?;
        let copies = self.extended(i, (sign, 1), (width, true))?;
        let flipped = self.of_naturals(i, Op::Xor, width, &[value, copies], &[])?;
        let name = self.of_naturals(i, Op::Sub, width, &[flipped, copies], &[])?;
        assert!(e.high <= width, "a magnitude and a sign have the bits that are needed");
        Ok(View::within(name, width, e))
    }

    /// ANDs of [`Narrowing::divided_by_constant`].
    pub(super) fn cost_by_constant(
        &self,
        wanted: [bool; RESULTS_MAX],
        (divisor, reciprocal): (u128, Reciprocal),
        (width, is_signed): (u16, bool),
    ) -> u64 {
        let low = bit_length(divisor);
        let sum = |width| self.cost(Op::Sub, ElementType::unsigned(width));
        let mut cost = reciprocal.cost;
        if is_signed {
            cost += self.cost(Op::Abs, ElementType::signed(width));
        }
        if wanted[1] {
            cost += self.cost(Op::Mul, ElementType::unsigned(low)) + sum(low);
        }
        for (width, _) in [width, low].into_iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            cost += if is_signed { sum(width + 1) } else { 0 };
        }
        cost
    }
}
