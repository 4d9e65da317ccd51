//! Batches in a file: one stream of words, encrypted page by page.
//!
//! ```text
//! page p:  PAGE_BYTES of the stream, encrypted with nonce p (the last page is padded) │ tag, 16
//! stream:  kind, 1 │ 0 │ width, 2 │ count, 4 │ the columns' words, 8 each, little-endian │ ...
//! ```
//!
//! Cost: 16 bytes in 64 KiB beside the words. Invariants: one page of memory; a page is used only
//! when its tag is right, so a changed, exchanged or moved page is found.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use phineus_crypto::{PageCipher, Tag};
use zeroize::Zeroizing;

use super::limits::PAGE_BYTES;
use super::{Batch, Kind, StoreError};

const TAG_BYTES: usize = 16;
/// What stands before the columns of a batch.
pub(super) const HEADER_BYTES: usize = 8;
/// A page and its tag.
const STORED_PAGE_BYTES: usize = PAGE_BYTES + TAG_BYTES;

/// Where pages lie in a file, and their cipher.
struct Pages {
    file: File,
    path: PathBuf,
    /// The offset of the first page.
    start: u64,
    cipher: PageCipher,
    /// The page that is being filled or read, with room for its tag.
    page: Zeroizing<Vec<u8>>,
    /// The next byte of it.
    at: usize,
    /// The number of the next page to write or read.
    next: u64,
}

impl Pages {
    fn new(file: File, path: &Path, start: u64, cipher: PageCipher) -> Pages {
        let page = Zeroizing::new(vec![0; STORED_PAGE_BYTES]);
        Pages { file, path: path.to_owned(), start, cipher, page, at: 0, next: 0 }
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
    pages: Pages,
}

impl BatchWriter {
    /// Writes pages from offset `start` on.
    pub(super) fn new(file: File, path: &Path, start: u64, cipher: PageCipher) -> BatchWriter {
        BatchWriter { pages: Pages::new(file, path, start, cipher) }
    }

    /// Appends a batch.
    pub(super) fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let (code, width) = code(batch.kind());
        let count = batch.count() as u32;
        self.put(&[code, 0])?;
        self.put(&width.to_le_bytes())?;
        self.put(&count.to_le_bytes())?;
        for column in &batch.columns {
            for word in column.iter() {
                self.put(&word.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Appends bytes, of which a page holds a multiple.
    fn put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if self.pages.at + bytes.len() > PAGE_BYTES {
            let (now, later) = bytes.split_at(PAGE_BYTES - self.pages.at);
            self.pages.page[PAGE_BYTES - now.len()..PAGE_BYTES].copy_from_slice(now);
            self.seal()?;
            return self.put(later);
        }
        self.pages.page[self.pages.at..][..bytes.len()].copy_from_slice(bytes);
        self.pages.at += bytes.len();
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
    pages: Pages,
}

impl BatchReader {
    pub(super) fn new(file: File, path: &Path, start: u64, cipher: PageCipher) -> BatchReader {
        let mut pages = Pages::new(file, path, start, cipher);
        pages.at = PAGE_BYTES;
        BatchReader { pages }
    }

    /// The next batch.
    pub(super) fn read(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        let mut header = [0; HEADER_BYTES];
        self.get(&mut header)?;
        let [code, _, low, high, count @ ..] = header;
        let kind = kind(code, u16::from_le_bytes([low, high]));
        let count = u32::from_le_bytes(count) as usize;
        // What is authentic was written by us.
        let kind = kind.filter(|kind| count <= kind.batch_elements());
        batch.reset(kind.ok_or_else(|| self.damaged())?, count);
        for column in &mut batch.columns {
            for word in column.iter_mut() {
                let mut bytes = [0; 8];
                self.get(&mut bytes)?;
                *word = u64::from_le_bytes(bytes);
            }
        }
        Ok(())
    }

    fn get(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        let available = PAGE_BYTES - self.pages.at;
        if available < bytes.len() {
            let (now, later) = bytes.split_at_mut(available);
            now.copy_from_slice(&self.pages.page[PAGE_BYTES - available..PAGE_BYTES]);
            self.open()?;
            return self.get(later);
        }
        bytes.copy_from_slice(&self.pages.page[self.pages.at..][..bytes.len()]);
        self.pages.at += bytes.len();
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

    fn damaged(&self) -> StoreError {
        StoreError::Damaged { path: self.pages.path.clone() }
    }
}

/// Bytes of so many pages in a file.
pub(super) fn pages_bytes(pages: u64) -> Option<u64> {
    pages.checked_mul(STORED_PAGE_BYTES as u64)
}

/// A kind as a number, and its width.
pub(super) fn code(kind: Kind) -> (u8, u16) {
    match kind {
        Kind::BitTriple => (1, 1),
        Kind::RingTriple { width } => (2, width),
        Kind::SquarePair { width } => (3, width),
        Kind::SharedBit { width } => (4, width),
    }
}

/// The inverse of [`code`].
pub(super) fn kind(code: u8, width: u16) -> Option<Kind> {
    if !(1..=64).contains(&width) {
        return None;
    }
    match code {
        1 => (width == 1).then_some(Kind::BitTriple),
        2 => Some(Kind::RingTriple { width }),
        3 => Some(Kind::SquarePair { width }),
        4 => Some(Kind::SharedBit { width }),
        _ => None,
    }
}
