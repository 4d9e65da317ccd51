//! [`TableFile`]: garbled tables that were all made before, in a file without a name, encrypted
//! under a key that only this process ever has.
//!
//! A batch is its tables, this party's keys and masks for decoding, padded to whole pages, each with
//! its tag behind it. Cost: the bytes of the tables and one page of memory. A page whose tag is
//! wrong is an error.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use phineus_crypto::{Block, PageCipher, Prg, Tag};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::limits::{ROWS, planes_kept};
use super::rows::grow;
use super::tables::{TableBatch, make_room};
use crate::preprocessing::StoreError;
use crate::preprocessing::limits::PAGE_BYTES;

const TAG_BYTES: usize = 16;

/// Batches in a file, written and then read in the same order.
pub(super) struct TableFile {
    file: File,
    path: PathBuf,
    cipher: PageCipher,
    page: Zeroizing<Vec<u8>>,
    /// Gates of the batches that are not read yet, and bytes of masks for decoding.
    sizes: std::collections::VecDeque<(usize, usize)>,
    next_page: u64,
    parties: usize,
}

impl TableFile {
    /// An empty file in `directory`.
    pub(super) fn create(
        directory: &Path,
        prg: &mut Prg,
        parties: usize,
    ) -> Result<TableFile, StoreError> {
        let name = format!("phineus-tables-{:032x}", prg.next_block().to_bits());
        let path = directory.join(name);
        let io = |during| {
            let path = path.clone();
            move |source| StoreError::Io { path, during, source }
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(io("creating"))?;
        fs::remove_file(&path).map_err(io("removing the name"))?;
        Ok(TableFile {
            file,
            path: directory.to_owned(),
            cipher: PageCipher::from_seed(prg.next_block()),
            page: Zeroizing::new(vec![0; PAGE_BYTES + TAG_BYTES]),
            sizes: Default::default(),
            next_page: 0,
            parties,
        })
    }

    /// Appends a batch.
    pub(super) fn write(&mut self, batch: &TableBatch) -> Result<(), StoreError> {
        let keys = &batch.keys[..batch.gates];
        for bytes in [batch.rows.as_bytes(), keys.as_bytes(), &batch.decoding[..]] {
            for piece in bytes.chunks(PAGE_BYTES) {
                let (page, tag) = self.page.split_at_mut(PAGE_BYTES);
                page[..piece.len()].copy_from_slice(piece);
                page[piece.len()..].fill(0);
                tag.copy_from_slice(&self.cipher.seal(self.next_page, page).to_bytes());
                let offset = self.next_page * (PAGE_BYTES + TAG_BYTES) as u64;
                let written = self.file.write_all_at(&self.page, offset);
                written.map_err(|source| self.io("writing", source))?;
                self.next_page += 1;
            }
        }
        self.sizes.push_back((batch.gates, batch.decoding.len()));
        Ok(())
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
        batch.gates = gates;
        batch.rows.resize(gates * planes_kept(self.parties) * ROWS, Block::ZERO);
        grow(&mut batch.keys, gates);
        batch.decoding.clear();
        make_room(&mut batch.decoding, decoding_bytes);
        batch.decoding.resize(decoding_bytes, 0);
        let TableBatch { rows, keys, decoding, .. } = &mut batch;
        for bytes in [rows.as_mut_bytes(), keys[..gates].as_mut_bytes(), &mut decoding[..]] {
            for piece in bytes.chunks_mut(PAGE_BYTES) {
                let offset = self.next_page * (PAGE_BYTES + TAG_BYTES) as u64;
                let read = self.file.read_exact_at(&mut self.page, offset);
                read.map_err(|source| self.io("reading", source))?;
                let (page, tag) = self.page.split_at_mut(PAGE_BYTES);
                let tag: &[u8; TAG_BYTES] = (&*tag).try_into().expect("the rest is the tag");
                let opened = self.cipher.open(self.next_page, page, Tag::from_bytes(*tag));
                let damaged = |_| StoreError::Damaged { path: self.path.clone() };
                opened.map_err(damaged)?;
                piece.copy_from_slice(&page[..piece.len()]);
                self.next_page += 1;
            }
        }
        Ok(batch)
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.sizes.is_empty()
    }

    fn io(&self, during: &'static str, source: std::io::Error) -> StoreError {
        StoreError::Io { path: self.path.clone(), during, source }
    }
}
