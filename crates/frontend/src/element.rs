//! [`Element`]: types of secrets, and the operands that an operator accepts on its right.

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{ElementType, Encoding, Lane};

use crate::tracer::Tracer;
use crate::value::Value;

/// A type of secret values.
pub trait Element: Clone {
    /// The type in the computation.
    const TYPE: ElementType;

    /// How it is written in tables.
    const ENCODING: Encoding = Encoding::Number;

    /// Takes a value of that type as it is.
    fn from_value_unchecked(value: Value) -> Self;

    /// The untyped value.
    fn value(&self) -> &Value;

    /// A value whose type is [`Element::TYPE`]; reports any other.
    #[track_caller]
    fn from_value(value: Value) -> Self {
        if value.integer() == Self::TYPE {
            return Self::from_value_unchecked(value);
        }
        let (found, wanted) = (value.integer(), Self::TYPE);
        value.tracer().fault(format!("expected a value of type {wanted}, got {found}"));
        Self::from_value_unchecked(Value::poisoned(value.tracer(), wanted, value.lanes()))
    }

    /// How many lanes it has.
    fn lanes(&self) -> u32 {
        self.value().lanes()
    }
}

/// Operand on the right of an operator: a value of the type, or a public integer.
pub trait Operand<T: Element> {
    /// The value; `beside` says who records it.
    #[track_caller]
    fn to_operand(self, beside: &Tracer) -> Value;
}

impl<T: Element> Operand<T> for T {
    fn to_operand(self, _: &Tracer) -> Value {
        self.value().clone()
    }
}

impl<T: Element> Operand<T> for &T {
    fn to_operand(self, _: &Tracer) -> Value {
        self.value().clone()
    }
}

/// `value` as a constant of type `element`; reports one that does not fit.
#[track_caller]
pub(crate) fn integer(
    tracer: &Tracer,
    element: ElementType,
    magnitude: Lane,
    negative: bool,
) -> Value {
    let width = usize::from(element.width());
    let fits = if element.is_signed() {
        let limit = Lane::ONE << (width - 1);
        magnitude < limit || (negative && magnitude == limit)
    } else {
        magnitude.bit_len() <= width && (!negative || magnitude.is_zero())
    };
    if !fits {
        let sign = if negative { "-" } else { "" };
        tracer.fault(format!("the constant {sign}{magnitude} does not fit {element}"));
        return Value::poisoned(tracer, element, 1);
    }
    let value =
        if negative { magnitude.wrapping_neg() & mask_of(element.width()) } else { magnitude };
    Value::known(tracer, element, 1, value)
}
