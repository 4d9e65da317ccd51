//! Accesses to large arrays at secret indices, as accesses to a memory: how it finds the element is chosen when the
//! program is planned, by what it costs.
//!
//! A memory has the elements that the array had when it was made. As long as the array is only read at secret indices,
//! its cells stay as they are. The first write at a secret index makes them rows ([`CellValue::Row`]), which say that the
//! memory knows what they are (`rows.rs`).
//!
//! An access takes place whatever branches on secrets are taken. In an arm it changes its row only if the arm is
//! taken, so on the path that is taken a row is what it is in C, and the end of an arm has nothing to choose between.

use std::collections::HashMap;
use std::rc::Rc;

use phineus_bytecode::{ElementType, Memory};
use phineus_frontend::SecretMemory;
use phineus_frontend::untyped::Value;

use crate::access::MemoryModel;
use crate::data::{CellValue, IndexTerm, Indexed, is_single_integer, zero_if_unset};
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Unary};

/// Smaller arrays are scanned: no other method can cost less.
const ELEMENTS_MIN: u64 = 257;

/// Memories that may be made of one array, and of all together: each brings in all of its elements.
pub(super) const MADE_MAX: u32 = 4;
const MADE_IN_ALL_MAX: u32 = 1000;

/// Elements of an array a fixed number of bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Elements {
    pub(super) object: u32,
    /// Objects of one number follow each other.
    pub(super) born: u64,
    pub(super) offset: i64,
    pub(super) stride: i64,
    pub(super) bytes: u64,
    pub(super) count: u64,
}

impl Elements {
    /// Where an element lies in its object.
    pub(super) fn place(&self, row: u64) -> i64 {
        self.offset + row as i64 * self.stride
    }

    /// The row at which the elements of `other` begin, if all of them are among these.
    fn first_of(&self, other: &Elements) -> Option<u64> {
        let Elements { object, born, offset, stride, bytes, count } = *other;
        let is_alike =
            (object, born, stride, bytes) == (self.object, self.born, self.stride, self.bytes);
        let from = offset - self.offset;
        let rows = from.checked_div(stride).filter(|rows| rows * stride == from)?;
        let first = u64::try_from(rows).ok()?;
        (is_alike && first + count <= self.count).then_some(first)
    }
}

/// The access that was recorded last.
struct LastAccess {
    /// The address as the program computed it.
    address: Indexed,
    /// The row after this access, if the access read or replaced it.
    cell: Option<CellValue>,
    is_changed: bool,
}

/// An array that was brought into a memory.
pub(super) struct ArrayMemory {
    pub(super) elements: Elements,
    memory: SecretMemory,
    /// Rows whose value is known without another access.
    pub(super) known: HashMap<u64, CellValue>,
    /// The version of the object when all of its elements were in the memory.
    pub(super) version: u64,
    /// Whether the cells of the object are rows.
    pub(super) has_rows: bool,
    last: Option<LastAccess>,
}

/// All arrays that were brought into memories.
#[derive(Default)]
pub(crate) struct ArrayMemories {
    pub(super) all: Vec<ArrayMemory>,
    /// The last one of each array.
    by_elements: HashMap<Elements, u32>,
}

/// An access to a row of a memory.
#[derive(Clone)]
pub(super) struct RowAccess {
    pub(super) memory: u32,
    /// The row, an integer of `width` bits.
    index: CellValue,
    width: u16,
    address: Indexed,
}

impl MemoryModel {
    /// The access that this address means, of which the index reaches so many elements; nothing if the array is none for
    /// that.
    pub(super) fn row_access(
        &mut self,
        (address, settled): (&Indexed, &Indexed),
        (counts, reached): (&[(u64, IndexTerm)], u64),
        bytes: u64,
    ) -> Result<Option<RowAccess>, ExecutionStop> {
        let [(count, term)] = counts else { return Ok(None) };
        // Elements that overlap are no rows of a memory.
        let overlaps = term.stride.unsigned_abs() < bytes;
        if !self.has_memories || overlaps || !self.values.is_at_single_secret(&term.index) {
            return Ok(None);
        }
        let (object, offset, stride, count) = (settled.object, settled.offset, term.stride, *count);
        let born = self.memory.object(object).born;
        let elements = Elements { object, born, offset, stride, bytes, count };
        let Some((memory, first)) = self.memory_of(elements, reached)? else {
            return Ok(None);
        };
        let (index, width) = self.shifted(term, first, memory)?;
        Ok(Some(RowAccess { memory, index, width, address: address.clone() }))
    }

    /// A memory with these elements, all of them brought in, and the row of the first.
    fn memory_of(
        &mut self,
        elements: Elements,
        reached: u64,
    ) -> Result<Option<(u32, u64)>, ExecutionStop> {
        if self.memory.object(elements.object).memories_made > MADE_MAX {
            return Ok(None);
        }
        // Cells that are rows are in one memory alone.
        let of_rows = self.array_memories.all.iter().enumerate().rev().find_map(|(number, one)| {
            let first = one.has_rows.then(|| one.elements.first_of(&elements)).flatten()?;
            Some((number as u32, first))
        });
        if let Some((memory, first)) = of_rows {
            return Ok(self.bring_in(memory)?.map(|memory| (memory, first)));
        }
        if reached < ELEMENTS_MIN {
            return Ok(None);
        }
        match self.array_memories.by_elements.get(&elements).copied() {
            Some(memory) => Ok(self.bring_in(memory)?.map(|memory| (memory, 0))),
            None => Ok(self.make_memory(elements)?.map(|memory| (memory, 0))),
        }
    }

