//! Measurements of each phase of a run, and means over several runs.

use std::collections::BTreeMap;
use std::time::Duration;

use phineus_tables::quantity;
use serde::{Deserialize, Serialize};

use crate::metered::PhaseFigures;

/// Seconds of the online phase on authenticated shares.
///
/// A round's messages carry both inputs and what is opened: their time is split like their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activities {
    /// Sharing of inputs.
    pub inputs: f64,
    /// Everything on shares.
    pub computing: f64,
    /// Checks of MACs.
    pub checking: f64,
}

/// Figures of a run whose garbler is the overlay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverlayFigures {
    /// Cells of the device.
    pub cells: u32,
    /// Cycles that the schedule states.
    pub predicted_cycles: u64,
    /// Cycles in which the pipeline of the device moved.
    pub cycles: u64,
    /// Cycles in which it waited for its host.
    pub stalls: u64,
    /// Labels that the host stored for a time.
    pub spilled_labels: u64,
    /// Seconds of the device, with what it waited for the network.
    pub seconds: f64,
}

impl OverlayFigures {
    /// What the run on the overlay took, for its user.
    pub fn sentence(&self) -> String {
        let comparison = match self.cycles == self.predicted_cycles {
            true => "as predicted".to_owned(),
            false => format!("and not {}", quantity::count(self.predicted_cycles)),
        };
        format!(
            "garbled by the simulated overlay in {} cycles, {comparison}, and {} in which it waited for its host; \
             simulated in {}",
            quantity::count(self.cycles),
            quantity::count(self.stalls),
            quantity::duration(Duration::from_secs_f64(self.seconds))
        )
    }
}

/// Measurements of one party, phase by phase.
///
/// Preprocessing that is interleaved goes on during the online phase, so their times overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Base oblivious transfers.
    pub set_up: PhaseFigures,
    pub preprocessing: PhaseFigures,
    pub online: PhaseFigures,
    /// Times of the activities of the online phase, if they are measured separately.
    #[serde(default)]
    pub activities: Option<Activities>,
    /// Correlated randomness that was used, by kind.
    pub used: BTreeMap<String, u64>,
    /// How much of the online phase was spent waiting for it.
    pub waited_for_preprocessing_seconds: f64,
}

impl Phases {
    /// The table that `--verbose` prints.
    pub fn lines(&self, ots: Option<u64>) -> Vec<String> {
        let mut lines = vec![format!(
            "  {:<16} {:>10} {:>10} {:>8} {:>12} {:>12}",
            "phase", "time", "messages", "rounds", "sent", "received"
        )];
        for (name, figures) in [
            ("set-up", &self.set_up),
            ("preprocessing", &self.preprocessing),
            ("online", &self.online),
        ] {
            lines.push(format!(
                "  {name:<16} {:>10} {:>10} {:>8} {:>12} {:>12}",
                time(figures.seconds),
                quantity::count(figures.messages),
                quantity::count(figures.rounds),
                quantity::bytes(figures.sent_bytes),
                quantity::bytes(figures.received_bytes),
            ));
        }
        if let Some(Activities { inputs, computing, checking }) = self.activities {
            for (name, seconds) in
                [("inputs", inputs), ("computing", computing), ("checks", checking)]
            {
                lines.push(format!("    {name:<14} {:>10}", time(seconds)));
            }
        }
        let mut primitives: Vec<String> = Vec::new();
        if let Some(ots) = ots {
            primitives.push(format!("{} OTs with each party", quantity::count(ots)));
        }
        for (name, &count) in &self.used {
            primitives.push(format!("{} {}", quantity::count(count), kind_words(name)));
        }
        lines.push(format!("  used             {}", primitives.join(", ")));
        if !self.used.is_empty() {
            let waited = time(self.waited_for_preprocessing_seconds);
            lines.push(format!("  of the online phase {waited} were waiting for preprocessing"));
        }
        lines
    }
}

/// `triples_32` as words.
pub fn kind_words(name: &str) -> String {
    // Of whichever party's bits.
    let name = name.split_once("_of_").map_or(name, |(kind, _)| kind);
    match name.rsplit_once('_') {
        Some((kind, width)) if width.parse::<u16>().is_ok() => {
            let unit = if width == "1" { "bit" } else { "bits" };
            format!("{} of {width} {unit}", kind.replace('_', " "))
        }
        _ => name.replace('_', " "),
    }
}

/// Seconds as words.
pub(crate) fn time(seconds: f64) -> String {
    quantity::duration(Duration::from_secs_f64(seconds))
}

/// A mean and the standard deviation of the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub mean: f64,
    pub deviation: f64,
}

impl Spread {
    /// Of these values.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(values: &[f64]) -> Spread {
        assert!(!values.is_empty(), "a mean is of something");
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() < 2 { 0.0 } else { (squares / (count - 1.0)).sqrt() };
        Spread { mean, deviation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_the_sample() {
        let spread = Spread::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!((spread.mean - 5.0).abs() < 1e-12);
        assert!((spread.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&[3.5]), Spread { mean: 3.5, deviation: 0.0 });
    }

    #[test]
    fn kinds_are_words() {
        assert_eq!(kind_words("square_pairs_32"), "square pairs of 32 bits");
        assert_eq!(kind_words("triples_1"), "triples of 1 bit");
        assert_eq!(kind_words("bit_triples"), "bit triples");
    }
}
