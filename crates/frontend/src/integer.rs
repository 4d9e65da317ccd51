//! [`UInt`], [`Int`] and [`Bit`]: secret integers with the ordinary operators.
//!
//! Operators take values, references and public integers. There is no `==`, `<` or `bool`: whether
//! a secret is true is itself secret. `x.lt(&y)` gives a [`Bit`], and [`Bit::select`] chooses.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use phineus_bytecode::{ElementType, Lane, Sharing};

use crate::element::{Element, Operand, integer};
use crate::operators::{common, operator, unary_operator};
use crate::tracer::Tracer;
use crate::value::Value;

/// A secret unsigned integer of `W` bits in each lane.
#[derive(Clone)]
pub struct UInt<const W: u16>(Value);

/// A secret signed integer of `W` bits in each lane.
#[derive(Clone)]
pub struct Int<const W: u16>(Value);

/// A secret bit in each lane.
///
/// It cannot be asked for its value, so a native `if` on it does not compile:
/// ```compile_fail
/// fn larger(a: phineus_frontend::U32, b: phineus_frontend::U32) -> phineus_frontend::U32 {
///     if a.gt(&b) { a } else { b }
/// }
/// ```
/// Nor is there a comparison that gives a `bool`:
/// ```compile_fail
/// fn larger(a: phineus_frontend::U32, b: phineus_frontend::U32) -> phineus_frontend::U32 {
///     if a > b { a } else { b }
/// }
/// ```
/// A choice computes both sides:
/// ```
/// fn larger(a: phineus_frontend::U32, b: phineus_frontend::U32) -> phineus_frontend::U32 {
///     a.gt(&b).select(a, b)
/// }
/// ```
#[derive(Clone)]
pub struct Bit(Value);

impl<const W: u16> Element for UInt<W> {
    const TYPE: ElementType = ElementType::unsigned(W);

    fn from_value_unchecked(value: Value) -> Self {
        UInt(value)
    }

    fn value(&self) -> &Value {
        &self.0
    }
}

impl<const W: u16> Element for Int<W> {
    const TYPE: ElementType = ElementType::signed(W);

    fn from_value_unchecked(value: Value) -> Self {
        Int(value)
    }

    fn value(&self) -> &Value {
        &self.0
    }
}

impl Element for Bit {
    const TYPE: ElementType = ElementType::BIT;

    fn from_value_unchecked(value: Value) -> Self {
        Bit(value)
    }

    fn value(&self) -> &Value {
        &self.0
    }
}

/// Public integers of type `$t` beside secret integers.
macro_rules! public_operand {
    ($($t:ty: $wide:ty),+) => {$(
        impl<const W: u16> Operand<UInt<W>> for $t {
            #[track_caller]
            #[allow(unused_comparisons)]
            fn to_operand(self, beside: &Tracer) -> Value {
                let magnitude = Lane::from((self as $wide).unsigned_abs());
                integer(beside, UInt::<W>::TYPE, magnitude, self < 0)
            }
        }

        impl<const W: u16> Operand<Int<W>> for $t {
            #[track_caller]
            #[allow(unused_comparisons)]
            fn to_operand(self, beside: &Tracer) -> Value {
                let magnitude = Lane::from((self as $wide).unsigned_abs());
                integer(beside, Int::<W>::TYPE, magnitude, self < 0)
            }
        }

        public_on_the_left!($t, Add::add, Sub::sub, Mul::mul, Div::div, Rem::rem,
            BitAnd::bitand, BitOr::bitor, BitXor::bitxor);
    )+};
}

macro_rules! public_on_the_left {
    ($t:ty, $($trait:ident::$method:ident),+) => {$(
        public_on_the_left!(@one $t, $trait::$method, UInt);
        public_on_the_left!(@one $t, $trait::$method, Int);
    )+};
    (@one $t:ty, $trait:ident::$method:ident, $type:ident) => {
        impl<const W: u16> $trait<$type<W>> for $t {
            type Output = $type<W>;

            #[track_caller]
            fn $method(self, other: $type<W>) -> $type<W> {
                let left = Operand::<$type<W>>::to_operand(self, other.0.tracer());
                $trait::$method($type::<W>(left), other)
            }
        }

        impl<const W: u16> $trait<&$type<W>> for $t {
            type Output = $type<W>;

            #[track_caller]
            fn $method(self, other: &$type<W>) -> $type<W> {
                let left = Operand::<$type<W>>::to_operand(self, other.0.tracer());
                $trait::$method($type::<W>(left), other)
            }
        }
    };
}

macro_rules! shifts {
    ($type:ident, $($trait:ident::$method:ident => $operation:ident),+) => {$(
        impl<const W: u16> $trait<usize> for $type<W> {
            type Output = $type<W>;

            #[track_caller]
            fn $method(self, amount: usize) -> $type<W> {
                $type(self.0.$operation(amount as u64))
            }
        }

        impl<const W: u16> $trait<usize> for &$type<W> {
            type Output = $type<W>;

            #[track_caller]
            fn $method(self, amount: usize) -> $type<W> {
                $type(self.0.$operation(amount as u64))
            }
        }
    )+};
}

