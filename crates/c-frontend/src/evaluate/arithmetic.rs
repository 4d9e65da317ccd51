//! Integer operations: public ones are done, secret ones recorded.

use crate::data::{CellValue, fold, is_address, mask};
use crate::emit::cache::KnownZeroBits;
use crate::emit::casts::cast;
use crate::emit::record::compared;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Compare, Unary};

const DIVIDES: &str = "this divides by zero: the divisor is public, and it is 0 here";

const NOT_ZERO: &str = "test it before with an `if`, or see which size or index makes it 0";

const UNSET: &str = "set it before it is used";

impl OperationEvaluator {
    /// The width of a secret; 64 of anything else.
    pub(crate) fn width_of(&self, data: &CellValue) -> u16 {
        match data {
            CellValue::Secret(value) | CellValue::Lane(value, _) => value.width(),
            _ => 64,
        }
    }

    /// Reports what stands where an integer is needed; `None` if it is one.
    pub(crate) fn unfit(&mut self, data: &CellValue) -> Option<Result<CellValue, ExecutionStop>> {
        Some(match data {
            CellValue::Poison => Ok(CellValue::Poison),
            CellValue::Undefined => self.error("this uses a value that is not set", UNSET),
            data if is_address(data) => {
                self.error("this computes with an address", "use indices instead of addresses")
            }
            CellValue::Function(_) => self.error("this computes with a function", "use integers"),
            _ => return None,
        })
    }

