//! Operators of the typed values, written once.
//!
//! Each macro expects `Element`, `Operand`, `Sharing`, `Tracer` and `Bit` in scope where it is used,
//! and a tuple struct around a [`crate::Value`].

/// An operator of two values of one type.
macro_rules! operator {
    ([$($generics:tt)*] $type:ty, $trait:ident::$method:ident => $($operation:tt)+) => {
        impl<$($generics)* R: Operand<$type>> $trait<R> for $type {
            type Output = $type;

            #[track_caller]
            fn $method(self, other: R) -> $type {
                let other = other.to_operand(self.0.tracer());
                <$type>::from_value_unchecked(self.0.$($operation)+(&other))
            }
        }

        impl<$($generics)* R: Operand<$type>> $trait<R> for &$type {
            type Output = $type;

            #[track_caller]
            fn $method(self, other: R) -> $type {
                let other = other.to_operand(self.0.tracer());
                <$type>::from_value_unchecked(self.0.$($operation)+(&other))
            }
        }
    };
}

/// An operator of one value.
macro_rules! unary_operator {
    ([$($generics:tt)*] $type:ty, $trait:ident::$method:ident => $($operation:tt)+) => {
        impl<$($generics)*> $trait for $type {
            type Output = $type;

            #[track_caller]
            fn $method(self) -> $type {
                <$type>::from_value_unchecked(self.0.$($operation)+())
            }
        }

        impl<$($generics)*> $trait for &$type {
            type Output = $type;

            #[track_caller]
            fn $method(self) -> $type {
                <$type>::from_value_unchecked(self.0.$($operation)+())
            }
        }
    };
}

/// Methods of every secret type.
macro_rules! common {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $type {
            /// A public constant in one lane.
            #[track_caller]
            pub fn constant(tracer: &Tracer, value: impl Operand<Self>) -> Self {
                Self::from_value_unchecked(value.to_operand(tracer))
            }

            /// In arithmetic sharing, modulo two to its width: cheap sums and products, no more.
            #[track_caller]
            pub fn to_arith(&self) -> Self {
                self.to_sharing(Sharing::Arithmetic)
            }

            /// In Boolean sharing, computed on by GMW: a round for each level of a circuit.
            #[track_caller]
            pub fn to_gmw(&self) -> Self {
                self.to_sharing(Sharing::Boolean)
            }

            /// In garbled sharing, computed on by BMR: no rounds, more bytes.
            #[track_caller]
            pub fn to_bmr(&self) -> Self {
                self.to_sharing(Sharing::Garbled)
            }

            /// In a sharing; [`Sharing::Any`] leaves it as it is.
            #[track_caller]
            pub fn to_sharing(&self, sharing: Sharing) -> Self {
                Self::from_value_unchecked(self.0.to_sharing(sharing))
            }

            /// Whether equal.
            #[track_caller]
            pub fn eq(&self, other: impl Operand<Self>) -> Bit {
                Bit::from_value_unchecked(self.0.eq(&other.to_operand(self.0.tracer())))
            }

            /// Whether different.
            #[track_caller]
            pub fn ne(&self, other: impl Operand<Self>) -> Bit {
                Bit::from_value_unchecked(self.0.ne(&other.to_operand(self.0.tracer())))
            }

            /// Cut or extended to another type, by its sign if it is signed.
            #[track_caller]
            pub fn to<T: Element>(&self) -> T {
                T::from_value_unchecked(self.0.cast(T::TYPE))
            }

            /// The `lanes` lanes from lane `start` on.
            #[track_caller]
            pub fn slice(&self, start: u32, lanes: u32) -> Self {
                Self::from_value_unchecked(self.0.lane_slice(start, lanes))
            }

            /// These lanes, then those of `next`.
            #[track_caller]
            pub fn concat(&self, next: &Self) -> Self {
                Self::from_value_unchecked(self.0.lane_concat(&next.0))
            }

            /// The lanes in reverse order.
            #[track_caller]
            pub fn reverse(&self) -> Self {
                Self::from_value_unchecked(self.0.lane_reverse())
            }

            /// The lanes moved down by `amount`, the first ones to the end.
            #[track_caller]
            pub fn rotate(&self, amount: u32) -> Self {
                Self::from_value_unchecked(self.0.lane_rotate(amount))
            }

            /// All lanes, over and over, up to `lanes` lanes.
            #[track_caller]
            pub fn tile(&self, lanes: u32) -> Self {
                Self::from_value_unchecked(self.0.tile(lanes))
            }

            /// Each lane several times in a row, up to `lanes` lanes.
            #[track_caller]
            pub fn repeat(&self, lanes: u32) -> Self {
                Self::from_value_unchecked(self.0.repeat(lanes))
            }
        }
    };
}

pub(crate) use {common, operator, unary_operator};
