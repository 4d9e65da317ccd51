//! [`ValueMap`]: from value names to numbers, for the values alive at one moment.
//!
//! Open addressing with linear probing and deletion by shifting back, so memory follows the
//! number of entries. Eight neighbouring names share a cache line; lines are scattered by
//! Fibonacci hashing, so that names a power of two apart do not collide.

/// Marks an empty place; no program defines this many values.
const EMPTY: u64 = u64::MAX;

/// A map from `u64` names below `u64::MAX` to `u64`.
pub(crate) struct ValueMap {
    entries: Vec<(u64, u64)>,
    len: usize,
}

impl ValueMap {
    pub(crate) fn new() -> ValueMap {
        ValueMap { entries: vec![(EMPTY, 0); 1024], len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that the map takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<(u64, u64)>()) as u64
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        let mixed = (key >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        ((mixed << 3 | key & 7) as usize) & (self.entries.len() - 1)
    }

    /// The place of `key`, or the empty place where it belongs.
    #[inline]
    fn find(&self, key: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = self.home(key);
        while self.entries[at].0 != key && self.entries[at].0 != EMPTY {
            at = (at + 1) & mask;
        }
        at
    }

    /// The number for `key`.
    #[inline]
    pub(crate) fn value(&self, key: u64) -> Option<u64> {
        let entry = self.entries[self.find(key)];
        (entry.0 == key).then_some(entry.1)
    }

    /// Sets the number for `key`; returns the one before.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, value: u64) -> Option<u64> {
        let at = self.find(key);
        let entry = &mut self.entries[at];
        if entry.0 == key {
            return Some(std::mem::replace(&mut entry.1, value));
        }
        *entry = (key, value);
        self.len += 1;
        if 2 * self.len > self.entries.len() {
            self.grow();
        }
        None
    }

    /// Takes `key` out; returns its number.
    #[inline]
    pub(crate) fn remove(&mut self, key: u64) -> Option<u64> {
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

    fn grow(&mut self) {
        let larger = vec![(EMPTY, 0); 2 * self.entries.len()];
        let old = std::mem::replace(&mut self.entries, larger);
        for (key, value) in old {
            if key != EMPTY {
                let at = self.find(key);
                self.entries[at] = (key, value);
            }
        }
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
