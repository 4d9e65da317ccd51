//! Temporary files of planning: in memory while they are small, then in unnamed files.
//!
//! The first bytes of a file are held in memory, out of an allowance that all files of a [`Scratch`]
//! share; the others are on disk, each at its own offset, with a hole where the first ones would be.
//! So small programs are planned without a file, and large ones in memory that is flat. What a file
//! has on disk, and what all of them have there at most, is counted by the byte.
//!
//! Invariants: a file grows at its end only and shrinks from its end only; what it held is given
//! back, in memory and on disk, when it shrinks and when its last handle is dropped.
//!
//! A scratch also counts what the planner's tables take at most ([`TableBudget`]), because every
//! stage that has tables has a file of it.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Error;

/// The unit in which memory is taken from an allowance: small beside an allowance of a megabyte,
/// large beside what a list entry takes.
const CHUNK_BYTES: usize = 16 * 1024;

/// Limit on the memory of all plans of a [`Scratch`] together. Plans stay as long as a run. A
/// larger plan goes to disk, where its last block, which is not full, makes it at most a thirty-second
/// larger.
const PLANS_BYTES: u64 = 128 * 1024;

/// Where planning puts what it writes.
#[derive(Clone)]
pub struct Scratch {
    directory: PathBuf,
    passing: Arc<Allowance>,
    plans: Arc<Allowance>,
    disk: Arc<Usage>,
    tables_peak_bytes: Arc<AtomicU64>,
}

/// Memory that files may take together.
struct Allowance {
    limit_bytes: u64,
    held_bytes: AtomicU64,
}

/// Bytes on disk.
#[derive(Default)]
struct Usage {
    now_bytes: AtomicU64,
    peak_bytes: AtomicU64,
}

impl Scratch {
    /// Scratch of which so much stays in memory; files without names in `directory` take the rest.
    pub fn new(directory: PathBuf, memory_bytes: u64) -> Scratch {
        let allowance =
            |limit_bytes| Arc::new(Allowance { limit_bytes, held_bytes: AtomicU64::new(0) });
        let plans = allowance(PLANS_BYTES.min(memory_bytes));
        Scratch {
            directory,
            passing: allowance(memory_bytes),
            plans,
            disk: Arc::default(),
            tables_peak_bytes: Arc::default(),
        }
    }

    /// Where files go.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A file for what is read again while a program is planned.
    pub fn file(&self) -> ScratchFile {
        self.file_within(&self.passing)
    }

    /// A file for a plan, which stays while the plan runs: hardly any memory is for it.
    pub fn plan_file(&self) -> ScratchFile {
        self.file_within(&self.plans)
    }

    fn file_within(&self, allowance: &Arc<Allowance>) -> ScratchFile {
        let content =
            ScratchContent { chunks: Vec::new(), held_bytes: 0, length_bytes: 0, file: None };
        ScratchFile(Arc::new(ScratchState {
            directory: self.directory.clone(),
            allowance: allowance.clone(),
            disk: self.disk.clone(),
            tables_peak_bytes: self.tables_peak_bytes.clone(),
            content: RwLock::new(content),
        }))
    }

    /// The memory that its files may take, without that of plans.
    pub fn memory_bytes(&self) -> u64 {
        self.passing.limit_bytes
    }

    /// The memory that its files take, without that of plans.
    pub fn held_bytes(&self) -> u64 {
        self.passing.held_bytes.load(Ordering::Relaxed)
    }

    /// The most that its files have had on disk at one moment, plans among them.
    pub fn disk_peak_bytes(&self) -> u64 {
        self.disk.peak_bytes.load(Ordering::Relaxed)
    }

    /// The most that tables of the planner took since [`Scratch::forget_tables`].
    pub fn tables_peak_bytes(&self) -> u64 {
        self.tables_peak_bytes.load(Ordering::Relaxed)
    }

    /// Begins to count tables anew: another plan is made.
    pub fn forget_tables(&self) {
        self.tables_peak_bytes.store(0, Ordering::Relaxed);
    }
}

