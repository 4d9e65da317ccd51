//! [`partition`]: gives each operation a cell, and adds the operations that move labels between cells.
//!
//! In the order of the operations, each goes to the cell in which most of its operands are, among the cells that have not
//! much more work than any other. Inputs are loaded into every cell that reads them, and XORs of nothing but inputs are
//! done again there. Any other label moves at most once to each cell: XOR unit X of the cell that has it sends it, which
//! takes no cycle of its AND unit.
//!
//! Cost: one pass. Time of an operation grows with the number of cells. Memory: 100 bytes, and 4 a cell, for each value that
//! lives.

use crate::OverlayError;
use crate::memory::Place;
use crate::operations::{Form, Kind, NONE, Operation, OperationReader};
use crate::parameters::CELLS_MAX;
use crate::records::{FinishedRecords, RecordFile};

/// Work of an AND; that of anything else is 1.
const AND_WORK: u64 = 3;

/// A value of the program.
#[derive(Clone, Copy)]
struct Value {
    /// The operation that makes it.
    operation: Operation,
    /// The slot of its label in each cell, or [`NONE`].
    slots: [u32; CELLS_MAX as usize],
    /// The cell in which it was made.
    home: u8,
    /// Whether it is an input or a XOR of inputs, which are made in every cell that reads them.
    is_cheap: bool,
}

struct Partitioner {
    values: Vec<Value>,
    /// Work of each cell.
    work: Vec<u64>,
    slack: u64,
    /// Slots that were in use and are not, and those that never were.
    free: Vec<u32>,
    fresh: u32,
    file: RecordFile,
}

/// The operations in the order of the program, although the pass that found them wrote them so that the last comes first.
pub(crate) fn reversed(
    found: FinishedRecords,
    place: Place<'_>,
) -> Result<FinishedRecords, OverlayError> {
    let mut reader = OperationReader::new(found.into_backwards(), Form::Found);
    let mut file = RecordFile::new(place.scratch);
    let mut operation = Operation::default();
    while reader.next(&mut operation)? {
        operation.write_found(&mut file)?;
    }
    file.finish()
}

/// The operations, partitioned among `cells` cells, of which one may have `slack` more work than the one with the least.
pub(crate) fn partition(
    operations: &FinishedRecords,
    (cells, slack): (u32, u64),
    place: Place<'_>,
) -> Result<FinishedRecords, OverlayError> {
    let mut partitioner = Partitioner {
        values: Vec::new(),
        work: vec![0; cells as usize],
        slack,
        free: Vec::new(),
        fresh: 0,
        file: RecordFile::new(place.scratch),
    };
    let mut reader = OperationReader::new(operations.backwards(), Form::Found);
    let mut operation = Operation::default();
    while reader.next(&mut operation)? {
        partitioner.place(operation)?;
        if reader.is_at_block() {
            place.check((partitioner.values.capacity() * size_of::<Value>()) as u64)?;
        }
    }
    partitioner.file.finish()
}

impl Partitioner {
    fn place(&mut self, operation: Operation) -> Result<(), OverlayError> {
        let is_cheap = match operation.kind {
            Kind::Load => true,
            Kind::Xor => operation.operands().iter().all(|&term| self.is_input(term)),
            Kind::And | Kind::Output => false,
            Kind::Move | Kind::Spill | Kind::Fill | Kind::Leave => false,
        };
        let slots = [NONE; CELLS_MAX as usize];
        let value = Value { operation, slots, home: 0, is_cheap };
        if operation.kind.has_result() {
            self.begin(operation.result, value);
        }
        // Made where and when it is needed.
        if is_cheap {
            return Ok(());
        }
        let cell = self.cell_for(&operation);
        let slot = self.make(operation, cell)?;
        if operation.kind.has_result() {
            let own = &mut self.values[operation.result as usize];
            own.home = cell;
            own.slots[usize::from(cell)] = slot;
        }
        Ok(())
    }

    /// Begins a value in a slot of the program; the value before it is gone in all cells.
    fn begin(&mut self, slot: u32, value: Value) {
        let slot = slot as usize;
        if slot >= self.values.len() {
            self.values.resize(slot + 1, Value { slots: [NONE; CELLS_MAX as usize], ..value });
        }
        let before = std::mem::replace(&mut self.values[slot], value);
        self.free.extend(before.slots.iter().filter(|&&slot| slot != NONE));
    }

    fn is_input(&self, value: u32) -> bool {
        self.values[value as usize].operation.kind == Kind::Load
    }

    /// The cell for an operation.
    fn cell_for(&self, operation: &Operation) -> u8 {
        let least = self.work.iter().min().map_or(0, |&least| least);
        let cells = (0..self.work.len()).filter(|&cell| self.work[cell] <= least + self.slack);
        let cost = |&cell: &usize| {
            let is_missing = |&&value: &&u32| {
                let value = &self.values[value as usize];
                value.slots[cell] == NONE && !value.is_cheap
            };
            (operation.operands().iter().filter(is_missing).count(), self.work[cell])
        };
        cells.min_by_key(cost).map_or(0, |cell| cell as u8)
    }

    /// Adds an operation to a cell, after those that give it its operands there; returns the slot of its result.
    fn make(&mut self, mut operation: Operation, cell: u8) -> Result<u32, OverlayError> {
        for place in 0..operation.count() {
            operation.operands[place] = self.value_in(operation.operands[place], cell)?;
        }
        self.work[usize::from(cell)] += match operation.kind {
            Kind::And => AND_WORK,
            Kind::Load | Kind::Leave => 0,
            Kind::Xor | Kind::Output | Kind::Move | Kind::Spill | Kind::Fill => 1,
        };
        self.push(Operation { cell, ..operation })
    }

    fn push(&mut self, operation: Operation) -> Result<u32, OverlayError> {
        let result = match operation.kind.has_result() {
            true => self.free.pop().unwrap_or_else(|| {
                self.fresh += 1;
                self.fresh - 1
            }),
            false => 0,
        };
        Operation { result, ..operation }.write_found(&mut self.file)?;
        Ok(result)
    }

    /// The slot of a value in a cell, to which it is moved, or in which it is made, if it is not there.
    fn value_in(&mut self, value: u32, cell: u8) -> Result<u32, OverlayError> {
        let Value { operation, slots, home, is_cheap } = self.values[value as usize];
        let found = slots[usize::from(cell)];
        if found != NONE {
            return Ok(found);
        }
        let made = if is_cheap {
            self.make(operation, cell)?
        } else {
            self.work[usize::from(home)] += 1;
            let mut moved = Operation { kind: Kind::Move, cell, ..Operation::default() };
            moved.lengths[0] = 1;
            moved.operands[0] = slots[usize::from(home)];
            self.push(Operation { number: home.into(), ..moved })?
        };
        self.values[value as usize].slots[usize::from(cell)] = made;
        Ok(made)
    }
}
