//! Costs of making authenticated correlated randomness, exact to the byte, as `explain` states
//! them.
//!
//! All parties make the same batches, so every pair of parties sends the same both ways; only
//! masks and bits that one party knows go from their owner to all others.

use phineus_crypto::field::Field;
use phineus_ot::FieldBits;
use phineus_ot::costs::{malicious_extension_bytes, malicious_setup_bytes};

use super::authenticate::CHECK_ELEMENTS;
use super::check::{COMMIT_BYTES, open_bytes};
use super::coin::DIGEST_BYTES;
use super::limits::{ROW_ELEMENTS, column_piece, matrix_tau, tau};
use super::ranges::Ranges;
use super::triples::COINS;
use super::{Demand, Kind, masks};
use crate::demand::BatchScale;
use crate::semi_honest::costs::{PairCosts, PartyPair};

const DIGEST: u64 = DIGEST_BYTES as u64;

/// The costs between two parties of setting up.
pub fn setup_costs<F: Field>(field: FieldBits) -> PairCosts {
    let (from_sender, from_receiver) = malicious_setup_bytes(field);
    // Seeds of the products with the key, and of the shares of masks.
    let seeds = malicious_extension_bytes(F::BITS.into(), field) + 16;
    let bytes = from_sender + from_receiver + seeds;
    let ots = 2 * u64::from(F::BITS);
    PairCosts { from_lower_bytes: bytes, from_higher_bytes: bytes, ots, rounds: 5 }
}

/// The costs between two parties of everything that is demanded; set-up not
/// included.
pub fn demand_costs<F: Field>(demand: &Demand, field: FieldBits, pair: PartyPair) -> PairCosts {
    let mut sum = PairCosts::default();
    for (kind, count) in demand.batches() {
        let costs = batch_costs::<F>(kind, count, (field, demand.scale()), pair);
        sum.from_lower_bytes += costs.from_lower_bytes;
        sum.from_higher_bytes += costs.from_higher_bytes;
        sum.ots += costs.ots;
        sum.rounds += costs.rounds;
    }
    sum
}

/// Costs until there is a batch of each kind, set-up included: what a program that takes little of each
/// kind at a time waits for.
pub fn costs_of_first_batches<F: Field>(demand: &Demand, field: FieldBits) -> PairCosts {
    let mut sum = setup_costs::<F>(field);
    for (kind, count) in demand.kinds() {
        let count = count.min(kind.batch_items(demand.scale()));
        let first = batch_costs::<F>(kind, count, (field, demand.scale()), PartyPair::OF_TWO);
        sum.ots += first.ots;
        sum.rounds += first.rounds;
    }
    sum
}

/// The costs between two parties of one batch. A bit whose square happens to be
/// zero, with probability 1/p, is made again, which is not included.
pub fn batch_costs<F: Field>(
    kind: Kind,
    count: usize,
    (field, scale): (FieldBits, BatchScale),
    pair: PartyPair,
) -> PairCosts {
    let PartyPair { lower, higher, parties } = pair;
    if count == 0 {
        return PairCosts::default();
    }
    let element = F::BYTES as u64;
    let both = |bytes: u64, ots: usize, rounds: u64| PairCosts {
        from_lower_bytes: bytes,
        from_higher_bytes: bytes,
        ots: 2 * ots as u64,
        rounds,
    };
    // Coins, the check of what was authenticated, and the MAC check at the end.
    let frame = 2 * COINS as u64 * DIGEST + CHECK_ELEMENTS as u64 * element + mac_check::<F>();
    match kind {
        Kind::Triple => {
            let (bytes, ots) = products::<F>(count, field);
            both(
                bytes + authenticated::<F>(4 * count + 2) + frame + count as u64 * element,
                ots,
                10,
            )
        }
        Kind::Square => {
            let (bytes, ots) = products::<F>(count, field);
            let opened = 2 * count as u64 * element;
            both(bytes + authenticated::<F>(3 * count + 2) + frame + opened, ots, 11)
        }
        Kind::Bit => {
            let squares = batch_costs::<F>(Kind::Square, count, (field, scale), pair);
            let opened = 2 * DIGEST + count as u64 * element + mac_check::<F>();
            PairCosts {
                from_lower_bytes: squares.from_lower_bytes + opened,
                from_higher_bytes: squares.from_higher_bytes + opened,
                ots: squares.ots,
                rounds: squares.rounds + 5,
            }
        }
        Kind::Mask { owner } => {
            let mut costs = both(3 * DIGEST, 0, 5);
            let owned = authenticated::<F>(count + 1) + CHECK_ELEMENTS as u64 * element;
            costs.from_lower_bytes += if lower == usize::from(owner) { owned } else { 0 };
            costs.from_higher_bytes += if higher == usize::from(owner) { owned } else { 0 };
            costs
        }
        Kind::BitMask { owner } => {
            let mut costs = both(3 * DIGEST, 0, 6);
            let owned = chosen::<F>(masks::bits(count, parties));
            costs.from_lower_bytes += if lower == usize::from(owner) { owned } else { 0 };
            costs.from_higher_bytes += if higher == usize::from(owner) { owned } else { 0 };
            costs
        }
        Kind::Bounded => both(3 * DIGEST + chosen::<F>(masks::digits(count, parties)), 0, 6),
        Kind::Matrix(size) => {
            let (rows, columns) = (size.rows as usize, size.cols as usize * count);
            let factors = size.factors() * count;
            let per_column = matrix_tau::<F>() * F::BITS as usize;
            let piece = column_piece(scale.ahead_bytes());
            let pieces = (0..factors).step_by(piece);
            let pieces = pieces.map(|first| piece.min(factors - first) * per_column);
            let extensions: u64 =
                pieces.map(|ots| malicious_extension_bytes(ots as u64, field)).sum();
            let offers = (factors * per_column * (rows + 1)) as u64 * element;
            // The mask, the matrices with a row more, the vectors, the products, and a sum for
            // each vector.
            let results = size.results() * count + size.vectors as usize;
            let inputs = 1 + (rows + 1) * columns + factors + results;
            let bytes = extensions + offers + authenticated::<F>(inputs);
            both(bytes + frame + columns as u64 * element, factors * per_column, 10)
        }
    }
}

/// The OTs of a batch of triples, and both messages of them.
fn products<F: Field>(count: usize, field: FieldBits) -> (u64, usize) {
    let vectors = tau::<F>() * F::BITS as usize;
    let rows = (0..count).step_by(ROW_ELEMENTS).map(|first| ROW_ELEMENTS.min(count - first));
    let extensions: u64 = rows.map(|ots| malicious_extension_bytes(ots as u64, field)).sum();
    let offers = (count * F::BYTES) as u64;
    (vectors as u64 * (extensions + offers), vectors * count)
}

/// Elements times the peer's key.
fn authenticated<F: Field>(count: usize) -> u64 {
    (count * F::BITS as usize * F::BYTES) as u64
}

/// Elements that are proven to be small, as their owner sends them.
fn chosen<F: Field>(ranges: Ranges) -> u64 {
    authenticated::<F>(ranges.inputs()) + ((CHECK_ELEMENTS + ranges.degree()) * F::BYTES) as u64
}

fn mac_check<F: Field>() -> u64 {
    (COMMIT_BYTES + open_bytes::<F>()) as u64
}