    /// A new memory of these elements, if all are integers.
    pub(super) fn make_memory(&mut self, elements: Elements) -> Result<Option<u32>, ExecutionStop> {
        let Elements { object, bytes, count, .. } = elements;
        let made = &mut self.memory.object_mut(object).memories_made;
        *made += 1;
        if *made > MADE_MAX || self.array_memories.all.len() >= MADE_IN_ALL_MAX as usize {
            return Ok(None);
        }
        let mut cells = Vec::with_capacity(count as usize);
        for row in 0..count {
            let at = elements.place(row);
            let is_inside = self.memory.check(object, at, bytes).is_ok();
            if !is_inside || self.row_at(object, at as u64, bytes).is_some() {
                return Ok(None);
            }
            let mut cell = self.read(object, at as u64, bytes as u8)?;
            zero_if_unset(&mut cell);
            if !is_single_integer(&cell) {
                return Ok(None);
            }
            cells.push(cell);
        }
        let bits = bytes as u16 * 8;
        let name = self.memory.object(object).name.clone();
        let memory = self.values.emit.tracer.secret_memory(Memory {
            name: if name.is_empty() { "an array".to_owned() } else { name },
            columns: vec![ElementType::unsigned(bits)],
            rows: count,
            method: None,
            is_linked: false,
        });
        let lanes = phineus_frontend::lanes_for(bits) as usize;
        for (chunk, first) in cells.chunks(lanes).zip((0..).step_by(lanes)) {
            let values: Rc<Value> = self.values.emit.pack(chunk, bits);
            memory.set(0, first, &values);
        }
        let known = (0..).zip(cells).collect();
        let version = self.memory.object(object).version;
        let made = ArrayMemory { elements, memory, known, version, has_rows: false, last: None };
        let number = self.array_memories.all.len() as u32;
        self.array_memories.all.push(made);
        self.array_memories.by_elements.insert(elements, number);
        Ok(Some(number))
    }

    /// The row that an index means, counted from row `first`.
    fn shifted(
        &mut self,
        term: &IndexTerm,
        first: u64,
        memory: u32,
    ) -> Result<(CellValue, u16), ExecutionStop> {
        if first == 0 {
            return Ok((term.index.clone(), term.width));
        }
        let rows = self.array_memories.all[memory as usize].elements.count;
        let width = (u64::BITS - rows.leading_zeros()) as u16;
        let resize = if term.width < width { Unary::ZeroExtend } else { Unary::Truncate };
        let index = self.values.unary(resize, term.width, width, &term.index)?;
        let first = CellValue::Public(first.into());
        Ok((self.values.binary(Binary::Add, width, &index, &first)?, width))
    }

    /// The access to a row at a public index.
    pub(super) fn public_access(&self, memory: u32, row: u64) -> RowAccess {
        let Elements { object, count, .. } = self.array_memories.all[memory as usize].elements;
        let width = (u64::BITS - (count - 1).leading_zeros()).max(1) as u16;
        let offset = self.array_memories.all[memory as usize].elements.place(row);
        let address = Indexed { object, offset, terms: Vec::new() };
        RowAccess { memory, index: CellValue::Public(row.into()), width, address }
    }

    /// Begins an access, unless the last one is to the same row and `may_go_on`.
    fn open(&mut self, access: &RowAccess, may_go_on: impl Fn(&LastAccess) -> bool) {
        let one = &mut self.array_memories.all[access.memory as usize];
        let goes_on = |last: &LastAccess| last.address.is_same(&access.address) && may_go_on(last);
        if one.last.as_ref().is_some_and(goes_on) {
            return;
        }
        let index = self.values.emit.value(&access.index, access.width);
        one.memory.open(&index);
        let address = access.address.clone();
        one.last = Some(LastAccess { address, cell: None, is_changed: false });
    }

    /// Reads a row, by a new access unless its value is known.
    pub(super) fn read_row(&mut self, access: &RowAccess) -> CellValue {
        let one = &self.array_memories.all[access.memory as usize];
        let row = match access.index {
            CellValue::Public(row) => Some(row as u64),
            _ => None,
        };
        if let Some(known) = row.and_then(|row| one.known.get(&row)) {
            return known.clone();
        }
        self.open(access, |last| last.cell.is_some() || !last.is_changed);
        let one = &mut self.array_memories.all[access.memory as usize];
        let last = one.last.as_mut().expect("an access was begun");
        let emit = &self.values.emit;
        let cell = last.cell.get_or_insert_with(|| emit.known(one.memory.cells().swap_remove(0)));
        let cell = cell.clone();
        if let Some(row) = row {
            one.known.insert(row, cell.clone());
        }
        cell
    }

    /// Replaces the row where a condition holds.
    pub(super) fn write_row(
        &mut self,
        access: &RowAccess,
        data: &CellValue,
        condition: &CellValue,
    ) -> Result<(), ExecutionStop> {
        let bits = self.array_memories.all[access.memory as usize].elements.bytes as u16 * 8;
        let is_certain = matches!(condition, CellValue::Public(bit) if bit & 1 == 1);
        let mut new = data.clone();
        zero_if_unset(&mut new);
        if !is_certain {
            self.open(access, |last| !last.is_changed);
            let old = self.read_row(access);
            new = self.values.select(condition, &new, &old, bits)?;
        }
        self.open(access, |last| !last.is_changed);
        let value = self.values.emit.value(&new, bits);
        let one = &mut self.array_memories.all[access.memory as usize];
        one.memory.change(0, &value);
        let last = one.last.as_mut().expect("an access was begun");
        (last.cell, last.is_changed) = (Some(new.clone()), true);
        match access.index {
            CellValue::Public(row) => drop(one.known.insert(row as u64, new)),
            _ => {
                one.known.clear();
                // Other memories that have the same elements are behind.
                one.version = self.memory.touch(one.elements.object);
            }
        }
        Ok(())
    }
}
