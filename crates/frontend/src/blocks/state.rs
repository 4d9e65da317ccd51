//! [`LoopState`]: values that a loop passes from iteration to iteration.

use crate::element::Element;
use crate::fixed::Fixed;
use crate::integer::{Bit, Int, UInt};
use crate::value::Value;
use crate::vector::Vector;

/// Something made of secret values, always of as many and of the same types.
pub trait LoopState {
    /// Appends its values.
    fn values(&self, values: &mut Vec<Value>);

    /// Returns a state of the same structure with other values.
    #[must_use]
    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Self
    where
        Self: Sized;

    /// Returns whether what is recorded for `other` is right for this state too, whatever its values are: a state with
    /// public parts compares them.
    fn is_like(&self, other: &Self) -> bool
    where
        Self: Sized,
    {
        let _ = other;
        true
    }
}

impl LoopState for () {
    fn values(&self, _: &mut Vec<Value>) {}

    fn rebuilt(&self, _: &mut dyn Iterator<Item = Value>) {}
}

impl LoopState for Value {
    fn values(&self, values: &mut Vec<Value>) {
        values.push(self.clone());
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Value {
        values.next().expect("there are as many values as before")
    }
}

macro_rules! element {
    ($([$($parameters:tt)*] $type:ty;)+) => {
        $(impl<$($parameters)*> LoopState for $type {
            fn values(&self, values: &mut Vec<Value>) {
                values.push(self.value().clone());
            }

            fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Self {
                Self::from_value_unchecked(self.value().rebuilt(values))
            }
        })+
    };
}

element! {
    [const W: u16] UInt<W>;
    [const W: u16] Int<W>;
    [const W: u16, const F: u16] Fixed<W, F>;
    [] Bit;
}

impl<T: Element> LoopState for Vector<T> {
    fn values(&self, values: &mut Vec<Value>) {
        values.extend_from_slice(self.chunks());
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Self {
        let chunks = self.chunks().iter().map(|chunk| chunk.rebuilt(values)).collect();
        Vector::from_parts(self.tracer(), chunks, self.chunk_lanes())
    }
}

impl<S: LoopState> LoopState for Vec<S> {
    fn values(&self, values: &mut Vec<Value>) {
        self.iter().for_each(|state| state.values(values));
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Self {
        self.iter().map(|state| state.rebuilt(values)).collect()
    }

    fn is_like(&self, other: &Self) -> bool {
        self.iter().zip(other).all(|(a, b)| a.is_like(b))
    }
}

impl<S: LoopState, const N: usize> LoopState for [S; N] {
    fn values(&self, values: &mut Vec<Value>) {
        self.iter().for_each(|state| state.values(values));
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Self {
        std::array::from_fn(|k| self[k].rebuilt(values))
    }

    fn is_like(&self, other: &Self) -> bool {
        self.iter().zip(other).all(|(a, b)| a.is_like(b))
    }
}

macro_rules! tuple {
    ($($name:ident $index:tt),+) => {
        impl<$($name: LoopState),+> LoopState for ($($name,)+) {
            fn values(&self, values: &mut Vec<Value>) {
                $(self.$index.values(values);)+
            }

            fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> Self {
                ($(self.$index.rebuilt(values),)+)
            }

            fn is_like(&self, other: &Self) -> bool {
                $(self.$index.is_like(&other.$index))&&+
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
