//! Sums with constants are remembered: where a condition decides whether a constant is added, that is added or 0, without a
//! choice.

use std::rc::Rc;

use crate::data::CellValue;
use crate::emit::Emitter;

/// Sums of which this is remembered.
const KEPT: usize = 1 << 14;

impl Emitter {
    /// Remembers that `sum` is the sum of these, if one is a constant, and returns it.
    pub(crate) fn with_terms(&mut self, sum: CellValue, a: &CellValue, b: &CellValue) -> CellValue {
        let (base, constant) = match (a, b) {
            (base, CellValue::Public(constant)) | (CellValue::Public(constant), base) => {
                (base.clone(), *constant)
            }
            _ => return sum,
        };
        // A sum with 0 is the product that it is of, which may wait for others.
        if let (CellValue::Secret(value), true) = (&sum, constant != 0) {
            if self.sums.len() >= KEPT {
                self.sums.clear();
            }
            self.sums.insert(Rc::as_ptr(value), (value.clone(), base, constant));
        }
        sum
    }

    /// The constant that was added to what `is_base` says, if `data` is such a sum.
    pub(crate) fn added(
        &self,
        data: &CellValue,
        is_base: impl Fn(&CellValue) -> bool,
    ) -> Option<CellValue> {
        let CellValue::Secret(value) = data else { return None };
        let (_, base, constant) = self.sums.get(&Rc::as_ptr(value))?;
        is_base(base).then_some(CellValue::Public(*constant))
    }
}
