//! Input tables in memory: read by chunks of rows when they are used, made cells when written.

use std::rc::Rc;

use phineus_bytecode::ElementType;

use crate::data::Data;
use crate::emit::zeros::Zeros;
use crate::interpreter::{Machine, Stop};
use crate::memory::pages::Pages;
use crate::memory::{Memory, Storage};
use phineus_frontend::untyped::Value;

impl Memory {
    /// What lies at places that are cells of one column of a table, so many rows apart, if all of
    /// it was read; the access must have been checked. As [`Memory::find`] for each, but faster:
    /// loops down a column of a matrix read that way.
    pub(crate) fn column(&self, object: u32, places: &[i64], bytes: u64) -> Option<Vec<Data>> {
        let Storage::Table(table) = &self.object(object).storage else { return None };
        let [first, second, ..] = *places else { return None };
        let (step, row_bytes) = (second - first, table.row_bytes as i64);
        let (row, within, rows) = (first / row_bytes, first % row_bytes, step / row_bytes);
        let leaf = table.leaf_at[within as usize]?;
        let own = &table.leaves[leaf as usize];
        if own.offset as i64 != within || own.bytes != bytes || rows * row_bytes != step {
            return None;
        }
        let cells = places.iter().zip(0..).map(|(place, i)| {
            let is_next = *place == first + i * step;
            is_next.then(|| table.cell(leaf, (row + i * rows) as u64)).flatten()
        });
        cells.collect()
    }
}

impl Machine<'_> {
    /// Brings in the chunk of an input table in which a row lies.
    pub(crate) fn read_chunk(&mut self, object: u32, leaf: u32, row: u64) {
        let Storage::Table(table) = &self.memory.object(object).storage else {
            unreachable!("only tables have unread cells");
        };
        let column = &table.leaves[leaf as usize];
        let most = u64::from(table.lanes[leaf as usize]);
        let (chunk, first) = (row / most, row / most * most);
        let lanes = (table.rows - first).min(most) as u32;
        let (element, bits) = (column.element, column.bytes as u16 * 8);
        let column = (table.port, table.first_column + u64::from(leaf));
        let value = Value::input(&self.tracer, column, first, (element, lanes));
        let wide = ElementType::integer(bits, element.is_signed());
        let value = Rc::new(value.cast(wide).with_sign(false));
        if !element.is_signed() {
            let zeros = Zeros { low: 0, high: bits - element.width() };
            self.with_zeros(Data::Secret(value.clone()), zeros);
        }
        if let Storage::Table(table) = &mut self.memory.object_mut(object).storage {
            table.chunks[leaf as usize][chunk as usize] = Some(value);
        }
    }

    /// Reads what takes more than reading: where control flow is decided at run time, that is done
    /// before it, for all ways.
    pub(crate) fn read_inputs(&mut self) {
        let mut unread = Vec::new();
        for object in 0..self.memory.object_count() {
            let Storage::Table(table) = &self.memory.object(object).storage else { continue };
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
                Storage::Table(table) => table.cell(leaf, row).is_some(),
                Storage::Cells(_) => true,
            };
            if !is_read {
                self.read_chunk(object, leaf, row);
            }
        }
    }

    /// Reads a whole input, which is going to be written over.
    pub(crate) fn table_to_cells(&mut self, object: u32) -> Result<(), Stop> {
        if self.rehearsal.is_some() {
            return Err(Stop::Abandon);
        }
        let Storage::Table(table) = &self.memory.object(object).storage else { return Ok(()) };
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
            Storage::Cells(Pages::new(0)),
        );
        let written = self.memory.object_mut(object);
        (written.storage, written.granule) = (cells, granule);
        self.memory.release(copy);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::Encoding;

    use super::*;
    use crate::memory::{Found, Leaf, Table};
    use phineus_frontend::Tracer;

    /// Ten rows of 8 bytes: 4 of a column in chunks of 4 rows, of which the last is not read, 2 of
    /// a column that is one chunk, 2 of nothing.
    fn table() -> Table {
        let tracer = Tracer::new("table", std::io::sink()).expect("a sink takes all");
        let element = ElementType::unsigned(16);
        let chunk = |lanes| Some(Rc::new(Value::poisoned(&tracer, element, lanes)));
        let leaf = |name: &str, offset, bytes| {
            let encoding = Encoding::default();
            Leaf { name: name.to_owned(), offset, bytes, element, encoding }
        };
        Table {
            port: 0,
            first_column: 0,
            rows: 10,
            row_bytes: 8,
            leaves: vec![leaf("x", 0, 4), leaf("y", 4, 2)],
            leaf_at: [vec![Some(0); 4], vec![Some(1); 2], vec![None; 2]].concat(),
            lanes: vec![4, 10],
            chunks: vec![vec![chunk(4), chunk(4), None], vec![chunk(10)]],
        }
    }

    /// What every place holds, if it is one value that was read.
    fn found(memory: &Memory, object: u32, places: &[i64], bytes: u64) -> Option<Vec<Data>> {
        let each =
            places.iter().map(|place| match memory.find(object, *place as u64, bytes as u8) {
                Found::Whole(Data::Undefined) | Found::Parts(_) | Found::Unread(..) => None,
                Found::Whole(data) => Some(data),
            });
        each.collect()
    }

    #[test]
    fn a_column_is_what_lies_at_each_of_its_places() {
        let mut memory = Memory::default();
        let object = memory.add("t", 80, 1, Storage::Table(table()));
        let mut whole = 0;
        for (first, step) in (0..80).flat_map(|first| (-40..=40).map(move |step| (first, step))) {
            for (count, bytes) in (2..=10).flat_map(|count| [1, 2, 4, 8].map(|b| (count, b))) {
                let places: Vec<i64> = (0..count).map(|i| first + i * step).collect();
                if !places.iter().all(|place| memory.check(object, *place, bytes).is_ok()) {
                    continue;
                }
                let column = memory.column(object, &places, bytes);
                match (column, found(&memory, object, &places, bytes)) {
                    (Some(a), Some(b)) => {
                        assert!(a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.is_same(b)));
                        whole += 1;
                    }
                    (None, None) => {}
                    (None, Some(_)) => assert_ne!(step % 8, 0, "{places:?} are a column"),
                    (Some(_), None) => panic!("{places:?} are not read, or no whole cells"),
                }
            }
        }
        assert!(whole > 0);
        for places in [&[0, 8, 24][..], &[8, 8, 16], &[0, 8, 12], &[0]] {
            assert!(memory.column(object, places, 4).is_none(), "{places:?}");
        }
        let cells = memory.allocate("cells", 80, 4);
        memory.put(cells, 0, 4, &Data::Public(1));
        memory.put(cells, 8, 4, &Data::Public(2));
        assert!(memory.column(cells, &[0, 8], 4).is_none());
    }
}
