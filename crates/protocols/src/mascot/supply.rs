//! [`Supply`]: hands out what comes in batches, in any pieces; and where batches come from.
//!
//! Invariants: batches are used again, so nothing is allocated once every kind has come. With a
//! [`super::Schedule`] at most one batch of each kind waits beside the one that is being used.

use std::collections::{BTreeMap, VecDeque};

use phineus_channels::Channel;
use phineus_crypto::Prg;
use phineus_crypto::field::Field;

use super::{Batch, Demand, Generator, Kind};
use crate::ot::{FieldBits, SessionId};
use crate::spdz::{Material, Share};
use crate::{Parties, ProtocolError};

/// Where batches come from.
pub trait Source<F: Field>: Send {
    /// This party's share of the key.
    fn delta(&self) -> F;

    /// See [`Material::settle`]: what is made when it is asked for is always settled.
    ///
    /// # Errors
    /// When making a batch has failed.
    fn settle(&mut self) -> Result<(), ProtocolError> {
        Ok(())
    }

    /// The next batch, because `count` of `kind` are missing; `used` is one that has been used up,
    /// for its memory. It may be of another kind, which is needed later.
    fn next(
        &mut self,
        kind: Kind,
        count: usize,
        used: Option<Batch<F>>,
    ) -> Result<Batch<F>, ProtocolError>;
}

/// Authenticated material from a source of batches.
pub struct Supply<F: Field, S> {
    pub(super) source: S,
    shelves: BTreeMap<Kind, Shelf<F>>,
    used: Vec<Batch<F>>,
}

/// The batches of one kind that have come.
struct Shelf<F: Field> {
    batches: VecDeque<Batch<F>>,
    /// Items of the first batch that have been handed out.
    taken: usize,
}

impl<F: Field, S: Source<F>> Supply<F, S> {
    pub(super) fn new(source: S) -> Supply<F, S> {
        Supply { source, shelves: BTreeMap::new(), used: Vec::new() }
    }

    /// Whether all that has come has been used.
    pub fn is_used_up(&self) -> bool {
        self.shelves.values().all(|shelf| shelf.batches.is_empty())
    }

    fn take(
        &mut self,
        kind: Kind,
        count: usize,
        mut columns: [&mut [Share<F>]; 3],
        mut values: Option<&mut [F]>,
    ) -> Result<(), ProtocolError> {
        let items = kind.item_elements();
        for (column, elements) in columns.iter().zip(items) {
            assert_eq!(column.len(), count * elements, "room for what is asked");
        }
        assert!(values.as_ref().is_none_or(|values| values.len() == count), "room for the values");
        let mut done = 0;
        while done < count {
            let empty = || Shelf { batches: VecDeque::new(), taken: 0 };
            let shelf = self.shelves.entry(kind).or_insert_with(empty);
            let Some(batch) = shelf.batches.front() else {
                let batch = self.source.next(kind, count - done, self.used.pop())?;
                let shelf = self.shelves.entry(batch.kind()).or_insert_with(empty);
                shelf.batches.push_back(batch);
                continue;
            };
            let piece = (count - done).min(batch.count() - shelf.taken);
            for ((target, elements), source) in columns.iter_mut().zip(items).zip(&batch.columns) {
                let (to, from) = (done * elements, shelf.taken * elements);
                let len = piece * elements;
                target[to..to + len].copy_from_slice(&source[from..from + len]);
            }
            if let Some(values) = &mut values {
                let known = batch.values.get(shelf.taken..shelf.taken + piece);
                values[done..done + piece].copy_from_slice(known.expect("only the owner asks"));
            }
            done += piece;
            shelf.taken += piece;
            if shelf.taken == batch.count() {
                shelf.taken = 0;
                self.used.extend(shelf.batches.pop_front());
            }
        }
        Ok(())
    }
}

impl<F: Field, S: Source<F>> Material<F> for Supply<F, S> {
    fn delta(&self) -> F {
        self.source.delta()
    }

