//! A circuit file, Bristol or Bristol Fashion.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use phineus_frontend::bristol::Circuit;

fuzz_target!(|bytes: &[u8]| {
    let mut file = tempfile::NamedTempFile::with_suffix(".txt").expect("there is room");
    file.write_all(bytes).expect("there is room");
    if let Ok(circuit) = Circuit::open(file.path()) {
        phineus_fuzz::trace_program(&circuit);
    }
});
