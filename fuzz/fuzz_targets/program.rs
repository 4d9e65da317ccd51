//! A program file, traced or planned, of one block or several.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use phineus_bytecode::binary::Section;
use phineus_bytecode::{Blocks, Error, ProgramReader, verify_blocks};

fuzz_target!(|bytes: &[u8]| {
    let _ = phineus_fuzz::read_program(bytes);
    if let Ok(Some(blocks)) = Blocks::read(Cursor::new(bytes)) {
        let open = |block: usize| {
            ProgramReader::open(Section::new(Cursor::new(bytes), blocks.places[block]))
        };
        let _ = verify_blocks::<_, Error>(&blocks, open);
    }
});
