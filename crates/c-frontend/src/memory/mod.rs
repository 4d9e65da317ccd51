//! Objects and their cells: public values, names of secrets, and input tables read as needed.
//!
//! An object is a row of cells, each for a granule of 1 to 16 bytes, the largest that divides all
//! its scalars. A value of several granules is in the first of its cells. Cells that are arms of a
//! secret branch or a dry run change are logged, and put back afterwards.
//!
//! Cost: 16 bytes a cell that was written or lies beside such a one (`pages.rs`); an input table
//! costs a name for each 4096 bits that were used.

pub(crate) mod cell;
pub(crate) mod changes;
pub(crate) mod log;
pub(crate) mod object;
pub(crate) mod pages;
pub(crate) mod table;

use crate::data::CellValue;
use crate::memory::cell::MemoryCell;
use crate::memory::log::Log;
use crate::memory::object::{Object, ObjectStorage};
use crate::memory::pages::{CellBudget, CellPages, NoMoreCells};

/// All objects.
#[derive(Default)]
pub(crate) struct ObjectStore {
    objects: Vec<Object>,
    free: Vec<u32>,
    /// Released while there were logs.
    released: Vec<u32>,
    logs: Vec<Log>,
    budget: CellBudget,
    /// The last version that an object was given, and the one before the outermost secret branch at hand.
    versions: u64,
    before_branch: u64,
}

/// Why an access is impossible.
pub(crate) enum AccessError {
    Dead,
    /// Of an object of this size.
    Outside(u64),
}

/// The result of a load.
pub(crate) enum LoadResult {
    Whole(CellValue),
    /// Several values, or parts: each with its first byte and its bytes.
    Parts(Vec<(CellValue, i64, u8)>),
    /// A lane of a table's chunk that is not read yet: leaf and row.
    Unread(u32, u64),
}

impl ObjectStore {
    /// Why the cell budget is spent; what was written since is lost.
    pub(crate) fn full(&self) -> Option<NoMoreCells> {
        self.budget.full
    }

    pub(crate) fn add(
        &mut self,
        name: &str,
        size: u64,
        granule: u8,
        storage: ObjectStorage,
    ) -> u32 {
        self.versions += 1;
        let object = Object {
            born: self.versions,
            version: self.versions,
            arm_ended: 0,
            memories_made: 0,
            name: name.to_owned(),
            size,
            granule: u64::from(granule.max(1)),
            storage,
            is_constant: false,
            is_alive: true,
        };
        // A log names objects by number: those of its time must not be given again.
        let again = if self.logs.is_empty() { self.free.pop() } else { None };
        match again {
            Some(index) => {
                self.objects[index as usize] = object;
                index
            }
            None => {
                self.objects.push(object);
                self.objects.len() as u32 - 1
            }
        }
    }

    pub(crate) fn allocate(&mut self, name: &str, size: u64, granule: u8) -> u32 {
        let cells = size.div_ceil(u64::from(granule.max(1)));
        self.add(name, size, granule, ObjectStorage::Cells(CellPages::new(cells as usize)))
    }

    /// As [`ObjectStore::allocate`], but all is 0.
    pub(crate) fn allocate_zeroed(&mut self, name: &str, size: u64, granule: u8) -> u32 {
        let cells = size.div_ceil(u64::from(granule.max(1)));
        let zero = Box::new([MemoryCell::new(&CellValue::Public(0), granule.max(1))]);
        self.add(
            name,
            size,
            granule,
            ObjectStorage::Cells(CellPages::repeated(cells as usize, zero)),
        )
    }

    /// Sets an object, to which nothing was written yet, to what one repeats.
    pub(crate) fn repeat(&mut self, object: u32, one: u32) {
        let (granule, size) = (self.object(one).granule, self.object(object).size);
        let ObjectStorage::Cells(cells) = &self.object(one).storage else { return };
        let cells = CellPages::repeated(size.div_ceil(granule) as usize, cells.copied());
        let repeating = self.object_mut(object);
        (repeating.storage, repeating.granule) = (ObjectStorage::Cells(cells), granule);
    }

    pub(crate) fn release(&mut self, object: u32) {
        let released = &mut self.objects[object as usize];
        if std::mem::replace(&mut released.is_alive, false) {
            let storage =
                std::mem::replace(&mut released.storage, ObjectStorage::Cells(CellPages::new(0)));
            if let ObjectStorage::Cells(cells) = storage {
                self.budget.give_back(&cells);
            }
            match self.logs.is_empty() {
                true => self.free.push(object),
                false => self.released.push(object),
            }
        }
    }

    pub(crate) fn object_count(&self) -> u32 {
        self.objects.len() as u32
    }

    pub(crate) fn object(&self, object: u32) -> &Object {
        &self.objects[object as usize]
    }

    pub(crate) fn object_mut(&mut self, object: u32) -> &mut Object {
        &mut self.objects[object as usize]
    }

