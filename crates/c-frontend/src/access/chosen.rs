//! Reads and writes at an address that a secret chooses (`evaluate/addresses.rs`).
//!
//! Cost: of `n` places a read takes `n - 1` choices and a write `n`.

use crate::access::MemoryModel;
use crate::data::{CellValue, Choices, is_address};
use crate::evaluate::report::ExecutionStop;
use crate::ir::Type;

impl MemoryModel {
    /// Whether something can lie there: null, or beyond an array, is never meant.
    fn is_place(&self, place: &CellValue, bytes: u64) -> bool {
        let is_inside = |object: u32, at: &i64| self.memory.check(object, *at, bytes).is_ok();
        match place {
            CellValue::Pointer(object, at) => is_inside(*object, at),
            CellValue::Places(object, all) => all.iter().all(|at| is_inside(*object, at)),
            other => is_address(other),
        }
    }

    /// Whether some lanes are where something can lie and some are not: then each lane has to be
    /// looked at by itself.
    fn is_split(&self, choices: &Choices, bytes: u64) -> bool {
        let is_inside = |object: u32, at: &i64| self.memory.check(object, *at, bytes).is_ok();
        choices.iter().any(|(_, place)| match place {
            CellValue::Places(object, all) => {
                let inside = all.iter().filter(|at| is_inside(*object, at)).count();
                inside > 0 && inside < all.len()
            }
            _ => false,
        })
    }

    pub(crate) fn read_chosen(
        &mut self,
        choices: &Choices,
        bytes: u64,
    ) -> Result<CellValue, ExecutionStop> {
        if self.is_split(choices, bytes) {
            return Err(ExecutionStop::Abandon);
        }
        let readable = choices.iter().filter(|(_, place)| self.is_place(place, bytes));
        let readable: Choices = readable.cloned().collect();
        let count = readable.len();
        if count == 0 {
            return self.load(&Type::Integer(bytes as u16 * 8), choices[0].1.clone());
        }
        let remedy = format!("{} choices of {} bits", count - 1, bytes * 8);
        let what = format!("a read at an address that a secret chooses looks at {count} places");
        self.values.note(what, &remedy);
        let mut all = Vec::with_capacity(count);
        for (bit, place) in readable.iter() {
            all.push((bit.clone(), self.load_bytes(place.clone(), bytes)?));
        }
        self.values.choose(all, bytes as u16 * 8)
    }

    pub(crate) fn write_chosen(
        &mut self,
        choices: &Choices,
        bytes: u64,
        data: &CellValue,
    ) -> Result<(), ExecutionStop> {
        if self.is_split(choices, bytes) {
            return Err(ExecutionStop::Abandon);
        }
        let writable = choices.iter().filter(|(_, place)| self.is_place(place, bytes));
        let writable: Vec<(CellValue, CellValue)> = writable.cloned().collect();
        if writable.is_empty() {
            return self.store_bytes(data.clone(), choices[0].1.clone(), bytes);
        }
        let count = writable.len();
        let remedy = format!("{count} choices of {} bits", bytes * 8);
        let what = format!("a write at an address that a secret chooses touches {count} places");
        self.values.note(what, &remedy);
        for (bit, place) in writable {
            let old = self.load_bytes(place.clone(), bytes)?;
            let new = self.values.select(&bit, data, &old, bytes as u16 * 8)?;
            self.store_bytes(new, place, bytes)?;
        }
        Ok(())
    }

    /// Bytes that a value at one of these places surely has, as a power of two.
    pub(crate) fn granule_of(&self, place: &CellValue) -> u64 {
        match place {
            CellValue::Pointer(object, at) => 1 << self.granule_at(*object, *at),
            CellValue::Places(object, all) => {
                all.iter().map(|at| 1 << self.granule_at(*object, *at)).min().unwrap_or(1)
            }
            CellValue::Indexed(indexed) => {
                let steps = indexed.terms.iter().fold(indexed.offset, |all, t| all | t.stride);
                1 << self.granule_at(indexed.object, steps)
            }
            CellValue::Chosen(choices) => {
                choices.iter().map(|(_, place)| self.granule_of(place)).min().unwrap_or(1)
            }
            _ => 16,
        }
    }

    fn granule_at(&self, object: u32, at: i64) -> u32 {
        (self.memory.object(object).granule | at as u64).trailing_zeros().min(4)
    }
}
