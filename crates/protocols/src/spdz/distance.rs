//! [`Distance`]: statistical distance of a run on authenticated shares from an ideal one: the sum
//! of the probabilities that a wrong value passes a check, and of the distances of openings.
//!
//! A union bound, so an upper bound. Its terms are counted while a program is planned; assumptions on
//! primitives (OT, hashes, generators) come on top. Sources: each term names the document that argues it.
//!
//! Corrupted parties are counted as `N - 1` wherever each of them may lie on its own.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use phineus_bytecode::{Description, ProgramReader};
use phineus_correlated::authenticated::STATISTICAL_BITS;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::mascot::{Demand, Kind, limits};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use serde::{Deserialize, Serialize};

use super::SpdzRounds;
use super::costs::totals;
use super::operations::may_open_narrowly;
use super::settings::SpdzSettings;
use crate::ProtocolError;
use crate::mixed::totals as shared;

/// Masks under which comparisons and right shifts of integers of few bits open operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Masks {
    /// Shared bits and a bounded integer of each party: a quarter of the correlated randomness, and
    /// a distance of 2^-40 for each opening.
    #[default]
    Narrow,
    /// Shared bits over the whole field, as for larger integers.
    Whole,
}

impl Masks {
    /// The masks of a planned program.
    pub(super) fn of(description: &Description) -> Masks {
        description.plan.as_ref().map_or(Masks::Narrow, |plan| SpdzSettings::stated(plan).masks)
    }
}

/// The most that a run may be from an ideal one before narrow masks are given up.
pub const DISTANCE_MAX: f64 = power_of_half(30);

/// `2^-exponent`, exactly.
const fn power_of_half(exponent: u32) -> f64 {
    1.0 / (1u128 << exponent) as f64
}

/// Events of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistanceTerm {
    /// In the plural.
    pub what: &'static str,
    /// The most events of this kind.
    pub count: u64,
    /// The probability, or distance, of one.
    pub each: f64,
}

impl DistanceTerm {
    /// Of all together.
    pub fn sum(&self) -> f64 {
        self.count as f64 * self.each
    }
}

/// The terms of a plan; those that do not occur are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Distance {
    /// In the order of a run.
    pub terms: Vec<DistanceTerm>,
}

impl Distance {
    /// The distance that a plan for so many parties states.
    pub fn stated(costs: &BTreeMap<String, u64>, field: FieldName, parties: usize) -> Distance {
        let total = |name: &str| costs.get(name).copied().unwrap_or(0);
        let corrupted = parties as u64 - 1;
        let p = field.modulus() as f64;
        // 2^k - p values of a mask of k bits are not below p. Both are exact: k is 128 at most.
        let beyond = field.modulus().wrapping_neg() << (128 - field.bits()) >> (128 - field.bits());
        let field_size = beyond as f64 + p;
        let terms = vec![
            DistanceTerm {
                what: "openings under narrow masks",
                count: total(totals::BOUNDED),
                each: power_of_half(STATISTICAL_BITS),
            },
            DistanceTerm {
                what: "openings under masks of the whole field",
                count: total(totals::WHOLE_OPENINGS),
                each: beyond as f64 / field_size,
            },
            // docs/protocols/spdz.md, "A round".
            DistanceTerm { what: "MAC checks", count: total(totals::MAC_CHECKS), each: 3.0 / p },
            DistanceTerm {
                what: "rounds that MAC checks add up",
                count: total(shared::ROUNDS),
                each: 1.0 / p / p,
            },
            // docs/protocols/mascot.md, all that follows.
            DistanceTerm {
                what: "proofs of bounded integers",
                count: total(totals::BOUNDED_BATCHES) * corrupted,
                each: 17.0 / p,
            },
            DistanceTerm {
                what: "proofs of input bits",
                count: total(totals::BIT_MASK_BATCHES),
                each: 3.0 / p,
            },
            DistanceTerm {
                what: "other checks of correlated randomness",
                count: total(totals::PREPROCESSING_CHECKS),
                each: 1.0 / p,
            },
            DistanceTerm {
                what: "factors of products by OT",
                count: factors(&super::costs::demand_of_totals(costs, BatchScale::FULL))
                    .saturating_mul(corrupted),
                each: power_of_half(amplified_bits(field)),
            },
            // docs/protocols/ot.md: for each tile, of which each has at least one OT.
            DistanceTerm {
                what: "checks of OT extension",
                count: total(shared::OTS).saturating_mul(corrupted),
                each: power_of_half(122),
            },
        ];
        Distance { terms: terms.into_iter().filter(|term| term.count > 0).collect() }
    }

    /// The sum of all terms. Deterministic: the same sums, products and quotients everywhere.
    pub fn total(&self) -> f64 {
        self.terms.iter().map(DistanceTerm::sum).sum()
    }

    /// Returns whether the total passes [`DISTANCE_MAX`].
    pub fn is_too_large(&self) -> bool {
        self.total() > DISTANCE_MAX
    }
}

