//! Products with powers of two: no multiplication, but a step of the exponent for each factor of two.

use crate::float::parts::FloatFormat;
use crate::value::Value;

/// The powers that are multiplied step by step: a step takes some 100 ANDs of single precision, and a product with a
/// constant some ten times that. Only one half is: two steps down would round twice.
const POWERS: std::ops::RangeInclusive<i64> = -1..=4;

impl Value {
    /// The product with a public number, if that is a small power of two or one half.
    pub(super) fn float_scaled(&self, factor: &Value) -> Option<Value> {
        let format = FloatFormat::of_width(factor.width())?;
        let bits = factor.public()?.as_limbs()[0];
        let fraction = bits & ((1 << format.fraction) - 1);
        let stored = bits >> format.fraction & ((1 << format.exponent) - 1);
        let power = stored as i64 - format.bias();
        if fraction != 0 || !POWERS.contains(&power) {
            return None;
        }
        let is_negative = bits >> (format.width() - 1) == 1;
        let mut scaled = match is_negative {
            true => self.float_neg(),
            false => self.clone(),
        };
        for _ in 0..power.unsigned_abs() {
            scaled = if power > 0 { scaled.float_doubled() } else { scaled.float_halved() };
        }
        match power {
            // The one NaN, as of any product.
            0 => Some(scaled.float_with_one_nan()),
            _ => Some(scaled.tile(self.lanes().max(factor.lanes()))),
        }
    }

    /// The number with itself: its exponent is one more, or its bits move up if it is subnormal.
    pub(super) fn float_doubled(&self) -> Value {
        let format = self.float_format();
        let parts = self.float_parts();
        let magnitude = self.bit_slice(0, self.width() - 1);
        let is_special = parts.is_special();
        let is_nan = is_special.and(&parts.fraction.any_bit());
        // A special number is no less than infinity, which is what the largest exponent becomes.
        let one = is_special.not().resized(format.exponent);
        let exponent = parts.exponent.add(&one);
        let fraction = exponent.all_bits().not().mask(&parts.fraction);
        let normal = fraction.bit_concat(&exponent);
        let doubled = parts.is_normal.select(&normal, &magnitude.shift_left(1));
        let sign = parts.sign.and(&is_nan.not());
        let (fraction, exponent) = (
            doubled.bit_slice(0, format.fraction),
            doubled.bit_slice(format.fraction, format.exponent),
        );
        Value::float_joined(format, &sign, &exponent, &fraction, &is_nan)
    }

    /// Half of the number, rounded to the nearest, ties to even: its exponent is one less, or its bits move down if the
    /// result is subnormal.
    fn float_halved(&self) -> Value {
        let format = self.float_format();
        let parts = self.float_parts();
        let is_special = parts.is_special();
        let is_nan = is_special.and(&parts.fraction.any_bit());
        // Exponents of 1 and 0 give subnormal numbers: the exponent's lowest bit is the bit before the point.
        let is_large = parts.exponent.bit_slice(1, format.exponent - 1).any_bit();
        let one = is_special.not().resized(format.exponent);
        let normal = parts.fraction.bit_concat(&parts.exponent.sub(&one));
        let small = self.bit_slice(0, format.precision());
        let half = small.bit_slice(1, format.fraction).resized(format.precision());
        let round_up = small.bit_slice(0, 1).and(&small.bit_slice(1, 1));
        let moved = half.add(&round_up.resized(format.precision())).resized(normal.width());
        let halved = is_large.select(&normal, &moved);
        let fraction = is_special.not().mask(&halved.bit_slice(0, format.fraction));
        let exponent = halved.bit_slice(format.fraction, format.exponent);
        let sign = parts.sign.and(&is_nan.not());
        Value::float_joined(format, &sign, &exponent, &fraction, &is_nan)
    }

    fn float_with_one_nan(&self) -> Value {
        let format = self.float_format();
        let parts = self.float_parts();
        let is_nan = parts.is_special().and(&parts.fraction.any_bit());
        let (sign, fraction) = (parts.sign.and(&is_nan.not()), is_nan.not().mask(&parts.fraction));
        Value::float_joined(format, &sign, &parts.exponent, &fraction, &is_nan)
    }
}