macro_rules! integers {
    ($($type:ident),+) => {$(
        operator!([const W: u16,] $type<W>, Add::add => add);
        operator!([const W: u16,] $type<W>, Sub::sub => sub);
        operator!([const W: u16,] $type<W>, Mul::mul => mul);
        operator!([const W: u16,] $type<W>, Div::div => div);
        operator!([const W: u16,] $type<W>, Rem::rem => rem);
        operator!([const W: u16,] $type<W>, BitAnd::bitand => and);
        operator!([const W: u16,] $type<W>, BitOr::bitor => or);
        operator!([const W: u16,] $type<W>, BitXor::bitxor => xor);
        unary_operator!([const W: u16] $type<W>, Not::not => not);
        unary_operator!([const W: u16] $type<W>, Neg::neg => neg);
        shifts!($type, Shl::shl => shift_left, Shr::shr => shift_right);

        impl<const W: u16> $type<W> {
            /// Whether less.
            #[track_caller]
            pub fn lt(&self, other: impl Operand<Self>) -> Bit {
                Bit(self.0.lt(&other.to_operand(self.0.tracer())))
            }

            /// Whether less or equal.
            #[track_caller]
            pub fn le(&self, other: impl Operand<Self>) -> Bit {
                Bit(self.0.le(&other.to_operand(self.0.tracer())))
            }

            /// Whether greater.
            #[track_caller]
            pub fn gt(&self, other: impl Operand<Self>) -> Bit {
                Bit(other.to_operand(self.0.tracer()).lt(&self.0))
            }

            /// Whether greater or equal.
            #[track_caller]
            pub fn ge(&self, other: impl Operand<Self>) -> Bit {
                Bit(other.to_operand(self.0.tracer()).le(&self.0))
            }

            /// The smaller.
            #[track_caller]
            pub fn min(&self, other: impl Operand<Self>) -> Self {
                $type(self.0.min(&other.to_operand(self.0.tracer())))
            }

            /// The larger.
            #[track_caller]
            pub fn max(&self, other: impl Operand<Self>) -> Self {
                $type(self.0.max(&other.to_operand(self.0.tracer())))
            }

            /// Quotient, rounded towards zero, and remainder, at the price of one.
            #[track_caller]
            pub fn div_rem(&self, other: impl Operand<Self>) -> (Self, Self) {
                let (div, rem) = self.0.div_rem(&other.to_operand(self.0.tracer()));
                ($type(div), $type(rem))
            }

            /// The whole product; `D` must be twice `W`.
            #[track_caller]
            pub fn full_mul<const D: u16>(&self, other: impl Operand<Self>) -> $type<D> {
                const { assert!(D == 2 * W, "a full product has twice the width") };
                $type(self.0.mul_full(&other.to_operand(self.0.tracer())))
            }

            /// Shifted left by a secret amount.
            #[track_caller]
            pub fn shl_by<const A: u16>(&self, amount: &UInt<A>) -> Self {
                $type(self.0.shift_left_by(&amount.0))
            }

            /// Shifted right by a secret amount, copying the sign if signed.
            #[track_caller]
            pub fn shr_by<const A: u16>(&self, amount: &UInt<A>) -> Self {
                $type(self.0.shift_right_by(&amount.0))
            }

            /// Rotated left by a secret amount.
            #[track_caller]
            pub fn rotate_left_by<const A: u16>(&self, amount: &UInt<A>) -> Self {
                $type(self.0.rotate_left_by(&amount.0))
            }

            /// Rotated left by a public amount.
            #[track_caller]
            pub fn rotate_left(&self, amount: usize) -> Self {
                $type(self.0.rotate_left(amount as u64))
            }

            /// How many bits are 1, as an integer of any width.
            #[track_caller]
            pub fn popcount<const R: u16>(&self) -> UInt<R> {
                UInt(self.0.popcount(R))
            }

            /// How many bits are 0 before the highest 1.
            #[track_caller]
            pub fn leading_zeros<const R: u16>(&self) -> UInt<R> {
                UInt(self.0.leading_zeros(R))
            }

            /// Bit `index`, counted from the lowest.
            #[track_caller]
            pub fn bit(&self, index: u16) -> Bit {
                Bit(self.0.bit_slice(index, 1))
            }

            /// The `R` bits from bit `start` on.
            #[track_caller]
            pub fn bits<const R: u16>(&self, start: u16) -> UInt<R> {
                UInt(self.0.bit_slice(start, R))
            }

            /// Whether any bit is 1.
            #[track_caller]
            pub fn any_bit(&self) -> Bit {
                Bit(self.0.any_bit())
            }

            /// Whether all bits are 1.
            #[track_caller]
            pub fn all_bits(&self) -> Bit {
                Bit(self.0.all_bits())
            }
        }
    )+};
}