/// Factors that are random combinations of what products were made of, and so hidden by the leftover
/// hash lemma.
fn factors(demand: &Demand) -> u64 {
    let count = |(kind, count): (Kind, usize)| {
        count as u64
            * match kind {
                Kind::Triple | Kind::Square | Kind::Bit => 1,
                Kind::Matrix(size) => size.factors() as u64,
                Kind::Mask { .. } | Kind::BitMask { .. } | Kind::Bounded => 0,
            }
    };
    demand.kinds().map(count).sum()
}

/// The bits of [`limits::tau`] that hide a factor; those of matrices are as many.
fn amplified_bits(field: FieldName) -> u32 {
    const fn bits<F: Field>() -> u32 {
        let of_triples = (limits::tau::<F>() as u32 - 2) * F::BITS / 2;
        assert!(of_triples == (limits::matrix_tau::<F>() as u32 - 1) * F::BITS / 2);
        of_triples
    }
    match field {
        FieldName::F32 => const { bits::<F32>() },
        FieldName::F61 => const { bits::<F61>() },
        FieldName::F128 => const { bits::<F128>() },
    }
}

/// Checks in making a batch that a lie passes with probability 1/p, besides proofs of ranges.
pub(super) fn checks_of_batch(kind: Kind, parties: usize) -> u64 {
    // That each element is the same towards all, for each that may lie (`authenticate`).
    let corrupted = parties as u64 - 1;
    match kind {
        // The equation of the sacrifice, and its combination with the MACs of the openings.
        Kind::Triple | Kind::Square => corrupted + 2,
        // And the MACs of the squares.
        Kind::Bit => corrupted + 3,
        // The combination of rows, that of vectors, and that with the MACs of the openings.
        Kind::Matrix(_) => corrupted + 3,
        Kind::Mask { .. } | Kind::BitMask { .. } => 1,
        Kind::Bounded => corrupted,
    }
}

/// Number of openings under narrow masks in a lowered program, if such masks are used.
///
/// # Errors
/// When the program cannot be read.
pub fn narrow_openings<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    field: FieldName,
    parties: usize,
) -> Result<u64, ProtocolError> {
    let (mut model, mut openings) = (SpdzRounds::new(field, parties), 0);
    program.for_each::<ProtocolError>(|instruction| {
        if may_open_narrowly(instruction) {
            let (script, lanes) = model.scripts.of(instruction);
            openings += u64::from(script.bounded_count) * lanes as u64;
        }
        Ok(())
    })?;
    Ok(openings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(totals: &[(&str, u64)], field: FieldName, parties: usize) -> Distance {
        let costs = totals.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        Distance::stated(&costs, field, parties)
    }

    #[test]
    fn each_event_has_the_probability_of_the_documents() {
        let all = [
            (totals::BOUNDED, 1),
            (totals::WHOLE_OPENINGS, 1),
            (totals::MAC_CHECKS, 1),
            (totals::BOUNDED_BATCHES, 1),
            (totals::TRIPLES, 1),
            (shared::OTS, 1),
        ];
        let log2 = |field, parties| -> Vec<f64> {
            stated(&all, field, parties).terms.iter().map(|term| term.sum().log2()).collect()
        };
        let near = |found: Vec<f64>, expected: [f64; 6]| {
            let pairs = found.iter().zip(&expected);
            assert!(
                found.len() == 6 && pairs.clone().all(|(f, e)| (f - e).abs() < 0.01),
                "{found:?}"
            );
        };
        let (three, seventeen) = (3f64.log2(), 17f64.log2());
        near(
            log2(FieldName::F61, 2),
            [-40.0, -61.0, three - 61.0, seventeen - 61.0, -61.0, -122.0],
        );
        let of_128 =
            [-40.0, 159f64.log2() - 128.0, three - 128.0, seventeen - 128.0, -64.0, -122.0];
        near(log2(FieldName::F128, 2), of_128);
        // Of three parties two may lie in proofs, and about what products are made of.
        near(
            log2(FieldName::F61, 3),
            [-40.0, -61.0, three - 61.0, seventeen - 60.0, -60.0, -121.0],
        );
        let total = stated(&all, FieldName::F61, 2).total();
        assert!(total > power_of_half(40) && total < power_of_half(40) * 1.001);
    }

    #[test]
    fn the_limit_is_passed_by_any_check_beside_1024_openings() {
        let with = |openings, checks| {
            let totals = [(totals::BOUNDED, openings), (totals::MAC_CHECKS, checks)];
            stated(&totals, FieldName::F61, 2).is_too_large()
        };
        assert!(!with(1024, 0) && with(1024, 1) && !with(1023, 1000));
        // 2^-40 is left, and 2^21 / 3 checks are 2^-40.
        assert!(!with(1023, 699_050) && with(1023, 699_051));
    }

    #[test]
    fn what_does_not_occur_is_not_listed() {
        assert!(stated(&[], FieldName::F61, 2).terms.is_empty());
        assert_eq!(stated(&[], FieldName::F32, 2).total(), 0.0);
    }
}
