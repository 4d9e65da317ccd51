//! [`Settings`]: settings of a plan that a run must follow, as the protocol states them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The settings of a plan: choices that were made when it was planned and that a run must follow,
/// such as the OT extension or the size of batches.
///
/// A protocol has a type of its own for them, with named alternatives and ranges. This is the form
/// that plans store, in which a setting is a word or a number; nothing but the protocol reads it.
/// Amounts that a plan only states and compares are costs, not settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, SettingValue>);

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// An amount.
    Number(u64),
    /// One of several named alternatives.
    Word(String),
}

impl Settings {
    /// The stored form of a protocol's settings.
    ///
    /// # Panics
    /// If `typed` is not a structure of numbers and words.
    pub fn of(typed: &impl Serialize) -> Settings {
        let value = serde_json::to_value(typed).expect("settings are plain data");
        serde_json::from_value(value).expect("settings are numbers and words by name")
    }

    /// Converts the settings to the protocol's type.
    ///
    /// # Errors
    /// A sentence if a setting is missing, unknown or out of its range.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let value = serde_json::to_value(self).expect("settings are plain data");
        serde_json::from_value(value).map_err(|error| format!("the plan's settings: {error}"))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All settings by name, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SettingValue)> {
        self.0.iter().map(|(name, setting)| (name.as_str(), setting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Extension {
        Fast,
        Small,
    }

    #[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Typed {
        extension: Extension,
        halvings: u8,
    }

    #[test]
    fn what_is_written_is_read() {
        for typed in [
            Typed { extension: Extension::Fast, halvings: 0 },
            Typed { extension: Extension::Small, halvings: 255 },
        ] {
            let settings = Settings::of(&typed);
            assert_eq!(settings.read(), Ok(typed));
        }
        let names = Settings::of(&Typed { extension: Extension::Fast, halvings: 3 });
        let names: Vec<String> = names.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["extension", "halvings"]);
    }

    #[test]
    fn what_is_missing_unknown_or_out_of_range_is_refused() {
        for (wrong, why) in [
            (r#"{"extension": "fast"}"#, "missing field `halvings`"),
            (r#"{"extension": "fast", "halvings": 256}"#, "256"),
            (r#"{"extension": "slow", "halvings": 1}"#, "unknown variant `slow`"),
            (r#"{"extension": "fast", "halvings": 1, "x": 1}"#, "unknown field `x`"),
            (r#"{"extension": 1, "halvings": 1}"#, "the plan's settings"),
        ] {
            let settings: Settings = serde_json::from_str(wrong).expect("numbers and words");
            let refused = settings.read::<Typed>().expect_err(wrong);
            assert!(refused.contains(why), "{refused}");
        }
        for wrong in [r#"{"a": -1}"#, r#"{"a": 1.5}"#, r#"{"a": null}"#, r#"{"a": {}}"#, "[]"] {
            assert!(serde_json::from_str::<Settings>(wrong).is_err(), "{wrong}");
        }
    }
}
