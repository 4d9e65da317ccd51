//! Program files on disk, read at any place by several readers at once.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use phineus_bytecode::ProgramReader;

use crate::failure::Failure;

/// Reads a program.
pub(crate) type Reader = ProgramReader<BufReader<FileView>>;

/// A file with a reading position of its own: several can share one handle.
#[derive(Clone)]
pub(crate) struct FileView {
    file: Arc<File>,
    /// The part of the file that is seen; all of it where there is none.
    place: Option<(u64, u64)>,
    position: u64,
}

impl FileView {
    fn length(&self) -> io::Result<u64> {
        self.place.map_or_else(|| Ok(self.file.metadata()?.len()), |(_, length)| Ok(length))
    }
}

impl Read for FileView {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = self.place.map_or(0, |(start, _)| start);
        let left = self.place.map_or(u64::MAX, |(_, length)| length.saturating_sub(self.position));
        let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.file.read_at(&mut buffer[..count], start + self.position)?;
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
pub(crate) struct ProgramFile {
    file: Arc<File>,
    /// The part of the file that it is, if it is a block of a larger program.
    place: Option<(u64, u64)>,
}

impl ProgramFile {
    pub(crate) fn new(file: File) -> ProgramFile {
        ProgramFile { file: Arc::new(file), place: None }
    }

    pub(crate) fn open(path: &Path) -> Result<ProgramFile, Failure> {
        let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
        Ok(ProgramFile::new(file))
    }

    /// A reader of its own.
    pub(crate) fn reader(&self) -> Result<Reader, Failure> {
        Ok(self.program_reader()?)
    }

    /// The same, with the error of the format.
    pub(crate) fn program_reader(&self) -> Result<Reader, phineus_bytecode::Error> {
        ProgramReader::open(BufReader::new(self.view()))
    }

    /// The bytes of the file, from its beginning.
    pub(crate) fn view(&self) -> FileView {
        FileView { file: self.file.clone(), place: self.place, position: 0 }
    }

    /// The block at this offset, of this length.
    pub(crate) fn section(&self, place: (u64, u64)) -> ProgramFile {
        ProgramFile { file: self.file.clone(), place: Some(place) }
    }

    pub(crate) fn length_bytes(&self) -> Result<u64, Failure> {
        Ok(self.view().length()?)
    }

    /// Copies the file to `path`.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        crate::csv_output::write_atomically(path, |output| {
            let mut view = self.view();
            io::copy(&mut view, output)?;
            Ok(())
        })
    }
}
