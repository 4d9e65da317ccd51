//! [`expand`]: replaces the accesses of a program to its memories by what a method does for them.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek, Write};

use phineus_bytecode::{ElementType, Instruction, Lane, Memory, MemoryMethod, Op, ProgramReader};
use phineus_frontend::{ProgramError, Records, Traced, Tracer, Value, lanes_for};

use super::accesses::{AccessKind, for_each_access};
use super::position_map::MapKind;
use super::scan::{LinearScan, ScannedRow};
use super::square_root::{SquareRoot, TakenRow};

/// Writes `program` to `output` without operations on memories: the one with index `i` is accessed by method
/// `methods[i]`, as the description then says.
///
/// Memory: some 100 bytes for each access and each constant of one lane, besides what the methods keep for a memory.
///
/// # Errors
/// If the program cannot be read, or the new one not written.
///
/// # Panics
/// If there are not as many methods as memories.
pub fn expand<R: Read + Seek>(
    program: &mut ProgramReader<R>,
    methods: &[MemoryMethod],
    output: impl Write + 'static,
) -> Result<Traced, ProgramError> {
    let mut description = program.description().clone();
    assert_eq!(methods.len(), description.memories.len(), "a method for each memory");
    for (memory, &method) in description.memories.iter_mut().zip(methods) {
        memory.method = Some(method);
    }
    let mut kinds = vec![Vec::new(); methods.len()];
    for_each_access(program, |access| kinds[access.memory].push(access.kind))?;
    let memories = description.memories.iter().zip(methods);
    let mut expansion = Expansion {
        tracer: Tracer::of_description(&description, output)?,
        renamed: Vec::new(),
        constants: HashMap::new(),
        memories: memories
            .zip(kinds)
            .map(|((shape, &method), kinds)| ExpandedMemory::new(shape, method, kinds.into_iter()))
            .collect(),
    };
    program.for_each::<ProgramError>(|instruction| {
        expansion.step(instruction);
        Ok(())
    })?;
    expansion.tracer.finish()
}

/// The state of an expansion.
struct Expansion {
    tracer: Tracer,
    /// From which name of the old program on, what is added to a name in the new one; ascending.
    renamed: Vec<(u64, u64)>,
    /// Constants of one lane, by their old names.
    constants: HashMap<u64, Lane>,
    memories: Vec<ExpandedMemory>,
}

impl Expansion {
    fn step(&mut self, instruction: &Instruction) {
        if instruction.op.is_of_memory() {
            return self.access(instruction);
        }
        if instruction.op == Op::Constant && instruction.lanes == 1 {
            let lane = Lane::from_limbs(instruction.immediates);
            self.constants.insert(instruction.results[0], lane);
        }
        let mut copy = *instruction;
        for (place, &operand) in copy.operands.iter_mut().zip(instruction.operands()) {
            *place = self.name(operand);
        }
        let result = self.tracer.copy(&copy);
        if let (Some(new), Some(&old)) = (result, instruction.results().first()) {
            self.rename(old, new);
        }
    }

    /// Takes note that `old`, and what is defined behind it, is now called `new`.
    fn rename(&mut self, old: u64, new: u64) {
        let shift = new.wrapping_sub(old);
        if self.renamed.last().is_none_or(|&(_, last)| last != shift) {
            self.renamed.push((old, shift));
        }
    }

    fn name(&self, old: u64) -> u64 {
        let index = self.renamed.partition_point(|&(first, _)| first <= old);
        let shift = index.checked_sub(1).map_or(0, |index| self.renamed[index].1);
        old.wrapping_add(shift)
    }

    /// The value of one operand, of the instruction's own shape.
    fn operand(&self, instruction: &Instruction) -> Value {
        let old = instruction.operands[0];
        match self.constants.get(&old) {
            Some(&lane) if instruction.lanes == 1 => {
                self.tracer.constant(instruction.element, lane)
            }
            _ => self.tracer.named(self.name(old), instruction.element, instruction.lanes),
        }
    }

    fn access(&mut self, instruction: &Instruction) {
        let [index, column, row, _] = instruction.immediates;
        let (index, column) = (index as usize, column as usize);
        match instruction.op {
            Op::MemorySet => {
                let cells = self.operand(instruction);
                self.memories[index].cells[column].insert(row, cells);
            }
            Op::MemoryOpen => {
                let at = self.operand(instruction);
                self.memories[index].open(&self.tracer, &at);
            }
            Op::MemoryChange => {
                let cell = self.operand(instruction);
                self.memories[index].opened().new[column] = Some(cell);
            }
            Op::MemoryCell => {
                let cell = self.memories[index].cell(column);
                if let Some(new) = self.tracer.name_of_value(&cell) {
                    self.rename(instruction.results[0], new);
                }
            }
            op => unreachable!("{} is not about a memory", op.info().name),
        }
    }
}

