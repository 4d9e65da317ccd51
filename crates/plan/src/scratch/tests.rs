//! Files of a scratch against vectors of bytes.

use phineus_bytecode::random::SeededRng;
use proptest::prelude::*;

use super::*;

fn scratch(memory_bytes: u64) -> Scratch {
    Scratch::new(std::env::temp_dir(), memory_bytes)
}

fn all(file: &ScratchFile) -> Vec<u8> {
    let mut bytes = vec![0; file.length_bytes() as usize];
    file.read_exact_at(&mut bytes, 0).expect("it is as long as it says");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two files of one allowance, changed in any order, are what vectors would be; what they take
    /// is counted, and given back.
    #[test]
    fn files_are_as_vectors(seed: u64, chunks in 0..6u64) {
        let scratch = scratch(chunks * CHUNK_BYTES as u64);
        let mut files = [scratch.file(), scratch.file()];
        let mut meant = [Vec::new(), Vec::new()];
        let mut random = SeededRng::new(seed);
        let mut peak = 0;
        for _ in 0..40 {
            let which = random.below(2) as usize;
            let (file, meant) = (&mut files[which], &mut meant[which]);
            match random.below(8) {
                0..5 => {
                    let count = random.below(3 * CHUNK_BYTES as u64 / 2);
                    let bytes: Vec<u8> = (0..count).map(|_| random.next_u64() as u8).collect();
                    file.write_all(&bytes).expect("there is room");
                    meant.extend(bytes);
                }
                5..7 => {
                    let length = random.below(meant.len() as u64 + 2);
                    file.truncate(length).expect("it can be cut");
                    meant.truncate(length as usize);
                }
                _ => file.settle().expect("there is room"),
            }
            prop_assert!(&all(file) == meant);
            let held: u64 = files.iter().map(|file| file.look(|content| content.held_bytes)).sum();
            let length: u64 = files.iter().map(ScratchFile::length_bytes).sum();
            prop_assert!(held <= scratch.held_bytes());
            prop_assert!(scratch.held_bytes() <= chunks * CHUNK_BYTES as u64);
            prop_assert_eq!(scratch.disk.now_bytes.load(Ordering::Relaxed), length - held);
            peak = peak.max(length - held);
            prop_assert_eq!(scratch.disk_peak_bytes(), peak);
        }
        drop(files);
        prop_assert_eq!(scratch.held_bytes(), 0);
        prop_assert_eq!(scratch.disk.now_bytes.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn what_is_held_takes_no_file_and_a_hole_takes_no_place() {
    use std::os::unix::fs::MetadataExt;
    let scratch = scratch(4 * CHUNK_BYTES as u64);
    let mut file = scratch.file();
    file.write_all(&[7; 4 * CHUNK_BYTES]).expect("it is held");
    assert!(file.look(|content| content.file.is_none()));
    file.write_all(&[8; 100]).expect("there is room");
    let metadata =
        file.look(|content| content.file.as_ref().map(File::metadata)).expect("it is on disk");
    let metadata = metadata.expect("it is open");
    assert_eq!(metadata.len(), 4 * CHUNK_BYTES as u64 + 100);
    assert!(metadata.blocks() * 512 < CHUNK_BYTES as u64, "the file system has no holes");
    assert_eq!(scratch.disk_peak_bytes(), 100);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let scratch = Scratch::new("/no/such/directory".into(), 0);
    let error = scratch.file().write_all(b"one").expect_err("there is no such directory");
    assert!(error.to_string().contains("/no/such/directory"), "{error}");
}
