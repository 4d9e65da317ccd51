//! [`RecordedCircuits`]: circuits that were recorded in this process, for all its sessions.
//!
//! A circuit is public and depends only on its key, and recording AES takes 3 ms. So planning, garbling,
//! preprocessing and the run share one recording. Each session counts the circuits that it uses; those
//! that nobody uses any more are bounded here.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Bytes of all circuits from which on a new one drives those out that nobody uses.
const BYTES_MAX: u64 = 8 << 20;

/// Recorded circuits by key, with the bytes of each.
pub(crate) struct RecordedCircuits<K, T>(LazyLock<Mutex<ByKey<K, T>>>);

type ByKey<K, T> = HashMap<K, (Arc<T>, u64)>;

impl<K: Eq + Hash, T> RecordedCircuits<K, T> {
    pub(crate) const fn new() -> RecordedCircuits<K, T> {
        RecordedCircuits(LazyLock::new(Mutex::default))
    }

    /// The circuit with this key, which `record` makes with its bytes if nobody did before.
    pub(crate) fn get(&self, key: K, record: impl FnOnce() -> (T, u64)) -> Arc<T> {
        // A circuit is put there whole or, if recording it panics, not at all.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((circuit, _)) = known.get(&key) {
            return circuit.clone();
        }
        let (circuit, bytes) = record();
        let before: u64 = known.values().map(|(_, bytes)| bytes).sum();
        if before + bytes > BYTES_MAX {
            known.retain(|_, (circuit, _)| Arc::strong_count(circuit) > 1);
        }
        let circuit = Arc::new(circuit);
        known.insert(key, (circuit.clone(), bytes));
        circuit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circuits_that_nobody_uses_are_bounded() {
        let circuits = RecordedCircuits::new();
        let third = |key: u32| circuits.get(key, || (key, BYTES_MAX / 3));
        let held = third(0);
        for key in 1..100 {
            assert_eq!(*third(key), key);
            let known = circuits.0.lock().expect("nobody panics");
            assert!(known.values().map(|(_, bytes)| bytes).sum::<u64>() <= BYTES_MAX);
            assert!(known.contains_key(&0), "it is in use");
        }
        let again = circuits.get(0, || unreachable!("it is known"));
        assert!(Arc::ptr_eq(&held, &again));
    }
}