/// A memory, and how it is accessed.
struct ExpandedMemory {
    elements: Vec<ElementType>,
    rows: u64,
    method: MemoryMethod,
    /// The kinds of the accesses that are left.
    kinds: std::vec::IntoIter<AccessKind>,
    /// Cells that are set before the first access: by column and first row.
    cells: Vec<BTreeMap<u64, Value>>,
    /// The rows, from the first access on.
    store: Option<Store>,
    access: Option<Access>,
}

enum Store {
    Scan(LinearScan),
    SquareRoot(Box<SquareRoot>),
}

/// An access that is not complete.
struct Access {
    row: AccessedRow,
    /// Cells that were read, by column.
    cells: Vec<Option<Value>>,
    /// New cells, by column.
    new: Vec<Option<Value>>,
}

enum AccessedRow {
    Scanned(ScannedRow),
    Taken(TakenRow),
}

impl ExpandedMemory {
    fn new(
        shape: &Memory,
        method: MemoryMethod,
        kinds: std::vec::IntoIter<AccessKind>,
    ) -> ExpandedMemory {
        ExpandedMemory {
            elements: shape.columns.clone(),
            rows: shape.rows,
            method,
            kinds,
            cells: vec![BTreeMap::new(); shape.columns.len()],
            store: None,
            access: None,
        }
    }

    fn opened(&mut self) -> &mut Access {
        self.access.as_mut().expect("the verifier has seen that an access comes first")
    }

    fn cell(&mut self, column: usize) -> Value {
        if let Some(cell) = &self.opened().cells[column] {
            return cell.clone();
        }
        let store = self.store.as_ref().expect("it was made for the access");
        let access = self.access.as_mut().expect("there is one");
        let cell = store.cell(&access.row, column);
        access.cells[column] = Some(cell.clone());
        cell
    }

    /// Completes the access before, and begins one.
    fn open(&mut self, tracer: &Tracer, index: &Value) {
        if self.store.is_none() {
            let records = self.records(tracer);
            self.store = Some(match self.method {
                MemoryMethod::Scan => Store::Scan(LinearScan::new(records)),
                MemoryMethod::SquareRoot => Store::square_root(records, MapKind::Published),
                MemoryMethod::SquareRootTable => Store::square_root(records, MapKind::Located),
            });
        }
        let store = self.store.as_mut().expect("it was made");
        if let Some(Access { row, cells, new }) = self.access.take() {
            store.close(row, &cells, &new);
        }
        let kind = self.kinds.next().expect("it was counted");
        let row = store.open(index, kind);
        let none = vec![None; self.elements.len()];
        self.access = Some(Access { row, cells: none.clone(), new: none });
    }

    /// The rows at the beginning.
    fn records(&mut self, tracer: &Tracer) -> Records {
        let widest = self.elements.iter().map(|element| element.width()).max();
        let lanes = lanes_for(widest.expect("a memory has columns"));
        let columns = self.elements.iter().zip(&mut self.cells).map(|(&element, cells)| {
            let zero = tracer.constant(element, Lane::ZERO);
            let mut pieces = Vec::new();
            let mut next = 0;
            let skip = |pieces: &mut Vec<Value>, next: &mut u64, to: u64| {
                while *next < to {
                    let lanes = (to - *next).min(lanes.into()) as u32;
                    pieces.push(zero.tile(lanes));
                    *next += u64::from(lanes);
                }
            };
            for (row, cells) in std::mem::take(cells) {
                skip(&mut pieces, &mut next, row);
                next += u64::from(cells.lanes());
                pieces.push(cells);
            }
            skip(&mut pieces, &mut next, self.rows);
            pieces
        });
        let columns = columns.collect();
        Records::from_pieces(tracer, lanes, &self.elements, columns)
    }
}

impl Store {
    fn square_root(records: Records, kind: MapKind) -> Store {
        Store::SquareRoot(Box::new(SquareRoot::new(records, kind)))
    }

    fn open(&mut self, index: &Value, kind: AccessKind) -> AccessedRow {
        match self {
            Store::Scan(scan) => AccessedRow::Scanned(scan.open(index)),
            Store::SquareRoot(memory) => AccessedRow::Taken(memory.open(index, kind)),
        }
    }

    fn cell(&self, row: &AccessedRow, column: usize) -> Value {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.cell(row, column),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.cell(row, column),
            (Store::Scan(_), AccessedRow::Taken(_))
            | (Store::SquareRoot(_), AccessedRow::Scanned(_)) => {
                unreachable!("a memory has one method")
            }
        }
    }

    fn close(&mut self, row: AccessedRow, cells: &[Option<Value>], new: &[Option<Value>]) {
        match (self, row) {
            (Store::Scan(scan), AccessedRow::Scanned(row)) => scan.close(&row, cells, new),
            (Store::SquareRoot(memory), AccessedRow::Taken(row)) => memory.close(row, new),
            (Store::Scan(_), AccessedRow::Taken(_))
            | (Store::SquareRoot(_), AccessedRow::Scanned(_)) => {
                unreachable!("a memory has one method")
            }
        }
    }
}
