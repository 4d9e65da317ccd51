//! A frame of instructions, in a file whose checksums are right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phineus_bytecode::FileKind;
use phineus_bytecode::binary::file_of_frame;
use phineus_bytecode::random::{RandomOptions, plan_unbounded, random_program};

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (seed, count, bytes) = input;
    // The tables and parties that the instructions are about.
    let options = RandomOptions { instruction_count: 20, ..RandomOptions::default() };
    let (program, description) = random_program(u64::from(seed / 2), &options);
    let (kind, description) = match seed % 2 {
        0 => (FileKind::Program, description),
        _ => (FileKind::Planned, plan_unbounded(&program, &description).1),
    };
    if let Some(file) = file_of_frame(kind, bytes, usize::from(count) + 1, &description) {
        phineus_fuzz::read_program(&file).expect("the file is whole");
    }
});
