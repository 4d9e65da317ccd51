//! Program files on disk, read at any place by several readers at once.
//!
//! A plan with garbled values has the plan of what is garbled beside it in the same file: the plan,
//! then that plan, then 32 bytes that say so (`docs/bytecode.md`, section 11).

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use phineus_bytecode::{Description, ProgramReader};
use phineus_plan::ScratchFile;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, codes};
use crate::leftovers::Leftovers;

/// The last bytes of a plan with garbled values.
const BESIDE_MAGIC: &[u8; 8] = b"PHGARBLE";

/// The lengths of both plans, the beginning of a hash of them, and the magic.
const BESIDE_BYTES: u64 = 32;

/// Reads a program.
pub type FileProgramReader = ProgramReader<BufReader<FileView>>;

/// Where the bytes of a program are.
#[derive(Clone)]
enum ProgramBytes {
    /// A file of the user's.
    File(Arc<File>),
    /// One that was made here, and goes with its last handle.
    Scratch(ScratchFile),
}

impl ProgramBytes {
    fn length(&self) -> io::Result<u64> {
        match self {
            ProgramBytes::File(file) => Ok(file.metadata()?.len()),
            ProgramBytes::Scratch(file) => Ok(file.length_bytes()),
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            ProgramBytes::File(file) => file.read_at(buffer, offset),
            ProgramBytes::Scratch(file) => file.read_at(buffer, offset),
        }
    }
}

/// A file with a reading position of its own: several can share one handle.
#[derive(Clone)]
pub struct FileView {
    content: ProgramBytes,
    /// The part of the file that is seen; all of it where there is none.
    place: Option<(u64, u64)>,
    position: u64,
}

impl FileView {
    fn length(&self) -> io::Result<u64> {
        self.place.map_or_else(|| self.content.length(), |(_, length)| Ok(length))
    }
}

impl Read for FileView {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.place.map_or(0, |(start, _)| start);
        let left = self.place.map_or(u64::MAX, |(_, length)| length.saturating_sub(self.position));
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.content.read_at(&mut buffer[..count], start + self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for FileView {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let target = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.length()?.checked_add_signed(offset),
        };
        self.position = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

/// A program or planned program, in a file that may have no name.
#[derive(Clone)]
pub struct ProgramFile {
    content: ProgramBytes,
    /// The part of the file that it is, if it is a block of a larger program.
    place: Option<(u64, u64)>,
    /// The program of this block, whose description has what the block's own file lacks.
    program: Option<Arc<Description>>,
    /// The part that is garbled beside a run of it, with the program that it is a block of.
    beside: Option<(u64, u64, Option<Arc<Description>>)>,
}

/// Parts of a file, as its end states them.
enum FileContents {
    One,
    /// A plan and the one beside it, each by its offset and length.
    Two {
        plan: (u64, u64),
        beside: (u64, u64),
    },
    Damaged,
}

/// End of a file with two plans of these lengths.
fn beside_end(lengths: [u64; 2]) -> [u8; BESIDE_BYTES as usize] {
    let mut bytes = [0; BESIDE_BYTES as usize];
    bytes[..8].copy_from_slice(&lengths[0].to_le_bytes());
    bytes[8..16].copy_from_slice(&lengths[1].to_le_bytes());
    let digest = Sha256::digest(&bytes[..16]);
    bytes[16..24].copy_from_slice(&digest[..8]);
    bytes[24..].copy_from_slice(BESIDE_MAGIC);
    bytes
}

/// Writes `plan`, then what is garbled beside it, each of which returns its length, then what says
/// so.
pub fn write_beside<W: Write>(
    output: &mut W,
    plan: impl FnOnce(&mut W) -> Result<u64, Failure>,
    garbling: impl FnOnce(&mut W) -> Result<u64, Failure>,
) -> Result<(), Failure> {
    let lengths = [plan(output)?, garbling(output)?];
    Ok(output.write_all(&beside_end(lengths))?)
}

/// Parts that the end of `file` states.
fn parts(file: &File) -> io::Result<FileContents> {
    let length = file.metadata()?.len();
    let Some(at) = length.checked_sub(BESIDE_BYTES) else { return Ok(FileContents::One) };
    let mut end = [0; BESIDE_BYTES as usize];
    file.read_exact_at(&mut end, at)?;
    if end[24..] != BESIDE_MAGIC[..] {
        return Ok(FileContents::One);
    }
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|k| end[at + k]));
    let lengths = [word(0), word(8)];
    let is_whole = end == beside_end(lengths) && lengths[0].checked_add(lengths[1]) == Some(at);
    Ok(match is_whole {
        true => FileContents::Two { plan: (0, lengths[0]), beside: (lengths[0], lengths[1]) },
        false => FileContents::Damaged,
    })
}

