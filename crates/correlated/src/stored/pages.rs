//! Batches in a file: one stream of bytes, encrypted page by page.
//!
//! ```text
//! page p:  PAGE_BYTES of the stream, encrypted with nonce p (the last page is padded) │ tag, 16
//! stream:  secret │ kind, 3 x 4 │ count, 4 │ the columns, in memory's order │ kind ...
//! ```
//!
//! Cost: 16 bytes in 64 KiB beside the correlated randomness. Invariants: one page of memory; a
//! page is used only when its tag is right, so a changed, exchanged or moved page is found.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use phineus_crypto::{PageCipher, Tag, declassify};
use zeroize::Zeroizing;

use super::{PAGE_BYTES, StoredBatch};
use crate::StoreError;
use crate::demand::{BatchScale, RandomnessKind};

const TAG_BYTES: usize = 16;
/// Header before the columns of a batch.
pub(super) const HEADER_BYTES: usize = 16;
/// A page and its tag.
const STORED_PAGE_BYTES: usize = PAGE_BYTES + TAG_BYTES;

/// Where pages lie in a file, and their cipher.
struct PageFile {
    file: File,
    path: PathBuf,
    /// The offset of the first page.
    start: u64,
    cipher: PageCipher,
    /// The page that is being filled or read, with space for its tag.
    page: Zeroizing<Vec<u8>>,
    /// The next byte of it.
    at: usize,
    /// The number of the next page to write or read.
    next: u64,
}

impl PageFile {
    fn new(file: File, path: &Path, start: u64, cipher: PageCipher) -> PageFile {
        let page = Zeroizing::new(vec![0; STORED_PAGE_BYTES]);
        PageFile { file, path: path.to_owned(), start, cipher, page, at: 0, next: 0 }
    }

    fn offset(&self) -> u64 {
        self.start + self.next * STORED_PAGE_BYTES as u64
    }

    fn io(&self, during: &'static str) -> impl Fn(io::Error) -> StoreError {
        let path = self.path.clone();
        move |source| StoreError::Io { path: path.clone(), during, source }
    }
}

/// Writes batches.
pub(super) struct BatchWriter {
    pages: PageFile,
}

impl BatchWriter {
    /// Writes pages from offset `start` on.
    pub(super) fn new(file: File, path: &Path, start: u64, cipher: PageCipher) -> BatchWriter {
        BatchWriter { pages: PageFile::new(file, path, start, cipher) }
    }

    /// Appends a batch.
    pub(super) fn write<B: StoredBatch>(&mut self, batch: &B) -> Result<(), StoreError> {
        for number in B::code(batch.kind()) {
            self.put(&number.to_le_bytes())?;
        }
        let count = u32::try_from(batch.count()).expect("a batch is bounded");
        self.put(&count.to_le_bytes())?;
        batch.columns().try_for_each(|column| self.put(column))
    }

    /// Appends bytes.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            if self.pages.at == PAGE_BYTES {
                self.seal()?;
            }
            let at = self.pages.at;
            let (now, later) = bytes.split_at(bytes.len().min(PAGE_BYTES - at));
            self.pages.page[at..at + now.len()].copy_from_slice(now);
            self.pages.at += now.len();
            bytes = later;
        }
        Ok(())
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        let pages = &mut self.pages;
        let (page, tag) = pages.page.split_at_mut(PAGE_BYTES);
        tag.copy_from_slice(&pages.cipher.seal(pages.next, page).to_bytes());
        let written = pages.file.write_all_at(&pages.page, pages.offset());
        written.map_err(pages.io("writing"))?;
        pages.page.fill(0);
        (pages.at, pages.next) = (0, pages.next + 1);
        Ok(())
    }

    /// Writes the last page; gives the file, its cipher and its number of pages.
    pub(super) fn finish(mut self) -> Result<(File, PageCipher, u64), StoreError> {
        if self.pages.at > 0 {
            self.seal()?;
        }
        Ok((self.pages.file, self.pages.cipher, self.pages.next))
    }
}

/// Reads what a [`BatchWriter`] wrote.
pub(super) struct BatchReader {
    pages: PageFile,
    /// Whose file it is.
    me: usize,
}

impl BatchReader {
    pub(super) fn new(
        file: File,
        path: &Path,
        start: u64,
        cipher: PageCipher,
        me: usize,
    ) -> BatchReader {
        let mut pages = PageFile::new(file, path, start, cipher);
        pages.at = PAGE_BYTES;
        BatchReader { pages, me }
    }

    /// The next batch.
    pub(super) fn read<B: StoredBatch>(&mut self, batch: &mut B) -> Result<(), StoreError> {
        let mut header = [[0; 4]; HEADER_BYTES / 4];
        self.get(header.as_flattened_mut())?;
        declassify(header.as_flattened(), "which batch comes next follows from the program");
        let [a, b, c, count] = header.map(u32::from_le_bytes);
        // What is authentic was written by us.
        let kind = B::kind_of([a, b, c])
            .filter(|kind| count as usize <= kind.batch_items(BatchScale::FULL));
        batch.reset(kind.ok_or_else(|| self.damaged())?, count as usize, self.me);
        batch.columns_mut().try_for_each(|column| self.get(column))
    }

    /// The next bytes.
    pub(super) fn get(&mut self, mut bytes: &mut [u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            if self.pages.at == PAGE_BYTES {
                self.open()?;
            }
            let at = self.pages.at;
            let len = bytes.len().min(PAGE_BYTES - at);
            let (now, later) = bytes.split_at_mut(len);
            now.copy_from_slice(&self.pages.page[at..at + len]);
            self.pages.at += len;
            bytes = later;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), StoreError> {
        let pages = &mut self.pages;
        let offset = pages.offset();
        pages.file.read_exact_at(&mut pages.page, offset).map_err(pages.io("reading"))?;
        let (page, tag) = pages.page.split_at_mut(PAGE_BYTES);
        let tag = Tag::from_bytes((&*tag).try_into().expect("a tag has 16 bytes"));
        if pages.cipher.open(pages.next, page, tag).is_err() {
            return Err(self.damaged());
        }
        (pages.at, pages.next) = (0, pages.next + 1);
        Ok(())
    }

    pub(super) fn damaged(&self) -> StoreError {
        StoreError::Damaged { path: self.pages.path.clone() }
    }
}

/// Bytes of so many pages in a file.
pub(super) fn pages_bytes(pages: u64) -> Option<u64> {
    pages.checked_mul(STORED_PAGE_BYTES as u64)
}
