//! `memcpy`, `memset`, and structures that are passed by value.

use crate::access::MemoryModel;
use crate::data::{CellValue, moved};
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::ir::{IrOperand, Type};

impl MemoryModel {
    pub(crate) fn copy(
        &mut self,
        frame: &Frame<'_>,
        operands: &[IrOperand; 3],
    ) -> Result<CellValue, ExecutionStop> {
        let [target, source, bytes] = operands.map(|operand| frame.get(operand));
        let Some(bytes) = self.values.size(bytes, "how much is copied here")? else {
            return Ok(CellValue::Poison);
        };
        let bytes = bytes.min(u128::from(u64::MAX)) as u64;
        let (CellValue::Pointer(to, at), CellValue::Pointer(from, start)) = (&target, &source)
        else {
            if matches!((&target, &source), (CellValue::Poison, _) | (_, CellValue::Poison)) {
                return Ok(CellValue::Poison);
            }
            if self.values.scope.lanes > 1 {
                return Err(ExecutionStop::Abandon);
            }
            return self.copy_indexed(target, source, bytes);
        };
        self.copy_bytes((*to, *at), (*from, *start), bytes)
    }

    fn copy_bytes(
        &mut self,
        (to, at): (u32, i64),
        (from, start): (u32, i64),
        bytes: u64,
    ) -> Result<CellValue, ExecutionStop> {
        for (object, offset) in [(to, at), (from, start)] {
            if let Err(error) = self.memory.check(object, offset, bytes) {
                return self.outside(object, offset, error);
            }
        }
        self.note_read(from, start, bytes)?;
        self.note_write(to, at, bytes)?;
        // All is read before anything is written: the two may overlap.
        let mut values = Vec::new();
        let mut offset = 0;
        while offset < bytes {
            let (data, size) = self.next_value(from, start as u64 + offset, bytes - offset)?;
            values.push((offset, data, size));
            offset += u64::from(size);
        }
        for (offset, data, size) in values {
            self.write(to, at as u64 + offset, size, &data)?;
        }
        Ok(CellValue::Undefined)
    }

    /// The function's own copy of a structure that is passed by value.
    pub(crate) fn copied(
        &mut self,
        frame: &mut Frame<'_>,
        parameter: usize,
        bytes: u64,
        granule: u8,
    ) -> Result<CellValue, ExecutionStop> {
        let source = frame.registers[parameter].clone();
        let CellValue::Pointer(from, start) = source else {
            return match source {
                CellValue::Places(..) => Err(ExecutionStop::Abandon),
                CellValue::Indexed(_) | CellValue::Chosen(_) => {
                    let object = self.memory.allocate("", bytes, granule);
                    frame.objects.push(object);
                    self.copy_indexed(CellValue::Pointer(object, 0), source, bytes)?;
                    Ok(CellValue::Pointer(object, 0))
                }
                other => Ok(other),
            };
        };
        let object = self.memory.allocate("", bytes, granule);
        frame.objects.push(object);
        self.copy_bytes((object, 0), (from, start), bytes)?;
        Ok(CellValue::Pointer(object, 0))
    }

    /// A copy between places of which a secret chooses one, in words that keep values whole.
    fn copy_indexed(
        &mut self,
        target: CellValue,
        source: CellValue,
        bytes: u64,
    ) -> Result<CellValue, ExecutionStop> {
        let whole = self.granule_of(&target).min(self.granule_of(&source));
        let words = words(whole, bytes);
        // All is read before anything is written: the two may overlap.
        let mut values = Vec::with_capacity(words.len());
        for (offset, word) in &words {
            values.push(self.load(word, moved(source.clone(), *offset))?);
        }
        for ((offset, word), data) in words.iter().zip(values) {
            self.store(word, data, moved(target.clone(), *offset))?;
        }
        Ok(CellValue::Undefined)
    }

    pub(crate) fn fill(
        &mut self,
        frame: &Frame<'_>,
        operands: &[IrOperand; 3],
    ) -> Result<CellValue, ExecutionStop> {
        let [target, byte, bytes] = operands.map(|operand| frame.get(operand));
        let Some(bytes) = self.values.size(bytes, "how much is set here")? else {
            return Ok(CellValue::Poison);
        };
        let bytes = bytes.min(u128::from(u64::MAX)) as u64;
        let CellValue::Pointer(object, start) = target else {
            return match target {
                CellValue::Poison => Ok(CellValue::Poison),
                CellValue::Places(..) => Err(ExecutionStop::Abandon),
                CellValue::Indexed(_) | CellValue::Chosen(_) => {
                    for (offset, word) in words(self.granule_of(&target), bytes) {
                        let data = self.values.repeated(&byte, word.size_bytes())?;
                        self.store(&word, data, moved(target.clone(), offset))?;
                    }
                    Ok(CellValue::Undefined)
                }
                _ => self
                    .values
                    .error("this sets memory through a null pointer", "point it to an object"),
            };
        };
        if let Err(error) = self.memory.check(object, start, bytes) {
            return self.outside(object, start, error);
        }
        self.note_write(object, start, bytes)?;
        let granule = self.memory.object(object).granule;
        let mut at = start as u64;
        let end = at + bytes;
        while at < end {
            let fits = |size: &u64| at.is_multiple_of(*size) && at + size <= end;
            let size = [granule, 8, 4, 2, 1].into_iter().find(fits).expect("a byte fits");
            let data = self.values.repeated(&byte, size)?;
            self.write(object, at, size as u8, &data)?;
            at += size;
        }
        Ok(CellValue::Undefined)
    }
}

/// Integers of at most `whole` bytes that fill a stretch of memory, with their offsets.
fn words(whole: u64, bytes: u64) -> Vec<(i64, Type)> {
    let (mut all, mut offset) = (Vec::new(), 0);
    while offset < bytes {
        let fits = |size: &u64| *size <= whole && offset + size <= bytes;
        let size = [16, 8, 4, 2, 1].into_iter().find(fits).expect("a byte is left");
        all.push((offset as i64, Type::Integer(size as u16 * 8)));
        offset += size;
    }
    all
}
