//! [`ProgramWriter`]: writes a program file from first instruction to last.

use std::io::Write;

use sha2::{Digest, Sha256};

use crate::binary::frame::Encoder;
use crate::binary::{FORMAT_VERSION, FileKind, HEADER_BYTES, Hash, MAGIC, checksum};
use crate::description::Description;
use crate::error::Error;
use crate::instruction::Instruction;
use crate::limits::DESCRIPTION_BYTES_MAX;

/// The compression level: level 1 of zstd costs about 15 ns per instruction; 3 saves 5 % of the
/// bytes for twice the time.
const COMPRESSION_LEVEL: i32 = 1;

/// Writes a program file as a stream.
pub struct ProgramWriter<W: Write> {
    output: W,
    kind: FileKind,
    encoder: Encoder,
    /// Made for the first frame: it takes hundreds of KiB, and of a block that is only tried
    /// nothing is ever written.
    compressor: Option<zstd::bulk::Compressor<'static>>,
    stored: Vec<u8>,
    index: Vec<u8>,
    offset: u64,
    hash: Sha256,
    instruction_count: u64,
}

/// Summary of a finished file.
#[derive(Clone, Copy, Debug)]
pub struct FileSummary {
    /// The program's hash.
    pub hash: Hash,
    /// Instructions, directives included.
    pub instruction_count: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// A file with one frame of these bytes, if they are one: fuzzing would not find its checksums.
#[cfg(feature = "fuzzing")]
pub fn file_of_frame(
    kind: FileKind,
    bytes: &[u8],
    count: usize,
    description: &Description,
) -> Option<Vec<u8>> {
    let (mut templates, mut instructions) = (Vec::new(), Vec::new());
    super::frame::decode(kind, bytes, count, 0, &mut templates, &mut instructions).ok()?;
    let inputs = instructions.iter().filter(|i| i.op.is_private()).count();
    let mut writer = ProgramWriter::new(Vec::new(), kind).ok()?;
    writer.encoder.bytes.extend_from_slice(bytes);
    (writer.encoder.count, writer.encoder.input_count) = (count, inputs as u32);
    writer.instruction_count = count as u64;
    Some(writer.finish(description).ok()?.0)
}

impl<W: Write> ProgramWriter<W> {
    /// Begins a file.
    pub fn new(mut output: W, kind: FileKind) -> Result<ProgramWriter<W>, Error> {
        let mut header = [0u8; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..10].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[10] = kind as u8;
        output.write_all(&header)?;
        Ok(ProgramWriter {
            output,
            kind,
            encoder: Encoder::new(kind),
            compressor: None,
            stored: Vec::new(),
            index: Vec::new(),
            offset: HEADER_BYTES as u64,
            hash: Sha256::new(),
            instruction_count: 0,
        })
    }

    /// Appends an instruction.
    ///
    /// # Panics
    /// In a program (not a planned one), if its results are not the next unused names or an
    /// operand is not defined yet.
    #[inline]
    pub fn push(&mut self, instruction: &Instruction) -> Result<(), Error> {
        if self.encoder.is_full() {
            self.write_frame()?;
        }
        self.encoder.push(instruction);
        self.instruction_count += 1;
        Ok(())
    }

    /// How many instructions were appended.
    pub fn instruction_count(&self) -> u64 {
        self.instruction_count
    }

    fn write_frame(&mut self) -> Result<(), Error> {
        let encoder = &mut self.encoder;
        if encoder.count == 0 {
            return Ok(());
        }
        self.hash.update(&encoder.bytes);
        let bound = zstd::zstd_safe::compress_bound(encoder.bytes.len());
        self.stored.resize(self.stored.len().max(bound), 0);
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => {
                let mut compressor = zstd::bulk::Compressor::new(COMPRESSION_LEVEL)?;
                compressor.include_checksum(true)?;
                none.insert(compressor)
            }
        };
        let stored = compressor.compress_to_buffer(&encoder.bytes, &mut self.stored[..])?;
        self.output.write_all(&self.stored[..stored])?;
        let entry = &mut self.index;
        entry.extend(self.offset.to_le_bytes());
        entry.extend(encoder.first_value.to_le_bytes());
        entry.extend((stored as u32).to_le_bytes());
        entry.extend((encoder.bytes.len() as u32).to_le_bytes());
        entry.extend((encoder.count as u32).to_le_bytes());
        entry.extend(encoder.input_count.to_le_bytes());
        self.offset += stored as u64;
        encoder.clear();
        Ok(())
    }

    /// Completes the file and returns it.
    pub fn finish(mut self, description: &Description) -> Result<(W, FileSummary), Error> {
        self.write_frame()?;
        let text = description.to_file().map_err(|e| Error::Description(e.to_string()))?;
        if text.len() > DESCRIPTION_BYTES_MAX {
            let what = format!("it takes {} bytes, at most {DESCRIPTION_BYTES_MAX}", text.len());
            return Err(Error::Description(what));
        }
        let frames: [u8; 32] = self.hash.finalize().into();
        let mut tail = text.clone();
        tail.extend_from_slice(&self.index);
        let index_offset = self.offset + text.len() as u64;
        for word in [self.offset, text.len() as u64, index_offset, self.index.len() as u64] {
            tail.extend(word.to_le_bytes());
        }
        tail.extend_from_slice(&frames);
        tail.extend(checksum(&text));
        tail.extend_from_slice(&MAGIC);
        self.output.write_all(&tail)?;
        self.output.flush()?;
        let written = FileSummary {
            hash: Hash::of_program(self.kind, &frames, &text),
            instruction_count: self.instruction_count,
            file_bytes: self.offset + tail.len() as u64,
        };
        Ok((self.output, written))
    }
}
