//! Operations on floating-point numbers on values of the tracer.

use phineus_bytecode::ElementType;
use phineus_frontend::untyped::Value;

use crate::ir::float::{FloatOperation, FloatPredicate};

/// The recorded operation, whose result has `to` bits.
pub(crate) fn recorded(op: FloatOperation, to: u16, operands: &[&Value]) -> Value {
    let first = operands[0];
    match op {
        FloatOperation::Add => first.float_add(operands[1]),
        FloatOperation::Subtract => first.float_sub(operands[1]),
        FloatOperation::Multiply => first.float_mul(operands[1]),
        FloatOperation::Divide => first.float_div(operands[1]),
        FloatOperation::Minimum => first.float_min(operands[1]),
        FloatOperation::Maximum => first.float_max(operands[1]),
        FloatOperation::CopySign => first.float_copysign(operands[1]),
        FloatOperation::Negate => first.float_neg(),
        FloatOperation::Absolute => first.float_abs(),
        FloatOperation::SquareRoot => first.float_sqrt(),
        FloatOperation::Integral(rounding) => first.float_integral(rounding),
        FloatOperation::Compare(predicate) => compared(predicate, first, operands[1]),
        FloatOperation::IsOfClass(classes) => first.float_is_of_class(classes),
        FloatOperation::FromSigned => first.with_sign(true).float_from_integer(to),
        FloatOperation::FromUnsigned => first.with_sign(false).float_from_integer(to),
        FloatOperation::ToSigned => {
            first.float_to_integer(ElementType::signed(to)).with_sign(false)
        }
        FloatOperation::ToUnsigned => first.float_to_integer(ElementType::unsigned(to)),
        FloatOperation::ToWidth => first.float_to_width(to),
    }
}

/// The recorded comparison: of those that differ in all cases the complement.
fn compared(predicate: FloatPredicate, a: &Value, b: &Value) -> Value {
    let FloatPredicate { less, equal, greater, unordered } = predicate;
    if unordered {
        let opposite =
            FloatPredicate { less: !less, equal: !equal, greater: !greater, unordered: false };
        return compared(opposite, a, b).not();
    }
    match (less, equal, greater) {
        (false, false, false) => a.tracer().constant(ElementType::BIT, Default::default()),
        (false, true, false) => a.float_eq(b),
        (true, false, false) => a.float_lt(b),
        (true, true, false) => a.float_le(b),
        (false, false, true) => b.float_lt(a),
        (false, true, true) => b.float_le(a),
        (true, false, true) => a.float_is_unordered(b).or(&a.float_eq(b)).not(),
        (true, true, true) => a.float_is_unordered(b).not(),
    }
}