integers!(UInt, Int);
common!([const W: u16] UInt<W>);
common!([const W: u16] Int<W>);
common!([] Bit);
public_operand!(u8: i128, u16: i128, u32: i128, u64: i128, usize: i128, i8: i128, i16: i128,
    i32: i128, i64: i128, i128: i128);
operator!([] Bit, BitAnd::bitand => and);
operator!([] Bit, BitOr::bitor => or);
operator!([] Bit, BitXor::bitxor => xor);
unary_operator!([] Bit, Not::not => not);

impl Operand<Bit> for bool {
    fn to_operand(self, beside: &Tracer) -> Value {
        Value::known(beside, ElementType::BIT, 1, Lane::from(u8::from(self)))
    }
}

impl<const W: u16> Operand<UInt<W>> for u128 {
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        integer(beside, UInt::<W>::TYPE, Lane::from(self), false)
    }
}

impl<const W: u16> Operand<UInt<W>> for Lane {
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value {
        integer(beside, UInt::<W>::TYPE, self, false)
    }
}

impl<const W: u16> Int<W> {
    /// Absolute value; that of the smallest integer is itself.
    #[track_caller]
    pub fn abs(&self) -> Self {
        Int(self.0.abs())
    }

    /// Whether negative: its sign bit.
    #[track_caller]
    pub fn is_negative(&self) -> Bit {
        Bit(self.0.bit_slice(W - 1, 1))
    }

    /// The sum of all lanes, wrapping in `R` bits.
    #[track_caller]
    pub fn sum<const R: u16>(&self) -> Int<R> {
        Int(self.0.lane_sum(Int::<R>::TYPE))
    }
}

impl<const W: u16> UInt<W> {
    /// The sum of all lanes, wrapping in `R` bits.
    #[track_caller]
    pub fn sum<const R: u16>(&self) -> UInt<R> {
        UInt(self.0.lane_sum(UInt::<R>::TYPE))
    }
}

impl Bit {
    /// Where this bit is 1 the first, else the second. Both are computed.
    #[track_caller]
    pub fn select<T: Element>(&self, when_one: impl Operand<T>, when_zero: impl Operand<T>) -> T {
        let tracer = self.0.tracer();
        let (a, b) = (when_one.to_operand(tracer), when_zero.to_operand(tracer));
        T::from_value_unchecked(self.0.select(&a, &b))
    }

    /// Both, exchanged where this bit is 1: half the price of two choices.
    #[track_caller]
    pub fn swap<T: Element>(&self, first: &T, second: &T) -> (T, T) {
        let (a, b) = self.0.swap(first.value(), second.value());
        (T::from_value_unchecked(a), T::from_value_unchecked(b))
    }

    /// The value where this bit is 1, else 0.
    #[track_caller]
    pub fn mask<T: Element>(&self, value: &T) -> T {
        T::from_value_unchecked(self.0.mask(value.value()))
    }

    /// How many lanes are 1.
    #[track_caller]
    pub fn count<const R: u16>(&self) -> UInt<R> {
        UInt(self.0.lane_sum(UInt::<R>::TYPE))
    }

    /// Whether all lanes are 1.
    #[track_caller]
    pub fn all(&self) -> Bit {
        Bit(self.0.lane_and())
    }

    /// Whether any lane is 1.
    #[track_caller]
    pub fn any(&self) -> Bit {
        Bit(self.0.lane_or())
    }
}

/// The second where the bit is 1, else the third. Both are computed.
#[track_caller]
pub fn select<T: Element>(bit: &Bit, when_one: impl Operand<T>, when_zero: impl Operand<T>) -> T {
    bit.select(when_one, when_zero)
}

macro_rules! aliases {
    ($($(#[doc = $doc:literal])+ $name:ident = $type:ty;)+) => {
        $($(#[doc = $doc])+ pub type $name = $type;)+
    };
}

aliases! {
    /// A secret unsigned integer of 8 bits.
    U8 = UInt<8>;
    /// A secret unsigned integer of 16 bits.
    U16 = UInt<16>;
    /// A secret unsigned integer of 32 bits.
    U32 = UInt<32>;
    /// A secret unsigned integer of 64 bits.
    U64 = UInt<64>;
    /// A secret unsigned integer of 128 bits.
    U128 = UInt<128>;
    /// A secret unsigned integer of 256 bits.
    U256 = UInt<256>;
    /// A secret signed integer of 8 bits.
    I8 = Int<8>;
    /// A secret signed integer of 16 bits.
    I16 = Int<16>;
    /// A secret signed integer of 32 bits.
    I32 = Int<32>;
    /// A secret signed integer of 64 bits.
    I64 = Int<64>;
    /// A secret signed integer of 128 bits.
    I128 = Int<128>;
}
