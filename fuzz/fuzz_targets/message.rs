//! What a peer sends before anything is computed: headers, greetings, proposals and agreements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phineus_channels::{BUFFER_BYTES, parse_header, read_greeting};
use phineus_cli::fuzzing::read_agreement;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = parse_header(bytes) {
        assert!(header.length as usize <= BUFFER_BYTES);
        assert_eq!(parse_header(&header.to_bytes()), Ok(header));
    }
    read_greeting(bytes);
    read_agreement(bytes);
});
