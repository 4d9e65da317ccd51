//! How runs are watched: secrets are marked for valgrind, programs are fresh, and nothing is recorded.
//!
//! `tests/transcripts` runs the same cases with a module `watch` of its own, which records what is sent
//! for fixed programs.

use phineus_bytecode::random::{RandomOptions, random_program};
use phineus_bytecode::{Description, Instruction};
use phineus_crypto::secret::declassify;

/// What is done with the messages of one party to another: they are public from here on.
pub struct Log;

impl Log {
    pub fn new(_from: usize, _to: usize) -> Log {
        Log
    }

    pub fn sent(&mut self, bytes: &[u8]) {
        declassify(bytes, "sent to the peer");
    }
}

/// A seed that is new in each run, printed; `PHINEUS_SEED` replays one.
pub fn seed(case: &str) -> u64 {
    let given = std::env::var("PHINEUS_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        time.map_or(0, |time| time.as_nanos() as u64)
    });
    println!("{case}: PHINEUS_SEED={seed}");
    seed
}

/// The program that a run with `seed` takes.
pub fn program(seed: u64, options: &RandomOptions) -> (Vec<Instruction>, Description) {
    random_program(seed, options)
}

/// Takes note of a plan.
pub fn planned(_plan: &[u8]) {}
