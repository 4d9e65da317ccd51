//! [`SecretMemory`]: rows at secret indices, before it is decided how they are found; and [`Tracer::copy`], by which a
//! program is recorded again once that is decided.

use phineus_bytecode::limits::REGISTER_BITS;
use phineus_bytecode::{CarriedSlot, Description, ElementType, Instruction, Memory, Op};

use crate::blocks::local;
use crate::error::ProgramError;
use crate::tracer::Tracer;
use crate::value::Value;

/// Rows of some columns that are read and changed at secret indices.
///
/// The program says what it accesses, and not how: methods, and what they cost, are those of
/// `phineus_oblivious::Memory`, by which programs use this.
#[derive(Clone)]
pub struct SecretMemory {
    tracer: Tracer,
    index: u64,
    columns: Vec<ElementType>,
    link: ElementType,
}

impl Tracer {
    /// A new memory, whose cells are 0.
    pub fn secret_memory(&self, shape: Memory) -> SecretMemory {
        let (columns, link) = (shape.columns.clone(), shape.link());
        let memories = &mut self.recording.borrow_mut().description.memories;
        memories.push(shape);
        SecretMemory { tracer: self.clone(), index: memories.len() as u64 - 1, columns, link }
    }

    /// How many memories the program has.
    pub fn memory_count(&self) -> usize {
        self.recording.borrow().description.memories.len()
    }

    /// Begins a program that has the parties, ports and all else of `description`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn of_description(
        description: &Description,
        output: impl std::io::Write + 'static,
    ) -> Result<Tracer, ProgramError> {
        let tracer = Tracer::new(&description.name, output)?;
        tracer.recording.borrow_mut().description = description.clone();
        Ok(tracer)
    }

    /// Records an instruction whose operands are values of this program; returns the name of its first result.
    pub fn copy(&self, instruction: &Instruction) -> Option<u64> {
        let mut copy = *instruction;
        copy.operands = copy.operands.map(local);
        self.push(&mut copy).map(|results| results[0])
    }

    /// The value of this program with this name.
    pub fn named(&self, name: u64, element: ElementType, lanes: u32) -> Value {
        Value::result(self, element, lanes, Some([name, 0]), 0)
    }

    /// The name of a value in the block at hand, recorded if it was not.
    pub fn name_of_value(&self, value: &Value) -> Option<u64> {
        self.name_in(value, value.sharing())
    }

    /// The carried value with this number, as it was when the block at hand began.
    pub fn carried(&self, slot: u32) -> Value {
        let CarriedSlot { element, lanes } =
            self.recording.borrow().description.slots[slot as usize];
        self.load(slot, element, lanes)
    }

    /// Makes `value` the carried value with this number, at the end of the block at hand.
    pub fn carry(&self, slot: u32, value: &Value) {
        let CarriedSlot { element, .. } = self.recording.borrow().description.slots[slot as usize];
        if let Some(name) = self.name_in(value, element.sharing()) {
            self.recording.borrow_mut().current_mut().stores.insert(slot, local(name));
        }
    }
}

impl SecretMemory {
    /// Makes the lanes the cells of a column from `row` on; before any access.
    #[track_caller]
    pub fn set(&self, column: usize, row: u64, cells: &Value) {
        self.set_each_iteration(column, row, 0, cells);
    }

    /// As [`SecretMemory::set`]; where the block at hand is repeated, `stride` rows further in each iteration.
    #[track_caller]
    pub fn set_each_iteration(&self, column: usize, row: u64, stride: u64, cells: &Value) {
        self.put(Op::MemorySet, column, [row, stride], cells);
    }

    /// Begins an access to the row at `index`, an integer of one lane without sign.
    #[track_caller]
    pub fn open(&self, index: &Value) {
        let index = index.with_sign(false);
        if index.width() > REGISTER_BITS {
            let width = index.width();
            self.tracer.fault(format!("an index has at most {REGISTER_BITS} bits, not {width}"));
            return;
        }
        self.tracer.emit(
            Op::MemoryOpen,
            index.element(),
            index.lanes(),
            &[&index],
            [self.index, 0, 0, 0],
        );
    }

    /// The link to a row of a linked memory, after all cells are set.
    #[track_caller]
    pub fn link(&self, row: u64) -> Value {
        self.take(Op::MemoryLink, self.link, [self.index, row, 0, 0])
    }

    /// Begins an access to the row that a link leads to.
    ///
    /// # Security
    /// No row is accessed twice, whatever the data.
    #[track_caller]
    pub fn follow(&self, link: &Value) {
        self.tracer.emit(Op::MemoryFollow, self.link, 1, &[link], [self.index, 0, 0, 0]);
    }

    /// The link to the row behind the one that was accessed last.
    #[track_caller]
    pub fn next_link(&self) -> Value {
        self.take(Op::MemoryNext, self.link, [self.index, 0, 0, 0])
    }

    #[track_caller]
    fn take(&self, op: Op, element: ElementType, immediates: [u64; 4]) -> Value {
        let results = self.tracer.emit(op, element, 1, &[], immediates);
        Value::result(&self.tracer, element, 1, results, 0)
    }

    /// The cells of the row that was accessed last; zeros beyond the last row.
    #[track_caller]
    pub fn cells(&self) -> Vec<Value> {
        let cell = |(column, &element): (usize, &ElementType)| {
            self.take(Op::MemoryCell, element, [self.index, column as u64, 0, 0])
        };
        self.columns.iter().enumerate().map(cell).collect()
    }

    /// Replaces a cell of that row; beyond the last row, nothing.
    #[track_caller]
    pub fn change(&self, column: usize, cell: &Value) {
        self.put(Op::MemoryChange, column, [0; 2], cell);
    }

    #[track_caller]
    fn put(&self, op: Op, column: usize, [row, stride]: [u64; 2], value: &Value) {
        let wanted = self.columns[column];
        if value.integer() != wanted {
            let found = value.integer();
            self.tracer.fault(format!("cells of column {column} are {wanted}, not {found}"));
        }
        let immediates = [self.index, column as u64, row, stride];
        self.tracer.emit(op, wanted, value.lanes(), &[value], immediates);
    }
}
