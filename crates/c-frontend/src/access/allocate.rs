//! Objects of variables, arrays and the heap.

use crate::access::MemoryModel;
use crate::data::CellValue;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::ir::IrOperand;
use crate::memory::object::OBJECT_BYTES_MAX;

impl OperationEvaluator {
    /// A size or count that is known when the program is planned.
    pub(super) fn size(
        &mut self,
        data: CellValue,
        what: &str,
    ) -> Result<Option<u128>, ExecutionStop> {
        match data {
            CellValue::Public(size) => Ok(Some(size)),
            CellValue::Poison => Ok(None),
            CellValue::Undefined => {
                self.error(format!("{what} is not set"), "set it first")?;
                Ok(None)
            }
            CellValue::Opened(_) => {
                let message = format!(
                    "{what} is known only while the program runs, and memory is planned before"
                );
                let remedy = "take the most that it can be, such as a PH_SIZE N, and let loops go \
                              up to `i < N && i < n`";
                self.error(message, remedy)?;
                Ok(None)
            }
            _ => {
                let message = format!("{what} depends on a secret");
                self.error(message, "use a public size, the largest there can be")?;
                Ok(None)
            }
        }
    }
}

impl MemoryModel {
    pub(crate) fn allocate(
        &mut self,
        frame: &mut Frame<'_>,
        name: &str,
        (bytes, granule): (u64, u8),
        count: IrOperand,
    ) -> Result<CellValue, ExecutionStop> {
        let Some(count) = self.values.size(frame.get(count), "the size of this array")? else {
            return Ok(CellValue::Poison);
        };
        let size = count.saturating_mul(u128::from(bytes));
        if size > OBJECT_BYTES_MAX {
            self.values.error("this array has 2 GiB or more", "use smaller parts")?;
            return Err(ExecutionStop::Fatal);
        }
        let object = self.memory.allocate(name, size as u64, granule);
        frame.objects.push(object);
        Ok(CellValue::Pointer(object, 0))
    }

    pub(crate) fn heap(
        &mut self,
        frame: &mut Frame<'_>,
        sizes: &[IrOperand],
        is_zeroed: bool,
    ) -> Result<CellValue, ExecutionStop> {
        let (mut size, mut granule) = (1u128, 1u8);
        for operand in sizes {
            let Some(own) = self.values.size(frame.get(*operand), "the size of this memory")?
            else {
                return Ok(CellValue::Poison);
            };
            size = size.saturating_mul(own);
        }
        if size > OBJECT_BYTES_MAX {
            self.values.error("this is 2 GiB or more", "use smaller parts")?;
            return Err(ExecutionStop::Fatal);
        }
        if size.is_multiple_of(8) {
            granule = 8;
        }
        let object = match is_zeroed {
            true => self.memory.allocate_zeroed("", size as u64, granule),
            false => self.memory.allocate("", size as u64, granule),
        };
        Ok(CellValue::Pointer(object, 0))
    }
}
