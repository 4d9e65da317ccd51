//! [`ValueMap`]: from value names to numbers, for the values alive at one moment.
//!
//! Names are counted, and most living values are young, so names modulo a power of two seldom
//! collide: the map is a *window* of that size, in which neighbours share cache lines. A name whose
//! place is taken by another living one goes to an *overflow* table with open addressing. The
//! window doubles when the overflow holds half as many, so memory follows the number of entries.

/// Marks an empty place; no program defines this many values.
const EMPTY: u64 = u64::MAX;

type Entry = (u64, u64);

/// A map from `u64` names below `u64::MAX` to `u64`.
pub(crate) struct ValueMap {
    window: Vec<Entry>,
    window_len: usize,
    overflow: HashTable,
}

impl ValueMap {
    pub(crate) fn new() -> ValueMap {
        ValueMap { window: vec![(EMPTY, 0); 1024], window_len: 0, overflow: HashTable::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.window_len + self.overflow.len
    }

    /// Bytes that the map takes at most while the next `added` entries come in.
    pub(crate) fn memory_bytes_after(&self, added: usize) -> u64 {
        // What doubles is there twice for a moment: once as it was, once as it will be.
        let crowded = self.overflow.len + added;
        let doubled = |entries: usize, doubles: bool| if doubles { 3 * entries } else { entries };
        let entries = doubled(self.window.len(), 2 * crowded > self.window.len())
            + doubled(self.overflow.entries.len(), 2 * crowded > self.overflow.entries.len());
        (entries * size_of::<Entry>()) as u64
    }

    #[inline]
    fn place(&self, key: u64) -> usize {
        key as usize & (self.window.len() - 1)
    }

    /// The number for `key`.
    #[inline]
    pub(crate) fn value(&self, key: u64) -> Option<u64> {
        let entry = self.window[self.place(key)];
        if entry.0 == key { Some(entry.1) } else { self.overflow.value(key) }
    }

    /// Sets the number for `key`; returns the one before.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, value: u64) -> Option<u64> {
        let place = self.place(key);
        let entry = &mut self.window[place];
        if entry.0 == key {
            return Some(std::mem::replace(&mut entry.1, value));
        }
        if entry.0 == EMPTY && self.overflow.len == 0 {
            *entry = (key, value);
            self.window_len += 1;
            return None;
        }
        self.insert_crowded(key, value)
    }

    fn insert_crowded(&mut self, key: u64, value: u64) -> Option<u64> {
        if let Some(found) = self.overflow.value_mut(key) {
            return Some(std::mem::replace(found, value));
        }
        let place = self.place(key);
        if self.window[place].0 == EMPTY {
            self.window[place] = (key, value);
            self.window_len += 1;
        } else {
            self.overflow.insert(key, value);
            if 2 * self.overflow.len > self.window.len() {
                self.grow();
            }
        }
        None
    }

    /// Takes `key` out; returns its number.
    #[inline]
    pub(crate) fn remove(&mut self, key: u64) -> Option<u64> {
        let place = self.place(key);
        let entry = &mut self.window[place];
        if entry.0 == key {
            entry.0 = EMPTY;
            self.window_len -= 1;
            return Some(entry.1);
        }
        self.overflow.remove(key)
    }

    fn grow(&mut self) {
        let larger = vec![(EMPTY, 0); 2 * self.window.len()];
        let window = std::mem::replace(&mut self.window, larger);
        let overflow = std::mem::replace(&mut self.overflow, HashTable::new());
        self.window_len = 0;
        for (key, value) in window.into_iter().chain(overflow.entries) {
            if key == EMPTY {
                continue;
            }
            let place = self.place(key);
            if self.window[place].0 == EMPTY {
                self.window[place] = (key, value);
                self.window_len += 1;
            } else {
                self.overflow.insert(key, value);
            }
        }
    }
}

/// Open addressing with linear probing, Fibonacci hashing, and deletion by shifting back.
struct HashTable {
    entries: Vec<Entry>,
    len: usize,
}

impl HashTable {
    fn new() -> HashTable {
        HashTable { entries: vec![(EMPTY, 0); 64], len: 0 }
    }

    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & (self.entries.len() - 1)
    }

    /// The place of `key`, or the empty place where it belongs.
    fn find(&self, key: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = self.home(key);
        while self.entries[at].0 != key && self.entries[at].0 != EMPTY {
            at = (at + 1) & mask;
        }
        at
    }

    fn value(&self, key: u64) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let entry = self.entries[self.find(key)];
        (entry.0 == key).then_some(entry.1)
    }

    fn value_mut(&mut self, key: u64) -> Option<&mut u64> {
        let at = self.find(key);
        let entry = &mut self.entries[at];
        (entry.0 == key).then_some(&mut entry.1)
    }

    /// Adds `key`, which is not in the table.
    fn insert(&mut self, key: u64, value: u64) {
        let at = self.find(key);
        self.entries[at] = (key, value);
        self.len += 1;
        if 2 * self.len > self.entries.len() {
            let larger = vec![(EMPTY, 0); 2 * self.entries.len()];
            for entry in std::mem::replace(&mut self.entries, larger) {
                if entry.0 != EMPTY {
                    let at = self.find(entry.0);
                    self.entries[at] = entry;
                }
            }
        }
    }

    fn remove(&mut self, key: u64) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let mask = self.entries.len() - 1;
        let mut hole = self.find(key);
        if self.entries[hole].0 != key {
            return None;
        }
        let value = self.entries[hole].1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.0 == EMPTY {
                break;
            }
            // An entry may move back to the hole unless its home lies between the two.
            let home = self.home(entry.0);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole].0 = EMPTY;
        self.len -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn behaves_like_a_map(steps: Vec<(bool, u16, u64)>, shift in 0u32..40) {
            let mut model = HashMap::new();
            let mut map = ValueMap::new();
            for (insert, key, value) in steps {
                let key = u64::from(key % 4096) << shift;
                if insert {
                    prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                } else {
                    prop_assert_eq!(map.remove(key), model.remove(&key));
                }
                prop_assert_eq!(map.value(key), model.get(&key).copied());
                prop_assert_eq!(map.len(), model.len());
            }
            for (key, value) in model {
                prop_assert_eq!(map.value(key), Some(value));
            }
        }
    }
}
