//! Square roots.
//!
//! Digit by digit without restoring, as quotients; the bit to be found is subtracted as part of the divisor.
//!
//! Source: Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition, section 8.6.

use crate::float::round::Exceptions;
use crate::value::Value;

impl Value {
    /// The square root, rounded to the nearest, ties to even: -0 of -0, and a NaN of other numbers below 0.
    #[track_caller]
    pub fn float_sqrt(&self) -> Value {
        let format = self.float_format();
        let width = format.exponent + 2;
        let parts = self.float_parts();
        let (raised, zeros) = parts.significand().left_aligned();
        let bias = raised.float_constant(width, format.bias() as u128);
        let exponent = parts.effective_exponent().resized(width).sub(&zeros.resized(width));
        let doubled = exponent.add(&bias);
        // Of an odd exponent one bit goes to the significand.
        let is_odd = doubled.bit_slice(0, 1);
        let radicand = raised.resized(format.precision() + 1);
        let radicand = is_odd.select(&radicand.shift_left(1), &radicand);
        let root = root(&radicand, format.precision() + 1);

        let is_zero = parts.is_normal.or(&parts.fraction.any_bit()).not();
        let one = raised.float_constant(format.exponent + 1, 1);
        let stored = doubled.bit_slice(1, format.exponent + 1).sub(&one);
        let is_special = parts.is_special();
        let is_negative = parts.sign.and(&is_zero.not());
        let is_nan = is_negative.or(&is_special.and(&parts.fraction.any_bit()));
        let not = Exceptions { is_nan, is_infinite: is_special, is_zero };
        // A root is never halfway between two numbers: below one half nothing has to be known.
        let significand = root.float_constant(1, 1).bit_concat(&root);
        Value::float_packed(format, &parts.sign, &stored, &significand, not)
    }
}

/// The first `bits` bits of the square root of a number from 1 to below 4, whose two highest bits are before the point.
fn root(radicand: &Value, bits: u16) -> Value {
    let digits = radicand.width();
    // The next two bits of the radicand, zeros behind its end.
    let pair = |step: u16| {
        let bit = |at: u16| match digits.checked_sub(at + 1) {
            Some(place) => radicand.bit_slice(place, 1),
            None => radicand.float_constant(1, 0),
        };
        bit(2 * step + 1).bit_concat(&bit(2 * step))
    };
    // The first bit is 1: rest = pair - 1.
    let first = pair(0).resized(3);
    let mut rest = first.sub(&first.float_constant(3, 1));
    let mut found = first.float_constant(1, 1);
    let mut last = found.clone();
    for step in 1..bits {
        // 4 rest + pair, less 4 root + 1 after a bit 1, or and 4 root + 3 after a bit 0.
        let width = step + 3;
        let one = found.float_constant(1, 1);
        let divisor = one.bit_concat(&last.not()).bit_concat(&found).resized(width);
        let shifted = pair(step).bit_concat(&rest).bit_slice(0, width);
        let addend = divisor.xor(&last.replicated(width));
        rest = shifted.add_with_carry(&addend, &last);
        last = rest.bit_slice(width - 1, 1).not();
        found = last.bit_concat(&found);
    }
    found
}
