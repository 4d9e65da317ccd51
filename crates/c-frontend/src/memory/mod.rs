//! Objects and their cells: public values, names of secrets, and input tables read as needed.
//!
//! An object is a row of cells, each for a granule of 1 to 16 bytes, the largest that divides all
//! its scalars. A value of several granules is in the first of its cells. Cells that are arms of a
//! secret branch or a rehearsal change are logged, and put back afterwards.
//!
//! Cost: 16 bytes a cell that was written or lies beside such a one (`pages.rs`); an input table
//! costs a name for each 4096 bits that were used.

pub(crate) mod cell;
pub(crate) mod pages;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use phineus_bytecode::{ElementType, Encoding};

use crate::data::Data;
use crate::memory::cell::{Cell, PairHasher, finer};
use crate::memory::pages::{Full, Pages, Room};
use phineus_frontend::untyped::Value;

/// A column of an input table.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// What it is in the CSV file; in memory it has all its bytes.
    pub(crate) element: ElementType,
    /// How it is written there.
    pub(crate) encoding: Encoding,
}

/// An input that is read when it is used.
pub(crate) struct Table {
    pub(crate) port: u64,
    /// The first of its columns in the port.
    pub(crate) first_column: u64,
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) leaves: Vec<Leaf>,
    /// The leaf that each byte of a row belongs to.
    pub(crate) leaf_at: Vec<Option<u32>>,
    /// Rows of a chunk, by leaf.
    pub(crate) lanes: Vec<u32>,
    /// The chunks of each leaf.
    pub(crate) chunks: Vec<Vec<Option<Rc<Value>>>>,
}

pub(crate) enum Storage {
    Cells(Pages),
    Table(Table),
}

/// Something that pointers point into.
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) granule: u64,
    pub(crate) storage: Storage,
    pub(crate) is_constant: bool,
    pub(crate) is_alive: bool,
}

impl Object {
    /// What it is called, for people.
    pub(crate) fn shown(&self) -> String {
        match self.name.as_str() {
            "" => "an object".to_owned(),
            name => format!("'{name}'"),
        }
    }
}

type Cells = HashMap<(u32, u32), Cell, BuildHasherDefault<PairHasher>>;

/// What cells held before or hold now.
#[derive(Default)]
pub(crate) struct Log {
    /// By object and index of the cell.
    pub(crate) cells: Cells,
    /// Stores to a place for each lane: object, places, bytes.
    pub(crate) vectors: Vec<(u32, Rc<[i64]>, u64)>,
    /// The granule of each object in it when it was closed.
    granules: Vec<(u32, u64)>,
}

/// All objects.
#[derive(Default)]
pub(crate) struct Memory {
    objects: Vec<Object>,
    free: Vec<u32>,
    /// Released while there were logs.
    released: Vec<u32>,
    logs: Vec<Log>,
    room: Room,
}

/// Why an access is impossible.
pub(crate) enum AccessError {
    Dead,
    /// Of an object of this size.
    Outside(u64),
}

/// What a load finds.
pub(crate) enum Found {
    Whole(Data),
    /// Several values, or parts: each with its first byte and its bytes.
    Parts(Vec<(Data, i64, u8)>),
    /// A lane of a table's chunk that is not read yet: leaf and row.
    Unread(u32, u64),
}

