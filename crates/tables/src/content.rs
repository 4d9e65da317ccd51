//! [`Content`]: the bytes of a file that is read more than once, and their hash.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, RefusalKind};

/// The bytes of a table.
#[derive(Clone)]
pub enum Content {
    /// A file.
    Path(PathBuf),
    /// The contents of stdin.
    Bytes(Vec<u8>),
}

/// SHA-256 of all bytes of a table. Length and time of the last change would miss an editor that sets
/// the time back, and a change within the clock's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentHash(pub [u8; 32]);

/// Reads at any place.
#[cfg(feature = "arrow")]
pub(crate) trait ReadAnywhere: Read + io::Seek {}

#[cfg(feature = "arrow")]
impl<T: Read + io::Seek> ReadAnywhere for T {}

/// Reads the content, and hashes what was read so far.
pub(crate) struct ContentReader<'a> {
    input: Box<dyn Read + 'a>,
    hash: Sha256,
}

impl ContentReader<'_> {
    /// Reads what is left; returns the hash of all.
    pub(crate) fn finish(mut self) -> io::Result<ContentHash> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(ContentHash(self.hash.finalize().into()))
    }
}

impl Read for ContentReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

impl Content {
    /// Returns whether it still has this hash; stdin is in memory, so it has.
    pub(crate) fn still_has(&self, hash: &ContentHash) -> bool {
        let Content::Path(_) = self else { return true };
        let reader = self.reader().ok();
        reader.and_then(|reader| reader.finish().ok()).as_ref() == Some(hash)
    }

    /// Opens the file that an argument names; `-` is stdin, which is read at once.
    ///
    /// # Errors
    /// A pipe, a socket or a device: it cannot be read twice.
    pub fn open(argument: &str) -> Result<Content, Error> {
        if argument == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(Content::Bytes(bytes));
        }
        refuse_pipe(argument)?;
        Ok(Content::Path(PathBuf::from(argument)))
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Content::Path(path) => path.display().to_string(),
            Content::Bytes(_) => "stdin".to_owned(),
        }
    }

    /// Length, if it is known before reading.
    pub(crate) fn length_bytes(&self) -> Option<u64> {
        match self {
            Content::Path(path) => {
                path.metadata().ok().filter(|data| data.is_file()).map(|d| d.len())
            }
            Content::Bytes(bytes) => Some(bytes.len() as u64),
        }
    }

    /// Reads the content at any place, without hashing it.
    #[cfg(feature = "arrow")]
    pub(crate) fn anywhere(&self) -> Result<Box<dyn ReadAnywhere + '_>, Error> {
        // Opens and checks the file as for the other formats.
        drop(self.reader()?);
        Ok(match self {
            Content::Path(path) => Box::new(BufReader::new(File::open(path)?)),
            Content::Bytes(bytes) => Box::new(io::Cursor::new(bytes.as_slice())),
        })
    }

    pub(crate) fn reader(&self) -> Result<ContentReader<'_>, Error> {
        let input: Box<dyn Read> = match self {
            Content::Path(path) => {
                let open = File::open(path).and_then(|file| {
                    // Opening a directory succeeds, reading it does not.
                    if file.metadata()?.is_dir() {
                        return Err(std::io::Error::other("is a directory, not a file of rows"));
                    }
                    Ok(file)
                });
                let file = open.map_err(|error| {
                    let failure =
                        Error::refused(RefusalKind::Unreadable, self.name(), error.to_string());
                    match error.kind() {
                        std::io::ErrorKind::NotFound => {
                            failure.remedy("check the name of the file")
                        }
                        std::io::ErrorKind::PermissionDenied => {
                            failure.remedy("ask for the right to read it, or give another file")
                        }
                        _ if path.is_dir() => failure.remedy("give a file, with all rows in it"),
                        _ => failure,
                    }
                })?;
                Box::new(BufReader::new(file))
            }
            Content::Bytes(bytes) => Box::new(bytes.as_slice()),
        };
        Ok(ContentReader { input, hash: Sha256::new() })
    }
}

/// Refuses a file that can be read once only, before it is opened: to open one may take for ever.
///
/// # Errors
/// A pipe, a socket or a device.
pub fn refuse_pipe(argument: &str) -> Result<(), Error> {
    // Opening a file that does not exist reports that.
    let Ok(data) = Path::new(argument).metadata() else { return Ok(()) };
    let kind = match data.file_type() {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        // A terminal, or one without an end.
        kind if kind.is_char_device() => "a device",
        _ => return Ok(()),
    };
    let what = format!("is {kind}, and an input is read twice: give a file");
    Err(Error::refused(RefusalKind::NotAFile, argument, what)
        .remedy("write it to a file and name that; one input may be `-`, which is stdin"))
}

/// Returns whether `argument` names stdin: `-`, or the file that is redirected to it.
pub fn is_stdin(argument: &str) -> bool {
    let identity = |path: &str| Path::new(path).metadata().ok();
    let same = |a: Metadata, b: Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    argument == "-"
        || identity(argument).zip(identity("/dev/stdin")).is_some_and(|(a, b)| same(a, b))
}
