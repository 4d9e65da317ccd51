//! Products.
//!
//! Of two subnormal numbers the product is too small for any number. So it is enough to move up the significand of one
//! operand, the subnormal one if there is one.

use crate::float::parts::{FloatFormat, FloatParts};
use crate::float::round::{EXTRA_BITS, Exceptions, Unrounded};
use crate::value::Value;

impl Value {
    /// The product of two numbers, rounded to the nearest, ties to even. A product of a value with itself takes half
    /// of the multiplication where circuits have the fewest ANDs.
    #[track_caller]
    pub fn float_mul(&self, other: &Value) -> Value {
        let Some((a, b)) = self.aligned("float_mul", other) else {
            return Value::poisoned(self.tracer(), self.element(), self.lanes());
        };
        let format = a.float_format();
        if let Some(scaled) = a.float_scaled(&b).or_else(|| b.float_scaled(&a)) {
            return scaled;
        }
        match a.is_same_as(&b) {
            true => Value::in_parts([&a], 2 * format.precision(), |[a]| product(format, a, a)),
            false => {
                Value::in_parts([&a, &b], 2 * format.precision(), |[a, b]| product(format, a, b))
            }
        }
    }
}

fn product(format: FloatFormat, a: &Value, b: &Value) -> Value {
    let precision = format.precision();
    let width = format.exponent + 2;
    let (first, second) = (a.float_parts(), b.float_parts());
    let (raised, raised_other, exponents) = if a.is_same_as(b) {
        let (raised, zeros) = first.significand().left_aligned();
        let exponent = first.effective_exponent().resized(width).sub(&zeros.resized(width));
        (raised.clone(), raised, exponent.shift_left(1))
    } else {
        let (low, high) = second.is_normal.not().swap(a, b);
        let (low, high) = (low.float_parts(), high.float_parts());
        let (raised, zeros) = low.significand().left_aligned();
        let exponent = |parts: &FloatParts| parts.effective_exponent().resized(width);
        let exponents = exponent(&low).add(&exponent(&high)).sub(&zeros.resized(width));
        (raised, high.significand(), exponents)
    };
    let product = raised.mul_full(&raised_other);
    // The highest bit, or the one below it, is the bit before the point.
    let top = product.bit_slice(2 * precision - 1, 1);
    let more = product.bit_slice(0, precision - 2).any_bit();
    let kept = more.bit_concat(&product.bit_slice(precision - 2, precision + 2));
    let significand = top.select(&kept, &kept.shift_left(1));
    debug_assert_eq!(significand.width(), precision + EXTRA_BITS);
    let less = first.sign.float_constant(width, (format.bias() + 1).wrapping_neg() as u128);
    let exponent = exponents.add_with_carry(&less, &top);

    let sign = first.sign.xor(&second.sign);
    let not = product_exceptions(&first, &second);
    Value::float_rounded(format, Unrounded { sign, exponent, significand }, not)
}

fn product_exceptions(a: &FloatParts, b: &FloatParts) -> Exceptions {
    let (a_special, b_special) = (a.is_special(), b.is_special());
    let (a_any, b_any) = (a.fraction.any_bit(), b.fraction.any_bit());
    let is_zero = |parts: &FloatParts, any: &Value| parts.is_normal.or(any).not();
    let is_nan =
        |special: &Value, any: &Value, other_is_zero: Value| special.and(&any.or(&other_is_zero));
    let of_a = is_nan(&a_special, &a_any, is_zero(b, &b_any));
    let of_b = is_nan(&b_special, &b_any, is_zero(a, &a_any));
    Exceptions {
        is_nan: of_a.or(&of_b),
        is_infinite: a_special.or(&b_special),
        is_zero: a.sign.float_constant(1, 0),
    }
}
