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
    position: u64,
}

impl Read for FileView {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for FileView {
    fn seek(&mut self, target: SeekFrom) -> io::Result<u64> {
        let target = match target {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.file.metadata()?.len().checked_add_signed(offset),
        };
        self.position = target.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.position)
    }
}

/// A program or planned program, in a file that may have no name.
#[derive(Clone)]
pub(crate) struct ProgramFile {
    file: Arc<File>,
}

impl ProgramFile {
    pub(crate) fn new(file: File) -> ProgramFile {
        ProgramFile { file: Arc::new(file) }
    }

    pub(crate) fn open(path: &Path) -> Result<ProgramFile, Failure> {
        let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
        Ok(ProgramFile::new(file))
    }

    /// A reader of its own.
    pub(crate) fn reader(&self) -> Result<Reader, Failure> {
        let view = FileView { file: self.file.clone(), position: 0 };
        Ok(ProgramReader::open(BufReader::new(view))?)
    }

    pub(crate) fn length_bytes(&self) -> Result<u64, Failure> {
        Ok(self.file.metadata()?.len())
    }

    /// Copies the file to `path`.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        crate::csv_output::write_atomically(path, |output| {
            let mut view = FileView { file: self.file.clone(), position: 0 };
            io::copy(&mut view, output)?;
            Ok(())
        })
    }
}
