//! Sums with constants are remembered: where a condition decides whether a constant is added, that is added or 0, without a
//! choice.

use std::rc::Rc;

use crate::data::CellValue;
use crate::emit::Emitter;
use crate::emit::cache::WeakInteger;

/// Sums of which this is remembered.
const KEPT: usize = 1 << 14;

impl WeakInteger {
    fn of(data: &CellValue) -> Option<WeakInteger> {
        match data {
            CellValue::Secret(value) => Some(WeakInteger::Secret(Rc::downgrade(value))),
            CellValue::Lane(value, lane) => Some(WeakInteger::Lane(Rc::downgrade(value), *lane)),
            _ => None,
        }
    }

    fn upgrade(&self) -> Option<CellValue> {
        match self {
            WeakInteger::Secret(value) => value.upgrade().map(CellValue::Secret),
            WeakInteger::Lane(value, lane) => {
                value.upgrade().map(|value| CellValue::Lane(value, *lane))
            }
        }
    }
}

impl Emitter {
    /// Remembers that `sum` is the sum of these, if one is a constant, and returns it.
    pub(crate) fn with_terms(&mut self, sum: CellValue, a: &CellValue, b: &CellValue) -> CellValue {
        let (base, constant) = match (a, b) {
            (base, CellValue::Public(constant)) | (CellValue::Public(constant), base) => {
                (base, *constant)
            }
            _ => return sum,
        };
        if let (CellValue::Secret(value), Some(base)) = (&sum, WeakInteger::of(base)) {
            if self.sums.len() >= KEPT {
                self.sums.clear();
            }
            self.sums.insert(Rc::as_ptr(value), (Rc::downgrade(value), base, constant));
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
        let base = base.upgrade()?;
        is_base(&base).then_some(CellValue::Public(*constant))
    }
}