/// How far a stage is in its program.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    /// Instructions that it has read.
    pub(crate) read: u64,
    /// Instructions of the program.
    pub(crate) all: u64,
}

/// The memory that one stage's tables may take, and the most that those of all stages took.
#[derive(Clone)]
pub(crate) struct TableBudget {
    limit_bytes: u64,
    /// The most that was counted through this handle.
    counted_bytes: u64,
    peak_bytes: Arc<AtomicU64>,
}

impl TableBudget {
    /// Counts `bytes`, of `live_values` values after the instructions of `position`.
    ///
    /// # Errors
    /// If they are more than there may be.
    #[inline]
    pub(crate) fn count(
        &mut self,
        bytes: u64,
        live_values: usize,
        position: Position,
    ) -> Result<(), Error> {
        if bytes <= self.counted_bytes {
            return Ok(());
        }
        self.counted_bytes = bytes;
        self.peak_bytes.fetch_max(bytes, Ordering::Relaxed);
        if bytes <= self.limit_bytes {
            return Ok(());
        }
        let (limit_bytes, live_values) = (self.limit_bytes, live_values as u64);
        let Position { read: instruction, all: instruction_count } = position;
        Err(Error::PlannerMemory { limit_bytes, live_values, instruction, instruction_count })
    }

    /// The most that tables of all stages took so far.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Ordering::Relaxed)
    }
}

impl Allowance {
    /// Takes one chunk, if there is so much left.
    fn take(&self) -> bool {
        let grown = |held: u64| {
            let more = held + CHUNK_BYTES as u64;
            (more <= self.limit_bytes).then_some(more)
        };
        self.held_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown).is_ok()
    }

    fn give_back(&self, chunks: usize) {
        self.held_bytes.fetch_sub((chunks * CHUNK_BYTES) as u64, Ordering::Relaxed);
    }
}

impl Usage {
    fn grow(&self, bytes: u64) {
        let now = self.now_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_bytes.fetch_max(now, Ordering::Relaxed);
    }

