//! Sources of this correlated randomness besides a thread: made before the run, or stored.

use std::collections::VecDeque;
use std::path::Path;

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;

use super::batch::COMPANION_KEY_BYTES;
use super::costs::message_bytes;
use super::limits::BATCHES_BEGUN;
use super::{Batch, CorrelatedRandomness, Demand, Generator, Kind};
use crate::buffered::{self, BatchSource};
use crate::generator::BatchGenerator;
use crate::stored::{self, SequentialSource, StoredFile, StoredKey, StoredSource, UnfinishedFile};
use crate::{CorrelatedError, StoreError};

/// Correlated randomness from a source of batches.
pub type Buffered<S> = buffered::Buffered<Batch, S>;

/// Correlated randomness that was made before; see [`Sequential::make`].
pub type Sequential = Buffered<SequentialSource<Batch>>;

/// Correlated randomness from a file; see [`Stored::make`] and [`Stored::open`].
pub type Stored = Buffered<StoredSource>;

/// Binding of stored preprocessing: a file of another party, protocol or program is refused.
pub type Binding = stored::Binding<Kind>;

impl<C: Channel> BatchGenerator for Generator<C> {
    type Batch = Batch;
    type Channel = C;

    fn make(&mut self, kind: Kind, count: usize, batch: &mut Batch) -> Result<(), CorrelatedError> {
        Generator::make(self, kind, count, batch)
    }

    fn can_begin(&self, begun: &VecDeque<Batch>, kind: Kind, count: usize) -> bool {
        let bytes = |kind, count| message_bytes(kind, count, self.ot);
        let all: u64 = begun.iter().map(|batch| bytes(batch.kind(), batch.count())).sum();
        // Silent OTs are reserved by batch, and choices among them may take no bytes.
        self.begun_bytes_max > 0
            && kind.is_begun(self.scale)
            && begun.len() < BATCHES_BEGUN
            && all + bytes(kind, count) <= self.begun_bytes_max
    }

    fn begin(
        &mut self,
        kind: Kind,
        count: usize,
        batch: &mut Batch,
    ) -> Result<(), CorrelatedError> {
        Generator::begin(self, kind, count, batch)
    }

    fn is_answered(&self, kind: Kind) -> bool {
        kind.is_answered()
    }

    fn offer(&mut self, batch: &mut Batch) -> Result<(), CorrelatedError> {
        Generator::offer(self, batch)
    }

    fn finish(&mut self, batch: &mut Batch) -> Result<(), CorrelatedError> {
        Generator::finish(self, batch)
    }

    fn parties(&mut self) -> &mut Parties<C> {
        &mut self.parties
    }

    fn prg(&mut self) -> &mut Prg {
        &mut self.prg
    }
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
        order: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>>,
        memory_bytes: u64,
        directory: &Path,
    ) -> Result<Sequential, CorrelatedError> {
        let made = SequentialSource::make(generator, demand, order, memory_bytes, directory)?;
        Ok(Buffered::new(made))
    }

    /// Returns whether the batches lie in memory and not in a file.
    pub fn is_in_memory(&self) -> bool {
        self.source.is_in_memory()
    }
}

impl Stored {
    /// Makes all that is demanded, in the order of its use, and writes it to `file`, with the key of
    /// a file that lies beside it, such as garbled tables, if there is one. All parties do so together.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    pub fn make<C: Channel>(
        file: UnfinishedFile,
        key: &StoredKey,
        generator: &mut Generator<C>,
        (binding, companion_key): (&Binding, Option<&[u8; COMPANION_KEY_BYTES]>),
        order: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>>,
    ) -> Result<(), CorrelatedError> {
        let secret = companion_key.unwrap_or(&[0; COMPANION_KEY_BYTES]);
        stored::store(file, key, generator, secret, binding, order)
    }

    /// Opens a file and checks everything that can be checked alone. Nothing is used up.
    ///
    /// # Errors
    /// When it is not an unused file for this party, protocol, program and demand under this key.
    pub fn open(
        path: &Path,
        key: &StoredKey,
        binding: &Binding,
        me: usize,
        parties: usize,
    ) -> Result<StoredFile, StoreError> {
        StoredFile::open::<Batch>(path, key, binding, me, parties)
    }

    /// Makes sure that all parties have files made together, marks this one as used, and gives
    /// what is in it.
    ///
    /// # Errors
    /// When a peer's file is from another run, or a channel or the storage fails.
    pub fn consume<C: Channel>(
        file: StoredFile,
        parties: &mut Parties<C>,
    ) -> Result<Stored, CorrelatedError> {
        let (_, source) = file.begin::<Batch, C>(parties)?;
        Ok(Buffered::new(source))
    }
}

impl<S: BatchSource<Batch>> Buffered<S> {
    fn take_words(
        &mut self,
        kind: Kind,
        count: usize,
        targets: &mut [&mut [u64]],
    ) -> Result<(), CorrelatedError> {
        for (column, target) in targets.iter_mut().enumerate() {
            assert_eq!(target.len(), kind.column_words(column, count), "room for what is asked");
            if kind.is_packed(column) {
                target.fill(0);
            }
        }
        self.take(kind, count, |batch, from, to, len| batch.copy(from, targets, to, len))
    }
}

impl<S: BatchSource<Batch>> CorrelatedRandomness for Buffered<S> {
    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take_words(Kind::BitTriple, count, &mut [a, b, c])
    }

    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take_words(Kind::RingTriple { width }, a.len(), &mut [a, b, c])
    }

    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take_words(Kind::SquarePair { width }, a.len(), &mut [a, c])
    }

    fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take_words(Kind::SharedBit { width }, ring.len(), &mut [bits, ring])
    }

    fn known_triples(
        &mut self,
        (owner, width): (u16, u16),
        count: usize,
        bits: &mut [u64],
        rows: &mut [u64],
        products: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take_words(Kind::KnownTriple { owner, width }, count, &mut [bits, rows, products])
    }

    fn point_functions(
        &mut self,
        bits: u16,
        count: usize,
        points: &mut [u64],
        keys: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        self.take_words(Kind::PointFunction { bits }, count, &mut [points, keys])
    }
}
