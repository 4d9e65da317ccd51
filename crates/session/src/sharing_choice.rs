//! [`SharingChoice`]: which sharings were chosen for a program that leaves them open, and what others would take.

use std::time::Duration;

use phineus_bytecode::{Op, Sharing, SharingRule, SharingSetting, Sharings, Weights};
use phineus_tables::quantity;

/// Operations that are named in words, at the most.
const PARTS_NAMED: usize = 12;

/// Sharings that were chosen, and what others would take.
#[derive(Clone, Debug)]
pub struct SharingChoice {
    /// The rule that was taken, and the network.
    pub setting: SharingSetting,
    /// Whether nobody stated a network.
    pub is_assumed: bool,
    /// Predicted seconds of each candidate that fits, the best first.
    pub candidates: Vec<(SharingRule, f64)>,
    /// Operations in chosen sharings, those with the most instructions first.
    pub parts: Vec<SharedPart>,
}

/// Instructions in one sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedPart {
    /// Their operation.
    pub op: Op,
    /// Bits of their type.
    pub width: u16,
    /// How many there are in the blocks of the program.
    pub instructions: u64,
    /// Their sharing.
    pub sharing: Sharing,
}

impl SharedPart {
    /// The sharing in a word.
    pub fn sharing_name(&self) -> &'static str {
        sharing_name(self.sharing)
    }
}

/// A sharing in a word.
fn sharing_name(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Arithmetic => "arithmetic",
        Sharing::Any | Sharing::Boolean => "Boolean",
        Sharing::Garbled => "garbled",
    }
}

/// A rule in words.
fn rule_words(rule: SharingRule) -> &'static str {
    match rule {
        SharingRule::Boolean => "all Boolean",
        SharingRule::Garbled => "all garbled",
        SharingRule::Arithmetic => "sums and products arithmetic",
        SharingRule::Cheapest(Sharings::All, Weights::Sum) => "each part in its cheapest sharing",
        SharingRule::Cheapest(Sharings::All, Weights::JointRounds) => {
            "conversions that share rounds"
        }
        SharingRule::Cheapest(Sharings::All, Weights::Rounds) => "few rounds",
        SharingRule::Cheapest(Sharings::All, Weights::Work) => "little work",
        SharingRule::Cheapest(Sharings::Ungarbled, Weights::Sum | Weights::JointRounds) => {
            "nothing garbled"
        }
        SharingRule::Cheapest(Sharings::Ungarbled, Weights::Rounds) => {
            "nothing garbled, few rounds"
        }
        SharingRule::Cheapest(Sharings::Ungarbled, Weights::Work) => "nothing garbled, little work",
        SharingRule::Cheapest(Sharings::ArithmeticGarbled, _) => "arithmetic and garbled",
        SharingRule::Cheapest(Sharings::Bits, _) => "Boolean and garbled",
    }
}

impl SharingChoice {
    /// The network in words.
    pub fn network(&self) -> String {
        let SharingSetting { round_trip_ns, bits_per_second, .. } = self.setting;
        if self.is_assumed {
            return "one machine, since no network is stated".to_owned();
        }
        let mut words = format!("rtt={}", quantity::duration(Duration::from_nanos(round_trip_ns)));
        if bits_per_second > 0 {
            words += &format!(",bw={}kbit", bits_per_second.div_ceil(1000));
        }
        words
    }

    /// What was chosen, for which network, and what other choices would take.
    pub fn sentence(&self) -> String {
        let time = |&(rule, seconds): &(SharingRule, f64)| {
            let time = quantity::duration(Duration::from_secs_f64(seconds));
            format!("{} {time}", rule_words(rule))
        };
        let network = self.network();
        let mut words: Vec<String> = self.candidates.iter().map(time).collect();
        let best = if words.is_empty() { String::new() } else { words.remove(0) };
        let others = if words.is_empty() { "no other fits".to_owned() } else { words.join(", ") };
        format!("{best} for {network} (others: {others})")
    }

    /// A line for each sharing with the operations that have it.
    pub fn lines(&self) -> Vec<String> {
        let line = |sharing: Sharing| {
            let parts = self.parts.iter().filter(|part| part.sharing == sharing);
            let mut words: Vec<String> = parts
                .map(|part| {
                    let count = quantity::count(part.instructions);
                    format!("{count} {} of {} bits", part.op.info().name, part.width)
                })
                .collect();
            let more = words.len().saturating_sub(PARTS_NAMED);
            words.truncate(PARTS_NAMED);
            if more > 0 {
                words.push(format!("{more} more kinds of operations"));
            }
            (!words.is_empty()).then(|| format!("{}: {}", sharing_name(sharing), words.join(", ")))
        };
        Sharing::ALL.into_iter().filter_map(line).collect()
    }
}
