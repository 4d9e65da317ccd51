//! Statistics over several runs of the same parties.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, codes};
use crate::report::RunReport;
use crate::statistics::{Spread, time};

/// Times of one party over several runs, in seconds; its counts are the same in all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repeated {
    pub party: String,
    pub runs: usize,
    pub seconds: BTreeMap<String, Spread>,
}

/// Statistics over several runs of the same parties, party by party.
///
/// # Errors
/// Exit 1 if a count differs between runs: counts follow from the program.
pub fn repeated(runs: &[Vec<RunReport>]) -> Result<Vec<Repeated>, Failure> {
    let parties = runs.first().map_or(0, Vec::len);
    let mut found = Vec::new();
    for party in 0..parties {
        let reports: Vec<&RunReport> = runs.iter().map(|run| &run[party]).collect();
        if reports.windows(2).any(|pair| pair[0].measured != pair[1].measured) {
            let message = format!("{} measured other counts in another run", reports[0].party);
            return Err(Failure::new(codes::OTHER_COUNTS, message)
                .remedy("this is a bug in Phineus, please report it"));
        }
        let spread = |of: &dyn Fn(&RunReport) -> f64| {
            Spread::of(&reports.iter().map(|report| of(report)).collect::<Vec<_>>())
        };
        let mut seconds = BTreeMap::new();
        let mut add = |name: &str, of: &dyn Fn(&RunReport) -> f64| {
            seconds.insert(name.to_owned(), spread(of));
        };
        add("planning", &|report| report.seconds.planning);
        add("running", &|report| report.seconds.running);
        add("set_up", &|report| report.phases.set_up.seconds);
        add("preprocessing", &|report| report.phases.preprocessing.seconds);
        add("online", &|report| report.phases.online.seconds);
        add("blocked_on_storage", &|report| report.seconds.blocked_on_storage);
        add("blocked_on_network", &|report| report.seconds.blocked_on_network);
        found.push(Repeated { party: reports[0].party.clone(), runs: runs.len(), seconds });
    }
    Ok(found)
}

impl Repeated {
    /// The table that a repeated run prints.
    pub fn lines(&self) -> Vec<String> {
        let (party, runs) = (&self.party, self.runs);
        let mut lines =
            vec![format!("{:<18} {:>16} {:>16}   over {runs} runs", party, "mean", "deviation")];
        for (name, spread) in &self.seconds {
            let name = name.replace('_', " ");
            let (mean, deviation) = (time(spread.mean), time(spread.deviation));
            lines.push(format!("  {name:<18} {mean:>14} {deviation:>16}"));
        }
        lines
    }
}
