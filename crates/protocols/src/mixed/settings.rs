//! [`MixedSettings`]: settings that a run of a plan on shares must follow.

use phineus_bytecode::{PlanDescription, Settings, SharingSetting};
use phineus_correlated::demand::BatchScale;
use serde::{Deserialize, Serialize};

use super::broadcast::Broadcast;
use super::templates::YaoToArithmetic;

/// The OT extension that correlated randomness is made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtExtension {
    /// SoftSpoken.
    #[default]
    Softspoken,
    /// Ferret.
    Silent,
}

impl OtExtension {
    /// Returns whether it is silent OT.
    pub fn is_silent(self) -> bool {
        self == OtExtension::Silent
    }
}

/// The settings of a plan on shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixedSettings {
    /// The OT extension.
    pub ot: OtExtension,
    /// How garbled values become additive, as ordering assumed it.
    pub y2a: YaoToArithmetic,
    /// How opened values go to all parties.
    pub broadcast: Broadcast,
    /// How often batches of correlated randomness are halved.
    pub batch_halvings: BatchScale,
    /// How sharings were chosen that the program leaves open, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharings: Option<SharingSetting>,
}

impl MixedSettings {
    /// The settings of a plan.
    ///
    /// # Errors
    /// A sentence if the plan does not state all of them, others, or one out of its range.
    pub fn of_plan(plan: &PlanDescription) -> Result<MixedSettings, String> {
        plan.settings.read()
    }

    /// The settings of a plan that was checked when it was opened; the usual ones if they are wrong.
    pub fn stated(plan: &PlanDescription) -> MixedSettings {
        MixedSettings::of_plan(plan).unwrap_or_default()
    }

    /// As plans store them.
    pub fn to_stored(self) -> Settings {
        Settings::of(&self)
    }
}
