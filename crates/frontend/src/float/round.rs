//! The last steps of an operation: from an exact result with a few bits too many to a number.

use crate::float::parts::FloatFormat;
use crate::value::Value;

/// Bits below the significand of an unrounded result: one half, and two for whether there is more.
pub(super) const EXTRA_BITS: u16 = 3;

/// A result before it is rounded.
pub(super) struct Unrounded {
    pub(super) sign: Value,
    /// The exponent as it is stored, less 1; signed, of at least two bits more than stored ones. If the significand is
    /// 0 it is anything.
    pub(super) exponent: Value,
    /// The significand, and [`EXTRA_BITS`] below it, of which the last two need only tell whether there is more.
    pub(super) significand: Value,
}

/// Cases in which the result is not the rounded one.
pub(super) struct Exceptions {
    /// Not a number, whatever else holds.
    pub(super) is_nan: Value,
    /// Infinite.
    pub(super) is_infinite: Value,
    /// Zero, if it is not infinite.
    pub(super) is_zero: Value,
}

impl Value {
    /// The number of `format`: moved down where its exponent is too small for a normal number, rounded, and infinite
    /// where it is too large.
    pub(super) fn float_rounded(format: FloatFormat, result: Unrounded, not: Exceptions) -> Value {
        let Unrounded { sign, exponent, significand } = result;
        let is_small = exponent.bit_slice(exponent.width() - 1, 1);
        let bits = exponent.width() - 1;
        let below = is_small.mask(&exponent.neg().bit_slice(0, bits));
        let top = significand.bit_slice(significand.width() - 1, 1);
        // A zero has no exponent.
        let exponent = is_small.not().and(&top).mask(&exponent.bit_slice(0, bits));
        let moved = significand.shift_right_sticky(&below);
        Value::float_packed(format, &sign, &exponent, &moved, not)
    }

    /// The number of `format`, rounded, and infinite where its exponent is too large. The exponent is the stored one,
    /// less the bit before the point, of at least one bit more; of the bits below the significand the highest is one
    /// half.
    pub(super) fn float_packed(
        format: FloatFormat,
        sign: &Value,
        exponent: &Value,
        significand: &Value,
        not: Exceptions,
    ) -> Value {
        let precision = format.precision();
        let extra = significand.width() - precision;
        let half = significand.bit_slice(extra - 1, 1);
        let more = significand.bit_slice(0, extra - 1).any_bit();
        let last = significand.bit_slice(extra, 1);
        let round_up = half.and(&more.or(&last));
        let rounded = significand
            .bit_slice(extra, precision)
            .resized(precision + 1)
            .add(&round_up.resized(precision + 1));
        // The bit before the point, or the carry beyond it, makes the exponent larger.
        let above = rounded.bit_slice(format.fraction, 2).resized(exponent.width());
        let exponent = exponent.add(&above);
        let stored = exponent.bit_slice(0, format.exponent);
        let beyond = exponent.bit_slice(format.exponent, exponent.width() - format.exponent);
        let overflows = beyond.any_bit().or(&stored.all_bits());

        let is_infinite = not.is_infinite.or(&overflows).or(&not.is_nan);
        let is_finite = is_infinite.or(&not.is_zero).not();
        let fraction = is_finite.mask(&rounded.bit_slice(0, format.fraction));
        let stored = is_infinite.replicated(format.exponent).or(&not.is_zero.not().mask(&stored));
        Value::float_joined(format, &sign.and(&not.is_nan.not()), &stored, &fraction, &not.is_nan)
    }

    /// The bits of a number, whose fraction is 0 if it is a NaN.
    pub(super) fn float_joined(
        format: FloatFormat,
        sign: &Value,
        exponent: &Value,
        fraction: &Value,
        is_nan: &Value,
    ) -> Value {
        let quiet = fraction.bit_slice(format.fraction - 1, 1).xor(is_nan);
        let fraction = fraction.bit_slice(0, format.fraction - 1).bit_concat(&quiet);
        fraction.bit_concat(exponent).bit_concat(sign)
    }
}
