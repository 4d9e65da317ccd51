//! Parts of vectors and structures, and bytes put together to integers.

use crate::data::{CellValue, is_address};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::ir::{Binary, OperationKind, Unary};

impl OperationEvaluator {
    /// Parts of vectors and structures.
    pub(crate) fn rearrange(
        &mut self,
        frame: &Frame<'_>,
        kind: &OperationKind,
    ) -> Result<CellValue, ExecutionStop> {
        match kind {
            OperationKind::Extract(from, indices) => {
                let mut data = frame.get(*from);
                for index in indices {
                    data = match data {
                        CellValue::Many(elements) => elements[*index as usize].clone(),
                        other => other,
                    };
                }
                Ok(data)
            }
            OperationKind::Insert(into, element, indices) => {
                Ok(inserted(frame.get(*into), frame.get(*element), indices))
            }
            OperationKind::ExtractElement([vector, index]) => {
                let (vector, index) = (frame.get(*vector), frame.get(*index));
                self.element(vector, index)
            }
            OperationKind::InsertElement([vector, element, index]) => {
                let CellValue::Public(index) = frame.get(*index) else {
                    return self.error("a secret index into a vector", "use an array");
                };
                Ok(inserted(frame.get(*vector), frame.get(*element), &[index as u32]))
            }
            OperationKind::Shuffle([a, b], mask) => {
                Ok(shuffled(frame.get(*a), frame.get(*b), mask))
            }
            _ => unreachable!("all other kinds were done"),
        }
    }

    fn element(&mut self, vector: CellValue, index: CellValue) -> Result<CellValue, ExecutionStop> {
        match (vector, index) {
            (CellValue::Many(elements), CellValue::Public(index)) => {
                Ok(elements.get(index as usize).cloned().unwrap_or(CellValue::Undefined))
            }
            (CellValue::Undefined, _) => Ok(CellValue::Undefined),
            _ => self.error("a secret index into a vector", "use an array"),
        }
    }

    /// The bytes from `offset` on out of values that overlap them; those that are not set are 0, as
    /// long as one is set.
    pub(crate) fn join(
        &mut self,
        parts: Vec<(CellValue, i64, u8)>,
        offset: u64,
        bytes: u8,
    ) -> Result<CellValue, ExecutionStop> {
        let all = u16::from(bytes) * 8;
        let mut joined: Option<CellValue> = None;
        for (data, begin, size) in parts {
            if matches!(data, CellValue::Undefined) {
                continue;
            }
            let width = u16::from(size) * 8;
            let shift = (offset as i64 - begin) * 8;
            if (shift, width) != (0, all)
                && (is_address(&data) || matches!(data, CellValue::Function(_)))
            {
                let remedy = "copy a pointer whole, with `=` or memcpy, and keep numbers elsewhere";
                return self.error("this takes an address apart", remedy);
            }
            let data = if shift > 0 {
                let amount = CellValue::Public(shift as u128);
                self.binary(Binary::LShr, width, &data, &amount)?
            } else {
                data
            };
            let resized = if width > all { Unary::Truncate } else { Unary::ZeroExtend };
            let data = self.unary(resized, width, all, &data)?;
            let data = match shift {
                0.. => data,
                _ => {
                    let amount = CellValue::Public((-shift) as u128);
                    self.binary(Binary::Shl, all, &data, &amount)?
                }
            };
            joined = Some(match joined {
                None => data,
                Some(low) => self.binary(Binary::Or, all, &low, &data)?,
            });
        }
        Ok(joined.unwrap_or(CellValue::Undefined))
    }

    /// A byte, `size` times.
    pub(crate) fn repeated(
        &mut self,
        byte: &CellValue,
        size: u64,
    ) -> Result<CellValue, ExecutionStop> {
        use Binary;
        let width = size as u16 * 8;
        let ones = (0..size).fold(0u128, |all, k| all | 1 << (8 * k));
        let wide = self.unary(Unary::ZeroExtend, 8, width, byte)?;
        self.binary(Binary::Mul, width, &wide, &CellValue::Public(ones))
    }
}

fn inserted(into: CellValue, element: CellValue, indices: &[u32]) -> CellValue {
    let Some((first, rest)) = indices.split_first() else { return element };
    let first = *first as usize;
    let mut elements = match into {
        CellValue::Many(elements) => elements.to_vec(),
        _ => Vec::new(),
    };
    if elements.len() <= first {
        elements.resize(first + 1, CellValue::Undefined);
    }
    elements[first] = inserted(elements[first].clone(), element, rest);
    CellValue::Many(elements.into())
}

fn shuffled(a: CellValue, b: CellValue, mask: &[i32]) -> CellValue {
    let parts = |data: CellValue| match data {
        CellValue::Many(elements) => elements.to_vec(),
        _ => Vec::new(),
    };
    let (a, b) = (parts(a), parts(b));
    let length = a.len().max(b.len());
    let pick = |index: &i32| {
        let found = usize::try_from(*index)
            .ok()
            .and_then(|index| if index < length { a.get(index) } else { b.get(index - length) });
        found.cloned().unwrap_or(CellValue::Undefined)
    };
    CellValue::Many(mask.iter().map(pick).collect())
}
