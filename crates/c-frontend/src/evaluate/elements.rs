//! Operations on vectors, element by element, and on integers that differ between lanes.

use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;

/// The operation on one element of each operand.
type Apply<'a, M> = &'a mut dyn FnMut(&mut M, &[&CellValue]) -> Result<CellValue, ExecutionStop>;

impl OperationEvaluator {
    /// Applies to each element where one operand is a vector.
    pub(crate) fn elements(
        &mut self,
        operands: &[&CellValue],
        apply: Apply<'_, Self>,
    ) -> Option<Result<CellValue, ExecutionStop>> {
        let length = operands.iter().find_map(|data| match data {
            CellValue::Many(elements) => Some(elements.len()),
            _ => None,
        })?;
        let mut results = Vec::with_capacity(length);
        for index in 0..length {
            let parts: Vec<CellValue> = operands
                .iter()
                .map(|data| match data {
                    CellValue::Many(elements) => elements[index].clone(),
                    other => (*other).clone(),
                })
                .collect();
            let parts: Vec<&CellValue> = parts.iter().collect();
            match apply(self, &parts) {
                Ok(result) => results.push(result),
                Err(stop) => return Some(Err(stop)),
            }
        }
        Some(Ok(CellValue::Many(results.into())))
    }

    /// A public function of public operands that differ between lanes.
    pub(crate) fn by_lane(
        &self,
        operands: &[&CellValue],
        apply: impl Fn(&[u128]) -> u128,
    ) -> Option<CellValue> {
        let mut lanes = 1;
        for data in operands {
            match data {
                CellValue::Public(_) => {}
                CellValue::Spread(values) => lanes = values.len(),
                _ => return None,
            }
        }
        let at = |lane: usize| {
            let values: Vec<u128> = operands
                .iter()
                .map(|data| match data {
                    CellValue::Spread(values) => values[lane],
                    CellValue::Public(value) => *value,
                    _ => unreachable!("all are public"),
                })
                .collect();
            apply(&values)
        };
        Some(CellValue::Spread((0..lanes).map(at).collect()))
    }
}
