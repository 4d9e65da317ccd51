//! Settings that plans of several protocols have.

use phineus_bytecode::PlanDescription;
use phineus_correlated::demand::BatchScale;
use serde::Deserialize;

/// How large the batches of correlated randomness of a plan are: whole ones, if its protocol makes
/// none.
pub fn batch_scale(plan: &PlanDescription) -> BatchScale {
    #[derive(Deserialize)]
    struct RawSettings {
        #[serde(default)]
        batch_halvings: BatchScale,
    }
    plan.settings.read::<RawSettings>().map_or(BatchScale::FULL, |stated| stated.batch_halvings)
}