    /// Whether `bytes` from `offset` on are in the object.
    pub(crate) fn check(&self, object: u32, offset: i64, bytes: u64) -> Result<(), AccessError> {
        let found = &self.objects[object as usize];
        let end = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(bytes));
        match end {
            _ if !found.is_alive => Err(AccessError::Dead),
            Some(end) if end <= found.size => Ok(()),
            _ => Err(AccessError::Outside(found.size)),
        }
    }

    /// Finds the value at `offset`; the access must have been checked.
    pub(crate) fn find(&self, object: u32, offset: u64, bytes: u8) -> LoadResult {
        let found = &self.objects[object as usize];
        match &found.storage {
            ObjectStorage::Cells(cells) => {
                if offset.is_multiple_of(found.granule)
                    && let Some((data, size)) = cells.at((offset / found.granule) as usize).value()
                    && size == bytes
                {
                    return LoadResult::Whole(data);
                }
                parts(cells, found.granule, offset, u64::from(bytes))
            }
            ObjectStorage::Table(table) => {
                let (row, within) = (offset / table.row_bytes, offset % table.row_bytes);
                let Some(leaf) = table.leaf_at[within as usize] else {
                    return self.behind_padding(object, offset, bytes);
                };
                let (start, size) =
                    (table.leaves[leaf as usize].offset, table.leaves[leaf as usize].bytes);
                let (data, begin) = (table.cell(leaf, row), (row * table.row_bytes + start) as i64);
                match data {
                    None => LoadResult::Unread(leaf, row),
                    Some(data) if begin == offset as i64 && size == u64::from(bytes) => {
                        LoadResult::Whole(data)
                    }
                    Some(data) => {
                        let mut all = vec![(data, begin, size as u8)];
                        let end = begin as u64 + size;
                        if end < offset + u64::from(bytes) {
                            let rest = (offset + u64::from(bytes) - end) as u8;
                            match self.find(object, end, rest) {
                                LoadResult::Whole(data) => all.push((data, end as i64, rest)),
                                LoadResult::Parts(parts) => all.extend(parts),
                                unread => return unread,
                            }
                        }
                        LoadResult::Parts(all)
                    }
                }
            }
        }
    }

    /// The values from a padding byte of a row on.
    fn behind_padding(&self, object: u32, offset: u64, bytes: u8) -> LoadResult {
        if bytes == 1 {
            return LoadResult::Whole(CellValue::Undefined);
        }
        let mut all = vec![(CellValue::Undefined, offset as i64, 1)];
        match self.find(object, offset + 1, bytes - 1) {
            LoadResult::Whole(data) => all.push((data, offset as i64 + 1, bytes - 1)),
            LoadResult::Parts(parts) => all.extend(parts),
            unread => return unread,
        }
        LoadResult::Parts(all)
    }

    /// Bytes from `offset` to the end of the value there.
    pub(crate) fn size_at(&self, object: u32, offset: u64) -> u64 {
        let found = &self.objects[object as usize];
        let ObjectStorage::Cells(cells) = &found.storage else { return 1 };
        let index = (offset / found.granule) as usize;
        let head = match cells.at(index) {
            MemoryCell::Tail(back) => index - *back as usize,
            _ => index,
        };
        let size = cells.at(head).value().map_or(found.granule, |(_, size)| u64::from(size));
        head as u64 * found.granule + size - offset
    }

    /// The values at cells of one column of a table, a fixed number of rows apart, if all of them were
    /// read; the access must have been checked. The same as [`ObjectStore::find`] for each, but
    /// faster, for loops down a column of a matrix.
    pub(crate) fn column(&self, object: u32, places: &[i64], bytes: u64) -> Option<Vec<CellValue>> {
        let ObjectStorage::Table(table) = &self.object(object).storage else { return None };
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

pub(crate) fn parts(cells: &CellPages, granule: u64, offset: u64, bytes: u64) -> LoadResult {
    let mut found = Vec::new();
    let mut index = (offset / granule) as usize;
    if let MemoryCell::Tail(back) = cells.at(index) {
        index -= *back as usize;
    }
    while (index as u64) * granule < offset + bytes {
        match cells.at(index).value() {
            // Padding, which words that LLVM moves have in them.
            None => index += 1,
            Some((data, size)) => {
                found.push((data, (index as u64 * granule) as i64, size));
                index += (u64::from(size) / granule).max(1) as usize;
            }
        }
    }
    if found.is_empty() {
        LoadResult::Whole(CellValue::Undefined)
    } else {
        LoadResult::Parts(found)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use phineus_bytecode::{ElementType, Encoding};
    use phineus_frontend::Tracer;
    use phineus_frontend::untyped::Value;

    use super::*;
    use crate::memory::table::{InputMemory, TableColumn};

    /// Ten rows of 8 bytes: 4 of a column in chunks of 4 rows, of which the last is not read, 2 of
    /// a column that is one chunk, 2 of nothing.
    fn table() -> InputMemory {
        let tracer = Tracer::new("table", std::io::sink()).expect("a sink takes all");
        let element = ElementType::unsigned(16);
        let chunk = |lanes| Some(Rc::new(Value::poisoned(&tracer, element, lanes)));
        let leaf = |name: &str, offset, bytes| {
            let encoding = Encoding::default();
            TableColumn { name: name.to_owned(), offset, bytes, element, encoding }
        };
        InputMemory {
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

    /// The value at every place, if each is one value that was read.
    fn found(
        memory: &ObjectStore,
        object: u32,
        places: &[i64],
        bytes: u64,
    ) -> Option<Vec<CellValue>> {
        let each =
            places.iter().map(|place| match memory.find(object, *place as u64, bytes as u8) {
                LoadResult::Whole(CellValue::Undefined)
                | LoadResult::Parts(_)
                | LoadResult::Unread(..) => None,
                LoadResult::Whole(data) => Some(data),
            });
        each.collect()
    }

    #[test]
    fn a_column_is_what_lies_at_each_of_its_places() {
        let mut memory = ObjectStore::default();
        let object = memory.add("t", 80, 1, ObjectStorage::Table(table()));
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
        memory.put(cells, 0, 4, &CellValue::Public(1));
        memory.put(cells, 8, 4, &CellValue::Public(2));
        assert!(memory.column(cells, &[0, 8], 4).is_none());
    }
}
