//! Binary floating-point numbers of IEEE 754-2019, computed by operations on integers.
//!
//! A number is the unsigned integer of its bits: 16, 32 or 64 (`binary16`, `binary32`, `binary64`). Results are
//! rounded to the nearest, ties to even. Subnormal numbers, infinities and signed zeros are as the standard says.
//! Each result that is not a number is the positive quiet NaN without payload (`0x7fc00000` of 32 bits), so all
//! parties, protocols and constants give the same bits.
//!
//! Cost: docs/circuits.md lists the ANDs of each operation. Operands that are public, or of which bits are known,
//! take fewer.

mod add;
mod compare;
mod convert;
mod divide;
mod integral;
mod multiply;
mod number;
mod parts;
mod root;
mod round;
mod scale;

pub use integral::Rounding;
pub use number::{F16, F32, F64, Float};

use crate::value::Value;

impl Value {
    /// The number with the other sign, also of a NaN: free.
    #[track_caller]
    pub fn float_neg(&self) -> Value {
        let top = self.width() - 1;
        self.xor(&self.float_constant(self.width(), 1 << top))
    }

    /// The number without its sign: free.
    #[track_caller]
    pub fn float_abs(&self) -> Value {
        self.bit_slice(0, self.width() - 1).cast(self.integer())
    }

    /// The number with the sign of another one: free.
    #[track_caller]
    pub fn float_copysign(&self, sign: &Value) -> Value {
        let sign = sign.bit_slice(sign.width() - 1, 1);
        self.bit_slice(0, self.width() - 1).bit_concat(&sign)
    }

    /// The smaller number; the other one if one is a NaN (`fmin` of C).
    #[track_caller]
    pub fn float_min(&self, other: &Value) -> Value {
        self.float_lt(other).or(&other.float_is_nan()).select(self, other)
    }

    /// The larger number; the other one if one is a NaN (`fmax` of C).
    #[track_caller]
    pub fn float_max(&self, other: &Value) -> Value {
        other.float_lt(self).or(&other.float_is_nan()).select(self, other)
    }
}
