//! Sources of authenticated correlated randomness, and drawing from them in any amounts.
//!
//! Stored correlated randomness carries this party's share of the key. It was checked before it was
//! written, batch by batch, and a file may be used only if all parties have theirs: so no check of
//! its key has failed at an honest party ([`AuthenticatedRandomness::settle`] has nothing to wait
//! for).

use std::collections::BTreeMap;
use std::path::Path;

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;
use phineus_crypto::field::Field;
use phineus_ot::{FieldBits, SessionId};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::deviation::Deviation;
use super::{Batch, Demand, Generator, Kind};
use crate::CorrelatedError;
use crate::StoreError;
use crate::authenticated::{AuthenticatedRandomness, MatrixSize, Share};
use crate::buffered::{self, BatchSource};
use crate::demand::BatchScale;
use crate::generator::BatchGenerator;
use crate::stored::{self, SequentialSource, StoredFile, StoredKey, StoredSource, UnfinishedFile};

/// Where batches under one key come from.
pub trait AuthenticatedSource<F: Field>: BatchSource<Batch<F>> {
    /// This party's share of the key.
    fn delta(&self) -> F;

    /// See [`AuthenticatedRandomness::settle`]: what is made when it is asked for is always
    /// settled.
    ///
    /// # Errors
    /// When making a batch has failed.
    fn settle(&mut self) -> Result<(), CorrelatedError> {
        Ok(())
    }

    /// See [`AuthenticatedRandomness::blame`].
    fn blame(&mut self) -> Option<CorrelatedError> {
        None
    }
}

/// Authenticated correlated randomness from a source of batches.
pub type Buffered<F, S> = buffered::Buffered<Batch<F>, S>;

impl<F: Field, C: Channel, D: Deviation> BatchGenerator for Generator<F, C, D> {
    type Batch = Batch<F>;
    type Channel = C;

    fn make(
        &mut self,
        kind: Kind,
        count: usize,
        batch: &mut Batch<F>,
    ) -> Result<(), CorrelatedError> {
        Generator::make(self, kind, count, batch)
    }

    fn parties(&mut self) -> &mut Parties<C> {
        &mut self.parties
    }

    fn prg(&mut self) -> &mut Prg {
        &mut self.prg
    }
}

impl<F: Field, S: AuthenticatedSource<F>> Buffered<F, S> {
    fn take_shares(
        &mut self,
        kind: Kind,
        count: usize,
        mut columns: [&mut [Share<F>]; 3],
        mut values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        let items = kind.item_elements();
        for (column, elements) in columns.iter().zip(items) {
            assert_eq!(column.len(), count * elements, "room for what is asked");
        }
        assert!(values.as_ref().is_none_or(|values| values.len() == count), "room for the values");
        self.take(kind, count, |batch, from, to, len| {
            for ((target, elements), source) in columns.iter_mut().zip(items).zip(&batch.columns) {
                let (to, from, len) = (to * elements, from * elements, len * elements);
                target[to..to + len].copy_from_slice(&source[from..from + len]);
            }
            if let Some(values) = &mut values {
                let known = batch.values.get(from..from + len).expect("only the owner asks");
                values[to..to + len].copy_from_slice(known);
            }
        })
    }
}

impl<F: Field, S: AuthenticatedSource<F>> AuthenticatedRandomness<F> for Buffered<F, S> {
    fn delta(&self) -> F {
        self.source.delta()
    }

    fn settle(&mut self) -> Result<(), CorrelatedError> {
        self.source.settle()
    }

    fn blame(&mut self) -> Option<CorrelatedError> {
        self.source.blame()
    }

    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        self.take_shares(Kind::Triple, a.len(), [a, b, c], None)
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.take_shares(Kind::Square, a.len(), [a, c, &mut []], None)
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.take_shares(Kind::Bit, b.len(), [b, &mut [], &mut []], None)
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        let owner = u16::try_from(owner).expect("a party's number is small");
        self.take_shares(Kind::Mask { owner }, shares.len(), [shares, &mut [], &mut []], values)
    }

    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        let owner = u16::try_from(owner).expect("a party's number is small");
        self.take_shares(Kind::BitMask { owner }, shares.len(), [shares, &mut [], &mut []], values)
    }

    fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.take_shares(Kind::Bounded, integers.len(), [integers, &mut [], &mut []], None)
    }

    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        let count = size.count(a.len(), b.len(), c.len());
        self.take_shares(Kind::Matrix(size), count, [a, b, c], None)
    }
}

/// Authenticated correlated randomness that is made when it is missing; see [`OnDemand::setup`].
pub type OnDemand<F, C> = Buffered<F, OnDemandSource<F, C>>;

/// Makes what is missing, and as much of a kind as was made before, up to a full batch: at most
/// twice of what is used, in few batches.
pub struct OnDemandSource<F: Field, C> {
    generator: Generator<F, C>,
    made: BTreeMap<Kind, usize>,
}