impl ProgramFile {
    pub fn new(file: ScratchFile) -> ProgramFile {
        ProgramFile {
            content: ProgramBytes::Scratch(file),
            place: None,
            program: None,
            beside: None,
        }
    }

    /// A block of the program that has this description, or a program of one block if there is none.
    pub fn new_block(file: ScratchFile, program: Option<Arc<Description>>) -> ProgramFile {
        ProgramFile { program, ..ProgramFile::new(file) }
    }

    /// Returns this block as a block of the program that `program` describes.
    pub fn of_program(self, program: Arc<Description>) -> ProgramFile {
        ProgramFile { program: Some(program), ..self }
    }

    /// The description of the program that it is a block of, if it is one.
    pub fn program(&self) -> Option<Arc<Description>> {
        self.program.clone()
    }

    pub fn open(path: &Path) -> Result<ProgramFile, Failure> {
        let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
        let places = parts(&file).map_err(|error| Failure::file(path, &error))?;
        let content = ProgramBytes::File(Arc::new(file));
        let whole = ProgramFile { content, place: None, program: None, beside: None };
        match places {
            FileContents::One => Ok(whole),
            FileContents::Two { plan, beside } => {
                let beside = Some((beside.0, beside.1, None));
                Ok(ProgramFile { place: Some(plan), beside, ..whole })
            }
            FileContents::Damaged => {
                let message = format!("{}: the end of the plan is damaged", path.display());
                Err(Failure::new(codes::DAMAGED_END, message).remedy("plan the program again"))
            }
        }
    }

    /// The plan of what is garbled beside a run of this one, if there is one in its file.
    pub fn garbling(&self) -> Option<ProgramFile> {
        let (start, length, program) = self.beside.clone()?;
        let (content, place) = (self.content.clone(), Some((start, length)));
        Some(ProgramFile { content, place, program, beside: None })
    }

    /// A reader of its own.
    pub fn reader(&self) -> Result<FileProgramReader, Failure> {
        Ok(self.program_reader()?)
    }

    /// Opens the program; errors are those of the format.
    pub fn program_reader(&self) -> Result<FileProgramReader, phineus_bytecode::Error> {
        let input = BufReader::new(self.view());
        match &self.program {
            None => ProgramReader::open(input),
            Some(program) => ProgramReader::open_block(input, program),
        }
    }

    /// Moves what is in memory of a file that was made here to disk: for what stays.
    pub fn settle(&self) -> Result<(), Failure> {
        match &self.content {
            ProgramBytes::File(_) => Ok(()),
            ProgramBytes::Scratch(file) => Ok(file.settle()?),
        }
    }

    /// The bytes of the file, from its beginning.
    pub fn view(&self) -> FileView {
        FileView { content: self.content.clone(), place: self.place, position: 0 }
    }

    /// The block of `program` at this offset, of this length; it lies within the file.
    pub fn section(&self, (offset, length): (u64, u64), program: &Arc<Description>) -> ProgramFile {
        let place = Some((self.start() + offset, length));
        let program = Some(program.clone());
        ProgramFile { content: self.content.clone(), place, program, beside: None }
    }

    /// Where the part of the file begins that it is.
    fn start(&self) -> u64 {
        self.place.map_or(0, |(start, _)| start)
    }

    /// Adds the garbled part beside this block: the block of `program` at this place of
    /// `garbling`.
    pub fn with_garbling(
        self,
        garbling: &ProgramFile,
        (offset, length): (u64, u64),
        program: &Arc<Description>,
    ) -> ProgramFile {
        let beside = Some((garbling.start() + offset, length, Some(program.clone())));
        ProgramFile { beside, ..self }
    }

    pub fn length_bytes(&self) -> Result<u64, Failure> {
        Ok(self.view().length()?)
    }

    /// Copies the file to `path`.
    pub fn save(&self, path: &Path, leftovers: &Leftovers) -> Result<(), Failure> {
        self.save_with(None, path, leftovers)
    }

    /// Saves the file together with the garbling plan.
    pub fn save_with(
        &self,
        garbling: Option<&ProgramFile>,
        path: &Path,
        leftovers: &Leftovers,
    ) -> Result<(), Failure> {
        crate::output_file::write_atomically(path, leftovers, |output| {
            let own = |output: &mut _| Ok(io::copy(&mut self.view(), output)?);
            match garbling {
                None => own(output).map(drop),
                Some(garbling) => {
                    write_beside(output, own, |output| Ok(io::copy(&mut garbling.view(), output)?))
                }
            }
        })
    }
}
