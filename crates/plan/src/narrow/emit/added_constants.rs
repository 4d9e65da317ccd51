//! Sums with constants.

use phineus_bytecode::{ElementType, Instruction, Op};

use super::Narrowing;
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::facts::mask;
use crate::narrow::views::limbs;

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// ANDs of [`Narrowing::plus_constant`].
    pub(super) fn cost_of_constant(&self, constant: u128, width: u16) -> u64 {
        let computed = width.saturating_sub(constant.trailing_zeros() as u16 + 1);
        if computed == 0 { 0 } else { self.cost(Op::Add, ElementType::unsigned(computed)) }
    }

    /// The sum of a value of `width` bits and a constant, modulo two to the width; the bits from `low` on are right.
    /// Returns the value that has them, and which bit its first one is.
    ///
    /// Below the lowest 1 of the constant nothing changes; there the bit is the complement, and the carry the bit. Added to
    /// the rest of the constant, the carry changes its lowest bits up to the first 0: so it takes no AND.
    pub(super) fn plus_constant(
        &mut self,
        i: &Instruction,
        (name, width): (u64, u16),
        constant: u128,
        low: u16,
    ) -> Result<(u64, u16), Error> {
        let constant = constant & mask(width);
        if constant == 0 {
            return Ok((name, 0));
        }
        let at = constant.trailing_zeros() as u16;
        let carry = self.bits(i, (name, width), (at, at + 1))?;
        let above = width - at - 1;
        let upper = match above {
            0 => None,
            _ => {
                let rest = constant >> at >> 1;
                let terms = [
                    self.bits(i, (name, width), (at + 1, width))?,
                    self.constant_and_carry(i, (rest, above), carry)?,
                ];
                Some(self.of_naturals(i, Op::Add, above, &terms, &[])?)
            }
        };
        if let (Some(upper), true) = (upper, low > at) {
            return Ok((upper, at + 1));
        }
        let low = low.min(at);
        let mut made = (self.of_naturals(i, Op::Not, 1, &[carry], &[])?, 1);
        if let Some(upper) = upper {
            let parts = [made.0, upper];
            made = (self.of_naturals(i, Op::BitConcat, 1 + above, &parts, &[1])?, 1 + above);
        }
        if low == at {
            return Ok((made.0, low));
        }
        let parts = [self.bits(i, (name, width), (low, at))?, made.0];
        let immediates = [u64::from(at - low)];
        let joined = self.of_naturals(i, Op::BitConcat, width - low, &parts, &immediates)?;
        Ok((joined, low))
    }

    /// `constant + carry`, of `width` bits.
    fn constant_and_carry(
        &mut self,
        i: &Instruction,
        (constant, width): (u128, u16),
        carry: u64,
    ) -> Result<u64, Error> {
        let run = width.min(constant.trailing_ones() as u16 + 1);
        let mut low = carry;
        if run > 1 {
            low = self.of_naturals(i, Op::Cast, run, &[carry], &[1, 1])?;
        }
        let bits = constant & mask(run);
        if bits != 0 {
            let known = self.of_naturals(i, Op::Constant, run, &[], &limbs(bits))?;
            low = self.of_naturals(i, Op::Xor, run, &[low, known], &[])?;
        }
        if run == width {
            return Ok(low);
        }
        let above = limbs(constant >> run);
        let above = self.of_naturals(i, Op::Constant, width - run, &[], &above)?;
        self.of_naturals(i, Op::BitConcat, width, &[low, above], &[run.into()])
    }
}
