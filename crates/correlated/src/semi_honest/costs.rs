//! Costs of preprocessing, exact to the byte, as `explain` states them.
//!
//! All parties make the same batches, so every pair of parties sends the same. Only the halves of square pairs and
//! shared bits differ by the direction when a count is odd, and triples of a bit that one party knows take OTs between
//! this one and each other.

use phineus_crypto::point_function::PointBits;
use phineus_ot::{Correlation, OtKind, product_bytes};

use super::point_functions::{correction_bytes, correction_rounds, ots_of_a_point};
use super::schedule::batches;
use super::shared_bits::lower_half;
use super::{Demand, Kind};
use crate::demand::BatchScale;

/// Two of so many parties.
#[derive(Clone, Copy, Debug)]
pub struct PartyPair {
    /// The one of the lower number.
    pub lower: usize,
    /// The one of the higher number.
    pub higher: usize,
    /// How many there are.
    pub parties: usize,
}

impl PartyPair {
    /// Of two parties.
    pub const OF_TWO: PartyPair = PartyPair { lower: 0, higher: 1, parties: 2 };

    /// Two different ones of so many.
    pub fn of(one: usize, other: usize, parties: usize) -> PartyPair {
        PartyPair { lower: one.min(other), higher: one.max(other), parties }
    }

    /// All pairs of so many parties.
    pub fn all(parties: usize) -> impl Iterator<Item = PartyPair> {
        let below =
            move |higher| (0..higher).map(move |lower| PartyPair::of(lower, higher, parties));
        (0..parties).flat_map(below)
    }
}

/// Bytes over one link, in each direction or both, and the time that they take.
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
        self.add_times(other, 1);
    }

    /// Adds what happens so many times.
    pub fn add_times(&mut self, other: PairCosts, times: u64) {
        self.from_lower_bytes += other.from_lower_bytes * times;
        self.from_higher_bytes += other.from_higher_bytes * times;
        self.ots += other.ots * times;
        self.rounds += other.rounds * times;
    }
}

/// The costs of a pair for everything that is demanded, made in its batches; set-up not included.
pub fn demand_costs(demand: &Demand, pair: PartyPair, ot: impl Into<OtKind>) -> PairCosts {
    sum_costs(demand.batches(), pair, ot.into())
}

/// The costs of a pair for demands that come up so many times each, every time in batches of their
/// own; set-up not included.
pub fn demands_costs<'a>(
    demands: impl Iterator<Item = (&'a Demand, u64)>,
    pair: PartyPair,
    ot: OtKind,
) -> PairCosts {
    let (mut costs, mut by_lower, mut by_higher) = (PairCosts::default(), 0, 0);
    for (demand, times) in demands {
        for (kind, count) in demand.batches() {
            costs.add_times(batch_costs(kind, count, pair, ot), times);
        }
        let (lower, higher) = offered_in_all(demand, pair);
        by_lower += lower * times;
        by_higher += higher * times;
    }
    // What one leaves of what is reserved is there for the next.
    costs.add(reservation_costs(ot, by_lower, by_higher));
    costs
}

/// The costs of reserving what both directions of a session offer.
fn reservation_costs(ot: OtKind, by_lower: u64, by_higher: u64) -> PairCosts {
    // Both directions reserve before the same batches, but for those that one party has alone and a few OTs of
    // difference.
    let (lower, higher) = (ot.reservations(by_lower), ot.reservations(by_higher));
    PairCosts {
        from_lower_bytes: lower * ot.reservation_bytes(),
        from_higher_bytes: higher * ot.reservation_bytes(),
        ots: 0,
        rounds: lower.max(higher),
    }
}

/// The costs of a pair for `count` of a kind and nothing else, made in full batches and one for
/// the rest.
pub fn kind_costs(kind: Kind, count: usize, pair: PartyPair, ot: impl Into<OtKind>) -> PairCosts {
    sum_costs(batches(kind, count, BatchScale::FULL), pair, ot.into())
}

/// The costs of a pair for all batches of a session, in whatever order.
fn sum_costs(
    batches: impl Iterator<Item = (Kind, usize)>,
    pair: PartyPair,
    ot: OtKind,
) -> PairCosts {
    let (mut costs, mut by_lower, mut by_higher) = (PairCosts::default(), 0, 0);
    for (kind, count) in batches {
        costs.add(batch_costs(kind, count, pair, ot));
        let (lower, higher) = offered_ots(kind, count, pair);
        by_lower += lower as u64;
        by_higher += higher as u64;
    }
    costs.add(reservation_costs(ot, by_lower, by_higher));
    costs
}

/// The costs of a pair for setting up a generator, in both directions.
pub fn setup_costs(ot: impl Into<OtKind>) -> PairCosts {
    let ot = ot.into();
    let (from_sender, from_receiver) = ot.setup_bytes();
    let (bytes, rounds) = (from_sender + from_receiver, ot.both_setup_rounds());
    PairCosts { from_lower_bytes: bytes, from_higher_bytes: bytes, ots: 0, rounds }
}

/// The most OTs that either of two parties offers for everything that is demanded.
pub fn ots_of_a_direction(demand: &Demand) -> u64 {
    // Others than these are as any two of them are.
    let owners = demand.kinds().map(|(kind, _)| match kind {
        Kind::KnownTriple { owner, .. } => usize::from(owner) + 1,
        Kind::BitTriple
        | Kind::RingTriple { .. }
        | Kind::SquarePair { .. }
        | Kind::SharedBit { .. }
        | Kind::PointFunction { .. } => 0,
    });
    let parties = owners.max().unwrap_or(0).max(2);
    let of_pair = |pair| {
        let (lower, higher) = offered_in_all(demand, pair);
        lower.max(higher)
    };
    PartyPair::all(parties).map(of_pair).max().expect("there are two parties")
}