    pub(crate) fn binary(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        match (a, b) {
            (CellValue::Public(x), CellValue::Public(y)) => {
                return match fold::binary(op, width, *x, *y) {
                    Some(result) => Ok(CellValue::Public(result)),
                    None => self.error(DIVIDES, NOT_ZERO),
                };
            }
            (CellValue::Pointer(p, x), CellValue::Pointer(q, y)) if op == Binary::Sub && p == q => {
                return Ok(CellValue::Public((x - y) as u64 as u128 & mask(width)));
            }
            (CellValue::Pointer(p, x), CellValue::Public(y)) if op == Binary::Add => {
                return Ok(CellValue::Pointer(*p, x.wrapping_add(*y as i64)));
            }
            _ => {}
        }
        let mut each = |evaluator: &mut Self, parts: &[&CellValue]| {
            evaluator.binary(op, width, parts[0], parts[1])
        };
        if let Some(results) = self.elements(&[a, b], &mut each) {
            return results;
        }
        if let Some(found) = self.binary_chosen(op, width, a, b) {
            return found;
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let divides = matches!(op, Binary::UDiv | Binary::SDiv | Binary::URem | Binary::SRem);
        if divides && is_zero_somewhere(b) {
            return self.error(DIVIDES, NOT_ZERO);
        }
        if let Some(opened) = self.emit.opened_binary(op, width, a, b) {
            return Ok(opened);
        }
        let apply = |v: &[u128]| fold::binary(op, width, v[0], v[1]).unwrap_or_default();
        if let Some(spread) = self.by_lane(&[a, b], apply) {
            return Ok(spread);
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            let is_exact = matches!(op, Binary::UAddSat | Binary::SAddSat | Binary::SSubSat);
            return Ok(dry_run.hidden(width + u16::from(is_exact)));
        }
        Ok(self.emit.record_integers(op, width, a, b))
    }

    pub(crate) fn compare(
        &mut self,
        op: Compare,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        match (a, b) {
            (CellValue::Public(x), CellValue::Public(y)) => {
                return Ok(CellValue::bit(fold::compare(op, width, *x, *y)));
            }
            (CellValue::Pointer(p, x), CellValue::Pointer(q, y)) => {
                let (x, y) = if p == q { (*x, *y) } else { (0, 1) };
                if p == q || matches!(op, Compare::Eq | Compare::Ne) {
                    let (x, y) = (fold::place(x), fold::place(y));
                    return Ok(CellValue::bit(fold::compare(op, 64, x, y)));
                }
            }
            (CellValue::Pointer(..), CellValue::Public(0))
            | (CellValue::Public(0), CellValue::Pointer(..)) => {
                return Ok(CellValue::bit(op == Compare::Ne));
            }
            _ => {}
        }
        let mut each = |evaluator: &mut Self, parts: &[&CellValue]| {
            evaluator.compare(op, width, parts[0], parts[1])
        };
        if let Some(results) = self.elements(&[a, b], &mut each) {
            return results;
        }
        if let Some(found) = self.compare_chosen(op, a, b) {
            return found;
        }
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        if let Some(opened) = self.emit.opened_compare(op, width, a, b) {
            return Ok(opened);
        }
        let apply = |v: &[u128]| u128::from(fold::compare(op, width, v[0], v[1]));
        if let Some(spread) = self.by_lane(&[a, b], apply) {
            return Ok(spread);
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            return Ok(dry_run.hidden(width));
        }
        let (x, y) = (self.emit.value(a, width), self.emit.value(b, width));
        Ok(self.emit.known(compared(op, &x, &y)))
    }

    pub(crate) fn unary(
        &mut self,
        op: Unary,
        from: u16,
        to: u16,
        a: &CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        if let CellValue::Public(value) = a {
            return Ok(CellValue::Public(fold::unary(op, from, to, *value)));
        }
        if let CellValue::Undefined = a {
            return Ok(CellValue::Undefined);
        }
        let mut each =
            |evaluator: &mut Self, parts: &[&CellValue]| evaluator.unary(op, from, to, parts[0]);
        if let Some(results) = self.elements(&[a], &mut each) {
            return results;
        }
        if from == to && matches!(op, Unary::Truncate | Unary::ZeroExtend | Unary::SignExtend) {
            return Ok(a.clone());
        }
        if is_address(a) && op == Unary::Truncate && to >= 32 {
            // Of a difference of addresses, which LLVM makes one of narrower ones.
            return Ok(a.clone());
        }
        if let Some(unfit) = self.unfit(a) {
            return unfit;
        }
        if let Some(opened) = self.emit.opened_unary(op, from, to, a) {
            return Ok(opened);
        }
        if let Some(spread) = self.by_lane(&[a], |v| fold::unary(op, from, to, v[0])) {
            return Ok(spread);
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            return Ok(dry_run.hidden(from.max(to)));
        }
        let before = self.emit.zeros(a, from);
        let zeros = match op {
            Unary::ZeroExtend => KnownZeroBits { low: before.low, high: before.high + to - from },
            Unary::Truncate => KnownZeroBits {
                low: before.low.min(to),
                high: before.high.saturating_sub(from - to),
            },
            Unary::SignExtend if before.high > 0 => {
                KnownZeroBits { low: before.low, high: before.high + to - from }
            }
            _ => KnownZeroBits::default(),
        };
        let greatest = self.emit.greatest_of_unary(op, (from, to), a);
        if let Some(result) = self.emit.cast_once(op, to, a) {
            let result = self.emit.with_zeros(result, zeros);
            return Ok(self.emit.with_greatest(result, to, greatest));
        }
        let value = self.emit.value(a, from);
        let result = match op {
            Unary::Truncate | Unary::ZeroExtend | Unary::SignExtend => cast(op, to, &value),
            Unary::Abs => value.with_sign(true).abs().with_sign(false),
            Unary::PopCount => value.popcount(to),
            Unary::LeadingZeros => value.leading_zeros(to),
            Unary::TrailingZeros => {
                let ones = self.emit.constant_value(from, u128::MAX);
                value.not().and(&value.add(&ones)).popcount(to)
            }
            Unary::ByteSwap => value.reverse_pieces(8),
            Unary::BitReverse => value.reverse_pieces(1),
        };
        let result = self.emit.known(result);
        let result = self.emit.with_zeros(result, zeros);
        Ok(self.emit.with_greatest(result, to, greatest))
    }
}

fn is_zero_somewhere(data: &CellValue) -> bool {
    match data {
        CellValue::Public(value) => *value == 0,
        CellValue::Spread(values) => values.contains(&0),
        _ => false,
    }
}
