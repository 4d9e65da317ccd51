//! [`StreamWriter`]: writes a command stream as it is made. `stream.rs` describes the bytes.
//!
//! The header has counts that are known at the end only. So the words up to the first check word, whose CRC is also that
//! of the header, stay in memory until then.
//!
//! Words and numbers are written as the machine has them, which is little-endian.
//!
//! Cost: about 1,024 words and 256 KiB of memory, besides what the scratch holds of the numbers of loads and outputs.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use phineus_plan::{Scratch, ScratchFile};
use zerocopy::IntoBytes;

use crate::OverlayError;
use crate::lane::Lane;
use crate::parameters::{HEADER_QUADS, Parameters};
use crate::stream::header;
use crate::word::WordKind;

const _: () = assert!(cfg!(target_endian = "little"));

/// Where the words go.
pub(crate) enum Target<'a> {
    /// Nowhere: only the figures are wanted.
    Nowhere,
    /// Into memory.
    Memory(&'a mut Vec<u64>),
    /// Into a file, from its beginning.
    File(&'a mut File),
}

/// Quadwords that are written at once.
const BLOCK_QUADS: usize = 1 << 14;

/// Numbers in a scratch file, in their order.
struct Numbers {
    file: ScratchFile,
    block: Vec<u32>,
    count: u64,
    fault: Option<OverlayError>,
}

/// Numbers that are written at once.
const BLOCK_NUMBERS: usize = 1 << 12;

pub(crate) struct StreamWriter<'a> {
    parameters: Parameters,
    target: Target<'a>,
    /// Header and words up to the first check word.
    first: Vec<u64>,
    /// Where the lanes of the first check word begin in them, once it is there, and its kind.
    first_check: Option<(usize, WordKind)>,
    block: Vec<u64>,
    /// Of each lane, the CRC of the words since the last check.
    crcs: Vec<crc32fast::Hasher>,
    /// The CRC of what was written after the first words.
    crc: crc32fast::Hasher,
    word_count: u64,
    loads: Numbers,
    outputs: Numbers,
}

impl<'a> StreamWriter<'a> {
    pub(crate) fn new(
        parameters: Parameters,
        target: Target<'a>,
        scratch: &Scratch,
    ) -> StreamWriter<'a> {
        StreamWriter {
            parameters,
            target,
            first: vec![0; parameters.word_quads()],
            first_check: None,
            block: Vec::new(),
            crcs: vec![crc32fast::Hasher::new(); parameters.cells as usize],
            crc: crc32fast::Hasher::new(),
            word_count: 0,
            loads: Numbers::new(scratch),
            outputs: Numbers::new(scratch),
        }
    }

    /// Notes the label that the word after this takes.
    pub(crate) fn load(&mut self, number: u32) {
        self.loads.push(number);
    }

    /// Notes the label that the word after this gives.
    pub(crate) fn output(&mut self, number: u32) {
        self.outputs.push(number);
    }

    /// Words so far.
    pub(crate) fn word_count(&self) -> u64 {
        self.word_count
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let in_memory = match &self.target {
            // A vector that grows is copied.
            Target::Memory(quads) => 3 * size_of::<u64>() * quads.len(),
            Target::Nowhere | Target::File(_) => 0,
        };
        (in_memory + size_of::<u64>() * (self.first.len() + self.block.len())) as u64
    }

    /// Adds a word, which has a lane for each cell.
    pub(crate) fn word(&mut self, lanes: &[Lane]) -> Result<(), OverlayError> {
        self.word_count += 1;
        if matches!(self.target, Target::Nowhere) {
            return Ok(());
        }
        let size = self.parameters.lane_quads();
        let quads = if self.first_check.is_none() { &mut self.first } else { &mut self.block };
        let begin = quads.len();
        quads.resize(begin + lanes.len() * size, 0);
        let is_first = self.first_check.is_none();
        for (cell, (lane, quads)) in lanes.iter().zip(quads[begin..].chunks_mut(size)).enumerate() {
            match lane.kind {
                WordKind::Issue => {
                    lane.encode(self.parameters, quads);
                    self.crcs[cell].update(quads.as_bytes());
                }
                WordKind::Check | WordKind::Last => {
                    let crc = std::mem::take(&mut self.crcs[cell]).finalize();
                    Lane { index: crc, ..*lane }.encode(self.parameters, quads);
                }
            }
        }
        let is_check = lanes[0].kind != WordKind::Issue;
        if is_first && is_check {
            self.first_check = Some((begin, lanes[0].kind));
            self.reserve_first()?;
        } else if self.block.len() >= BLOCK_QUADS {
            self.write_block()?;
        }
        Ok(())
    }

    /// Leaves the space of the first words in the target.
    fn reserve_first(&mut self) -> Result<(), OverlayError> {
        match &mut self.target {
            Target::Nowhere => Ok(()),
            Target::Memory(quads) => {
                quads.resize(self.first.len(), 0);
                Ok(())
            }
            Target::File(file) => file.write_all(self.first.as_bytes()).map_err(OverlayError::file),
        }
    }

    fn write_block(&mut self) -> Result<(), OverlayError> {
        match &mut self.target {
            Target::Nowhere => {}
            Target::Memory(quads) => quads.extend_from_slice(&self.block),
            Target::File(file) => {
                self.crc.update(self.block.as_bytes());
                file.write_all(self.block.as_bytes()).map_err(OverlayError::file)?;
            }
        }
        self.block.clear();
        Ok(())
    }

    /// Ends the stream, after its last word.
    pub(crate) fn finish(
        mut self,
        program: [u8; 32],
        (and_count, cycles): (u64, u64),
    ) -> Result<[Vec<u32>; 2], OverlayError> {
        self.write_block()?;
        self.complete_first([self.word_count, and_count, cycles]);
        match self.target {
            Target::Nowhere => Ok(Default::default()),
            Target::Memory(quads) => {
                quads[..self.first.len()].copy_from_slice(&self.first);
                Ok([self.loads.into_memory()?, self.outputs.into_memory()?])
            }
            Target::File(file) => {
                let mut crc = crc32fast::Hasher::new();
                crc.update(self.first.as_bytes());
                crc.combine(&self.crc);
                let mut end = program.to_vec();
                end.extend(self.loads.count.to_le_bytes());
                end.extend(self.outputs.count.to_le_bytes());
                crc.update(&end);
                file.write_all(&end).map_err(OverlayError::file)?;
                self.loads.copy(file, &mut crc)?;
                self.outputs.copy(file, &mut crc)?;
                let crc = crc.finalize().to_le_bytes();
                file.write_all(&crc).map_err(OverlayError::file)?;
                file.seek(SeekFrom::Start(0)).map_err(OverlayError::file)?;
                file.write_all(self.first.as_bytes()).map_err(OverlayError::file)?;
                Ok(Default::default())
            }
        }
    }

    /// Writes the header into the first words, and the CRC of their check word.
    fn complete_first(&mut self, counts: [u64; 3]) {
        let Some((check, kind)) = self.first_check else { return };
        self.first[..HEADER_QUADS].copy_from_slice(&header(self.parameters, counts));
        let (size, cells) = (self.parameters.lane_quads(), self.parameters.cells as usize);
        for cell in 0..cells {
            let mut crc = crc32fast::Hasher::new();
            let lanes = self.first[..check].chunks_exact(size).skip(cell).step_by(cells);
            lanes.for_each(|quads| crc.update(quads.as_bytes()));
            let lane = Lane { index: crc.finalize(), ..Lane::of_kind(kind) };
            let quads = &mut self.first[check + cell * size..check + (cell + 1) * size];
            quads.fill(0);
            lane.encode(self.parameters, quads);
        }
    }
}