/// OTs of a party with all others in one batch, at the most.
pub fn ots_of_a_party(kind: Kind, count: usize, parties: usize) -> usize {
    let with_one = match kind {
        Kind::KnownTriple { .. } => count,
        Kind::BitTriple
        | Kind::RingTriple { .. }
        | Kind::SquarePair { .. }
        | Kind::SharedBit { .. }
        | Kind::PointFunction { .. } => {
            let (by_lower, by_higher) = offered_ots(kind, count, PartyPair::of(0, 1, parties));
            by_lower + by_higher
        }
    };
    (parties - 1) * with_one
}

/// The OTs of all batches in which the party of lower number is the sender, and the other.
fn offered_in_all(demand: &Demand, pair: PartyPair) -> (u64, u64) {
    let offered = demand.batches().map(|(kind, count)| offered_ots(kind, count, pair));
    offered.fold((0, 0), |sum, one| (sum.0 + one.0 as u64, sum.1 + one.1 as u64))
}

/// The OTs of a batch in which the party of lower number is the sender, and the other.
pub fn offered_ots(kind: Kind, count: usize, pair: PartyPair) -> (usize, usize) {
    let width = usize::from(kind.width());
    match kind {
        Kind::KnownTriple { owner, .. } => {
            let of = |chooser: usize| if usize::from(owner) == chooser { count } else { 0 };
            (of(pair.higher), of(pair.lower))
        }
        Kind::BitTriple => (count, count),
        Kind::RingTriple { .. } => (count * width, count * width),
        Kind::SquarePair { .. } | Kind::SharedBit { .. } if width == 1 => (0, 0),
        Kind::SquarePair { .. } => {
            let lower = count.div_ceil(2);
            (lower * (width - 1), (count - lower) * (width - 1))
        }
        Kind::SharedBit { .. } => {
            let lower = lower_half(count);
            (lower, count - lower)
        }
        Kind::PointFunction { bits } => {
            let ots = count * ots_of_a_point(PointBits::new(bits));
            (ots, ots)
        }
    }
}

/// Bytes of the answers to choices that the party of lower number sends in a batch, and the other.
fn answer_bytes(kind: Kind, count: usize, pair: PartyPair) -> (u64, u64) {
    let width = kind.width();
    match kind {
        Kind::RingTriple { .. } => {
            let offers = product_bytes(width, count);
            (offers, offers)
        }
        Kind::SquarePair { .. } | Kind::SharedBit { .. } if width == 1 => (0, 0),
        Kind::SquarePair { .. } => {
            let lower = count.div_ceil(2);
            (product_bytes(width - 1, lower), product_bytes(width - 1, count - lower))
        }
        Kind::SharedBit { .. } => {
            let offers = |ots| Correlation::additive(width - 1, 1).message_bytes(ots);
            let (by_lower, by_higher) = offered_ots(kind, count, pair);
            (offers(by_lower), offers(by_higher))
        }
        Kind::BitTriple | Kind::KnownTriple { .. } | Kind::PointFunction { .. } => (0, 0),
    }
}

/// Bytes of the longest message of a batch between two parties: choices, or answers to them.
pub(super) fn message_bytes(kind: Kind, count: usize, ot: OtKind) -> u64 {
    let (by_lower, by_higher) = offered_ots(kind, count, PartyPair::OF_TWO);
    let (lower, higher) = answer_bytes(kind, count, PartyPair::OF_TWO);
    let ots = by_lower.max(by_higher) as u64;
    let choices = if ots == 0 { 0 } else { ot.random_extension_bytes(ots) };
    choices.max(lower).max(higher)
}

/// The costs of a pair for one batch, of at most [`Kind::batch_elements`], without what it may
/// have to reserve, which depends on the batches before.
pub fn batch_costs(kind: Kind, count: usize, pair: PartyPair, ot: impl Into<OtKind>) -> PairCosts {
    let (width, two, ot) = (kind.width(), pair.parties == 2, ot.into());
    let (by_lower, by_higher) = offered_ots(kind, count, pair);
    let (lower, higher) = answer_bytes(kind, count, pair);
    let ots = (by_lower + by_higher) as u64;
    // What the chooser of so many OTs sends.
    let extension = |ots: usize| match (ots, two) {
        (0, _) => 0,
        (_, true) => ot.random_extension_bytes(ots as u64),
        (_, false) => ot.extension_bytes(ots as u64),
    };
    let costs = |lower_offers: u64, higher_offers: u64, rounds: u64| PairCosts {
        from_lower_bytes: extension(by_higher) + lower_offers,
        from_higher_bytes: extension(by_lower) + higher_offers,
        ots,
        rounds,
    };
    match kind {
        Kind::BitTriple if two => costs(0, 0, 1),
        Kind::BitTriple => {
            let correction = count.div_ceil(8) as u64;
            costs(correction, correction, 2)
        }
        Kind::RingTriple { .. } => costs(lower, higher, 2),
        Kind::SquarePair { .. } | Kind::SharedBit { .. } if width == 1 => PairCosts::default(),
        Kind::SquarePair { .. } => costs(lower, higher, 2),
        Kind::SharedBit { .. } => costs(lower, higher, pair.parties as u64),
        // All pairs go at once: those without OTs wait for those of the owner.
        Kind::KnownTriple { .. } => costs(0, 0, 1),
        Kind::PointFunction { bits } => {
            let points = PointBits::new(bits);
            let corrections = correction_bytes(points, count);
            let of_ots = u64::from(ots > 0);
            costs(corrections, corrections, of_ots + correction_rounds(points))
        }
    }
}
