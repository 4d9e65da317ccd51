//! Operations on floating-point numbers: public ones are done, secret ones recorded.

use crate::data::{CellValue, float};
use crate::emit::float::recorded;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::float::FloatOperation;

impl OperationEvaluator {
    /// The operation on operands of `from` bits, whose result has `to`.
    pub(crate) fn float(
        &mut self,
        op: FloatOperation,
        from: u16,
        to: u16,
        operands: &[&CellValue],
    ) -> Result<CellValue, ExecutionStop> {
        let mut each =
            |evaluator: &mut Self, parts: &[&CellValue]| evaluator.float(op, from, to, parts);
        if let Some(results) = self.elements(operands, &mut each) {
            return results;
        }
        for operand in operands {
            if let Some(unfit) = self.unfit(operand) {
                return unfit;
            }
        }
        let public: Option<Vec<u128>> = (operands.iter())
            .map(|operand| match operand {
                CellValue::Public(value) => Some(*value),
                _ => None,
            })
            .collect();
        if let Some(public) = public {
            return Ok(CellValue::Public(self.public_float(op, from, to, &public)));
        }
        if let Some(spread) = self.by_lane(operands, |v| self.public_float(op, from, to, v)) {
            return Ok(spread);
        }
        if let Some(dry_run) = &mut self.scope.dry_run {
            return Ok(dry_run.hidden(from.max(to)));
        }
        let values: Vec<_> =
            operands.iter().map(|operand| self.emit.value(operand, from)).collect();
        let values: Vec<_> = values.iter().map(|value| &**value).collect();
        Ok(self.emit.known(recorded(op, to, &values)))
    }

    fn public_float(&self, op: FloatOperation, from: u16, to: u16, operands: &[u128]) -> u128 {
        float::public(op, from, to, operands).unwrap_or_else(|| {
            // Of constants nothing is recorded.
            let values: Vec<_> =
                operands.iter().map(|operand| self.emit.constant_value(from, *operand)).collect();
            let result = recorded(op, to, &values.iter().collect::<Vec<_>>()).public();
            u128::try_from(result.expect("constants give constants")).expect("it has few bits")
        })
    }
}
