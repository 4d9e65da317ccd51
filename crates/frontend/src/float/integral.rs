//! Whole numbers near a number, as floating-point numbers.
//!
//! The bits of the fraction behind the point are cleared, after what rounds up was added to them. Numbers below 1 have
//! no bit before the point, so whether they become 1 is decided apart.

use crate::float::parts::bits_of;
use crate::value::Value;

/// Which whole number is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The one nearer to zero: `trunc` of C.
    TowardsZero,
    /// The one below: `floor`.
    Down,
    /// The one above: `ceil`.
    Up,
    /// The nearest one, ties to even: `rint`.
    TiesToEven,
    /// The nearest one, ties away from zero: `round`.
    TiesAway,
}

impl Value {
    /// A whole number near this number, with its sign also if it is 0; infinities as they are.
    #[track_caller]
    pub fn float_integral(&self, rounding: Rounding) -> Value {
        let format = self.float_format();
        let parts = self.float_parts();
        let magnitude = self.bit_slice(0, self.width() - 1);
        let bits = magnitude.width();
        // Bits of the fraction behind the point, where the number is at least 1.
        let width = format.exponent + 1;
        let most = self.float_constant(width, format.bias() as u128 + u128::from(format.fraction));
        let behind = most.sub(&parts.exponent.resized(width));
        let is_whole = behind.bit_slice(width - 1, 1);
        let bias = self.float_constant(format.exponent, format.bias() as u128);
        let is_below_one = parts.exponent.lt(&bias);
        let count = bits_of(u64::from(format.fraction));
        let ones = behind.bit_slice(0, count).ones_below(format.fraction);
        let ones = is_whole.not().mask(&ones);

        let any = parts.fraction.any_bit();
        let half_exponent = self.float_constant(format.exponent, format.bias() as u128 - 1);
        let is_from_half = || parts.exponent.eq(&half_exponent);
        let (added, becomes_one) = match rounding {
            Rounding::TowardsZero => (None, self.float_constant(1, 0)),
            Rounding::Down | Rounding::Up => {
                let grows = match rounding {
                    Rounding::Down => parts.sign.clone(),
                    _ => parts.sign.not(),
                };
                (Some(grows.mask(&ones)), grows.and(&parts.is_normal.or(&any)))
            }
            Rounding::TiesAway => (Some(ones.xor(&ones.shift_right(1))), is_from_half()),
            Rounding::TiesToEven => {
                // The place of the lowest bit before the point; at the end of the fraction it is that of the exponent,
                // which is 1 as the bit before the point is.
                let above = self.float_constant(1, 1).bit_concat(&ones);
                let place = above.xor(&ones.resized(format.fraction + 1));
                let is_odd = magnitude.bit_slice(0, format.fraction + 1).and(&place).any_bit();
                let is_odd = is_odd.and(&ones.bit_slice(0, 1));
                let added = ones.shift_right(1).add(&is_odd.resized(format.fraction));
                (Some(added), is_from_half().and(&any))
            }
        };
        let sum = match added {
            Some(added) => magnitude.add(&added.resized(bits)),
            None => magnitude,
        };
        let cleared = sum.and(&ones.resized(bits).not());
        let one = self.float_constant(bits, (format.bias() as u128) << format.fraction);
        let below_one = becomes_one.mask(&one);
        let result = is_below_one.select(&below_one, &cleared);
        let is_nan = parts.is_special().and(&any);
        let nan = self.float_constant(
            bits,
            ((1 << format.exponent) - 1) << format.fraction | 1 << (format.fraction - 1),
        );
        is_nan.select(&nan, &result).bit_concat(&parts.sign.and(&is_nan.not()))
    }

    /// `width` bits of which the lowest are 1, as many as this number states.
    fn ones_below(&self, width: u16) -> Value {
        let mut ones = self.bit_slice(0, 1);
        for bit in 1..self.width() {
            // With so many more below: all ones, then those of before; or those of before, then none.
            let more = self.bit_slice(bit, 1);
            let (length, own) = (ones.width(), more.clone());
            let low = ones.or(&own.replicated(length));
            // One place more between: 2^bit ones are one more than the lower bits can state.
            let high = own.bit_concat(&ones.and(&own.replicated(length)));
            ones = low.bit_concat(&high);
        }
        ones.resized(width)
    }
}