impl Memory {
    pub(crate) fn add(&mut self, name: &str, size: u64, granule: u8, storage: Storage) -> u32 {
        let object = Object {
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
        self.add(name, size, granule, Storage::Cells(Pages::new(cells as usize)))
    }

    /// As [`Memory::allocate`], but all is 0.
    pub(crate) fn allocate_zeroed(&mut self, name: &str, size: u64, granule: u8) -> u32 {
        let cells = size.div_ceil(u64::from(granule.max(1)));
        let zero = Box::new([Cell::new(&Data::Public(0), granule.max(1))]);
        self.add(name, size, granule, Storage::Cells(Pages::repeated(cells as usize, zero)))
    }

    /// Sets an object, to which nothing was written yet, to what one repeats.
    pub(crate) fn repeat(&mut self, object: u32, one: u32) {
        let (granule, size) = (self.object(one).granule, self.object(object).size);
        let Storage::Cells(cells) = &self.object(one).storage else { return };
        let cells = Pages::repeated(size.div_ceil(granule) as usize, cells.copied());
        let repeating = self.object_mut(object);
        (repeating.storage, repeating.granule) = (Storage::Cells(cells), granule);
    }

    /// Why there is no room for more; what was written since is lost.
    pub(crate) fn full(&self) -> Option<Full> {
        self.room.full
    }

    pub(crate) fn release(&mut self, object: u32) {
        let released = &mut self.objects[object as usize];
        if std::mem::replace(&mut released.is_alive, false) {
            let storage = std::mem::replace(&mut released.storage, Storage::Cells(Pages::new(0)));
            if let Storage::Cells(cells) = storage {
                self.room.give_back(&cells);
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

    /// What lies at `offset`; the access must have been checked.
    pub(crate) fn find(&self, object: u32, offset: u64, bytes: u8) -> Found {
        let found = &self.objects[object as usize];
        match &found.storage {
            Storage::Cells(cells) => {
                if offset.is_multiple_of(found.granule)
                    && let Some((data, size)) = cells.at((offset / found.granule) as usize).value()
                    && size == bytes
                {
                    return Found::Whole(data);
                }
                parts(cells, found.granule, offset, u64::from(bytes))
            }
            Storage::Table(table) => {
                let (row, within) = (offset / table.row_bytes, offset % table.row_bytes);
                let Some(leaf) = table.leaf_at[within as usize] else {
                    return self.behind_padding(object, offset, bytes);
                };
                let (start, size) =
                    (table.leaves[leaf as usize].offset, table.leaves[leaf as usize].bytes);
                let (data, begin) = (table.cell(leaf, row), (row * table.row_bytes + start) as i64);
                match data {
                    None => Found::Unread(leaf, row),
                    Some(data) if begin == offset as i64 && size == u64::from(bytes) => {
                        Found::Whole(data)
                    }
                    Some(data) => {
                        let mut all = vec![(data, begin, size as u8)];
                        let end = begin as u64 + size;
                        if end < offset + u64::from(bytes) {
                            let rest = (offset + u64::from(bytes) - end) as u8;
                            match self.find(object, end, rest) {
                                Found::Whole(data) => all.push((data, end as i64, rest)),
                                Found::Parts(parts) => all.extend(parts),
                                unread => return unread,
                            }
                        }
                        Found::Parts(all)
                    }
                }
            }
        }
    }

    /// What lies in a table where its row has a byte that belongs to nothing.
    fn behind_padding(&self, object: u32, offset: u64, bytes: u8) -> Found {
        if bytes == 1 {
            return Found::Whole(Data::Undefined);
        }
        let mut all = vec![(Data::Undefined, offset as i64, 1)];
        match self.find(object, offset + 1, bytes - 1) {
            Found::Whole(data) => all.push((data, offset as i64 + 1, bytes - 1)),
            Found::Parts(parts) => all.extend(parts),
            unread => return unread,
        }
        Found::Parts(all)
    }

    /// Bytes from `offset` to the end of the value there.
    pub(crate) fn size_at(&self, object: u32, offset: u64) -> u64 {
        let found = &self.objects[object as usize];
        let Storage::Cells(cells) = &found.storage else { return 1 };
        let index = (offset / found.granule) as usize;
        let head = match cells.at(index) {
            Cell::Tail(back) => index - *back as usize,
            _ => index,
        };
        let size = cells.at(head).value().map_or(found.granule, |(_, size)| u64::from(size));
        head as u64 * found.granule + size - offset
    }

    /// Puts a value into cells; all values that it overlaps must be covered whole, see
    /// [`Memory::straddlers`].
    pub(crate) fn put(&mut self, object: u32, offset: u64, bytes: u8, data: &Data) {
        let granule = self.objects[object as usize].granule;
        let (first, count) = (offset / granule, u64::from(bytes) / granule);
        let last = (first + count.max(1) - 1) as usize;
        if let Storage::Cells(cells) = &mut self.objects[object as usize].storage
            && !cells.make(first as usize, last, &mut self.room)
        {
            return;
        }
        self.set(object, first as u32, Cell::new(data, bytes));
        for k in 1..count as u32 {
            let cell =
                if matches!(data, Data::Undefined) { Cell::Undefined } else { Cell::Tail(k) };
            self.set(object, first as u32 + k, cell);
        }
    }

    /// Values that lie partly in a stretch and partly outside: where they begin, what they are.
    pub(crate) fn straddlers(&self, object: u32, offset: u64, bytes: u64) -> Vec<(u64, Data, u8)> {
        let found = &self.objects[object as usize];
        let Storage::Cells(cells) = &found.storage else { return Vec::new() };
        let mut all = Vec::new();
        for at in [offset, offset + bytes] {
            let index = (at / found.granule) as usize;
            if let Some(Cell::Tail(back)) = cells.get(index) {
                let head = index - *back as usize;
                let value = cells.at(head).value();
                let (data, size) = value.expect("a tail has a head");
                let begin = head as u64 * found.granule;
                if all.iter().all(|(known, _, _)| *known != begin) {
                    all.push((begin, data, size));
                }
            }
        }
        all
    }

    /// Makes the cells fine enough for an access.
    pub(crate) fn refine(&mut self, object: u32, offset: u64, bytes: u64) {
        let granule = self.objects[object as usize].granule;
        let wanted = granule.min(1 << (offset | bytes | granule).trailing_zeros());
        if wanted == granule {
            return;
        }
        let factor = (granule / wanted) as u32;
        let size = self.objects[object as usize].size.div_ceil(wanted) as usize;
        let Storage::Cells(cells) = &mut self.objects[object as usize].storage else { return };
        if !cells.refine(factor, size, &mut self.room) {
            return;
        }
        self.objects[object as usize].granule = wanted;
        self.logs.iter_mut().for_each(|log| refine_log(log, object, factor));
    }

    /// Brings a closed log to cells that were made finer since.
    pub(crate) fn renew(&self, log: &mut Log) {
        for at in 0..log.granules.len() {
            let (object, granule) = log.granules[at];
            let now = self.objects[object as usize].granule;
            if now < granule {
                refine_log(log, object, (granule / now) as u32);
                log.granules[at].1 = now;
            }
        }
    }

    fn set(&mut self, object: u32, index: u32, cell: Cell) {
        let Storage::Cells(cells) = &mut self.objects[object as usize].storage else {
            unreachable!("a table is made cells before it is written")
        };
        let Some(place) = cells.cell_mut(index as usize, &mut self.room) else { return };
        let old = std::mem::replace(place, cell);
        if let Some(log) = self.logs.last_mut() {
            log.cells.entry((object, index)).or_insert(old);
        }
    }

    /// From now on changes are logged.
    pub(crate) fn open_log(&mut self) {
        self.logs.push(Log::default());
    }

    /// Undoes all changes since the log was opened, and returns what the cells held just now.
    pub(crate) fn undo(&mut self) -> Log {
        let mut log = self.logs.pop().expect("a log is open");
        if self.logs.is_empty() {
            self.free.append(&mut self.released);
        }
        for ((object, index), cell) in &mut log.cells {
            if let Storage::Cells(cells) = &mut self.objects[*object as usize].storage
                && let Some(place) = cells.cell_mut(*index as usize, &mut self.room)
            {
                std::mem::swap(place, cell);
            }
            let known = log.granules.last().is_some_and(|(last, _)| last == object);
            if !known && !log.granules.iter().any(|(known, _)| known == object) {
                log.granules.push((*object, self.objects[*object as usize].granule));
            }
        }
        log
    }

    /// Puts back what a log of [`Memory::undo`] says.
    pub(crate) fn apply(&mut self, log: &Log) {
        for ((object, index), cell) in &log.cells {
            if self.objects[*object as usize].is_alive {
                self.set(*object, *index, cell.clone());
            }
        }
        if let Some(top) = self.logs.last_mut() {
            top.vectors.extend(log.vectors.iter().cloned());
        }
    }

    /// Notes that lanes stored to places of their own.
    pub(crate) fn log_vector(&mut self, object: u32, places: &Rc<[i64]>, bytes: u64) {
        if let Some(log) = self.logs.last_mut() {
            let is_it = |known: &(u32, Rc<[i64]>, u64)| {
                known.0 == object && known.2 == bytes && known.1 == *places
            };
            if !log.vectors.iter().any(is_it) {
                log.vectors.push((object, places.clone(), bytes));
            }
        }
    }

    /// The value that begins in a cell, as a log has it or else memory; `None` in the middle of
    /// one.
    pub(crate) fn entry(&self, log: &Log, object: u32, index: u32) -> Option<(Data, u32)> {
        let found = &self.objects[object as usize];
        let Storage::Cells(cells) = &found.storage else { return None };
        let cell = log.cells.get(&(object, index)).or_else(|| cells.get(index as usize))?;
        match cell {
            Cell::Tail(_) => None,
            Cell::Undefined => Some((Data::Undefined, 1)),
            cell => cell
                .value()
                .map(|(data, size)| (data, (u64::from(size) / found.granule).max(1) as u32)),
        }
    }
}

impl Table {
    /// A cell, if its chunk was read.
    pub(crate) fn cell(&self, leaf: u32, row: u64) -> Option<Data> {
        let lanes = u64::from(self.lanes[leaf as usize]);
        let chunk = self.chunks[leaf as usize][(row / lanes) as usize].as_ref()?;
        Some(match chunk.lanes() {
            1 => Data::Secret(chunk.clone()),
            _ => Data::Lane(chunk.clone(), (row % lanes) as u32),
        })
    }
}

fn parts(cells: &Pages, granule: u64, offset: u64, bytes: u64) -> Found {
    let mut found = Vec::new();
    let mut index = (offset / granule) as usize;
    if let Cell::Tail(back) = cells.at(index) {
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
    if found.is_empty() { Found::Whole(Data::Undefined) } else { Found::Parts(found) }
}

/// Makes an object's cells in a log finer.
fn refine_log(log: &mut Log, object: u32, factor: u32) {
    let log = &mut log.cells;
    let keys: Vec<_> = log.keys().copied().filter(|(owner, _)| *owner == object).collect();
    let taken: Vec<_> =
        keys.into_iter().filter_map(|key| Some((key.1, log.remove(&key)?))).collect();
    for (index, cell) in taken {
        let fine = finer(cell, factor).into_iter().zip(index * factor..);
        fine.for_each(|(cell, index)| drop(log.insert((object, index), cell)));
    }
}
