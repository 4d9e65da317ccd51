//! [`TableFile`]: garbled tables that were all made before, in a file: without a name, encrypted
//! under a key that only this process ever has; or stored for a later run, under a key that lies
//! encrypted in the file of the other correlated randomness ([`TableKey`]), and is gone when that
//! is used.
//!
//! A batch is its tables, this party's keys and masks for decoding, padded to whole pages, each with
//! its tag behind it. Behind the batches of a stored file come pages with the sizes of all batches, and
//! one page, whose nonce no other has, with what is common to all: so a file that was cut off, mixed
//! up or made by another run fits no tag. Cost: the bytes of the tables, one page of memory, and 16
//! bytes for each batch. A page whose tag is wrong is an error.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use phineus_correlated::StoreError;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::stored::PAGE_BYTES;
use phineus_correlated::stored::{StoredFile, UnfinishedFile, nameless};
use phineus_crypto::{Block, Delta, PageCipher, Prg, Tag, declassify};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::limits::{ROWS, gates_per_batch, planes_kept};
use super::rows::grow;
use super::tables::{GarbledTables, SetupKeys, TableBatch, make_room};

const TAG_BYTES: usize = 16;
const STORED_PAGE_BYTES: u64 = (PAGE_BYTES + TAG_BYTES) as u64;

/// The nonce of the last page of a stored file; other pages count from 0.
const LAST_NONCE: u64 = u64::MAX;

/// First bytes of the last page.
const LAST_MAGIC: [u8; 8] = *b"tables 1";

/// Bytes of the sizes of a batch.
const SIZE_BYTES: usize = 16;

/// The key of stored tables.
///
/// Has no `Debug`: it is secret.
pub struct TableKey(Zeroizing<[u8; TableKey::BYTES]>);

impl TableKey {
    /// Its length.
    pub const BYTES: usize = size_of::<Block>();

    /// A new one.
    pub fn draw(prg: &mut Prg) -> TableKey {
        let mut bytes = Zeroizing::new([0; TableKey::BYTES]);
        prg.fill_bytes(&mut *bytes);
        TableKey(bytes)
    }

    /// That of the tables that lie beside `file`.
    ///
    /// # Panics
    /// If it is the file of other correlated randomness than that of shares.
    pub fn of(file: &StoredFile) -> TableKey {
        let bytes = file.secret().try_into().expect("files of shares have a key of tables");
        TableKey(Zeroizing::new(bytes))
    }

    /// The key.
    pub fn as_bytes(&self) -> &[u8; TableKey::BYTES] {
        &self.0
    }

    fn cipher(&self) -> PageCipher {
        PageCipher::from_seed(Block::from_bits(u128::from_le_bytes(*self.0)))
    }
}

/// Batches in a file, written and then read in the same order.
pub(super) struct TableFile {
    file: File,
    path: PathBuf,
    cipher: PageCipher,
    page: Zeroizing<Vec<u8>>,
    /// Gates of the batches that are not read yet, and bytes of masks for decoding.
    sizes: std::collections::VecDeque<(usize, usize)>,
    next_page: u64,
    /// Batches that were read: they are numbered in the order in which they were made.
    read_count: u64,
    parties: usize,
}

impl TableFile {
    /// An empty file in `directory`.
    pub(super) fn create(
        directory: &Path,
        prg: &mut Prg,
        parties: usize,
    ) -> Result<TableFile, StoreError> {
        let file = nameless(directory)?;
        let cipher = PageCipher::from_seed(prg.next_block());
        Ok(TableFile::new(file, directory.to_owned(), cipher, parties))
    }

    /// The empty file that `unfinished` is, of tables that will be stored.
    pub(super) fn stored(
        unfinished: &UnfinishedFile,
        key: &TableKey,
        parties: usize,
    ) -> Result<TableFile, StoreError> {
        let path = unfinished.partial().to_owned();
        let file = unfinished.file().try_clone().map_err(|source| {
            let path = path.clone();
            StoreError::Io { path, during: "opening", source }
        })?;
        Ok(TableFile::new(file, path, key.cipher(), parties))
    }

