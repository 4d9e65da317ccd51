//! Conversions between integers and floating-point numbers, and among the latter.

use phineus_bytecode::ElementType;

use crate::float::parts::{FloatFormat, bits_of};
use crate::float::round::{EXTRA_BITS, Exceptions, Unrounded};
use crate::value::Value;

impl Value {
    /// The number of `width` bits that is nearest to this integer, ties to even; infinite if it is too large.
    #[track_caller]
    pub fn float_from_integer(&self, width: u16) -> Value {
        let format = self.float_constant(width, 0).float_format();
        let is_signed = self.element().is_signed();
        if self.width() == 1 {
            return self.cast(ElementType::integer(2, is_signed)).float_from_integer(width);
        }
        let widest = self.width().max(format.precision() + EXTRA_BITS);
        Value::in_parts([self], widest, |[integer]| integer.float_of_format(format))
    }

    fn float_of_format(&self, format: FloatFormat) -> Value {
        let is_signed = self.element().is_signed();
        let (bits, precision) = (self.width(), format.precision());
        let sign = match is_signed {
            true => self.bit_slice(bits - 1, 1),
            false => self.float_constant(1, 0),
        };
        let (raised, zeros) = self.abs().with_sign(false).left_aligned();
        let wanted = precision + EXTRA_BITS;
        let significand = match bits.checked_sub(wanted) {
            None | Some(0) => self.padded(&raised, wanted),
            Some(below) => {
                let more = raised.bit_slice(0, below + 1).any_bit();
                more.bit_concat(&raised.bit_slice(below + 1, wanted - 1))
            }
        };
        // The highest bit of the integer at the highest place, less the bit before the point.
        let highest = format.bias() as u64 + u64::from(bits) - 2;
        let exponent_bits = bits_of(highest + 2).max(format.exponent + 1);
        let highest = self.float_constant(exponent_bits, highest.into());
        let exponent = highest.sub(&zeros.resized(exponent_bits));
        let none = self.float_constant(1, 0);
        let is_zero = raised.bit_slice(bits - 1, 1).not();
        let not = Exceptions { is_nan: none.clone(), is_infinite: none, is_zero };
        Value::float_packed(format, &sign, &exponent, &significand, not)
    }

    /// `value` with zeros below, `width` bits in all.
    fn padded(&self, value: &Value, width: u16) -> Value {
        match width - value.width() {
            0 => value.clone(),
            low => self.float_constant(low, 0).bit_concat(value),
        }
    }

    /// The integer of this type that the number is without its fraction; the nearest one if it does not fit, and 0 of a
    /// NaN.
    #[track_caller]
    pub fn float_to_integer(&self, element: ElementType) -> Value {
        let format = self.float_format();
        let widest = element.width().max(format.width());
        Value::in_parts([self], widest, |[number]| number.float_truncated(format, element))
    }

    fn float_truncated(&self, format: FloatFormat, element: ElementType) -> Value {
        let (bits, precision) = (element.width(), format.precision());
        let parts = self.float_parts();
        let width = bits.max(precision);
        let raised = self.padded(&parts.significand(), width);
        // The number is the raised significand moved down by this.
        let most = format.bias() as u64 + u64::from(width) - 1;
        let amount_bits = bits_of(most).max(format.exponent) + 1;
        let most = self.float_constant(amount_bits, most.into());
        let amount = most.sub(&parts.exponent.resized(amount_bits));
        let is_too_large = amount.bit_slice(amount_bits - 1, 1);
        let whole = raised.shift_right_by(&amount.bit_slice(0, amount_bits - 1));

        let is_special = parts.is_special();
        let is_nan = is_special.and(&parts.fraction.any_bit());
        let magnitude_bits = bits - u16::from(element.is_signed());
        let beyond = match width - magnitude_bits {
            0 => self.float_constant(1, 0),
            beyond => whole.bit_slice(magnitude_bits, beyond).any_bit(),
        };
        let saturates = beyond.or(&is_too_large).or(&is_special);
        let largest = saturates.replicated(magnitude_bits);
        let magnitude = whole.bit_slice(0, magnitude_bits).or(&largest);
        let result = match element.is_signed() {
            // The complement of the largest is the smallest.
            true => {
                let carry = parts.sign.and(&saturates.not());
                let flipped = magnitude.resized(bits).xor(&parts.sign.replicated(bits));
                flipped.add(&carry.resized(bits))
            }
            false => parts.sign.not().mask(&magnitude),
        };
        is_nan.not().mask(&result).with_sign(element.is_signed())
    }

    /// The number of `width` bits that is nearest to this one, ties to even.
    #[track_caller]
    pub fn float_to_width(&self, width: u16) -> Value {
        let from = self.float_format();
        let to = self.float_constant(width, 0).float_format();
        match from.fraction.cmp(&to.fraction) {
            std::cmp::Ordering::Equal => self.clone(),
            std::cmp::Ordering::Less => {
                Value::in_parts([self], to.width(), |[number]| number.float_extended(from, to))
            }
            std::cmp::Ordering::Greater => self.float_narrowed(from, to),
        }
    }

    /// In a wider format, in which each number is exact and normal.
    fn float_extended(&self, from: FloatFormat, to: FloatFormat) -> Value {
        let parts = self.float_parts();
        let (raised, zeros) = parts.significand().left_aligned();
        let is_special = parts.is_special();
        let is_nan = is_special.and(&parts.fraction.any_bit());
        let shift = self.float_constant(to.exponent, (to.bias() - from.bias()) as u128);
        let exponent = parts.effective_exponent().resized(to.exponent).add(&shift);
        let exponent = exponent.sub(&zeros.resized(to.exponent));
        let is_number = raised.bit_slice(from.fraction, 1);
        let exponent = is_special.replicated(to.exponent).or(&is_number.mask(&exponent));
        let fraction = is_special.not().mask(&raised.bit_slice(0, from.fraction));
        let fraction = self.padded(&fraction, to.fraction);
        let sign = parts.sign.and(&is_nan.not());
        Value::float_joined(to, &sign, &exponent, &fraction, &is_nan)
    }

    fn float_narrowed(&self, from: FloatFormat, to: FloatFormat) -> Value {
        let parts = self.float_parts();
        let is_special = parts.is_special();
        let is_nan = is_special.and(&parts.fraction.any_bit());
        let significand = parts.significand();
        let below = from.precision() - to.precision() - EXTRA_BITS + 1;
        let more = significand.bit_slice(0, below).any_bit();
        let kept = significand.bit_slice(below, to.precision() + EXTRA_BITS - 1);
        let width = from.exponent + 2;
        let shift = self.float_constant(width, (to.bias() - from.bias() - 1) as u128);
        let exponent = parts.exponent.resized(width).add(&shift);
        let result = Unrounded { sign: parts.sign, exponent, significand: more.bit_concat(&kept) };
        let not =
            Exceptions { is_nan, is_infinite: is_special, is_zero: self.float_constant(1, 0) };
        Value::float_rounded(to, result, not)
    }
}
