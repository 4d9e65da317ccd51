//! Operations of two results or of twice the width.

use phineus_bytecode::ElementType;

use crate::data::{CellValue, fold};
use crate::emit::record::log2;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::Binary;

impl OperationEvaluator {
    /// The low and high half of a double width shift.
    pub(crate) fn funnel(
        &mut self,
        left: bool,
        width: u16,
        operands: [&CellValue; 3],
    ) -> Result<CellValue, ExecutionStop> {
        let mut each = |evaluator: &mut Self, p: &[&CellValue]| {
            evaluator.funnel(left, width, [p[0], p[1], p[2]])
        };
        if let Some(results) = self.elements(&operands, &mut each) {
            return results;
        }
        for data in operands {
            if let Some(unfit) = self.unfit(data) {
                return unfit;
            }
        }
        let [high, low, amount] = operands;
        if let (CellValue::Public(h), CellValue::Public(l), CellValue::Public(s)) =
            (high, low, amount)
        {
            return Ok(CellValue::Public(fold::funnel(left, width, *h, *l, *s)));
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            return Ok(dry_run.hidden(2 * width));
        }
        let (h, l) = (self.emit.value(high, width), self.emit.value(low, width));
        let result = match amount {
            CellValue::Public(amount) => {
                let amount = (*amount % u128::from(width)) as u16;
                // Left by a is right by width - a, but for 0.
                let start = match (left, amount) {
                    (true, amount) => width - amount,
                    (false, amount) => amount,
                };
                l.bit_concat(&h).bit_slice(start, width)
            }
            _ => {
                let amount = self.emit.value(amount, width).bit_slice(0, log2(width));
                let both = l.bit_concat(&h);
                if left {
                    both.shift_left_by(&amount).bit_slice(width, width)
                } else {
                    both.shift_right_by(&amount).bit_slice(0, width)
                }
            }
        };
        Ok(self.emit.known(result))
    }

    /// The wrapped result of a sum, difference or product and whether it wrapped.
    pub(crate) fn overflow(
        &mut self,
        op: Binary,
        is_signed: bool,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        if let Some(unfit) = self.unfit(a).or_else(|| self.unfit(b)) {
            return unfit;
        }
        let pair = |a, b| Ok(CellValue::Many([a, b].into()));
        if let (CellValue::Public(x), CellValue::Public(y)) = (a, b) {
            let (result, wrapped) = fold::overflow(op, is_signed, width, *x, *y);
            return pair(CellValue::Public(result), CellValue::bit(wrapped));
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            let hidden = dry_run.hidden(2 * width);
            return pair(hidden.clone(), hidden);
        }
        let wide =
            ElementType::integer(if op == Binary::Mul { 2 * width } else { width + 1 }, is_signed);
        let x = self.emit.value(a, width).with_sign(is_signed);
        let y = self.emit.value(b, width).with_sign(is_signed);
        let exact = match op {
            Binary::Mul => x.mul_full(&y),
            Binary::Add => x.cast(wide).add(&y.cast(wide)),
            _ => x.cast(wide).sub(&y.cast(wide)),
        };
        let result = exact.bit_slice(0, width);
        let again = result.with_sign(is_signed).cast(wide).with_sign(false);
        let wrapped = again.ne(&exact.with_sign(false));
        pair(self.emit.known(result), self.emit.known(wrapped))
    }
}
