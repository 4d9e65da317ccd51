//! Quotients.
//!
//! Digit by digit without restoring: where the rest is negative the divisor is added in the next step, else
//! subtracted, so each bit of the quotient takes one sum.
//!
//! Source: Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition, section 8.6.

use crate::float::parts::{FloatFormat, FloatParts};
use crate::float::round::{EXTRA_BITS, Exceptions, Unrounded};
use crate::value::Value;

impl Value {
    /// The quotient of two numbers, rounded to the nearest, ties to even.
    #[track_caller]
    pub fn float_div(&self, other: &Value) -> Value {
        let Some((a, b)) = self.aligned("float_div", other) else {
            return Value::poisoned(self.tracer(), self.element(), self.lanes());
        };
        let format = a.float_format();
        let width = format.exponent + 2;
        let (first, second) = (a.float_parts(), b.float_parts());
        let (dividend, dividend_zeros) = first.significand().left_aligned();
        let (divisor, divisor_zeros) = second.significand().left_aligned();
        let exponent = |parts: &FloatParts, zeros: &Value| {
            parts.effective_exponent().resized(width).sub(&zeros.resized(width))
        };
        let difference = exponent(&first, &dividend_zeros).sub(&exponent(&second, &divisor_zeros));

        let (quotient, more) = quotient(format, &dividend, &divisor);
        // Either the highest bit is 1 or the one below it.
        let top = quotient.bit_slice(quotient.width() - 1, 1);
        let kept = more.bit_concat(&quotient);
        let significand = top.select(&kept, &kept.shift_left(1));
        debug_assert_eq!(significand.width(), format.precision() + EXTRA_BITS);
        let less = first.sign.float_constant(width, (format.bias() - 2) as u128);
        let exponent = difference.add_with_carry(&less, &top);

        let (a_special, b_special) = (first.is_special(), second.is_special());
        let (a_any, b_any) = (first.fraction.any_bit(), second.fraction.any_bit());
        let a_is_zero = first.is_normal.or(&a_any).not();
        let b_is_zero = second.is_normal.or(&b_any).not();
        let is_nan = a_special.and(&a_any.or(&b_special));
        let is_nan = is_nan.or(&b_special.and(&b_any)).or(&a_is_zero.and(&b_is_zero));
        let not = Exceptions { is_nan, is_infinite: a_special.or(&b_is_zero), is_zero: b_special };
        let sign = first.sign.xor(&second.sign);
        Value::float_rounded(format, Unrounded { sign, exponent, significand }, not)
    }
}

/// The quotient of two significands whose highest bits are 1, of two bits more than they have, the highest before the
/// point; and whether there is a rest.
fn quotient(format: FloatFormat, dividend: &Value, divisor: &Value) -> (Value, Value) {
    let width = format.precision() + 1;
    let divisor = divisor.resized(width);
    // All rests lie from -divisor to below divisor.
    let mut rest = dividend.resized(width).sub(&divisor);
    let mut bits = rest.bit_slice(width - 1, 1).not();
    let mut last = bits.clone();
    for _ in 0..format.precision() + 1 {
        // Subtracts after a bit 1: the sum of the complement and of 1, which takes the free lowest place.
        let addend = divisor.xor(&last.replicated(width));
        rest = last.bit_concat(&rest.bit_slice(0, width - 1)).add(&addend);
        last = rest.bit_slice(width - 1, 1).not();
        bits = last.bit_concat(&bits);
    }
    // A rest of -divisor stands for 0 as well.
    let restored = rest.add(&last.not().mask(&divisor));
    (bits, restored.any_bit())
}
