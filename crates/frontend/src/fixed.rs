//! [`Fixed`]: secret signed numbers with a fixed number of bits after the point.

use std::ops::{Add, Div, Mul, Neg, Sub};

use phineus_bytecode::{ElementType, Lane, Sharing};

use crate::element::{Element, Operand, integer};
use crate::integer::{Bit, Int};
use crate::operators::{common, operator, unary_operator};
use crate::tracer::Tracer;
use crate::value::Value;

/// A secret number in each lane: a signed integer of `W` bits divided by `2^F`.
///
/// Sums and products wrap. Products are rounded down, quotients towards zero, and a quotient by
/// zero is the number just below zero. `2 W` must be at most 256. On ports it is the integer: 1.5
/// with 8 bits after the point is 384.
#[derive(Clone)]
pub struct Fixed<const W: u16, const F: u16>(Value);

impl<const W: u16, const F: u16> Element for Fixed<W, F> {
    const TYPE: ElementType = {
        assert!(F < W, "a fixed-point number has a bit before the point");
        ElementType::signed(W)
    };

    fn from_value_unchecked(value: Value) -> Self {
        Fixed(value)
    }

    fn value(&self) -> &Value {
        &self.0
    }
}

impl<const W: u16, const F: u16> Operand<Fixed<W, F>> for f64 {
    /// The nearest number; reports one that does not fit.
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        let scaled = (self * (F as f64).exp2()).round();
        // An f64 of at most 2^127 in magnitude is exact as an i128.
        if !scaled.is_finite() || scaled.abs() >= 127f64.exp2() {
            let element = Fixed::<W, F>::TYPE;
            beside.fault(format!("the constant {self} does not fit {element}"));
            return Value::poisoned(beside, element, 1);
        }
        let magnitude = Lane::from((scaled as i128).unsigned_abs());
        integer(beside, Fixed::<W, F>::TYPE, magnitude, scaled < 0.0)
    }
}

impl<const W: u16, const F: u16> Operand<Fixed<W, F>> for i32 {
    /// The whole number.
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        Operand::<Fixed<W, F>>::to_operand(f64::from(self), beside)
    }
}

operator!([const W: u16, const F: u16,] Fixed<W, F>, Add::add => add);
operator!([const W: u16, const F: u16,] Fixed<W, F>, Sub::sub => sub);
operator!([const W: u16, const F: u16,] Fixed<W, F>, Mul::mul => fixed_mul::<F>);
operator!([const W: u16, const F: u16,] Fixed<W, F>, Div::div => fixed_div::<F>);
unary_operator!([const W: u16, const F: u16] Fixed<W, F>, Neg::neg => neg);
common!([const W: u16, const F: u16] Fixed<W, F>);

impl Value {
    /// The product without its lowest `F` bits, wrapping. A public factor needs no product: only
    /// shifts and sums of `W + F` bits.
    #[track_caller]
    fn fixed_mul<const F: u16>(&self, other: &Value) -> Value {
        let width = self.width();
        if self.public().is_some() || other.public().is_some() {
            let wide = ElementType::signed(width + F);
            return Value::in_parts([self, other], width + F, |[a, b]| {
                a.cast(wide).mul(&b.cast(wide)).bit_slice(F, width).with_sign(true)
            });
        }
        Value::in_parts([self, other], 2 * width, |[a, b]| {
            a.mul_full(b).bit_slice(F, width).with_sign(true)
        })
    }

    /// The quotient with `F` bits after the point, wrapping.
    #[track_caller]
    fn fixed_div<const F: u16>(&self, other: &Value) -> Value {
        let wide = ElementType::signed(self.width() + F);
        Value::in_parts([self, other], wide.width(), |[a, b]| {
            let dividend = a.cast(wide).shift_left(u64::from(F));
            dividend.div(&b.cast(wide)).cast(self.integer())
        })
    }
}

impl<const W: u16, const F: u16> Fixed<W, F> {
    /// Whether less.
    #[track_caller]
    pub fn lt(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(self.0.lt(&other.to_operand(self.0.tracer())))
    }

    /// Whether less or equal.
    #[track_caller]
    pub fn le(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(self.0.le(&other.to_operand(self.0.tracer())))
    }

    /// Whether greater.
    #[track_caller]
    pub fn gt(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(other.to_operand(self.0.tracer()).lt(&self.0))
    }

    /// Whether greater or equal.
    #[track_caller]
    pub fn ge(&self, other: impl Operand<Self>) -> Bit {
        Bit::from_value_unchecked(other.to_operand(self.0.tracer()).le(&self.0))
    }

    /// Absolute value.
    #[track_caller]
    pub fn abs(&self) -> Self {
        Fixed(self.0.abs())
    }

    /// From a whole number, wrapping.
    #[track_caller]
    pub fn from_int<const V: u16>(number: &Int<V>) -> Self {
        let wide = number.value().cast(Self::TYPE);
        Fixed(wide.shift_left(u64::from(F)))
    }

    /// Rounded down to a whole number.
    #[track_caller]
    pub fn floor<const V: u16>(&self) -> Int<V> {
        Int::from_value_unchecked(self.0.shift_right(u64::from(F)).cast(Int::<V>::TYPE))
    }

    /// The integer that is the number times `2^F`.
    pub fn scaled(&self) -> Int<W> {
        Int::from_value_unchecked(self.0.clone())
    }
}
