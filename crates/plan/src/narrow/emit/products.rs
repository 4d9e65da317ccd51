//! Products of factors of different widths, from products of equal ones: the wide factor in pieces as
//! narrow as the other one, as in Euclid's algorithm. A product of 8 and 32 bits is four of 8 and 8.

use phineus_bytecode::{ElementType, Instruction, Op};

use super::{Narrowing, natural};
use crate::error::Error;
use crate::narrow::NarrowClaim;

/// Bits of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Factor {
    pub(super) operand: usize,
    pub(super) low: u16,
    pub(super) length: u16,
}

/// A value of the narrowed program and its width.
type Wide = (u64, u16);

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// ANDs of [`Narrowing::product_in_pieces`].
    pub(super) fn cost_in_pieces(&self, wide: u16, narrow: u16, out: u16) -> u64 {
        if narrow == 1 {
            return u64::from(wide.min(out));
        }
        let mut cost = 0;
        for at in (0..wide.min(out)).step_by(narrow.into()) {
            let (length, needed) = (narrow.min(wide - at), out - at);
            cost += match length < narrow {
                true => self.cost_in_pieces(narrow, length, needed),
                false => self.cost_of_piece(narrow, needed),
            };
            if at > 0 {
                let sum = needed.min(length + narrow);
                cost += self.cost(Op::Add, ElementType::unsigned(sum));
            }
        }
        cost
    }

    fn cost_of_piece(&self, width: u16, needed: u16) -> u64 {
        match needed <= width {
            true => self.cost(Op::Mul, ElementType::unsigned(needed)),
            false => self.cost(Op::MulFull, ElementType::unsigned(2 * width)),
        }
    }

    /// The low `out` bits of the product of two unsigned factors, of which the first is no narrower.
    pub(super) fn product_in_pieces(
        &mut self,
        i: &Instruction,
        [wide, narrow]: [Factor; 2],
        out: u16,
    ) -> Result<Wide, Error> {
        if narrow.length == 1 {
            let width = wide.length.min(out);
            let bit = self.factor(i, narrow, 1)?;
            let value = self.factor(i, wide, width)?;
            let product = self.of_naturals(i, Op::Mask, width, &[bit, value], &[])?;
            // As all products, with a bit more, for the sums that it goes into.
            return match width < out {
                true => {
                    let immediates = [width.into(), 0];
                    let wider =
                        self.of_naturals(i, Op::Cast, width + 1, &[product], &immediates)?;
                    Ok((wider, width + 1))
                }
                false => Ok((product, width)),
            };
        }
        let mut sum: Option<Wide> = None;
        for at in (0..wide.length.min(out)).step_by(narrow.length.into()) {
            let length = narrow.length.min(wide.length - at);
            let piece = Factor { low: wide.low + at, length, ..wide };
            let product = match length < narrow.length {
                true => self.product_in_pieces(i, [narrow, piece], out - at)?,
                false => self.product_of_piece(i, [piece, narrow], out - at)?,
            };
            sum = Some(match sum {
                None => product,
                Some(sum) => self.add_at(i, sum, product, at)?,
            });
        }
        Ok(sum.expect("the wide factor has bits"))
    }

    /// The low bits of a product of factors of one width.
    fn product_of_piece(
        &mut self,
        i: &Instruction,
        [a, b]: [Factor; 2],
        needed: u16,
    ) -> Result<Wide, Error> {
        let (width, whole) = (a.length.min(needed), 2 * a.length);
        let factors = [self.factor(i, a, width)?, self.factor(i, b, width)?];
        if needed <= a.length {
            return Ok((self.of_naturals(i, Op::Mul, width, &factors, &[])?, width));
        }
        let product = (self.of_naturals(i, Op::MulFull, whole, &factors, &[])?, whole);
        let end = needed.min(whole);
        Ok((self.bits(i, product, (0, end))?, end))
    }

    /// `sum + product * 2^at`, which has no more bits above `at` than the product.
    fn add_at(
        &mut self,
        i: &Instruction,
        sum: Wide,
        product: Wide,
        at: u16,
    ) -> Result<Wide, Error> {
        let width = product.1;
        let upper = (self.bits(i, sum, (at, sum.1))?, sum.1 - at);
        let upper = match upper.1 < width {
            true => self.of_naturals(i, Op::Cast, width, &[upper.0], &[upper.1.into(), 0])?,
            false => self.bits(i, upper, (0, width))?,
        };
        let added = self.of_naturals(i, Op::Add, width, &[upper, product.0], &[])?;
        let low = self.bits(i, sum, (0, at))?;
        let parts = [low, added];
        let name = self.of_naturals(i, Op::BitConcat, at + width, &parts, &[at.into()])?;
        Ok((name, at + width))
    }

    /// The lowest `width` bits of a factor.
    fn factor(&mut self, i: &Instruction, factor: Factor, width: u16) -> Result<u64, Error> {
        self.part(i, factor.operand, factor.low, factor.low + width)
    }

    /// The bits from `low` on before `high` of a value of the narrowed program.
    pub(super) fn bits(
        &mut self,
        i: &Instruction,
        (name, width): Wide,
        (low, high): (u16, u16),
    ) -> Result<u64, Error> {
        match (low, high == width) {
            (0, true) => Ok(name),
            (0, false) => self.of_naturals(i, Op::Cast, high, &[name], &[width.into(), 0]),
            _ => {
                let immediates = [low.into(), width.into()];
                self.of_naturals(i, Op::BitSlice, high - low, &[name], &immediates)
            }
        }
    }

    /// Emits an operation on unsigned integers of the lanes and the sharing of `i`.
    pub(super) fn of_naturals(
        &mut self,
        i: &Instruction,
        op: Op,
        width: u16,
        operands: &[u64],
        immediates: &[u64],
    ) -> Result<u64, Error> {
        let shape = (natural(i.element, width), i.lanes);
        self.emitter.make(op, shape, operands, immediates)
    }
}
