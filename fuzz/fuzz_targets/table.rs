//! An input table, CSV or NumPy.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phineus_cli::fuzzing::read_table;

fuzz_target!(|bytes: &[u8]| read_table(bytes));
