//! Random programs for the oracles of what planning claims.

use std::fmt::Display;

use phineus_bytecode::random::Seeds;

/// How many programs an oracle examines, if that is stated.
const PROGRAMS_VARIABLE: &str = "PHINEUS_ORACLE_PROGRAMS";

/// Examines the programs of fresh seeds, `usual` ones unless the environment states a number.
pub fn examine_programs<E: Display>(usual: u64, examine: impl Fn(u64) -> Result<(), E>) {
    let count = std::env::var(PROGRAMS_VARIABLE)
        .map_or(usual, |text| text.parse().expect("PHINEUS_ORACLE_PROGRAMS is a number"));
    let mut seeds = Seeds::fresh();
    for number in 1..=count {
        let seed = seeds.draw();
        if let Err(fault) = examine(seed) {
            panic!("program {number}, seed {seed}: {fault}");
        }
    }
}
