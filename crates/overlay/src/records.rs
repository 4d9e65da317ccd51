//! [`RecordFile`]: records of numbers in a scratch file. They are written from the first to the last, and read again from
//! the last to the first.
//!
//! A pass over a program that needs to know what comes later reads the file that the pass before wrote, and writes its
//! own, which is therefore in the reverse order; the next pass reads that one in the order of the program. A file that is
//! read for the last time becomes shorter as it is read, so both together take hardly more than the longer one.
//!
//! Cost: a block of [`BLOCK_NUMBERS`] numbers in memory for each open file, besides what the scratch holds.

use std::io::Write;

use phineus_plan::{Scratch, ScratchFile};
use zerocopy::IntoBytes;

use crate::OverlayError;

/// Numbers of a block: 128 KiB, small beside the caches and large beside a system call.
const BLOCK_NUMBERS: usize = 1 << 15;

/// Bytes of an open file in memory.
pub(crate) const BLOCK_BYTES: u64 = (BLOCK_NUMBERS * size_of::<u32>()) as u64;

/// Records of numbers. On disk each block is followed by its length, so that it can be found from its end.
pub(crate) struct RecordFile {
    file: ScratchFile,
    /// A block, and a number for its length.
    block: Vec<u32>,
    /// Numbers of the block that are in use.
    used: usize,
}

impl RecordFile {
    pub(crate) fn new(scratch: &Scratch) -> RecordFile {
        RecordFile { file: scratch.file(), block: vec![0; BLOCK_NUMBERS + 1], used: 0 }
    }

    /// Adds a record, which is shorter than a block.
    #[inline]
    pub(crate) fn push<const N: usize>(&mut self, record: [u32; N]) -> Result<(), OverlayError> {
        self.add(N)?.copy_from_slice(&record);
        Ok(())
    }

    /// Adds a record of so many numbers, fewer than a block has, and returns where they go.
    #[inline]
    pub(crate) fn add(&mut self, length: usize) -> Result<&mut [u32], OverlayError> {
        if self.used + length > BLOCK_NUMBERS {
            self.write_block()?;
        }
        self.used += length;
        Ok(&mut self.block[self.used - length..self.used])
    }

    fn write_block(&mut self) -> Result<(), OverlayError> {
        self.block[self.used] = self.used as u32;
        let bytes = self.block[..=self.used].as_bytes();
        self.file.write_all(bytes).map_err(OverlayError::scratch)?;
        self.used = 0;
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<FinishedRecords, OverlayError> {
        if self.used > 0 {
            self.write_block()?;
        }
        Ok(FinishedRecords { file: self.file })
    }
}

/// Records that can be read.
pub(crate) struct FinishedRecords {
    file: ScratchFile,
}

impl FinishedRecords {
    /// Reads the blocks from the last to the first; the file stays.
    pub(crate) fn backwards(&self) -> Backwards {
        Backwards { end: self.file.length_bytes(), file: self.file.clone(), is_last_pass: false }
    }

    /// Reads the blocks from the last to the first, and gives their space back.
    pub(crate) fn into_backwards(self) -> Backwards {
        Backwards { end: self.file.length_bytes(), file: self.file, is_last_pass: true }
    }
}

/// A pass over a file from its end.
pub(crate) struct Backwards {
    file: ScratchFile,
    /// Everything from here on was read.
    end: u64,
    is_last_pass: bool,
}

impl Backwards {
    /// Reads the block before the last one that was read; returns whether there is one.
    pub(crate) fn next_block(&mut self, block: &mut Vec<u32>) -> Result<bool, OverlayError> {
        if self.end == 0 {
            return Ok(false);
        }
        let length_bytes = size_of::<u32>() as u64;
        let mut length = 0_u32;
        let read = |bytes: &mut [u8], offset| {
            self.file.read_exact_at(bytes, offset).map_err(OverlayError::scratch)
        };
        read(length.as_mut_bytes(), self.end - length_bytes)?;
        let begin = self.end - length_bytes * (1 + u64::from(length));
        block.resize(length as usize, 0);
        read(block.as_mut_bytes(), begin)?;
        self.end = begin;
        if self.is_last_pass {
            self.file.truncate(begin).map_err(OverlayError::scratch)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_from_the_last_to_the_first() {
        for memory_bytes in [0, 1 << 30] {
            let scratch = Scratch::new(std::env::temp_dir(), memory_bytes);
            let mut file = RecordFile::new(&scratch);
            for number in 0..100_000 {
                file.push([number, !number, 7]).expect("there is space");
            }
            let file = file.finish().expect("there is space");
            for _ in 0..2 {
                let mut expected = (0..100_000).rev();
                let (mut reader, mut block) = (file.backwards(), Vec::new());
                while reader.next_block(&mut block).expect("it can be read") {
                    for record in block.rchunks_exact(3) {
                        let number = expected.next().expect("as many as were written");
                        assert_eq!(record, [number, !number, 7]);
                    }
                }
                assert_eq!(expected.next(), None);
            }
            let mut reader = file.into_backwards();
            while reader.next_block(&mut Vec::new()).expect("it can be read") {}
            assert_eq!((reader.file.length_bytes(), scratch.held_bytes()), (0, 0));
        }
    }
}
