//! The memory model: loads and stores at places that are known, chosen by secrets, or one for each
//! lane.
//!
//! An access that does not fit a value takes values apart or joins them; that costs nothing but
//! instructions.

pub(crate) mod allocate;
pub(crate) mod chosen;
pub(crate) mod conditional;
pub(crate) mod copy;
pub(crate) mod entries;
pub(crate) mod indexed;
pub(crate) mod lanes;
pub(crate) mod load_store;
pub(crate) mod oblivious;
pub(crate) mod rows;
pub(crate) mod tables;
pub(crate) mod write_at_once;

use crate::access::conditional::ConditionalWrites;
use crate::access::oblivious::ArrayMemories;
use crate::access::write_at_once::ElementReads;
use crate::data::CellValue;
use crate::data::constant::data_of;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::module::Initial;
use crate::memory::object::ObjectStorage;
use crate::memory::pages::{CELLS_MAX, NoMoreCells};
use crate::memory::{AccessError, LoadResult, ObjectStore};

/// The program's memory, and what evaluates the values in it.
pub(crate) struct MemoryModel {
    pub(crate) values: OperationEvaluator,
    pub(crate) memory: ObjectStore,
    /// Places that all lanes wrote, each its own: object, offset, bytes.
    pub(crate) private_places: Vec<(u32, u64, u64)>,
    /// Whether large arrays may be memories: not in programs of several blocks.
    has_memories: bool,
    array_memories: ArrayMemories,
    pub(crate) conditional_writes: ConditionalWrites,
    element_reads: ElementReads,
}

impl MemoryModel {
    pub(crate) fn new(values: OperationEvaluator, has_memories: bool) -> MemoryModel {
        MemoryModel {
            values,
            memory: ObjectStore::default(),
            private_places: Vec::new(),
            has_memories,
            array_memories: ArrayMemories::default(),
            conditional_writes: ConditionalWrites::default(),
            element_reads: ElementReads::default(),
        }
    }
}

impl MemoryModel {
    /// Reads a place that was checked.
    pub(crate) fn read(
        &mut self,
        object: u32,
        offset: u64,
        bytes: u8,
    ) -> Result<CellValue, ExecutionStop> {
        match self.memory.find(object, offset, bytes) {
            LoadResult::Whole(data) => Ok(self.stored(data)),
            LoadResult::Unread(..) if self.values.scope.dry_run.is_some() => Ok(CellValue::Hidden),
            LoadResult::Unread(leaf, row) => {
                self.read_chunk(object, leaf, row);
                self.read(object, offset, bytes)
            }
            LoadResult::Parts(parts) => {
                let stored = |(data, at, bytes)| (self.stored(data), at, bytes);
                let parts = parts.into_iter().map(stored).collect();
                self.values.join(parts, offset, bytes)
            }
        }
    }

    /// Writes at a place that was checked.
    pub(crate) fn write(
        &mut self,
        object: u32,
        offset: u64,
        bytes: u8,
        data: &CellValue,
    ) -> Result<(), ExecutionStop> {
        if self.values.scope.dry_run.as_ref().is_some_and(|dry_run| dry_run.keeps(object, data)) {
            return Err(ExecutionStop::Abandon);
        }
        if matches!(self.memory.object(object).storage, ObjectStorage::Table(_)) {
            self.table_to_cells(object)?;
        }
        self.memory.refine(object, offset, u64::from(bytes));
        for (begin, old, size) in self.memory.straddlers(object, offset, u64::from(bytes)) {
            let (granule, old) = (self.memory.object(object).granule, self.stored(old));
            for at in (begin..begin + u64::from(size)).step_by(granule as usize) {
                let part =
                    self.values.join(vec![(old.clone(), begin as i64, size)], at, granule as u8)?;
                self.memory.put(object, at, granule as u8, &part);
            }
        }
        self.memory.put(object, offset, bytes, data);
        self.check_budget()
    }

    /// The value that begins at `offset`, or the part of one, and its bytes: at most `most`.
    pub(crate) fn next_value(
        &mut self,
        object: u32,
        offset: u64,
        most: u64,
    ) -> Result<(CellValue, u8), ExecutionStop> {
        let size = match &self.memory.object(object).storage {
            ObjectStorage::Table(table) => {
                let within = offset % table.row_bytes;
                match table.leaf_at[within as usize] {
                    Some(leaf) => {
                        let leaf = &table.leaves[leaf as usize];
                        leaf.offset + leaf.bytes - within
                    }
                    None => 1,
                }
            }
            ObjectStorage::Cells(_) => self.memory.size_at(object, offset),
        };
        let size = size.min(most).min(16) as u8;
        Ok((self.read(object, offset, size)?, size))
    }

    /// Sets a global to its value.
    pub(crate) fn initialize(&mut self, object: u32, initial: &Initial) {
        let granule = self.memory.object(object).granule as u8;
        let element = self.memory.allocate("", initial.element_bytes, granule);
        for (at, bytes) in &initial.zeros {
            self.memory.refine(element, *at, u64::from(*bytes));
            self.memory.put(element, *at, *bytes, &CellValue::Public(0));
        }
        if initial.element_bytes > 0 {
            self.memory.repeat(object, element);
        }
        self.memory.release(element);
        for (at, bytes, constant) in &initial.scalars {
            let data = data_of(constant);
            self.memory.refine(object, *at, u64::from(*bytes));
            self.memory.put(object, *at, *bytes, &data);
        }
    }

    pub(crate) fn outside(
        &mut self,
        object: u32,
        offset: i64,
        error: AccessError,
    ) -> Result<CellValue, ExecutionStop> {
        let name = self.memory.object(object).shown();
        match error {
            AccessError::Outside(size) => self.values.error(
                format!("byte {offset} of {name} is out of bounds: it has {size} bytes"),
                "keep the index within the array",
            ),
            AccessError::Dead => self
                .values
                .error(format!("{name} does not exist any more"), "keep it until it is used"),
        }
    }

    /// Refuses a program whose objects hold more than its cell budget.
    #[inline]
    pub(crate) fn check_budget(&mut self) -> Result<(), ExecutionStop> {
        match self.memory.full() {
            None => Ok(()),
            Some(why) => self.refuse_full(why),
        }
    }

    #[cold]
    fn refuse_full(&mut self, why: NoMoreCells) -> Result<(), ExecutionStop> {
        let what = match why {
            NoMoreCells::Limit => format!(
                "the variables, arrays and heap memory of this program hold more than {CELLS_MAX} \
                 elements"
            ),
            NoMoreCells::Computer => {
                "this computer has no memory left for the variables, arrays and heap \
                               memory of this program"
                    .to_owned()
            }
        };
        self.values
            .error(what, "use smaller sizes, or write to less of them; free what is done with")?;
        Err(ExecutionStop::Fatal)
    }
}
