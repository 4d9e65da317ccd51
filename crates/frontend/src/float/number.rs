//! [`Float`]: secret binary floating-point numbers with the ordinary operators.

use std::ops::{Add, Div, Mul, Neg, Sub};

use phineus_bytecode::{ElementType, Encoding, Lane, Sharing};

use crate::element::{Element, Operand};
use crate::float::Rounding;
use crate::integer::{Bit, Int, UInt};
use crate::operators::{common, operator, unary_operator};
use crate::tracer::Tracer;
use crate::value::Value;

/// A secret binary floating-point number of IEEE 754 in each lane, of `W` bits: 16, 32 or 64.
///
/// Results are rounded to the nearest, ties to even. `eq` and `ne` compare the bits, so that +0 and -0 differ;
/// [`Float::is_equal`] compares the numbers. Where numbers of a known size suffice, [`crate::Fixed`] takes a fraction
/// of the cost.
#[derive(Clone)]
pub struct Float<const W: u16>(Value);

/// A half-precision number.
pub type F16 = Float<16>;
/// A single-precision number: `f32`.
pub type F32 = Float<32>;
/// A double-precision number: `f64`.
pub type F64 = Float<64>;

impl<const W: u16> Element for Float<W> {
    const TYPE: ElementType = {
        assert!(W == 16 || W == 32 || W == 64, "floating-point numbers have 16, 32 or 64 bits");
        ElementType::unsigned(W)
    };
    const ENCODING: Encoding = Encoding::Float;

    fn from_value_unchecked(value: Value) -> Self {
        Float(value)
    }

    fn value(&self) -> &Value {
        &self.0
    }
}

impl<const W: u16> Operand<Float<W>> for f64 {
    /// The nearest number.
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        let double = ElementType::unsigned(64);
        let double = Value::known(beside, double, 1, Lane::from(self.to_bits()));
        double.float_to_width(W)
    }
}

impl<const W: u16> Operand<Float<W>> for f32 {
    /// The nearest number.
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        Operand::<Float<W>>::to_operand(f64::from(self), beside)
    }
}

impl<const W: u16> Operand<Float<W>> for i32 {
    /// The nearest number.
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        Operand::<Float<W>>::to_operand(f64::from(self), beside)
    }
}

operator!([const W: u16,] Float<W>, Add::add => float_add);
operator!([const W: u16,] Float<W>, Sub::sub => float_sub);
operator!([const W: u16,] Float<W>, Mul::mul => float_mul);
operator!([const W: u16,] Float<W>, Div::div => float_div);
unary_operator!([const W: u16] Float<W>, Neg::neg => float_neg);
common!([const W: u16] Float<W>);

impl<const W: u16> Float<W> {
    /// Whether less; false if one is a NaN.
    #[track_caller]
    pub fn lt(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(self.0.float_lt(&other.to_operand(self.0.tracer())))
    }

    /// Whether less or equal; false if one is a NaN.
    #[track_caller]
    pub fn le(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(self.0.float_le(&other.to_operand(self.0.tracer())))
    }

    /// Whether greater; false if one is a NaN.
    #[track_caller]
    pub fn gt(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(other.to_operand(self.0.tracer()).float_lt(&self.0))
    }

    /// Whether greater or equal; false if one is a NaN.
    #[track_caller]
    pub fn ge(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(other.to_operand(self.0.tracer()).float_le(&self.0))
    }

    /// Whether the numbers are equal: false if one is a NaN, and true of +0 and -0.
    #[track_caller]
    pub fn is_equal(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(self.0.float_eq(&other.to_operand(self.0.tracer())))
    }

    /// True of a NaN.
    #[track_caller]
    pub fn is_nan(&self) -> Bit {
        Bit::from_value_unchecked(self.0.float_is_nan())
    }

    /// The smaller; the other one if one is a NaN.
    #[track_caller]
    pub fn min(&self, other: impl Operand<Self>) -> Self {
        Float(self.0.float_min(&other.to_operand(self.0.tracer())))
    }

    /// The larger; the other one if one is a NaN.
    #[track_caller]
    pub fn max(&self, other: impl Operand<Self>) -> Self {
        Float(self.0.float_max(&other.to_operand(self.0.tracer())))
    }

    /// Absolute value.
    #[track_caller]
    pub fn abs(&self) -> Self {
        Float(self.0.float_abs())
    }

    /// Square root: a NaN of numbers below zero.
    #[track_caller]
    pub fn sqrt(&self) -> Self {
        Float(self.0.float_sqrt())
    }

    /// A whole number near it.
    #[track_caller]
    pub fn integral(&self, rounding: Rounding) -> Self {
        Float(self.0.float_integral(rounding))
    }

    /// The nearest number to a signed integer.
    #[track_caller]
    pub fn from_int<const V: u16>(number: &Int<V>) -> Self {
        Float(number.value().float_from_integer(W))
    }

    /// The nearest number to an unsigned integer.
    #[track_caller]
    pub fn from_uint<const V: u16>(number: &UInt<V>) -> Self {
        Float(number.value().float_from_integer(W))
    }

    /// Without its fraction; the nearest integer of the type if it does not fit, 0 of a NaN.
    #[track_caller]
    pub fn to_int<const V: u16>(&self) -> Int<V> {
        Int::from_value_unchecked(self.0.float_to_integer(Int::<V>::TYPE))
    }

    /// Without its fraction; the nearest integer of the type if it does not fit, 0 of a NaN.
    #[track_caller]
    pub fn to_uint<const V: u16>(&self) -> UInt<V> {
        UInt::from_value_unchecked(self.0.float_to_integer(UInt::<V>::TYPE))
    }

    /// The nearest number of another width.
    #[track_caller]
    pub fn to_float<const V: u16>(&self) -> Float<V> {
        Float(self.0.float_to_width(V))
    }

    /// The integer of its bits.
    pub fn bits(&self) -> UInt<W> {
        UInt::from_value_unchecked(self.0.clone())
    }

    /// The number of these bits.
    pub fn from_bits(bits: &UInt<W>) -> Self {
        Float(bits.value().clone())
    }
}
