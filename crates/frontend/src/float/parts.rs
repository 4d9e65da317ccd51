//! The parts of a floating-point number, and small pieces that several operations need.

use phineus_bytecode::{ElementType, Lane};

use crate::value::Value;

/// Bits of a binary floating-point number, besides its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatFormat {
    /// Bits of the exponent.
    pub(crate) exponent: u16,
    /// Bits of the fraction, without the one before the point.
    pub(crate) fraction: u16,
}

impl FloatFormat {
    /// The format of `width` bits, if there is one.
    pub(crate) fn of_width(width: u16) -> Option<FloatFormat> {
        match width {
            16 => Some(FloatFormat { exponent: 5, fraction: 10 }),
            32 => Some(FloatFormat { exponent: 8, fraction: 23 }),
            64 => Some(FloatFormat { exponent: 11, fraction: 52 }),
            _ => None,
        }
    }

    /// Bits of a number.
    pub(crate) fn width(self) -> u16 {
        1 + self.exponent + self.fraction
    }

    /// Bits of the significand, with the one before the point.
    pub(crate) fn precision(self) -> u16 {
        self.fraction + 1
    }

    /// The bias of stored exponents.
    pub(crate) fn bias(self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }
}

/// A number in its parts.
pub(super) struct FloatParts {
    pub(super) sign: Value,
    /// As stored.
    pub(super) exponent: Value,
    pub(super) fraction: Value,
    /// Whether the stored exponent is not 0: the bit before the point.
    pub(super) is_normal: Value,
}

impl FloatParts {
    /// The stored exponent, 1 for subnormal numbers.
    pub(super) fn effective_exponent(&self) -> Value {
        self.exponent.xor(&self.is_normal.not().cast(self.exponent.integer()))
    }

    /// The fraction with the bit before the point.
    pub(super) fn significand(&self) -> Value {
        self.fraction.bit_concat(&self.is_normal)
    }

    /// True of infinities and NaNs.
    pub(super) fn is_special(&self) -> Value {
        self.exponent.all_bits()
    }
}

impl Value {
    /// The format of the number; a fault, and one of 32 bits, if it has none.
    #[track_caller]
    pub(super) fn float_format(&self) -> FloatFormat {
        FloatFormat::of_width(self.width()).unwrap_or_else(|| {
            let width = self.width();
            self.tracer().fault(format!(
                "a floating-point number has 16, 32 or 64 bits, and this has {width}"
            ));
            FloatFormat { exponent: 1, fraction: width.saturating_sub(2).max(1) }
        })
    }

    #[track_caller]
    pub(super) fn float_parts(&self) -> FloatParts {
        let format = self.float_format();
        let exponent = self.bit_slice(format.fraction, format.exponent);
        FloatParts {
            sign: self.bit_slice(self.width() - 1, 1),
            fraction: self.bit_slice(0, format.fraction),
            is_normal: exponent.any_bit(),
            exponent,
        }
    }

    /// A public integer of `width` bits beside this value.
    pub(super) fn float_constant(&self, width: u16, value: u128) -> Value {
        let element = ElementType::unsigned(width);
        Value::known(self.tracer(), element, self.lanes(), Lane::from(value))
    }

    /// This bit `width` times: free.
    pub(super) fn replicated(&self, width: u16) -> Value {
        self.with_sign(true).cast(ElementType::signed(width)).with_sign(false)
    }

    /// Zeros above, or cut, to `width` bits: free.
    pub(super) fn resized(&self, width: u16) -> Value {
        self.with_sign(false).cast(ElementType::unsigned(width))
    }

    /// The sum of both and of a bit, wrapping.
    pub(super) fn add_with_carry(&self, other: &Value, carry: &Value) -> Value {
        let sum = carry.bit_concat(self).add(&carry.bit_concat(other));
        sum.bit_slice(1, self.width())
    }

    /// This integer and the number of zeros above its highest 1, moved up by that number.
    pub(super) fn left_aligned(&self) -> (Value, Value) {
        let width = u64::from(self.width());
        let zeros = self.leading_zeros(bits_of(width));
        // If all bits are 0, any amount will do.
        (self.shift_left_by(&zeros.resized(bits_of(width - 1))), zeros)
    }

    /// Moved down by a secret amount, with one bit more at the low end: whether any 1 was moved out.
    ///
    /// Each bit of the amount moves once, and tells whether what it moves out has a 1.
    pub(super) fn shift_right_sticky(&self, amount: &Value) -> Value {
        let width = self.width();
        let stages = bits_of(u64::from(width)).min(amount.width());
        // A move by 2^stages - 1 already leaves nothing.
        let amount = match amount.width() > stages {
            true => {
                let is_large = amount.bit_slice(stages, amount.width() - stages).any_bit();
                amount.bit_slice(0, stages).or(&is_large.replicated(stages))
            }
            false => amount.clone(),
        };
        let (mut value, mut sticky) = (self.clone(), self.float_constant(1, 0));
        for stage in 0..stages {
            let (moves, distance) = (amount.bit_slice(stage, 1), 1u16 << stage);
            let lost = value.bit_slice(0, distance.min(width)).any_bit();
            sticky = sticky.or(&moves.and(&lost));
            value = moves.select(&value.shift_right(u64::from(distance)), &value);
        }
        sticky.bit_concat(&value)
    }
}

/// Bits that hold the numbers up to `value`.
pub(super) fn bits_of(value: u64) -> u16 {
    (u64::BITS - value.leading_zeros()) as u16
}
