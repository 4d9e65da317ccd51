//! The correlated randomness that totals state.

use std::collections::BTreeMap;

use phineus_bytecode::PlanDescription;
use phineus_correlated::authenticated::MatrixSize;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::mascot::{Demand, Kind};

use super::super::settings::SpdzSettings;
use super::totals;

/// The name of a kind's total.
pub(super) fn name_of(kind: Kind) -> String {
    match kind {
        Kind::Triple => totals::TRIPLES.to_owned(),
        Kind::Square => totals::SQUARES.to_owned(),
        Kind::Bit => totals::BITS.to_owned(),
        Kind::Mask { owner } => totals::masks(usize::from(owner)),
        Kind::BitMask { owner } => totals::bit_masks(usize::from(owner)),
        Kind::Bounded => totals::BOUNDED.to_owned(),
        Kind::Matrix(size) => totals::matrices(size),
    }
}

/// The correlated randomness that the totals of a plan state.
pub fn stated_demand(plan: &PlanDescription) -> Demand {
    demand_of_totals(&plan.costs, SpdzSettings::stated(plan).batch_halvings)
}

/// Demand that totals state, in batches of this size.
pub fn demand_of_totals(totals: &BTreeMap<String, u64>, scale: BatchScale) -> Demand {
    let mut demand = Demand::scaled(scale);
    for (name, &count) in totals {
        let kind = match name.as_str() {
            totals::TRIPLES => Some(Kind::Triple),
            totals::SQUARES => Some(Kind::Square),
            totals::BITS => Some(Kind::Bit),
            totals::BOUNDED => Some(Kind::Bounded),
            _ => mask_or_matrix(name),
        };
        if let Some(kind) = kind {
            demand.add(kind, count as usize);
        }
    }
    demand
}

fn mask_or_matrix(name: &str) -> Option<Kind> {
    if let Some(owner) = name.strip_prefix("masks_") {
        return Some(Kind::Mask { owner: owner.parse().ok()? });
    }
    if let Some(owner) = name.strip_prefix("bit_masks_") {
        return Some(Kind::BitMask { owner: owner.parse().ok()? });
    }
    let mut sides = name.strip_prefix("matrices_")?.split('_').map(|side| side.parse().ok());
    let (rows, cols) = (sides.next()??, sides.next()??);
    let vectors = sides.next().unwrap_or(Some(1))?;
    sides.next().is_none().then_some(Kind::Matrix(MatrixSize { rows, cols, vectors }))
}
