//! [`SequentialSource`]: everything is made before any of it is used.
//!
//! What fits the given memory stays there; more goes to a file without a name, which the system
//! removes when the process ends, encrypted under a key that only this process ever has.

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

use phineus_crypto::PageCipher;

use super::pages::{BatchReader, BatchWriter};
use super::{StoredBatch, batches_bytes};
use crate::CorrelatedError;
use crate::StoreError;
use crate::buffered::BatchSource;
use crate::demand::{Demand, Schedule};
use crate::generator::BatchGenerator;

/// Where it lies.
pub struct SequentialSource<B>(Backing<B>);

enum Backing<B> {
    Memory(VecDeque<B>),
    File(Box<BatchReader>),
}

impl<B: StoredBatch> SequentialSource<B> {
    /// Makes all that is demanded, in the order of its use; keeps it in memory if that takes at
    /// most `memory_bytes`, and else in a nameless file in `directory`.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    pub(crate) fn make<G: BatchGenerator<Batch = B>>(
        generator: &mut G,
        demand: Demand<B::Kind>,
        order: impl Iterator<Item = Result<(B::Kind, usize), CorrelatedError>>,
        memory_bytes: u64,
        directory: &Path,
    ) -> Result<SequentialSource<B>, CorrelatedError> {
        let me = generator.parties().me();
        let fits = batches_bytes::<B>(&demand, me) <= memory_bytes;
        let schedule = Schedule::new(demand, order);
        if fits {
            let mut batches = VecDeque::new();
            for need in schedule {
                let (kind, count) = need?;
                let mut batch = B::empty();
                generator.make(kind, count, &mut batch)?;
                batches.push_back(batch);
            }
            return Ok(SequentialSource(Backing::Memory(batches)));
        }
        let cipher = PageCipher::from_seed(generator.prg().next_block());
        let file = nameless(directory)?;
        let mut writer = BatchWriter::new(file, directory, 0, cipher);
        let mut batch = B::empty();
        for need in schedule {
            let (kind, count) = need?;
            generator.make(kind, count, &mut batch)?;
            writer.write(&batch)?;
        }
        let (file, cipher, _) = writer.finish()?;
        let reader = BatchReader::new(file, directory, 0, cipher, me);
        Ok(SequentialSource(Backing::File(Box::new(reader))))
    }

    /// Returns whether the batches lie in memory and not in a file.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.0, Backing::Memory(_))
    }
}

/// A file without a name in `directory`.
pub fn nameless(directory: &Path) -> Result<File, StoreError> {
    tempfile::tempfile_in(directory).map_err(|source| StoreError::Io {
        path: directory.to_owned(),
        during: "making a file without a name",
        source,
    })
}

impl<B: StoredBatch> BatchSource<B> for SequentialSource<B> {
    fn next(&mut self, _: B::Kind, _: usize, used: Option<B>) -> Result<B, CorrelatedError> {
        match &mut self.0 {
            Backing::Memory(batches) => {
                Ok(batches.pop_front().expect("no more is used than was demanded"))
            }
            Backing::File(reader) => {
                let mut batch = used.unwrap_or_else(B::empty);
                reader.read(&mut batch)?;
                Ok(batch)
            }
        }
    }
}
