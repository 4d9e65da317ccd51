//! [`Source`]: where the rows of an input come from.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::{Failure, codes};

/// Where the rows of an input come from.
#[derive(Clone)]
pub(crate) enum Source {
    /// A file.
    Path(PathBuf),
    /// The contents of stdin.
    Bytes(Vec<u8>),
}

/// SHA-256 of all bytes of a source. Length and time of the last change would miss an editor that sets
/// the time back, and a change within the clock's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentHash([u8; 32]);

/// A source that is read, and the hash of what was read of it so far.
pub(crate) struct SourceReader<'a> {
    input: Box<dyn Read + 'a>,
    hash: Sha256,
}

impl SourceReader<'_> {
    /// Reads what is left; returns the hash of all.
    pub(crate) fn finish(mut self) -> io::Result<ContentHash> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(ContentHash(self.hash.finalize().into()))
    }
}

impl Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

impl Source {
    /// Returns whether it still has this hash; stdin is held, so it has.
    pub(crate) fn still_has(&self, hash: &ContentHash) -> bool {
        let Source::Path(_) = self else { return true };
        let reader = self.reader().ok();
        reader.and_then(|reader| reader.finish().ok()).as_ref() == Some(hash)
    }

    /// The source that an argument names; `-` is stdin, which is read at once.
    pub(crate) fn open(argument: &str) -> Result<Source, Failure> {
        if argument == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(Source::Bytes(bytes));
        }
        refuse_pipe(argument)?;
        Ok(Source::Path(PathBuf::from(argument)))
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Bytes(_) => "stdin".to_owned(),
        }
    }

    /// Length, if it is known before reading.
    pub(crate) fn length_bytes(&self) -> Option<u64> {
        match self {
            Source::Path(path) => {
                path.metadata().ok().filter(|data| data.is_file()).map(|d| d.len())
            }
            Source::Bytes(bytes) => Some(bytes.len() as u64),
        }
    }

    pub(crate) fn reader(&self) -> Result<SourceReader<'_>, Failure> {
        let input: Box<dyn Read> = match self {
            Source::Path(path) => {
                let open = File::open(path).and_then(|file| {
                    // Opening a directory succeeds, reading it does not.
                    if file.metadata()?.is_dir() {
                        return Err(std::io::Error::other("is a directory, not a file of rows"));
                    }
                    Ok(file)
                });
                let file = open.map_err(|error| {
                    let message = format!("{}: {error}", path.display());
                    let failure = Failure::new(codes::DIRECTORY_AS_INPUT, message);
                    match error.kind() {
                        std::io::ErrorKind::NotFound => {
                            failure.remedy("check the name: inputs are given as --in NAME=FILE")
                        }
                        std::io::ErrorKind::PermissionDenied => {
                            failure.remedy("ask for the right to read it, or give another file")
                        }
                        _ => failure,
                    }
                })?;
                Box::new(BufReader::new(file))
            }
            Source::Bytes(bytes) => Box::new(bytes.as_slice()),
        };
        Ok(SourceReader { input, hash: Sha256::new() })
    }
}

/// Refuses a file that can be read once only, before it is opened: to open one may take for ever.
pub(crate) fn refuse_pipe(argument: &str) -> Result<(), Failure> {
    // What is not there is told by who reads it.
    let Ok(data) = Path::new(argument).metadata() else { return Ok(()) };
    let kind = match data.file_type() {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        // A terminal, or one without an end.
        kind if kind.is_char_device() => "a device",
        _ => return Ok(()),
    };
    let message = format!("{argument}: is {kind}, and an input is read twice: give a file");
    Err(Failure::new(codes::NOT_A_FILE_AS_INPUT, message)
        .remedy("write it to a file and name that; one input may be `-`, which is stdin"))
}

/// Returns whether `argument` names stdin: `-`, or the file that is redirected to it.
pub(crate) fn is_stdin(argument: &str) -> bool {
    let identity = |path: &str| Path::new(path).metadata().ok();
    let same = |a: Metadata, b: Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    argument == "-"
        || identity(argument).zip(identity("/dev/stdin")).is_some_and(|(a, b)| same(a, b))
}
