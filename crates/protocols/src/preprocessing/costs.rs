//! What preprocessing costs, to the byte: the numbers that `explain` states.
//!
//! All parties make the same batches, so every pair of parties sends the same; only the halves of
//! square pairs and shared bits differ by the direction when a count is odd.

use super::schedule::batches;
use super::shared_bits::lower_half;
use super::{Demand, Kind};
use crate::ot::{
    Correlation, FieldBits, extension_bytes, product_bytes, random_extension_bytes, setup_bytes,
};

/// What goes over one link in one direction or both, and how long it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCosts {
    /// Bytes that the party of lower number sends to the other.
    pub from_lower_bytes: u64,
    /// Bytes that the party of higher number sends to the other.
    pub from_higher_bytes: u64,
    /// Oblivious transfers between the two, in both directions together.
    pub ots: u64,
    /// Messages that wait for one another; all pairs of parties take them together.
    pub rounds: u64,
}

impl PairCosts {
    fn add(&mut self, other: PairCosts) {
        self.from_lower_bytes += other.from_lower_bytes;
        self.from_higher_bytes += other.from_higher_bytes;
        self.ots += other.ots;
        self.rounds += other.rounds;
    }
}

/// The costs of a pair for everything that is demanded, made in full batches; set-up not included.
pub fn demand_costs(demand: &Demand, parties: usize, field: FieldBits) -> PairCosts {
    let mut costs = PairCosts::default();
    for (kind, count) in demand.kinds() {
        costs.add(kind_costs(kind, count, parties, field));
    }
    costs
}

/// The costs of a pair for `count` of a kind, made in full batches and one for the rest.
pub fn kind_costs(kind: Kind, count: usize, parties: usize, field: FieldBits) -> PairCosts {
    let mut costs = PairCosts::default();
    for (kind, count) in batches(kind, count) {
        costs.add(batch_costs(kind, count, parties, field));
    }
    costs
}

/// The costs of a pair for setting up a generator: both directions' base OTs and trees.
pub fn setup_costs(field: FieldBits) -> PairCosts {
    let (from_sender, from_receiver) = setup_bytes(field);
    let bytes = from_sender + from_receiver;
    PairCosts { from_lower_bytes: bytes, from_higher_bytes: bytes, ots: 0, rounds: 4 }
}

/// The costs of a pair for one batch, of at most [`Kind::batch_elements`].
pub fn batch_costs(kind: Kind, count: usize, parties: usize, field: FieldBits) -> PairCosts {
    let (width, two) = (kind.width(), parties == 2);
    // What the chooser of so many OTs sends.
    let extension = |ots: usize| match (ots, two) {
        (0, _) => 0,
        (_, true) => random_extension_bytes(ots as u64, field),
        (_, false) => extension_bytes(ots as u64, field),
    };
    let both = |bytes: u64, ots: usize, rounds: u64| PairCosts {
        from_lower_bytes: bytes,
        from_higher_bytes: bytes,
        ots: 2 * ots as u64,
        rounds,
    };
    match kind {
        Kind::BitTriple if two => both(extension(count), count, 1),
        Kind::BitTriple => both(extension(count) + count.div_ceil(8) as u64, count, 2),
        Kind::RingTriple { .. } => {
            let ots = count * usize::from(width);
            both(extension(ots) + product_bytes(width, count), ots, 2)
        }
        Kind::SquarePair { .. } | Kind::SharedBit { .. } if width == 1 => PairCosts::default(),
        Kind::SquarePair { .. } => {
            let (lower, per_pair) = (count.div_ceil(2), usize::from(width) - 1);
            let higher = count - lower;
            PairCosts {
                from_lower_bytes: extension(higher * per_pair) + product_bytes(width - 1, lower),
                from_higher_bytes: extension(lower * per_pair) + product_bytes(width - 1, higher),
                ots: (count * per_pair) as u64,
                rounds: 2,
            }
        }
        Kind::SharedBit { .. } => {
            let lower = lower_half(count);
            let offers = |ots| Correlation::additive(width - 1, 1).message_bytes(ots);
            PairCosts {
                from_lower_bytes: extension(count - lower) + offers(lower),
                from_higher_bytes: extension(lower) + offers(count - lower),
                ots: count as u64,
                rounds: parties as u64,
            }
        }
    }
}
