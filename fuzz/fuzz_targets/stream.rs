//! A command stream of the overlay.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phineus_overlay::stream::Stream;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(stream) = Stream::from_bytes(bytes) {
        assert_eq!(stream.words().count() as u64, stream.word_count());
        assert!(stream.to_bytes() == bytes, "a stream has one form");
    }
});
