//! Operations on values of the tracer: LLVM's, in terms of the bytecode's.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::untyped::Value;

use crate::data::mask;
use crate::ir::{Binary, Compare};

pub(crate) fn record_binary(op: Binary, x: &Value, y: &Value) -> Value {
    let width = x.width();
    let (sx, sy) = (x.with_sign(true), y.with_sign(true));
    let amount = || y.bit_slice(0, log2(width));
    let wide = |is_signed| ElementType::integer(width + 1, is_signed);
    let saturated = |exact: Value| {
        let constant = |value: Lane| x.tracer().constant(wide(true), value);
        let all = (Lane::ONE << usize::from(width + 1)) - Lane::ONE;
        let high = (Lane::ONE << usize::from(width - 1)) - Lane::ONE;
        let low = all - high;
        exact.min(&constant(high)).max(&constant(low)).bit_slice(0, width)
    };
    match op {
        Binary::Add => x.add(y),
        Binary::Sub => x.sub(y),
        Binary::Mul => product(x, y),
        Binary::UDiv => x.div(y),
        Binary::URem => x.rem(y),
        Binary::SDiv => sx.div(&sy).with_sign(false),
        Binary::SRem => sx.rem(&sy).with_sign(false),
        Binary::Shl => x.shift_left_by(&amount()),
        Binary::LShr => x.shift_right_by(&amount()),
        Binary::AShr => sx.shift_right_by(&amount()).with_sign(false),
        Binary::And => x.and(y),
        Binary::Or => x.or(y),
        Binary::Xor => x.xor(y),
        Binary::UMin => x.min(y),
        Binary::UMax => x.max(y),
        Binary::SMin => sx.min(&sy).with_sign(false),
        Binary::SMax => sx.max(&sy).with_sign(false),
        Binary::UAddSat => {
            let sum = x.cast(wide(false)).add(&y.cast(wide(false)));
            let all = x.tracer().constant(ElementType::unsigned(width), Lane::from(mask(width)));
            sum.bit_slice(width, 1).select(&all, &sum.bit_slice(0, width))
        }
        Binary::USubSat => y.le(x).mask(&x.sub(y)),
        Binary::SAddSat => saturated(sx.cast(wide(true)).add(&sy.cast(wide(true)))),
        Binary::SSubSat => saturated(sx.cast(wide(true)).sub(&sy.cast(wide(true)))),
    }
}

/// The recorded comparison.
pub(crate) fn compared(compare: Compare, x: &Value, y: &Value) -> Value {
    let (sx, sy) = (x.with_sign(true), y.with_sign(true));
    match compare {
        Compare::Eq => x.eq(y),
        Compare::Ne => x.ne(y),
        Compare::Ult => x.lt(y),
        Compare::Ule => x.le(y),
        Compare::Ugt => y.lt(x),
        Compare::Uge => y.le(x),
        Compare::Slt => sx.lt(&sy),
        Compare::Sle => sx.le(&sy),
        Compare::Sgt => sy.lt(&sx),
        Compare::Sge => sy.le(&sx),
    }
}

pub(crate) fn shift(op: Binary, value: &Value, amount: u64) -> Value {
    match op {
        Binary::Shl => value.shift_left(amount),
        Binary::LShr => value.shift_right(amount),
        _ => value.with_sign(true).shift_right(amount).with_sign(false),
    }
}

/// Bits that count up to `width - 1`.
pub(crate) fn log2(width: u16) -> u16 {
    (u16::BITS - (width - 1).leading_zeros()).max(1) as u16
}

/// The parts of `unit` bits in reverse order.
pub(crate) fn reversed(value: &Value, unit: u16) -> Value {
    let parts = (0..value.width() / unit).rev().map(|part| value.bit_slice(part * unit, unit));
    parts.reduce(|low, high| low.bit_concat(&high)).expect("a value has bits")
}

/// A product; of a vector with one factor for all lanes a matrix of one column by a vector, which
/// protocols on shares do for half the price of a product lane by lane.
fn product(x: &Value, y: &Value) -> Value {
    let (vector, factor) = if x.lanes() == 1 { (y, x) } else { (x, y) };
    let is_public = x.public().is_some() || y.public().is_some();
    if is_public || factor.lanes() != 1 || vector.lanes() == 1 {
        return x.mul(y);
    }
    vector.mat_vec(factor)
}
