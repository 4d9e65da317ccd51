//! Reads of large arrays at a secret index, as accesses to a memory: how it finds the element is chosen when the
//! program is planned, by what it costs.
//!
//! A memory has the elements that the array had at the first such read. A write to the array, wherever, makes that
//! memory useless; the next read begins another one.

use std::collections::HashMap;
use std::rc::Rc;

use phineus_bytecode::{ElementType, Memory};
use phineus_frontend::SecretMemory;
use phineus_frontend::untyped::Value;

use crate::access::MemoryModel;
use crate::data::{CellValue, IndexTerm, Indexed, is_single_integer, zero_if_unset};
use crate::evaluate::report::ExecutionStop;
use crate::memory::object::Object;

/// Smaller arrays are scanned: no other method can cost less.
const ELEMENTS_MIN: u64 = 257;

/// Memories that may be made of one array, and of all together: each brings in all of its elements.
const MADE_MAX: u32 = 4;
const MADE_IN_ALL_MAX: u32 = 1000;

/// Elements of an array a fixed number of bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Elements {
    object: u32,
    offset: i64,
    stride: i64,
    bytes: u64,
    count: u64,
}

/// Memories of the arrays that were read.
#[derive(Default)]
pub(crate) struct ReadMemories {
    /// With the version of the object that they were made of.
    memories: HashMap<Elements, (u64, SecretMemory)>,
    /// How many were made.
    made: u32,
}

impl MemoryModel {
    /// The element at a secret index, by an access to a memory; nothing if the array is none for that.
    pub(super) fn read_obliviously(
        &mut self,
        indexed: &Indexed,
        counts: &[(u64, IndexTerm)],
        bytes: u64,
    ) -> Result<Option<CellValue>, ExecutionStop> {
        let [(count, term)] = counts else { return Ok(None) };
        let is_large = *count >= ELEMENTS_MIN;
        if !self.has_memories || !is_large || !self.values.is_at_single_secret(&term.index) {
            return Ok(None);
        }
        let (object, offset, stride) = (indexed.object, indexed.offset, term.stride);
        let elements = Elements { object, offset, stride, bytes, count: *count };
        let Object { version, is_alive, .. } = *self.memory.object(object);
        let known = self.read_memories.memories.get(&elements);
        let memory = match known.filter(|(made_of, _)| *made_of == version && is_alive) {
            Some((_, memory)) => memory.clone(),
            None => match self.memory_of(elements)? {
                Some(memory) => memory,
                None => return Ok(None),
            },
        };
        let index = self.values.emit.value(&term.index, term.width);
        memory.open(&index);
        let cell = memory.cells().swap_remove(0);
        Ok(Some(self.values.emit.known(cell)))
    }

    /// A new memory of these elements, if all are integers.
    fn memory_of(&mut self, elements: Elements) -> Result<Option<SecretMemory>, ExecutionStop> {
        let Elements { object, offset, stride, bytes, count } = elements;
        let made = self.memory.object(object).memories_made;
        if made >= MADE_MAX || self.read_memories.made >= MADE_IN_ALL_MAX {
            return Ok(None);
        }
        self.memory.object_mut(object).memories_made += 1;
        self.read_memories.made += 1;
        let mut cells = Vec::with_capacity(count as usize);
        for element in 0..count as i64 {
            let at = offset + element * stride;
            if self.memory.check(object, at, bytes).is_err() {
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
        let version = self.memory.object(object).version;
        self.read_memories.memories.insert(elements, (version, memory.clone()));
        Ok(Some(memory))
    }
}
