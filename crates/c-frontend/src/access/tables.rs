//! Input tables in memory: read by chunks of rows when they are used, made cells when written.

use std::rc::Rc;

use phineus_bytecode::ElementType;
use phineus_frontend::untyped::Value;

use crate::access::MemoryModel;
use crate::data::CellValue;
use crate::emit::cache::KnownZeroBits;
use crate::evaluate::report::ExecutionStop;
use crate::memory::object::ObjectStorage;
use crate::memory::pages::CellPages;

impl MemoryModel {
    /// Brings in the chunk of an input table in which a row lies.
    pub(crate) fn read_chunk(&mut self, object: u32, leaf: u32, row: u64) {
        let ObjectStorage::Table(table) = &self.memory.object(object).storage else {
            unreachable!("only tables have unread cells");
        };
        let column = &table.leaves[leaf as usize];
        let most = u64::from(table.lanes[leaf as usize]);
        let (chunk, first) = (row / most, row / most * most);
        let lanes = (table.rows - first).min(most) as u32;
        let (element, bits) = (column.element, column.bytes as u16 * 8);
        let column = (table.port, table.first_column + u64::from(leaf));
        let value = Value::input(&self.values.emit.tracer, column, first, (element, lanes));
        let wide = ElementType::integer(bits, element.is_signed());
        let value = Rc::new(value.cast(wide).with_sign(false));
        if !element.is_signed() {
            let zeros = KnownZeroBits { low: 0, high: bits - element.width() };
            self.values.emit.with_zeros(CellValue::Secret(value.clone()), zeros);
        }
        if let ObjectStorage::Table(table) = &mut self.memory.object_mut(object).storage {
            table.chunks[leaf as usize][chunk as usize] = Some(value);
        }
    }

    /// Reads what takes more than reading: where control flow is decided at run time, that is done
    /// before it, for all paths.
    pub(crate) fn read_inputs(&mut self) {
        let mut unread = Vec::new();
        for object in 0..self.memory.object_count() {
            let ObjectStorage::Table(table) = &self.memory.object(object).storage else { continue };
            for (leaf, lanes) in (0..).zip(&table.lanes) {
                let column = &table.leaves[leaf as usize];
                if u64::from(column.element.width()) != column.bytes * 8 {
                    let rows = (0..table.rows).step_by(*lanes as usize);
                    unread.extend(rows.map(|row| (object, leaf, row)));
                }
            }
        }
        for (object, leaf, row) in unread {
            let is_read = match &self.memory.object(object).storage {
                ObjectStorage::Table(table) => table.cell(leaf, row).is_some(),
                ObjectStorage::Cells(_) => true,
            };
            if !is_read {
                self.read_chunk(object, leaf, row);
            }
        }
    }

    /// Reads a whole input, which is going to be written over.
    pub(crate) fn table_to_cells(&mut self, object: u32) -> Result<(), ExecutionStop> {
        if self.values.scope.dry_run.is_some() {
            return Err(ExecutionStop::Abandon);
        }
        let ObjectStorage::Table(table) = &self.memory.object(object).storage else {
            return Ok(());
        };
        let (rows, row_bytes) = (table.rows, table.row_bytes);
        let leaves: Vec<(u64, u8)> =
            table.leaves.iter().map(|leaf| (leaf.offset, leaf.bytes as u8)).collect();
        let granule = self.memory.object(object).granule as u8;
        let size = self.memory.object(object).size;
        let copy = self.memory.allocate("", size, granule);
        for row in 0..rows {
            for (offset, bytes) in &leaves {
                let at = row * row_bytes + offset;
                let data = self.read(object, at, *bytes)?;
                self.memory.refine(copy, at, u64::from(*bytes));
                self.memory.put(copy, at, *bytes, &data);
            }
        }
        let granule = self.memory.object(copy).granule;
        let cells = std::mem::replace(
            &mut self.memory.object_mut(copy).storage,
            ObjectStorage::Cells(CellPages::new(0)),
        );
        let written = self.memory.object_mut(object);
        (written.storage, written.granule) = (cells, granule);
        self.memory.release(copy);
        Ok(())
    }
}
