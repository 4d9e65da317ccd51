//! [`BlockDirectory`]: a file of several programs, the blocks of one, and how they follow each
//! other.
//!
//! The blocks' files stand one after another; then a directory: what they have in common and how
//! each ends, as JSON; then where each stands, 16 bytes a block; then the footer. A block's file has
//! of its description what is its own, the figures of its plan: so a file grows with the number of
//! its blocks and not with the square of it. A program of one block has none of this: it is that
//! block's file, with a whole description.

use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::binary::{
    CHECKSUM_BYTES, FOOTER_BYTES, FORMAT_VERSION, FileKind, FileSummary, HEADER_BYTES, Hash,
    ProgramReader, checksum,
};
use crate::description::Description;
use crate::error::Error;
use crate::flow::Flow;
use crate::limits::{BLOCKS_MAX, DIRECTORY_BYTES_MAX};

/// The last bytes of a file of several blocks.
pub(super) const BLOCKS_MAGIC: [u8; 8] = *b"PHBLOCK2";

/// Magic of older files, whose blocks have whole descriptions. They are refused.
const OLD_MAGIC: [u8; 8] = *b"PHBLOCKS";

/// Bytes after the places of the blocks: where the directory stands, how long it is, its checksum,
/// magic.
const BLOCKS_FOOTER_BYTES: usize = 8 + 8 + CHECKSUM_BYTES + 8;

/// Bytes of the place of a block.
const PLACE_BYTES: usize = 16;

/// Contents of the directory of a file of several blocks, without the blocks' own files.
#[derive(Clone, Debug)]
pub struct BlockDirectory {
    /// Description shared by all blocks; after planning it has the figures of all blocks together.
    pub description: Description,
    /// How they follow each other.
    pub flow: Flow,
    /// Where each begins, and its length.
    pub places: Vec<(u64, u64)>,
    /// Whether the blocks are planned.
    pub kind: FileKind,
    /// Of the whole.
    pub hash: Hash,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Directory {
    description: Description,
    flow: Flow,
}

impl BlockDirectory {
    /// Reads the directory of a file of several blocks; `None` if it is a program of one.
    ///
    /// # Errors
    /// If the file is damaged, or cannot be read.
    pub fn read<R: Read + Seek>(mut input: R) -> Result<Option<BlockDirectory>, Error> {
        let length = input.seek(SeekFrom::End(0))?;
        let footer_at = length.checked_sub(BLOCKS_FOOTER_BYTES as u64);
        let Some(footer_at) = footer_at else { return Ok(None) };
        let mut footer = [0u8; BLOCKS_FOOTER_BYTES];
        input.seek(SeekFrom::Start(footer_at))?;
        input.read_exact(&mut footer)?;
        if footer[24..] == OLD_MAGIC {
            return Err(Error::NotAProgram("its blocks are of an older format: make it again"));
        }
        if footer[24..] != BLOCKS_MAGIC {
            return Ok(None);
        }
        let (directory_at, directory_length) = (word(&footer, 0), word(&footer, 8));
        let places_at = directory_at.checked_add(directory_length);
        let places_bytes = places_at.and_then(|at| footer_at.checked_sub(at));
        let places_bytes = places_bytes.filter(|bytes| {
            bytes.is_multiple_of(PLACE_BYTES as u64)
                && *bytes <= (BLOCKS_MAX * PLACE_BYTES) as u64
                && directory_length <= DIRECTORY_BYTES_MAX as u64
        });
        let damaged = Error::NotAProgram("its directory of blocks is damaged");
        let Some(places_bytes) = places_bytes else { return Err(damaged) };
        input.seek(SeekFrom::Start(directory_at))?;
        let mut directory_bytes = vec![0; directory_length as usize];
        input.read_exact(&mut directory_bytes)?;
        let mut places = vec![0; places_bytes as usize];
        input.read_exact(&mut places)?;
        let places: Vec<(u64, u64)> = places
            .chunks_exact(PLACE_BYTES)
            .map(|place| (word(place, 0), word(place, 8)))
            .collect();
        let described = |what: String| Error::Description(what);
        if checksum(&directory_bytes) != footer[16..24] {
            return Err(described("it is damaged: its checksum is wrong".to_owned()));
        }
        let Directory { description, flow } =
            serde_json::from_slice(&directory_bytes).map_err(|e| described(e.to_string()))?;
        let mut faults = description.faults();
        if faults.is_empty() {
            faults = flow.faults(&description);
        }
        if let Some(fault) = faults.into_iter().next() {
            return Err(described(fault));
        }
        let mut end = 0;
        for &(offset, length) in &places {
            if offset != end || length < (HEADER_BYTES + FOOTER_BYTES) as u64 {
                return Err(damaged);
            }
            match offset.checked_add(length) {
                Some(next) if next <= directory_at => end = next,
                _ => return Err(damaged),
            }
        }
        if end != directory_at || places.len() != flow.blocks.len() {
            return Err(damaged);
        }
        let kind = if description.plan.is_some() { FileKind::Planned } else { FileKind::Program };
        let mut hash = BlocksHash::new(kind, places.len());
        for &place in &places {
            let section = Section::new(&mut input, place);
            let block = ProgramReader::open_block(section, &description)?;
            if block.kind() != kind {
                return Err(described("some blocks are planned and some are not".to_owned()));
            }
            hash.block(block.hash());
        }
        let hash = hash.finish(&directory_bytes);
        Ok(Some(BlockDirectory { description, flow, places, kind, hash }))
    }

