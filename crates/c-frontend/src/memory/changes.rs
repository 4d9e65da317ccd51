//! Writes to cells, which logs undo and make again.

use std::rc::Rc;

use crate::data::CellValue;
use crate::memory::ObjectStore;
use crate::memory::cell::MemoryCell;
use crate::memory::log::{Log, refine_log};
use crate::memory::object::ObjectStorage;

impl ObjectStore {
    /// Puts a value into cells; all values that it overlaps must be covered whole, see
    /// [`ObjectStore::straddlers`].
    pub(crate) fn put(&mut self, object: u32, offset: u64, bytes: u8, data: &CellValue) {
        let granule = self.objects[object as usize].granule;
        let (first, count) = (offset / granule, u64::from(bytes) / granule);
        let last = (first + count.max(1) - 1) as usize;
        if let ObjectStorage::Cells(cells) = &mut self.objects[object as usize].storage
            && !cells.make(first as usize, last, &mut self.budget)
        {
            return;
        }
        self.set(object, first as u32, MemoryCell::new(data, bytes));
        for k in 1..count as u32 {
            let cell = if matches!(data, CellValue::Undefined) {
                MemoryCell::Undefined
            } else {
                MemoryCell::Tail(k)
            };
            self.set(object, first as u32 + k, cell);
        }
    }

    /// Values that lie partly in a stretch and partly outside: where they begin, what they are.
    pub(crate) fn straddlers(
        &self,
        object: u32,
        offset: u64,
        bytes: u64,
    ) -> Vec<(u64, CellValue, u8)> {
        let found = &self.objects[object as usize];
        let ObjectStorage::Cells(cells) = &found.storage else { return Vec::new() };
        let mut all = Vec::new();
        for at in [offset, offset + bytes] {
            let index = (at / found.granule) as usize;
            if let Some(MemoryCell::Tail(back)) = cells.get(index) {
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
        let ObjectStorage::Cells(cells) = &mut self.objects[object as usize].storage else {
            return;
        };
        if !cells.refine(factor, size, &mut self.budget) {
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

    fn set(&mut self, object: u32, index: u32, cell: MemoryCell) {
        let ObjectStorage::Cells(cells) = &mut self.objects[object as usize].storage else {
            unreachable!("a table is made cells before it is written")
        };
        let Some(place) = cells.cell_mut(index as usize, &mut self.budget) else { return };
        let old = std::mem::replace(place, cell);
        self.touch(object);
        if let Some(log) = self.logs.last_mut() {
            log.cells.entry((object, index)).or_insert(old);
        }
    }

    /// Gives an object a new version, which is returned.
    pub(crate) fn touch(&mut self, object: u32) -> u64 {
        self.versions += 1;
        self.objects[object as usize].version = self.versions;
        self.versions
    }

    /// Begins a secret branch that is in no other one.
    pub(crate) fn begin_branch(&mut self) {
        self.before_branch = self.versions;
    }

    /// Notes that an arm has ended, whose changes wait in a log.
    pub(crate) fn end_arm(&mut self, log: &Log) {
        for (object, _) in &log.granules {
            self.objects[*object as usize].arm_ended = self.versions;
        }
    }

    /// Whether a log has cells of the object: one that is open, or one of an arm of the secret branches at hand, which may
    /// wait for other arms.
    pub(crate) fn is_logged(&self, object: u32) -> bool {
        let is_waiting = self.object(object).arm_ended > self.before_branch;
        is_waiting
            || self.logs.iter().any(|log| log.cells.keys().any(|(changed, _)| *changed == object))
    }

    /// Changes are not logged until the logs are put back.
    pub(crate) fn set_logs_aside(&mut self) -> Vec<Log> {
        std::mem::take(&mut self.logs)
    }

    pub(crate) fn put_logs_back(&mut self, logs: Vec<Log>) {
        self.logs = logs;
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
            if let ObjectStorage::Cells(cells) = &mut self.objects[*object as usize].storage
                && let Some(place) = cells.cell_mut(*index as usize, &mut self.budget)
            {
                std::mem::swap(place, cell);
                self.versions += 1;
                self.objects[*object as usize].version = self.versions;
            }
            let known = log.granules.last().is_some_and(|(last, _)| last == object);
            if !known && !log.granules.iter().any(|(known, _)| known == object) {
                log.granules.push((*object, self.objects[*object as usize].granule));
            }
        }
        log
    }

    /// Puts back what a log of [`ObjectStore::undo`] says.
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
    pub(crate) fn entry(&self, log: &Log, object: u32, index: u32) -> Option<(CellValue, u32)> {
        let found = &self.objects[object as usize];
        let ObjectStorage::Cells(cells) = &found.storage else { return None };
        let cell = log.cells.get(&(object, index)).or_else(|| cells.get(index as usize))?;
        match cell {
            MemoryCell::Tail(_) => None,
            MemoryCell::Undefined => Some((CellValue::Undefined, 1)),
            cell => cell
                .value()
                .map(|(data, size)| (data, (u64::from(size) / found.granule).max(1) as u32)),
        }
    }
}
