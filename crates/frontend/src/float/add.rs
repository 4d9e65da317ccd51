//! Sums and differences.
//!
//! The operand of the smaller magnitude is moved down to the exponent of the larger one, with two bits more and one
//! that says whether anything was lost; the sum is moved up until its highest bit is 1, but no further than to the
//! least exponent; then it is rounded.
//!
//! Source of the steps: Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition, section 7.3.

use crate::float::parts::bits_of;
use crate::float::round::{EXTRA_BITS, Exceptions};
use crate::value::Value;

impl Value {
    /// The sum of two numbers, rounded to the nearest, ties to even.
    #[track_caller]
    pub fn float_add(&self, other: &Value) -> Value {
        let Some((a, b)) = self.aligned("float_add", other) else {
            return Value::poisoned(self.tracer(), self.element(), self.lanes());
        };
        let format = a.float_format();
        if a.is_same_as(&b) {
            return a.float_doubled();
        }
        let (precision, magnitude) = (format.precision(), format.width() - 1);
        let is_less = a.bit_slice(0, magnitude).lt(&b.bit_slice(0, magnitude));
        let (large, small) = is_less.swap(&a, &b);
        let (large, small) = (large.float_parts(), small.float_parts());
        let exponent = large.effective_exponent();
        let distance = exponent.sub(&small.effective_exponent());
        let subtracts = large.sign.xor(&small.sign);

        // Two bits below the significand, and one for what is lost.
        let zeros = large.sign.float_constant(EXTRA_BITS, 0);
        let moved = small.sign.float_constant(EXTRA_BITS - 1, 0).bit_concat(&small.significand());
        let moved = moved.shift_right_sticky(&distance);
        // And one above for the carry.
        let width = precision + EXTRA_BITS + 1;
        let addend = moved.resized(width).xor(&subtracts.replicated(width));
        let first = zeros.bit_concat(&large.significand()).resized(width);
        let sum = first.add_with_carry(&addend, &subtracts);

        // The highest bit of the sum belongs to the exponent above that of the larger operand.
        let zeros = sum.leading_zeros(bits_of(u64::from(width)));
        let is_zero = zeros.eq(&zeros.float_constant(zeros.width(), u128::from(width)));
        let up = zeros.resized(format.exponent.max(zeros.width()));
        let up = up.min(&exponent.resized(up.width())).resized(zeros.width());
        let aligned = sum.shift_left_by(&up.resized(bits_of(u64::from(width) - 1)));
        let stored = exponent.resized(format.exponent + 1).sub(&up.resized(format.exponent + 1));

        let is_special = large.is_special();
        let is_difference_of_infinities = small.is_special().and(&subtracts);
        let is_nan = is_special.and(&large.fraction.any_bit().or(&is_difference_of_infinities));
        let sign = large.sign.and(&subtracts.and(&is_zero).not());
        let not = Exceptions { is_nan, is_infinite: is_special, is_zero };
        Value::float_packed(format, &sign, &stored, &aligned, not)
    }

    /// The difference of two numbers, rounded to the nearest, ties to even.
    #[track_caller]
    pub fn float_sub(&self, other: &Value) -> Value {
        self.float_add(&other.float_neg())
    }
}
