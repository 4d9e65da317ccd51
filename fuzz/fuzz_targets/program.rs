//! A program file, traced or planned, of one block or several.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use phineus_bytecode::{BlockDirectory, Error, verify_blocks};

fuzz_target!(|bytes: &[u8]| {
    let _ = phineus_fuzz::read_program(bytes);
    if let Ok(Some(blocks)) = BlockDirectory::read(Cursor::new(bytes)) {
        let open = |block: usize| blocks.open(Cursor::new(bytes), block);
        let _ = verify_blocks::<_, Error>(&blocks, open);
    }
});