    fn new(file: File, path: PathBuf, cipher: PageCipher, parties: usize) -> TableFile {
        let page = Zeroizing::new(vec![0; PAGE_BYTES + TAG_BYTES]);
        let sizes = std::collections::VecDeque::new();
        TableFile { file, path, cipher, page, sizes, next_page: 0, read_count: 0, parties }
    }

    /// Appends a batch.
    pub(super) fn write(&mut self, batch: &TableBatch) -> Result<(), StoreError> {
        let keys = &batch.keys[..batch.gates];
        for bytes in [batch.rows.as_bytes(), keys.as_bytes(), &batch.decoding[..]] {
            bytes
                .chunks(PAGE_BYTES)
                .try_for_each(|piece| self.write_page(self.next_page, piece))?;
        }
        self.sizes.push_back((batch.gates, batch.decoding.len()));
        Ok(())
    }

    /// Appends a page with this nonce.
    fn write_page(&mut self, nonce: u64, piece: &[u8]) -> Result<(), StoreError> {
        let (page, tag) = self.page.split_at_mut(PAGE_BYTES);
        page[..piece.len()].copy_from_slice(piece);
        page[piece.len()..].fill(0);
        tag.copy_from_slice(&self.cipher.seal(nonce, page).to_bytes());
        let written = self.file.write_all_at(&self.page, self.next_page * STORED_PAGE_BYTES);
        written.map_err(|source| self.io("writing", source))?;
        self.next_page += 1;
        Ok(())
    }

    /// Completes a stored file.
    pub(super) fn seal(&mut self, common: &SetupKeys) -> Result<(), StoreError> {
        let words = self.sizes.iter().flat_map(|&(gates, decoding)| [gates, decoding]);
        let sizes: Vec<u8> = words.flat_map(|word| (word as u64).to_le_bytes()).collect();
        sizes.chunks(PAGE_BYTES).try_for_each(|piece| self.write_page(self.next_page, piece))?;
        let count = (self.sizes.len() as u64).to_le_bytes();
        let mut last = Zeroizing::new([LAST_MAGIC, count].concat());
        last.extend_from_slice(common.offset.block().as_bytes());
        last.extend_from_slice(common.fresh.as_bytes());
        last.extend_from_slice(common.starts.as_bytes());
        self.write_page(LAST_NONCE, &last)
    }

