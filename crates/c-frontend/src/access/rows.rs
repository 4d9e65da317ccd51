//! Cells that are rows of a memory (`oblivious.rs`).
//!
//! The known value of a row holds on every path of the program, since accesses are recorded whichever path is taken. The
//! value of a cell holds only on the path at hand.

use crate::access::MemoryModel;
use crate::access::oblivious::{Elements, MADE_MAX};
use crate::data::{CellValue, is_single_integer, zero_if_unset};
use crate::evaluate::report::ExecutionStop;
use crate::memory::LoadResult;
use crate::memory::object::ObjectStorage;

/// Work on an element before the next access at a secret index.
enum Missing {
    /// The memory has it, and the cell does not say so.
    Cell(u64),
    Row(u64, CellValue),
}

impl MemoryModel {
    /// The memory and the row that a cell is, if it is one.
    pub(super) fn row_at(&self, object: u32, at: u64, bytes: u64) -> Option<(u32, u32)> {
        match &self.memory.object(object).storage {
            ObjectStorage::Table(_) => None,
            ObjectStorage::Cells(_) => match self.memory.find(object, at, bytes as u8) {
                LoadResult::Whole(CellValue::Row(memory, row)) => Some((memory, row)),
                LoadResult::Whole(_) | LoadResult::Parts(_) | LoadResult::Unread(..) => None,
            },
        }
    }

    /// The value of a cell, which is read from the memory if the cell is a row.
    pub(crate) fn stored(&mut self, data: CellValue) -> CellValue {
        let CellValue::Row(memory, row) = data else { return data };
        if self.values.scope.dry_run.is_some() {
            return CellValue::Hidden;
        }
        let access = self.public_access(memory, row.into());
        self.read_row(&access)
    }

    /// Brings elements into a memory that were written since the last access at a secret index, or all of them into a new
    /// one. Returns which it is, or nothing if the array is scanned from now on.
    pub(super) fn bring_in(&mut self, memory: u32) -> Result<Option<u32>, ExecutionStop> {
        let elements = self.array_memories.all[memory as usize].elements;
        let Elements { object, count, .. } = elements;
        if self.memory.object(object).version == self.array_memories.all[memory as usize].version {
            return Ok(Some(memory));
        }
        let Some(missing) = self.missing(memory)? else {
            self.memory.object_mut(object).memories_made = MADE_MAX + 1;
            return Ok(None);
        };
        let has_rows = self.array_memories.all[memory as usize].has_rows;
        let changed = missing.iter().filter(|one| matches!(one, Missing::Row(..))).count() as u64;
        // About what it costs to begin a memory again, in accesses.
        let most = (count * u64::from(count.ilog2())).isqrt();
        if changed > most && (!has_rows || missing.len() as u64 == count) {
            self.array_memories.all[memory as usize].has_rows = false;
            return self.make_memory(elements);
        }
        // As long as no cell is a row, no path relies on what the memory has.
        let condition = if has_rows { self.values.path_condition()? } else { CellValue::bit(true) };
        for one in missing {
            let row = match one {
                Missing::Cell(row) => row,
                Missing::Row(row, data) => {
                    let access = self.public_access(memory, row);
                    self.write_row(&access, &data, &condition)?;
                    row
                }
            };
            if has_rows {
                self.make_row(elements, memory, row)?;
            }
        }
        self.array_memories.all[memory as usize].version = self.memory.object(object).version;
        Ok(Some(memory))
    }

    /// The elements that are not in the memory; nothing if one of them cannot be.
    fn missing(&mut self, memory: u32) -> Result<Option<Vec<Missing>>, ExecutionStop> {
        let elements = self.array_memories.all[memory as usize].elements;
        let Elements { object, bytes, .. } = elements;
        let mut missing = Vec::new();
        for row in 0..elements.count {
            let at = elements.place(row);
            if self.memory.check(object, at, bytes).is_err() {
                return Ok(None);
            }
            match self.row_at(object, at as u64, bytes) {
                Some(own) if own == (memory, row as u32) => continue,
                Some(_) => return Ok(None),
                None => {}
            }
            let mut cell = self.read(object, at as u64, bytes as u8)?;
            zero_if_unset(&mut cell);
            let one = &self.array_memories.all[memory as usize];
            let is_known = one.known.get(&row).is_some_and(|known| known.is_same(&cell));
            match (is_known, one.has_rows) {
                (true, true) => missing.push(Missing::Cell(row)),
                (true, false) => {}
                (false, _) if is_single_integer(&cell) => missing.push(Missing::Row(row, cell)),
                (false, _) => return Ok(None),
            }
        }
        Ok(Some(missing))
    }

    /// Makes the cells of an array rows of its memory, on all paths; false if a path that is not merged with the others yet
    /// has changed some of them. It might have left parts of a value that is one row now.
    pub(super) fn make_rows(&mut self, memory: u32) -> Result<bool, ExecutionStop> {
        let one = &self.array_memories.all[memory as usize];
        if one.has_rows {
            return Ok(true);
        }
        let elements = one.elements;
        let object = elements.object;
        if self.memory.is_logged(object) {
            return Ok(false);
        }
        self.table_to_cells(object)?;
        for row in 0..elements.count {
            self.memory.refine(object, elements.place(row) as u64, elements.bytes);
        }
        let logs = self.memory.set_logs_aside();
        let made = (0..elements.count).try_for_each(|row| self.make_row(elements, memory, row));
        self.memory.put_logs_back(logs);
        made?;
        let one = &mut self.array_memories.all[memory as usize];
        (one.has_rows, one.version) = (true, self.memory.object(object).version);
        Ok(true)
    }

    fn make_row(&mut self, elements: Elements, memory: u32, row: u64) -> Result<(), ExecutionStop> {
        let (at, data) = (elements.place(row) as u64, CellValue::Row(memory, row as u32));
        self.write(elements.object, at, elements.bytes as u8, &data)
    }
}
