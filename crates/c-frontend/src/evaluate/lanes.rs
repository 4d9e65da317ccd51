//! Conditions of branches while iterations run together.

use std::rc::Rc;

use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;

impl OperationEvaluator {
    /// A condition that is the same in all lanes.
    pub(crate) fn uniform(&mut self, data: CellValue) -> Result<CellValue, ExecutionStop> {
        match &data {
            CellValue::Spread(values) if values.iter().all(|value| *value == values[0]) => {
                Ok(CellValue::Public(values[0]))
            }
            CellValue::Spread(values) if self.scope.dry_run.is_some() => {
                let same = values.iter().take_while(|value| **value == values[0]).count();
                if let Some(dry_run) = &mut self.scope.dry_run {
                    dry_run.same_branch = Some(same as u32);
                }
                Err(ExecutionStop::Abandon)
            }
            // Was a secret in the dry run, and turned out to be known.
            CellValue::Spread(values) => Ok(CellValue::Secret(self.emit.spread(1, values))),
            _ => Ok(data),
        }
    }

    /// A value that leads to the same block in all lanes, of a `switch`.
    pub(crate) fn uniform_case(
        &mut self,
        values: Rc<[u128]>,
        target: impl Fn(u128) -> u32,
    ) -> Result<CellValue, ExecutionStop> {
        let first = target(values[0]);
        let paths: Rc<[u128]> =
            values.iter().map(|value| u128::from(target(*value) != first)).collect();
        match paths.contains(&1) {
            false => Ok(CellValue::Public(values[0])),
            true if self.scope.dry_run.is_some() => self.uniform(CellValue::Spread(paths)),
            // As above; the widest that a case may have here.
            true => Ok(CellValue::Secret(self.emit.spread(64, &values))),
        }
    }
}