    /// Tables that were stored in the file at `path`, with what is common to them.
    fn open(
        path: &Path,
        key: &TableKey,
        parties: usize,
    ) -> Result<(TableFile, SetupKeys), StoreError> {
        let io = |source| StoreError::Io { path: path.to_owned(), during: "opening", source };
        let file = File::open(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        let mut tables = TableFile::new(file, path.to_owned(), key.cipher(), parties);
        let damaged = || StoreError::Damaged { path: path.to_owned() };
        if bytes == 0 || bytes % STORED_PAGE_BYTES != 0 {
            return Err(damaged());
        }
        let last_page = bytes / STORED_PAGE_BYTES - 1;
        let blocks = 2 + parties;
        let mut last = Zeroizing::new(vec![0; 2 * 8 + blocks * size_of::<Block>()]);
        tables.next_page = last_page;
        tables.read_page(LAST_NONCE, &mut last)?;
        let (numbers, secrets) = last.split_at(2 * 8);
        declassify(numbers, "how much was garbled follows from the program");
        // What is authentic was written by us; of another version, perhaps.
        let count = u64::from_le_bytes(numbers[8..].try_into().expect("eight bytes are left"));
        let index_pages = (count as usize * SIZE_BYTES).div_ceil(PAGE_BYTES) as u64;
        if numbers[..8] != LAST_MAGIC || index_pages > last_page {
            return Err(damaged());
        }
        let mut sizes = vec![0; count as usize * SIZE_BYTES];
        tables.next_page = last_page - index_pages;
        for piece in sizes.chunks_mut(PAGE_BYTES) {
            tables.read_page(tables.next_page, piece)?;
        }
        declassify(&sizes[..], "how much was garbled follows from the program");
        let word = |bytes: &[u8]| {
            u64::from_le_bytes(bytes.try_into().expect("a chunk has eight bytes")) as usize
        };
        let sizes = sizes.chunks_exact(SIZE_BYTES).map(|both| (word(&both[..8]), word(&both[8..])));
        tables.sizes = sizes.collect();
        if tables.sizes.iter().any(|&(gates, _)| gates > gates_per_batch(parties, BatchScale::FULL))
        {
            return Err(damaged());
        }
        tables.rewind();
        let block = |at: usize| {
            let bytes = secrets[at * 16..][..16].try_into().expect("a block has 16 bytes");
            Block::from_bits(u128::from_le_bytes(bytes))
        };
        let common = SetupKeys {
            offset: Delta::from_block(block(0)),
            fresh: Zeroizing::new(block(1)),
            starts: (0..parties).map(|party| block(2 + party)).collect(),
        };
        Ok((tables, common))
    }

    /// Begins to read.
    pub(super) fn rewind(&mut self) {
        self.next_page = 0;
    }

    /// The next batch, of at most `most` gates, in the memory of `batch`.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn read(
        &mut self,
        mut batch: TableBatch,
        most: usize,
    ) -> Result<TableBatch, StoreError> {
        let (gates, decoding_bytes) =
            self.sizes.pop_front().expect("no more gates are evaluated than were garbled");
        assert!(gates <= most, "a batch is bounded");
        (batch.number, batch.gates) = (self.read_count, gates);
        self.read_count += 1;
        batch.rows.resize(gates * planes_kept(self.parties) * ROWS, Block::ZERO);
        grow(&mut batch.keys, gates);
        batch.decoding.clear();
        make_room(&mut batch.decoding, decoding_bytes);
        batch.decoding.resize(decoding_bytes, 0);
        let TableBatch { rows, keys, decoding, .. } = &mut batch;
        for bytes in [rows.as_mut_bytes(), keys[..gates].as_mut_bytes(), &mut decoding[..]] {
            for piece in bytes.chunks_mut(PAGE_BYTES) {
                self.read_page(self.next_page, piece)?;
            }
        }
        Ok(batch)
    }

    /// Reads the beginning of the next page, which has this nonce.
    fn read_page(&mut self, nonce: u64, piece: &mut [u8]) -> Result<(), StoreError> {
        let read = self.file.read_exact_at(&mut self.page, self.next_page * STORED_PAGE_BYTES);
        read.map_err(|source| self.io("reading", source))?;
        let (page, tag) = self.page.split_at_mut(PAGE_BYTES);
        let tag: &[u8; TAG_BYTES] = (&*tag).try_into().expect("the rest is the tag");
        let opened = self.cipher.open(nonce, page, Tag::from_bytes(*tag));
        opened.map_err(|_| StoreError::Damaged { path: self.path.clone() })?;
        piece.copy_from_slice(&page[..piece.len()]);
        self.next_page += 1;
        Ok(())
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.sizes.is_empty()
    }

    fn io(&self, during: &'static str, source: std::io::Error) -> StoreError {
        StoreError::Io { path: self.path.clone(), during, source }
    }
}

impl GarbledTables {
    /// The tables that [`Garbling::store`](super::Garbling::store) has written to the file at `path`.
    /// Nothing may be evaluated with them before the file that has their key is used up.
    ///
    /// # Errors
    /// When the file cannot be read, or is not whole, or not the one of that key and so many parties.
    pub fn open(path: &Path, key: &TableKey, parties: usize) -> Result<GarbledTables, StoreError> {
        let (file, common) = TableFile::open(path, key, parties)?;
        Ok(GarbledTables::in_file(common, Box::new(file)))
    }
}
