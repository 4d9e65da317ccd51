//! [`ProgramReader`]: reads a program file frame by frame, in any order, with bounded memory.

use std::cell::RefCell;
use std::io::{Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

use crate::binary::{
    FOOTER_BYTES, FORMAT_VERSION, FileKind, HEADER_BYTES, Hash, MAGIC, checksum, frame,
};
use crate::description::Description;
use crate::error::Error;
use crate::instruction::Instruction;
use crate::limits::{DESCRIPTION_BYTES_MAX, FRAME_BYTES_MAX, FRAME_INSTRUCTIONS, RESULTS_MAX};

/// Bytes of one entry of the index.
const ENTRY_BYTES: usize = 32;

/// Memory for a parsed description, per byte of its text, with the text.
const DESCRIPTION_GROWTH: usize = 4;

#[derive(Clone, Copy)]
struct FrameIndexEntry {
    offset: u64,
    first_value: u64,
    stored_bytes: u32,
    raw_bytes: u32,
    count: u32,
    input_count: u32,
}

/// Reads a program file.
pub struct ProgramReader<R> {
    input: R,
    kind: FileKind,
    description: Description,
    description_bytes: Vec<u8>,
    frames_hash: [u8; 32],
    index: Vec<FrameIndexEntry>,
    instruction_count: u64,
    stored: Vec<u8>,
    raw: Vec<u8>,
    templates: Vec<frame::InstructionTemplate>,
}

thread_local! {
    /// One for all readers of a thread: programs of hundreds of blocks have a reader for each.
    static DECOMPRESSOR: RefCell<zstd::bulk::Decompressor<'static>> =
        RefCell::new(zstd::bulk::Decompressor::new().expect("a context without a dictionary"));
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

impl<R: Read + Seek> ProgramReader<R> {
    /// Opens a file: checks header, footer, description and index.
    ///
    /// # Errors
    /// If it is damaged, cannot be read, or is a block of a program.
    pub fn open(input: R) -> Result<ProgramReader<R>, Error> {
        ProgramReader::open_with(input, |text| {
            let description: Description =
                serde_json::from_slice(text).map_err(
                    |error| match Description::is_text_of_block(text) {
                        true => Error::NotAProgram("it is one block of a program"),
                        false => Error::Description(error.to_string()),
                    },
                )?;
            match description.faults().into_iter().next() {
                Some(fault) => Err(Error::Description(fault)),
                None => Ok(description),
            }
        })
    }

    /// Opens the file of a block; `program` describes the program that it is of, and has no faults.
    ///
    /// # Errors
    /// If it is damaged, cannot be read, or is no block.
    pub fn open_block(input: R, program: &Description) -> Result<ProgramReader<R>, Error> {
        ProgramReader::open_with(input, |text| {
            program.block_from_file(text).map_err(|error| Error::Description(error.to_string()))
        })
    }

    fn open_with(
        mut input: R,
        description: impl FnOnce(&[u8]) -> Result<Description, Error>,
    ) -> Result<ProgramReader<R>, Error> {
        let length = input.seek(SeekFrom::End(0))?;
        if length < (HEADER_BYTES + FOOTER_BYTES) as u64 {
            return Err(Error::NotAProgram("it is too short"));
        }
        let kind = read_header(&mut input)?;
        let mut footer = [0u8; FOOTER_BYTES];
        input.seek(SeekFrom::Start(length - FOOTER_BYTES as u64))?;
        input.read_exact(&mut footer)?;
        let [description_offset, description_len, index_offset, index_len] =
            [0, 8, 16, 24].map(|at| word(&footer, at));
        let (magic, stated) = (&footer[FOOTER_BYTES - MAGIC.len()..], &footer[64..72]);
        if magic == super::blocks::BLOCKS_MAGIC {
            return Err(Error::NotAProgram("it has several blocks, and one is wanted here"));
        }
        let consistent = magic == MAGIC
            && description_offset.checked_add(description_len) == Some(index_offset)
            && index_offset.checked_add(index_len) == Some(length - FOOTER_BYTES as u64)
            && index_len.is_multiple_of(ENTRY_BYTES as u64)
            && description_len <= DESCRIPTION_BYTES_MAX as u64;
        if !consistent {
            return Err(Error::NotAProgram("its end is missing; it was cut off or not finished"));
        }
        input.seek(SeekFrom::Start(description_offset))?;
        let mut description_bytes = vec![0; description_len as usize];
        input.read_exact(&mut description_bytes)?;
        if checksum(&description_bytes) != stated {
            return Err(Error::Description("it is damaged: its checksum is wrong".to_owned()));
        }
        let description = description(&description_bytes)?;
        let index = read_index(&mut input, index_len as usize / ENTRY_BYTES, description_offset)?;
        Ok(ProgramReader {
            input,
            kind,
            description,
            description_bytes,
            frames_hash: footer[32..64].try_into().expect("32 bytes"),
            instruction_count: index.iter().map(|entry| u64::from(entry.count)).sum(),
            index,
            stored: Vec::new(),
            raw: Vec::new(),
            templates: Vec::new(),
        })
    }

    /// Whether the file is planned.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Names, ports and figures.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Instructions, directives included.
    pub fn instruction_count(&self) -> u64 {
        self.instruction_count
    }

    /// How many frames the file has.
    pub fn frame_count(&self) -> usize {
        self.index.len()
    }

    /// The hash that the file states; [`ProgramReader::verify_hash`] proves it.
    pub fn hash(&self) -> Hash {
        Hash::of_program(self.kind, &self.frames_hash, &self.description_bytes)
    }

    /// Bytes of memory that it takes to read all frames again and again, besides those of the
    /// thread that does: the index, the description, and the largest frame as it is stored and as
    /// it was before.
    pub fn memory_bytes(&self) -> u64 {
        let frame =
            |entry: &FrameIndexEntry| u64::from(entry.stored_bytes) + u64::from(entry.raw_bytes);
        let frame = self.index.iter().map(frame).max().unwrap_or(0);
        let index = self.index.capacity() * size_of::<FrameIndexEntry>();
        let description = DESCRIPTION_GROWTH * self.description_bytes.capacity();
        frame + (index + description) as u64
    }

    /// How many values the program defines before frame `frame`.
    pub fn first_value(&self, frame: usize) -> u64 {
        self.index[frame].first_value
    }

    /// Reads frame `frame` into `instructions`, replacing what was there.
    pub fn read_frame(
        &mut self,
        frame: usize,
        instructions: &mut Vec<Instruction>,
    ) -> Result<(), Error> {
        self.read_raw(frame)?;
        let entry = self.index[frame];
        let count = entry.count as usize;
        let templates = &mut self.templates;
        frame::decode(self.kind, &self.raw, count, entry.first_value, templates, instructions)
            .map_err(|what| Error::Damaged { frame, what })?;
        let inputs = instructions.iter().filter(|i| i.op.is_private()).count();
        if inputs != entry.input_count as usize {
            let what = "its number of inputs is wrong";
            return Err(Error::Damaged { frame, what });
        }
        Ok(())
    }

    fn read_raw(&mut self, frame: usize) -> Result<(), Error> {
        let entry = self.index[frame];
        self.stored.clear();
        self.stored.reserve_exact(entry.stored_bytes as usize);
        self.stored.resize(entry.stored_bytes as usize, 0);
        self.input.seek(SeekFrom::Start(entry.offset))?;
        self.input.read_exact(&mut self.stored)?;
        self.raw.clear();
        self.raw.reserve_exact(entry.raw_bytes as usize);
        let (stored, raw) = (&self.stored, &mut self.raw);
        DECOMPRESSOR
            .with_borrow_mut(|decompressor| decompressor.decompress_to_buffer(stored, raw))
            .map_err(|_| Error::Damaged { frame, what: "its checksum is wrong" })?;
        if self.raw.len() != entry.raw_bytes as usize {
            return Err(Error::Damaged { frame, what: "its length is wrong" });
        }
        Ok(())
    }

    /// Reads all frames and compares their hash with the one the file states.
    pub fn verify_hash(&mut self) -> Result<Hash, Error> {
        let mut hash = Sha256::new();
        for frame in 0..self.index.len() {
            self.read_raw(frame)?;
            hash.update(&self.raw);
        }
        let found: [u8; 32] = hash.finalize().into();
        if found != self.frames_hash {
            let frame = self.index.len();
            return Err(Error::Damaged { frame, what: "the hash of all frames is wrong" });
        }
        Ok(self.hash())
    }

    /// Calls `visit` with each instruction from first to last.
    pub fn for_each<E: From<Error>>(
        &mut self,
        mut visit: impl FnMut(&Instruction) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut instructions = Vec::with_capacity(FRAME_INSTRUCTIONS);
        for frame in 0..self.frame_count() {
            self.read_frame(frame, &mut instructions)?;
            instructions.iter().try_for_each(&mut visit)?;
        }
        Ok(())
    }

    /// Turns into an iterator over the input instructions alone; frames without any are skipped.
    pub fn into_inputs(self) -> InputScan<R> {
        InputScan { reader: self, frame: 0, at: 0, instructions: Vec::new() }
    }
}

/// Iterates over the input instructions of a program.
pub struct InputScan<R> {
    reader: ProgramReader<R>,
    frame: usize,
    at: usize,
    instructions: Vec<Instruction>,
}

impl<R: Read + Seek> Iterator for InputScan<R> {
    type Item = Result<Instruction, Error>;

    fn next(&mut self) -> Option<Result<Instruction, Error>> {
        loop {
            let rest = &self.instructions[self.at..];
            if let Some(ahead) = rest.iter().position(|i| i.op.is_private()) {
                self.at += ahead + 1;
                return Some(Ok(self.instructions[self.at - 1]));
            }
            let frames = &self.reader.index[self.frame..];
            self.frame += frames.iter().position(|entry| entry.input_count > 0)? + 1;
            self.at = 0;
            if let Err(error) = self.reader.read_frame(self.frame - 1, &mut self.instructions) {
                self.instructions.clear();
                self.frame = self.reader.index.len();
                return Some(Err(error));
            }
        }
    }
}

fn read_header(input: &mut (impl Read + Seek)) -> Result<FileKind, Error> {
    let mut header = [0u8; HEADER_BYTES];
    input.seek(SeekFrom::Start(0))?;
    input.read_exact(&mut header)?;
    if header[..8] != MAGIC {
        return Err(Error::NotAProgram("it does not begin like one"));
    }
    let found = u16::from_le_bytes([header[8], header[9]]);
    if found != FORMAT_VERSION {
        return Err(Error::Version { found, expected: FORMAT_VERSION });
    }
    match header[10] {
        0 => Ok(FileKind::Program),
        1 => Ok(FileKind::Planned),
        _ => Err(Error::NotAProgram("its kind is unknown")),
    }
}

fn read_index(
    input: &mut impl Read,
    count: usize,
    end: u64,
) -> Result<Vec<FrameIndexEntry>, Error> {
    let mut index = Vec::new();
    let mut expected = HEADER_BYTES as u64;
    let mut values = 0..=0;
    let mut bytes = [0u8; ENTRY_BYTES];
    for frame in 0..count {
        input.read_exact(&mut bytes)?;
        let entry = FrameIndexEntry {
            offset: word(&bytes, 0),
            first_value: word(&bytes, 8),
            stored_bytes: half(&bytes, 16),
            raw_bytes: half(&bytes, 20),
            count: half(&bytes, 24),
            input_count: half(&bytes, 28),
        };
        let valid = entry.offset == expected
            && values.contains(&entry.first_value)
            && entry.raw_bytes as usize <= FRAME_BYTES_MAX
            && entry.stored_bytes as usize <= 2 * FRAME_BYTES_MAX
            && (1..=FRAME_INSTRUCTIONS).contains(&(entry.count as usize))
            && entry.input_count <= entry.count;
        if !valid {
            return Err(Error::Damaged { frame, what: "its index entry is wrong" });
        }
        expected += u64::from(entry.stored_bytes);
        let values_max = u64::from(entry.count) * RESULTS_MAX as u64;
        values = entry.first_value..=entry.first_value.saturating_add(values_max);
        index.push(entry);
    }
    if expected != end {
        return Err(Error::Damaged { frame: count, what: "the frames end at the wrong place" });
    }
    Ok(index)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::binary::to_bytes;
    use crate::random::{RandomOptions, random_program};

    #[test]
    fn what_it_takes_is_what_it_says() {
        for count in [1, 100, 9000] {
            let options = RandomOptions { instruction_count: count, ..RandomOptions::default() };
            let (program, description) = random_program(1, &options);
            let bytes = to_bytes(FileKind::Program, &program, &description).expect("in memory");
            let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("it was written");
            reader.verify_hash().expect("it was written");
            let index = reader.index.capacity() * size_of::<FrameIndexEntry>();
            let text = DESCRIPTION_GROWTH * reader.description_bytes.len();
            let held = reader.stored.capacity() + reader.raw.capacity() + index + text;
            let said = reader.memory_bytes();
            let most = 2 * held as u64;
            assert!((held as u64..=most).contains(&said), "{count}: {said} for {held}");
        }
    }
}