    fn settle(&mut self) -> Result<(), ProtocolError> {
        self.source.settle()
    }

    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), ProtocolError> {
        self.take(Kind::Triple, a.len(), [a, b, c], None)
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), ProtocolError> {
        self.take(Kind::Square, a.len(), [a, c, &mut []], None)
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), ProtocolError> {
        self.take(Kind::Bit, b.len(), [b, &mut [], &mut []], None)
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), ProtocolError> {
        let owner = u16::try_from(owner).expect("a party's number is small");
        self.take(Kind::Mask { owner }, shares.len(), [shares, &mut [], &mut []], values)
    }

    fn matrix_triples(
        &mut self,
        rows: usize,
        cols: usize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), ProtocolError> {
        let size = |len: usize| u32::try_from(len).expect("a matrix has bounded sides");
        let kind = Kind::Matrix { rows: size(rows), cols: size(cols) };
        self.take(kind, c.len() / rows.max(1), [a, b, c], None)
    }
}

/// Authenticated material that is made when it is missing; see [`Mascot::setup`].
pub type Mascot<F, C> = Supply<F, OnDemand<F, C>>;

/// Makes what is missing, and as much of a kind as was made before, up to a full batch: at most
/// twice of what is used, in few batches.
pub struct OnDemand<F: Field, C> {
    generator: Generator<F, C>,
    made: BTreeMap<Kind, usize>,
}

impl<F: Field, C: Channel> Mascot<F, C> {
    /// Sets up with all other parties; see [`Generator::setup`].
    ///
    /// # Errors
    /// When a channel fails or a peer sends what no honest peer sends.
    pub fn setup(
        parties: Parties<C>,
        prg: Prg,
        session: &SessionId,
        field: FieldBits,
    ) -> Result<Mascot<F, C>, ProtocolError> {
        let generator = Generator::setup(parties, prg, session, field)?;
        Ok(Supply::new(OnDemand { generator, made: BTreeMap::new() }))
    }

    /// The generator, which may have made more than was used.
    pub fn generator(&mut self) -> &mut Generator<F, C> {
        &mut self.source.generator
    }
}

impl<F: Field, C: Channel> Source<F> for OnDemand<F, C> {
    fn delta(&self) -> F {
        self.generator.delta()
    }

    fn next(
        &mut self,
        kind: Kind,
        count: usize,
        used: Option<Batch<F>>,
    ) -> Result<Batch<F>, ProtocolError> {
        let made = self.made.entry(kind).or_default();
        let count = count.max(*made).min(kind.batch_items());
        *made += count;
        let mut batch = used.unwrap_or_else(Batch::empty);
        self.generator.make(kind, count, &mut batch)?;
        Ok(batch)
    }
}

/// Authenticated material that was all made before, in memory; see [`Sequential::make`].
pub type Sequential<F> = Supply<F, SequentialSource<F>>;

/// Batches in memory.
pub struct SequentialSource<F: Field> {
    delta: F,
    batches: VecDeque<Batch<F>>,
}

impl<F: Field> Sequential<F> {
    /// Makes everything that is demanded.
    ///
    /// All parties must give the same demand.
    ///
    /// # Errors
    /// When a channel fails or a party cheats.
    pub fn make<C: Channel>(
        generator: &mut Generator<F, C>,
        demand: &Demand,
    ) -> Result<Sequential<F>, ProtocolError> {
        let mut batches = VecDeque::new();
        for (kind, count) in demand.batches() {
            let mut batch = Batch::empty();
            generator.make(kind, count, &mut batch)?;
            batches.push_back(batch);
        }
        Ok(Supply::new(SequentialSource { delta: generator.delta(), batches }))
    }
}

impl<F: Field> Source<F> for SequentialSource<F> {
    fn delta(&self) -> F {
        self.delta
    }

    fn next(
        &mut self,
        kind: Kind,
        _: usize,
        _: Option<Batch<F>>,
    ) -> Result<Batch<F>, ProtocolError> {
        let place = self.batches.iter().position(|batch| batch.kind() == kind);
        let batch = place.and_then(|place| self.batches.remove(place));
        Ok(batch.expect("no more is used than was demanded"))
    }
}
