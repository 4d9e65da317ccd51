//! Each kind of damage to a file and the error that names it.

use std::io::Cursor;

use super::*;
use crate::random::{RandomOptions, random_program};

/// A file of three frames.
fn file() -> Vec<u8> {
    let options = RandomOptions { instruction_count: 9000, ..RandomOptions::default() };
    let (program, description) = random_program(1, &options);
    to_bytes(FileKind::Program, &program, &description).expect("in memory")
}

fn read(bytes: &[u8]) -> Result<(), Error> {
    let mut reader = ProgramReader::open(Cursor::new(bytes))?;
    let mut instructions = Vec::new();
    for frame in 0..reader.frame_count() {
        reader.read_frame(frame, &mut instructions)?;
    }
    reader.verify_hash().map(|_| ())
}

#[track_caller]
fn assert_refused(bytes: &[u8], message: &str) {
    let error = read(bytes).expect_err("the file is damaged").to_string();
    assert!(error.contains(message), "wanted '{message}', found '{error}'");
}

fn word(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes")) as usize
}

/// Where the footer, the description and the index begin.
fn parts(bytes: &[u8]) -> [usize; 3] {
    let footer = bytes.len() - FOOTER_BYTES;
    [footer, word(bytes, footer), word(bytes, footer + 16)]
}

#[test]
fn an_unharmed_file_is_read() {
    read(&file()).expect("nothing is wrong");
}

#[test]
fn damaged_ends_are_named() {
    let good = file();
    let [footer, description, _] = parts(&good);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= byte;
        bytes
    };
    assert_refused(&[], "it is too short");
    assert_refused(&with(0, 1), "it does not begin like one");
    assert_refused(&with(8, 5), "has format version 0, this Phineus reads version 5");
    assert_refused(&with(10, 2), "its kind is unknown");
    for cut in [1, 100, good.len() / 2] {
        assert_refused(&good[..good.len() - cut], "its end is missing");
    }
    for word in 0..4 {
        assert_refused(&with(footer + 8 * word, 1), "its end is missing");
    }
    assert_refused(&with(footer + 32, 1), "the hash of all frames is wrong");
    assert_refused(&with(footer + 64, 1), "it is damaged: its checksum is wrong");
    assert_refused(&with(good.len() - 1, 1), "its end is missing");
    assert_refused(&with(description, 1), "it is damaged: its checksum is wrong");
    assert_refused(&with(HEADER_BYTES + 20, 1), "damaged at frame 0: its checksum is wrong");
}

#[test]
fn damaged_index_entries_are_named() {
    let good = file();
    let [_, _, index] = parts(&good);
    let entry = |frame: usize, at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[index + 32 * frame + at] ^= byte;
        bytes
    };
    let first_value = word(&good, index + 32 + 8);
    assert!(first_value > 0, "the second frame begins after some values");
    assert_refused(&entry(1, 0, 1), "damaged at frame 1: its index entry is wrong");
    assert_refused(&entry(0, 8, 1), "damaged at frame 0: its index entry is wrong");
    assert_refused(&entry(1, 10, 1), "damaged at frame 1: its index entry is wrong");
    assert_refused(&entry(2, 15, 0x80), "damaged at frame 2: its index entry is wrong");
    assert_refused(&entry(0, 16, 1), "damaged at frame 1: its index entry is wrong");
    assert_refused(&entry(2, 16, 1), "the frames end at the wrong place");
    assert_refused(&entry(1, 19, 0x40), "damaged at frame 1: its index entry is wrong");
    assert_refused(&entry(1, 23, 0x40), "damaged at frame 1: its index entry is wrong");
    assert_refused(&entry(1, 20, 1), "damaged at frame 1: its");
    assert_refused(&entry(1, 26, 1), "damaged at frame 1: its index entry is wrong");
    assert_refused(&entry(1, 24, 1), "damaged at frame 1:");
    assert_refused(&entry(1, 28, 1), "damaged at frame 1: its number of inputs is wrong");
}

#[test]
fn kind_and_description_enter_the_hash() {
    let (program, description) = random_program(1, &RandomOptions::default());
    let hash = |kind, description: &Description| {
        let bytes = to_bytes(kind, &program, description).expect("in memory");
        ProgramReader::open(Cursor::new(bytes)).expect("just written").hash()
    };
    let other = Description { name: "other".to_owned(), ..description.clone() };
    assert_ne!(hash(FileKind::Program, &description), hash(FileKind::Program, &other));
    assert_ne!(hash(FileKind::Program, &description), hash(FileKind::Planned, &description));
}