impl<F: Field, C: Channel> OnDemand<F, C> {
    /// Sets up with all other parties; see [`Generator::setup`].
    ///
    /// # Errors
    /// When a channel fails or a peer sends what no honest peer sends.
    pub fn setup(
        parties: Parties<C>,
        prg: Prg,
        session: &SessionId,
        field: FieldBits,
    ) -> Result<OnDemand<F, C>, CorrelatedError> {
        let generator = Generator::setup(parties, prg, session, field)?;
        Ok(Buffered::new(OnDemandSource { generator, made: BTreeMap::new() }))
    }

    /// The generator, which may have made more than was used.
    pub fn generator(&mut self) -> &mut Generator<F, C> {
        &mut self.source.generator
    }
}

impl<F: Field, C: Channel> AuthenticatedSource<F> for OnDemandSource<F, C> {
    fn delta(&self) -> F {
        self.generator.delta()
    }
}

impl<F: Field, C: Channel> BatchSource<Batch<F>> for OnDemandSource<F, C> {
    fn next(
        &mut self,
        kind: Kind,
        count: usize,
        used: Option<Batch<F>>,
    ) -> Result<Batch<F>, CorrelatedError> {
        let made = self.made.entry(kind).or_default();
        let count = count.max(*made).min(kind.batch_items(BatchScale::FULL));
        *made += count;
        let mut batch = used.unwrap_or_else(Batch::empty);
        self.generator.make(kind, count, &mut batch)?;
        Ok(batch)
    }
}

/// Batches that were made under a key before.
pub struct WithMacKey<F: Field, S> {
    delta: Zeroizing<F>,
    source: S,
}

impl<F: Field, S: BatchSource<Batch<F>>> AuthenticatedSource<F> for WithMacKey<F, S> {
    fn delta(&self) -> F {
        *self.delta
    }
}

impl<F: Field, S: BatchSource<Batch<F>>> BatchSource<Batch<F>> for WithMacKey<F, S> {
    fn next(
        &mut self,
        kind: Kind,
        count: usize,
        used: Option<Batch<F>>,
    ) -> Result<Batch<F>, CorrelatedError> {
        self.source.next(kind, count, used)
    }
}

/// Authenticated correlated randomness that was all made before; see [`Sequential::make`].
pub type Sequential<F> = Buffered<F, WithMacKey<F, SequentialSource<Batch<F>>>>;

impl<F: Field> Sequential<F> {
    /// Makes everything that is demanded, in the order of its use; keeps it in memory if that takes
    /// at most `memory_bytes`, and else in a nameless file in `directory`.
    ///
    /// All parties must give the same demand and order.
    ///
    /// # Errors
    /// When a channel or the storage fails, or a party cheats.
    pub fn make<C: Channel>(
        generator: &mut Generator<F, C>,
        demand: Demand,
        order: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>>,
        memory_bytes: u64,
        directory: &Path,
    ) -> Result<Sequential<F>, CorrelatedError> {
        let source = SequentialSource::make(generator, demand, order, memory_bytes, directory)?;
        Ok(Buffered::new(WithMacKey { delta: Zeroizing::new(generator.delta()), source }))
    }

    /// Returns whether the batches lie in memory and not in a file.
    pub fn is_in_memory(&self) -> bool {
        self.source.source.is_in_memory()
    }
}

/// Authenticated correlated randomness from a file; see [`Stored::make`] and [`Stored::open`].
pub type Stored<F> = Buffered<F, WithMacKey<F, StoredSource>>;

/// Binding of stored correlated randomness: a file of another party, protocol or program is
/// refused.
pub type Binding = stored::Binding<Kind>;

impl<F: Field> Stored<F> {
    /// Makes all that is demanded, in the order of its use, and writes it, with this party's share
    /// of the key, to `file`. All parties do so together.
    ///
    /// # Security
    /// Each batch is checked before it is written. Who lies in a check may learn the key, and not
    /// all parties notice it: no file may be used unless this succeeded at all parties.
    ///
    /// # Errors
    /// When a channel or the storage fails, or a party cheats.
    pub fn make<C: Channel>(
        file: UnfinishedFile,
        key: &StoredKey,
        generator: &mut Generator<F, C>,
        binding: &Binding,
        order: impl Iterator<Item = Result<(Kind, usize), CorrelatedError>>,
    ) -> Result<(), CorrelatedError> {
        let delta = Zeroizing::new([generator.delta()]);
        stored::store(file, key, generator, delta.as_bytes(), binding, order)
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
        StoredFile::open::<Batch<F>>(path, key, binding, me, parties)
    }

    /// Makes sure that all parties have files made together, marks this one as used, and gives
    /// what is in it.
    ///
    /// # Errors
    /// When a peer's file is from another run, or a channel or the storage fails.
    pub fn consume<C: Channel>(
        file: StoredFile,
        parties: &mut Parties<C>,
    ) -> Result<Stored<F>, CorrelatedError> {
        let (secret, source) = file.begin::<Batch<F>, C>(parties)?;
        let mut delta = Zeroizing::new([F::ZERO]);
        // What is authentic was written by us.
        F::read(&secret, &mut *delta).map_err(|_| source.damaged())?;
        Ok(Buffered::new(WithMacKey { delta: Zeroizing::new(delta[0]), source }))
    }
}
