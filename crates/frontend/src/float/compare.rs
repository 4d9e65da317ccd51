//! Comparisons: false where one number is a NaN, and +0 equals -0.

use crate::value::Value;

impl Value {
    /// True of a NaN.
    #[track_caller]
    pub fn float_is_nan(&self) -> Value {
        let parts = self.float_parts();
        parts.is_special().and(&parts.fraction.any_bit())
    }

    /// Whether one of both is not a number.
    #[track_caller]
    pub fn float_is_unordered(&self, other: &Value) -> Value {
        self.float_is_nan().or(&other.float_is_nan())
    }

    /// Whether equal.
    #[track_caller]
    pub fn float_eq(&self, other: &Value) -> Value {
        let magnitude = self.width() - 1;
        let sign = |value: &Value| value.bit_slice(magnitude, 1);
        let own = self.bit_slice(0, magnitude);
        let same_magnitude = own.eq(&other.bit_slice(0, magnitude));
        let parts = self.float_parts();
        let any = parts.fraction.any_bit();
        let is_number = parts.is_special().and(&any).not();
        // Zeros are equal whatever their signs are.
        let opposite = sign(self).xor(&sign(other)).and(&parts.is_normal.or(&any));
        same_magnitude.and(&is_number).and(&opposite.not())
    }

    /// Whether less.
    #[track_caller]
    pub fn float_lt(&self, other: &Value) -> Value {
        let ordered = self.float_is_unordered(other).not();
        self.float_order_key().lt(&other.float_order_key()).and(&ordered)
    }

    /// Whether less or equal.
    #[track_caller]
    pub fn float_le(&self, other: &Value) -> Value {
        let ordered = self.float_is_unordered(other).not();
        self.float_order_key().le(&other.float_order_key()).and(&ordered)
    }

    /// A signed integer in the order of the numbers: the magnitude, negated below zero.
    fn float_order_key(&self) -> Value {
        self.float_format();
        let magnitude = self.float_abs();
        let sign = self.bit_slice(self.width() - 1, 1);
        let flipped = magnitude.xor(&sign.replicated(self.width()));
        flipped.add(&sign.resized(self.width())).with_sign(true)
    }
}

/// Classes of numbers from the lowest bit, as LLVM numbers them.
const NANS: u16 = 0b11;
const SIGNED_CLASSES: [(u16, u16); 4] = [(2, 9), (3, 8), (4, 7), (5, 6)];

impl Value {
    /// True of the classes whose bits are set: from the lowest bit signalling NaN, NaN, -infinity,
    /// negative, subnormal and negative, -0, +0, subnormal and positive, positive, infinity. All NaNs are one class.
    #[track_caller]
    pub fn float_is_of_class(&self, classes: u16) -> Value {
        let parts = self.float_parts();
        let (is_special, any) = (parts.is_special(), parts.fraction.any_bit());
        let is_subnormal = parts.is_normal.not().and(&any);
        let magnitudes = [
            is_special.and(&any.not()),
            parts.is_normal.and(&is_special.not()),
            is_subnormal.clone(),
            parts.is_normal.or(&any).not(),
        ];
        let mut found = self.float_constant(1, 0);
        if classes & NANS != 0 {
            found = is_special.and(&any);
        }
        for (is_it, (negative, positive)) in magnitudes.iter().zip(SIGNED_CLASSES) {
            let wanted = match (classes >> negative & 1 == 1, classes >> positive & 1 == 1) {
                (false, false) => continue,
                (true, true) => is_it.clone(),
                (true, false) => is_it.and(&parts.sign),
                (false, true) => is_it.and(&parts.sign.not()),
            };
            found = found.or(&wanted);
        }
        found
    }
}
