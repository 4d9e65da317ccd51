//! [`SharingRule`]: the rule by which the sharings were chosen that a program leaves open, as plans state it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a program gets the sharings that it does not state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SharingRule {
    /// Everything in Boolean sharing.
    Boolean,
    /// Everything garbled.
    Garbled,
    /// Sums and products in arithmetic sharing, and everything else in Boolean sharing.
    Arithmetic,
    /// The cheapest in these sharings under these weights.
    Cheapest(Sharings, Weights),
}

/// The sharings that a rule chooses from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharings {
    /// All three.
    All,
    /// Arithmetic and Boolean sharing.
    Ungarbled,
    /// Arithmetic and garbled sharing.
    ArithmeticGarbled,
    /// Boolean and garbled sharing.
    Bits,
}

/// How rounds and work are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Weights {
    /// Both as they are.
    Sum,
    /// Work counts an eighth: rounds last longer.
    Rounds,
    /// Rounds count an eighth: the work lasts longer.
    Work,
    /// Both as they are, and conversions at one level of the program have equal parts of its rounds.
    JointRounds,
}

impl Weights {
    const ALL: [Weights; 4] = [Weights::Sum, Weights::Rounds, Weights::Work, Weights::JointRounds];

    fn name(self) -> &'static str {
        match self {
            Weights::Sum => "sum",
            Weights::Rounds => "rounds",
            Weights::Work => "work",
            Weights::JointRounds => "joint-rounds",
        }
    }

    /// Eighths of work, and of rounds.
    pub fn eighths(self) -> (u64, u64) {
        match self {
            Weights::Sum | Weights::JointRounds => (8, 8),
            Weights::Rounds => (1, 8),
            Weights::Work => (8, 1),
        }
    }
}

impl Sharings {
    const ALL: [Sharings; 4] =
        [Sharings::All, Sharings::Ungarbled, Sharings::ArithmeticGarbled, Sharings::Bits];

    fn name(self) -> &'static str {
        match self {
            Sharings::All => "all",
            Sharings::Ungarbled => "ungarbled",
            Sharings::ArithmeticGarbled => "arithmetic-garbled",
            Sharings::Bits => "bits",
        }
    }

    /// Whether arithmetic, Boolean and garbled sharing are among them.
    pub fn allowed(self) -> [bool; 3] {
        match self {
            Sharings::All => [true, true, true],
            Sharings::Ungarbled => [true, true, false],
            Sharings::ArithmeticGarbled => [true, false, true],
            Sharings::Bits => [false, true, true],
        }
    }
}

impl SharingRule {
    /// The rules that do not look at costs.
    pub const UNIFORM: [SharingRule; 3] =
        [SharingRule::Boolean, SharingRule::Arithmetic, SharingRule::Garbled];

    /// Compared besides all others: it estimates too few rounds where few of the conversions of a level take place.
    pub const JOINT: SharingRule = SharingRule::Cheapest(Sharings::All, Weights::JointRounds);

    /// The rules that look at costs, those first whose assignment is most often the best; without [`SharingRule::JOINT`].
    pub fn cheapest() -> impl Iterator<Item = SharingRule> {
        let pairs = Sharings::ALL.into_iter().map(|sharings| (sharings, Weights::Sum));
        let others = [Weights::Rounds, Weights::Work].map(|weights| (Sharings::All, weights));
        let rest = [Weights::Rounds, Weights::Work].map(|weights| (Sharings::Ungarbled, weights));
        let all = pairs.chain(others).chain(rest);
        all.map(|(sharings, weights)| SharingRule::Cheapest(sharings, weights))
    }
}

impl std::fmt::Display for SharingRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SharingRule::Boolean => f.write_str("boolean"),
            SharingRule::Garbled => f.write_str("garbled"),
            SharingRule::Arithmetic => f.write_str("arithmetic"),
            SharingRule::Cheapest(sharings, weights) => {
                write!(f, "cheapest-{}-{}", weights.name(), sharings.name())
            }
        }
    }
}

impl FromStr for SharingRule {
    type Err = String;

    fn from_str(text: &str) -> Result<SharingRule, String> {
        let cheapest = Sharings::ALL.into_iter().flat_map(|sharings| {
            Weights::ALL.into_iter().map(move |weights| SharingRule::Cheapest(sharings, weights))
        });
        let mut all = SharingRule::UNIFORM.into_iter().chain(cheapest);
        all.find(|rule| rule.to_string() == text)
            .ok_or_else(|| format!("'{text}' is not a rule by which sharings are chosen"))
    }
}

/// A rule, and the network that it was chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SharingSetting {
    /// The rule.
    pub rule: SharingRule,
    /// Nanoseconds from question to answer.
    pub round_trip_ns: u64,
    /// Bits that a link carries in a second each way; 0 if nothing limits it.
    pub bits_per_second: u64,
}

impl From<SharingSetting> for String {
    fn from(setting: SharingSetting) -> String {
        let SharingSetting { rule, round_trip_ns, bits_per_second } = setting;
        format!("{rule} rtt={round_trip_ns}ns bw={bits_per_second}bit")
    }
}

impl TryFrom<String> for SharingSetting {
    type Error = String;

    fn try_from(text: String) -> Result<SharingSetting, String> {
        let number = |part: &str, prefix: &str, unit: &str| {
            part.strip_prefix(prefix)?.strip_suffix(unit)?.parse().ok()
        };
        let parts: Vec<&str> = text.split(' ').collect();
        let numbers = |rtt, bw| Some((number(rtt, "rtt=", "ns")?, number(bw, "bw=", "bit")?));
        match parts[..] {
            [rule, rtt, bw] => {
                let found = numbers(rtt, bw).ok_or(format!("'{text}' names no network"))?;
                let (round_trip_ns, bits_per_second) = found;
                Ok(SharingSetting { rule: rule.parse()?, round_trip_ns, bits_per_second })
            }
            _ => Err(format!("'{text}' is no rule for a network")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let uniform = SharingRule::UNIFORM.into_iter();
        for rule in uniform.chain(SharingRule::cheapest()).chain([SharingRule::JOINT]) {
            let setting = SharingSetting { rule, round_trip_ns: 40_000_000, bits_per_second: 0 };
            let text = String::from(setting);
            assert_eq!(SharingSetting::try_from(text.clone()), Ok(setting));
            for wrong in [text.replace("ns", "us"), format!("{text} "), text.replacen('e', "f", 1)]
            {
                assert!(SharingSetting::try_from(wrong.clone()).is_err(), "{wrong}");
            }
        }
    }
}
