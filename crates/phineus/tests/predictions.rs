//! Predicted times count the round trips that a run has. Times themselves are measured and never
//! asserted.

mod common;

use common::{Place, Result};
use serde_json::Value;

/// Predicted seconds on a network of this round trip.
fn explained(place: &Place, protocol: &str, net: &str) -> Result<Value> {
    let line = format!("explain millionaires --protocol {protocol} --net {net} --json");
    place.run(&line)?.succeeded()?.document()
}

/// Under garbled circuits twice as many round trips were predicted as there are, and nothing of how
/// a run starts.
/// `mixed` without a choice of sharings, which depends on the network.
const AS_STATED: &str = "mixed --no-optimise";

#[test]
fn latency_is_that_of_the_rounds_of_a_run() -> Result {
    let place = Place::new()?;
    place.run("data millionaires")?.succeeded()?;
    for protocol in ["garbled", "gmw", "arith", AS_STATED, "bmr", "spdz"] {
        let near = explained(&place, protocol, "rtt=0ms")?;
        let far = explained(&place, protocol, "rtt=1s")?;
        let trips = |name: &str| -> f64 {
            let of = |told: &Value| told["seconds"][name].as_f64().unwrap_or(f64::NAN);
            ((of(&far) - of(&near)) * 2.0).round() / 2.0
        };
        let line = format!(
            "run millionaires --local --protocol {protocol} --in alice=alice.csv --in bob=bob.csv"
        );
        place.run(&format!("{line} --json"))?.succeeded()?.document()?;
        let report: Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("parties")? {
            // What was counted of the start is what is explained.
            assert_eq!(party["starting"], near["starting"], "{protocol}");
            let rounds = |phase: &str| party["phases"][phase]["rounds"].as_f64().unwrap_or(0.0);
            let counted = match protocol {
                "garbled" => party["measured"]["rounds"].as_f64().ok_or("rounds")?,
                "gmw" | "arith" | AS_STATED => {
                    rounds("set_up") + rounds("preprocessing") + rounds("online")
                }
                // Tables and authenticated correlated randomness are made beside the rounds of the
                // run.
                _ => continue,
            };
            assert_eq!(trips("latency"), counted / 2.0, "{protocol}: {party}");
        }
        let starting = &near["starting"];
        let count = |name: &str| starting[name].as_f64().unwrap_or(f64::NAN);
        // All connections are made at once, and those that nobody needs are closed beside the run.
        assert_eq!(trips("start"), 3.0 + count("exchanges") / 2.0, "{protocol}");
    }
    Ok(())
}