impl Numbers {
    fn new(scratch: &Scratch) -> Numbers {
        Numbers { file: scratch.file(), block: Vec::new(), count: 0, fault: None }
    }

    /// Adds a number; what fails is said when they are read.
    fn push(&mut self, number: u32) {
        self.count += 1;
        self.block.push(number);
        if self.block.len() == BLOCK_NUMBERS {
            self.fault = self.fault.take().or(self.write_block().err());
        }
    }

    fn write_block(&mut self) -> Result<(), OverlayError> {
        self.file.write_all(self.block.as_bytes()).map_err(OverlayError::scratch)?;
        self.block.clear();
        Ok(())
    }

    /// Calls `visit` with the numbers, some at a time.
    fn read(
        mut self,
        mut visit: impl FnMut(&[u32]) -> Result<(), OverlayError>,
    ) -> Result<(), OverlayError> {
        self.write_block()?;
        self.fault.take().map_or(Ok(()), Err)?;
        let mut numbers = vec![0; BLOCK_NUMBERS];
        let (mut offset, mut left) = (0, self.count);
        while left > 0 {
            let count = left.min(BLOCK_NUMBERS as u64);
            let some = &mut numbers[..count as usize];
            let read = self.file.read_exact_at(some.as_mut_bytes(), offset);
            read.map_err(OverlayError::scratch)?;
            visit(some)?;
            offset += some.as_bytes().len() as u64;
            left -= count;
        }
        Ok(())
    }

    fn into_memory(self) -> Result<Vec<u32>, OverlayError> {
        let mut all = Vec::with_capacity(self.count as usize);
        self.read(|numbers| {
            all.extend_from_slice(numbers);
            Ok(())
        })?;
        Ok(all)
    }

    /// Copies the numbers to the end of a file.
    fn copy(self, file: &mut File, crc: &mut crc32fast::Hasher) -> Result<(), OverlayError> {
        self.read(|numbers| {
            crc.update(numbers.as_bytes());
            file.write_all(numbers.as_bytes()).map_err(OverlayError::file)
        })
    }
}