    /// Opens a block; `input` is the whole file.
    ///
    /// # Errors
    /// As [`ProgramReader::open_block`].
    pub fn open<R: Read + Seek>(
        &self,
        input: R,
        block: usize,
    ) -> Result<ProgramReader<Section<R>>, Error> {
        ProgramReader::open_block(Section::new(input, self.places[block]), &self.description)
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// The hash of a file of several blocks: of the blocks' hashes and the directory.
struct BlocksHash(Sha256);

impl BlocksHash {
    fn new(kind: FileKind, count: usize) -> BlocksHash {
        let hash = Sha256::new()
            .chain_update(b"phineus blocks 2")
            .chain_update(FORMAT_VERSION.to_le_bytes())
            .chain_update([kind as u8])
            .chain_update((count as u64).to_le_bytes());
        BlocksHash(hash)
    }

    fn block(&mut self, hash: Hash) {
        self.0.update(hash.0);
    }

    fn finish(self, directory: &[u8]) -> Hash {
        Hash(self.0.chain_update(directory).finalize().into())
    }
}

/// Completes a file of several blocks: `output` stands behind the file of the last one, and
/// `blocks` says what was written for each, from the beginning of the file on. Each was written with
/// a description that [is of a block](Description::is_block).
///
/// # Errors
/// If the directory is too long, or cannot be written.
pub fn finish_blocks<W: Write>(
    mut output: W,
    blocks: &[FileSummary],
    description: &Description,
    flow: &Flow,
) -> Result<(W, FileSummary), Error> {
    assert_eq!(blocks.len(), flow.blocks.len(), "each block has an end");
    let kind = if description.plan.is_some() { FileKind::Planned } else { FileKind::Program };
    let description = Description { is_block: false, ..description.clone() };
    let directory = Directory { description, flow: flow.clone() };
    let text = serde_json::to_vec(&directory).map_err(|e| Error::Description(e.to_string()))?;
    if text.len() > DIRECTORY_BYTES_MAX {
        let what = format!("it takes {} bytes, at most {DIRECTORY_BYTES_MAX}", text.len());
        return Err(Error::Description(what));
    }
    let mut hash = BlocksHash::new(kind, blocks.len());
    let (mut tail, mut offset) = (text.clone(), 0u64);
    for block in blocks {
        hash.block(block.hash);
        tail.extend(offset.to_le_bytes());
        tail.extend(block.file_bytes.to_le_bytes());
        offset += block.file_bytes;
    }
    tail.extend(offset.to_le_bytes());
    tail.extend((text.len() as u64).to_le_bytes());
    tail.extend(checksum(&text));
    tail.extend(BLOCKS_MAGIC);
    output.write_all(&tail)?;
    output.flush()?;
    let written = FileSummary {
        hash: hash.finish(&text),
        instruction_count: blocks.iter().map(|block| block.instruction_count).sum(),
        file_bytes: offset + tail.len() as u64,
    };
    Ok((output, written))
}

/// A part of a file, as if it were one.
#[derive(Clone, Debug)]
pub struct Section<R> {
    input: R,
    start: u64,
    length: u64,
    position: u64,
}

impl<R> Section<R> {
    /// The part of `input` at this offset and of this length.
    pub fn new(input: R, (start, length): (u64, u64)) -> Section<R> {
        Section { input, start, length, position: 0 }
    }
}

impl<R: Read + Seek> Read for Section<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.position);
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.input.seek(SeekFrom::Start(self.start + self.position))?;
        let count = self.input.read(&mut buffer[..count])?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: Read + Seek> Seek for Section<R> {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let target = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
        };
        self.position = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}
