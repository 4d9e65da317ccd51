//! [`SpdzSettings`]: settings that a run of a plan on authenticated shares must follow.

use phineus_bytecode::{PlanDescription, Settings};
use phineus_correlated::demand::BatchScale;
use serde::{Deserialize, Serialize};

use super::distance::Masks;

/// The settings of a plan on authenticated shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpdzSettings {
    /// The masks of comparisons and right shifts of integers of few bits.
    pub masks: Masks,
    /// How often batches of correlated randomness are halved.
    pub batch_halvings: BatchScale,
}

impl SpdzSettings {
    /// The settings of a plan.
    ///
    /// # Errors
    /// A sentence if the plan does not state all of them, others, or one out of its range.
    pub fn of_plan(plan: &PlanDescription) -> Result<SpdzSettings, String> {
        plan.settings.read()
    }

    /// The settings of a plan that was checked when it was opened; the usual ones if they are wrong.
    pub fn stated(plan: &PlanDescription) -> SpdzSettings {
        SpdzSettings::of_plan(plan).unwrap_or_default()
    }

    /// As plans store them.
    pub fn to_stored(self) -> Settings {
        Settings::of(&self)
    }
}
