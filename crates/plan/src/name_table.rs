//! [`NameTable`]: facts about each value that is alive, by the value's name.
//!
//! Memory follows the most values that were alive at once, and depends on the program alone: a table
//! with random hashing would grow at another moment in each run.

use std::ops::Index;

use phineus_bytecode::limits::RESULTS_MAX;

use crate::error::Error;
use crate::scratch::{Position, TableBudget};
use crate::value_map::ValueMap;

/// Names that one instruction brings in at most.
const ADDED: usize = RESULTS_MAX;

/// A map from value names to `V`.
pub(crate) struct NameTable<V> {
    places: ValueMap,
    entries: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<V> NameTable<V> {
    pub(crate) fn new() -> NameTable<V> {
        NameTable { places: ValueMap::new(), entries: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes that the table takes at most while the next `added` names come in. Large vectors grow in
    /// place (the system moves their pages), so only the map is there twice for a moment.
    pub(crate) fn memory_bytes_after(&self, added: usize) -> u64 {
        let entries = self.entries.len() + added;
        let entry_bytes = size_of::<Option<V>>() + size_of::<u32>();
        self.places.memory_bytes_after(added) + (entries * entry_bytes) as u64
    }

    /// Counts `beside` and the largest size that the table can have after the next instruction.
    #[inline]
    pub(crate) fn count(
        &self,
        tables: &mut TableBudget,
        beside: u64,
        position: Position,
    ) -> Result<(), Error> {
        tables.count(beside + self.memory_bytes_after(ADDED), self.len(), position)
    }

    pub(crate) fn contains(&self, name: u64) -> bool {
        self.places.value(name).is_some()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, name: u64) -> Option<&mut V> {
        self.entries[self.places.value(name)? as usize].as_mut()
    }

    pub(crate) fn insert(&mut self, name: u64, value: V) {
        match self.places.value(name) {
            Some(place) => self.entries[place as usize] = Some(value),
            None => {
                let place = self.free.pop().unwrap_or(self.entries.len() as u32);
                match self.entries.get_mut(place as usize) {
                    Some(entry) => *entry = Some(value),
                    None => self.entries.push(Some(value)),
                }
                self.places.insert(name, u64::from(place));
            }
        }
    }

    pub(crate) fn remove(&mut self, name: u64) {
        if let Some(place) = self.places.remove(name) {
            self.entries[place as usize] = None;
            self.free.push(place as u32);
        }
    }
}

impl<V> Index<u64> for NameTable<V> {
    type Output = V;

    /// # Panics
    /// If the name is not in the table.
    #[inline]
    fn index(&self, name: u64) -> &V {
        let place = self.places.value(name).expect("the name is in the table");
        self.entries[place as usize].as_ref().expect("a place that is taken has a value")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_like_a_map(steps: Vec<(bool, u16, u64)>) {
            let (mut model, mut table) = (HashMap::new(), NameTable::new());
            for (insert, name, value) in steps {
                let name = u64::from(name % 512);
                if insert {
                    model.insert(name, value);
                    table.insert(name, value);
                } else {
                    model.remove(&name);
                    table.remove(name);
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert_eq!(table.contains(name), model.contains_key(&name));
                prop_assert_eq!(table.get_mut(name).copied(), model.get(&name).copied());
            }
            for (name, value) in model {
                prop_assert_eq!(table[name], value);
            }
        }
    }
}
