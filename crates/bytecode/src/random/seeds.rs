//! [`Seeds`]: fresh seeds for random tests, which say how to replay what failed.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::SeededRng;

/// Seeds for the cases of a random test.
///
/// They are fresh in each run. If the test panics, the seed of the case at hand is printed; with that in
/// the environment variable `PHINEUS_TEST_SEED`, the next run begins with this case.
///
/// Not for secrets.
pub struct Seeds {
    next: u64,
    current: Option<u64>,
}

impl Seeds {
    /// The environment variable with the first seed.
    pub const VARIABLE: &str = "PHINEUS_TEST_SEED";

    /// Seeds that no other run has, or from the one in the environment on.
    ///
    /// # Panics
    /// If the variable is set and is no number.
    pub fn fresh() -> Seeds {
        let next = match std::env::var(Seeds::VARIABLE) {
            Ok(text) => text.parse().expect("PHINEUS_TEST_SEED is a number"),
            // The standard library seeds its hashes from the operating system.
            Err(_) => RandomState::new().build_hasher().finish(),
        };
        Seeds { next, current: None }
    }

    /// The seed of the next case.
    pub fn draw(&mut self) -> u64 {
        let seed = self.next;
        self.next = SeededRng::new(seed).next_u64();
        self.current = Some(seed);
        seed
    }
}

impl Drop for Seeds {
    fn drop(&mut self) {
        if let Some(seed) = self.current.filter(|_| std::thread::panicking()) {
            eprintln!("to replay this case: {}={seed}", Seeds::VARIABLE);
        }
    }
}
