//! Operations on values of the tracer: LLVM's, in terms of the bytecode's.

use std::rc::Rc;

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::untyped::Value;

use crate::data::{CellValue, mask};
use crate::emit::Emitter;
use crate::emit::cache::KnownZeroBits;
use crate::ir::{Binary, Compare};

impl Emitter {
    /// Records an operation on secrets, in the cheapest form that is known of it.
    pub(crate) fn record_integers(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> CellValue {
        let greatest = self.greatest_of_binary(op, width, [a, b]);
        let result = self.record_in_cheapest_form(op, width, a, b);
        let result = if op == Binary::Add { self.with_terms(result, a, b) } else { result };
        self.with_greatest(result, width, greatest)
    }

    fn record_in_cheapest_form(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> CellValue {
        if matches!(op, Binary::Shl | Binary::LShr | Binary::AShr)
            && let Some(shifted) = self.shifted(op, width, a, b)
        {
            return shifted;
        }
        if matches!(op, Binary::Or | Binary::Xor | Binary::Add)
            && let Some(both) = self.side_by_side(width, a, b)
        {
            return both;
        }
        if op == Binary::Mul
            && let Some(product) = self.delayed_product(a, b)
        {
            return product;
        }
        let (x, y) = (self.value(a, width), self.value(b, width));
        let result = self.known(record_binary(op, &x, &y));
        let (of_a, of_b) = (self.zeros(a, width), self.zeros(b, width));
        let zeros = match op {
            Binary::And => {
                KnownZeroBits { low: of_a.low.max(of_b.low), high: of_a.high.max(of_b.high) }
            }
            Binary::URem => KnownZeroBits { low: 0, high: of_a.high.max(of_b.high) },
            Binary::UDiv => KnownZeroBits { low: 0, high: of_a.high },
            _ => KnownZeroBits::default(),
        };
        self.with_zeros(result, zeros)
    }

    /// Records a choice; where one side is 0, it is an AND with the condition.
    pub(crate) fn record_select(
        &mut self,
        condition: &CellValue,
        a: &CellValue,
        b: &CellValue,
        width: u16,
    ) -> CellValue {
        let condition = self.value(condition, 1);
        let (of_a, of_b) = (self.zeros(a, width), self.zeros(b, width));
        let zeros = KnownZeroBits { low: of_a.low.min(of_b.low), high: of_a.high.min(of_b.high) };
        let chosen = match (a, b) {
            (CellValue::Public(_), CellValue::Public(_)) => None,
            (a, CellValue::Public(0)) => Some((condition.clone(), self.value(a, width))),
            (CellValue::Public(0), b) => Some((Rc::new(condition.not()), self.value(b, width))),
            _ => None,
        };
        let chosen = match chosen {
            Some((bit, value)) if value.lanes() < bit.lanes() => bit.mask(&value.tile(bit.lanes())),
            Some((bit, value)) => bit.mask(&value),
            None => condition.select(&self.value(a, width), &self.value(b, width)),
        };
        let greatest = self.greatest(a, width).max(self.greatest(b, width));
        let chosen = self.known(chosen);
        let chosen = self.with_zeros(chosen, zeros);
        self.with_greatest(chosen, width, Some(greatest))
    }
}

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
