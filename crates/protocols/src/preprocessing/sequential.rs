//! [`Sequential`]: everything is made before any of it is used.
//!
//! What fits the given memory stays there; more goes to a file without a name, which the system
//! removes when the process ends, encrypted under a key that only this process ever has.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use phineus_channels::Channel;
use phineus_crypto::PageCipher;

use super::file::{BatchReader, BatchWriter};
use super::supply::{Source, Supply};
use super::{Batch, Demand, Generator, Kind, Schedule, StoreError};
use crate::ProtocolError;

/// Preprocessed material that was made before; see [`Sequential::make`].
pub type Sequential = Supply<SequentialSource>;

/// Where it lies.
pub struct SequentialSource(Place);

enum Place {
    Memory(VecDeque<Batch>),
    File(Box<BatchReader>),
}

impl Sequential {
    /// Makes all that is demanded, in the order of its use; keeps it in memory if that takes at
    /// most `memory_bytes`, and else in a nameless file in `directory`.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    pub fn make<C: Channel>(
        generator: &mut Generator<C>,
        demand: Demand,
        order: impl Iterator<Item = (Kind, usize)>,
        memory_bytes: u64,
        directory: &Path,
    ) -> Result<Sequential, ProtocolError> {
        let fits = demand.bytes() <= memory_bytes;
        let schedule = Schedule::new(demand, order);
        if fits {
            let mut batches = VecDeque::new();
            for (kind, count) in schedule {
                let mut batch = Batch::empty();
                generator.make(kind, count, &mut batch)?;
                batches.push_back(batch);
            }
            return Ok(Supply::new(SequentialSource(Place::Memory(batches))));
        }
        let cipher = PageCipher::from_seed(generator.prg.next_block());
        let file = nameless(directory, generator.prg.next_block().to_bits())?;
        let mut writer = BatchWriter::new(file, directory, 0, cipher);
        let mut batch = Batch::empty();
        for (kind, count) in schedule {
            generator.make(kind, count, &mut batch)?;
            writer.write(&batch)?;
        }
        let (file, cipher, _) = writer.finish()?;
        let reader = BatchReader::new(file, directory, 0, cipher);
        Ok(Supply::new(SequentialSource(Place::File(Box::new(reader)))))
    }

    /// Whether it lies in memory and not in a file.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.source.0, Place::Memory(_))
    }
}

/// A file that has no name any more.
fn nameless(directory: &Path, random: u128) -> Result<File, StoreError> {
    let path = directory.join(format!("phineus-preprocessing-{random:032x}"));
    let io = |during| {
        let path = path.clone();
        move |source| StoreError::Io { path, during, source }
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path).map_err(io("creating"))?;
    fs::remove_file(&path).map_err(io("removing the name"))?;
    Ok(file)
}

impl Source for SequentialSource {
    fn next(&mut self, used: Option<Batch>) -> Result<Batch, ProtocolError> {
        match &mut self.0 {
            Place::Memory(batches) => {
                Ok(batches.pop_front().expect("no more is used than was demanded"))
            }
            Place::File(reader) => {
                let mut batch = used.unwrap_or_else(Batch::empty);
                reader.read(&mut batch)?;
                Ok(batch)
            }
        }
    }
}
