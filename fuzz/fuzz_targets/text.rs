//! The text form of a program; what is read is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phineus_bytecode::limits::FAULTS_MAX;
use phineus_bytecode::{Error, parse_text};

fuzz_target!(|bytes: &[u8]| {
    match parse_text(bytes, "fuzz.phi", Vec::new()) {
        Ok((file, _)) => phineus_fuzz::read_program(&file).expect("just written"),
        Err(Error::Text(found)) => assert!((1..=FAULTS_MAX).contains(&found.faults.len())),
        Err(error) => panic!("{error}"),
    }
});