    fn shrink(&self, bytes: u64) {
        self.now_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A file of a [`Scratch`]: written at its end, read anywhere, gone with its last handle.
#[derive(Clone)]
pub struct ScratchFile(Arc<ScratchState>);

struct ScratchState {
    directory: PathBuf,
    allowance: Arc<Allowance>,
    disk: Arc<Usage>,
    tables_peak_bytes: Arc<AtomicU64>,
    content: RwLock<ScratchContent>,
}

struct ScratchContent {
    /// The first bytes; each chunk but the last is full.
    chunks: Vec<Vec<u8>>,
    held_bytes: u64,
    length_bytes: u64,
    /// The others, made when the first of them is written.
    file: Option<File>,
}

impl From<File> for ScratchFile {
    /// All in `file`, which is empty, and nothing in memory.
    fn from(file: File) -> ScratchFile {
        let scratch = Scratch::new(PathBuf::new(), 0).file();
        scratch.change(|content| content.file = Some(file));
        scratch
    }
}

impl ScratchFile {
    /// Counts the tables of the stage that this file is for.
    pub(crate) fn tables(&self, limit_bytes: u64) -> TableBudget {
        let peak_bytes = self.0.tables_peak_bytes.clone();
        TableBudget { limit_bytes, counted_bytes: 0, peak_bytes }
    }

    /// How long it is.
    pub fn length_bytes(&self) -> u64 {
        self.look(|content| content.length_bytes)
    }

    /// Reads some bytes at `offset`, as many as `buffer` takes or stand together; 0 at the end.
    ///
    /// # Errors
    /// If the file on disk cannot be read.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.look(|content| content.read_at(buffer, offset))
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// If the file on disk cannot be read, or ends before.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }

    /// Cuts it off at `length_bytes`, if it is longer.
    ///
    /// # Errors
    /// If the file on disk cannot be cut.
    pub fn truncate(&self, length_bytes: u64) -> io::Result<()> {
        let ScratchState { allowance, disk, .. } = &*self.0;
        self.change(|content| content.truncate(length_bytes, allowance, disk))
    }

    /// Moves all that is in memory to disk: for what is kept for longer than planning takes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn settle(&self) -> io::Result<()> {
        let ScratchState { directory, allowance, disk, .. } = &*self.0;
        self.change(|content| {
            for at in 0..content.chunks.len() {
                content.disk_file(directory)?;
                let ScratchContent { chunks, file, .. } = content;
                let file = file.as_ref().expect("just made");
                file.write_all_at(&chunks[at], (at * CHUNK_BYTES) as u64)?;
            }
            allowance.give_back(content.chunks.len());
            content.chunks = Vec::new();
            disk.grow(std::mem::take(&mut content.held_bytes));
            Ok(())
        })
    }

    // A panic elsewhere leaves the content as the last whole change did or without its last bytes,
    // and the process ends of it.
    fn look<T>(&self, look: impl FnOnce(&ScratchContent) -> T) -> T {
        look(&self.0.content.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, change: impl FnOnce(&mut ScratchContent) -> T) -> T {
        change(&mut self.0.content.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let ScratchState { directory, allowance, disk, .. } = &*self.0;
        self.change(|content| content.append(bytes, directory, allowance, disk))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for ScratchState {
    fn drop(&mut self) {
        let content = self.content.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.allowance.give_back(content.chunks.len());
        self.disk.shrink(content.length_bytes - content.held_bytes);
    }
}

impl ScratchContent {
    fn append(
        &mut self,
        bytes: &[u8],
        directory: &Path,
        allowance: &Allowance,
        disk: &Usage,
    ) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        // Memory has the first bytes: once some are on disk, all others go there.
        if self.length_bytes == self.held_bytes {
            let at = self.held_bytes as usize % CHUNK_BYTES;
            if at > 0 || allowance.take() {
                if at == 0 {
                    self.chunks.push(Vec::with_capacity(CHUNK_BYTES));
                }
                let chunk = self.chunks.last_mut().expect("just put in, or not yet full");
                let count = bytes.len().min(CHUNK_BYTES - at);
                chunk.extend_from_slice(&bytes[..count]);
                self.held_bytes += count as u64;
                self.length_bytes = self.held_bytes;
                return Ok(count);
            }
        }
        let offset = self.length_bytes;
        self.disk_file(directory)?.write_all_at(bytes, offset)?;
        self.length_bytes += bytes.len() as u64;
        disk.grow(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn disk_file(&mut self, directory: &Path) -> io::Result<&File> {
        if self.file.is_none() {
            let named = |error: io::Error| {
                let what = format!("no temporary file in {}: {error}", directory.display());
                io::Error::new(error.kind(), what)
            };
            self.file = Some(tempfile::tempfile_in(directory).map_err(named)?);
        }
        Ok(self.file.as_ref().expect("just made"))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.held_bytes {
            let chunk = &self.chunks[offset as usize / CHUNK_BYTES];
            let rest = &chunk[offset as usize % CHUNK_BYTES..];
            let count = buffer.len().min(rest.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            return Ok(count);
        }
        let Some(file) = &self.file else { return Ok(0) };
        file.read_at(buffer, offset)
    }

    fn truncate(&mut self, length: u64, allowance: &Allowance, disk: &Usage) -> io::Result<()> {
        if length >= self.length_bytes {
            return Ok(());
        }
        if self.length_bytes > self.held_bytes {
            if let Some(file) = &self.file {
                file.set_len(length)?;
            }
            disk.shrink(self.length_bytes - length.max(self.held_bytes));
        }
        self.length_bytes = length;
        if length < self.held_bytes {
            let chunks = (length as usize).div_ceil(CHUNK_BYTES);
            allowance.give_back(self.chunks.len() - chunks);
            self.chunks.truncate(chunks);
            if let Some(last) = self.chunks.last_mut() {
                last.truncate(length as usize - (chunks - 1) * CHUNK_BYTES);
            }
            self.held_bytes = length;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
