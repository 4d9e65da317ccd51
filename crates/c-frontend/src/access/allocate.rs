//! Objects of variables, arrays and the heap.

use crate::access::MemoryModel;
use crate::data::Data;
use crate::evaluate::Evaluator;
use crate::evaluate::report::Stop;
use crate::frame::Frame;
use crate::ir::Operand;
use crate::memory::object::OBJECT_BYTES_MAX;

impl Evaluator {
    /// A size or count that is known when the program is planned.
    pub(super) fn size(&mut self, data: Data, what: &str) -> Result<Option<u128>, Stop> {
        match data {
            Data::Public(size) => Ok(Some(size)),
            Data::Poison => Ok(None),
            Data::Undefined => {
                self.error(format!("{what} is not set"), "set it first")?;
                Ok(None)
            }
            Data::Opened(_) => {
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
        count: Operand,
    ) -> Result<Data, Stop> {
        let Some(count) = self.values.size(frame.get(count), "the size of this array")? else {
            return Ok(Data::Poison);
        };
        let size = count.saturating_mul(u128::from(bytes));
        if size > OBJECT_BYTES_MAX {
            self.values.error("this array has 2 GiB or more", "use smaller parts")?;
            return Err(Stop::Fatal);
        }
        let object = self.memory.allocate(name, size as u64, granule);
        frame.objects.push(object);
        Ok(Data::Pointer(object, 0))
    }

    pub(crate) fn heap(
        &mut self,
        frame: &mut Frame<'_>,
        sizes: &[Operand],
        is_zeroed: bool,
    ) -> Result<Data, Stop> {
        let (mut size, mut granule) = (1u128, 1u8);
        for operand in sizes {
            let Some(own) = self.values.size(frame.get(*operand), "the size of this memory")?
            else {
                return Ok(Data::Poison);
            };
            size = size.saturating_mul(own);
        }
        if size > OBJECT_BYTES_MAX {
            self.values.error("this is 2 GiB or more", "use smaller parts")?;
            return Err(Stop::Fatal);
        }
        if size.is_multiple_of(8) {
            granule = 8;
        }
        let object = match is_zeroed {
            true => self.memory.allocate_zeroed("", size as u64, granule),
            false => self.memory.allocate("", size as u64, granule),
        };
        Ok(Data::Pointer(object, 0))
    }
}
